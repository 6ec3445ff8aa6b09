# SPDX-License-Identifier: Apache-2.0
"""FSDP2's all-reduce hook with other parts of FSDP2, on a mesh of 2 x 2: PyTorch's own tests of it ask the same. Meshes,
process groups and models that do not belong together."""

import contextlib

import pytest

torch = pytest.importorskip("torch")
import ranks  # noqa: E402
import small_net  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch.distributed.device_mesh import init_device_mesh  # noqa: E402
from torch.distributed.fsdp import CPUOffloadPolicy, MixedPrecisionPolicy, fully_shard  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

import casync.torch  # noqa: E402
from casync import errors  # noqa: E402

NODES, SHARDS, STEPS = 2, 2, 4
WORLD = NODES * SHARDS


class Layer(torch.nn.Module):
    """Computes its activations again in the backward pass, if it is told to."""

    def __init__(self, recomputed):
        super().__init__()
        self.linear, self.recomputed = torch.nn.Linear(24, 24), recomputed

    def forward(self, x):
        if self.recomputed:
            return checkpoint(lambda y: torch.tanh(self.linear(y)), x, use_reentrant=False)
        return torch.tanh(self.linear(x))


class Case:
    """Differences from the ordinary: `alone` is a net in one process, `sharded` the same on a mesh."""

    def __init__(self, error=1e-6, clip=None, parts=1, recomputed=False, prepare=None, only_root=False, **policies):
        self.error, self.clip, self.parts, self.recomputed = error, clip, parts, recomputed
        self.prepare, self.only_root, self.policies = prepare or (lambda net: None), only_root, policies

    def alone(self):
        torch.manual_seed(3)
        net = torch.nn.Sequential(*[Layer(self.recomputed) for _ in range(3)], torch.nn.Linear(24, 5))
        self.prepare(net)
        return net

    def sharded(self, mesh):
        net = self.alone()
        for layer in [] if self.only_root else net:
            fully_shard(layer, mesh=mesh, **self.policies)
        return fully_shard(net, mesh=mesh, **self.policies)

    def train(self, net, whose):
        """On these ranks' batches. A step may have several backward passes, of which only the last one reduces."""
        optimizer = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.2, momentum=0.9)
        for step in range(STEPS):
            optimizer.zero_grad()
            for part in range(self.parts):
                if hasattr(net, "set_requires_gradient_sync"):
                    net.set_requires_gradient_sync(part == self.parts - 1)
                (sum(loss_of(net, rank, self.parts * step + part) for rank in whose) / len(whose)).backward()
            if self.clip:
                torch.nn.utils.clip_grad_norm_(net.parameters(), self.clip)
            optimizer.step()


def freeze(net):
    net[1].linear.weight.requires_grad_(False)


def share(net):
    net[2].linear.weight = net[0].linear.weight


CASES = {
    "clipped": Case(clip=0.05),
    "accumulated": Case(parts=3),
    "recomputed": Case(recomputed=True),
    "frozen": Case(prepare=freeze),
    "shared": Case(prepare=share, only_root=True),
    "half": Case(error=1e-2, mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)),
    "offloaded": Case(offload_policy=CPUOffloadPolicy(pin_memory=False)),
}


def loss_of(net, rank, step):
    x = torch.randn(8, 24, generator=torch.Generator().manual_seed(100 * step + rank))
    return net(x).float().square().mean()


def differences(rank):
    """Largest difference from one process with the whole batch, by case."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (NODES, SHARDS), mesh_dim_names=("nodes", "shards"))
    found = {}
    for name, case in CASES.items():
        net, alone = case.sharded(mesh["shards"]), case.alone()
        with contextlib.closing(casync.torch.State(codec="none", process_group=mesh.get_group("nodes"))) as state:
            casync.torch.fsdp_all_reduce_hook(state).install(net)
            case.train(net, [rank])
            case.train(alone, range(WORLD))
            values = {name: value.full_tensor() for name, value in net.state_dict().items()}
            found[name] = small_net.largest(values[key] - value for key, value in alone.state_dict().items())
            assert state.last_step.finite and state.stats()["steps"] == STEPS, name
    return found


def test_the_hook_trains_as_one_process_does():
    for found in ranks.values(__file__, "differences", WORLD, torch=True):
        for name, case in CASES.items():
            assert found[name] <= case.error, (name, found[name])


class Writer:
    """As a SummaryWriter of TensorBoard."""

    def __init__(self):
        self.scalars = []

    def add_scalar(self, tag, value, step):
        self.scalars.append((tag, value, step))


def told(rank):
    """Scalars, and seconds: the second node has a loss that is not finite in the last steps."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (NODES, SHARDS), mesh_dim_names=("nodes", "shards"))
    net, writer = Case().sharded(mesh["shards"]), Writer()
    with contextlib.closing(casync.torch.State(codec="none", process_group=mesh.get_group("nodes"))) as state:
        casync.torch.fsdp_all_reduce_hook(state).install(net)
        state.log_to(writer, every=2)
        for step in range(4):
            net.zero_grad()
            (loss_of(net, rank, step) * (float("nan") if rank >= SHARDS and step > 1 else 1.0)).backward()
        return writer.scalars, state.stats()


def test_the_first_rank_of_each_shard_writes_scalars_and_warns_once():
    for rank, outcome in enumerate(ranks.outcomes(__file__, "told", WORLD, torch=True)):
        assert outcome.error is None, outcome.stderr
        scalars, stats = outcome.value
        finite = [(value, step) for tag, value, step in scalars if tag == "casync/finite"]
        assert finite == ([(1.0, 2), (0.0, 4)] if rank < SHARDS else [])
        assert outcome.stderr.count("was not finite on some rank") == (rank < SHARDS), outcome.stderr
        assert 0 <= stats["waiting_s"] <= stats["synchronizing_s"] and stats["synchronizing_s"] > 0


def of_other_ranks(rank):
    """The ranks of the state are not those that hold the same shard, or not those that hold all of them."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (NODES, SHARDS), mesh_dim_names=("nodes", "shards"))
    net, said = Case().sharded(mesh["shards"]), []

    def refuses(call, *arguments):
        with pytest.raises(errors.InvalidArgument) as refused:
            call(*arguments)
        said.append(str(refused.value))

    for group in (None, mesh.get_group("shards")):
        state = casync.torch.State(codec="none", process_group=group)
        refuses(casync.torch.fsdp_all_reduce_hook(state).install, net)
    for group in (None, mesh.get_group("nodes")):
        state = casync.torch.State(codec="none", process_group=group)
        refuses(casync.torch.CompressedReduceScatter(state).install, net)
    state, twin = casync.torch.State(codec="none", process_group=mesh.get_group("nodes")), Case().sharded(mesh["shards"])
    for _ in range(2):
        casync.torch.fsdp_all_reduce_hook(state).install(net)
    refuses(casync.torch.fsdp_all_reduce_hook(state).install, twin)
    assert "module (root) of another model is in this state" in said.pop()
    net[3].set_all_reduce_hook(casync.torch.fsdp_all_reduce_hook(casync.torch.State(codec="none")))
    refuses(loss_of(net, rank, 0).backward)
    return said


def test_a_state_of_other_ranks_than_those_of_the_shards_is_refused():
    everyone = list(range(WORLD))
    for rank, said in enumerate(ranks.values(__file__, "of_other_ranks", WORLD, torch=True)):
        node, column = everyone[rank // SHARDS * SHARDS :][:SHARDS], everyone[rank % SHARDS :: SHARDS]
        assert len(said) == 5
        for text, module, of_state in zip(said, ["0"] * 4 + ["3"], [everyone, node, everyone, column, everyone]):
            assert text.startswith(f"module {module} has a shard on each of the ranks {node}, and the state")
            assert f"the ranks {of_state}" in text and "give State(process_group=...)" in text
