# SPDX-License-Identifier: Apache-2.0
"""Asynchronous steps by the plan alone, with the DDP hook and with DistributedOptimizer."""

import time

import pytest

torch = pytest.importorskip("torch")
import ranks  # noqa: E402
import small_net  # noqa: E402
import torch.distributed as dist  # noqa: E402
from one_process import apply, batch, gradients, mean, near, replica, write_plans  # noqa: E402

import casync  # noqa: E402

STEPS, RANKS = 7, 3
# With a bound of 0 steps are bulk synchronous; without one, the sleeping rank delays nobody.
TOGETHER = "asynchronous { bound: 0 }"
APART = 'asynchronous { }  default { codec { name: "topk"  param { key: "ratio" value: 0.2 } } }'


def in_one_process():
    replicas = [replica() for _ in range(RANKS)]
    for step in range(STEPS):
        values = mean([gradients(net, rank, step) for rank, (net, _) in enumerate(replicas)])
        for net, optimizer in replicas:
            apply(net, optimizer, values)
    return [p.detach().clone() for p in replicas[0][0].parameters()]


def arrays(parameters):
    return [p.detach().numpy().copy() for p in parameters]


def with_hook(rank, plan):
    """The parameters at the end, after a consensus, and after a step from the state that was saved then."""
    ddp, state, optimizer = small_net.make(None, plan=plan)
    for step in range(STEPS):
        time.sleep(0.02 if rank == 1 else 0)
        small_net.step_once(ddp, optimizer, rank, step)
    own = arrays(ddp.parameters())
    assert state.consensus()
    common = arrays(ddp.parameters())
    saved = state.state_dict()
    small_net.step_once(ddp, optimizer, rank, STEPS)
    try:
        state.state_dict()
        refused = ""
    except casync.Error as error:
        refused = str(error)
    state.close()
    return own, common, sorted(saved), refused


def with_optimizer(rank, plan):
    net, sgd = replica()
    optimizer = casync.torch.DistributedOptimizer(sgd, net.named_parameters(), plan=plan)
    # Ranks may have different numbers of steps.
    for step in range(STEPS + (rank if "bound" not in open(plan).read() else 0)):
        time.sleep(0.02 if rank == 1 else 0)
        optimizer.zero_grad()
        net(batch(rank, step)).square().mean().backward()
        optimizer.step()
    own = arrays(net.parameters())
    optimizer.casync.close()
    return own


def train_all(rank, plans):
    dist.init_process_group("gloo")
    return [(with_hook(rank, plan), with_optimizer(rank, plan)) for plan in plans]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    plans = write_plans(tmp_path_factory.mktemp("plans"), [TOGETHER, APART])
    return ranks.values(__file__, "train_all", RANKS, torch=True, plans=plans)


def test_with_bound_0_all_ranks_train_as_one_process(trained):
    expected = in_one_process()
    for of_rank in trained:
        (own, *_), of_optimizer = of_rank[0]
        assert near(own, expected)
        assert near(of_optimizer, expected)


def test_ranks_are_apart_until_a_consensus_takes_them_to_their_mean(trained):
    apart = [of_rank[1][0][0] for of_rank in trained]
    assert not near(apart[0], [torch.from_numpy(p) for p in apart[1]])
    common = [of_rank[1][0][1] for of_rank in trained]
    assert near(common[0], mean([[torch.from_numpy(p) for p in one] for one in apart]))
    for other in common[1:]:
        assert all((a == b).all() for a, b in zip(common[0], other))


def test_a_state_is_saved_after_a_consensus_only(trained):
    for of_rank in trained:
        for (_, _, saved, refused), _ in of_rank:
            assert saved
            assert "end a consensus" in refused
