# SPDX-License-Identifier: Apache-2.0
"""Ranks that torchrun starts: they meet through its store. As a program: one of these ranks."""

import gc
import hashlib
import json
import os
import pathlib
import subprocess
import time

import launched
import numpy
import pytest
import ranks

torch = pytest.importorskip("torch")
import casync.torch  # noqa: E402
from casync import __main__  # noqa: E402


def sum_before_torch():
    """A session of a program that never made a process group: the store is torchrun's own, by its address."""
    with casync.Session(codec="none", op="sum") as session:
        array = torch.full((8,), session.rank + 1.0).numpy()
        session.submit(session.declare("fc", 8), array)
        session.step()
        return float(array[0])


def train():
    total = sum_before_torch()
    torch.manual_seed(5)
    torch.distributed.init_process_group("gloo")
    ddp = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 32))
    state = casync.torch.State(codec="int4")
    ddp.register_comm_hook(state, casync.torch.comm_hook)
    optimizer = torch.optim.SGD(ddp.parameters(), lr=0.1)
    rank = torch.distributed.get_rank()
    inputs = torch.Generator().manual_seed(rank)
    for _ in range(2):
        optimizer.zero_grad()
        ddp(torch.randn(4, 64, generator=inputs)).square().mean().backward()
        optimizer.step()
    replica = hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in ddp.parameters())).hexdigest()
    launched.report(rank, total=total, steps=state.stats()["steps"], replica=replica)
    state.close()
    torch.distributed.destroy_process_group()


@pytest.mark.skipif(not launched.TORCHRUN.exists(), reason=f"{launched.TORCHRUN} is not there")
def test_two_steps_under_torchrun():
    launcher = [*launched.torchrun(), "--nproc-per-node", "2", "--master-port", str(ranks.free_port())]
    values = launched.values(launcher, __file__)
    assert [(value["total"], value["steps"]) for value in values] == [(3.0, 2)] * 2
    assert values[0]["replica"] == values[1]["replica"]


@pytest.mark.skipif(not launched.TORCHRUN.exists(), reason=f"{launched.TORCHRUN} is not there")
def test_the_command_finds_the_ranks_of_torchrun(tmp_path):
    token = tmp_path / "token"  # that of other jobs of the user: this one has its own
    token.write_text("of the user's file")
    token.chmod(0o600)
    launcher = [*launched.torchrun(), "--nproc-per-node", "2", "--master-port", str(ranks.free_port())]
    program = ["-m", "casync", "bench", "all_reduce", "-b", "4K", "-e", "4K", "--codec", "int8", "--json"]
    env = {**os.environ, "CASYNC_TOKEN_FILE": str(token)}
    done = subprocess.run([*launcher, *program], capture_output=True, text=True, timeout=120, check=False, env=env)
    assert done.returncode == 0, done.stderr
    about, rows = json.loads(done.stdout)["about"], json.loads(done.stdout)["rows"]
    assert about[2].startswith("2 ranks") and rows[0]["wrong"] == 0


def test_the_command_s_port_is_none_that_the_kernel_gives_to_who_connects():
    first = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    assert __main__._free_port() < first or first <= 15000


class _LoneStore:
    """The store of a job of one rank."""

    rank, size = 0, 1

    def __init__(self):
        self._values = {}

    def set(self, key, value):
        self._values[key] = value.encode()

    def get(self, key, timeout_s):
        return self._values[key]


@pytest.mark.parametrize(("host", "written"), [("::1", "[::1]"), ("fd00::7", "[fd00::7]"), ("node7", "node7")])
def test_the_command_s_rendezvous_has_an_ipv6_address_in_brackets(monkeypatch, host, written):
    for name in ("CASYNC_RENDEZVOUS", "CASYNC_TOKEN", "CASYNC_TOKEN_FILE", "CASYNC_RANK", "CASYNC_SIZE"):
        monkeypatch.setenv(name, "")  # to be restored
    monkeypatch.setenv("MASTER_ADDR", host)
    __main__.export_rendezvous(_LoneStore())
    assert os.environ["CASYNC_RENDEZVOUS"].rpartition(":")[0] == written
    assert "CASYNC_TOKEN_FILE" not in os.environ


def averaged(rank):
    with casync.Session(codec="none") as session:
        array = numpy.full(4, rank, numpy.float32)
        session.submit(session.declare("g", 4), array)
        session.step()
    return array[0].item()


@pytest.mark.parametrize("rendezvous", ["store", ""])
def test_torch_s_store_may_be_asked_for_and_an_empty_rendezvous_is_none(rendezvous):
    assert ranks.values(__file__, "averaged", 2, torch=True, env={"CASYNC_RENDEZVOUS": rendezvous}) == [0.5, 0.5]


def one_after_another(rank):
    """Rank 1 is at the door of the second session when rank 0 frees what the first has left."""
    for turn in range(2):
        if rank == 0 and turn == 1:
            time.sleep(1)
            gc.collect()
        with casync.Session(codec="none") as session:
            array = numpy.full(4, rank, numpy.float32)
            session.submit(session.declare("g", 4), array)
            session.step()
    return array[0].item()


def test_without_an_agent_rank_0_keeps_the_store_for_the_next_session():
    assert ranks.values(__file__, "one_after_another", 2, torch=True) == [0.5, 0.5]


if __name__ == "__main__":
    train()
