# SPDX-License-Identifier: Apache-2.0
"""casync.torch.DistributedOptimizer with parameters in another layout, of another type than they were, or in wrappers that
average or shard them; accumulations that end early; and ranks that do not use the same parameters, or do not ask for the
same."""

import pytest

torch = pytest.importorskip("torch")
import ranks  # noqa: E402
import small_net  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch.distributed.fsdp import FullyShardedDataParallel  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402

import casync.torch  # noqa: E402
from casync import errors  # noqa: E402

RANKS = 2


class Net(torch.nn.Module):
    """Weights whose channels are last in memory; `side` has no part in some forward passes."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.side = torch.nn.Conv2d(3, 4, 3), torch.nn.Conv2d(4, 4, 3, padding=1)
        self.last = torch.nn.Linear(64, 2)
        self.to(memory_format=torch.channels_last)

    def forward(self, x, with_side=True):
        x = torch.relu(self.first(x))
        if with_side:
            x = x + self.side(x)
        return self.last(x.flatten(1))


def loss_of(net, rank, step):
    """Rank 1 does not use the side."""
    x = torch.randn(2, 3, 6, 6, generator=torch.Generator().manual_seed(100 * rank + step))
    return net(x, rank == 0).square().mean()


def distribute(optimizer, net, deferred=False, **options):
    return casync.torch.DistributedOptimizer(
        optimizer, net.named_parameters(), model=net if deferred else None, codec="none", **options
    )


def train_both(ours, plain, optimizer, expected, rank, steps):
    """With the losses of all ranks. Returns the largest difference between the parameters."""
    for step in steps:
        optimizer.zero_grad()
        expected.zero_grad()
        loss_of(ours, rank, step).backward()
        (sum(loss_of(plain, one, step) for one in range(RANKS)) / RANKS).backward()
        optimizer.step()
        expected.step()
    state = ours.state_dict()  # waits for updates
    return small_net.largest(state[name] - value for name, value in plain.state_dict().items())


def fused(net):
    return torch.optim.AdamW(net.parameters(), lr=0.01, eps=1e-3, fused=True)


def trains_in_another_layout(rank, deferred):
    """A fused optimizer reads gradients in the order of their memory."""
    net, plain = Net(), Net()
    assert not net.first.weight.is_contiguous() and not net.side.weight.is_contiguous()
    optimizer = distribute(fused(net), net, deferred)
    far = train_both(net, plain, optimizer, fused(plain), rank, range(3))
    optimizer.zero_grad()
    loss_of(net, rank, 3).backward()
    optimizer.synchronize()
    assert all(parameter.grad.stride() == parameter.stride() for parameter in net.parameters())
    optimizer.casync.close()
    return far


def scales(rank, deferred):
    """Two of three backward passes, whose scale a fused optimizer takes away."""
    net, plain, scaler = Net(), Net(), torch.amp.GradScaler("cpu", init_scale=1024.0)
    optimizer, expected = distribute(fused(net), net, deferred, backward_passes_per_step=3), fused(plain)
    for step in range(3):
        optimizer.zero_grad()
        expected.zero_grad()
        for part in (2 * step, 2 * step + 1):
            scaler.scale(loss_of(net, rank, part)).backward()
            (sum(loss_of(plain, one, part) for one in range(RANKS)) / RANKS).backward()
        scaler.step(optimizer)
        scaler.update()
        expected.step()
    state = net.state_dict()  # waits for updates
    optimizer.casync.close()
    return small_net.largest(state[name] - value for name, value in plain.state_dict().items())


def never_zeroes(rank):
    """With `model` step() takes the gradients, also where it waits for them."""
    net, plain = Net(), Net()
    optimizer, expected = (torch.optim.SGD(each.parameters(), lr=0.1) for each in (net, plain))
    distribute(optimizer, net, deferred=True).register_step_post_hook(lambda *_: None)
    for step in range(3):
        loss_of(net, rank, step).backward()
        expected.zero_grad()
        (sum(loss_of(plain, one, step) for one in range(RANKS)) / RANKS).backward()
        optimizer.step()
        expected.step()
        assert all(parameter.grad is None for parameter in net.parameters())
    optimizer.casync.close()
    return small_net.largest(value - other for value, other in zip(net.parameters(), plain.parameters()))


def gives_up(rank, deferred, set_to_none):
    """A step that is computed and not taken, of which rank 1 has sent a part."""
    net, plain = Net(), Net()
    optimizer, expected = (torch.optim.SGD(each.parameters(), lr=0.1) for each in (net, plain))
    distribute(optimizer, net, deferred)
    far = []
    for step in range(2):
        loss_of(net, rank, 10 + step).backward()
        optimizer.zero_grad(set_to_none)
        far.append(train_both(net, plain, optimizer, expected, rank, [step]))
    steps = optimizer.casync.stats()["steps"]
    optimizer.casync.close()
    return max(far), steps


def gives_up_alone(rank):
    """Rank 1 gives up a step of which it has sent a part, and rank 0 takes it: parameters before and after it, and after
    one more."""
    net = Net()
    optimizer, values = distribute(torch.optim.SGD(net.parameters(), lr=0.1), net), [list(map(torch.clone, net.parameters()))]
    for step in range(2):
        optimizer.zero_grad()
        loss_of(net, rank, step).backward()
        if step == 0 and rank == 1:
            optimizer.zero_grad()
        else:
            optimizer.step()
        values.append(list(map(torch.clone, net.parameters())))
    optimizer.casync.close()
    return [[value.tolist() for value in of_step] for of_step in values]


def bfloat16(net):
    net.bfloat16()


def float64(net):
    net.double()


def smaller(net):
    net.weight.data, net.bias.data = net.weight.data[:2].clone(), net.bias.data[:2].clone()


def changes(rank, change):
    """The answer to a gradient that does not fill the memory which ranks have agreed on, or is larger."""
    net = torch.nn.Linear(6, 4)
    optimizer = distribute(torch.optim.SGD(net.parameters(), lr=0.1), net)
    change(net)
    with pytest.raises(errors.InvalidArgument) as refused:
        net(torch.ones(2, 6, dtype=net.weight.dtype)).sum().backward()
    assert not optimizer.casync.in_flight
    optimizer.casync.close()
    return str(refused.value)


def is_wrapped(rank):
    """The answers where another wrapper has the parameters, and the number of steps once it has not."""
    said = []
    for wrap in (
        DistributedDataParallel,
        lambda net: FullyShardedDataParallel(net, device_id=torch.device("cpu")),
        lambda net: FullyShardedDataParallel(net, device_id=torch.device("cpu"), use_orig_params=True),
    ):
        wrapped = wrap(torch.nn.Linear(6, 4))
        with pytest.raises(errors.InvalidArgument) as refused:
            distribute(torch.optim.SGD(wrapped.parameters(), lr=0.1), wrapped)
        said.append(str(refused.value))
    net = torch.nn.Linear(6, 4)
    ddp = DistributedDataParallel(net)
    del ddp
    optimizer = distribute(torch.optim.SGD(net.parameters(), lr=0.1), net)
    net(torch.ones(2, 6)).sum().backward()
    optimizer.step()
    steps = optimizer.casync.stats()["steps"]
    optimizer.casync.close()
    return said, steps


def asks_alone(rank):
    """Rank 0 alone reads the learning rate after a backward pass, whose averages are there then: its update does not wait
    for the next forward pass. A gradient of rank 1 is not finite in this step. Returns each parameter."""
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.ReLU(), torch.nn.Linear(5, 6))
    before = [parameter.detach().clone() for parameter in net.parameters()]
    optimizer = distribute(torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9), net, deferred=True)
    if rank == 1:
        net[2].bias.register_hook(lambda gradient: gradient * float("nan"))
    optimizer.zero_grad()
    net(torch.ones(2, 6) + rank).square().mean().backward()
    if rank == 0:
        assert optimizer.param_groups[0]["lr"] == 0.1
    optimizer.step()
    assert optimizer.casync.deferring == (rank == 1)
    net.state_dict()  # waits for updates
    assert optimizer.casync.last_step.first_non_finite == "2.bias"
    optimizer.casync.close()
    return [(torch.equal(was, now), now.tolist()) for was, now in zip(before, net.parameters())]


def run_all(rank):
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    return {
        "layout": [trains_in_another_layout(rank, deferred) for deferred in (False, True)],
        "scaled": [scales(rank, deferred) for deferred in (False, True)],
        "never zeroed": never_zeroes(rank),
        "given up": [gives_up(rank, *how) for how in ((False, True), (False, False), (True, True))],
        "given up alone": gives_up_alone(rank),
        "changed": [changes(rank, change) for change in (bfloat16, float64, smaller)],
        "wrapped": is_wrapped(rank),
        "alone": asks_alone(rank),
    }


@pytest.fixture(scope="module")
def outcomes():
    return ranks.values(__file__, "run_all", RANKS, torch=True)


def test_gradients_keep_the_layout_of_their_parameters(outcomes):
    assert all(far <= 1e-5 for of_rank in outcomes for far in of_rank["layout"])


def test_an_accumulation_that_ends_early_has_its_scale_taken_away(outcomes):
    assert all(far <= 1e-5 for of_rank in outcomes for far in of_rank["scaled"])


def test_step_takes_the_gradients_also_where_it_waits(outcomes):
    assert all(of_rank["never zeroed"] <= 1e-5 for of_rank in outcomes)


def test_a_step_of_which_a_rank_has_sent_a_part_is_given_up(outcomes):
    for of_rank in outcomes:
        assert all(far <= 1e-5 and steps == 4 for far, steps in of_rank["given up"])


def test_no_rank_updates_in_a_step_of_which_one_has_given_up_a_part(outcomes):
    first, second = (of_rank["given up alone"] for of_rank in outcomes)
    assert first == second
    assert first[0] == first[1] != first[2]


def test_a_parameter_that_has_changed_is_refused_by_name(outcomes):
    for of_rank in outcomes:
        for text, now in zip(of_rank["changed"], ("torch.bfloat16", "torch.float64", "torch.float32")):
            assert f"is {now} of shape (" in text and "and was torch.float32 of shape (4" in text, text
            assert text.startswith("gradient ") and "optimizer.casync.close()" in text, text


def test_parameters_that_another_wrapper_averages_or_shards_are_refused_by_name(outcomes):
    for of_rank in outcomes:
        (averaged, *sharded), steps = of_rank["wrapped"]
        assert "weight is in a DistributedDataParallel module, which averages its gradient" in averaged
        assert all("is a shard of FullyShardedDataParallel's" in text for text in sharded), sharded
        assert steps == 1


def test_ranks_whose_update_waits_and_others_leave_out_the_same(outcomes):
    first, second = (of_rank["alone"] for of_rank in outcomes)
    assert first == second
    assert [stayed for stayed, _ in first] == [False, False, False, True]
