# SPDX-License-Identifier: Apache-2.0
"""What the other ranks see when one dies, freezes, fails, leaves or never comes; and Ctrl-C."""

import os
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


def survivors(outcomes, bad_rank):
    return [outcome for rank, outcome in enumerate(outcomes) if rank != bad_rank]


def test_after_kill_9_every_survivor_names_the_rank_within_a_second():
    job = ranks.Job(__file__, "train", 3)
    job.wait_for_files("running")
    job.processes[1].send_signal(signal.SIGKILL)
    killed = time.time()
    for outcome in survivors(job.wait(), 1):
        assert outcome.error == "PeerFailure", outcome.stderr
        assert "rank 1" in outcome.message
        assert outcome.raised_at - killed < 1.0


def test_a_frozen_rank_is_named_within_the_configured_time():
    job = ranks.Job(__file__, "train", 3, env={"CASYNC_DEAD_SEC": "2"})
    job.wait_for_files("running")
    job.processes[2].send_signal(signal.SIGSTOP)
    stopped = time.time()
    for process in job.processes[:2]:
        process.wait(20)
    job.processes[2].send_signal(signal.SIGCONT)
    for outcome in survivors(job.wait(), 2):
        assert outcome.error == "PeerFailure", outcome.stderr
        assert "rank 2" in outcome.message
        assert outcome.raised_at - stopped < 4.0


@pytest.mark.parametrize("how,said", [("exception", "the loss went up"), ("exit", "rank 0"), ("mid-step", "rank 0")])
def test_a_rank_that_ends_ends_all(how, said):
    outcomes = ranks.Job(__file__, "train", 3, bad_rank=0, how=how).wait()
    for outcome in survivors(outcomes, 0):
        assert outcome.error == "PeerFailure", outcome.stderr
        assert "rank 0" in outcome.message and said in outcome.message


def open_only(rank):
    ranks.mark("opening")
    casync.Session()


def test_ranks_that_never_come_are_named():
    env = {"CASYNC_SIZE": "4", "CASYNC_TIMEOUT_SEC": "3"}
    for outcome in ranks.Job(__file__, "open_only", 2, env=env).wait():
        assert outcome.error == "Timeout", outcome.stderr
        assert "2" in outcome.message and "3" in outcome.message


def test_a_wrong_token_does_not_get_in():
    env = {"CASYNC_TIMEOUT_SEC": "4", "CASYNC_TOKEN": "right" * 8}
    outcomes = ranks.Job(__file__, "open_only", 2, env=env, envs={1: {"CASYNC_TOKEN": "wrong" * 8}}).wait()
    assert [outcome.error for outcome in outcomes] == ["Timeout"] * 2
    assert "rank 1 of 2 did not come" in outcomes[0].message, outcomes[0].stderr
    assert "wrong token" in outcomes[1].message, outcomes[1].stderr


def wait_for_ever(rank):
    session = casync.Session()
    identity = session.declare("fc", 8)
    array = numpy.ones(8, numpy.float32)
    session.submit(identity, array)
    session.step()
    ranks.mark("running")
    if rank == 0:
        session.submit(identity, array).wait()
    else:
        time.sleep(60)


def test_ctrl_c_is_heard_while_waiting_and_ends_all():
    job = ranks.Job(__file__, "wait_for_ever", 2)
    job.wait_for_files("running")
    time.sleep(0.3)
    sent = time.time()
    job.processes[0].send_signal(signal.SIGINT)
    job.processes[0].wait(60)
    job.processes[1].send_signal(signal.SIGINT)
    outcomes = job.wait()
    assert [outcome.error for outcome in outcomes] == ["KeyboardInterrupt"] * 2
    assert outcomes[0].raised_at - sent < 1.0


def test_ctrl_c_is_heard_while_the_session_opens():
    job = ranks.Job(__file__, "open_only", 1, env={"CASYNC_SIZE": "2"})
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


def test_killed_ranks_leave_nothing_in_shared_memory():
    before = set(os.listdir("/dev/shm"))
    job = ranks.Job(__file__, "train", 2)
    job.wait_for_files("running")
    for process in job.processes:
        process.kill()
    job.wait(60)
    assert set(os.listdir("/dev/shm")) <= before
