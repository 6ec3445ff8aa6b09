# SPDX-License-Identifier: Apache-2.0
"""The process group with gradients on a GPU, where there is none: torch's side is what a build with CUDA answers."""

import contextlib
import types

import pytest

torch = pytest.importorskip("torch")
import torch.distributed as dist  # noqa: E402
from test_torch_device import Buffer, FutureOf  # noqa: E402

from casync import errors  # noqa: E402
from casync.torch import reductions  # noqa: E402


class Flat(Buffer):
    """A flat gradient of a GPU, as far as the group looks at it."""

    def __init__(self, device="cuda:1", address=0x7000, numel=8):
        super().__init__(device)
        self._address, self._numel, self.scales, self.got, self.streams = address, numel, [], [], []

    def is_contiguous(self):
        return True

    def numel(self):
        return self._numel

    def data_ptr(self):
        return self._address

    def view(self, *shape):
        return self

    view_as = view

    def __getitem__(self, rank):
        return Flat(str(self.device), self._address + 4 * rank, self._numel // 2)

    def clone(self):
        return Flat(str(self.device), 0x9000, self._numel)

    def mul_(self, size):
        self.scales.append(size)

    def record_stream(self, stream):
        self.streams.append(stream.cuda_stream)

    def copy_(self, other):
        self.got.append(other)


class Recorder:
    """Stands for a Synchronizer."""

    def __init__(self, **options):
        self.options, self.declared, self.submitted, self.done, self.steps, self.rank = options, [], [], [], 0, 0

    def declare(self, name, shape, dtype, position=0, scatter=False):
        self.declared.append((name, shape, dtype, scatter))
        return len(self.declared) - 1

    def submit(self, ids, addresses, owner, done, stream):
        self.submitted.append((ids, addresses, owner, stream))
        self.done.append(done)
        return [types.SimpleNamespace(wait=lambda timeout=None: None)]

    def end_step(self):
        self.steps += 1


class Future(FutureOf):
    def then(self, function):
        return self


@pytest.fixture
def group(monkeypatch):
    monkeypatch.setattr(torch.futures, "Future", Future)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda d: types.SimpleNamespace(cuda_stream=77 + d.index))
    monkeypatch.setattr(torch.cuda, "device", lambda d: contextlib.nullcontext())
    ends = []
    monkeypatch.setattr(
        torch.autograd.Variable, "_execution_engine", types.SimpleNamespace(queue_callback=ends.append)
    )
    monkeypatch.setattr(torch._C, "_current_graph_task_id", lambda: 0)
    made = reductions.Reductions(Recorder, dist.HashStore(), 0, 2, 60.0)
    monkeypatch.setattr(made._order, "meet", lambda name: None)
    made.ends = ends
    return made


def test_a_gradient_goes_with_its_stream_and_its_future_with_the_device(group):
    flat = Flat()
    assert group.takes(flat, dist.ReduceOp.SUM)
    work = group.all_reduce(flat, dist.ReduceOp.SUM)
    session = group._synchronizer
    assert session.options == {"device": "cuda:1"}
    assert session.declared == [("all_reduce 0 of 8 float32", (8,), "float32", False)]
    assert session.submitted == [([0], [0x7000], flat, 78)]
    assert work.get_future().devices == [torch.device("cuda:1")] and not work.is_completed()
    session.done[0](0, None)
    assert work.is_completed() and flat.scales == [2]
    group.ends[0]()
    assert session.steps == 1


def test_a_reduce_scatter_that_is_waited_for_goes_from_its_own_memory(group):
    output, flat = Flat(address=0x5000, numel=4), Flat()
    for asynchronous, address in ((False, 0x7000), (True, 0x9000)):
        assert group.takes(flat, dist.ReduceOp.AVG)
        group.reduce_scatter(output, flat, dist.ReduceOp.AVG, asynchronous)
        assert group._synchronizer.submitted[-1][1] == [address]
        group._synchronizer.done[-1](0, None)
        assert output.got[-1].data_ptr() == address
        memory = group._synchronizer.submitted[-1][2]
        assert memory.streams == ([78] if asynchronous else []), "a clone is freed after the stream that copies from it"


def test_gradients_of_two_devices_or_of_neither_are_refused(group):
    group.takes(Flat("cuda:1"), dist.ReduceOp.SUM)
    group.all_reduce(Flat("cuda:1"), dist.ReduceOp.SUM)
    with pytest.raises(errors.InvalidArgument, match="a tensor is on cuda:0, and the session is on cuda:1"):
        group.takes(Flat("cuda:0"), dist.ReduceOp.SUM)
    with pytest.raises(errors.Unavailable, match="a tensor is on meta"):
        group.takes(Flat("meta"), dist.ReduceOp.SUM)


def test_what_is_no_gradient_is_left_to_others(group):
    flat = Flat()
    assert not group.takes(flat, dist.ReduceOp.MAX)
    flat.dtype = torch.int64
    assert not group.takes(flat, dist.ReduceOp.SUM)
