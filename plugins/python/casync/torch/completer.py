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
    from casync.session import Handle, StepResult
    from casync.synchronizer import Synchronizer


@dataclasses.dataclass
class Flight:
    """One bucket on its way."""

    handles: list[Handle]
    buffer: torch.Tensor
    last: bool  # of this backward pass: the session's step ends with it
    future: torch.futures.Future[torch.Tensor]
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


class Completer:
    """Lands flights in the order they took off."""

    def __init__(self, synchronizer: Synchronizer) -> None:
        self._queue = queue.SimpleQueue()
        # A daemon: the program may end, by an exception, while this waits for another rank.
        threading.Thread(target=_run, args=(synchronizer, self._queue), name="casync-completer", daemon=True).start()

    def add(self, flight: Flight) -> None:
        self._queue.put(flight)

    def stop(self) -> None:
        self._queue.put(None)


def _run(synchronizer: Synchronizer, flights: queue.SimpleQueue[Flight | None]) -> None:
    # Holds no reference to the Completer or the State, so that dropping them ends this thread too.
    while (flight := flights.get()) is not None:
        _land(synchronizer, flight)
        del flight


def _land(synchronizer: Synchronizer, flight: Flight) -> None:
    try:
        for handle in flight.handles:
            handle.wait(hidden=True)
        if flight.last:
            flight.step = synchronizer.end_step()
    except BaseException as error:  # raised where the program waits
        flight.error = error
    flight.end = time.monotonic()
    flight.landed.set()
    flight.future.set_result(flight.buffer)
