# SPDX-License-Identifier: Apache-2.0
"""Local SGD and staleness by the plan alone, with the DDP hook and with DistributedOptimizer: against the same training
computed in one process."""

import copy
import logging
import pickle
import types

import pytest

torch = pytest.importorskip("torch")
import ranks  # noqa: E402
import small_net  # noqa: E402
import torch.distributed as dist  # noqa: E402
from one_process import apply, batch, gradients, mean, near, replica, write_plans  # noqa: E402
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks  # noqa: E402

import casync  # noqa: E402

RANKS, STEPS = 3, 7


def local_sgd_in_one_process(every, from_step):
    """Parameters of each rank after each step."""
    replicas = [replica() for _ in range(RANKS)]
    history = []
    for step in range(STEPS):
        of_ranks = [gradients(net, rank, step) for rank, (net, _) in enumerate(replicas)]
        if step < from_step:
            of_ranks = [mean(of_ranks)] * RANKS
        for (net, optimizer), values in zip(replicas, of_ranks):
            apply(net, optimizer, values)
        if step >= from_step and (step - from_step + 1) % every == 0:
            common = mean([[p.detach() for p in net.parameters()] for net, _ in replicas])
            for net, _ in replicas:
                for p, value in zip(net.parameters(), common):
                    p.data.copy_(value)
        history.append([[p.detach().clone() for p in net.parameters()] for net, _ in replicas])
    return history


WAYS = ["hook", "optimizer", "deferred"]


def make(way, plan):
    """A model, its optimizer, and who synchronizes: casync.torch.State, or the optimizer's engine."""
    if way == "hook":
        ddp, state, optimizer = small_net.make(None, plan=plan)
        state.follow(optimizer)
        return ddp, optimizer, state
    net, optimizer = replica()
    model = net if way == "deferred" else None
    optimizer = casync.torch.DistributedOptimizer(optimizer, net.named_parameters(), model=model, plan=plan)
    return net, optimizer, optimizer.casync


def train(rank, way, plan):
    """For each step: parameters, a hash of them, and the payload bytes sent by then."""
    net, optimizer, engine = make(way, plan)
    history = []
    for step in range(STEPS):
        small_net.step_once(net, optimizer, rank, step)
        if way == "deferred":
            engine.finish()
        parameters = [p.detach().numpy().copy() for p in net.parameters()]
        history.append((parameters, small_net.fingerprint(net), engine.stats()["payload_bytes_sent"]))
    engine.close()
    return history


def train_all(rank, way, plans):
    dist.init_process_group("gloo")
    return [train(rank, way, plan) for plan in plans]


ROUNDS = [(1, 0), (3, 0), (2, 3)]  # every, from_step
TRAINED = [f"local_sgd {{ every: {every}  from_step: {from_step} }}" for every, from_step in ROUNDS] + [
    "local_sgd { every: 2 }",
    'local_sgd { every: 2 }  default { codec { name: "int4" } }',
    "staleness: 1",
    "staleness: 3",
]


@pytest.fixture(scope="module", params=WAYS)
def trained(request, tmp_path_factory):
    """The ranks' histories, by plan."""
    plans = write_plans(tmp_path_factory.mktemp("plans"), TRAINED)
    outcomes = ranks.values(__file__, "train_all", RANKS, torch=True, way=request.param, plans=plans)
    return {text: [of_rank[at] for of_rank in outcomes] for at, text in enumerate(TRAINED)}


@pytest.mark.parametrize("at", range(len(ROUNDS)))
def test_local_sgd_is_what_it_would_be_in_one_process(trained, at):
    every, from_step = ROUNDS[at]
    expected = local_sgd_in_one_process(every, from_step)
    histories = trained[TRAINED[at]]
    sent = 0
    for step in range(STEPS):
        alike = {history[step][1] for history in histories}
        exchanged = step < from_step or (step - from_step + 1) % every == 0
        assert len(alike) == (1 if exchanged else RANKS), step
        for rank, history in enumerate(histories):
            assert near(history[step][0], expected[step][rank]), (step, rank)
        assert (histories[0][step][2] > sent) == exchanged, step
        sent = histories[0][step][2]


def test_differences_are_compressed_and_replicas_stay_identical(trained):
    plain, coded = trained[TRAINED[3]], trained[TRAINED[4]]
    for step in (1, 3, 5):
        assert len({history[step][1] for history in coded}) == 1
    assert coded[0][1][1] != plain[0][1][1]
    assert coded[0][-1][2] < 0.3 * plain[0][-1][2]


@pytest.mark.parametrize("staleness", [1, 3])
def test_a_gradient_some_steps_late_is_applied_so_many_steps_late(trained, staleness):
    histories = trained[f"staleness: {staleness}"]
    net, optimizer = replica()
    late = [[torch.zeros_like(p) for p in net.parameters()]] * staleness
    for step in range(STEPS):
        late = late + [mean([gradients(net, rank, step) for rank in range(RANKS)])]
        apply(net, optimizer, late[0])
        late = late[1:]
        assert len({history[step][1] for history in histories}) == 1, step
        assert near(histories[0][step][0], [p.detach() for p in net.parameters()]), step


def interrupted_and_not(rank, plan, folder, at):
    """Hashes of the parameters after a whole training, and after one that went on from a checkpoint."""
    hashes = [train(rank, "hook", plan)[-1][1]]
    ddp, state, optimizer = small_net.make(None, plan=plan)
    state.follow(optimizer)
    for step in range(at):
        small_net.step_once(ddp, optimizer, rank, step)
    path = f"{folder}/rank{rank}.pt"
    torch.save({"net": ddp.module.state_dict(), "sgd": optimizer.state_dict(), "casync": state.state_dict()}, path)
    state.close()
    saved = torch.load(path, weights_only=True)
    ddp, state, optimizer = small_net.make(None, plan=plan)
    ddp.module.load_state_dict(saved["net"])  # after DDP: it gives all ranks those of the first
    optimizer.load_state_dict(saved["sgd"])
    state.load_state_dict(saved["casync"])
    state.follow(optimizer)
    for step in range(at, STEPS):
        small_net.step_once(ddp, optimizer, rank, step)
    hashes.append(small_net.fingerprint(ddp))
    state.close()
    return hashes


def interrupt_all(rank, plans, folder):
    dist.init_process_group("gloo")
    return [interrupted_and_not(rank, plan, folder, at) for plan in plans for at in (4, 5)]


def test_a_training_that_is_resumed_in_the_middle_of_a_round_goes_on_as_it_would_have(tmp_path):
    codec = '  default { codec { name: "int4" } }'
    texts = ["local_sgd { every: 3  from_step: 1 }" + codec, "staleness: 1" + codec, "staleness: 3" + codec]
    texts.append("gossip { neighbours: ring  every: 3  from_step: 1  gamma: 0.5 }" + codec)
    plans = write_plans(tmp_path, texts + ["gossip { neighbours: pairs  every: 3  from_step: 1 }"])
    outcomes = ranks.values(__file__, "interrupt_all", 2, torch=True, plans=plans, folder=str(tmp_path))
    for hashes in outcomes:
        for whole, resumed in hashes:
            assert whole == resumed


def runs_away(rank, plan, is_told):
    """For each step, whether it was finite, and the parameters' hash; rank 1 has an infinite one in the third."""
    ddp, state, optimizer = small_net.make(None, plan=plan)
    state.follow(optimizer)
    scalars, records = [], []
    state.log_to(types.SimpleNamespace(add_scalar=lambda *scalar: scalars.append(scalar)), every=2)
    logging.getLogger("casync").addFilter(lambda record: records.append(record.getMessage()) or True)
    steps = []
    for step in range(4):
        if rank == 1 and step == 2:
            with torch.no_grad():
                ddp.module[0].weight[0, 0] = float("inf")
        small_net.step_once(ddp, optimizer, rank, step)
        steps.append((state.last_step.finite, small_net.fingerprint(ddp)))
    state.close()
    told = [text for text in records if "are those of the start of the round again" in text]
    assert len(told) == is_told and all("was not finite on some rank" in text for text in told), records
    finite = [(value, step) for tag, value, step in scalars if tag == "casync/finite"]
    assert finite == ([(1.0, 2), (0.0, 4)] if rank == 0 else []), scalars
    return steps


def leaves_out_an_update(rank, plan):
    """As GradScaler does it: rank 1, its second one."""
    ddp, state, optimizer = small_net.make(None, plan=plan)
    state.follow(optimizer)
    hashes = []
    for step in range(4):
        optimizer.zero_grad()
        ddp(batch(rank, step)).square().mean().backward()
        if not (rank == 1 and step == 1):
            optimizer.step()
        hashes.append(small_net.fingerprint(ddp))
    state.close()
    return hashes


def is_not_followed(rank, plan):
    ddp, _, optimizer = small_net.make(None, plan=plan)
    small_net.step_once(ddp, optimizer, rank, 0)
    try:
        small_net.step_once(ddp, optimizer, rank, 1)
    except casync.InvalidArgument as error:
        return str(error)


def is_wrapped(rank, plan):
    hook = default_hooks.fp16_compress_wrapper(casync.torch.comm_hook)
    ddp, _, optimizer = small_net.make(None, plan=plan, hook=hook)
    try:
        small_net.step_once(ddp, optimizer, rank, 0)
    except casync.InvalidArgument as error:
        return str(error)


def asks_for_a_consensus(rank, plan):
    ddp, state, optimizer = small_net.make(None, plan=plan)
    state.follow(optimizer)
    errors = []
    for step in range(2):
        try:
            state.consensus()
        except casync.InvalidArgument as error:
            errors.append(str(error))
        small_net.step_once(ddp, optimizer, rank, step)
    state.close()
    return errors


LEFT_OUT = (0, 1, 3)


def leaves_out_one_with_the_optimizer(rank, plan, at):
    """As GradScaler does it: rank 1, its update `at`. A hash of the parameters after each step, and after the end."""
    net, optimizer, engine = make("optimizer", plan)
    hashes = []
    for step in range(4):
        optimizer.zero_grad()
        net(batch(rank, step)).square().mean().backward()
        if not (rank == 1 and step == at):
            optimizer.step()
        hashes.append(small_net.fingerprint(net))
    engine.close()
    return [*hashes, small_net.fingerprint(net)]


def computes_twice(rank, plan):
    net, _, engine = make("optimizer", plan)
    loss = net(batch(rank, 0)).square().mean()
    loss.backward(retain_graph=True)
    with pytest.raises(casync.InvalidArgument) as refused:
        loss.backward()
    engine.close()
    return str(refused.value)


class Twice(torch.optim.SGD):
    """Asks its closure twice in a step, as optimizers do that look for a good place."""

    def step(self, closure=None):
        with torch.enable_grad():
            closure()
        return super().step(closure)


def calls_its_closure_twice(rank, plan):
    net, _ = replica()
    optimizer = casync.torch.DistributedOptimizer(Twice(net.parameters(), lr=0.1), net.named_parameters(), plan=plan)

    def closure():
        optimizer.zero_grad()
        net(batch(rank, step)).square().mean().backward()

    for step in range(4):
        optimizer.step(closure)
    steps = optimizer.casync.stats()["steps"]
    optimizer.casync.close()
    return steps, small_net.fingerprint(net)


def go_wrong(rank, plan, gossip_plan):
    dist.init_process_group("gloo")
    outcomes = [runs_away(rank, plan, is_told=rank == 0)]  # all ranks have the same answer
    outcomes += [case(rank, plan) for case in (leaves_out_an_update, is_not_followed, is_wrapped)]
    outcomes += [runs_away(rank, gossip_plan, is_told=True), asks_for_a_consensus(rank, plan)]
    outcomes.append([leaves_out_one_with_the_optimizer(rank, plan, at) for at in LEFT_OUT])
    return [*outcomes, computes_twice(rank, plan), calls_its_closure_twice(rank, plan)]


@pytest.fixture(scope="module")
def gone_wrong(tmp_path_factory):
    plans = write_plans(
        tmp_path_factory.mktemp("plans"), ["local_sgd { every: 2 }", "gossip { neighbours: ring  every: 2 }"]
    )
    return ranks.values(__file__, "go_wrong", 2, torch=True, plan=plans[0], gossip_plan=plans[1])


@pytest.mark.parametrize("case", [0, 4])
def test_a_round_that_is_not_finite_takes_all_ranks_back_to_where_it_began(gone_wrong, case):
    first, second = (of_rank[case] for of_rank in gone_wrong)
    assert first[1] == second[1] and first[3] == second[3]
    assert first[1][0] and not first[3][0]
    assert first[3][1] == first[1][1]


def test_an_update_that_is_left_out_ends_its_step_with_the_next_forward_pass(gone_wrong):
    first, second = (of_rank[1] for of_rank in gone_wrong)
    assert first[3] == second[3]


def test_without_somebody_to_follow_the_second_step_says_so(gone_wrong):
    for of_rank in gone_wrong:
        assert "state.follow(optimizer)" in of_rank[2]


def test_differences_of_parameters_do_not_go_through_a_wrapper_that_changes_their_type(gone_wrong):
    for of_rank in gone_wrong:
        assert "0.weight is float32" in of_rank[3] and "wrapper" in of_rank[3]


def test_a_consensus_is_refused_before_the_first_backward_pass_and_without_gossip(gone_wrong):
    for of_rank in gone_wrong:
        early, other = of_rank[5]
        assert "no backward pass has run" in early
        assert "a consensus is for a plan with gossip" in other


def test_an_update_that_is_left_out_ends_its_step_with_zero_grad_or_with_close(gone_wrong):
    first, second = (of_rank[6] for of_rank in gone_wrong)
    for at, ours, others in zip(LEFT_OUT, first, second):  # ranks exchange in steps 1 and 3
        assert (ours[1] == others[1]) == (at != 1), at
        assert (ours[3] == others[3]) == (at != 3), at
        assert ours[4] == others[4], at


def test_a_second_backward_pass_of_a_step_without_an_exchange_is_refused(gone_wrong):
    for of_rank in gone_wrong:
        assert "was computed again ahead of optimizer.step()" in of_rank[7] and "zero_grad()" in of_rank[7]


def test_a_closure_may_be_called_twice_in_a_step_without_an_exchange(gone_wrong):
    assert gone_wrong[0][8] == gone_wrong[1][8] and gone_wrong[0][8][0] == 4


def copies_its_module(rank, plan):
    """Ahead of an update, a copy of the DDP module computes something, as an average of models does in an evaluation."""
    dist.init_process_group("gloo")
    ddp, optimizer, state = make("hook", plan)
    small_net.step_once(ddp, optimizer, rank, 0)
    copies = [copy.deepcopy(ddp), pickle.loads(pickle.dumps(ddp))]
    ddp(torch.ones(4, 40)).square().mean().backward()
    for each in copies:
        each(torch.ones(4, 40))
    waits_for_the_update = state._local.has_gradients
    optimizer.step()
    return waits_for_the_update, state._local.has_gradients


def test_a_copy_of_a_module_ends_no_step_of_local_sgd(tmp_path):
    (plan,) = write_plans(tmp_path, ["local_sgd { every: 3 }"])
    assert ranks.values(__file__, "copies_its_module", 1, torch=True, plan=plan) == [(True, False)]
