# SPDX-License-Identifier: Apache-2.0
"""The process group of the backend "casync": reductions of small tensors that are no gradients are exact, and its own."""

import itertools
import os
import signal

import pytest

torch = pytest.importorskip("torch")
import ranks  # noqa: E402
import torch.distributed as dist  # noqa: E402

import casync.torch  # noqa: E402, F401
from casync import errors  # noqa: E402
from casync.torch.copies import REDUCED  # noqa: E402
from test_torch_group import begin, in_backward, same_bytes  # noqa: E402
from test_torch_group_failures import rank_1_comes_last  # noqa: E402

OPERATIONS = ("SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR")
FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
WHOLE = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool)
CASES = [
    (operation, dtype)
    for operation, dtype in itertools.product(OPERATIONS, FLOATS + WHOLE)
    if dtype in (FLOATS if operation == "AVG" else WHOLE if operation.startswith("B") else FLOATS + WHOLE)
]


def values(dtype, count, rank):
    """Small numbers: any order of the ranks gives the same sums and products, also of half precision."""
    drawn = torch.randint(0, 4, (count,), generator=torch.Generator().manual_seed(count + rank))
    return (drawn % 2 if dtype == torch.bool else drawn).to(dtype)


def by_gloo(group, operation, dtype, tensor):
    """Gloo knows no int16, and a sum of bool is a byte of 2 there: other types hold what the tests compute."""
    wanted = tensor.to({torch.int16: torch.int32, torch.bool: torch.uint8}.get(dtype, dtype), copy=True)
    dist.all_reduce(wanted, getattr(dist.ReduceOp, operation), group=group)
    return wanted.to(dtype)


def steps():
    return dist.group.WORLD.copy_stats().get("steps", 0)


def as_gloo_does(rank):
    rank, size = begin()
    gloo = dist.new_group(backend="gloo")
    for (operation, dtype), count in itertools.product(CASES, (0, 1001)):
        op = getattr(dist.ReduceOp, operation)
        tensor = values(dtype, count, rank)
        wanted = by_gloo(gloo, operation, dtype, tensor) if count else tensor
        earlier = steps()
        dist.all_reduce(tensor, op)
        assert same_bytes(tensor, wanted), (operation, dtype, count, tensor, wanted)
        whole = values(dtype, size * count, rank)
        kept, output = whole.clone(), torch.empty(count, dtype=dtype)
        wanted = by_gloo(gloo, operation, dtype, whole)[rank * count :][:count] if count else output
        dist.reduce_scatter_single(output, whole, op)
        assert same_bytes(output, wanted) and same_bytes(whole, kept), (operation, dtype, count, output, wanted)
        assert steps() == earlier + 2 or (size == 1 and steps() == 0), "through a session of ours"
    return True


@pytest.mark.parametrize("size", [1, 2, 4])
def test_every_operation_and_dtype_gives_what_gloo_gives(size):
    assert ranks.values(__file__, "as_gloo_does", size, torch=True) == [True] * size


def any_floats(rank):
    """Sums whose bits depend on the order; and numbers that are none."""
    rank, size = begin()
    seen = []
    for dtype in FLOATS:
        of_rank = [torch.randn(1001, dtype=dtype, generator=torch.Generator().manual_seed(each)) for each in range(size)]
        total = of_rank[rank].clone()
        dist.all_reduce(total)
        wanted = of_rank[0]
        for each in of_rank[1:]:
            wanted = wanted + each
        assert torch.equal(total, wanted), dtype
        seen.append(total.tolist())
    worst = torch.tensor([1.0, float("nan") if rank else 1.0, float("inf") if rank else 1.0])
    dist.all_reduce(worst, dist.ReduceOp.MIN)
    assert worst[0] == 1 and worst[1].isnan() and worst[2] == 1
    return seen


def test_all_ranks_have_the_same_bits_in_the_order_of_the_ranks():
    first, *others = ranks.values(__file__, "any_floats", 4, torch=True)
    assert all(other == first for other in others)


def places(rank):
    """Tensors of any strides and shape, a parameter, and two halves of one output."""
    rank, size = begin()
    column = torch.full((5, 3), rank + 1)[:, 1]
    dist.all_reduce(column)
    scalar = torch.tensor(rank == 0)
    dist.all_reduce(scalar, dist.ReduceOp.MAX)
    parameter = torch.nn.Parameter(torch.full((3,), float(rank)))
    dist.all_reduce(parameter, dist.ReduceOp.MAX)
    output, whole = torch.zeros(3, 2, dtype=torch.int64).t(), torch.arange(6 * size).view(2 * size, 3)
    dist.group.WORLD.reduce_scatter_single(output, whole).wait()
    return column.tolist(), scalar.item(), parameter.tolist(), output.tolist()


def test_tensors_may_have_any_strides_and_shape():
    for rank, (column, scalar, parameter, output) in enumerate(ranks.values(__file__, "places", 2, torch=True)):
        assert (column, scalar, parameter) == ([3] * 5, True, [1.0] * 3)
        first = 6 * rank
        assert output == [[2 * (first + each) for each in range(3)], [2 * (first + each) for each in range(3, 6)]]


def which_way(rank):
    """From a size on, and for what is not an operation of ours, Gloo has them."""
    rank, size = begin()
    dist.barrier()
    fits = REDUCED // size // 8
    seen = []
    for count in (fits, fits + 1):
        earlier, tensor = steps(), torch.full((count,), rank)
        dist.all_reduce(tensor)
        assert (tensor == sum(range(size))).all()
        seen.append(steps() - earlier)
    earlier, gathered = steps(), [torch.zeros(2) for _ in range(size)] if rank == 0 else None
    dist.gather(torch.full((2,), float(rank)), gathered)
    total = torch.full((2,), float(rank))
    dist.reduce(total, 0)
    assert rank or (gathered[1].tolist() == [1.0, 1.0] and total.tolist() == [1.0, 1.0])
    in_backward(lambda: dist.all_reduce(torch.zeros(2, dtype=torch.float32)))  # a gradient
    seen.append(steps() - earlier)
    in_backward(lambda: dist.all_reduce(torch.zeros(2, dtype=torch.float64)))
    seen.append(steps() - earlier)
    return seen


def test_large_tensors_and_other_collectives_are_gloos():
    assert ranks.values(__file__, "which_way", 2, torch=True) == [[1, 0, 0, 1]] * 2


def later(rank):
    """Works end in the order of the calls, also of other collectives, and each takes what those ahead of it have brought."""
    rank, size = begin()
    dist.barrier()
    store = dist.distributed_c10d._get_default_store()
    if rank == 1:
        store.wait(["rank 0 has started them"])
    value, order = torch.tensor([rank + 1]), []
    works = [
        dist.all_reduce(value, async_op=True),  # 3
        dist.broadcast(value, src=1, async_op=True),
        dist.all_reduce(value, dist.ReduceOp.PRODUCT, async_op=True),  # 9
        dist.all_reduce(value, async_op=True),  # 18
    ]
    for number, work in enumerate(works):
        work.get_future().then(lambda _, number=number: order.append(number))
    if rank == 0:
        assert not any(work.is_completed() for work in works)
        store.set("rank 0 has started them", "")
    dist.all_reduce(value)  # 36
    assert all(work.is_completed() and work.wait() for work in works)
    return order, value.item()


def test_works_end_in_the_order_of_the_calls():
    assert ranks.values(__file__, "later", 2, torch=True) == [([0, 1, 2, 3], 36)] * 2


def dies(rank, asynchronous):
    rank, size = begin()
    rank_1_comes_last(rank, size)
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    work = dist.all_reduce(torch.zeros(5, dtype=torch.int64), dist.ReduceOp.MAX, async_op=asynchronous)
    if asynchronous:
        work.wait()


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_rank_that_dies_is_named_with_the_operation(asynchronous):
    outcomes = ranks.outcomes(__file__, "dies", 3, torch=True, asynchronous=asynchronous)
    for outcome in (outcomes[0], outcomes[2]):
        assert outcome.error == "PeerFailure", outcome.message
        assert "all_reduce MAX of 5 int64: " in outcome.message and "rank 1" in outcome.message


def differs(rank, kind):
    rank, size = begin()
    dist.barrier()
    tensor = torch.zeros(6 if kind == "size" and rank else 5, dtype=torch.int32 if kind == "dtype" and rank else torch.int64)
    dist.all_reduce(tensor, dist.ReduceOp.MAX if kind == "operation" and rank else dist.ReduceOp.SUM)
    dist.barrier()


@pytest.mark.parametrize("kind", ["size", "dtype", "operation"])
def test_ranks_that_differ_learn_it_by_name(kind):
    outcomes = ranks.outcomes(__file__, "differs", 2, torch=True, kind=kind)
    assert all(outcome.error is not None for outcome in outcomes)
    said = " ".join(outcome.message for outcome in outcomes)
    assert "InvalidArgument" in {outcome.error for outcome in outcomes}
    assert "all_reduce SUM of 5 int64" in said and "rank " in said, said


def refused(rank):
    rank, size = begin()
    wrong = torch.zeros(3, dtype=torch.int64)
    with pytest.raises(errors.InvalidArgument, match="reduce_scatter SUM of 4 int64: the output has 3 elements of torch.int64"):
        dist.group.WORLD.reduce_scatter_single(wrong, torch.zeros(4, dtype=torch.int64))
    with pytest.raises(RuntimeError, match="BAND with non-integral dtype"):
        dist.all_reduce(torch.zeros(4), dist.ReduceOp.BAND)  # Gloo says so
    value = torch.tensor([rank])
    dist.all_reduce(value)  # nothing was started
    return value.item()


def test_refusals_start_nothing_and_name_what_is_wrong():
    assert ranks.values(__file__, "refused", 2, torch=True) == [1, 1]
