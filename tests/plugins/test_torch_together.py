# SPDX-License-Identifier: Apache-2.0
"""CaSync with other parts of PyTorch: torch.compile, uneven inputs, activation checkpointing, shared weights, ZeRO's optimizer.
PyTorch's own tests of hooks ask the same."""

import pytest

torch = pytest.importorskip("torch")
import ranks  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch.distributed.optim import ZeroRedundancyOptimizer  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

import casync.torch  # noqa: E402


def make_net():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(40, 50), torch.nn.ReLU(), torch.nn.Linear(50, 30))


def loss_of(net, rank, step):
    return net(torch.randn(4, 40, generator=torch.Generator().manual_seed(1000 * rank + step))).square().mean()


def train(net, optimizer, rank, steps):
    for step in range(steps):
        optimizer.zero_grad()
        loss_of(net, rank, step).backward()
        optimizer.step()


def values_of(net):
    return torch.cat([value.detach().reshape(-1) for value in net.state_dict().values()])


class Shared(torch.nn.Module):
    """Two layers with one weight."""

    def __init__(self):
        super().__init__()
        self.inside, self.shared, self.out = (torch.nn.Linear(40, 40) for _ in range(3))
        self.shared.weight = self.inside.weight

    def forward(self, x):
        return self.out(torch.relu(self.shared(torch.relu(self.inside(x)))))


class Recomputed(torch.nn.Module):
    """Layers whose activations are computed again in the backward pass."""

    def __init__(self, reentrant):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(40, 40) for _ in range(3))
        self.reentrant = reentrant

    def forward(self, x):
        x = torch.relu(self.layers[0](x))
        for layer in self.layers[1:]:
            x = checkpoint(layer, x, use_reentrant=self.reentrant)
        return x


def zero(net):
    return ZeroRedundancyOptimizer(net.parameters(), torch.optim.Adam, lr=0.01)


def sgd(net):
    return torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)


def together(rank):
    """Largest differences from plain DDP."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    differences = {}

    def uneven(hook):
        net = make_net()
        ddp = DistributedDataParallel(net, bucket_cap_mb=0.005)
        if hook:
            ddp.register_comm_hook(casync.torch.State(codec="none"), casync.torch.comm_hook)
        with ddp.join():
            train(ddp, sgd(net), rank, 3 + 2 * rank)
        return values_of(net)

    differences["join"] = (uneven(True) - uneven(False)).abs().max().item()

    def hooked(hook, make, optimizer, **options):
        torch.manual_seed(0)
        net = make()
        ddp = DistributedDataParallel(net, bucket_cap_mb=0.005, **options)
        if hook:
            ddp.register_comm_hook(casync.torch.State(codec="none"), casync.torch.comm_hook)
        train(ddp, optimizer(net), rank, 4)
        return values_of(net)

    for name, case in {
        "shared": dict(make=Shared, optimizer=sgd),
        "recomputed": dict(make=lambda: Recomputed(False), optimizer=sgd),
        "recomputed by reentry": dict(make=lambda: Recomputed(True), optimizer=sgd, static_graph=True),
        "zero": dict(make=Shared, optimizer=zero),
    }.items():
        differences[name] = (hooked(True, **case) - hooked(False, **case)).abs().max().item()

    plain = make_net()
    train(DistributedDataParallel(plain), sgd(plain), rank, 4)

    net = make_net()
    ddp = DistributedDataParallel(torch.compile(net, backend="aot_eager"))
    state = casync.torch.State(codec="none", named_parameters=net.named_parameters())
    ddp.register_comm_hook(state, casync.torch.comm_hook)
    train(ddp, sgd(net), rank, 4)
    differences["compiled under DDP"] = (values_of(net) - values_of(plain)).abs().max().item()

    for deferred in (False, True):
        net = make_net()
        compiled = torch.compile(net, backend="aot_eager")
        model = compiled if deferred else None
        optimizer = casync.torch.DistributedOptimizer(sgd(net), net.named_parameters(), model=model, codec="none")
        train(compiled, optimizer, rank, 4)
        differences[f"compiled, deferred={deferred}"] = (values_of(net) - values_of(plain)).abs().max().item()
    return differences


def test_it_trains_as_plain_ddp_does():
    for differences in ranks.values(__file__, "together", 2, torch=True):
        assert set(differences) >= {"join", "shared", "recomputed", "zero", "compiled under DDP", "compiled, deferred=True"}
        for name, difference in differences.items():
            assert difference <= 1e-6, name


def traced(rank):
    """With a reducer in Python the compiler sees the hook itself."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch._dynamo.config.optimize_ddp = "python_reducer"
    ddp = DistributedDataParallel(make_net())
    ddp.register_comm_hook(casync.torch.State(codec="none"), casync.torch.comm_hook)
    compiled = torch.compile(ddp, backend="aot_eager")
    with torch._dynamo.compiled_autograd._enable(torch.compile(backend="aot_eager")):
        for step in range(2):
            loss_of(compiled, rank, step).backward()


def test_a_hook_that_is_compiled_itself_is_refused_with_what_to_do():
    (outcome,) = ranks.outcomes(__file__, "traced", 1, torch=True)
    assert outcome.error == "Unavailable" and 'optimize_ddp = "ddp_optimizer"' in outcome.message, outcome.stderr[-3000:]
