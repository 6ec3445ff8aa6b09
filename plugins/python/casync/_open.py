# SPDX-License-Identifier: Apache-2.0
"""Opening a session: the arguments as C takes them, and the store through callbacks."""

from __future__ import annotations

import ctypes
import dataclasses
import logging
import os
import tempfile
from typing import Any, Protocol

from casync import _library, _logging, errors, launch, patience
from casync.codec import Codec

_log = logging.getLogger("casync")


class Store(Protocol):
    """A program's own way to exchange a few bytes at the start. Any thread may be the caller."""

    @property
    def rank(self) -> int: ...

    @property
    def size(self) -> int: ...

    def set(self, key: str, value: bytes, /) -> object:
        """Makes `value` known to all ranks."""

    def get(self, key: str, seconds: float, /) -> bytes:
        """Waits for a value. Raises TimeoutError when it has not come after so many seconds, and may be called again. A
        bytearray or a memoryview will do, and text will not. Whatever else it raises ends the opening of this rank's
        session."""


@dataclasses.dataclass
class Request:
    """Session's arguments."""

    rank: int | None
    size: int | None
    rendezvous: str | None
    token: str | None
    plan: str | os.PathLike[str] | None
    codec: str | os.PathLike[str] | Codec | None
    transport: str | None
    op: str
    timeout: float | None
    trace: str | os.PathLike[str] | None
    store: Store | None
    device: str | None


def open_session(request: Request) -> ctypes.c_void_p:
    """The session's pointer. Ctrl-C works while it waits for the other ranks."""
    _logging.hand_over()
    store = request.store
    if store is None and request.rank is None and request.size is None and request.rendezvous is None:
        store = launch.find_store(request.timeout)
    calls = _StoreCalls(store)
    for variable, folder in (("CASYNC_TRACE", request.trace), ("CASYNC_RECORD", None)):
        _probe(variable, folder or os.environ.get(variable))
    try:
        return patience.in_thread(lambda: _open(_options(request, store, calls)), abandoned=_drop)
    except Exception as error:
        # The store's exception is the cause of the error that C then reported. The frames in between say nothing.
        raise (calls.error or error.with_traceback(None)) from None


def _probe(variable: str, folder: str | os.PathLike[str] | None) -> None:
    """Warns at the start when the files of a job's end cannot be written, and not only at its end."""
    if not folder:
        return
    try:
        os.makedirs(folder, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        _log.warning("nothing can be written to %s (%s): %s", folder, variable, reason)


def _open(options: _library.SessionOptions) -> ctypes.c_void_p:
    pointer = ctypes.c_void_p()
    _library.call("casync_session_open", ctypes.byref(options), ctypes.byref(pointer))
    return pointer


def _drop(pointer: ctypes.c_void_p) -> None:
    _library.load().casync_session_abort(pointer, b"interrupted while it was opened")
    _library.load().casync_session_free(pointer)


def _options(request: Request, store: Store | None, calls: _StoreCalls) -> _library.SessionOptions:
    codec, parameters = request.codec, {}
    if isinstance(codec, Codec):
        codec, parameters = codec.name, codec.parameters
    rank, size, rendezvous = request.rank, request.size, request.rendezvous
    if store is not None and rank is None and size is None and not launch.environment_says(store.rank, store.size):
        # All three together are taken as they are: this may be a group of some ranks of the job.
        rank, size, rendezvous = store.rank, store.size, "store"
    options = _library.SessionOptions(
        struct_size=ctypes.sizeof(_library.SessionOptions),
        rank=_number("rank", rank),
        size=_number("size", size),
        rendezvous=_bytes("rendezvous", rendezvous),
        token=_bytes("token", request.token),
        plan=_bytes("plan", request.plan),
        codec=_bytes("codec", codec),
        parameters=_library.parameters(parameters),
        parameter_count=len(parameters),
        transport=_bytes("transport", request.transport),
        op=_bytes("op", request.op),
        timeout_s=_seconds(request.timeout),
        trace=_bytes("trace", request.trace),
        device=_bytes("device", request.device),
    )
    if store is not None:
        options.store_set, options.store_get = calls.set, calls.get
    return options


def _number(name: str, number: int | None) -> int:
    """A rank or a size as C takes it, which has 32 bits, and says what is wrong with one below -1."""
    if number is not None and not -(2**31) <= number < 2**31:
        raise errors.InvalidArgument(f"{name} is {number}, expected less than 2^31")
    return -1 if number is None else number


def _seconds(timeout: float | None) -> float:
    """0 lets C read CASYNC_TIMEOUT_SEC, and say what is wrong with it."""
    try:
        return float(timeout or 0)
    except (TypeError, ValueError):
        raise errors.InvalidArgument(f"timeout is {timeout!r}, expected seconds") from None


def _bytes(name: str, text: str | os.PathLike[str] | None) -> bytes | None:
    """The argument `name` as C takes it. A token is shown to nobody."""
    if text is None:
        return None
    if name == "token" and b"\0" in os.fsencode(text):
        raise errors.InvalidArgument("token has a NUL")
    return _library.c_text(name, text)


def _as_bytes(key: str, value: object) -> bytes:
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise errors.InvalidArgument(f"the store's get({key!r}) gave a {type(value).__name__}, expected bytes")
    return bytes(value)


class _StoreCalls:
    """A store as two C functions. The first exception is kept: C can carry only a number back."""

    def __init__(self, store: Store | None) -> None:
        self._store, self.error = store, None
        self.set, self.get = _library.StoreSet(self._set), _library.StoreGet(self._get)

    def _set(self, user: int | None, key: bytes, value: int, length: int) -> int:
        try:
            self._store.set(key.decode(), ctypes.string_at(value, length))
            return 0
        except BaseException as error:  # ctypes would print it and tell C of success
            self.error = self.error or error
            return 1

    def _get(self, user: int | None, key: bytes, value: int, capacity: int, length: Any, timeout_s: float) -> int:
        try:
            found = _as_bytes(key.decode(), self._store.get(key.decode(), timeout_s))
        except BaseException as error:  # as above
            # Not there yet is an ordinary answer, and C says better who is missing.
            if isinstance(error, TimeoutError) or "DistStoreError" in type(error).__name__:
                return 1
            self.error = self.error or error
            return errors.UNAVAILABLE
        length[0] = len(found)
        ctypes.memmove(value, found, min(len(found), capacity))
        return 0
