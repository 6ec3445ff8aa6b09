# SPDX-License-Identifier: Apache-2.0
"""Gossip by the plan alone, with the DDP hook and with DistributedOptimizer: against the same training computed in one process."""

import pytest

torch = pytest.importorskip("torch")
import ranks  # noqa: E402
import small_net  # noqa: E402
import torch.distributed as dist  # noqa: E402
from one_process import apply, batch, gradients, mean, near, replica, write_plans  # noqa: E402

import casync  # noqa: E402

STEPS = 7

GOSSIP_RANKS, SEED = 4, 5
GOSSIP = ["gossip { neighbours: ring  every: 2  from_step: 1 }", f"seed: {SEED}  gossip {{ neighbours: pairs }}"]
CODED_GOSSIP = 'gossip { neighbours: ring  gamma: 0.5 }  default { codec { name: "int8" } }'


def drawn_round(step):
    """The round of pairs that docs/modes.md promises: SplitMix64 of the seed, at the step, modulo the rounds."""
    bits = 2**64 - 1
    mixed = (SEED + (step + 1) * 0x9E3779B97F4A7C15) & bits
    mixed = ((mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9) & bits
    mixed = ((mixed ^ mixed >> 27) * 0x94D049BB133111EB) & bits
    return (mixed ^ mixed >> 31) % (GOSSIP_RANKS - 1)


# Of four ranks by round: 0, 1 and 2 sit on a circle, and meet those with whom they add up to the round.
PAIRS = [[3, 2, 1, 0], [1, 0, 3, 2], [2, 3, 0, 1]]


def members(pairs, rank, step):
    if pairs:
        return [rank, PAIRS[drawn_round(step)][rank]]
    return [rank, (rank + 1) % GOSSIP_RANKS, (rank - 1) % GOSSIP_RANKS]


def gossip_in_one_process(pairs, every, from_step):
    """Parameters of each rank after each step."""
    replicas = [replica() for _ in range(GOSSIP_RANKS)]
    history = []
    for step in range(STEPS):
        of_ranks = [gradients(net, rank, step) for rank, (net, _) in enumerate(replicas)]
        if step < from_step:
            of_ranks = [mean(of_ranks)] * GOSSIP_RANKS
        for (net, optimizer), values in zip(replicas, of_ranks):
            apply(net, optimizer, values)
        if step >= from_step and (step - from_step + 1) % every == 0:
            before = [[p.detach().clone() for p in net.parameters()] for net, _ in replicas]
            for rank, (net, _) in enumerate(replicas):
                for p, value in zip(net.parameters(), mean([before[r] for r in members(pairs, rank, step)])):
                    p.data.copy_(value)
        history.append([[p.detach().clone() for p in net.parameters()] for net, _ in replicas])
    return history


def train_with_optimizer(rank, plan):
    """The same training without DDP: the parameters at the end, and after a consensus."""
    net, sgd = replica()
    optimizer = casync.torch.DistributedOptimizer(sgd, net.named_parameters(), plan=plan)
    for step in range(STEPS):
        optimizer.zero_grad()
        net(batch(rank, step)).square().mean().backward()
        optimizer.step()
    own = [p.detach().numpy().copy() for p in net.parameters()]
    assert optimizer.casync.consensus()
    common = [p.detach().numpy().copy() for p in net.parameters()]
    optimizer.casync.close()
    return own, common


def gossip(rank, plan):
    """For each step the parameters; then, after a consensus, the parameters and their hash; then once more."""
    ddp, state, optimizer = small_net.make(None, plan=plan)
    state.follow(optimizer)
    history = []
    for step in range(STEPS):
        small_net.step_once(ddp, optimizer, rank, step)
        history.append([p.detach().numpy().copy() for p in ddp.parameters()])
    assert state.consensus()
    common = [p.detach().numpy().copy() for p in ddp.parameters()]
    hashes = [small_net.fingerprint(ddp)]
    for step in range(2):
        small_net.step_once(ddp, optimizer, rank, STEPS + step)
    hashes.append(small_net.fingerprint(ddp))
    state.consensus()
    hashes.append(small_net.fingerprint(ddp))
    state.close()
    return history, common, hashes, train_with_optimizer(rank, plan)


def gossip_all(rank, plans):
    dist.init_process_group("gloo")
    return [gossip(rank, plan) for plan in plans]


@pytest.fixture(scope="module")
def gossiped(tmp_path_factory):
    plans = write_plans(tmp_path_factory.mktemp("plans"), [*GOSSIP, CODED_GOSSIP])
    return ranks.values(__file__, "gossip_all", GOSSIP_RANKS, torch=True, plans=plans)


@pytest.mark.parametrize("at", range(len(GOSSIP)))
def test_gossip_is_what_it_would_be_in_one_process(gossiped, at):
    expected = gossip_in_one_process(pairs=at == 1, every=(2, 1)[at], from_step=(1, 0)[at])
    for rank, of_rank in enumerate(gossiped):
        history, _, _, (own, _) = of_rank[at]
        for step in range(STEPS):
            assert near(history[step], expected[step][rank]), (step, rank)
        assert near(own, expected[-1][rank]), rank


@pytest.mark.parametrize("at", range(len(GOSSIP) + 1))
def test_a_consensus_takes_all_ranks_to_the_mean_and_gossip_goes_on_after_it(gossiped, at):
    finals = [[torch.from_numpy(p) for p in of_rank[at][0][-1]] for of_rank in gossiped]
    for of_rank in gossiped:
        _, common, _, (_, common_of_optimizer) = of_rank[at]
        assert near(common, mean(finals))
        assert near(common_of_optimizer, mean(finals))
    hashes = [of_rank[at][2] for of_rank in gossiped]
    assert len({first for first, _, _ in hashes}) == 1
    assert len({apart for _, apart, _ in hashes}) > 1
    assert len({last for _, _, last in hashes}) == 1
