# SPDX-License-Identifier: Apache-2.0
"""The thread that waits for buckets and completes their futures.

DDP waits for the futures in C++, where neither Ctrl-C nor the type of a Python exception gets through. So State has
autograd call Flight.wait on the thread that called backward(), ahead of DDP: errors are raised there, and
the future, which DDP then takes as it is, holds the bucket in any case.
"""

from __future__ import annotations

import dataclasses
import queue
import threading
import time
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from casync.session import Handle, StepResult
    from casync.synchronizer import Synchronizer


@dataclasses.dataclass
class Flight:
    """One bucket on its way."""

    handles: list[Handle]
    buffer: torch.Tensor
    last: bool  # of this backward pass: the session's step ends with it
    future: torch.futures.Future[torch.Tensor]
    # Brings the parts of the node's other ranks into the buffer; takes and returns the result of the step, if one ends.
    gather: Callable[[StepResult | None], StepResult | None] | None = None
    landed: threading.Event = dataclasses.field(default_factory=threading.Event)
    error: BaseException | None = None
    step: StepResult | None = None  # of the last bucket
    end: float = 0.0  # time.monotonic() when it had landed

    def wait(self) -> None:
        """Waits on the program's thread, so that the time counts as lost for the gradients it waits for."""
        for handle in self.handles:
            handle.wait()
        self.landed.wait()
        if self.error is not None:
            raise self.error

    def deliver(self) -> None:
        self.end = time.monotonic()
        self.landed.set()
        self.future.set_result(self.buffer)


class Completer:
    """Lands flights in the order they took off. Those of a node are gathered with the last one of their backward pass, or
    when gather() says so: no collective of the node's group may come between them and the buckets' own."""

    def __init__(self, synchronizer: Synchronizer) -> None:
        self._queue = queue.SimpleQueue()
        # A daemon: the program may end, by an exception, while this waits for another rank.
        threading.Thread(target=_run, args=(synchronizer, self._queue), name="casync-completer", daemon=True).start()

    def add(self, flight: Flight) -> None:
        self._queue.put(flight)

    def gather(self) -> None:
        """No more flights come until those that have been added are gathered."""
        self._queue.put(_GATHER)

    def stop(self) -> None:
        self._queue.put(None)


_GATHER = object()


def _run(synchronizer: Synchronizer, flights: queue.SimpleQueue[Any]) -> None:
    # Holds no reference to the Completer or the State, so that dropping them ends this thread too.
    parts: list[Flight] = []
    while (flight := flights.get()) is not None:
        if flight is not _GATHER:
            _land(synchronizer, flight)
            if flight.gather is None:
                flight.deliver()
                del flight
                continue
            parts.append(flight)
        if flight is _GATHER or flight.last:
            _gather(parts)
            parts = []
        del flight


def _land(synchronizer: Synchronizer, flight: Flight) -> None:
    try:
        for handle in flight.handles:
            handle.wait(hidden=True)
        if flight.last:
            flight.step = synchronizer.end_step()
    except BaseException as error:  # raised where the program waits
        flight.error = error


def _gather(parts: list[Flight]) -> None:
    """After the first error of a part the node's group cannot be used: its ranks may not be at the same collective."""
    error = next((part.error for part in parts if part.error is not None), None)
    for part in parts:
        try:
            if error is None and part.gather is not None:
                part.step = part.gather(part.step)
        except BaseException as failed:  # raised where the program waits
            error = failed
        part.error = part.error or error
        part.deliver()
