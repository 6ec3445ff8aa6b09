# SPDX-License-Identifier: Apache-2.0
"""CaSync with other parts of PyTorch: torch.compile, uneven inputs, activation checkpointing, shared weights, ZeRO's optimizer.
PyTorch's own tests of hooks ask the same."""

import types

import pytest

torch = pytest.importorskip("torch")
import ranks  # noqa: E402
import small_net  # noqa: E402
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
    """Layers whose activations are computed again in the backward pass, `twice` if they are used twice."""

    def __init__(self, reentrant, twice=False):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(40, 40) for _ in range(3))
        self.reentrant, self.times = reentrant, 2 if twice else 1

    def forward(self, x):
        x = torch.relu(self.layers[0](x))
        for layer in self.times * list(self.layers[1:]):
            x = checkpoint(layer, x, use_reentrant=self.reentrant)
        return x


class Images(torch.nn.Module):
    """Gradients that are laid out by channels, statistics that are no parameters, and a parameter without elements."""

    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(2, 3, 3).to(memory_format=torch.channels_last)
        self.norm = torch.nn.BatchNorm2d(3)
        self.none = torch.nn.Linear(18, 0)

    def forward(self, x):
        images = x.view(4, 2, 4, 5).contiguous(memory_format=torch.channels_last)
        flat = self.norm(self.conv(images)).flatten(1)
        return torch.cat([flat, self.none(flat)], dim=1)


def zero(net):
    return ZeroRedundancyOptimizer(net.parameters(), torch.optim.Adam, lr=0.01)


def sgd(net):
    return torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)


def train_and_look(net, optimizer, rank, steps):
    """With a forward pass between the steps that nobody differentiates, and gradients that are added up over two backward
    passes, each of which averages its own."""
    for step in range(steps):
        optimizer.zero_grad()
        for part in range(2):
            loss_of(net, rank, 2 * step + part).backward()
        optimizer.step()
        with torch.no_grad():
            net.eval()
            loss_of(net, rank, 100 + step)
            net.train()


def two_models(rank, hook):
    """As a generator and its judge: the loss of each meets both, and steps are taken by turns."""
    torch.manual_seed(0)
    nets = [torch.nn.Linear(40, 40), torch.nn.Linear(40, 30)]
    models = [DistributedDataParallel(net) for net in nets]
    states = []
    for model in models if hook else []:
        states.append(casync.torch.State(codec="none"))
        model.register_comm_hook(states[-1], casync.torch.comm_hook)
    optimizers = [sgd(net) for net in nets]
    for step in range(4):
        for optimizer in optimizers:
            optimizer.zero_grad()
        x = torch.randn(4, 40, generator=torch.Generator().manual_seed(1000 * rank + step))
        models[1](models[0](x)).square().mean().backward()
        optimizers[step % 2].step()
    assert [state.stats()["steps"] for state in states] == [4] * len(states)
    return torch.cat([values_of(net) for net in nets])


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

    def hooked(hook, make, optimizer, train=train, **options):
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
        "recomputed twice": dict(make=lambda: Recomputed(False, twice=True), optimizer=sgd),
        "images": dict(make=Images, optimizer=sgd),
        "looked at": dict(make=Shared, optimizer=sgd, train=train_and_look),
        "zero": dict(make=Shared, optimizer=zero),
    }.items():
        differences[name] = (hooked(True, **case) - hooked(False, **case)).abs().max().item()

    for deferred in (False, True):
        torch.manual_seed(0)
        net = Images()
        model = net if deferred else None
        train(net, casync.torch.DistributedOptimizer(sgd(net), net.named_parameters(), model=model, codec="none"), rank, 4)
        torch.manual_seed(0)
        expected = Images()
        train(DistributedDataParallel(expected), sgd(expected), rank, 4)
        net.state_dict()  # waits for updates
        pairs = zip(net.parameters(), expected.parameters())
        differences[f"images, deferred={deferred}"] = small_net.largest(a - b for a, b in pairs if a.numel())

    differences["two models"] = (two_models(rank, True) - two_models(rank, False)).abs().max().item()

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
        assert set(differences) >= {"join", "shared", "images", "looked at", "two models", "compiled, deferred=True"}
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


def registered_twice(rank):
    """DDP refuses a second hook, and goes on with the first, which its log names."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    net = make_net()
    ddp = DistributedDataParallel(net)
    state = casync.torch.State(codec="none")
    ddp.register_comm_hook(state, casync.torch.comm_hook)
    with pytest.raises(RuntimeError, match="can only be called once"):
        ddp.register_comm_hook(casync.torch.State(codec="int8"), casync.torch.comm_hook)
    train(ddp, sgd(net), rank, 2)
    return state.stats()["steps"], ddp._get_ddp_logging_data()["comm_hook"], state.last_step.finite


def test_a_second_hook_is_refused_and_the_first_goes_on():
    assert ranks.values(__file__, "registered_twice", 2, torch=True) == [(2, "comm_hook", True)] * 2


def doubles(rank):
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    net = make_net().double()
    refusals = []
    for use in (
        lambda: casync.torch.DistributedOptimizer(sgd(net), net.named_parameters(), codec="none"),
        lambda: backward_with_hook(net),
    ):
        with pytest.raises(casync.InvalidArgument) as refusal:
            use()
        refusals.append(str(refusal.value))
    return refusals


def backward_with_hook(net):
    ddp = DistributedDataParallel(net)
    ddp.register_comm_hook(casync.torch.State(codec="none"), casync.torch.comm_hook)
    ddp(torch.ones(4, 40, dtype=torch.float64)).sum().backward()


def test_gradients_of_other_types_are_refused_by_name():
    for refusals in ranks.values(__file__, "doubles", 1, torch=True):
        for refusal in refusals:
            assert "torch.float64" in refusal and "0." in refusal, refusal


def steps_of_a_pass_in_parts(rank):
    """Autograd ends a part of the pass with each layer that is recomputed."""
    dist.init_process_group("gloo")
    net, state, steps = Recomputed(reentrant=True), casync.torch.State(codec="int8"), []
    net.layers = torch.nn.ModuleList(torch.nn.Linear(600, 600) for _ in range(3))
    ddp = DistributedDataParallel(net, bucket_cap_mb=1)
    ddp.register_comm_hook(state, casync.torch.comm_hook)
    state.log_to(types.SimpleNamespace(add_scalar=lambda tag, value, step: steps.append(step)), every=2)
    for _ in range(5):
        ddp(torch.ones(1, 600)).sum().backward()
    return sorted(set(steps))


def test_a_pass_in_parts_is_one_step():
    (outcome,) = ranks.outcomes(__file__, "steps_of_a_pass_in_parts", 1, torch=True)
    assert outcome.value == [2, 4], outcome.stderr
    assert "come in one bucket" not in outcome.stderr
