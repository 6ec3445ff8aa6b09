# SPDX-License-Identifier: Apache-2.0
"""States of casync.Session with real ranks: identical replicas, resumed runs, states that are refused."""

import hashlib

import numpy
import pytest
import ranks
from test_session import SHAPES, gradients

import casync


def train(rank, codec, steps, resume_at=None):
    """Hash of all results of all steps; with resume_at, by two sessions that hand over the saved state."""
    digest, state = hashlib.sha256(), None
    parts = [range(steps)] if resume_at is None else [range(resume_at), range(resume_at, steps)]
    for part in parts:
        with casync.Session(codec=codec) as session:
            ids = {name: session.declare(name, shape or 1) for name, shape in SHAPES.items()}
            if state is not None:
                session.load_state_dict(state)
            for step in part:
                arrays = {name: numpy.atleast_1d(g) for name, g in gradients(rank, step).items()}
                for name, array in arrays.items():
                    session.submit(ids[name], array)
                assert session.step()
                for array in arrays.values():
                    digest.update(array.tobytes())
            state = session.state_dict()
    return digest.hexdigest()


@pytest.mark.parametrize("codec", ["none", "bf16", "fp16", "int8", "int4", "onebit"])
def test_all_replicas_hold_the_same_bytes(codec):
    assert len(set(ranks.values(__file__, "train", 3, codec=codec, steps=4))) == 1


@pytest.mark.parametrize("codec", ["int4", "onebit"])
def test_a_resumed_run_gives_the_bytes_of_an_uninterrupted_one(codec):
    whole = ranks.values(__file__, "train", 2, codec=codec, steps=6)
    assert ranks.values(__file__, "train", 2, codec=codec, steps=6, resume_at=3) == whole


def test_a_state_of_another_codec_is_refused_by_name():
    with casync.Session(rank=0, size=1, codec="int8") as session:
        session.submit(session.declare("fc", 6), numpy.ones(6, numpy.float32))
        session.step()
        state = session.state_dict()
        state["gradients"]["fc"]["codec"] = "another"
        with pytest.raises(casync.InvalidArgument, match="fc.*another"):
            session.load_state_dict(state)


def test_a_state_that_is_none_or_damaged_is_refused_with_what_is_wrong():
    with casync.Session(rank=0, size=1, codec="int8") as session:
        session.submit(session.declare("fc", 6), numpy.ones(6, numpy.float32))
        session.step()
        state = session.state_dict()
        with pytest.raises(casync.InvalidArgument, match="has no step, ranks, rank, gradients; take one by state_dict"):
            session.load_state_dict({})
        state["gradients"]["fc"]["residual"][4] = numpy.nan
        with pytest.raises(casync.InvalidArgument, match="gradient fc: element 4 of its residual is nan"):
            session.load_state_dict(state)


DAMAGED = {
    "no dict": (lambda state: [], "no state of a session but a list"),
    "step -1": (lambda state: state | {"step": -1}, "the state's step is -1, expected a whole number from 0 to 4294967295"),
    "step 2^32": (lambda state: state | {"step": 2**32}, "the state's step is 4294967296, expected"),
    "step 1.5": (lambda state: state | {"step": 1.5}, "the state's step is 1.5, expected a whole number"),
    "rank": (lambda state: state | {"rank": None}, "the state's rank is None, expected a whole number"),
    "gradients": (lambda state: state | {"gradients": []}, "the state's gradients are a list"),
    "gradient": (lambda state: state | {"gradients": {"fc": 5}}, "gradient fc: its state names no codec"),
    "codec": (lambda state: state | {"gradients": {"fc": {"residual": []}}}, "gradient fc: its state names no codec"),
    "residual": (lambda state: state | {"gradients": {"fc": {"codec": "c"}}}, "gradient fc: its state has no residual"),
    "words": (
        lambda state: state | {"gradients": {"fc": {"codec": "c", "residual": "abc"}}},
        "gradient fc: its residual is no array of float32",
    ),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_a_damaged_state_changes_nothing(alone, case):
    damage, why = DAMAGED[case]
    alone.declare("fc", 6)
    with pytest.raises(casync.InvalidArgument, match=why):
        alone.load_state_dict(damage(alone.state_dict()))
    assert alone.state_dict()["step"] == 0


def is_loaded(session, state):
    """False if the session says that a step is under way."""
    try:
        session.load_state_dict(state)
    except casync.InvalidArgument as refused:
        assert "a step is under way" in str(refused)
        return False
    return True


def test_a_state_that_is_loaded_in_the_middle_of_a_step_begins_it_anew(alone):
    weight = alone.declare("weight", 4)
    state, values = alone.state_dict(), numpy.ones(4, numpy.float32)
    handle = alone.submit(weight, values)
    ranks.until(lambda: handle.done, "the gradient is done")
    assert alone.busy
    # For a moment after the gradient is done its step is under way.
    ranks.until(lambda: is_loaded(alone, state), "the state is loaded")
    assert not alone.busy and not handle.done
    assert alone.step()
    alone.submit(weight, values)
    assert alone.step()


def test_counters_of_a_state_may_be_numbers_of_numpy(alone):
    alone.declare("fc", 6)
    state = alone.state_dict()
    alone.load_state_dict({**state, "step": numpy.int64(7)})
    assert alone.state_dict()["step"] == 7
