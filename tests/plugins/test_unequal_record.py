# SPDX-License-Identifier: Apache-2.0
"""CASYNC_RECORD in jobs of real processes whose ranks are not equally fast: who is found, who is left out, and that no
ending waits for it."""

import os
import re
import time

import numpy
import ranks

import casync

STEPS = 18
SLOW_S = 0.25  # of a step: more than a busy machine makes of the others' 0.03


def train(rank, seconds, ends=None):
    """Each step computes `seconds[rank]`. A rank in `ends` leaves after its steps: "close", or "die" without a word."""
    how, steps = (ends or {}).get(rank, ("close", STEPS))
    session = casync.Session(codec="none")
    try:
        gradient = session.declare("weight", (1000,), "float32")
        for _ in range(steps):
            time.sleep(seconds[rank])
            session.submit(gradient, numpy.ones(1000, numpy.float32)).wait()
            session.step()
        if how == "die":
            os._exit(7)
    except casync.PeerFailure:
        pass
    begin = time.time()
    session.close()
    return time.time() - begin


def slow(folder):
    """{rank: factor}, and the source that the model names."""
    text = (folder / "model.txtpb").read_text()
    found = re.findall(r"slow \{\s*rank: (\d+)\s*factor: (\S+)\s*\}", text)
    return {int(rank): float(factor) for rank, factor in found}, re.search('source: "(.*)"', text).group(1)


def test_a_slow_rank_is_found_whoever_it_is(tmp_path):
    for who in (0, 2):
        folder = tmp_path / str(who)
        seconds = [SLOW_S if rank == who else 0.03 for rank in range(3)]
        outcomes = ranks.outcomes(__file__, "train", 3, seconds=seconds, env={"CASYNC_RECORD": str(folder)})
        assert all(one.error is None for one in outcomes), [one.stderr for one in outcomes]
        found, source = slow(folder)
        assert list(found) == [who] and found[who] > 1.5, found
        assert "not compared" not in source, source
        backward = float(re.search(r"backward_seconds: (\S+)", (folder / "model.txtpb").read_text()).group(1))
        assert 0.02 < backward < seconds[who], "the passes are the others'"


def test_ranks_without_the_variable_are_left_out_and_named(tmp_path):
    envs = {rank: {"CASYNC_RECORD": str(tmp_path)} for rank in (0, 2)}
    outcomes = ranks.outcomes(__file__, "train", 4, seconds=[0.03, SLOW_S, SLOW_S, 0.03], envs=envs)
    found, source = slow(tmp_path)
    # Only ranks 0 and 2 are known. The faster one is the middle one.
    assert list(found) == [2], found
    said = "ranks 1, 3 recorded nothing (CASYNC_RECORD)"
    assert source.endswith("not compared: " + said), source
    assert outcomes[0].stderr.count(f"cannot compare: {said}") == 1, outcomes[0].stderr
    assert not any("compare" in one.stderr for one in outcomes[1:]), [one.stderr for one in outcomes[1:]]


def test_a_rank_that_left_earlier_counts_and_one_that_died_is_named(tmp_path):
    env = {"CASYNC_RECORD": str(tmp_path)}
    seconds = [0.03, SLOW_S, 0.03]
    for how in ("close", "die"):
        outcomes = ranks.outcomes(__file__, "train", 3, seconds=seconds, ends={1: (how, STEPS - 1)}, env=env)
        found, source = slow(tmp_path)
        assert list(found) == ([1] if how == "close" else []), (how, found, source)
        left = re.search("not compared: (.*) left without a goodbye", source)
        assert (left is not None and "1" in left.group(1)) == (how == "die"), source
        assert outcomes[0].value < 3 + ranks.MARGIN_S, "no ending waits for a rank that is gone"


def test_a_plan_with_another_mode_has_no_figures(tmp_path):
    plan = tmp_path / "plan.txtpb"
    plan.write_text("version: 1\nstaleness: 1\n")
    env = {"CASYNC_RECORD": str(tmp_path), "CASYNC_PLAN": str(plan)}
    outcomes = ranks.outcomes(__file__, "train_by_plan", 2, seconds=[0.01, 0.03], env=env)
    assert all(one.error is None for one in outcomes), [one.stderr for one in outcomes]
    assert not (tmp_path / "model.txtpb").exists()


def train_by_plan(rank, seconds):
    with casync.Session() as session:
        gradient = session.declare("weight", (1000,), "float32")
        for _ in range(STEPS):
            time.sleep(seconds[rank])
            session.submit(gradient, numpy.ones(1000, numpy.float32)).wait()
            session.step()
