# SPDX-License-Identifier: Apache-2.0
"""The process group of the backend "casync": reductions of tensors that are no gradients are exact, and its
own: of small ones, and large sums of floats."""

import hashlib
import itertools
import os
import signal
import time

import pytest

torch = pytest.importorskip("torch")
import ranks  # noqa: E402
import torch.distributed as dist  # noqa: E402

import casync.torch  # noqa: E402, F401
from casync import errors  # noqa: E402
from casync.torch import copies, sums  # noqa: E402
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
    for (operation, dtype), count in itertools.product(CASES, (0, 1001) if size > 1 else (0, 1001, REDUCED)):
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


SUMMED = (torch.float32, torch.float16, torch.bfloat16)  # of any size through a session of ours


def drawn(dtype, shape, rank):
    """Sums whose bits depend on the order, and some that are not finite, or not in the type."""
    made = torch.randn(shape, generator=torch.Generator().manual_seed(rank)).to(dtype)
    odd = [float("inf"), float("inf") if rank else -float("inf"), 1.0 if rank else float("nan"), 60000.0, 3e38, -0.0]
    if made.numel() >= len(odd):
        made.view(-1)[: len(odd)] = torch.tensor(odd).to(dtype)
    return made


def summed(rows, op):
    """Small ones are added in their type, and large ones in float32, which is rounded once."""
    large = len(rows) * rows[0].numel() * rows[0].element_size() > REDUCED
    total = rows[0].float() if large else rows[0].clone()
    for row in rows[1:]:
        total = total + row
    total = total.to(rows[0].dtype)
    return total.div_(len(rows)) if op == dist.ReduceOp.AVG else total


def same_numbers(a, b):
    """NaN may have other bits, and -0.0 may not."""
    return torch.equal(a.isnan(), b.isnan()) and same_bytes(a.nan_to_num(0.0), b.nan_to_num(0.0))


def large_sums(rank):
    """Sizes on both sides of the limit, and of no, one or several partitions, none of them a multiple of the ranks."""
    rank, size = begin()
    dist.barrier()
    seen, checked = hashlib.sha256(), 0

    def check(run, result, rows, op, *what):
        nonlocal checked
        wanted, earlier = summed(rows, op), steps()
        run()
        wanted = wanted if result.shape == wanted.shape else wanted.view(size, -1)[rank]
        assert same_numbers(result, wanted), (what, op, result, wanted)
        assert steps() == earlier + 1, "through a session of ours"
        checked += 1

    for dtype, op in itertools.product(SUMMED, (dist.ReduceOp.SUM, dist.ReduceOp.AVG)):
        fits = REDUCED // size // dtype.itemsize
        for shape in (0, fits, fits + 1, 600_001 if size == 2 else 200_001, (3, 250, 200)):
            rows = [drawn(dtype, shape, each) for each in range(size)]
            tensor = rows[rank].clone()
            if isinstance(shape, tuple):  # not in one piece
                tensor, rows = tensor.transpose(0, 2), [row.transpose(0, 2) for row in rows]
            check(lambda: dist.all_reduce(tensor, op), tensor, rows, op, dtype, shape)
            seen.update(tensor.contiguous().view(-1).view(torch.uint8).numpy().tobytes())
        for count, later in ((fits // size + 1, False), (50_003, False), (50_003, True)):
            rows = [drawn(dtype, size * count, each) for each in range(size)]
            whole, output = rows[rank].clone(), torch.empty(count, dtype=dtype)

            def scatter():
                work = dist.reduce_scatter_tensor(output, whole, op, async_op=later)
                assert work.wait() if later else work is None

            check(scatter, output, rows, op, dtype, count, later)
            assert same_bytes(whole, rows[rank]), "the input belongs to the program"
    rows = [drawn(torch.float32, 100_100 * size, each) for each in range(size)]
    whole, kept = rows[rank].clone(), rows[rank].clone()
    own = whole.view(size, -1)[rank]  # the output is the input's own shard
    check(lambda: dist.reduce_scatter_tensor(own, whole), own, rows, dist.ReduceOp.SUM)
    kept.view(size, -1)[rank] = own
    assert same_bytes(whole, kept)
    parameter = torch.nn.Parameter(torch.full((300, 300), rank + 1.0))
    dist.all_reduce(parameter)
    assert (parameter == sum(range(1, size + 1))).all()
    return seen.hexdigest(), checked


@pytest.mark.parametrize("size", [2, 3, 4])
def test_large_sums_of_floats_are_ours_and_have_the_same_bits_on_every_rank(size, tmp_path):
    """Nor do they count as steps of the training, or write its record and trace."""
    env = {"CASYNC_STEPS": "1", "CASYNC_RECORD": str(tmp_path / "record"), "CASYNC_TRACE": str(tmp_path / "trace")}
    values = ranks.values(__file__, "large_sums", size, torch=True, env=env)
    assert values == [(values[0][0], 6 * 8 + 1)] * size
    assert not list(tmp_path.glob("*/*"))


def test_memory_in_one_piece_is_summed_in_its_place():
    tensor, input, output = torch.zeros(4), torch.zeros(4), torch.zeros(2)
    assert sums.reduced("sum", tensor, dist.ReduceOp.AVG, 2).memory.data_ptr() == tensor.data_ptr()
    for asynchronous in (False, True):  # what is not waited for at once may be looked at meanwhile
        part = sums.scattered("sum", output, input, dist.ReduceOp.SUM, (1, 2), asynchronous)
        assert (part.memory.data_ptr() == input.data_ptr()) == (not asynchronous)


def which_way(rank):
    """From a size on, for what is not an operation of ours, and beyond so many sizes, Gloo has them."""
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
    copies._MOST_NAMES = 1  # a float's first size beyond the limit is the only one that the session knows
    for count in (REDUCED, REDUCED + 1, REDUCED):
        earlier, tensor = steps(), torch.full((count,), float(rank))
        dist.all_reduce(tensor)
        assert (tensor == sum(range(size))).all()
        seen.append(steps() - earlier)
    return seen


def test_large_tensors_and_other_collectives_are_gloos():
    assert ranks.values(__file__, "which_way", 2, torch=True) == [[1, 0, 0, 1, 1, 0, 1]] * 2


def later(rank):
    """Works end in the order of the calls, also of other collectives, and each takes what those ahead of it have brought."""
    rank, size = begin()
    dist.barrier()
    store = dist.distributed_c10d._get_default_store()
    if rank == 1:
        store.wait(["rank 0 has started them"])
    value, order, large = torch.tensor([rank + 1]), [], torch.full((REDUCED,), rank + 1.0)
    works = [
        dist.all_reduce(value, async_op=True),  # 3
        dist.broadcast(value, src=1, async_op=True),
        dist.all_reduce(value, dist.ReduceOp.PRODUCT, async_op=True),  # 9
        dist.all_reduce(value, async_op=True),  # 18
        dist.all_reduce(large, async_op=True),  # 3
        dist.all_reduce(large, async_op=True),  # 6
    ]
    for number, work in enumerate(works):
        work.get_future().then(lambda _, number=number: order.append(number))
    if rank == 0:
        assert not any(work.is_completed() for work in works)
        store.set("rank 0 has started them", "")
    dist.all_reduce(value)  # 36
    assert all(work.is_completed() and work.wait() for work in works)
    return order, value.item(), large.unique().tolist()


def test_works_end_in_the_order_of_the_calls():
    assert ranks.values(__file__, "later", 2, torch=True) == [([0, 1, 2, 3, 4, 5], 36, [6.0])] * 2


def dies(rank, asynchronous, large):
    rank, size = begin()
    rank_1_comes_last(rank, size)
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    tensor, op = torch.zeros(5, dtype=torch.int64), dist.ReduceOp.MAX
    if large:
        tensor, op = torch.zeros(REDUCED), dist.ReduceOp.SUM
    work = dist.all_reduce(tensor, op, async_op=asynchronous)
    if asynchronous:
        work.wait()


@pytest.mark.parametrize("asynchronous, large", [(False, False), (True, False), (True, True)])
def test_a_rank_that_dies_is_named_with_the_operation(asynchronous, large):
    outcomes = ranks.outcomes(__file__, "dies", 3, torch=True, asynchronous=asynchronous, large=large)
    operation = f"all_reduce SUM of {REDUCED} float32: " if large else "all_reduce MAX of 5 int64: "
    for outcome in (outcomes[0], outcomes[2]):
        assert outcome.error == "PeerFailure", outcome.message
        assert operation in outcome.message and "rank 1" in outcome.message


def differs(rank, kind):
    rank, size = begin()
    dist.barrier()
    tensor = torch.zeros(6 if kind == "size" and rank else 5, dtype=torch.int32 if kind == "dtype" and rank else torch.int64)
    dist.all_reduce(tensor, dist.ReduceOp.MAX if kind == "operation" and rank else dist.ReduceOp.SUM)
    dist.barrier()


def large_sums_differ(rank):
    """Each pair in a group of its own: a failure is that of all later collectives there."""
    rank, size = begin()
    small, other = torch.zeros(5 if rank else REDUCED), torch.zeros(REDUCED, dtype=torch.float16 if rank else None)
    tensor = torch.zeros(REDUCED)
    calls = [
        lambda group: dist.all_reduce(small, group=group),  # one of them is below the limit
        lambda group: dist.all_reduce(other, group=group),
        lambda group: dist.all_reduce(tensor, dist.ReduceOp.AVG if rank else dist.ReduceOp.SUM, group=group),
        lambda group: dist.broadcast(tensor, 0, group=group) if rank else dist.all_reduce(tensor, group=group),
    ]
    said = []
    for call in calls:
        group = dist.new_group([0, 1], backend="casync")
        dist.barrier(group=group)
        with pytest.raises((errors.InvalidArgument, errors.PeerFailure)) as raised:
            call(group)
            dist.barrier(group=group)
        said.append(str(raised.value))
    return said


def test_ranks_whose_large_sums_differ_learn_it_by_name():
    begun = time.monotonic()
    said = ranks.values(__file__, "large_sums_differ", 2, torch=True)
    assert time.monotonic() - begun < 50  # and not by a time limit of a session, or of Gloo
    others = (
        "all_reduce SUM of 5 float32",
        f"all_reduce SUM of {REDUCED} float16",
        f"all_reduce AVG of {REDUCED} float32",
        f"broadcast of {REDUCED} float32 from rank 0",
    )
    for by_0, by_1, other in zip(*said, others):
        assert f"all_reduce SUM of {REDUCED} float32" in by_0 + by_1 and other in by_0 + by_1, (by_0, by_1)
        assert "rank 1" in by_0 and "rank 0" in by_1


def destroyed(rank):
    """The group is destroyed while a large sum is under way, that the other rank calls later."""
    rank, size = begin()
    dist.barrier()
    tensor = torch.full((REDUCED,), rank + 1.0)
    time.sleep(rank)
    work = dist.all_reduce(tensor, async_op=True)
    dist.destroy_process_group()
    return work.is_success(), tensor.unique().tolist()


def test_destroying_a_group_waits_for_a_large_sum():
    assert ranks.values(__file__, "destroyed", 2, torch=True) == [(True, [3.0])] * 2


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
    with pytest.raises(errors.Unavailable, match=f"all_reduce of {REDUCED} float32 on meta: only sums and averages of"):
        dist.group.WORLD.allreduce([torch.empty(REDUCED, device="meta")])
    value = torch.tensor([rank])
    dist.all_reduce(value)  # nothing was started
    return value.item()


def test_refusals_start_nothing_and_name_what_is_wrong():
    assert ranks.values(__file__, "refused", 2, torch=True) == [1, 1]
