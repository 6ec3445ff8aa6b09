# SPDX-License-Identifier: Apache-2.0
"""A handful of the endings of endings.py; a hundred are a command of their own."""

import concurrent.futures
import time

import endings
import numpy
import pytest
import ranks

import casync


@pytest.mark.parametrize("seed", range(6))
def test_a_healthy_job_ends_well_however_its_ranks_leave(seed):
    assert endings.complaint(seed, longest_pause=2.0, longest_transfer=1.0) == ""


def test_endings_run_beside_each_other():
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        assert list(pool.map(lambda seed: endings.complaint(seed, longest_pause=0.5, longest_transfer=0.3), range(6, 9))) == ["", "", ""]


def leave_then_pause(rank, first, pause):
    session = casync.Session(codec="int4")
    fc = session.declare("fc", 1000)
    array = numpy.random.default_rng(rank).standard_normal(1000, numpy.float32)
    session.submit(fc, array).wait()
    if rank != first:
        time.sleep(pause)
    session.step()
    kept = float(numpy.abs(session.state_dict()["gradients"]["fc"]["residual"]).sum())
    session.close()
    return array.tobytes(), kept > 0


@pytest.mark.parametrize("first", [0, 1])
def test_one_rank_may_leave_long_before_the_others_end_their_step(first):
    # Longer than a silent rank is waited for, and than the first rank's timeout.
    envs = {first: {"CASYNC_TIMEOUT_SEC": "3"}}
    env = {"CASYNC_DEAD_SEC": "2"}
    ended = ranks.values(__file__, "leave_then_pause", 3, env=env, envs=envs, first=first, pause=8)
    assert len({result for result, _ in ended}) == 1
    assert all(kept for _, kept in ended)
