# SPDX-License-Identifier: Apache-2.0
"""`python -m casync SUBCOMMAND ...`: the command `casync`, in the process that a launcher started.

torchrun starts Python programs, and only Python reaches its store. Under torchrun, rank 0 therefore publishes an
address and a token in that store, and the command finds the other ranks by them:

    torchrun --nnodes 2 --nproc-per-node 1 --rdzv-endpoint node0:29400 -m casync profile -o here.txtpb
"""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import sys
from pathlib import Path

from casync import _ucx, errors, launch

_LEAST_PORT = 15000


def command_path() -> str:
    """Path of the command: beside the package in a wheel, in bin/ of a build."""
    package = Path(__file__).absolute().parent
    for path in (package / "bin/casync", package.parent.parent / "bin/casync"):
        if os.access(path, os.X_OK):
            return str(path)
    sys.exit("casync: this installation has no command beside the package; reinstall the wheel")


def export_rendezvous(store: launch.TorchStore) -> None:
    """Sets CASYNC_RENDEZVOUS and CASYNC_TOKEN alike on all ranks of a torchrun job. Rank 0 goes on last, because
    without torchrun's own store it is the process that keeps one."""
    if store.rank == 0:
        # torchrun runs rank 0 on the machine of MASTER_ADDR, and takes the brackets off an IPv6 address.
        host = os.environ["MASTER_ADDR"]
        store.set("rendezvous", f"[{host}]:{_free_port()}" if ":" in host else f"{host}:{_free_port()}")
        store.set("token", secrets.token_hex(32))
    for name in ("rendezvous", "token"):
        os.environ[f"CASYNC_{name.upper()}"] = store.get(name, launch.connecting_s(None)).decode()
    store.set(f"read/{store.rank}", "1")
    if store.rank == 0:
        for rank in range(store.size):
            store.get(f"read/{rank}", launch.connecting_s(None))
    os.environ.pop("CASYNC_TOKEN_FILE", None)  # the job's token replaces it
    # The command reads rank and size from CASYNC_*: with a rendezvous of its own it does not ask for torch's.
    os.environ.update(CASYNC_RANK=str(store.rank), CASYNC_SIZE=str(store.size))


def _free_port() -> int:
    """A port that was free a moment ago, and that the kernel gives to nobody who asks for any: the command listens there
    once all ranks have read it. Another program may still take it; the command then says so and ends."""
    first_of_any = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    tries = [_LEAST_PORT + secrets.randbelow(first_of_any - _LEAST_PORT) for _ in range(100) if first_of_any > _LEAST_PORT]
    for port in [*tries, 0]:
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("", port))
            return probe.getsockname()[1]
    raise errors.Unavailable("no TCP port of this machine is free")


def show_ucx() -> None:
    """Leads the command to UCX by LD_LIBRARY_PATH where its libraries do not look, as the wheel's script does."""
    folder = _ucx.folder_elsewhere()
    if folder is not None:
        paths = [os.environ.get("LD_LIBRARY_PATH", ""), str(folder)]
        os.environ["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, paths))


def main() -> None:
    program = command_path()
    store = launch.find_store()
    if store is not None:
        export_rendezvous(store)
    show_ucx()
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
