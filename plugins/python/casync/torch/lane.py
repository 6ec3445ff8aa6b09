# SPDX-License-Identifier: Apache-2.0
"""The thread of a process group that takes exact collectives through a session, in the order of the calls, each as a
step."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import logging
import queue
import threading
import time
from typing import TYPE_CHECKING

import torch

from casync import errors
from casync.patience import Aside
from casync.torch.collective import CollectiveWork

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from casync.copying import CopySession
    from casync.session import Handle
    from casync.torch.collective import Order

_log = logging.getLogger("casync")

_LOOK_S = 1.0  # a rank that has waited so long looks what the others do, and again after twice as long
_ANSWER_S = 0.2  # the look takes less, unless the process that has torch's store stands still
_GRACE_S = 10.0  # destroy_process_group() waits so long for what is under way


@dataclasses.dataclass
class Part:
    """Memory that is copied in one step: from `root`, or None: each rank's shard to all."""

    name: str
    memory: torch.Tensor  # flat, of bytes
    root: int | None
    fill: Callable[[], None]  # puts this rank's bytes there
    land: Callable[[], None]  # puts what has come into its place

    def declare(self, session: CopySession) -> int:
        return session.declare_copied(self.name, self.memory.numel(), self.root)


@dataclasses.dataclass
class Job:
    work: CollectiveWork
    parts: list[Part]
    seconds: float | None = None  # to wait for the others; None: as long as the session


class Lane:
    """Takes jobs through a session, one after the other: those that their callers wait for on the callers' threads, if
    nothing is under way, and the others on a thread of its own. The first failure is that of all later jobs."""

    def __init__(self, open_session: Callable[..., CopySession], order: Order) -> None:
        self._open, self._order = open_session, order
        self._queue: queue.SimpleQueue[tuple[int, Job] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._turns = threading.Condition(self._lock)  # a job has ended
        self._waiting: dict[int, CollectiveWork] = {}  # by number
        self._started = 0
        self._thread: threading.Thread | None = None
        self._session: CopySession | None = None
        self._failure: BaseException | None = None
        self._ids: dict[tuple[str, int], int] = {}

    def start(self, job: Job, asynchronous: bool) -> CollectiveWork:
        with self._lock:
            if self._failure is not None:
                job.work.finish(self._failure)
                return job.work
            here = not asynchronous and not self._waiting
            self._started += 1
            number = self._started
            self._waiting[number] = job.work
            if not here:
                self._queue_up(number, job)
        if here:
            self._carry(number, job)
        return job.work

    def stats(self) -> dict[str, Any]:
        return self._session.stats() if self._session is not None and not self._session.closed else {}

    def close(self, farewell: Job) -> None:
        """`farewell`: of all ranks. A rank that is ahead waits for it, a while: others may still need what it has sent."""
        with self._lock:
            busy = bool(self._waiting)
        if busy or self._session is not None:
            farewell.seconds = _GRACE_S
            with contextlib.suppress(errors.Error):
                # At the end of the program no thread can be started.
                self.start(farewell, asynchronous=busy).wait(datetime.timedelta(seconds=_GRACE_S))
        with self._lock:
            busy, thread = bool(self._waiting), self._thread
        destroyed = errors.Error("the process group was destroyed")
        if busy:
            self._give_up(destroyed)
        with self._lock:
            self._failure = self._failure or destroyed
            self._queue.put(None)
        if thread is not None and thread is not threading.current_thread():
            thread.join(_GRACE_S)
        session, self._session = self._session, None
        if session is None:
            self._order.leave()
        elif thread is None or not thread.is_alive():
            try:
                session.close()
            except errors.Error as error:
                _log.debug("destroy_process_group: %s", error)  # the works have it

    def _queue_up(self, number: int, job: Job) -> None:
        """Under the lock."""
        if self._thread is None:
            # A daemon: the program may end, by an exception, while this waits for another rank.
            self._thread = threading.Thread(target=self._run, name="casync-copies", daemon=True)
            self._thread.start()
        self._queue.put((number, job))

    def _run(self) -> None:
        while (turn := self._queue.get()) is not None:
            self._carry(*turn)
            del turn

    def _carry(self, number: int, job: Job) -> None:
        """One at a time, in the order of the calls, also of several threads: a job may be on its caller's thread."""
        with self._lock:
            self._turns.wait_for(lambda: number not in self._waiting or number == min(self._waiting))
            if number not in self._waiting:
                return  # failed with an earlier one
        try:
            self._take(number, job)
        except BaseException as error:  # raised where the program waits
            self._give_up(error)
            if not isinstance(error, Exception):
                raise  # Ctrl-C, on the thread that has called
            return
        with self._lock:
            work = self._waiting.pop(number, None)
            self._turns.notify_all()
        if work is not None:
            work.finish()

    def _take(self, number: int, job: Job) -> None:
        if self._session is None:
            # A session that opens cannot be interrupted, so the ranks meet first.
            self._order.meet(job.work.what, lambda: self._check(number))
            self._session = self._open()
        session, parts = self._session, job.parts
        ids = [self._id_of(session, part) for part in parts]
        # The lane's thread is not in its caller's inference mode, and only that mode may write to tensors of it.
        with torch.inference_mode():
            for part in parts:
                part.fill()  # here, so that what an earlier job brings is in it
        addresses = [part.memory.data_ptr() for part in parts]
        handles = session.submit_memory(ids, addresses, [part.memory.numel() for part in parts], parts)
        session.end_submissions()
        for handle in handles:
            wait(handle, lambda: self._order.compare(number, job.work.what), job.seconds)
        session.step()
        with torch.inference_mode():
            for part in parts:
                part.land()

    def _id_of(self, session: CopySession, part: Part) -> int:
        key = (part.name, part.memory.numel())
        if key not in self._ids:  # a submission after a declaration takes longer
            self._ids[key] = part.declare(session)
        return self._ids[key]

    def _check(self, number: int) -> None:
        with self._lock:
            if number not in self._waiting:
                raise self._failure or errors.Error("the process group was destroyed")

    def _give_up(self, error: BaseException) -> None:
        """Fails all jobs, and ends the session for the other ranks, too."""
        with self._lock:
            self._failure = error
            waiting, self._waiting = self._waiting, {}
            self._turns.notify_all()
        for work in waiting.values():
            work.finish(error)
        session = self._session
        if session is None or isinstance(error, errors.PeerFailure):
            return
        try:
            session.abort(str(error) or type(error).__name__)
        except errors.Error:
            pass  # it had failed, and the others know


def wait(handle: Handle, look: Callable[[], object], seconds: float | None = None) -> None:
    """Waits for a submission, and calls look() when that takes long, again and again, on a thread of its own. Timeout: as
    Handle.wait(), and after about so many seconds."""
    pause, begun = _LOOK_S, time.monotonic()
    looking: Aside | None = None
    while True:
        begin = time.monotonic()
        try:
            return handle.wait(timeout=pause)
        except errors.Timeout:
            # A failure of the session is told at once.
            if time.monotonic() - begin < pause / 2 or (seconds is not None and begin + pause > begun + seconds):
                raise
        looking = looking or _begun(look)
        if _has_looked(looking):
            looking, pause = None, min(2 * pause, 30.0)


def _begun(look: Callable[[], object]) -> Aside | None:
    looking = Aside(look)
    return looking if looking.begin() else None


def _has_looked(looking: Aside | None) -> bool:
    """Returns false while the store has not answered: the process that has it may stand still, and the session tells."""
    try:
        return looking is None or looking.wait(_ANSWER_S)
    except errors.Error:
        raise
    except RuntimeError:  # of torch's store, whose process has ended: the session tells that, too
        return True
