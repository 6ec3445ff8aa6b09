# SPDX-License-Identifier: Apache-2.0
"""Long waits that Ctrl-C ends: Python runs a signal's handler between two instructions, never inside a C call."""

from __future__ import annotations

import math
import threading
import time
from typing import TYPE_CHECKING

from casync import errors

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    T = TypeVar("T")

SLICE_S = 0.2


def sliced(wait: Callable[[float], T], timeout_s: float | None = None) -> T:
    """Calls wait(seconds), which raises Timeout, in slices until it returns or `timeout_s` are over. None: until it
    raises a Timeout that is not the slice's, but says that what it waits for has failed."""
    if timeout_s is not None and math.isnan(timeout_s):
        return wait(timeout_s)  # C refuses it; no moment is behind such a deadline
    deadline = math.inf if timeout_s is None else time.monotonic() + timeout_s
    while True:
        begin = time.monotonic()
        seconds = max(0.0, min(SLICE_S, deadline - begin))
        try:
            return wait(seconds)
        except errors.Timeout:
            now = time.monotonic()
            # A failure is told at once: a Timeout well ahead of the slice's end is not the slice's.
            if now >= deadline or now - begin < seconds / 2:
                raise


def in_thread(function: Callable[[], T], abandoned: Callable[[T], object] = lambda result: None) -> T:
    """Calls function() in a thread of its own while this one stays open to signals. A result that comes after this
    thread was interrupted goes to `abandoned`. Off the main thread, where no signal arrives, it is a plain call."""
    if threading.current_thread() is not threading.main_thread():
        return function()
    outcome, lock, ends = [], threading.Lock(), []

    def note(end: str) -> None:
        """A result, or an interruption: nobody takes the result once there are both."""
        with lock:
            ends.append(end)
            is_abandoned = len(ends) == 2
        if is_abandoned and outcome[0][1] is None:
            abandoned(outcome[0][0])

    def run() -> None:
        try:
            outcome.append((function(), None))
        except BaseException as error:  # passed on to the thread that waits
            outcome.append((None, error))
        note("result")

    thread = threading.Thread(target=run, name="casync-call", daemon=True)
    try:
        try:
            thread.start()
        except RuntimeError:  # at the program's end: Python 3.12 and later start no thread there
            return function()
        while thread.is_alive():
            thread.join(SLICE_S)
    except BaseException:
        note("interruption")  # start() waits, too: the thread may run by now
        raise
    result, error = outcome[0]
    if error is not None:
        raise error
    return result


class Aside:
    """A call on a daemon's thread, for which nobody has to wait: it may stand still for good, as a question to a process
    that was stopped does."""

    def __init__(self, function: Callable[[], object]) -> None:
        self._function, self._ended = function, threading.Event()
        self._error: BaseException | None = None

    def begin(self) -> bool:
        """Returns false at the program's end, where Python 3.12 and later start no thread: nothing is called then."""
        try:
            threading.Thread(target=self._run, name="casync-aside", daemon=True).start()
        except RuntimeError:
            return False
        return True

    def _run(self) -> None:
        try:
            self._function()
        except BaseException as error:  # raised where it is waited for
            self._error = error
        self._ended.set()

    def wait(self, seconds: float) -> bool:
        """Returns false if it has not ended by then. Raises what it has raised."""
        if not self._ended.wait(seconds):
            return False
        if self._error is not None:
            raise self._error
        return True
