# SPDX-License-Identifier: Apache-2.0
"""The backward pass under way, and a function that is called at its end."""

from __future__ import annotations

import functools
import weakref
from typing import TYPE_CHECKING

import torch

from casync import errors

if TYPE_CHECKING:
    from collections.abc import Callable


class BackwardPass:
    """Calls `end()` at the end of each backward pass that was joined, on its thread. A pass that raises has no end."""

    def __init__(self, end: Callable[[], object]) -> None:
        self._end = end
        # The call that autograd keeps, and lets go of with the pass.
        self._call: weakref.ref[Callable[[], object]] | None = None

    def join(self) -> bool:
        """Returns true if this is the first call in its pass. RuntimeError, of torch's: this thread is in none. Error: an
        earlier pass that was joined has raised an error, and the program went on."""
        engine = torch.autograd.Variable._execution_engine
        if self._call is None or torch._C._current_graph_task_id() < 0:
            call: Callable[[], object] = functools.partial(self._finish)
            engine.queue_callback(call)
            self._call = weakref.ref(call)
            return True
        if self._call() is None:
            raise errors.Error("the previous backward pass did not end: its error was caught and dropped")
        return False

    def forget(self) -> None:
        """Leaves a pass in which nothing was started: the next call of join() is the first one in its pass."""
        self._call = None

    def _finish(self) -> None:
        self._call = None
        self._end()
