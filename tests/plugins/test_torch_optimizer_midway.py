# SPDX-License-Identifier: Apache-2.0
"""casync.torch.DistributedOptimizer in the middle of a training: accumulations that are given up, evaluations, layers and
groups that come and go, and a call that is made again after it was refused."""

import pytest

torch = pytest.importorskip("torch")
import ranks  # noqa: E402
import torch.distributed as dist  # noqa: E402
from one_process import write_plans  # noqa: E402
from torch.distributed.fsdp import fully_shard  # noqa: E402
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook  # noqa: E402

import casync.torch  # noqa: E402
from casync import errors  # noqa: E402

RANKS = 2


def make_net():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.ReLU(), torch.nn.Linear(5, 6))


def batch(rank, step):
    return torch.randn(4, 6, generator=torch.Generator().manual_seed(1000 * rank + step))


def loss_of(net, rank, step):
    return net(batch(rank, step)).square().mean()


def of_all_ranks(net, step):
    """The loss whose gradient is the average."""
    return sum(loss_of(net, rank, step) for rank in range(RANKS)) / RANKS


def distribute(optimizer, net, deferred=False, **options):
    options = {"codec": "none", **options} if "plan" not in options else options
    return casync.torch.DistributedOptimizer(
        optimizer, net.named_parameters(), model=net if deferred else None, **options
    )


def train(net, optimizer, rank, steps):
    for step in steps:
        optimizer.zero_grad()
        loss_of(net, rank, step).backward()
        optimizer.step()


def sgd(net):
    return torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)


def values_of(net):
    return torch.cat([value.reshape(-1) for value in net.state_dict().values()])  # waits for updates


def difference(a, b):
    return (values_of(a) - values_of(b)).abs().max().item()


def refusal(call):
    with pytest.raises(errors.InvalidArgument) as refused:
        call()
    return str(refused.value)


def gives_up_an_accumulation(rank, deferred):
    """Two of three backward passes are thrown away. Returns the difference from plain torch, which had the others."""
    net, plain = make_net(), make_net()
    optimizer, expected = distribute(sgd(net), net, deferred, backward_passes_per_step=3), sgd(plain)
    for passes in (2, 3, 1, 3):
        optimizer.zero_grad()
        expected.zero_grad()
        for step in range(passes):
            loss_of(net, rank, step).backward()
            of_all_ranks(plain, step).backward()
        if passes == 3:
            optimizer.step()
            expected.step()
    far = difference(net, plain)
    steps = optimizer.casync.stats()["steps"]
    optimizer.casync.close()
    return far, steps


def evaluates(rank, make_optimizer):
    """An evaluation in inference mode after the first step, whose update makes the optimizer's state."""
    net, plain = make_net(), make_net()
    optimizer, expected = distribute(make_optimizer(net), net, deferred=True), make_optimizer(plain)
    for step in range(3):
        train(net, optimizer, rank, [step])
        expected.zero_grad()
        of_all_ranks(plain, step).backward()
        expected.step()
        if step == 0:
            assert optimizer.casync.deferring
            with torch.inference_mode():
                net(batch(rank, step))
            assert not optimizer.casync.deferring
    far = difference(net, plain)
    optimizer.casync.close()
    return far


class Products(torch.optim.Optimizer):
    """Multiplies gradients by themselves, as optimizers do that turn them."""

    def __init__(self, parameters):
        super().__init__(parameters, {})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None and parameter.dim() == 2:
                    parameter.sub_(parameter.grad @ parameter.grad.T @ parameter.grad)


def trains_with_autocast(rank):
    """All ranks have the same batch, so that averages are the gradients of plain torch."""
    net, plain = make_net(), make_net()
    optimizer, expected = distribute(Products(net.parameters()), net, deferred=True), Products(plain.parameters())
    for step in range(3):
        for model, updating in ((net, optimizer), (plain, expected)):
            updating.zero_grad()
            with torch.autocast("cpu", torch.bfloat16):
                loss = loss_of(model, 0, step)
            loss.backward()
            updating.step()
    assert difference(plain, make_net()) > 1e-3
    far = difference(net, plain)
    optimizer.casync.close()
    return far


def is_made_again(rank):
    """Optimizers of parameters that another one has, or that could not be had."""
    net, said = make_net(), []
    first = distribute(sgd(net), net)
    train(net, first, rank, [0])
    said.append(refusal(lambda: distribute(sgd(net), net)))
    train(net, first, rank, [1])
    first.casync.close()
    second = distribute(sgd(net), net)
    train(net, second, rank, [2])
    second.casync.close()

    net[2].double()
    said.append(refusal(lambda: distribute(sgd(net), net)))
    net[2].float()
    third = distribute(sgd(net), net)
    train(net, third, rank, [3, 4])
    stranger = torch.nn.Parameter(torch.zeros(7))
    said.append(refusal(lambda: third.add_param_group(dict(params=[stranger]))))
    train(net, third, rank, [5])
    assert len(third.param_groups) == 1
    third.casync.close()

    fully_shard(net)
    said.append(refusal(lambda: distribute(sgd(net), net)))
    return said


class Wrapping(torch.optim.Optimizer):
    """Has the groups of the one that it wraps, as accelerate's has."""

    def __init__(self, optimizer):
        self.optimizer = optimizer

    param_groups = property(lambda self: self.optimizer.param_groups)


def is_the_same_object(rank):
    net = make_net()
    assert "Wrapping has no parameter groups of its own" in refusal(lambda: distribute(Wrapping(sgd(net)), net))
    plain = sgd(net)
    optimizer = distribute(plain, net, deferred=True)
    train(net, optimizer, rank, range(2))
    assert optimizer.casync.deferring
    plain.state_dict()  # waits for updates
    waits = not optimizer.casync.deferring
    optimizer.casync.close()
    return optimizer is plain and isinstance(plain, torch.optim.SGD) and waits


def counts_steps_of_all_optimizers(rank):
    """The calls of hooks of torch that are for every optimizer."""
    net, calls = make_net(), []
    optimizer = distribute(sgd(net), net, deferred=True)
    hooks = [
        register_optimizer_step_pre_hook(lambda *_: calls.append("pre")),
        register_optimizer_step_post_hook(lambda *_: calls.append("post")),
    ]
    train(net, optimizer, rank, range(3))
    for hook in hooks:
        hook.remove()
    optimizer.casync.close()
    return calls


def loses_a_group(rank, deferred):
    """Returns true if the parameters of a group that is taken out stay, and the others go on."""
    net = make_net()
    groups = [dict(params=net[0].parameters()), dict(params=net[2].parameters())]
    optimizer = distribute(torch.optim.SGD(groups, lr=0.1), net, deferred)
    train(net, optimizer, rank, range(2))
    before = {name: value.clone() for name, value in net.state_dict().items()}
    optimizer.param_groups.pop()
    train(net, optimizer, rank, range(2))
    stayed = {name for name, value in net.state_dict().items() if torch.equal(value, before[name])}
    optimizer.casync.close()
    return stayed == {"2.weight", "2.bias"}


def averages_twice(rank):
    """Who clips and who logs may both ask for the averages. Returns true if the second call changes nothing."""
    ends = []
    for calls in (1, 2):
        net = make_net()
        optimizer = distribute(sgd(net), net, codec="onebit")
        for step in range(3):
            optimizer.zero_grad()
            loss_of(net, rank, step).backward()
            for _ in range(calls):
                optimizer.synchronize()
            optimizer.step()
        ends.append((values_of(net).tolist(), optimizer.casync.stats()["steps"]))
        optimizer.casync.close()
    return ends[0] == ends[1]


def adds_a_group_after_the_backward_pass(rank):
    """The parameters after a step whose averages have been asked for, by the call itself, without the new group's."""
    net = make_net()
    optimizer = distribute(torch.optim.SGD(net[0].parameters(), lr=0.1), net)
    loss_of(net, rank, 0).backward()
    optimizer.add_param_group(dict(params=net[2].parameters()))
    optimizer.step()
    train(net, optimizer, rank, [1])
    optimizer.casync.close()
    return values_of(net).tolist()


def gets_parameters_later(rank, plan):
    """Layers that are unfrozen, or whose group is added, within a round of two steps that exchanges no gradients. Returns
    the parameters after each round."""
    net = make_net()
    net[2].weight.requires_grad_(False)
    optimizer = distribute(torch.optim.SGD([*net[0].parameters(), net[2].weight], lr=0.1), net, plan=plan)
    rounds = []
    for step in range(8):
        if step == 3:
            net[2].weight.requires_grad_(True)
        if step == 5:
            optimizer.add_param_group(dict(params=[net[2].bias]))
        before = net[2].weight.detach().clone(), net[2].bias.detach().clone()
        train(net, optimizer, rank, [step])
        moved = [not torch.equal(a, b) for a, b in zip(before, (net[2].weight, net[2].bias))]
        assert moved == [step >= 3, step >= 5]
        if step % 2 == 1:
            rounds.append(values_of(net).tolist())
    saved = optimizer.casync.state_dict()["local_sgd"]
    kept = {name: value.clone() for name, value in saved.items()}
    train(net, optimizer, rank, [8, 9])
    assert all(torch.equal(saved[name], value) for name, value in kept.items())  # a state does not change
    optimizer.casync.close()
    return rounds, sorted(saved)


def goes_back(rank, plan):
    """The parameters after six steps, and after the last four of them once more: from a state of the second step, which is
    ahead of the first round, with an update that is never made in between."""
    net = make_net()
    optimizer = distribute(torch.optim.SGD(net.parameters(), lr=0.1), net, plan=plan)
    train(net, optimizer, rank, range(2))
    state = {name: value.clone() for name, value in net.state_dict().items()}
    residuals = optimizer.casync.state_dict()
    ends = []
    for _ in range(2):
        train(net, optimizer, rank, range(2, 6))
        ends.append(values_of(net).tolist())
        train(net, optimizer, rank, [6])
        loss_of(net, rank, 7).backward()
        optimizer.casync.load_state_dict(residuals)
        net.load_state_dict(state)
    optimizer.casync.close()
    return ends


def agrees_in_inference_mode(rank, plan):
    net = make_net()
    optimizer = distribute(sgd(net), net, plan=plan)
    common = []
    for mode in (True, False, True):
        train(net, optimizer, rank, range(2))
        with torch.inference_mode(mode):
            assert optimizer.casync.consensus()
        common.append(values_of(net).tolist())
    optimizer.casync.close()
    return common


def run_all(rank, plans):
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    return {
        "given up": [gives_up_an_accumulation(rank, deferred) for deferred in (False, True)],
        "evaluated": [evaluates(rank, make) for make in (sgd, lambda net: torch.optim.Adam(net.parameters(), eps=1e-3))],
        "autocast": trains_with_autocast(rank),
        "same": is_the_same_object(rank),
        "hooks": counts_steps_of_all_optimizers(rank),
        "lost": [loses_a_group(rank, deferred) for deferred in (False, True)],
        "twice": averages_twice(rank),
        "added": adds_a_group_after_the_backward_pass(rank),
        "later": gets_parameters_later(rank, plans[0]),
        "agreed": agrees_in_inference_mode(rank, plans[1]),
        "back": goes_back(rank, plans[2]),
        "again": is_made_again(rank),
    }


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    plans = write_plans(tmp_path_factory.mktemp("plans"), [
        "local_sgd { every: 2 }", "asynchronous { }",
        'local_sgd { every: 2  from_step: 2 }  default { codec { name: "int4" } }',
    ])  # fmt: skip
    return ranks.values(__file__, "run_all", RANKS, torch=True, plans=plans)


def test_an_accumulation_that_zero_grad_ends_begins_anew(outcomes):
    for of_rank in outcomes:
        for far, steps in of_rank["given up"]:
            assert far < 1e-6 and steps == 2


def test_an_update_within_an_evaluation_leaves_a_state_that_later_steps_can_change(outcomes):
    assert max(far for of_rank in outcomes for far in of_rank["evaluated"]) < 1e-5


def test_an_update_within_a_forward_pass_is_not_in_its_autocast(outcomes):
    assert max(of_rank["autocast"] for of_rank in outcomes) < 1e-6


def test_the_optimizer_stays_the_same_object(outcomes):
    assert all(of_rank["same"] for of_rank in outcomes)


def test_hooks_of_all_optimizers_are_called(outcomes):
    assert all(of_rank["hooks"] == ["pre", "post"] * 3 for of_rank in outcomes)


def test_parameters_of_a_group_that_is_taken_out_stay(outcomes):
    assert all(of_rank["lost"] == [True, True] for of_rank in outcomes)


def test_averages_that_are_asked_for_twice_are_computed_once(outcomes):
    assert all(of_rank["twice"] for of_rank in outcomes)


def test_a_group_that_comes_after_the_backward_pass_takes_part_from_the_next_one_on(outcomes):
    first, second = (of_rank["added"] for of_rank in outcomes)
    assert first == second


def test_parameters_that_come_within_a_round_are_exchanged_at_its_end(outcomes):
    (first, names), (second, _) = (of_rank["later"] for of_rank in outcomes)
    assert len(first) == 4 and first == second
    assert names == ["0.bias", "0.weight", "2.bias", "2.weight"]


def test_a_consensus_may_be_asked_for_in_inference_mode(outcomes):
    first, second = (of_rank["agreed"] for of_rank in outcomes)
    assert len(first) == 3 and first == second


def test_a_state_of_a_time_ahead_of_a_round_is_gone_on_from(outcomes):
    for once, again in (of_rank["back"] for of_rank in outcomes):
        assert once == again


def test_an_optimizer_that_was_refused_can_be_made_again(outcomes):
    first, second = (of_rank["again"] for of_rank in outcomes)
    assert first == second
    for said, part in zip(first, (
        "0.weight is in another DistributedOptimizer, too",
        "parameter 2.weight is torch.float64",
        "shape (7,) has no name",
        "0.weight is a DTensor, which has no memory of its own",
    )):  # fmt: skip
        assert part in said, said
