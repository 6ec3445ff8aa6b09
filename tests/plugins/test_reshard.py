# SPDX-License-Identifier: Apache-2.0
"""Residuals that go from one number of ranks to another: nothing that was not sent is lost."""

import pickle

import numpy
import pytest
import ranks

import casync
from casync import errors, reshard

ELEMENTS, STEPS = 5000, 4


def gradient(rank, step):
    return numpy.random.default_rng(100 * rank + step).standard_normal(ELEMENTS).astype(numpy.float32)


def train(rank, folder, first, last, old=None, scatter=False, op="average"):
    """Applied sum of some steps, and this rank's state after them. `old`: goes on from the states of so many ranks. With
    `scatter` this rank's shard of the sum, and zeros."""
    applied = numpy.zeros(ELEMENTS)
    with casync.Session(plan=f"{folder}/plan.txtpb", op=op) as session:
        identity = session.declare("w", ELEMENTS, scatter=scatter)
        part = ELEMENTS // session.size
        own = slice(rank * part, (rank + 1) * part) if scatter else slice(None)
        if old:
            states = [pickle.load(open(f"{folder}/{one}.state", "rb")) for one in range(old)]
            session.load_state_dict(reshard.reshard(states[::-1], rank, session.size))
        for step in range(first, last):
            array = gradient(rank, step)
            session.submit(identity, array)
            session.step()
            applied[own] += array[own]
        state = session.state_dict()
        if not old:
            pickle.dump(state, open(f"{folder}/{rank}.state", "wb"))
    return applied, state


def not_sent(states):
    """The unsent part of the result: a rank's own residual counts as its contribution does, and wholly where it encodes
    the result."""
    total = numpy.zeros(ELEMENTS)
    for state in states:
        kept = state["gradients"]["w"]
        weight = numpy.zeros(ELEMENTS)
        for first, count in kept["sent"]:
            weight[first : first + count] = 1 if kept["op"] == "sum" else 1 / len(states)
        for first, count in kept["owned"]:
            weight[first : first + count] = 1
        total += weight * kept["residual"]
    return total


def result(ranks_, first, last, op="average"):
    total = sum(numpy.float64(gradient(rank, step)) for rank in range(ranks_) for step in range(first, last))
    return total if op == "sum" else total / ranks_


@pytest.mark.parametrize("op", ["average", "sum"])
@pytest.mark.parametrize("strategy, old, new", [
    ("ps", 3, 2), ("ps", 2, 4), ("ps", 2, 1), ("ps", 1, 2), ("ps", 2, 2), ("all_gather", 3, 2),
    ('ps second_hop { name: "none" }', 4, 2), ('ps second_hop { name: "none" }', 2, 4),
    ('ring second_hop { name: "none" }', 3, 2),
])  # fmt: skip
def test_what_was_not_sent_is_sent_by_another_number_of_ranks(tmp_path, strategy, old, new, op):
    (tmp_path / "plan.txtpb").write_text(
        f'version: 1\ndefault {{ codec {{ name: "onebit" }} strategy: {strategy} partitions: 3 }}\n'
    )
    before = ranks.values(__file__, "train", old, first=0, last=4, folder=str(tmp_path), op=op)
    left_out = result(old, 0, 4, op) - before[0][0]
    assert numpy.abs(left_out).max() > 0.05  # so there is something to lose
    assert numpy.allclose(left_out, not_sent([state for _, state in before]), atol=5e-5)
    after = ranks.values(__file__, "train", new, first=4, last=7, old=old, folder=str(tmp_path), op=op)
    everything = result(old, 0, 4, op) + result(new, 4, 7, op)
    applied = before[0][0] + after[0][0]
    assert numpy.allclose(everything - applied, not_sent([state for _, state in after]), atol=5e-5)


@pytest.mark.parametrize("old, new", [(4, 2), (2, 4), (5, 2), (1, 2)])
def test_what_was_not_sent_of_shards_is_sent_by_another_number_of_ranks(tmp_path, old, new):
    (tmp_path / "plan.txtpb").write_text('version: 1\ndefault { codec { name: "onebit" } partitions: 3 }\n')
    options = dict(folder=str(tmp_path), scatter=True)
    before = ranks.values(__file__, "train", old, first=0, last=4, **options)
    after = ranks.values(__file__, "train", new, first=4, last=7, old=old, **options)
    applied = sum(shards for shards, _ in before + after)
    everything = result(old, 0, 4) + result(new, 4, 7)
    assert numpy.abs(everything - applied).max() > 0.05  # so there is something to lose
    assert numpy.allclose(everything - applied, not_sent([state for _, state in after]), atol=2e-5)


def state(rank, size=2, **options):
    return {"step": 3, "ranks": size, "rank": rank, "gradients": {
        "w": {"codec": "onebit", "residual": numpy.ones(4, numpy.float32), "owned": [[2 * rank, 2]]}}, **options}  # fmt: skip


def test_states_that_do_not_belong_together_are_refused_by_rank_and_gradient():
    def refused(states, size=3):
        with pytest.raises(errors.InvalidArgument) as error:
            reshard.reshard(states, 0, size)
        return str(error.value)

    assert refused([state(0)]) == "states of ranks [0], expected those of all 2 ranks, once each"
    assert "rank 1 has step 4" in refused([state(0), state(1, step=4)])
    assert "gradient w is not in the states of both" in refused([state(0), state(1, gradients={})])
    momentum = [state(rank) for rank in range(2)]
    del momentum[1]["gradients"]["w"]["owned"]
    assert "gradient w: onebit keeps more than a residual" in refused(momentum)
    assert reshard.reshard(momentum, 1, 2) is momentum[1]
    servers = [state(rank) for rank in range(2)]
    for one in servers:
        one["gradients"]["w"]["codec"] += ", ps, 1 partitions, 1 dedicated server"
    assert "dedicated servers contribute nothing" in refused(servers)
    more = [state(rank) for rank in range(2)]
    more[0]["gradients"]["w"]["is_residual"] = False
    assert "gradient w: onebit keeps more than a residual" in refused(more)
    alone = [state(rank) for rank in range(2)]
    for one in alone:
        one["gradients"]["w"]["owned"] = []
    assert "gradient w: one rank encodes nothing" in refused(alone, size=1)
    shards = [state(rank) for rank in range(2)]
    for one in shards:
        one["gradients"]["w"]["codec"] += ", scattered"
    assert "gradient w is scattered, and one rank sends nothing" in refused(shards, size=1)
    longer = [state(rank) for rank in range(2)]
    longer[1]["gradients"]["w"]["residual"] = numpy.ones(5, numpy.float32)
    assert refused(longer) == "gradient w: the state of rank 1 has 5 elements, that of rank 0 4"
    other = [state(rank) for rank in range(2)]
    other[1]["gradients"]["w"]["codec"] = "int8"
    assert refused(other) == "gradient w: the state of rank 1 is of int8, that of rank 0 of onebit"


def train_asynchronously(rank, folder, states=None):
    """The last result of w, and the state after a consensus. A bound of 0 leaves nothing of w unsent or unreceived."""
    with casync.Session(plan=f"{folder}/plan.txtpb") as session:
        ids = [session.declare(name, ELEMENTS) for name in ("v", "w")]
        if states:
            session.load_state_dict(reshard.reshard(states, rank, session.size))
        for step in range(2):
            arrays = [gradient(rank, step) for _ in ids]
            for pair in zip(ids, arrays):
                session.submit(*pair)
            session.step()
        session.begin_consensus()
        for identity in ids:
            session.submit(identity, numpy.zeros(ELEMENTS, numpy.float32))
        session.step()
        return arrays[1], session.state_dict()


def test_asynchronous_states_are_refused_unless_nothing_was_left(tmp_path):
    (tmp_path / "plan.txtpb").write_text(
        'version: 1\nasynchronous { bound: 0 }\nrule { match: "v"  codec { name: "onebit" } }\n'
        'default { codec { name: "none" } strategy: ps partitions: 1 }\n'
    )
    before = ranks.values(__file__, "train_asynchronously", 2, folder=str(tmp_path))
    states = [state for _, state in before]
    sizes = [len(state["gradients"]["w"]["residual"]) for state in states]
    assert sorted(sizes) == [0, ELEMENTS]  # one rank owns the only partition
    with pytest.raises(errors.InvalidArgument, match="gradient v is asynchronous, and rank 0 keeps what was not sent"):
        reshard.reshard(states, 0, 3)
    for one in states:
        del one["gradients"]["v"]
    after = ranks.values(__file__, "train_asynchronously", 3, folder=str(tmp_path), states=states)
    assert all(numpy.allclose(values, result(3, 1, 2), atol=1e-5) for values, _ in after)
    assert {state["step"] for _, state in after} == {states[0]["step"] + 3}


def test_states_of_earlier_versions_say_nothing_of_what_is_sent():
    def share(owned, size, codec="onebit / none, ps, 1 partitions"):
        states = [state(rank) for rank in range(2)]
        for one in states:
            one["gradients"]["w"] |= {"codec": codec, "owned": owned(one["rank"])}
        return reshard.reshard(states, 0, size)["gradients"]["w"]["residual"].tolist()

    # Each element counts a half on the rank that does not own it, and wholly on its owner.
    assert numpy.allclose(share(lambda rank: [[2 * rank, 2]], 3), [1.5 * 3 / 5] * 4)
    # Without owners' residuals all ranks except the owner send their shares; with all_gather all ranks do.
    assert numpy.allclose(share(lambda rank: [], 3), [1.5] * 4)
    assert numpy.allclose(share(lambda rank: [], 3, "onebit / onebit, all_gather, 1 partitions"), [1] * 4)
