# SPDX-License-Identifier: Apache-2.0
"""The DDP hook compared with DDP's own averaging, in every way people combine it."""

import contextlib
import hashlib

import pytest

torch = pytest.importorskip("torch")
import ranks  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402

import casync.torch  # noqa: E402


class Net(torch.nn.Module):
    """Parameters of odd sizes; `side` has no part in some forward passes."""

    def __init__(self):
        super().__init__()
        self.fc1, self.fc2, self.side = torch.nn.Linear(33, 65), torch.nn.Linear(65, 17), torch.nn.Linear(65, 17)
        self.scale = torch.nn.Parameter(torch.ones(()))

    def forward(self, x, with_side):
        hidden = torch.relu(self.fc1(x))
        out = self.scale * self.fc2(hidden)
        return out + self.side(hidden) if with_side else out


def bf16_wrapper(hook):
    """As it is where CUDA and NCCL are. Elsewhere DDP refuses it, by its name, whatever hook it wraps."""
    wrapped = default_hooks.bf16_compress_wrapper(hook)
    wrapped.__name__ = "bf16"
    return wrapped


# DDP's arguments, and what else differs from the ordinary.
CASES = {
    "ordinary": {},
    "one_bucket": dict(ddp=dict(bucket_cap_mb=25)),
    "buckets_are_gradients": dict(ddp=dict(gradient_as_bucket_view=True)),
    "static_graph": dict(ddp=dict(static_graph=True)),
    "unused_parameters": dict(ddp=dict(find_unused_parameters=True), side=lambda step, rank: step % 2 == 1),
    "unused_differ": dict(ddp=dict(find_unused_parameters=True), side=lambda step, rank: (step + rank) % 2 == 1),
    "unused_everywhere": dict(ddp=dict(find_unused_parameters=True), side=lambda step, rank: False),
    "accumulation": dict(accumulate=3),
    "frozen": dict(frozen="fc2.bias"),
    "names_given": dict(named=True),
    "fp16_wrapper": dict(wrapper=default_hooks.fp16_compress_wrapper, error=2e-3),
    "bf16_wrapper": dict(wrapper=bf16_wrapper, error=2e-2),
    "fp16_codec": dict(codec="fp16", error=1e-3),
    "int8_codec": dict(codec="int8", error=2e-2),
    "bf16_parameters": dict(dtype=torch.bfloat16, error=2e-2),
    "fp16_parameters": dict(dtype=torch.float16, error=4e-3),
}


def train(rank, hook, case, codec="none", steps=5, **groups):
    """The parameters, as one tensor, after a few steps; with casync's hook or with none. `groups`: State's."""
    torch.manual_seed(3)
    dtype = case.get("dtype", torch.float32)
    net = Net().to(dtype)
    for name, parameter in net.named_parameters():
        parameter.requires_grad_(name != case.get("frozen"))
    ddp = DistributedDataParallel(net, **{"bucket_cap_mb": 0.005, **case.get("ddp", {})})
    state = None
    if hook:
        named = net.named_parameters() if case.get("named") else None
        state = casync.torch.State(codec=case.get("codec", codec), named_parameters=named, **groups)
        ddp.register_comm_hook(state, case.get("wrapper", lambda same: same)(casync.torch.comm_hook))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    inputs = torch.Generator().manual_seed(rank)
    for step in range(steps):
        optimizer.zero_grad()
        for part in range(case.get("accumulate", 1)):
            last = part == case.get("accumulate", 1) - 1
            with contextlib.nullcontext() if last else ddp.no_sync():
                x = torch.randn(4, 33, generator=inputs).to(dtype)
                side = case.get("side", lambda step, rank: True)(step, rank)
                ddp(x, side).square().mean().backward()
        optimizer.step()
    if state:
        assert state.last_step.finite and state.stats()["steps"] == steps
        state.close()
    return torch.cat([parameter.detach().reshape(-1) for parameter in net.parameters()])


def compare(rank, names):
    """Largest difference from plain DDP, by case."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    differences = {}
    for name in names:
        case = CASES[name]
        ours, plain = train(rank, True, case), train(rank, False, case)
        differences[name] = (ours.float() - plain.float()).abs().max().item()
    dist.barrier()
    dist.destroy_process_group()
    return differences


@pytest.fixture(scope="module")
def differences():
    return ranks.values(__file__, "compare", 2, torch=True, names=list(CASES))


@pytest.mark.parametrize("name", CASES)
def test_the_hook_gives_what_plain_ddp_gives(differences, name):
    for of_rank in differences:
        assert of_rank[name] <= CASES[name].get("error", 1e-6)


@pytest.mark.parametrize("size", [3, 4])
def test_more_ranks_average_alike(size):
    for of_rank in ranks.values(__file__, "compare", size, torch=True, names=["ordinary"]):
        assert of_rank["ordinary"] <= 1e-6


def train_with_codecs(rank, codecs):
    """Hash of all parameters after a few steps, by codec."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    hashes = {}
    for codec in codecs:
        for name in ("ordinary", "bf16_parameters"):
            parameters = train(rank, True, CASES[name], codec)
            hashes[codec, name] = hashlib.sha256(parameters.view(torch.uint8).numpy().tobytes()).hexdigest()
    dist.barrier()
    dist.destroy_process_group()
    return hashes


def test_replicas_hold_the_same_bytes_with_every_codec():
    results = ranks.values(__file__, "train_with_codecs", 3, torch=True, codecs=casync.codecs())
    assert all(hashes == results[0] for hashes in results)
    assert len(set(results[0].values())) > 2  # codecs do differ from each other


def watch_buckets(rank, rebuild):
    """Sizes in each bucket of each step, and in the end a hash of all parameters, with a codec that leaves much out."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(3)
    ddp = DistributedDataParallel(Net(), bucket_cap_mb=0.005, find_unused_parameters=not rebuild)
    state, layouts = casync.torch.State(codec="int4"), []

    def hook(state, bucket):
        layouts[-1].append([parameter.numel() for parameter in bucket.parameters()])
        return casync.torch.comm_hook(state, bucket)

    ddp.register_comm_hook(state, hook)
    inputs = torch.Generator().manual_seed(rank)
    for step in range(4):
        layouts.append([])
        ddp(torch.randn(4, 33, generator=inputs), True).square().mean().backward()
        with torch.no_grad():
            for parameter in ddp.parameters():
                parameter -= 0.1 * parameter.grad
                parameter.grad = None
    residuals = [gradient["residual"].abs().sum().item() for gradient in state.state_dict()["gradients"].values()]
    digest = hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in ddp.parameters())).hexdigest()
    state.close()
    return layouts, sum(residuals), digest


def test_what_error_feedback_remembers_survives_rebuilt_buckets():
    rebuilt = ranks.values(__file__, "watch_buckets", 2, torch=True, rebuild=True)
    kept = ranks.values(__file__, "watch_buckets", 2, torch=True, rebuild=False)
    for (layouts, remembered, digest), (same_layouts, _, expected) in zip(rebuilt, kept):
        assert layouts[0] != layouts[1] and same_layouts[0] == same_layouts[1]
        assert remembered > 0 and digest == expected
