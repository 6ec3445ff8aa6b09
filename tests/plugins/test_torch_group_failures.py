# SPDX-License-Identifier: Apache-2.0
"""The process group of the backend "casync" when things go wrong: ranks that die, leave, raise, or never call, and threads
that call at once."""

import datetime
import os
import signal
import threading
import time

import pytest

torch = pytest.importorskip("torch")
import ranks  # noqa: E402
import torch.distributed as dist  # noqa: E402

import casync.torch  # noqa: E402, F401
from casync import errors  # noqa: E402
from test_torch_group import LARGE, begin, in_backward  # noqa: E402

SEEN_S = 10.0  # a rank whose process has ended is noticed by then
OPERATIONS = {
    "broadcast": lambda size: dist.broadcast(torch.zeros(5), src=1),
    "large broadcast": lambda size: dist.broadcast(torch.zeros(LARGE), src=1),
    "all_gather": lambda size: dist.all_gather_single(torch.zeros(size * 5), torch.zeros(5)),
    "async all_gather": lambda size: dist.all_gather_single(torch.zeros(size * 5), torch.zeros(5), async_op=True).wait(),
    "barrier": lambda size: dist.barrier(),
}


def rank_1_comes_last(rank, size):
    """Returns on rank 1 when the others are about to call the next collective."""
    dist.barrier()
    store = dist.distributed_c10d._get_default_store()
    if rank == 1:
        store.wait([f"{each} calls" for each in range(size) if each != 1])
        time.sleep(0.2)
    else:
        store.set(f"{rank} calls", "")


def dies(rank, operation):
    rank, size = begin()
    rank_1_comes_last(rank, size)
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    OPERATIONS[operation](size)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_rank_that_dies_is_named_with_the_operation(operation):
    began = time.time()
    outcomes = ranks.outcomes(__file__, "dies", 3, torch=True, operation=operation)
    assert outcomes[1].code == -signal.SIGKILL
    for outcome in (outcomes[0], outcomes[2]):
        assert outcome.error == "PeerFailure", outcome.message
        assert operation.split()[-1] in outcome.message and "rank 1" in outcome.message
        assert outcome.raised_at - began < 60


def dies_in_backward(rank, kind):
    rank, size = begin()
    tensor, output = torch.zeros(size * 1000), torch.zeros(1000)

    def reduce():
        if kind == "all_reduce":
            dist.all_reduce(tensor)
        else:
            dist.reduce_scatter_tensor(output, tensor)

    in_backward(reduce)
    rank_1_comes_last(rank, size)
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    in_backward(reduce)


@pytest.mark.parametrize("kind", ["all_reduce", "reduce_scatter"])
def test_a_rank_that_dies_in_a_backward_pass_is_named_with_the_gradient(kind):
    outcomes = ranks.outcomes(__file__, "dies_in_backward", 2, torch=True, kind=kind)
    assert outcomes[0].error == "PeerFailure", outcomes[0].message
    assert f"{kind} 0 of 2000 float32" in outcomes[0].message and "rank 1" in outcomes[0].message


def dies_in_ddp(rank):
    """DDP waits for the future in C++."""
    rank, size = begin()
    net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(100, 100))
    for step in range(3):
        if rank == 1 and step == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        net(torch.ones(1, 100)).sum().backward()


def test_ddp_raises_what_the_group_says():
    outcome = ranks.outcomes(__file__, "dies_in_ddp", 2, torch=True)[0]
    assert outcome.error in ("PeerFailure", "RuntimeError")
    assert "rank 1" in outcome.message and "all_reduce 0 of" in outcome.message, outcome.message


def joins(rank):
    """Rank 0 has a batch less than rank 1."""
    begin()
    net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(100, 100))
    with net.join():
        for _ in range(2 + rank):
            net(torch.ones(1, 100)).sum().backward()


def test_uneven_inputs_are_refused_with_what_to_do():
    for outcome in ranks.outcomes(__file__, "joins", 2, torch=True):
        assert "in DDP's join() a rank whose inputs have ended" in outcome.message, outcome.stderr
        assert "register casync.torch.comm_hook" in outcome.message


def raises(rank):
    rank, size = begin()
    rank_1_comes_last(rank, size)
    if rank == 1:
        raise ValueError("the data of rank 1 is odd")
    dist.broadcast(torch.zeros(5), src=1)


def test_a_rank_that_raises_ends_the_others():
    outcomes = ranks.outcomes(__file__, "raises", 2, torch=True)
    assert outcomes[1].error == "ValueError"
    assert outcomes[0].error == "PeerFailure" and "broadcast of 5 float32 from rank 1" in outcomes[0].message
    assert "rank 1" in outcomes[0].message


def first_failure(rank):
    """Collectives after a failure have it too, at once."""
    rank, size = begin()
    rank_1_comes_last(rank, size)
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    works = [dist.broadcast(torch.zeros(5), src=1, async_op=True), dist.broadcast(torch.zeros(LARGE), src=1, async_op=True)]
    messages = []
    for work in works:
        with pytest.raises(errors.PeerFailure) as raised:
            work.wait()
        messages.append(str(raised.value))
        assert work.is_completed() and not work.is_success() and work.exception() is raised.value
        with pytest.raises(RuntimeError, match="PeerFailure.*rank 1"):
            work.get_future().wait()
    begun = time.monotonic()
    with pytest.raises(errors.PeerFailure, match="barrier: .*rank 1"):
        dist.barrier()
    return messages, time.monotonic() - begun


def test_the_first_failure_is_that_of_all_later_collectives():
    messages, seconds = ranks.outcomes(__file__, "first_failure", 2, torch=True)[0].value
    assert "broadcast of 5 float32" in messages[0] and f"broadcast of {LARGE} float32" in messages[1]
    ranks.assert_within(1.0, seconds)


def destroyed(rank, joins):
    """The group is destroyed while a broadcast is under way, that the other rank calls, or never does."""
    rank, size = begin()
    dist.barrier()
    tensor = torch.full((LARGE,), float(rank))
    work = None
    if rank == 0 or joins:
        time.sleep(rank)
        work = dist.broadcast(tensor, src=1, async_op=True)
    begun = time.monotonic()
    dist.destroy_process_group()
    seconds = time.monotonic() - begun
    if joins:
        assert work.is_success() and (tensor == 1).all()
    elif rank == 0:
        with pytest.raises(errors.Error, match="broadcast of 400000 float32 from rank 1"):
            work.wait()
    return seconds


@pytest.mark.parametrize("joins", [True, False])
def test_destroying_a_group_ends_what_is_under_way(joins):
    for seconds in ranks.values(__file__, "destroyed", 2, torch=True, joins=joins):
        ranks.assert_within(SEEN_S, seconds)


def destroyed_early(rank):
    """A collective that no other rank has called, in a group that has not met yet."""
    rank, size = begin()
    work = dist.broadcast(torch.zeros(5), src=1, async_op=True) if rank == 0 else None
    dist.destroy_process_group()
    if work is not None:
        with pytest.raises(errors.Error, match="broadcast of 5 float32 from rank 1: rank 1 has left the process group"):
            work.wait()


def test_destroying_a_group_that_has_not_met_does_not_hang():
    begun = time.monotonic()
    ranks.values(__file__, "destroyed_early", 2, torch=True, whole_ends=True)
    assert time.monotonic() - begun < 60


def root_ahead(rank, destroys):
    """The root has sent all of its broadcasts, and ends its group or its program, ahead of the rank that has not called them
    yet."""
    rank, size = begin()
    tensors = [torch.full((5,), float(rank)) for _ in range(4)]
    for number, tensor in enumerate(tensors):
        if rank == 1 and number == 1:  # of the first one the ranks compare the name
            time.sleep(1)
        dist.broadcast(tensor, src=0)
    if destroys:
        dist.destroy_process_group()
    else:
        dist.destroy_process_group = lambda: None
    return [tensor.unique().tolist() for tensor in tensors]


@pytest.mark.parametrize("destroys", [True, False])
def test_a_root_that_is_ahead_does_not_leave_the_others_behind(destroys):
    values = ranks.values(__file__, "root_ahead", 2, torch=True, whole_ends=True, destroys=destroys)
    assert values == [[[0.0]] * 4] * 2


def gradient_alone(rank):
    """The first gradient of one rank, while the other ends its group without one."""
    begin()
    if rank == 0:
        in_backward(lambda: dist.all_reduce(torch.zeros(10)))


def test_a_rank_that_leaves_without_a_gradient_is_named():
    outcomes = ranks.outcomes(__file__, "gradient_alone", 2, torch=True, whole_ends=True)
    assert outcomes[1].error is None
    assert outcomes[0].error == "PeerFailure"
    assert outcomes[0].message == "all_reduce 0 of 10 float32: rank 1 has left the process group"


def stands_still(rank, kind, go):
    """Rank 0's process, which has torch's store, stands still, and the others call."""
    torch.set_num_threads(1)
    dist.init_process_group("cpu:casync", timeout=datetime.timedelta(seconds=5 if kind == "first" else 60))
    tensor = torch.zeros(10)
    if kind == "backward":
        in_backward(lambda: dist.all_reduce(tensor))
    if kind != "first":
        dist.barrier()
    ranks.mark("running")
    while rank == 0 or not os.path.exists(go):
        time.sleep(0.01)
    if kind == "backward":
        in_backward(lambda: dist.all_reduce(tensor))
    elif kind == "async":
        dist.broadcast(tensor, src=0, async_op=True).wait()
    else:
        dist.broadcast(tensor, src=0)


@pytest.mark.parametrize("kind", ["sync", "async", "backward", "first"])
def test_a_rank_that_stands_still_is_named_although_it_has_torch_s_store(kind, tmp_path):
    go = tmp_path / "go"
    with ranks.Job(__file__, "stands_still", 3, torch=True, env={"CASYNC_DEAD_SEC": "3"}, kind=kind, go=str(go)) as job:
        job.wait_for_files("running")
        job.processes[0].send_signal(signal.SIGSTOP)
        stopped = time.time()
        go.touch()
        for process in job.processes[1:]:
            process.wait(60)
        job.processes[0].kill()
        outcomes = job.wait()
    for outcome in outcomes[1:]:
        assert outcome.error == ("Timeout" if kind == "first" else "PeerFailure"), outcome.stderr
        assert ("does not answer" if kind == "first" else "rank 0") in outcome.message, outcome.message
        assert ("all_reduce 0 of" if kind == "backward" else "broadcast of 10 float32 from rank 0") in outcome.message
        ranks.assert_within(7.0 if kind == "first" else 3.0, outcome.raised_at - stopped)


def drops_an_error(rank):
    """What comes after a pass that has raised: sums of metrics, which are exact under any codec, and another pass."""
    rank, size = begin()

    def reduce():
        dist.all_reduce(torch.ones(LARGE))

    def fail():
        raise ValueError("a batch is too large")

    in_backward(reduce)
    with pytest.raises(ValueError, match="too large"):
        in_backward(reduce, fail)
    metric = torch.tensor([rank + 0.25, 1000.0])
    dist.all_reduce(metric)
    with pytest.raises(errors.Error, match="the previous backward pass did not end"):
        in_backward(reduce)
    dist.destroy_process_group()
    return metric.tolist()


def test_a_backward_pass_whose_error_was_dropped_takes_no_later_sums_and_is_told():
    values = ranks.values(__file__, "drops_an_error", 2, torch=True, env={"CASYNC_CODEC": "onebit"})
    assert values == [[1.5, 2000.0]] * 2


def from_two_threads(rank):
    """Rank 0 calls the second collective on another thread while the first one waits for rank 1."""
    rank, size = begin()
    store, lane = dist.distributed_c10d._get_default_store(), dist.group.WORLD._copies._lane
    dist.barrier()
    first, second = torch.full((1000,), rank + 1), torch.full((2000,), rank + 1)
    if rank == 0:
        thread = threading.Thread(target=lambda: dist.all_reduce(first))
        thread.start()
        while not lane._waiting:
            time.sleep(0.001)
        later = threading.Thread(target=lambda: dist.all_reduce(second))
        later.start()
        while len(lane._waiting) < 2:
            time.sleep(0.001)
        time.sleep(0.1)  # a thread that does not wait for its turn submits meanwhile
        store.set("both are called", "")
        thread.join()
        later.join()
    else:
        store.wait(["both are called"])
        dist.all_reduce(first)
        dist.all_reduce(second)
    return set(first.tolist()), set(second.tolist()), dist.group.WORLD.copy_stats()["steps"]


def test_collectives_of_two_threads_take_turns():
    assert ranks.values(__file__, "from_two_threads", 2, torch=True) == [({3}, {3}, 3)] * 2
