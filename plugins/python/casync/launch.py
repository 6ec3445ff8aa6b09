# SPDX-License-Identifier: Apache-2.0
"""Finds the other ranks of a program that torchrun started: through torch's own store."""

from __future__ import annotations

import collections
import ctypes
import datetime
import itertools
import os
import sys
import time
from typing import TYPE_CHECKING

from casync import errors

if TYPE_CHECKING:
    import torch.distributed

_CASYNC = ("CASYNC_RANK", "CASYNC_SIZE", "CASYNC_RENDEZVOUS")
_TORCHRUN = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
# The n-th session of a group belongs together on all its ranks; the number keeps their keys apart.
_sessions = collections.defaultdict(itertools.count)
# Rank 0's store where it has the server: if nobody held it, the server would end with the first session's meeting, and take
# those with it who have come for the next one.
_servers = {}


def _leak_servers() -> None:
    """A forked child has no thread of a server, for whose end its destructor would wait."""
    for store in _servers.values():
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(store))
    _servers.clear()


os.register_at_fork(after_in_child=_leak_servers)


class TorchStore:
    """set and get on a torch.distributed Store, in the shape Session hands to C. `members`: the ranks as the whole job
    numbers them, where they may be some of it."""

    def __init__(
        self, store: torch.distributed.Store, rank: int, size: int, members: list[int] | None = None
    ) -> None:
        self._store, self.rank, self.size, self.members = store, rank, size, members

    def set(self, key: str, value: str | bytes) -> None:
        self._store.set(key, value)

    def get(self, key: str, timeout_s: float) -> bytes:
        """Waits for the key. Raises TimeoutError when it does not come, and at once what torch says of a store that has
        failed."""
        seconds, begin = max(timeout_s, 0.001), time.monotonic()
        try:
            self._store.wait([key], datetime.timedelta(seconds=seconds))
        except RuntimeError as error:  # a DistStoreError, or of a FileStore this: the moment tells what it means
            if time.monotonic() - begin < seconds / 2:
                raise
            raise TimeoutError(f"{key} did not come within {seconds:.1f} s: {error}") from error
        return self._store.get(key)


def find_store(
    timeout: float | None = None, process_group: torch.distributed.ProcessGroup | None = None
) -> TorchStore | None:
    """The store to meet at, or None when something else says how: CASYNC_*, or no torch job here. `timeout` is the
    session's, in seconds or None. Raises Unavailable when it would be torch's, and torch is not there.

    A process group that is already there is asked first: its store is known to work, and to reach all its ranks.
    """
    members = None
    if process_group is not None or _process_group_exists():
        group, store, members, rank = _of_process_group(process_group)
        size = len(members)
    elif _meets_elsewhere() or not all(name in os.environ for name in _TORCHRUN):
        return None
    else:
        group, (store, rank, size) = "all", _of_environment(timeout)
    import torch.distributed

    prefix = "casync/{}/{}/{}/{}".format(
        os.environ.get("TORCHELASTIC_RUN_ID", "none"),
        os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"),
        group,
        next(_sessions[group]),
    )
    return TorchStore(torch.distributed.PrefixStore(prefix, store), rank, size, members)


def _meets_elsewhere() -> bool:
    """Returns True if CASYNC_* gives another meeting point than torch's store. An empty value is none."""
    return os.environ.get("CASYNC_RENDEZVOUS") != "store" and any(os.environ.get(name) for name in _CASYNC)


def environment_says(rank: int, size: int) -> bool:
    """Returns True if the launcher's variables give this rank and size: then they also tell which ranks are local."""
    for names in (("CASYNC_RANK", "CASYNC_SIZE"), ("RANK", "WORLD_SIZE")):
        values = [os.environ.get(name) for name in names]
        if all(values):  # an empty value is none
            return values == [str(rank), str(size)]
    return False


def _process_group_exists() -> bool:
    distributed = sys.modules.get("torch.distributed")  # not imported: then there is none
    return distributed is not None and distributed.is_available() and distributed.is_initialized()


def _of_process_group(
    process_group: torch.distributed.ProcessGroup | None
) -> tuple[str, torch.distributed.Store, list[int], int]:
    from torch import distributed
    from torch.distributed import distributed_c10d

    check_member(process_group)
    group = process_group or distributed.group.WORLD
    store = distributed_c10d._get_default_store()
    # The group's name is unique in the job, so that two groups never read each other's keys.
    return group.group_name, store, distributed.get_process_group_ranks(group), distributed.get_rank(group)


def check_member(process_group: torch.distributed.ProcessGroup | None) -> None:
    """InvalidArgument: this rank is not in the process group. None: all ranks."""
    from torch import distributed

    if distributed.get_rank(process_group) < 0:
        raise errors.InvalidArgument(
            "this rank is not in the process group: torch's new_group() gives every rank a value, but only its own ranks a "
            "group, so call this on those ranks alone, or give each rank the group that it is in"
        )


def connecting_s(timeout: float | None) -> float:
    """Seconds to wait for torch's store. The library checks the number again when the session opens."""
    try:
        seconds = float(timeout or os.environ.get("CASYNC_TIMEOUT_SEC") or 300)
    except (TypeError, ValueError):
        return 300.0
    return seconds if 0 < seconds <= 1e6 else 300.0


def _number(name: str) -> int:
    try:
        return int(os.environ[name])
    except ValueError:
        raise errors.InvalidArgument(f"{name}={os.environ[name]} (torchrun) is not a number") from None


def _of_environment(timeout: float | None) -> tuple[torch.distributed.Store, int, int]:
    try:
        from torch import distributed
    except ModuleNotFoundError as cause:
        raise errors.Unavailable(
            "RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT are set, as torchrun does, but PyTorch, in whose store its "
            "ranks meet, is not installed: set CASYNC_RENDEZVOUS=host:port of rank 0"
        ) from cause

    rank, size, port = _number("RANK"), _number("WORLD_SIZE"), _number("MASTER_PORT")
    # torchrun's launching process keeps the store; without torchrun rank 0 does, as torch's own env:// rendezvous has it.
    kept_by_torchrun = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    store = distributed.TCPStore(
        os.environ["MASTER_ADDR"],
        port,
        size,
        is_master=rank == 0 and not kept_by_torchrun,
        timeout=datetime.timedelta(seconds=connecting_s(timeout)),
        multi_tenant=True,
        wait_for_workers=False,
    )
    if rank == 0 and not kept_by_torchrun:
        _servers.setdefault((os.environ["MASTER_ADDR"], port), store)
    return store, rank, size
