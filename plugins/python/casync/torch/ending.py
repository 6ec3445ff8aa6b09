# SPDX-License-Identifier: Apache-2.0
"""The end of the program: ranks finish what the others wait for, ahead of the sessions' goodbyes."""

from __future__ import annotations

import atexit
import os
import sys
import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def at_end(method: Callable[[], object]) -> None:
    """Calls a bound method when the program ends without an exception, if its object is still there: in the process
    that calls this, and not in its forks. An error is printed."""
    atexit.register(_call, weakref.WeakMethod(method), os.getpid())


def _call(reference: weakref.WeakMethod[Callable[[], object]], pid: int) -> None:
    method = reference()
    if method is None or pid != os.getpid() or getattr(sys, "last_value", None) is not None:
        return
    try:
        method()
    except Exception as failure:
        print(f"casync: at the end of the program: {failure}", file=sys.stderr)
