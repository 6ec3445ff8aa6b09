# SPDX-License-Identifier: Apache-2.0
"""CaSync with other parts of PyTorch: torch.compile, uneven inputs."""

import pytest

torch = pytest.importorskip("torch")
import ranks  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402

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


def test_compiled_modules_and_uneven_inputs_train_as_with_plain_ddp():
    for differences in ranks.values(__file__, "together", 2, torch=True):
        assert set(differences) >= {"join", "compiled under DDP", "compiled, deferred=True"}
        for name, difference in differences.items():
            assert difference <= 1e-6, name


