# SPDX-License-Identifier: Apache-2.0
"""The process group of the backend "casync": broadcasts, all-gathers, barriers, and works that end later."""

import datetime
import time

import pytest

torch = pytest.importorskip("torch")
import ranks  # noqa: E402
import small_net  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402

import casync.torch  # noqa: E402
from casync import errors  # noqa: E402

LARGE = 400_000  # elements that travel from and to their own memory, of each dtype
DTYPES = (
    torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int8, torch.uint8, torch.bool,
    torch.complex64, torch.float8_e4m3fn,
)  # fmt: skip


def begin(backend="cpu:casync"):
    torch.set_num_threads(1)
    dist.init_process_group(backend)
    return dist.get_rank(), dist.get_world_size()


def values(dtype, count, rank):
    raw = torch.randint(0, 256, (count * dtype.itemsize,), dtype=torch.uint8, generator=torch.Generator().manual_seed(rank))
    return (raw % 2).view(dtype) if dtype == torch.bool else raw.view(dtype)


def same_bytes(a, b):
    return a.shape == b.shape and a.dtype == b.dtype and torch.equal(
        a.contiguous().view(-1).view(torch.uint8), b.contiguous().view(-1).view(torch.uint8)
    )


def every_dtype(rank):
    rank, size = begin()
    for dtype in DTYPES:
        for count in (0, 1, 3, 1001, LARGE // dtype.itemsize * 4):
            tensor = values(dtype, count, rank)
            dist.broadcast(tensor, src=size - 1)
            assert same_bytes(tensor, values(dtype, count, size - 1)), (dtype, count)
            own, wanted = values(dtype, count, rank), [values(dtype, count, each) for each in range(size)]
            whole = torch.empty(size * count, dtype=dtype)
            dist.all_gather_single(whole, own)
            assert same_bytes(whole, torch.cat(wanted)), (dtype, count)
            parts = [torch.empty(count, dtype=dtype) for _ in range(size)]
            dist.all_gather(parts, own)
            assert all(same_bytes(*pair) for pair in zip(parts, wanted)), (dtype, count)
    dist.barrier()
    return True


@pytest.mark.parametrize("size", [1, 2, 3])
def test_tensors_of_every_dtype_and_size_arrive_byte_for_byte(size):
    assert ranks.values(__file__, "every_dtype", size, torch=True) == [True] * size


def strides(rank):
    """Tensors that do not lie in one piece, or not at words, on one rank or on all; and one in its own output."""
    rank, size = begin()
    for count in (6, 1200):
        wanted = torch.arange(count * count, dtype=torch.float32).view(count, count)
        tensor = wanted.clone() if rank == 0 else torch.zeros(count, count)
        tensor = tensor if rank == 1 else tensor.t()
        dist.broadcast(tensor, src=0)
        assert torch.equal(tensor, wanted.t())
        column = torch.full((count * count, 2), float(rank))[:, 1]
        rows = torch.zeros(size, count, count).transpose(1, 2)
        dist.all_gather([row for row in rows], column.view(count, count))
        assert all((rows[each] == each).all() for each in range(size))
    odd = torch.full((1 + 8 * size * 65536,), rank, dtype=torch.uint8)[1 if rank == 0 else 0 :][: 8 * size * 65536]
    dist.broadcast(odd, src=1)
    assert (odd == 1).all()
    whole = torch.full((size, LARGE), -1.0)
    whole[rank] = rank
    dist.all_gather_single(whole, whole[rank])
    assert all((whole[each] == each).all() for each in range(size))
    parameter = torch.nn.Parameter(torch.full((3,), float(rank)))
    dist.broadcast(parameter, src=1)
    assert parameter.tolist() == [1.0] * 3
    scalar = torch.tensor(float(rank))
    dist.broadcast(scalar, src=1)
    assert scalar.item() == 1.0
    return True


def test_tensors_may_have_any_strides_and_places():
    assert ranks.values(__file__, "strides", 2, torch=True) == [True] * 2


def coalesced(rank):
    rank, size = begin()
    inputs = [torch.full((count,), float(rank)) for count in (3, 3, LARGE)]
    outputs = [torch.empty(size * each.numel()) for each in inputs]
    group = dist.group.WORLD
    with dist._coalescing_manager(group, async_ops=True) as manager:
        for output, each in zip(outputs, inputs):
            dist.all_gather_single(output, each)
    manager.wait()
    for output in outputs:
        assert all((row == each).all() for each, row in enumerate(output.view(size, -1)))
    lists = [[torch.empty_like(each) for each in inputs] for _ in range(size)]
    group.allgather_coalesced(lists, inputs).wait()
    for each, rows in enumerate(lists):
        assert all((row == each).all() for row in rows)
    return True


def test_coalesced_all_gathers_are_one_step():
    assert ranks.values(__file__, "coalesced", 2, torch=True) == [True] * 2


def subgroups(rank):
    """Two meshes of the same ranks, each with sessions of its own."""
    rank, size = begin()
    rows = [dist.new_group([0, 1]), dist.new_group([2, 3])]
    columns = [dist.new_group([0, 2]), dist.new_group([1, 3])]
    row, column = rows[rank // 2], columns[rank % 2]
    seen = []
    for group in (row, column, row):
        output = torch.empty(2, dtype=torch.int64)
        dist.all_gather_single(output, torch.tensor([rank]), group=group)
        value = torch.tensor([rank])
        dist.broadcast(value, group=group, group_src=1)
        seen.append((output.tolist(), value.item()))
    return seen


def test_groups_of_some_ranks_have_sessions_of_their_own():
    for rank, (row, column, again) in enumerate(ranks.values(__file__, "subgroups", 4, torch=True)):
        first, lower = rank // 2 * 2, rank % 2
        assert row == again == ([first, first + 1], first + 1)
        assert column == ([lower, lower + 2], lower + 2)


def later(rank):
    """Works of one rank are not done until the other one calls; then all are, in order."""
    rank, size = begin()
    store = dist.distributed_c10d._get_default_store()
    dist.barrier()
    if rank == 1:
        store.wait(["rank 0 has started them"])
    tensors = [torch.full((LARGE,), float(rank)), torch.full((5,), rank)]
    outputs = [torch.empty(size * LARGE), torch.empty(size * 5, dtype=torch.int64)]
    order = []
    works = [dist.broadcast(tensor, src=1, async_op=True) for tensor in tensors]
    works += [dist.all_gather_single(*pair, async_op=True) for pair in zip(outputs, tensors)]
    for number, work in enumerate(works):
        work.get_future().add_done_callback(lambda _, number=number: order.append(number))
    if rank == 0:
        assert not any(work.is_completed() for work in works)
        with pytest.raises(errors.Timeout, match="broadcast of 400000 float32 from rank 1: not done after 0.05 s"):
            works[0].wait(datetime.timedelta(seconds=0.05))
        store.set("rank 0 has started them", "")
    for work in reversed(works):
        assert work.wait() is True and work.is_completed() and work.is_success() and work.exception() is None
    while len(order) < len(works):
        time.sleep(0.01)  # a future tells its waiters ahead of its callbacks
    assert order == [0, 1, 2, 3]
    assert [int(tensor[0]) for tensor in tensors] == [1, 1]
    assert works[0].get_future().wait()[0] is tensors[0] and works[0].result()[0] is tensors[0]
    assert outputs[1].tolist() == [1] * 10
    return True


def test_works_end_later_and_in_the_order_of_the_calls():
    assert ranks.values(__file__, "later", 2, torch=True) == [True] * 2


def in_inference_mode(rank):
    """An evaluation's tensors, of which some are made outside of it; works of a thread that is not in this mode."""
    rank, size = begin()
    outside = torch.full((LARGE,), float(rank))
    with torch.inference_mode():
        inside, large = torch.full((5,), rank), torch.full((LARGE,), float(rank))
        rows, means = torch.empty(size * 5, dtype=torch.int64), torch.full((LARGE,), float(rank))
        shard = torch.empty(LARGE // size)
        works = [dist.all_gather_single(rows, inside, async_op=True)]
        works += [dist.broadcast(tensor, src=1, async_op=True) for tensor in (outside, inside, large)]
        works += [dist.all_reduce(tensor, async_op=True) for tensor in (inside, large)]
        works += [dist.all_reduce(means, dist.ReduceOp.AVG, async_op=True)]
        works += [dist.reduce_scatter_single(shard, outside, async_op=True)]
        for work in works:
            work.wait()
    assert not outside.is_inference() and (outside == 1).all()
    assert rows.tolist() == [each for each in range(size) for _ in range(5)]
    assert inside.tolist() == [size] * 5 and (large == size).all() and (shard == size).all()
    assert (means == (size - 1) / 2).all()
    return True


def test_collectives_of_an_evaluation_in_inference_mode():
    assert ranks.values(__file__, "in_inference_mode", 2, torch=True) == [True] * 2


def in_backward(*functions):
    x = torch.zeros(1, requires_grad=True)
    for function in reversed(functions):
        x = small_net.CallsInBackward.apply(x, function)
    x.backward()


def overlap(rank):
    """Rank 1 submits nothing until rank 0 is past all of its collectives, in the second pass: in the first one the session
    opens, and ranks compare what they declare."""
    rank, size = begin()
    store = dist.distributed_c10d._get_default_store()
    tensors = [torch.empty(LARGE) for _ in range(2)]
    inputs, output = torch.empty(size * LARGE), torch.empty(LARGE)
    works, passed = [], []

    def reduce(number):
        works.append(dist.all_reduce(tensors[number], async_op=True))

    def scatter():
        works.append(dist.reduce_scatter_tensor(output, inputs, async_op=True))

    def meet():
        if rank == 0:
            passed.append(not any(work.is_completed() for work in works))
            store.set("rank 0 is past them", "")
        else:
            store.wait(["rank 0 is past them"])

    for turn in range(1, 3):
        works.clear()
        for tensor in [*tensors, inputs]:
            tensor.fill_(rank + turn)
        steps = [lambda: reduce(0), lambda: reduce(1), scatter]
        if turn == 1:
            in_backward(*steps)
        else:
            in_backward(*([*steps, meet] if rank == 0 else [meet, *steps]))
        wanted = sum(each + turn for each in range(size))
        assert all((tensor == wanted).all() for tensor in [*tensors, output])
        assert (inputs == rank + turn).all()  # it belongs to the program
        assert all(work.is_completed() for work in works)
    return passed


def test_a_backward_pass_goes_on_while_its_gradients_travel():
    assert ranks.values(__file__, "overlap", 2, torch=True)[0] == [True]


def two_models(rank):
    """The largest gradients of two equal models, which have passes of their own; the second one's are all zero."""
    begin()
    first, second = [DistributedDataParallel(torch.nn.Linear(40, 30)) for _ in range(2)]
    x = torch.randn(4, 40, generator=torch.Generator().manual_seed(rank))
    first(x).square().mean().backward()
    (second(x) * 0).sum().backward()
    return [small_net.largest(parameter.grad for parameter in model.parameters()) for model in (first, second)]


def test_two_models_of_one_shape_do_not_get_what_the_other_has_not_sent():
    for first, second in ranks.values(__file__, "two_models", 2, torch=True, env={"CASYNC_CODEC": "topk:ratio=0.1"}):
        assert first > 0 and second == 0


def buckets_made_anew(rank):
    """The largest gradient of each pass of one model, of which the second and the fourth have zeros alone. DDP makes its
    only bucket anew ahead of the second one, with other elements at each place."""
    begin()
    model = DistributedDataParallel(torch.nn.Linear(40, 30))
    x = torch.randn(4, 40, generator=torch.Generator().manual_seed(rank))
    of_passes = []
    for factor in (1, 0, 1, 0):
        model.zero_grad()
        (model(x).square().mean() * factor).backward()
        of_passes.append(small_net.largest(parameter.grad for parameter in model.parameters()))
    return of_passes


def test_what_the_first_pass_has_not_sent_does_not_go_to_other_elements():
    for of_passes in ranks.values(__file__, "buckets_made_anew", 2, torch=True, env={"CASYNC_CODEC": "topk:ratio=0.1"}):
        assert of_passes[0] > 0 and of_passes[1] == 0
        assert of_passes[2] > 0 and of_passes[3] > 0  # later passes have the same buckets


def two_programs(rank, apart):
    """Collectives of equal sizes in two passes: the largest result of zeros after something else was not all sent."""
    begin()
    group = dist.new_group(backend="casync") if apart else None
    first, second = torch.arange(1000.0), torch.zeros(1000)
    in_backward(lambda: dist.all_reduce(first))
    in_backward(lambda: dist.all_reduce(second, group=group))
    return second.abs().max().item()


@pytest.mark.parametrize("apart", [True, False])
def test_collectives_of_one_size_share_what_was_not_sent_unless_each_has_a_group(apart):
    for largest in ranks.values(
        __file__, "two_programs", 2, torch=True, env={"CASYNC_CODEC": "topk:ratio=0.1"}, apart=apart
    ):
        assert (largest == 0) == apart


def shards(rank):
    """A reduce-scatter leaves its input as it was, or gives it the result where the output is its own shard."""
    rank, size = begin()
    seen = []
    for place in ("another", "its own"):
        tensor = torch.full((size, 1000), rank + 1.0)
        output = tensor[rank] if place == "its own" else torch.zeros(1000)
        in_backward(lambda: dist.reduce_scatter_tensor(output, tensor.view(-1)))
        wanted = torch.full((size, 1000), rank + 1.0)
        if place == "its own":
            wanted[rank] = sum(range(1, size + 1))
        assert torch.equal(tensor, wanted)
        seen.append(output.unique().tolist())
    return seen


def test_a_reduce_scatter_changes_nothing_but_its_output():
    assert ranks.values(__file__, "shards", 3, torch=True) == [[[6.0], [6.0]]] * 3


def other_sizes(rank, kind):
    rank, size = begin()
    dist.barrier()
    count = {"small": 5, "same buffer": 5, "large": LARGE}.get(kind, 5) + rank
    if kind == "small":
        count = 5000 if rank else 5
    tensor = torch.zeros(count, dtype=torch.int32 if kind == "dtype" and rank else torch.float32)
    if kind == "dtype":
        tensor = tensor[:5].clone()
    if kind == "operation" and rank == 1:
        dist.all_gather_single(torch.zeros(10), torch.zeros(5))
    elif kind == "gather":
        dist.all_gather_single(torch.zeros(size * count), tensor)
    else:
        dist.broadcast(tensor, src=0)
    dist.barrier()


@pytest.mark.parametrize("kind", ["small", "same buffer", "large", "dtype", "operation", "gather"])
def test_ranks_whose_collectives_differ_learn_it_by_name(kind):
    outcomes = ranks.outcomes(__file__, "other_sizes", 2, torch=True, kind=kind)
    assert all(outcome.error is not None for outcome in outcomes)
    said = " ".join(outcome.message for outcome in outcomes)
    assert "InvalidArgument" in {outcome.error for outcome in outcomes}
    operation = "all_gather of" if kind == "gather" else "broadcast of"
    assert operation in said and ("rank 0" in said or "rank 1" in said), said


def other_gradients(rank):
    """Each waits in its backward pass for a gradient that the other does not have."""
    begin()
    tensor = torch.zeros(10 + rank)
    in_backward(lambda: dist.all_reduce(tensor))


def test_ranks_whose_gradients_differ_learn_it_by_name():
    outcomes = ranks.outcomes(__file__, "other_gradients", 2, torch=True)
    for outcome in outcomes:
        assert outcome.error in ("InvalidArgument", "PeerFailure"), outcome.message
        assert "all_reduce 0 of 10 float32" in outcome.message and "all_reduce 0 of 11 float32" in outcome.message
        assert "rank 0" in outcome.message and "rank 1" in outcome.message


def refused(rank):
    rank, size = begin()
    with pytest.raises(errors.InvalidArgument, match="all_gather of 4 float32: outputs are 7 float32, expected all of 2"):
        dist.group.WORLD._allgather_base(torch.empty(7), torch.empty(4))
    with pytest.raises(errors.InvalidArgument, match="root is 2, and the ranks are 0 to 1"):
        options = dist.BroadcastOptions()
        options.rootRank = 2
        dist.group.WORLD.broadcast([torch.empty(4)], options)
    with pytest.raises(errors.Unavailable, match="broadcast: a tensor is on meta"):
        dist.group.WORLD.broadcast([torch.empty(4, device="meta")])
    with pytest.raises(errors.Unavailable, match="all_reduce of 4 int64 on meta: only sums and averages of gradients"):
        dist.group.WORLD.allreduce([torch.empty(4, dtype=torch.int64, device="meta")])
    with pytest.raises(errors.InvalidArgument, match="a tensor is torch.sparse_coo"):
        dist.group.WORLD.broadcast([torch.eye(3).to_sparse()])
    value = torch.tensor([rank])
    dist.broadcast(value, src=1)  # nothing was started
    return value.item()


def test_refusals_start_nothing_and_name_what_is_wrong():
    assert ranks.values(__file__, "refused", 2, torch=True) == [1, 1]
