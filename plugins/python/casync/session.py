# SPDX-License-Identifier: Apache-2.0
"""The live object that synchronizes gradients: `Session`, the handles of what it is busy with, a step's result."""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import json
import os
import threading
import types
from typing import TYPE_CHECKING

import numpy

from casync import _exit, _library, _open, _state, _submit, arrays, errors, greeting, patience
from casync._calls import Calls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from types import TracebackType
    from typing import Any

    from numpy.typing import DTypeLike, NDArray
    from typing_extensions import Self

    from casync._calls import Done
    from casync.codec import Codec


_EXCHANGED = ("gradients", "nothing", "differences", "parameters")  # by casync_exchanged


@dataclasses.dataclass(frozen=True)
class StepResult:
    """The result of a step, the same on all ranks. True in a condition when every gradient was finite."""

    finite: bool
    first_non_finite: str | None

    def __bool__(self) -> bool:
        return self.finite


class Handle:
    """One gradient on its way. Its array belongs to the session until the handle is done."""

    __slots__ = ("_session", "number")

    def __init__(self, session: Session, number: int) -> None:
        self._session, self.number = session, number

    @property
    def done(self) -> bool:
        return self._session._is_done(self.number)

    def wait(self, timeout: float | None = None, hidden: bool = False) -> None:
        """Waits until the array holds the result. Raises Timeout after `timeout` seconds (None: the session's), and
        whatever ended the session. `hidden`: this is a helper's thread, and the program goes on meanwhile, so that
        reports don't count the wait as time lost."""
        if hidden:
            self._session._wait_hidden(self.number, timeout)
        else:
            self._session._wait(self.number, timeout)


class Session:
    """Synchronizes gradients with the other ranks; open on all ranks at once, in the same order.

    Arguments left out come from the launcher's environment and from CASYNC_*. `codec` is a name or a `Codec`;
    `plan` a file. `store` is an object with set(key, bytes), get(key, seconds), rank and size, for programs that
    have their own way to exchange a few bytes at the start. `device` is where this rank's gradients lie: "cpu", or a
    GPU, whose memory goes through submit_memory: "cuda:0", or "cuda" for the one at the local rank.

    The first failure is final and the same on all ranks. Any thread may submit and wait.
    """

    _detach = None  # a subclass's function that takes the session away from native code, once it has ended

    def __init__(
        self,
        rank: int | None = None,
        size: int | None = None,
        rendezvous: str | None = None,
        token: str | None = None,
        plan: str | os.PathLike[str] | None = None,
        codec: str | os.PathLike[str] | Codec | None = None,
        transport: str | None = None,
        op: str = "average",
        timeout: float | None = None,
        trace: str | os.PathLike[str] | None = None,
        store: _open.Store | None = None,
        device: str | None = None,
    ) -> None:
        self._pid = os.getpid()
        self._pointer = _open.open_session(
            _open.Request(rank, size, rendezvous, token, plan, codec, transport, op, timeout, trace, store, device)
        )
        self._closed = False
        self._on_gpu = device not in (None, "", "cpu")
        self._gradients = {}  # id -> arrays.Gradient
        self._compares = False  # a declare() or a load since the last submit: the next one waits for others
        self._in_flight = {}  # handle -> owner of its memory
        self._calls = Calls()
        rank_, size_ = ctypes.c_int32(), ctypes.c_int32()
        _library.call("casync_session_rank", self._pointer, ctypes.byref(rank_), ctypes.byref(size_))
        self.rank, self.size = rank_.value, size_.value
        _exit.remember(self)

    def declare(
        self,
        name: str,
        shape: int | Iterable[int],
        dtype: DTypeLike = "float32",
        priority: int | None = None,
        scatter: bool = False,
    ) -> int:
        """Makes a gradient known, on every rank ahead of the step that uses it; returns its id. All ranks give the
        same; smaller priorities are needed sooner in the next forward pass and travel first (None: 0).
        With `scatter` this rank gets the result of its own shard of the n elements, the `rank`-th of `size` equal ones, with
        half of the bytes; the others stay as they are. InvalidArgument: n is no multiple of size."""
        self._check()
        gradient = arrays.Gradient(name, shape, dtype)
        extents = (ctypes.c_int64 * max(len(gradient.shape), 1))(*gradient.shape)
        identity = ctypes.c_uint32()
        _library.call(
            "casync_session_declare_scattered" if scatter else "casync_session_declare",
            self._pointer,
            name.encode(),
            _library.DTYPES[gradient.dtype],
            extents,
            len(gradient.shape),
            arrays.priority_of(name, priority),
            ctypes.byref(identity),
        )
        return self._remember(identity.value, gradient)

    def _remember(self, id: int, gradient: arrays.Gradient) -> int:
        self._gradients[id] = gradient
        self._compares = True
        return id

    @property
    def declared(self) -> Mapping[int, arrays.Gradient]:
        """Name, shape and dtype of each declared gradient, by its id."""
        return types.MappingProxyType(self._gradients)

    def gradient_of(self, id: int) -> arrays.Gradient:
        """Name, shape and dtype of a declared gradient. InvalidArgument: there is none of this id."""
        gradient = self._gradients.get(id)
        if gradient is None:
            raise errors.InvalidArgument(f"gradient id {id} was never declared in this session")
        return gradient

    def bytes_of(self, id: int) -> int:
        """Size of a declared gradient's memory in bytes. Errors as gradient_of()."""
        return self.gradient_of(id).nbytes

    def submit(self, id: int, array: NDArray[Any]) -> Handle:
        """Starts reducing `array` in place. It must be contiguous, writable, of the declared dtype (numpy has no
        bfloat16: give its uint16 view) and of as many elements as declared, in whatever shape."""
        address, size = self.gradient_of(id).memory_of(array)
        return self.submit_memory([id], [address], [size], array)[0]

    def submit_memory(
        self,
        ids: Sequence[int],
        addresses: Sequence[int],
        sizes: Sequence[int],
        owner: object = None,
        done: Done | None = None,
        stream: int | None = None,
    ) -> list[Handle]:
        """Submits many gradients at once, by the addresses of their memory and its bytes; `owner` is kept alive until
        all are done. Returns a Handle for each. On a GPU `stream` is the stream that writes them, as a number of its
        driver (None: the default stream).

        `done(id, error)` is called once for each of them, on a thread of the session, with None when its memory holds
        the result, else with the exception that ended the session. It must not wait for another gradient."""
        self._check()
        count, numbers = len(ids), _submit.handles(len(ids))
        if done is None and not self._on_gpu:
            start = self._plain_submit(ids, addresses, sizes, numbers)
        else:
            start = self._submit_each(ids, addresses, sizes, numbers, done, stream)

        def started() -> list[Handle]:
            """In a thread it goes on when its caller is interrupted: `owner` stays, and step() waits for these, too."""
            try:
                start()
                self._compares = False
            finally:  # Ctrl-C may come when C has just returned
                for number in numbers[:count]:
                    if number != _submit.NOT_STARTED:
                        self._calls.failed.discard(number)  # of a plan's group, submitted again in the step
                        self._in_flight[number] = owner
            return [Handle(self, number) for number in numbers[:count]]

        return patience.in_thread(started) if self._compares else started()

    def _plain_submit(
        self, ids: Sequence[int], addresses: Sequence[int], sizes: Sequence[int], numbers: ctypes.Array[ctypes.c_uint64]
    ) -> Callable[[], None]:
        arguments = _submit.plain(ids, addresses, sizes)
        # Holds the session, which is not freed while an interrupted call is still in it.
        return lambda: _library.call("casync_session_submit", self._pointer, *arguments, numbers)

    def _submit_each(
        self,
        ids: Sequence[int],
        addresses: Sequence[int],
        sizes: Sequence[int],
        numbers: ctypes.Array[ctypes.c_uint64],
        done: Done | None,
        stream: int | None,
    ) -> Callable[[], None]:
        submissions, keys = _submit.each(ids, addresses, sizes, self._on_gpu, stream, done, self._calls)

        def start() -> None:
            try:
                _library.call("casync_session_submit_each", self._pointer, len(ids), submissions, numbers)
            except errors.Error:
                self._calls.forget(keys)  # nothing was started
                raise

        return start

    @property
    def address(self) -> int:
        """Address of the casync_session, for a framework's own native code, which calls casync.h with it while this
        object lives."""
        return self._pointer.value

    @property
    def closed(self) -> bool:
        return self._closed

    @property
    def busy(self) -> bool:
        """Gradients are on their way."""
        return bool(self._in_flight)

    @property
    def compares_next(self) -> bool:
        """The next submission compares the ranks' steps first, and so waits for the other ranks."""
        return self._compares

    def holds(self, owner: object) -> bool:
        """A submission with this very `owner` is on its way."""
        return any(kept is owner for kept in list(self._in_flight.values()))

    @property
    def exchanged(self) -> str:
        """The values that the step under way exchanges, by the plan: "gradients", or with `local_sgd` "nothing" or
        "differences" (parameters right after the last exchange, minus their values now), or with
        `gossip` "nothing" or "parameters"."""
        self._check()
        exchanged = ctypes.c_int32()
        _library.call("casync_session_exchanged", self._pointer, ctypes.byref(exchanged))
        return _EXCHANGED[exchanged.value]

    def begin_consensus(self) -> None:
        """With a plan's `gossip` or `asynchronous`: what the step under way submits are parameters, and their arrays get
        the exact mean of all ranks, the same on each. On every rank in the same step, ahead of its first submit()."""
        self._check()
        _library.call("casync_session_begin_consensus", self._pointer)

    def step(self) -> StepResult:
        """Ends the step: waits for all submissions and keeps, or on a non-finite gradient drops, the new state of error
        feedback."""
        self._check()
        _library.call("casync_session_end_submissions", self._pointer)
        handles = list(self._in_flight)
        for handle in handles:
            if handle not in self._calls.failed:  # C knows no more of those, or tells why the job has ended
                self._wait(handle, None)
        finite, name = ctypes.c_int32(), ctypes.create_string_buffer(4096)
        _library.call("casync_session_step", self._pointer, ctypes.byref(finite), name, len(name))
        for handle in self._calls.failed.intersection(handles):
            self._calls.failed.discard(handle)
            self._in_flight.pop(handle, None)
        return StepResult(True, None) if finite.value else StepResult(False, name.value.decode(errors="replace"))

    def stats(self) -> dict[str, Any]:
        """Counters since the session was opened: bytes, messages, seconds per kind of task."""
        self._check()
        return json.loads(_library.text("casync_session_stats", self._pointer))

    def state_dict(self) -> dict[str, Any]:
        """This rank's memory after the last step: numpy arrays, ints and strings. Each rank saves its own. Also once a call
        has raised the job's failure, when ranks may be a step apart."""
        self._check()
        state = json.loads(_library.text("casync_session_state", self._pointer))
        for name, gradient in state["gradients"].items():
            residual = numpy.zeros(gradient.pop("elements"), numpy.float32)
            if residual.size:
                _library.call(
                    "casync_session_state_get", self._pointer, name.encode(), residual.ctypes.data, residual.size
                )
            gradient["residual"] = residual
        return state

    def load_state_dict(self, d: Mapping[str, Any]) -> None:
        """Takes a state that state_dict() gave on this rank of a job of as many ranks; after declare(). Handles of
        earlier submissions are forgotten."""
        self._check()
        counters = _state.counters(d)
        for name, gradient in d["gradients"].items():
            _state.check_kept(name, gradient)
        described = {name: _state.described(gradient) for name, gradient in d["gradients"].items()}
        text = json.dumps({**counters, "gradients": described}).encode()
        earlier = list(self._in_flight)
        give = functools.partial(_library.call, "casync_session_state_set", self._pointer)
        give(None, text, None, 0, counters["step"] & 0xFFFFFFFF)
        for name, gradient in d["gradients"].items():
            residual = numpy.ascontiguousarray(gradient["residual"], numpy.float32)
            give(name.encode(), gradient["codec"].encode(), residual.ctypes.data, residual.size, counters["step"])
        for handle in earlier:  # C loads no state while one of them is under way
            self._calls.failed.discard(handle)
            self._in_flight.pop(handle, None)
        self._compares = True

    def abort(self, reason: object) -> None:
        """Ends the job on all ranks; they raise an error with this reason."""
        self._check()
        _library.call("casync_session_abort", self._pointer, str(reason).encode(errors="backslashreplace"))

    def close(self) -> None:
        """Says goodbye to the other ranks. Closing twice does nothing."""
        if self._closed or self._pid != os.getpid():
            return
        self._closed = True
        try:
            patience.in_thread(lambda: _library.call("casync_session_close", self._pointer))
        except errors.Timeout:
            _exit.keep(self._in_flight, self._calls)
            raise
        greeting.tell_record(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None and kind is not GeneratorExit:  # one that is not read to its end has not failed
            self._leave(_exit.described(error))
        self.close()

    def __del__(self) -> None:
        # Freed here and nowhere else: no other thread can be inside a call of an object that nobody holds. But weak
        # references still find it (Python clears them after this), so it looks closed when the free begins.
        if getattr(self, "_pointer", None) and self._pid == os.getpid():
            has_left, self._closed = self._closed, True
            pointer, self._pointer = self._pointer, None
            _exit.free(pointer, has_left, self._detach, self._in_flight, self._calls)

    def _leave(self, reason: str) -> None:
        """Tells the others why this rank goes, when the session still works."""
        try:
            self.abort(reason)
        except errors.Error:
            pass  # it had failed, or was closed: the others know

    def _wait(self, handle: int, timeout: float | None) -> None:
        """The session's own timeout is C's to judge: it ends the job with a Timeout, whatever a slice is."""
        self._check()

        def wait(seconds: float) -> None:
            _library.call("casync_session_wait", self._pointer, handle, seconds)

        if timeout is None and threading.current_thread() is not threading.main_thread():
            wait(-1.0)  # no signal comes here
        else:
            patience.sliced(wait, timeout)
        self._in_flight.pop(handle, None)

    def _wait_hidden(self, handle: int, timeout: float | None) -> None:
        """Waits on a helper's thread while the program goes on: none of it is the program's standing still."""
        seconds = -1.0 if timeout is None else max(0.0, timeout)  # C: below 0 for the session's
        _library.call("casync_session_wait_hidden", self._pointer, handle, seconds)
        self._in_flight.pop(handle, None)

    def _is_done(self, handle: int) -> bool:
        self._check()
        done = ctypes.c_int32()
        _library.call("casync_session_done", self._pointer, handle, ctypes.byref(done))
        return bool(done.value)

    def _check(self) -> None:
        if self._closed:
            raise errors.InvalidArgument("this session is closed: open another one")
        if self._pid != os.getpid():
            raise errors.InvalidArgument(
                f"this session belongs to process {self._pid} and cannot be used after a fork (process {os.getpid()}): "
                "open sessions in the process that uses them"
            )
