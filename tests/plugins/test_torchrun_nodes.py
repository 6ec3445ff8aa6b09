# SPDX-License-Identifier: Apache-2.0
"""torchrun on two machines, which are network namespaces, and its restart after a killed rank. As a program: a rank.

No rank makes a process group: after a restart, Gloo of torch 2.13 connects to the addresses of ranks that have ended."""

import hashlib
import os
import pathlib
import signal

import hosts
import launched
import pytest
import ranks

torch = pytest.importorskip("torch")
import casync.torch  # noqa: E402

STEPS = 3

pytestmark = pytest.mark.skipif(not launched.TORCHRUN.exists(), reason=f"{launched.TORCHRUN} is not there")


def train():
    """A rank's training, with a checkpoint after each step. In its first life, rank VICTIM is killed in the last step."""
    rank, life = int(os.environ["RANK"]), int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    folder = pathlib.Path(os.environ["REPORT_FOLDER"], "checkpoints")
    folder.mkdir(exist_ok=True)
    torch.manual_seed(5)
    net = torch.nn.Linear(64, 32)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    optimizer = casync.torch.DistributedOptimizer(optimizer, net.named_parameters(), codec="int4")
    begin = steps_that_all_saved(folder) if life > 0 else 0
    if begin > 0:
        saved = torch.load(folder / f"{rank}-{begin}", weights_only=True)
        net.load_state_dict(saved["net"])
        optimizer.casync.load_state_dict(saved["casync"])
    for step in range(begin, STEPS):
        if life == 0 and step == STEPS - 1 and os.environ.get("VICTIM") == str(rank):
            os.kill(os.getpid(), signal.SIGKILL)
        optimizer.zero_grad()
        net(torch.randn(4, 64, generator=torch.Generator().manual_seed(10 * step + rank))).square().mean().backward()
        optimizer.step()
        part = folder / f"{rank}-part"
        torch.save({"net": net.state_dict(), "casync": optimizer.casync.state_dict()}, part)
        part.rename(folder / f"{rank}-{step + 1}")
    replica = hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in net.parameters())).hexdigest()
    launched.report(rank, replica=replica, life=life, begin=begin)
    optimizer.casync.close()


def steps_that_all_saved(folder):
    saved = {rank: [int(file.name.split("-")[1]) for file in folder.glob(f"{rank}-[0-9]")] for rank in range(2)}
    return min(max(steps, default=0) for steps in saved.values())


@pytest.mark.skipif(not hosts.available(), reason="network namespaces need root")
def test_two_nodes_of_a_rank_each_end_with_the_same_replica():
    port = str(ranks.free_port())
    with hosts.hosts(2) as network:
        launchers = [
            [*before, *launched.torchrun(), "--nnodes", "2", "--node-rank", str(node), "--nproc-per-node", "1",
             "--master-addr", "10.178.0.1", "--master-port", port]
            for node, before in network.before().items()
        ]  # fmt: skip
        values = launched.values_of_nodes(launchers, __file__, CASYNC_INTERFACE=hosts.DEVICE, UCX_TLS="tcp,self")
    assert [value["life"] for value in values] == [0, 0]
    assert values[0]["replica"] == values[1]["replica"]


def test_a_killed_rank_is_started_again_and_goes_on_from_its_checkpoint():
    launcher = [*launched.torchrun(), "--nproc-per-node", "2", "--max-restarts", "1"]
    launcher += ["--master-port", str(ranks.free_port())]
    whole = launched.values(launcher, __file__)
    restarted = launched.values_of_nodes([launcher], __file__, VICTIM="1")
    assert [value["life"] for value in whole + restarted] == [0, 0, 1, 1]
    assert all(value["begin"] > 0 for value in restarted)
    assert {value["replica"] for value in whole + restarted} == {whole[0]["replica"]}


if __name__ == "__main__":
    train()
