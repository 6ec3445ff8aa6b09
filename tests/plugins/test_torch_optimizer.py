# SPDX-License-Identifier: Apache-2.0
"""casync.torch.DistributedOptimizer compared with plain torch on the whole batch, in every way people combine it."""

import contextlib
import copy
import logging
import pickle

import pytest

torch = pytest.importorskip("torch")
import ranks  # noqa: E402

import casync.torch  # noqa: E402
from casync import errors  # noqa: E402

RANKS = 2


class Net(torch.nn.Module):
    """Parameters of odd sizes; a weight that two layers share; attention, which uses a child's weight without calling
    the child; `side` has no part in some forward passes."""

    def __init__(self):
        super().__init__()
        self.inside = torch.nn.Linear(16, 16, bias=False)
        self.shared = torch.nn.Linear(16, 16, bias=False)
        self.shared.weight = self.inside.weight
        self.attention = torch.nn.MultiheadAttention(16, 2, batch_first=True)
        self.norm = torch.nn.LayerNorm(16)
        self.side = torch.nn.Linear(16, 16)
        self.scale = torch.nn.Parameter(torch.ones(()))
        self.out = torch.nn.Linear(16, 3)

    def forward(self, x, with_side=True):
        x = self.shared(torch.relu(self.inside(x)))
        x = self.norm(x + self.attention(x, x, x, need_weights=False)[0])
        if with_side:
            x = x + self.side(x)
        return self.scale * self.out(x)


def sgd(parameters):
    return torch.optim.SGD(parameters, lr=0.1, momentum=0.9, weight_decay=0.01)


class Counting(torch.optim.Optimizer):
    """Keeps a count of its steps in each group, as schedule-free optimizers do, and its steps get smaller."""

    def __init__(self, groups):
        super().__init__(groups, dict(lr=0.1, k=0))

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            group["k"] += 1
            for parameter in group["params"]:
                if parameter.grad is not None:
                    parameter.sub_(parameter.grad, alpha=group["lr"] / group["k"])


def in_two_groups(parameters):
    parameters = list(parameters)
    return Counting([dict(params=parameters[:3]), dict(params=parameters[3:])])


def halving(optimizer):
    return torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)


CASES = {
    "sgd": {},
    "adamw": dict(optimizer=lambda p: torch.optim.AdamW(p, lr=0.01, eps=1e-3)),
    "adam_foreach": dict(optimizer=lambda p: torch.optim.Adam(p, lr=0.01, eps=1e-3, foreach=True)),
    "rmsprop": dict(optimizer=lambda p: torch.optim.RMSprop(p, lr=0.01, eps=1e-2, momentum=0.5)),
    "adadelta": dict(optimizer=lambda p: torch.optim.Adadelta(p, lr=0.5, eps=1e-3)),
    "adagrad": dict(optimizer=lambda p: torch.optim.Adagrad(p, lr=0.01, eps=1e-3)),
    "adamax": dict(optimizer=lambda p: torch.optim.Adamax(p, lr=0.01, eps=1e-3)),
    "asgd": dict(optimizer=lambda p: torch.optim.ASGD(p, lr=0.1)),
    "nadam": dict(optimizer=lambda p: torch.optim.NAdam(p, lr=0.01, eps=1e-3)),
    "radam": dict(optimizer=lambda p: torch.optim.RAdam(p, lr=0.01, eps=1e-3)),
    "tensor_lr": dict(optimizer=lambda p: torch.optim.AdamW(p, lr=torch.tensor(0.01), eps=1e-3)),
    "groups": dict(optimizer=lambda p: groups_of(list(p))),
    "counting": dict(optimizer=in_two_groups),
    "scheduler": dict(scheduler=halving),
    "scheduler_made_first": dict(scheduler=halving, scheduled="ahead of the wrap"),
    "scheduler_of_the_plain_one": dict(scheduler=halving, scheduled="plain"),
    "clipping": dict(clip=0.05),
    "closure": dict(closure=True),
    "accumulation": dict(passes=3),
    "frozen": dict(frozen="out.bias"),
    "unfrozen_later": dict(frozen="out.bias", unfreeze=2),
    "scaler": dict(scaler=True),
    "scaler_clipping": dict(scaler=True, clip=0.05),
    "zero_in_place": dict(set_to_none=False),
    "zero_after_step": dict(zero_after=True),
    "hooked": dict(step_hooks=True),
    "hooked_and_loaded": dict(step_hooks=True, load=True),
    "only_a_part_is_deferred": dict(model=lambda net: net.attention),
    "nobody_calls_the_model": dict(call=lambda net, *arguments: net.forward(*arguments)),
    "half": dict(dtype=torch.bfloat16, error=3e-2),
}


def groups_of(parameters):
    return torch.optim.AdamW([dict(params=parameters[:3], lr=0.02), dict(params=parameters[3:])], lr=0.01, eps=1e-3)


def batch(rank, step, dtype):
    generator = torch.Generator().manual_seed(100 * step + rank)
    return torch.randn(4, 5, 16, generator=generator).to(dtype)


def loss_of(net, x, side=True, call=lambda net, *arguments: net(*arguments)):
    return call(net, x, side).square().mean()


def train(rank, case, distributed, deferred, steps=5):
    """The parameters, as one tensor, after a few steps: of this rank among others, or of all batches in one process."""
    torch.manual_seed(3)
    dtype = case.get("dtype", torch.float32)
    net = Net().to(dtype)
    for name, parameter in net.named_parameters():
        parameter.requires_grad_(name != case.get("frozen"))
    plain = optimizer = case.get("optimizer", sgd)(net.parameters())
    passes, model = case.get("passes", 1), case.get("model", lambda net: net)(net)
    scheduler = case["scheduler"](plain) if case.get("scheduled") == "ahead of the wrap" else None
    if distributed:
        optimizer = casync.torch.DistributedOptimizer(
            plain, net.named_parameters(), model=model if deferred else None,
            backward_passes_per_step=passes, codec="none",
        )  # fmt: skip
        assert isinstance(optimizer, type(sgd([torch.zeros(1)]))) or "optimizer" in case
    if "scheduler" in case and scheduler is None:
        scheduler = case["scheduler"](plain if case.get("scheduled") == "plain" else optimizer)
    calls = []
    if case.get("step_hooks"):
        optimizer.register_step_pre_hook(lambda *_: calls.append("pre"))
        optimizer.register_step_post_hook(lambda *_: calls.append("post"))
    if case.get("load"):
        optimizer.load_state_dict(optimizer.state_dict())
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, enabled=case.get("scaler", False))
    whose = [rank] if distributed else range(RANKS)

    def backward(step):
        for part in range(passes):
            batches = [batch(one, 10 * step + part, dtype) for one in whose]
            call = dict(call=case["call"]) if "call" in case else {}
            loss = sum(loss_of(net, x, **call) for x in batches) / len(whose)
            scaler.scale(loss).backward()
        return loss

    for step in range(steps):
        if step == case.get("unfreeze"):
            net.get_parameter(case["frozen"]).requires_grad_(True)
        if not case.get("zero_after"):
            optimizer.zero_grad(case.get("set_to_none", True))
        if case.get("closure"):
            optimizer.step(lambda: backward(step))
            continue
        backward(step)
        if "clip" in case:
            if distributed and not case.get("scaler"):
                optimizer.synchronize()
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(net.parameters(), case["clip"])
        if distributed and "clip" in case:
            with optimizer.skip_synchronize():
                scaler.step(optimizer)
        else:
            scaler.step(optimizer)
        scaler.update()
        if scheduler:
            scheduler.step()
        if case.get("zero_after"):
            optimizer.zero_grad()
    assert not case.get("step_hooks") or calls == ["pre", "post"] * steps
    assert scheduler is None or optimizer._opt_called  # the scheduler warns otherwise
    state = net.state_dict()  # waits for updates
    if distributed:
        assert optimizer.casync.last_step.finite and optimizer.casync.stats()["steps"] == steps
        optimizer.casync.close()
    return torch.cat([value.detach().reshape(-1).float() for value in state.values()])


def compare(rank, names, deferred):
    torch.set_num_threads(1)
    differences = {}
    for name in names:
        ours, plain = (train(rank, CASES[name], distributed, deferred) for distributed in (True, False))
        differences[name] = ((ours - plain).abs().max().item(), plain.abs().max().item())
    return differences


@pytest.fixture(scope="module", params=["at_once", "deferred"])
def differences(request):
    return ranks.values(__file__, "compare", RANKS, names=list(CASES), deferred=request.param == "deferred")


@pytest.mark.parametrize("name", CASES)
def test_training_on_parts_of_a_batch_is_training_on_all_of_it(differences, name):
    for of_rank in differences:
        difference, size = of_rank[name]
        assert difference <= CASES[name].get("error", 2e-5) * max(size, 1)


def answers(rank, deferred):
    """Lets ranks differ or call out of order, and returns the answer to each case."""
    torch.set_num_threads(1)
    said, plain = {}, None

    def fresh():
        nonlocal plain
        torch.manual_seed(3)
        net = Net()
        plain = sgd(net.parameters())
        return net, casync.torch.DistributedOptimizer(
            plain, net.named_parameters(), model=net if deferred else None, codec="none"
        )

    records = []
    logging.getLogger("casync").addFilter(lambda record: records.append(record) or True)

    def is_rank_0_warned():
        """Returns true if rank 0 alone has been warned, once, since the last call."""
        told = [record for record in records if "was not finite on some rank" in record.getMessage()]
        records.clear()
        return len(told) == (1 if rank == 0 else 0)

    def is_left_out(update):
        """Returns true if update() changes no parameter in a step in which rank 1 has gradients that are not finite."""
        before = [p.detach().clone() for p in (net.state_dict() and net.parameters())]
        update(lambda: loss_of(net, batch(rank, 5, torch.float32) * (float("nan") if rank == 1 else 1)).backward())
        net.state_dict()
        return all(torch.equal(a, b) for a, b in zip(before, net.parameters()))

    def step_after(backward):
        backward()
        optimizer.step()

    @contextlib.contextmanager
    def refusal(name):
        with pytest.raises(errors.Error) as raised:
            yield
        said[name] = f"{type(raised.value).__name__}: {raised.value}"

    # Unused on one rank only, and on all: the same update everywhere.
    net, optimizer = fresh()
    for step in range(4):
        optimizer.zero_grad()
        loss_of(net, batch(rank, step, torch.float32), side=step > 1 and (step + rank) % 2 == 0).backward()
        optimizer.step()
    said["unused"] = torch.cat([value.reshape(-1) for value in net.state_dict().values()]).sum().item()

    # A step that is computed and not taken, as in adversarial training.
    before = [p.detach().clone() for p in net.parameters()]
    loss_of(net, batch(rank, 9, torch.float32)).backward()
    optimizer.zero_grad()
    said["discarded"] = all(torch.equal(a, b) for a, b in zip(before, net.parameters()))
    loss_of(net, batch(rank, 9, torch.float32)).backward()
    optimizer.step()
    optimizer.zero_grad()

    # A copy has the class and the state of the plain optimizer.
    for made in (copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
        assert type(made) is torch.optim.SGD
        moments = [one["momentum_buffer"] for one in made.state_dict()["state"].values()]
        assert all(map(torch.equal, moments, (one["momentum_buffer"] for one in optimizer.state_dict()["state"].values())))
    said["copied"] = len(moments)

    # A copy of the model is a plain one: the optimizer sees none of its passes.
    net.state_dict()
    before = [p.detach().clone() for p in net.parameters()]
    assert torch.equal(pickle.loads(pickle.dumps(net.norm)).weight, net.norm.weight)
    for model in (copy.deepcopy(net), torch.optim.swa_utils.AveragedModel(net)):
        assert all(torch.equal(a, b) for a, b in zip(before, model.parameters()))
        loss_of(model, batch(rank, 7, torch.float32)).backward()
        model.load_state_dict(model.state_dict())
    said["apart"] = not optimizer.casync._gradients.flights

    # A gradient that is not finite on one rank.
    said["skipped"] = is_left_out(step_after)
    said["culprit"] = optimizer.casync.last_step.first_non_finite
    said["warned"] = is_rank_0_warned()
    optimizer.zero_grad()
    optimizer.casync.close()

    # The same in a closure.
    net, optimizer = fresh()
    said["skipped in a closure"] = is_left_out(optimizer.step)
    said["warned of a closure"] = is_rank_0_warned()

    # The same after averages that nobody wanted.
    for at, zero_grad in enumerate((optimizer.zero_grad, net.zero_grad)):
        zero_grad()
        loss_of(net, batch(rank, 4, torch.float32)).backward()
        optimizer.synchronize()
        zero_grad()
        said[f"skipped later {at}"] = is_left_out(step_after)
    optimizer.zero_grad()
    loss_of(net, batch(rank, 4, torch.float32)).backward()
    optimizer.synchronize()
    optimizer.zero_grad()
    said["steps"] = optimizer.casync.stats()["steps"]
    if rank == 0:
        loss_of(net, batch(rank, 4, torch.float32)).backward()
    optimizer.step()  # sends zeros, if it has no gradients
    net.state_dict()
    said["steps"] = optimizer.casync.stats()["steps"] - said["steps"]
    optimizer.casync.close()

    # Memory that changes while a message has yet to leave can end the job (DataLoss), so all have left here.
    def arrive():
        for flight in optimizer.casync._gradients.flights.values():
            flight.handle.wait()

    net, optimizer = fresh()
    loss_of(net, batch(rank, 1, torch.float32)).backward()
    arrive()
    with refusal("twice"):
        loss_of(net, batch(rank, 2, torch.float32)).backward()
    optimizer.casync.discard()
    loss_of(net, batch(rank, 1, torch.float32)).backward()
    arrive()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 0.01)
    with refusal("clipped too early"):
        optimizer.synchronize()
    optimizer.zero_grad()
    loss_of(net, batch(rank, 1, torch.float32)).backward()
    arrive()
    for parameter in net.parameters():
        parameter.grad = parameter.grad.clamp(-0.1, 0.1)
    with refusal("assigned too early"):
        optimizer.step()
    optimizer.zero_grad()
    loss_of(net, batch(rank, 1, torch.float32)).backward()
    optimizer.synchronize()
    for parameter in net.parameters():
        parameter.grad = parameter.grad.clamp(-0.1, 0.1)
    optimizer.step()
    optimizer.zero_grad()
    loss_of(net, batch(rank, 1, torch.float32)).backward()
    with refusal("skipped without"):
        optimizer.skip_synchronize().__enter__()
    optimizer.step()
    with refusal("again"):
        casync.torch.DistributedOptimizer(optimizer, net.named_parameters())
    with refusal("the plain one again"):
        casync.torch.DistributedOptimizer(plain, net.named_parameters())
    with refusal("unnamed"):
        optimizer.add_param_group(dict(params=[torch.nn.Parameter(torch.zeros(7))]))
    optimizer.casync.close()

    with refusal("no names"):
        casync.torch.DistributedOptimizer(sgd(net.parameters()))
    with refusal("a name is missing"):
        casync.torch.DistributedOptimizer(sgd(net.parameters()), list(net.named_parameters())[1:])
    with refusal("two names"):
        casync.torch.DistributedOptimizer(sgd(net.parameters()), list(net.named_parameters()) * 2)
    replaced = sgd(net.parameters())
    replaced.step = lambda closure=None: None
    with refusal("replaced"):
        casync.torch.DistributedOptimizer(replaced, net.named_parameters())
    with refusal("lbfgs"):
        casync.torch.DistributedOptimizer(torch.optim.LBFGS(net.parameters()), net.named_parameters())
    embedding = torch.nn.Embedding(10, 4, sparse=True)
    optimizer = casync.torch.DistributedOptimizer(sgd(embedding.parameters()), [("embed.weight", embedding.weight)])
    with refusal("sparse"):
        embedding(torch.tensor([1, 2])).sum().backward()
    optimizer.casync.close()
    return said


@pytest.mark.parametrize("deferred", [False, True], ids=["at_once", "deferred"])
def test_what_is_out_of_order_is_answered_by_name(deferred):
    first, second = ranks.values(__file__, "answers", RANKS, deferred=deferred)
    assert first == second
    assert first["copied"] > 0 and first["discarded"] and first["culprit"] and first["apart"] and first["steps"] == 1
    for name in ("skipped", "warned", "skipped in a closure", "warned of a closure"):
        assert first[name], name
    assert first["skipped later 0"] and first["skipped later 1"]
    for name, part in {
        "twice": "was computed again ahead of optimizer.step()",
        "clipped too early": "was changed while it was on its way: call optimizer.synchronize() first, then",
        "assigned too early": "was replaced while it was on its way: call optimizer.synchronize() first, then",
        "skipped without": "call optimizer.synchronize() first, then skip it",
        "again": "this optimizer is distributed already",
        "the plain one again": "this optimizer is distributed already",
        "replaced": "step() of this SGD was replaced by answers.<locals>.<lambda>",
        "unnamed": "shape (7,) has no name",
        "no names": "give named_parameters=model.named_parameters()",
        "a name is missing": "in the optimizer's group 0 has no name",
        "two names": "two parameters are named",
        "lbfgs": "LBFGS looks at each rank's own loss",
        "sparse": "gradient embed.weight is sparse",
    }.items():
        assert part in first[name], first[name]
        assert first[name].startswith("InvalidArgument")
