# SPDX-License-Identifier: Apache-2.0
"""Failures as the other ranks see them: one dies, freezes, fails, leaves or never comes; and Ctrl-C."""

import concurrent.futures
import os
import pathlib
import re
import signal
import sys
import time

import numpy
import pytest
import ranks

import casync


def train(rank, bad_rank=None, how=None):
    """Steps for ever, over something large enough that a fault falls into a step."""
    session = casync.Session(codec="none")
    ids = [session.declare(f"layer{i}", 500_000) for i in range(4)]
    arrays = [numpy.ones(500_000, numpy.float32) for _ in ids]
    for step in range(1_000_000):
        if step == 3:
            ranks.mark("running")
        if step == 5 and rank == bad_rank:
            if how == "exception":
                raise ValueError("the loss went up")
            if how == "exit":
                sys.exit(0)
            if how == "mid-step":
                session.submit(ids[0], arrays[0])
                return
        for identity, array in zip(ids, arrays):
            session.submit(identity, array)
        session.step()


def train_with_a_child(rank):
    """As train(), and rank 1 forks a child that outlives it, with copies of all its sockets."""
    session = casync.Session(codec="none")
    identity, array = session.declare("layer", 500_000), numpy.ones(500_000, numpy.float32)
    session.submit(identity, array)
    session.step()
    if rank == 1:
        child = os.fork()
        if child == 0:
            for descriptor in range(3):
                os.close(descriptor)
            time.sleep(120)
            os._exit(0)
        ranks.note(str(child))
    ranks.mark("running")
    for _ in range(1_000_000):
        session.submit(identity, array)
        session.step()


def train_apart(rank, plan):
    """Asynchronous steps: rank 0 ends soon, and answers the others, which train for ever."""
    session = casync.Session(plan=plan)
    identity, array = session.declare("layer", 500_000), numpy.ones(500_000, numpy.float32)
    for step in range(1_000_000 if rank > 0 else 5):
        if step == 3:
            ranks.mark("running")
        session.submit(identity, array)
        session.step()
    session.close()


def survivors(outcomes, bad_rank):
    return [outcome for rank, outcome in enumerate(outcomes) if rank != bad_rank]


def test_after_kill_9_every_survivor_names_the_rank_within_a_second():
    with ranks.Job(__file__, "train", 3) as job:
        job.wait_for_files("running")
        job.processes[1].send_signal(signal.SIGKILL)
        killed = time.time()
        outcomes = job.wait()
    for outcome in survivors(outcomes, 1):
        assert outcome.error == "PeerFailure", outcome.stderr
        assert "rank 1" in outcome.message
        ranks.assert_within(1.0, outcome.raised_at - killed)


def test_a_child_that_holds_the_sockets_of_a_killed_rank_does_not_hide_its_death():
    """Its data connections stay open in the child, so that only the control plane can tell."""
    with ranks.Job(__file__, "train_with_a_child", 3) as job:
        job.wait_for_files("running")
        child = int(job.lines(1)[0])
        try:
            job.processes[1].send_signal(signal.SIGKILL)
            killed = time.time()
            outcomes = job.wait()
            os.kill(child, 0)  # it was there all the time
        finally:
            os.kill(child, signal.SIGKILL)
    for outcome in survivors(outcomes, 1):
        assert outcome.error == "PeerFailure" and "rank 1" in outcome.message, outcome
        ranks.assert_within(1.0, outcome.raised_at - killed)


def test_a_rank_with_too_few_descriptors_is_named_by_all_with_the_limit():
    """One of eight processes may open few files: all end at once, with its number and what to raise."""
    limits = {5: ["sh", "-c", 'ulimit -n 48 && exec "$@"', "sh"]}
    begin = time.time()
    with ranks.Job(__file__, "open_only", 8, before=limits) as job:
        outcomes = job.wait()
    for outcome in outcomes:
        assert outcome.error == "Unavailable", outcome
        assert "rank 5" in outcome.message and "too few file descriptors" in outcome.message, outcome.message
        assert "the hard limit is 48" in outcome.message, outcome.message
    assert time.time() - begin < 60


def test_after_kill_9_asynchronous_survivors_name_the_rank_also_where_one_is_closing(tmp_path):
    plan = tmp_path / "plan.txtpb"
    plan.write_text("version: 1 asynchronous { }")
    with ranks.Job(__file__, "train_apart", 3, plan=str(plan)) as job:
        job.wait_for_files("running")
        time.sleep(0.5)  # rank 0 is closing by then
        job.processes[1].send_signal(signal.SIGKILL)
        killed = time.time()
        outcomes = job.wait()
    for outcome in survivors(outcomes, 1):
        assert outcome.error == "PeerFailure", outcome.stderr
        assert "rank 1" in outcome.message
        ranks.assert_within(1.0, outcome.raised_at - killed)


def test_a_frozen_rank_is_named_within_the_configured_time():
    with ranks.Job(__file__, "train", 3, env={"CASYNC_DEAD_SEC": "2"}) as job:
        job.wait_for_files("running")
        job.processes[2].send_signal(signal.SIGSTOP)
        stopped = time.time()
        for process in job.processes[:2]:
            process.wait(20)
        job.processes[2].send_signal(signal.SIGCONT)
        outcomes = job.wait()
    for outcome in survivors(outcomes, 2):
        assert outcome.error == "PeerFailure", outcome.stderr
        assert "rank 2" in outcome.message
        ranks.assert_within(2.0, outcome.raised_at - stopped)


def train_small(rank, steps):
    """Steps of one small message; the longest step in seconds."""
    session = casync.Session(codec="none", transport="ucx:tcp")
    fc, array = session.declare("fc", 15_000), numpy.ones(15_000, numpy.float32)
    longest = 0.0
    for step in range(steps):
        if step == 10:
            ranks.mark("running")
        begin = time.monotonic()
        session.submit(fc, array)
        session.step()
        longest = max(longest, time.monotonic() - begin)
        time.sleep(0.01)
    return longest


def test_a_rank_that_stands_still_for_less_than_it_may_fails_nobody():
    env = {"CASYNC_DEAD_SEC": "30"}
    with ranks.Job(__file__, "train_small", 2, env=env, steps=200) as job:
        job.wait_for_files("running")
        job.processes[1].send_signal(signal.SIGSTOP)
        time.sleep(7.5)  # longer than the data plane waited when it did not know of CASYNC_DEAD_SEC
        job.processes[1].send_signal(signal.SIGCONT)
        outcomes = job.wait()
    assert [outcome.error for outcome in outcomes] == [None, None], outcomes
    assert outcomes[0].value > 7


@pytest.mark.parametrize("how,said", [("exception", "the loss went up"), ("exit", "rank 0"), ("mid-step", "rank 0")])
def test_a_rank_that_ends_ends_all(how, said):
    outcomes = ranks.outcomes(__file__, "train", 3, bad_rank=0, how=how)
    for outcome in survivors(outcomes, 0):
        assert outcome.error == "PeerFailure", outcome.stderr
        assert "rank 0" in outcome.message and said in outcome.message


def first_step():
    """A session after its first step, with its gradient and elements."""
    session = casync.Session(codec="none")
    fc, array = session.declare("fc", 8), numpy.ones(8, numpy.float32)
    session.submit(fc, array)
    session.step()
    return session, fc, array


def polls(rank, mark):
    """Rank 0 asks again and again whether a gradient is done, which rank 1 never submits."""
    session, fc, array = first_step()
    if rank == 1:
        ranks.until(pathlib.Path(mark).exists, "rank 0 has submitted")
        raise ValueError("the loss went up")
    handle = session.submit(fc, array)
    pathlib.Path(mark).touch()
    ranks.until(lambda: handle.done, "the gradient is done")


def test_a_rank_that_only_asks_whether_a_gradient_is_done_learns_that_another_has_ended(tmp_path):
    polling, _ = ranks.outcomes(__file__, "polls", 2, mark=str(tmp_path / "submitted"))
    assert polling.error == "PeerFailure", polling.stderr
    assert "rank 1" in polling.message and "the loss went up" in polling.message


def open_only(rank):
    ranks.mark("opening")
    casync.Session()


def test_ranks_that_never_come_are_named():
    env = {"CASYNC_SIZE": "4", "CASYNC_TIMEOUT_SEC": "3"}
    for outcome in ranks.outcomes(__file__, "open_only", 2, env=env):
        assert outcome.error == "Timeout", outcome.stderr
        assert "ranks 2, 3 of 4 did not come" in outcome.message


def one_never_submits(rank, on_main_thread):
    session, fc, array = first_step()
    if rank == 2:
        time.sleep(TIMEOUT_S + 3)  # the others give up meanwhile, and this rank learns of it
    handle = session.submit(fc, array)
    if on_main_thread:
        handle.wait()
    else:
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            pool.submit(handle.wait).result()


TIMEOUT_S = 4


@pytest.mark.parametrize("on_main_thread", [True, False])
def test_a_rank_that_never_submits_is_named_by_all_with_the_gradient_and_the_whole_time(on_main_thread):
    env = {"CASYNC_TIMEOUT_SEC": str(TIMEOUT_S)}
    outcomes = ranks.outcomes(__file__, "one_never_submits", 3, env=env, on_main_thread=on_main_thread)
    for outcome in outcomes:
        assert outcome.error == "Timeout", outcome.stderr
        assert "gradient fc" in outcome.message and "rank 2" in outcome.message, outcome.message
        assert float(re.search(r"not done ([\d.]+) s", outcome.message)[1]) >= TIMEOUT_S


def wait_for_ever(rank, loads):
    session = casync.Session()
    identity = session.declare("fc", 8)
    array = numpy.ones(8, numpy.float32)
    session.submit(identity, array)
    session.step()
    if loads:  # the next submit() itself waits for the other rank
        session.load_state_dict(session.state_dict())
    ranks.mark("running")
    if rank == 0:
        session.submit(identity, array).wait()
    else:
        time.sleep(60)


@pytest.mark.parametrize("loads", [False, True])
def test_ctrl_c_is_heard_while_waiting_and_ends_all(loads):
    with ranks.Job(__file__, "wait_for_ever", 2, loads=loads) as job:
        job.wait_for_files("running")
        time.sleep(0.3)
        sent = time.time()
        job.processes[0].send_signal(signal.SIGINT)
        job.processes[0].wait(60)
        job.processes[1].send_signal(signal.SIGINT)
        outcomes = job.wait()
    assert [outcome.error for outcome in outcomes] == ["KeyboardInterrupt"] * 2
    ranks.assert_within(1.0, outcomes[0].raised_at - sent)


def test_ctrl_c_is_heard_while_the_session_opens():
    with ranks.Job(__file__, "open_only", 1, env={"CASYNC_SIZE": "2"}) as job:
        job.wait_for_files("opening")
        time.sleep(0.5)
        job.processes[0].send_signal(signal.SIGINT)
        assert job.wait(60)[0].error == "KeyboardInterrupt"


def fork_and_use(rank):
    session = casync.Session()
    read, write = os.pipe()
    if os.fork() == 0:
        try:
            session.declare("fc", 8)
        except casync.Error as error:
            os.write(write, str(error).encode())
        os._exit(0)
    os.close(write)
    os.wait()
    message = os.read(read, 1000).decode()
    session.submit(session.declare("fc", 8), numpy.ones(8, numpy.float32))
    return message, bool(session.step())


def test_a_forked_child_is_refused_and_its_parent_goes_on():
    for message, finite in ranks.values(__file__, "fork_and_use", 2):
        assert "fork" in message and finite


@pytest.mark.parametrize("how", ["kill", "interrupt", "exit"])
def test_ranks_that_end_without_close_leave_nothing_in_shared_memory(how):
    before = ranks.in_shared_memory()
    with ranks.Job(__file__, "train", 2, **(dict(bad_rank=0, how="exit") if how == "exit" else {})) as job:
        job.wait_for_files("running")
        for process in job.processes:
            if how != "exit":
                process.send_signal(signal.SIGKILL if how == "kill" else signal.SIGINT)
        job.wait(60)
    assert ranks.left_in_shared_memory(before) == set()
