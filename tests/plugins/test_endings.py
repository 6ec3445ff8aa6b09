# SPDX-License-Identifier: Apache-2.0
"""A handful of the endings of endings.py; a hundred are a command of their own. And sessions that a program lets go of."""

import concurrent.futures
import pathlib
import time

import endings
import numpy
import pytest
import ranks

import casync
from casync import _exit


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


def reduce(session, rank):
    array = numpy.full(10, rank, numpy.float32)
    session.submit(session.declare("fc", 10), array)
    session.step()
    return array[0].item()


def let_go(rank, first):
    """Rank `first` lets go of a session that the other holds until the end of its program."""
    old = casync.Session(codec="none")
    assert reduce(old, rank) == 0.5
    begin = time.monotonic()
    if rank == first:
        del old
    with casync.Session(codec="none") as session:
        assert reduce(session, rank) == 0.5
        return time.monotonic() - begin


@pytest.mark.parametrize("first", [0, 1])
def test_a_session_that_one_rank_lets_go_of_stops_nobody(first):
    """Python frees objects in cycles at a moment of its own, which is another one on each rank."""
    for seconds in ranks.values(__file__, "let_go", 2, env={"CASYNC_TIMEOUT_SEC": "20"}, first=first):
        ranks.assert_within(1.0, seconds)  # not after CASYNC_DEAD_SEC, or the session's timeout


def let_go_with_work(rank, left):
    """The memory of a gradient under way stays until the session has ended."""
    session = casync.Session(codec="none")
    assert reduce(session, rank) == 0.5
    left = pathlib.Path(left)
    if rank == 1:
        session.submit(session.declare("fc", 10), numpy.ones(10, numpy.float32))
        del session
        while _exit._leaving:
            time.sleep(0.01)
        left.touch()
        return None
    while not left.exists():
        time.sleep(0.01)
    return reduce(session, rank)


def test_a_session_that_is_let_go_of_with_work_under_way_ends_the_others(tmp_path):
    waiting, leaving = ranks.outcomes(__file__, "let_go_with_work", 2, left=str(tmp_path / "left"))
    assert leaving.code == 0 and leaving.error is None, leaving.stderr
    assert waiting.error == "PeerFailure" and "rank 1" in waiting.message, waiting.stderr


def test_sessions_are_closed_in_the_order_in_which_they_were_opened(monkeypatch):
    """So that at a program's end no rank waits in one while another waits in the next."""
    sessions = [casync.Session(rank=0, size=1, transport="loopback", codec="none") for _ in range(9)]
    closed, close = [], casync.Session.close
    monkeypatch.setattr(casync.Session, "close", lambda session: closed.append(session) or close(session))
    _exit._end_all()
    assert closed == sessions
