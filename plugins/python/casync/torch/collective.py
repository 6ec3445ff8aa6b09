# SPDX-License-Identifier: Apache-2.0
"""The Work of a collective: it is done, or fails, once; whoever waits gets the failure in its own class."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import TYPE_CHECKING

import torch
import torch.distributed as dist

from casync import errors
from casync.patience import SLICE_S, Aside

if TYPE_CHECKING:
    import datetime
    from collections.abc import Callable
    from typing import Any

_ANSWER_S = 1.0  # of a store that works, on a busy machine


def name_failure(what: str, error: BaseException) -> BaseException:
    """The same failure, with the operation's name in it."""
    if not isinstance(error, errors.Error) or what in str(error):
        return error
    return type(error)(f"{what}: {error}")


class CollectiveWork(dist.Work):
    """A collective on its way. `what` names it in errors; `tensors` are what its future gives; `device` is theirs.

    torch waits in three ways: Python calls wait(), C++ calls wait() through Python, and DDP waits for the future in C++,
    where the failure is a RuntimeError with the text of this one.
    """

    def __init__(
        self, what: str, tensors: list[torch.Tensor], stop: Callable[[], object] | None = None
    ) -> None:
        """`stop` is called ahead of a wait on the waiting thread, and may raise."""
        super().__init__()
        self.what, self._tensors, self._stop = what, tensors, stop
        self._lock, self._landed = threading.Lock(), threading.Event()
        self._error: BaseException | None = None
        device = tensors[0].device if tensors else torch.device("cpu")
        self._devices = [device] if device.type == "cuda" else []
        self._told = torch.futures.Future(devices=self._devices) if self._devices else torch.futures.Future()
        # A Future of Python keeps an exception as a value, which C++ takes for a result: one that a callback raises is
        # a failure there, too.
        self._future = self._told.then(self._value)

    def _value(self, _: torch.futures.Future) -> list[torch.Tensor]:
        if self._error is not None:
            raise self._error
        return self._tensors

    def finish(self, error: BaseException | None = None) -> None:
        """Ends it, once: a second call does nothing. On the thread whose stream has queued the last work on its tensors."""
        with self._lock:
            if self._landed.is_set():
                return
            self._error = None if error is None else name_failure(self.what, error)
            self._landed.set()
        self._stop = None
        self._told.set_result(self._tensors)

    def wait(self, timeout: datetime.timedelta | None = None) -> bool:
        """Waits until the tensors hold the result. Raises the failure; errors.Timeout after `timeout`, if one is given."""
        seconds = timeout.total_seconds() if timeout else None
        stop = self._stop
        if stop is not None and seconds is None:
            try:
                stop()
            except errors.Error as error:
                raise name_failure(self.what, error) from None
        if not self._landed.wait(seconds):
            raise errors.Timeout(f"{self.what}: not done after {seconds:g} s")
        if self._error is not None:
            raise self._error
        if self._devices:
            self._future.wait()  # makes the current stream wait
        return True

    def synchronize(self) -> None:
        self.wait()

    def is_completed(self) -> bool:
        return self._landed.is_set()

    def is_success(self) -> bool:
        return self._landed.is_set() and self._error is None

    def exception(self) -> BaseException | None:
        return self._error

    def get_future(self) -> torch.futures.Future:
        return self._future

    def result(self) -> list[torch.Tensor]:
        self.wait()
        return self._tensors


def done(what: str, tensors: list[torch.Tensor]) -> CollectiveWork:
    """One that has nothing to do."""
    work = CollectiveWork(what, tensors)
    work.finish()
    return work


class Order:
    """All ranks call the same collectives in the same order. A rank that has waited for a while asks what the others call
    in this place, through the store at which the group has met. A process of torch's has the store, and if that stands
    still, a question to it has no answer and no end: all of them are asked on threads for which nobody waits too long."""

    def __init__(self, store: dist.Store, rank: int, size: int, lane: str, timeout_s: float) -> None:
        self._store, self._rank, self._size, self._lane, self._timeout_s = store, rank, size, lane, timeout_s

    def meet(self, what: str, check: Callable[[], object] = lambda: None) -> None:
        """Waits until all ranks have come to their first collective; check() may raise meanwhile. PeerFailure: one has left
        the group. Timeout: one has not come, or the store does not answer. InvalidArgument: as compare()."""
        until, given_up = time.monotonic() + self._timeout_s, threading.Event()

        def look() -> None:
            check()
            if given_up.is_set():
                raise errors.Error("given up")

        meeting = Aside(lambda: self._meet(what, look, until))
        try:
            if not meeting.begin():
                return self._meet(what, check, until)
            while not meeting.wait(SLICE_S):
                check()
                if time.monotonic() > until + _ANSWER_S:
                    raise errors.Timeout(f"{what}: the store at which the ranks meet does not answer")
        except errors.Error:
            raise
        except RuntimeError as error:  # of torch's store
            raise errors.PeerFailure(f"{what}: the store at which the ranks meet is gone: {error}") from None
        finally:
            given_up.set()

    def _meet(self, what: str, check: Callable[[], object], until: float) -> None:
        pause = 0.001
        self.compare(1, what)
        for rank in range(self._size):
            while not self._store.check([self._key(1, rank)]):
                check()
                if self._store.check([f"{self._lane}/left/{rank}"]):
                    raise errors.PeerFailure(f"{what}: rank {rank} has left the process group")
                if time.monotonic() > until:
                    raise errors.Timeout(f"{what}: rank {rank} has not called it after {self._timeout_s:g} s")
                time.sleep(pause)
                pause = min(1.5 * pause, 0.1)
        self.compare(1, what)

    def leave(self) -> None:
        """Tells those that wait in meet()."""
        def tell() -> None:
            self._store.set(f"{self._lane}/left/{self._rank}", "")

        telling = Aside(tell)
        with contextlib.suppress(RuntimeError):  # nobody is there who could wait
            if telling.begin():
                telling.wait(_ANSWER_S)
            else:
                tell()

    def compare(self, number: int, what: str) -> None:
        """Tells the others that this rank waits in its `number`-th collective, `what`. InvalidArgument: another one is in
        a different one there."""
        self._store.set(self._key(number, self._rank), what)
        for rank in range(self._size):
            if rank == self._rank or not self._store.check([self._key(number, rank)]):
                continue
            theirs = self._store.get(self._key(number, rank)).decode()
            if theirs != what:
                raise errors.InvalidArgument(
                    f"rank {self._rank} calls {what} where rank {rank} calls {theirs}: all ranks call the same collectives, "
                    "with tensors of one size and dtype, in the same order"
                )

    def _key(self, number: int, rank: int) -> str:
        return f"{self._lane}/{number}/{rank}"
