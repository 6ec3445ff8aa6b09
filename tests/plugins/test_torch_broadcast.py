# SPDX-License-Identifier: Apache-2.0
"""casync.torch.broadcast_parameters and broadcast_optimizer_state, with a process group of torch's and without."""

import pytest

torch = pytest.importorskip("torch")
import ranks  # noqa: E402
import torch.distributed as dist  # noqa: E402

import casync.torch  # noqa: E402


def broadcast(rank, group):
    if group:
        dist.init_process_group("gloo")
    torch.manual_seed(rank)
    net = torch.nn.Sequential(torch.nn.Linear(9, 5), torch.nn.BatchNorm1d(5))
    special = {"special": torch.tensor([-0.0, float("nan"), 1e-42]), "count": torch.tensor(2**53 + rank)}
    casync.torch.broadcast_parameters(net, root=1)
    casync.torch.broadcast_parameters(special, root=1)
    return [tensor.numpy().tobytes() for tensor in [*net.state_dict().values(), *special.values()]]


@pytest.mark.parametrize("group", [True, False])
def test_broadcast_gives_every_rank_the_roots_bytes(group):
    results = ranks.values(__file__, "broadcast", 3, torch=True, group=group)
    torch.manual_seed(1)
    expected = torch.nn.Linear(9, 5).weight.detach().numpy().tobytes()
    assert all(result == results[0] for result in results) and results[0][0] == expected


def broadcast_views(rank, group):
    """Every second column of a matrix, a matrix that is transposed on the root alone, and one element four times."""
    if group:
        dist.init_process_group("gloo")
    whole, wide = torch.full((4, 6), 1.0 + rank), torch.full((8,), 1.0 + rank)
    matrix = torch.arange(6.0).view(2, 3).t() if rank == 1 else torch.zeros(3, 2)
    views = {"columns": whole[:, ::2], "matrix": matrix, "expanded": wide[:1].expand(4)}
    casync.torch.broadcast_parameters(views, root=1)
    return whole.tolist(), matrix.tolist(), wide.tolist()


@pytest.mark.parametrize("group", [True, False])
def test_tensors_of_any_strides_get_the_roots_values_and_what_lies_between_is_kept(group):
    results = ranks.values(__file__, "broadcast_views", 3, torch=True, group=group)
    for rank, (whole, matrix, wide) in enumerate(results):
        own = 1.0 + rank
        assert whole == [[2.0, own] * 3] * 4
        assert matrix == [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]
        assert wide == [2.0] + [own] * 7


def broadcast_from_nobody(rank, group, root):
    if group:
        dist.init_process_group("gloo")
    tensor = torch.full((3,), 1.0 + rank)
    try:
        casync.torch.broadcast_parameters({"kept": tensor}, root=root)
    except casync.InvalidArgument as error:
        return str(error), tensor.tolist()


@pytest.mark.parametrize("group,root", [(True, 2), (False, 2), (False, -1)])
def test_a_root_outside_of_the_group_is_refused_and_every_parameter_kept(group, root):
    values = ranks.values(__file__, "broadcast_from_nobody", 2, torch=True, group=group, root=root)
    for rank, (message, parameter) in enumerate(values):
        assert f"root is {root}" in message and "0 to 1" in message
        assert parameter == [1.0 + rank] * 3


def uses_a_group_of_others(rank):
    dist.init_process_group("gloo")
    group, net = dist.new_group([1]), torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    uses = [
        lambda: casync.torch.broadcast_parameters(net, process_group=group),
        lambda: casync.torch.broadcast_optimizer_state(optimizer, process_group=group),
        lambda: casync.torch.DistributedOptimizer(optimizer, net.named_parameters(), process_group=group).casync.close(),
    ]
    for use in uses:
        if rank == 1:
            use()
        else:
            with pytest.raises(casync.InvalidArgument, match="this rank is not in the process group: .* the group that it"):
                use()
    return len(uses)


def test_a_rank_outside_of_the_process_group_is_told():
    assert ranks.values(__file__, "uses_a_group_of_others", 2, torch=True) == [3, 3]


def broadcast_optimizer(rank, group):
    """Rank 1 alone has trained, with a schedule; rank 0 goes on with what it gets."""
    if group:
        dist.init_process_group("gloo")
    torch.manual_seed(0)
    results = []
    for kind in (torch.optim.AdamW, lambda p, **options: torch.optim.SGD(p, momentum=0.9, **options)):
        net = torch.nn.Linear(9, 5)
        casync.torch.broadcast_parameters(net)
        optimizer = kind(net.parameters(), lr=0.1)
        for step in range(2 if rank == 1 else 0):
            net(torch.ones(3, 9)).square().sum().backward()
            optimizer.step()
            optimizer.param_groups[0]["lr"] /= 2
        refusals = 0
        for state in (optimizer, optimizer.state_dict()):
            with pytest.raises(casync.InvalidArgument, match="broadcast_optimizer_state"):
                casync.torch.broadcast_parameters(state)
            refusals += 1
        casync.torch.broadcast_optimizer_state(optimizer, root=1)
        state = optimizer.state_dict()
        tensors = [tensor for one in state["state"].values() for tensor in one.values() if torch.is_tensor(tensor)]
        results.append((refusals, [t.numpy().tobytes() for t in tensors], state["param_groups"]))
        optimizer.step()
    return results


@pytest.mark.parametrize("group", [True, False])
def test_an_optimizer_takes_the_roots_moments_and_learning_rate(group):
    results = ranks.values(__file__, "broadcast_optimizer", 3, torch=True, group=group)
    assert results[0] == results[1] == results[2]
    for (_, tensors, groups), count in zip(results[0], (6, 2)):
        assert len(tensors) == count and any(map(any, tensors)) and groups[0]["lr"] == 0.025


def broadcast_from_a_gpu(rank):
    """The root's state says that it was on a GPU, which no rank has here."""
    net = torch.nn.Linear(9, 5)
    optimizer = torch.optim.AdamW(net.parameters(), lr=torch.tensor(0.1 * (1 + rank)))
    for _ in range(1 + rank):
        net(torch.ones(3, 9)).square().sum().backward()
        optimizer.step()
    torch.serialization.location_tag = lambda storage: "cuda:1"
    casync.torch.broadcast_optimizer_state(optimizer, root=1)
    return optimizer.state[net.weight]["step"].item(), optimizer.param_groups[0]["lr"].item()


def test_the_state_of_a_roots_gpu_goes_to_the_devices_of_each_ranks_parameters():
    for step, rate in ranks.values(__file__, "broadcast_from_a_gpu", 2, torch=True):
        assert step == 2.0 and abs(rate - 0.2) < 1e-6
