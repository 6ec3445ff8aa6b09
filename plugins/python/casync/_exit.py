# SPDX-License-Identifier: Apache-2.0
"""Ends open sessions when the program ends: no rank may leave another waiting."""

from __future__ import annotations

import atexit
import os
import sys
import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from casync.session import Session

_sessions = weakref.WeakSet()


def remember(session: Session) -> None:
    _sessions.add(session)


@atexit.register
def _end_all() -> None:
    """Tells the other ranks of an exception, or of a step that was never ended; otherwise says goodbye."""
    for session in list(_sessions):
        if session._closed or session._pid != os.getpid():
            continue
        error = getattr(sys, "last_value", None)
        if error is not None:
            session._leave(f"rank {session.rank} ended with {type(error).__name__}: {error}")
        elif session.busy:
            session._leave(f"rank {session.rank} ended its program in the middle of a step")
        try:
            session.close()
        except Exception as failure:
            print(f"casync: closing at exit: {failure}", file=sys.stderr)
