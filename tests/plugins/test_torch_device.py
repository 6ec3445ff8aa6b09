# SPDX-License-Identifier: Apache-2.0
"""The communication hook with buckets on a GPU, where there is none: torch's side is what a build with CUDA answers."""

import types

import pytest
import torch

from casync import errors
from casync.torch import fsdp, local_sgd, naming, optimizer, state

PARAMETERS = [torch.nn.Parameter(torch.zeros(3, 2)), torch.nn.Parameter(torch.zeros(5))]
NAMED = [("weight", PARAMETERS[0]), ("bias", PARAMETERS[1])]


class Buffer:
    """A flat tensor on a GPU, as far as the hook looks at it."""

    dtype, is_sparse, is_cuda = torch.float32, False, True

    def __init__(self, device="cuda:0", address=0x7000):
        self.device, self._address = torch.device(device), address

    def data_ptr(self):
        return self._address

    def numel(self):
        return 7


class Bucket:
    def __init__(self, buffer):
        self._buffer = buffer

    def buffer(self):
        return self._buffer

    def parameters(self):
        return PARAMETERS

    def is_last(self):
        return True


class Recorder:
    """Stands for a Synchronizer: notes how it was opened and what was submitted."""

    last = None

    def __init__(self, **options):
        Recorder.last, self.options, self.submitted = self, options, []
        self.session = types.SimpleNamespace(exchanged="gradients")
        self.rank = 1  # rank 0 tells of each step

    def declare(self, name, shape, dtype, position=0):
        return position

    def submit_bucket(self, ids, address, owner, stream):
        self.submitted.append((ids, address, owner, stream))
        return [types.SimpleNamespace(wait=lambda hidden=False: None) for _ in ids]

    def submit(self, ids, addresses, owner, done=None, stream=None):
        self.submitted.append((ids, addresses, owner, stream))
        return [types.SimpleNamespace(wait=lambda hidden=False: None) for _ in ids]

    def end_step(self):
        return types.SimpleNamespace(finite=True, first_non_finite=None)

    def close(self):
        pass


class FutureOf(torch.futures.Future):
    """A future of a build with CUDA keeps the devices that it was made for."""

    def __init__(self, devices=()):
        super().__init__()
        self.devices = list(devices)

    def set_result(self, value):
        self.given = value


@pytest.fixture
def gpu(monkeypatch):
    monkeypatch.setattr(state, "Synchronizer", Recorder)
    monkeypatch.setattr(state.launch, "find_store", lambda *_: None)
    monkeypatch.setattr(torch.futures, "Future", FutureOf)
    streams = {torch.device("cuda:0"): 77, torch.device("cuda:1"): 78}
    monkeypatch.setattr(torch.cuda, "current_stream", lambda d: types.SimpleNamespace(cuda_stream=streams[d]))


def test_a_bucket_goes_with_its_stream_and_its_future_with_the_device(gpu):
    hook = state.State(codec="int4", named_parameters=NAMED)
    buffer = Buffer("cuda:1")
    future = hook.reduce(Bucket(buffer))
    assert future.devices == [torch.device("cuda:1")]
    assert future.given is buffer
    assert Recorder.last.options["device"] == "cuda:1"
    assert Recorder.last.submitted == [([0, 1], 0x7000, buffer, 78)]
    hook.close()


class Half:
    """Stands for a Node of two ranks: notes what was gathered."""

    def __init__(self, group):
        self.part, self.gathered = Buffer("cuda:1", 0x9000), []

    def check(self, across, job):
        pass

    def part_of(self, elements):
        return (elements + 1) // 2

    def reduce(self, bucket, elements):
        assert elements == [6, 5]
        return self.part

    def gather(self, part, bucket, elements):
        self.gathered.append((part, bucket, elements))

    def agree(self, step, names, device):
        assert names == ["weight", "bias"] and device == torch.device("cuda:1")
        return types.SimpleNamespace(finite=False, first_non_finite="bias")


def test_a_part_of_a_node_goes_with_the_stream_of_its_bucket(gpu, monkeypatch):
    monkeypatch.setattr(state, "Node", Half)
    monkeypatch.setattr(torch._C, "_current_graph_task_id", lambda: 1)
    hook = state.State(codec="int4", named_parameters=NAMED, local_group=object())
    buffer = Buffer("cuda:1")
    future = hook.reduce(Bucket(buffer))
    node = hook._node
    assert Recorder.last.submitted == [([0, 1], 0x9000, node.part, 78)]
    assert node.gathered == [(node.part, buffer, [6, 5])]
    assert future.devices == [torch.device("cuda:1")] and future.given is buffer
    assert hook.last_step.first_non_finite == "bias"
    hook.close()


def test_buckets_of_two_devices_are_refused(gpu):
    hook = state.State(codec="int4", named_parameters=NAMED)
    hook.reduce(Bucket(Buffer("cuda:0")))
    with pytest.raises(errors.InvalidArgument, match="a bucket is on cuda:1, and the session is on cuda:0"):
        hook.reduce(Bucket(Buffer("cuda:1")))
    hook.close()


def test_a_bucket_of_neither_cpu_nor_cuda_is_refused(gpu):
    with pytest.raises(errors.Unavailable, match="a bucket is on meta"):
        state.State(codec="int4", named_parameters=NAMED).reduce(Bucket(Buffer("meta")))


def test_local_sgd_is_refused_by_name(gpu):
    hook = state.State(codec="int4", named_parameters=NAMED)
    hook.reduce(Bucket(Buffer()))
    Recorder.last.session.exchanged = "nothing"
    with pytest.raises(errors.Unavailable, match="local_sgd"):
        hook.reduce(Bucket(Buffer()))
    hook.close()


def test_parameters_of_a_consensus_go_with_their_stream(monkeypatch):
    """The copies that are submitted are queued in the current stream, which need not be the default one."""
    monkeypatch.setattr(naming, "stream_of", lambda device: 77)
    submitted = []

    def submit(ids, addresses, owner=None, done=None, stream=None):
        submitted.append((ids, stream))

    synchronizer = types.SimpleNamespace(
        session=types.SimpleNamespace(begin_consensus=lambda: None),
        submit=submit,
        end_step=lambda: types.SimpleNamespace(finite=True),
    )
    local_sgd.LocalSgd(synchronizer, NAMED, [0, 1]).consensus()
    assert submitted == [([0, 1], 77)]


def test_an_optimizer_has_its_parameters_on_one_device():
    weight, bias = torch.nn.Parameter(torch.zeros(3)), torch.nn.Parameter(torch.zeros(3, device="meta"))
    named, both = [("weight", weight), ("bias", bias)], torch.optim.SGD([weight, bias])
    with pytest.raises(errors.InvalidArgument, match="bias is on meta, and weight is on cpu"):
        optimizer.DistributedOptimizer(both, named)
    with pytest.raises(errors.Unavailable, match="bias is on meta, expected the CPU or a GPU of CUDA"):
        optimizer.DistributedOptimizer(torch.optim.SGD([bias]), [("bias", bias)])


def test_an_optimizer_opens_its_session_on_the_device_of_its_parameters(monkeypatch):
    monkeypatch.setattr(optimizer, "Synchronizer", Recorder)
    monkeypatch.setattr(optimizer.launch, "find_store", lambda *_: None)
    monkeypatch.setattr(optimizer.naming, "device_of", lambda named: torch.device("cuda:1"))
    with pytest.raises(errors.InvalidArgument, match="weight is on cpu, and the session is on cuda:1"):
        optimizer.DistributedOptimizer(torch.optim.SGD(PARAMETERS), NAMED)
    assert Recorder.last.options["device"] == "cuda:1"


def test_a_shard_goes_with_its_stream(gpu):
    hook = state.State(codec="int4")
    shard = Buffer("cuda:1")
    shard.shape = (7,)
    with pytest.raises(RuntimeError, match="backward"):  # it ends the pass's step there
        fsdp._Step(hook).start("layer", shard)
    assert Recorder.last.options["device"] == "cuda:1"
    with pytest.raises(errors.InvalidArgument, match="a tensor is on cuda:0, and the session is on cuda:1"):
        hook.synchronizer(torch.device("cuda:0"))


def test_a_shard_after_a_pass_whose_error_was_dropped_is_refused(gpu, monkeypatch):
    """Else nothing would end its step, and gradients were read while they travel."""
    calls = []
    monkeypatch.setattr(
        torch.autograd.Variable, "_execution_engine", types.SimpleNamespace(queue_callback=calls.append)
    )
    monkeypatch.setattr(torch._C, "_current_graph_task_id", lambda: 0)
    hook = state.State(codec="int4")
    step, shard = fsdp._Step(hook), Buffer("cuda:1")
    shard.shape = (7,)
    for ended in (True, False):
        step.start("layer", shard)
        step.start("head", shard)
        (call,) = calls
        if ended:
            call()
        calls.clear()
        del call
    with pytest.raises(errors.Error, match="the previous backward pass did not end"):
        step.start("root", shard)
    assert [stream for *_, stream in Recorder.last.submitted] == [78] * 4


def test_memory_of_the_cpu_has_no_stream():
    assert naming.stream_of(torch.device("cpu")) is None
