# SPDX-License-Identifier: Apache-2.0
"""FSDP2 on real meshes of two nodes by two shards, and the process group of the backend "casync"."""

import contextlib
import hashlib
import pathlib
import time

import pytest

torch = pytest.importorskip("torch")
import ranks  # noqa: E402
import small_net  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh  # noqa: E402
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402

import casync.torch  # noqa: E402
from casync import errors  # noqa: E402

NODES, SHARDS = 2, 2
STEPS = 4


def network():
    torch.manual_seed(3)
    return torch.nn.Sequential(
        *[torch.nn.Sequential(torch.nn.Linear(24, 24), torch.nn.Tanh()) for _ in range(3)], torch.nn.Linear(24, 5)
    )


def loss_of(net, rank, step):
    x = torch.randn(8, 24, generator=torch.Generator().manual_seed(100 * step + rank))
    return net(x).square().mean()


def alone(world, steps=STEPS):
    """One process with the whole batch."""
    net = network()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.2, momentum=0.9)
    for step in range(steps):
        optimizer.zero_grad()
        (sum(loss_of(net, rank, step) for rank in range(world)) / world).backward()
        optimizer.step()
    return net.state_dict()


def shard(net, mesh):
    for layer in net:
        fully_shard(layer, mesh=mesh)
    return fully_shard(net, mesh=mesh)


def train(net, rank, steps=STEPS):
    """Largest difference from one process, hash of the parameters."""
    optimizer = torch.optim.SGD(net.parameters(), lr=0.2, momentum=0.9)
    for step in range(steps):
        optimizer.zero_grad()
        loss_of(net, rank, step).backward()
        optimizer.step()
    state = {name: getattr(value, "full_tensor", lambda: value)() for name, value in net.state_dict().items()}
    wanted = alone(dist.get_world_size(), steps)
    difference = small_net.largest(state[name] - wanted[name] for name in wanted)
    return difference, hashlib.sha256(b"".join(state[name].numpy().tobytes() for name in wanted)).hexdigest()


def begin(backend="gloo"):
    torch.set_num_threads(1)
    dist.init_process_group(backend)


def with_hook(rank, codec):
    begin()
    mesh = init_device_mesh("cpu", (NODES, SHARDS), mesh_dim_names=("nodes", "shards"))
    net = shard(network(), mesh["shards"])
    state = casync.torch.State(codec=codec, process_group=mesh.get_group("nodes"))
    casync.torch.fsdp_all_reduce_hook(state).install(net)
    outcome = train(net, rank)
    stats, names = state.stats(), sorted(state.state_dict()["gradients"])
    assert state.last_step.finite and stats["steps"] == STEPS
    state.close()
    return outcome, names


@pytest.mark.parametrize("codec, error", [("none", 1e-6), ("int8", 0.02)])
def test_the_hook_averages_shards_between_nodes(codec, error):
    outcomes = ranks.values(__file__, "with_hook", NODES * SHARDS, torch=True, codec=codec)
    (_, digest), names = outcomes[0]
    assert names == ["0", "1", "2", "3"]
    for (difference, other), _ in outcomes:
        assert difference <= error and other == digest


class Calls(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return small_net.CallsInBackward.apply(x, self.function)


def with_overlap(rank, sign):
    """The second node comes to its last layer once the first is past its last two, in the second step: in the first one
    the session opens, and ranks compare what they declare."""
    begin()
    mesh = init_device_mesh("cpu", (NODES, SHARDS), mesh_dim_names=("nodes", "shards"))
    place = pathlib.Path(f"{sign}.{rank % SHARDS}")

    step = 0

    def wait():
        while step == 1 and rank >= SHARDS and not place.exists():
            time.sleep(0.01)

    def tell():
        if step == 1 and rank < SHARDS:
            place.touch()

    layers = list(network())
    for layer in layers:
        fully_shard(layer, mesh=mesh["shards"])
    net = torch.nn.Sequential(*layers[:2], Calls(tell), *layers[2:], Calls(wait))
    net = fully_shard(net, mesh=mesh["shards"])
    state = casync.torch.State(codec="none", process_group=mesh.get_group("nodes"))
    casync.torch.fsdp_all_reduce_hook(state).install(net)
    for step in range(2):
        net.zero_grad()
        loss_of(net, rank, step).backward()
    state.close()
    return place.exists()


def test_the_backward_pass_goes_on_while_a_shard_travels(tmp_path):
    assert ranks.values(__file__, "with_overlap", NODES * SHARDS, torch=True, sign=str(tmp_path / "sign")) == [True] * 4


def with_readers(rank, case):
    """FSDP, or the program, reads a shard during the backward pass."""
    begin()
    mesh = init_device_mesh("cpu", (NODES, SHARDS), mesh_dim_names=("nodes", "shards"))
    net, seen = network(), {}
    policy = MixedPrecisionPolicy(reduce_dtype=torch.float16 if case == "float16" else None)
    for layer in net:
        fully_shard(layer, mesh=mesh["shards"], mp_policy=policy)
    net = fully_shard(net, mesh=mesh["shards"], mp_policy=policy)
    state = casync.torch.State(codec="none", process_group=mesh.get_group("nodes"))
    casync.torch.fsdp_all_reduce_hook(state).install(net)
    if case == "hook":
        for parameter in net.parameters():
            parameter.register_post_accumulate_grad_hook(lambda p: seen.update({p: p.grad.to_local().clone()}))
    passes = 2 if case == "accumulate" else 1
    for step in range(passes):
        loss_of(net, rank, step).backward()
    if case == "hook":
        assert all(torch.equal(seen[parameter], parameter.grad.to_local()) for parameter in net.parameters())
    gradients = [parameter.grad.full_tensor() for parameter in net.parameters()]
    alike = network()
    for step in range(passes):
        (sum(loss_of(alike, r, step) for r in range(NODES * SHARDS)) / (NODES * SHARDS)).backward()
    difference = small_net.largest(g - p.grad for g, p in zip(gradients, alike.parameters()))
    state.close()
    return difference


@pytest.mark.parametrize("case, error", [("accumulate", 1e-6), ("hook", 1e-6), ("float16", 2e-3)])
def test_a_shard_that_is_read_during_the_backward_pass_is_waited_for(case, error):
    for difference in ranks.values(__file__, "with_readers", NODES * SHARDS, torch=True, case=case):
        assert difference <= error


def native(rank):
    """FSDP's own two dimensions: refused with the hook, averaged through our process group without it."""
    begin()
    mesh = init_device_mesh("cpu", (NODES, SHARDS), mesh_dim_names=("nodes", "shards"))
    net = shard(network(), mesh)
    state = casync.torch.State(codec="none", process_group=mesh.get_group("nodes"))
    with pytest.raises(errors.InvalidArgument, match="module .* is on a two-dimensional mesh") as refused:
        casync.torch.fsdp_all_reduce_hook(state).install(net)
    net[0].set_all_reduce_hook(casync.torch.fsdp_all_reduce_hook(state))
    with pytest.raises(errors.InvalidArgument, match="module 0 is on a two-dimensional mesh"):
        loss_of(net, rank, 0).backward()
    return str(refused.value)


def test_the_hook_beside_fsdps_own_reduction_is_refused():
    assert len(set(ranks.values(__file__, "native", NODES * SHARDS, torch=True))) == 1


def with_unfrozen(rank):
    """A parameter is unfrozen with a new state, and then frozen with the same."""
    begin()
    mesh = init_device_mesh("cpu", (NODES, SHARDS), mesh_dim_names=("nodes", "shards"))
    net = network()
    net[1][0].weight.requires_grad_(False)
    net = shard(net, mesh["shards"])
    names = []
    for step, is_trained in enumerate((False, True)):
        net[1][0].weight.requires_grad_(is_trained)
        state = casync.torch.State(codec="int8", process_group=mesh.get_group("nodes"))
        casync.torch.fsdp_all_reduce_hook(state).install(net)
        loss_of(net, rank, step).backward()
        assert (net[1][0].weight.grad is not None) == is_trained
        names.append(sorted(state.state_dict()["gradients"]))
        if not is_trained:
            state.close()
    net[1][0].weight.requires_grad_(False)
    with pytest.raises(errors.InvalidArgument, match=r"module 1: its gradient has \d+ elements and had \d+: .* new casync"):
        loss_of(net, rank, 2).backward()
    with contextlib.suppress(errors.Error):
        state.close()  # of a pass that has not ended
    return names


def test_a_parameter_is_unfrozen_with_a_new_state_and_its_module_refused_with_the_same():
    for names in ranks.values(__file__, "with_unfrozen", NODES * SHARDS, torch=True):
        assert names == [["0", "1", "2", "3"]] * 2


def with_process_group(rank, codec):
    begin()
    casync.torch.register_backend("casync_nodes", codec=codec)
    between = [dist.new_group([0, 2], backend="casync_nodes"), dist.new_group([1, 3], backend="casync_nodes")]
    within = [dist.new_group([0, 1]), dist.new_group([2, 3])]
    groups = [between[rank % 2], within[rank // 2]]
    mesh = DeviceMesh.from_group(groups, "cpu", mesh=[[0, 1], [2, 3]], mesh_dim_names=("nodes", "shards"))
    outcome = train(shard(network(), mesh), rank)
    assert between[rank % 2].stats()["steps"] == STEPS
    between[rank % 2].shutdown()
    return outcome


@pytest.mark.parametrize("codec, error", [("none", 1e-6), ("int8", 0.02)])
def test_a_process_group_of_ours_averages_between_the_nodes_of_a_two_dimensional_mesh(codec, error):
    outcomes = ranks.values(__file__, "with_process_group", NODES * SHARDS, torch=True, codec=codec)
    for difference, digest in outcomes:
        assert difference <= error and digest == outcomes[0][1]


def only_ours(rank):
    """Both dimensions of the mesh are groups of ours, and all-gathers travel ahead."""
    begin("cpu:casync")
    mesh = init_device_mesh("cpu", (NODES, SHARDS), mesh_dim_names=("nodes", "shards"))
    net = shard(network(), mesh)
    net._set_unshard_async_op(True)
    outcome = train(net, rank)
    copies = mesh.get_group("shards").copy_stats()
    assert copies["steps"] > 2 * STEPS and mesh.get_group("nodes").stats()["steps"] == STEPS
    return outcome


def test_a_mesh_of_our_groups_alone_trains_as_one_process():
    outcomes = ranks.values(__file__, "only_ours", NODES * SHARDS, torch=True, env={"CASYNC_CODEC": "none"})
    for difference, digest in outcomes:
        assert difference <= 1e-6 and digest == outcomes[0][1]


def with_reduce_scatter(rank, codec):
    begin()
    net = shard(network(), init_device_mesh("cpu", (dist.get_world_size(),)))
    state = casync.torch.State(codec=codec)
    casync.torch.CompressedReduceScatter(state).install(net)
    outcome = train(net, rank)
    sent = state.stats()["payload_bytes_sent"]
    state.close()
    return *outcome, sent


def padded_elements(size):
    """Elements of the network, each parameter's first extent padded to a multiple of the ranks."""
    parameters = [parameter.shape for parameter in network().parameters()]
    return sum((shape[0] + size - 1) // size * size * torch.Size(shape[1:]).numel() for shape in parameters)


@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("codec, error", [("none", 1e-6), ("int8", 0.02)])
def test_plain_fsdp_reduces_and_scatters_compressed(size, codec, error):
    for difference, _, sent in ranks.values(__file__, "with_reduce_scatter", size, torch=True, codec=codec):
        assert difference <= error
        bytes_of_contributions = 4 * padded_elements(size) * (size - 1) // size * STEPS
        if codec == "none":
            assert sent == bytes_of_contributions  # an all-reduce sends twice as much
        else:
            assert sent < bytes_of_contributions / 3


class Scatters(torch.autograd.Function):
    """The identity, whose backward pass reduces and scatters a tensor."""

    @staticmethod
    def forward(ctx, x, output, tensor, op, group):
        ctx.arguments = output, tensor, op, group
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        output, tensor, op, group = ctx.arguments
        dist.reduce_scatter_tensor(output, tensor, op=op, group=group)
        return gradient, None, None, None, None


def scattered(rank, plan):
    """What one collective gives and sends for each op, and what it leaves of its input."""
    begin()
    size = dist.get_world_size()
    results = []
    for op in (dist.ReduceOp.AVG, dist.ReduceOp.SUM):
        name = f"casync_{len(results)}"
        casync.torch.register_backend(name, plan=plan)
        group = dist.new_group(list(range(size)), backend=name)
        tensor = torch.randn(size * 3000, generator=torch.Generator().manual_seed(rank))
        kept, output = tensor.clone(), torch.empty(3000)
        Scatters.apply(torch.zeros(1, requires_grad=True), output, tensor, op, group).backward()
        assert torch.equal(tensor, kept)
        results.append((output, group.stats()["payload_bytes_sent"]))
        group.shutdown()
    return results


@pytest.mark.parametrize("size", [1, 2, 4])
def test_reduce_scatter_of_our_backend_gives_each_rank_its_shard_with_half_of_the_bytes(tmp_path, size):
    plan = tmp_path / "plan.txtpb"
    plan.write_text('version: 1 default { codec { name: "none" } strategy: ring }')
    given = [torch.randn(size * 3000, generator=torch.Generator().manual_seed(rank)) for rank in range(size)]
    for rank, results in enumerate(ranks.values(__file__, "scattered", size, torch=True, plan=str(plan))):
        mean = sum(given)[rank * 3000 : (rank + 1) * 3000] / size
        for (output, sent), wanted in zip(results, (mean, mean * size)):
            assert torch.allclose(output, wanted, atol=1e-5)
            assert sent == 4 * 3000 * (size - 1)


def test_where_a_plan_has_no_shards_reduce_scatter_goes_through_an_all_reduce_and_says_so(tmp_path):
    plan = tmp_path / "plan.txtpb"
    plan.write_text('version: 1 default { codec { name: "none" } servers: 1 dedicated: true }')
    ended = ranks.outcomes(__file__, "scattered", 2, torch=True, plan=str(plan))
    assert [outcome.error for outcome in ended] == [None, None]
    contributor = torch.randn(2 * 3000, generator=torch.Generator().manual_seed(0))  # rank 1 is the server
    for rank, outcome in enumerate(ended):
        assert torch.allclose(outcome.value[0][0], contributor[rank * 3000 : (rank + 1) * 3000])
    assert "is reduced for all ranks, and not scattered: 1 dedicated server would own no shard" in ended[0].stderr
    assert "not scattered" not in ended[1].stderr


def as_backend(rank):
    """DDP, collectives and plain FSDP over a job of our backend alone."""
    begin("cpu:casync,cuda:casync")
    size = dist.get_world_size()
    numbers = torch.tensor([rank, 2**40], dtype=torch.int64)
    dist.all_reduce(numbers)
    assert numbers.tolist() == [size * (size - 1) // 2, size * 2**40]
    exact = torch.tensor([0.1 * (rank + 1)])
    dist.all_reduce(exact, op=dist.ReduceOp.MAX)
    parts = [torch.empty(1) for _ in range(size)]
    dist.all_gather(parts, torch.tensor([float(rank)]))
    assert [part.item() for part in parts] == list(range(size))
    value = torch.tensor([rank])
    dist.broadcast(value, src=1)
    assert value.item() == 1
    dist.barrier()
    objects = [None] * size
    dist.all_gather_object(objects, {"rank": rank})
    assert objects[1] == {"rank": 1}
    ddp = DistributedDataParallel(network(), bucket_cap_mb=0.002)
    of_ddp = train_ddp(ddp, rank)
    sharded = train(shard(network(), init_device_mesh("cpu", (size,))), rank)
    assert dist.group.WORLD.stats()["steps"] == 2 * STEPS
    return of_ddp, sharded


def exact_collectives(rank):
    """Many collectives that Gloo carries, with threads of Gloo's that free their tensors meanwhile."""
    begin("cpu:casync")
    for turn in range(400):
        numbers = torch.tensor([rank, turn])
        dist.all_reduce(numbers)
        parts = [torch.empty(1) for _ in range(2)]
        dist.all_gather(parts, torch.tensor([float(rank)]))
        dist.broadcast(numbers, src=1)
        dist.barrier()
    return numbers.tolist()


def test_collectives_of_our_backend_do_not_wait_for_the_interpreter():
    assert ranks.values(__file__, "exact_collectives", 2, torch=True) == [[1, 2 * 399]] * 2


def train_ddp(ddp, rank):
    optimizer = torch.optim.SGD(ddp.parameters(), lr=0.2, momentum=0.9)
    for step in range(STEPS):
        optimizer.zero_grad()
        loss_of(ddp, rank, step).backward()
        optimizer.step()
    wanted = alone(dist.get_world_size())
    return small_net.largest(value - wanted[name] for name, value in ddp.module.state_dict().items())


def test_a_job_of_our_backend_trains_with_ddp_and_with_fsdp():
    for of_ddp, (of_fsdp, _) in ranks.values(__file__, "as_backend", 2, torch=True, env={"CASYNC_CODEC": "none"}):
        assert of_ddp <= 1e-6 and of_fsdp <= 1e-6
