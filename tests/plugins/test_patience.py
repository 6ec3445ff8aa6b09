# SPDX-License-Identifier: Apache-2.0
"""Long waits of the main thread, and Ctrl-C at any moment of theirs."""

import os
import signal
import threading

import numpy
import pytest
import ranks

import casync
from casync import _library, patience
from casync.synchronizer import Synchronizer


@pytest.mark.parametrize("ends_first", [True, False])
def test_a_result_that_nobody_takes_is_abandoned_whenever_the_interruption_comes(monkeypatch, ends_first):
    join, go_on, given_up = threading.Thread.join, threading.Event(), threading.Event()

    def interrupted(thread, timeout=None):
        if ends_first:
            go_on.set()
            join(thread)
        raise KeyboardInterrupt

    def function():
        assert go_on.wait(60)
        return "made"

    abandoned = []
    monkeypatch.setattr(threading.Thread, "join", interrupted)
    with pytest.raises(KeyboardInterrupt):
        patience.in_thread(function, lambda result: (abandoned.append(result), given_up.set()))
    go_on.set()
    assert given_up.wait(20) and abandoned == ["made"]


def test_the_result_of_a_thread_whose_start_was_interrupted_is_abandoned(monkeypatch):
    """Python waits in it, too, and hears Ctrl-C there."""
    start, given_up, abandoned = threading.Thread.start, threading.Event(), []

    def interrupted(thread):
        start(thread)
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        patience.in_thread(lambda: "made", lambda result: (abandoned.append(result), given_up.set()))
    assert given_up.wait(20) and abandoned == ["made"]


def test_a_failure_goes_to_who_waits_and_is_not_abandoned():
    def function():
        raise ValueError("no")

    abandoned = []
    with pytest.raises(ValueError, match="no"):
        patience.in_thread(function, abandoned.append)
    assert patience.in_thread(lambda: 5, abandoned.append) == 5
    assert abandoned == []


@pytest.fixture
def interrupts():
    """Ctrl-C raises KeyboardInterrupt here, also where a shell lets programs in the background ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("comes_to_nothing", [False, True])
def test_an_interrupted_submission_that_waits_for_others_is_on_its_way_until_it_comes_to_nothing(
    monkeypatch, interrupts, comes_to_nothing
):
    call, go_on = _library.call, threading.Event()

    def held(name, *arguments):
        if name == "casync_session_submit":
            os.kill(os.getpid(), signal.SIGINT)
            assert go_on.wait(60)
            if comes_to_nothing:
                raise casync.InvalidArgument("refused")
        call(name, *arguments)

    seam = Synchronizer(rank=0, size=1, codec="none", transport="loopback")
    weight = seam.declare("weight", (4,))
    array = numpy.full(4, 2, numpy.float32)
    monkeypatch.setattr(_library, "call", held)
    with pytest.raises(KeyboardInterrupt):
        seam.submit([weight], [array.ctypes.data], array)
    assert not seam.missing()
    go_on.set()
    if comes_to_nothing:
        ranks.until(lambda: seam.missing() == [weight], "the refused gradient may leave again")
        monkeypatch.undo()
        seam.submit([weight], [array.ctypes.data], array)
    else:
        ranks.until(lambda: seam.session.busy, "the submission goes on")
        monkeypatch.undo()
        with pytest.raises(casync.InvalidArgument, match="gradient weight is submitted twice in one step"):
            seam.submit([weight], [array.ctypes.data], array)
    assert not seam.missing()
    assert seam.end_step().finite
    seam.close()


@pytest.mark.parametrize("has_begun", [False, True])
def test_a_submission_that_waits_for_nobody_is_on_its_way_if_it_was_interrupted_after_it_began(monkeypatch, has_begun):
    seam = Synchronizer(rank=0, size=1, codec="none", transport="loopback")
    weight = seam.declare("weight", (4,))
    array = numpy.full(4, 2, numpy.float32)
    seam.submit([weight], [array.ctypes.data], array)
    assert seam.end_step().finite
    call = _library.call

    def interrupted(name, *arguments):
        if has_begun or name != "casync_session_submit":
            call(name, *arguments)
        if name == "casync_session_submit":
            raise KeyboardInterrupt

    monkeypatch.setattr(_library, "call", interrupted)
    with pytest.raises(KeyboardInterrupt):
        seam.submit([weight], [array.ctypes.data], array)
    monkeypatch.undo()
    assert seam.session.busy == has_begun
    assert seam.missing() == ([] if has_begun else [weight])
    if not has_begun:
        seam.submit([weight], [array.ctypes.data], array)
    assert seam.end_step().finite and not seam.session.busy
    seam.close()


def test_a_time_that_is_no_number_is_refused_and_not_waited_for():
    with casync.Session(rank=0, size=1, transport="loopback") as session:
        handle = session.submit(session.declare("fc", 6), numpy.ones(6, numpy.float32))
        with pytest.raises(casync.InvalidArgument, match="timeout_s is not a number"):
            handle.wait(float("nan"))
        assert session.step()


def test_nobody_has_to_wait_for_what_runs_aside():
    go_on = threading.Event()
    slow = patience.Aside(go_on.wait)
    assert slow.begin()
    assert not slow.wait(0.01)
    go_on.set()
    assert slow.wait(60)

    def fails():
        raise ValueError("no")

    failing = patience.Aside(fails)
    assert failing.begin()
    with pytest.raises(ValueError, match="no"):
        failing.wait(60)
