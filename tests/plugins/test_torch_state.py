# SPDX-License-Identifier: Apache-2.0
"""casync.torch.State between steps and when something fails, and broadcast_parameters."""

import hashlib
import os
import signal
import time

import pytest

torch = pytest.importorskip("torch")
import ranks  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402

import casync.torch  # noqa: E402


def make(codec="int4", hidden=50, **options):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(40, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, 30))
    ddp = DistributedDataParallel(net, bucket_cap_mb=0.005)
    state = casync.torch.State(codec=codec, **options)
    ddp.register_comm_hook(state, casync.torch.comm_hook)
    return ddp, state, torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)


def step_once(ddp, optimizer, rank, step):
    optimizer.zero_grad()
    x = torch.randn(4, 40, generator=torch.Generator().manual_seed(1000 * rank + step))
    ddp(x).square().mean().backward()
    optimizer.step()


def fingerprint(ddp):
    return hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in ddp.parameters())).hexdigest()


def interrupted_and_not(rank, folder):
    """Hashes of the parameters after six steps at once, and after three, a checkpoint, and three."""
    dist.init_process_group("gloo")
    ddp, _, optimizer = make()
    for step in range(6):
        step_once(ddp, optimizer, rank, step)
    whole = fingerprint(ddp)
    ddp, state, optimizer = make()
    for step in range(3):
        step_once(ddp, optimizer, rank, step)
    path = f"{folder}/rank{rank}.pt"
    torch.save({"net": ddp.module.state_dict(), "sgd": optimizer.state_dict(), "casync": state.state_dict()}, path)
    state.close()
    saved = torch.load(path, weights_only=True)
    ddp, state, optimizer = make()
    ddp.module.load_state_dict(saved["net"])
    optimizer.load_state_dict(saved["sgd"])
    state.load_state_dict(saved["casync"])
    for step in range(3, 6):
        step_once(ddp, optimizer, rank, step)
    resumed = fingerprint(ddp)
    ddp, state, optimizer = make()
    ddp.module.load_state_dict(saved["net"])
    optimizer.load_state_dict(saved["sgd"])
    for step in range(3, 6):
        step_once(ddp, optimizer, rank, step)
    return whole, resumed, fingerprint(ddp)


def test_a_resumed_run_gives_the_bytes_of_an_uninterrupted_one(tmp_path):
    for whole, resumed, without_residuals in ranks.values(
        __file__, "interrupted_and_not", 2, torch=True, folder=str(tmp_path)
    ):
        assert whole == resumed
        assert whole != without_residuals  # so the test would notice


def one_bad_gradient(rank):
    dist.init_process_group("gloo")
    ddp, state, optimizer = make("int8")
    step_once(ddp, optimizer, rank, 0)
    good = state.last_step
    if rank == 1:
        handle = ddp.module[2].weight.register_hook(lambda gradient: gradient * float("nan"))
    step_once(ddp, optimizer, rank, 1)
    bad = state.last_step
    if rank == 1:
        handle.remove()
    return good.finite, bad.finite, bad.first_non_finite


def test_all_ranks_learn_alike_which_gradient_was_not_finite():
    assert set(ranks.values(__file__, "one_bad_gradient", 3, torch=True)) == {(True, False, "2.weight")}


def broadcast(rank, group):
    if group:
        dist.init_process_group("gloo")
    torch.manual_seed(rank)
    net = torch.nn.Sequential(torch.nn.Linear(9, 5), torch.nn.BatchNorm1d(5))
    special = {"special": torch.tensor([-0.0, float("nan"), 1e-42]), "count": torch.tensor(2**53 + rank)}
    casync.torch.broadcast_parameters(net, root=1)
    casync.torch.broadcast_parameters(special, root=1)
    return [tensor.numpy().tobytes() for tensor in [*net.state_dict().values(), *special.values()]]


@pytest.mark.parametrize("group", [True, False])
def test_broadcast_gives_every_rank_the_roots_bytes(group):
    results = ranks.values(__file__, "broadcast", 3, torch=True, group=group)
    torch.manual_seed(1)
    expected = torch.nn.Linear(9, 5).weight.detach().numpy().tobytes()
    assert all(result == results[0] for result in results) and results[0][0] == expected


def train_for_ever(rank, **options):
    dist.init_process_group("gloo")
    ddp, _, optimizer = make("none", hidden=2000, **options)
    for step in range(1_000_000):
        if step == 3:
            ranks.mark("running")
        step_once(ddp, optimizer, rank, step)


def test_backward_raises_peer_failure_within_a_second_of_kill_9():
    job = ranks.Job(__file__, "train_for_ever", 3, torch=True)
    job.wait_for_files("running")
    job.processes[2].send_signal(signal.SIGKILL)
    killed = time.time()
    for outcome in job.wait()[:2]:
        assert outcome.error == "PeerFailure", outcome.stderr
        assert "rank 2" in outcome.message and outcome.raised_at - killed < 1.0


def freeze_and_interrupt(rank):
    if rank == 1:
        signal.signal(signal.SIGUSR1, lambda *_: time.sleep(3))
    train_for_ever(rank)


def test_ctrl_c_is_heard_in_backward():
    job = ranks.Job(__file__, "freeze_and_interrupt", 2, torch=True)
    job.wait_for_files("running")
    job.processes[1].send_signal(signal.SIGUSR1)  # its training sleeps, so rank 0 waits in backward()
    time.sleep(0.5)
    sent = time.time()
    job.processes[0].send_signal(signal.SIGINT)
    outcomes = job.wait()
    assert outcomes[0].error == "KeyboardInterrupt" and outcomes[0].raised_at - sent < 1.0
    assert outcomes[1].error == "PeerFailure", outcomes[1].stderr


def differ(rank):
    dist.init_process_group("gloo")
    ddp, _, optimizer = make(("int8", "int4")[rank])
    step_once(ddp, optimizer, rank, 0)


def test_ranks_with_different_codecs_are_refused_in_backward():
    for outcome in ranks.Job(__file__, "differ", 2, torch=True).wait():
        assert outcome.error == "InvalidArgument", outcome.stderr
        assert "int8" in outcome.message and "int4" in outcome.message


def a_sparse_gradient(rank):
    dist.init_process_group("gloo")
    ddp = DistributedDataParallel(torch.nn.Embedding(10, 4, sparse=True))
    ddp.register_comm_hook(casync.torch.State(codec="none"), casync.torch.comm_hook)
    ddp(torch.tensor([1])).sum().backward()


def test_a_sparse_gradient_is_refused():
    for outcome in ranks.Job(__file__, "a_sparse_gradient", 1, torch=True).wait():
        assert outcome.error == "InvalidArgument" and "sparse" in outcome.message, outcome.stderr


def two_rules(rank, folder):
    dist.init_process_group("gloo")
    plan = os.path.join(folder, "plan.txtpb")
    ddp, state, optimizer = make(None, plan=plan)
    step_once(ddp, optimizer, rank, 0)
    return {name: gradient["codec"] for name, gradient in state.state_dict()["gradients"].items()}


def test_a_plan_decides_by_parameter_name(tmp_path):
    (tmp_path / "plan.txtpb").write_text(
        'version: 1\ndefault { codec { name: "int8" } }\nrule { match: "*.bias"  codec { name: "none" } }\n'
    )
    for codecs in ranks.values(__file__, "two_rules", 2, torch=True, folder=str(tmp_path)):
        assert codecs.keys() == {"0.weight", "0.bias", "2.weight", "2.bias"}
        assert "int8" in codecs["0.weight"] and "none" in codecs["2.bias"]
