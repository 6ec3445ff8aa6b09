# SPDX-License-Identifier: Apache-2.0
"""Ends open sessions when the program ends: no rank may leave another waiting."""

from __future__ import annotations

import _thread
import atexit
import functools
import itertools
import os
import sys
import weakref
from typing import TYPE_CHECKING

from casync import (
    _library,
    _logging,  # noqa: F401 -- imported first, so that its function at exit runs last
    errors,
)

if TYPE_CHECKING:
    import ctypes
    from collections.abc import Callable

    from casync.session import Session

_SLICE_S = 0.2
_sessions = weakref.WeakValueDictionary()  # by a number that grows: all ranks open theirs in the same order
_numbers = itertools.count()
_leaving = set()  # a locked lock for each session that nobody holds any more and that has not left its job yet
_in_use = []  # by native threads that did not end: never freed
os.register_at_fork(after_in_child=_leaving.clear)


def remember(session: Session) -> None:
    _sessions[next(_numbers)] = session


def free(pointer: ctypes.c_void_p, has_left: bool, detach: Callable[[], None] | None, *kept: object) -> None:
    """Ends a session that nobody holds any more. `detach` takes it away from native code, and its threads use what is
    `kept`. One that has not left its job yet leaves in a thread of its own, for which the end of the program waits: Python
    frees objects at moments of its own, and rank 0 waits there until the other ranks have left, too."""
    leave = functools.partial(_leave, pointer, detach, kept)
    if has_left:
        leave()
    else:
        _run_aside(leave)


def described(error: BaseException) -> str:
    """The reason that other ranks hear of an exception, also of one that has no text."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # of its own __str__
        return type(error).__name__


def keep(*objects: object) -> None:
    """Keeps what native threads use that did not end with their session, for as long as the program lives."""
    _in_use.append(objects)


def _leave(pointer: ctypes.c_void_p, detach: Callable[[], None] | None, kept: object) -> None:
    try:
        _library.call("casync_session_close", pointer)
    except errors.Timeout:
        keep(kept)  # C has logged it
    except errors.Error:
        pass  # nobody holds the session, who could be told
    try:
        if detach is not None:
            detach()
    except errors.Timeout as late:
        keep(kept)
        print(f"casync: {late}", file=sys.stderr)
        return
    _library.load().casync_session_free(pointer)


def _run_aside(function: Callable[[], None]) -> None:
    gone = _thread.allocate_lock()
    gone.acquire()
    _leaving.add(gone)

    def run() -> None:
        try:
            function()
        finally:
            _leaving.discard(gone)
            gone.release()

    try:
        # Not threading.Thread, whose start() takes locks that this thread may hold already.
        _thread.start_new_thread(run, ())
    except RuntimeError:  # at the program's end: Python 3.12 and later start no thread there
        run()


@atexit.register
def _end_all() -> None:
    """Tells the other ranks of an exception, or of a step that was never ended; otherwise says goodbye."""
    for _, session in sorted(_sessions.items()):
        if session._closed or session._pid != os.getpid():
            continue
        error = getattr(sys, "last_value", None)
        if error is not None:
            session._leave(f"rank {session.rank} ended with {described(error)}")
        elif session.busy:
            session._leave(f"rank {session.rank} ended its program in the middle of a step")
        try:
            session.close()
        except Exception as failure:
            print(f"casync: closing at exit: {failure}", file=sys.stderr)
    for gone in list(_leaving):
        while not gone.acquire(timeout=_SLICE_S):  # in slices, so that Ctrl-C is heard
            pass
