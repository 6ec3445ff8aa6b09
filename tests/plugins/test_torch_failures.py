# SPDX-License-Identifier: Apache-2.0
"""Errors of backward() when a rank dies, is interrupted, or cannot be synchronized, or an argument is refused."""

import signal
import time

import pytest

torch = pytest.importorskip("torch")
import ranks  # noqa: E402
import small_net  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402

import casync.torch  # noqa: E402


def train_for_ever(rank, **options):
    dist.init_process_group("gloo")
    ddp, _, optimizer = small_net.make("none", hidden=2000, **options)
    for step in range(1_000_000):
        if step == 3:
            ranks.mark("running")
        small_net.step_once(ddp, optimizer, rank, step)


def test_backward_raises_peer_failure_within_a_second_of_kill_9():
    with ranks.Job(__file__, "train_for_ever", 3, torch=True) as job:
        job.wait_for_files("running")
        job.processes[2].send_signal(signal.SIGKILL)
        killed = time.time()
        outcomes = job.wait()
    for outcome in outcomes[:2]:
        assert outcome.error == "PeerFailure", outcome.stderr
        assert "rank 2" in outcome.message
        ranks.assert_within(1.0, outcome.raised_at - killed)


def freeze_and_interrupt(rank):
    if rank == 1:
        signal.signal(signal.SIGUSR1, lambda *_: time.sleep(3))
    train_for_ever(rank)


def test_ctrl_c_is_heard_in_backward():
    with ranks.Job(__file__, "freeze_and_interrupt", 2, torch=True) as job:
        job.wait_for_files("running")
        job.processes[1].send_signal(signal.SIGUSR1)  # its training sleeps, so rank 0 waits in backward()
        time.sleep(0.5)
        sent = time.time()
        job.processes[0].send_signal(signal.SIGINT)
        outcomes = job.wait()
    assert outcomes[0].error == "KeyboardInterrupt", outcomes[0].stderr
    ranks.assert_within(1.0, outcomes[0].raised_at - sent)
    assert outcomes[1].error == "PeerFailure", outcomes[1].stderr


def differ(rank):
    dist.init_process_group("gloo")
    ddp, _, optimizer = small_net.make(("int8", "int4")[rank])
    small_net.step_once(ddp, optimizer, rank, 0)


def test_ranks_with_different_codecs_are_refused_in_backward():
    for outcome in ranks.outcomes(__file__, "differ", 2, torch=True):
        assert outcome.error == "InvalidArgument", outcome.stderr
        assert "int8" in outcome.message and "int4" in outcome.message


def a_sparse_gradient(rank):
    dist.init_process_group("gloo")
    ddp = DistributedDataParallel(torch.nn.Embedding(10, 4, sparse=True))
    ddp.register_comm_hook(casync.torch.State(codec="none"), casync.torch.comm_hook)
    ddp(torch.tensor([1])).sum().backward()


def test_a_sparse_gradient_is_refused():
    for outcome in ranks.outcomes(__file__, "a_sparse_gradient", 1, torch=True):
        assert outcome.error == "InvalidArgument" and "sparse" in outcome.message, outcome.stderr


def two_modules_of_a_state(rank):
    dist.init_process_group("gloo")
    state = casync.torch.State(codec="none")
    modules = [DistributedDataParallel(torch.nn.Linear(3, 2)) for _ in range(2)]
    for ddp in modules:
        ddp.register_comm_hook(state, casync.torch.comm_hook)
    for ddp in modules:
        ddp(torch.ones(1, 3)).sum().backward()


def test_a_state_of_two_modules_is_refused_with_what_to_do():
    (outcome,) = ranks.outcomes(__file__, "two_modules_of_a_state", 1, torch=True)
    assert outcome.error == "InvalidArgument", outcome.stderr
    assert "a State of its own with each DistributedDataParallel module" in outcome.message, outcome.message


def opened(rank, distributed, token):
    """The transport of the session that a State, or a DistributedOptimizer, opens with these arguments."""
    dist.init_process_group("gloo")
    options = dict(codec="none", transport="ucx:tcp", token=token)
    if distributed:
        net = torch.nn.Linear(3, 2)
        plain = torch.optim.SGD(net.parameters(), lr=0.1)
        opener = casync.torch.DistributedOptimizer(plain, net.named_parameters(), **options).casync
    else:
        ddp, opener, optimizer = small_net.make(**options)
        small_net.step_once(ddp, optimizer, rank, 0)
    transport = opener.stats()["transport"]
    opener.close()
    return transport


@pytest.mark.parametrize("distributed", [False, True], ids=["state", "optimizer"])
def test_transport_and_token_are_those_of_the_session(distributed):
    for transport in ranks.values(__file__, "opened", 2, torch=True, distributed=distributed, token="of a test"):
        assert transport.startswith("ucx:tcp "), transport
    (outcome,) = ranks.outcomes(__file__, "opened", 1, torch=True, distributed=distributed, token="short")
    assert outcome.error == "InvalidArgument", outcome.stderr
    assert 'the token in the argument "token" has 5 characters' in outcome.message, outcome.message
