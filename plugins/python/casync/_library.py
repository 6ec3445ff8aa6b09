# SPDX-License-Identifier: Apache-2.0
"""libcasync.so through ctypes: the mirror of plugins/c_api/casync.h, and nothing else.

ctypes releases the interpreter's lock during each call, so a rank that waits here does not stop its other threads.
"""

from __future__ import annotations

import ctypes
import functools
import os
import pathlib
from ctypes import POINTER, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from typing import TYPE_CHECKING

from casync import _ucx, errors

if TYPE_CHECKING:
    from collections.abc import Mapping

ABI_VERSION = 1
DTYPES = {"float32": 1, "float16": 2, "bfloat16": 3}

# Handed to C in both directions, so the arguments are plain addresses and lengths.
StoreSet = ctypes.CFUNCTYPE(c_int, c_void_p, c_char_p, c_void_p, c_size_t)
StoreGet = ctypes.CFUNCTYPE(c_int, c_void_p, c_char_p, c_void_p, c_size_t, POINTER(c_size_t), c_double)


class Parameter(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("value", c_double)]


class SessionOptions(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("rank", c_int32),
        ("size", c_int32),
        ("rendezvous", c_char_p),
        ("token", c_char_p),
        ("plan", c_char_p),
        ("codec", c_char_p),
        ("parameters", POINTER(Parameter)),
        ("parameter_count", c_size_t),
        ("transport", c_char_p),
        ("op", c_char_p),
        ("timeout_s", c_double),
        ("trace", c_char_p),
        ("store_set", StoreSet),
        ("store_get", StoreGet),
        ("store_user", c_void_p),
        ("device", c_char_p),
    ]


# Called from a thread of the library; ctypes takes the interpreter's lock for it.
Completion = ctypes.CFUNCTYPE(None, c_void_p, c_uint64, c_int, c_char_p)
CPU, CUDA = 0, 1


class Submission(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("gradient", c_uint32),
        ("device", c_int32),
        ("device_index", c_int32),
        ("reserved", c_int32),
        ("stream", c_void_p),
        ("ready", c_void_p),
        ("data", c_void_p),
        ("bytes", c_size_t),
        ("done", Completion),
        ("user", c_void_p),
    ]


# Argument types of every function that returns a casync_status.
_STATUS_FUNCTIONS = {
    "casync_session_open": [POINTER(SessionOptions), POINTER(c_void_p)],
    "casync_session_rank": [c_void_p, POINTER(c_int32), POINTER(c_int32)],
    "casync_session_timeout": [c_void_p, POINTER(c_double)],
    "casync_session_declare": [c_void_p, c_char_p, c_int, POINTER(c_int64), c_size_t, c_int32, POINTER(c_uint32)],
    "casync_session_declare_scattered": [
        c_void_p,
        c_char_p,
        c_int,
        POINTER(c_int64),
        c_size_t,
        c_int32,
        POINTER(c_uint32),
    ],
    "casync_session_declare_copied": [c_void_p, c_char_p, c_size_t, c_int32, POINTER(c_uint32)],
    "casync_session_submit": [
        c_void_p,
        c_size_t,
        POINTER(c_uint32),
        POINTER(c_void_p),
        POINTER(c_size_t),
        POINTER(c_uint64),
    ],
    "casync_session_submit_each": [c_void_p, c_size_t, POINTER(Submission), POINTER(c_uint64)],
    "casync_session_exchanged": [c_void_p, POINTER(c_int32)],
    "casync_session_begin_consensus": [c_void_p],
    "casync_session_end_submissions": [c_void_p],
    "casync_session_wait": [c_void_p, c_uint64, c_double],
    "casync_session_wait_hidden": [c_void_p, c_uint64, c_double],
    "casync_session_note_exposed": [c_void_p, c_uint64, c_double],
    "casync_session_done": [c_void_p, c_uint64, POINTER(c_int32)],
    "casync_session_step": [c_void_p, POINTER(c_int32), c_char_p, c_size_t],
    "casync_session_stats": [c_void_p, c_char_p, c_size_t, POINTER(c_size_t)],
    "casync_session_state": [c_void_p, c_char_p, c_size_t, POINTER(c_size_t)],
    "casync_session_state_get": [c_void_p, c_char_p, c_void_p, c_size_t],
    "casync_session_state_set": [c_void_p, c_char_p, c_char_p, c_void_p, c_size_t, c_uint32],
    "casync_session_abort": [c_void_p, c_char_p],
    "casync_session_close": [c_void_p],
    "casync_log_begin": [c_int],
    "casync_log_next": [c_double, POINTER(c_int), c_char_p, c_size_t, POINTER(c_size_t)],
    "casync_log_end": [],
    "casync_plan_check": [c_char_p],
    "casync_codec_open": [c_char_p, POINTER(Parameter), c_size_t, POINTER(c_void_p)],
    "casync_codec_bound": [c_void_p, c_size_t, POINTER(c_size_t)],
    "casync_codec_encode": [
        c_void_p,
        c_void_p,
        c_size_t,
        c_void_p,
        c_void_p,
        c_uint64,
        c_uint32,
        c_void_p,
        c_size_t,
        POINTER(c_size_t),
    ],
    "casync_codec_decode": [c_void_p, c_void_p, c_size_t, c_void_p, c_size_t],
    "casync_codec_result": [c_void_p, c_void_p, c_size_t, c_void_p, c_void_p, c_void_p],
    "casync_codec_merge": [
        c_void_p,
        c_size_t,
        POINTER(c_void_p),
        POINTER(c_size_t),
        c_size_t,
        c_void_p,
        c_size_t,
        POINTER(c_size_t),
    ],
    "casync_codec_info": [c_void_p, c_char_p, c_size_t, POINTER(c_size_t)],
}
_OTHER_FUNCTIONS = {
    "casync_abi_version": (c_uint32, []),
    "casync_version": (c_char_p, []),
    "casync_last_error": (c_char_p, []),
    "casync_codec_names": (c_char_p, []),
    "casync_session_free": (None, [c_void_p]),
    "casync_codec_free": (None, [c_void_p]),
}


def path() -> pathlib.Path:
    """Not resolved: the library finds its modules beside the path it was loaded by."""
    return pathlib.Path(__file__).parent / "lib" / "libcasync.so"


@functools.lru_cache(maxsize=None)
def load() -> ctypes.CDLL:
    """The library, loaded once and with all types declared. Raises Unavailable when it is absent or another version."""
    file = path()
    _ucx.load_from_elsewhere()
    try:
        library = ctypes.CDLL(str(file))
    except OSError as cause:
        raise errors.Unavailable(
            f"{file} cannot be loaded ({cause}): install the wheel, or put <build folder>/python on PYTHONPATH"
        ) from cause
    for name, arguments in _STATUS_FUNCTIONS.items():
        getattr(library, name).argtypes = arguments
        getattr(library, name).restype = c_int
    for name, (result, arguments) in _OTHER_FUNCTIONS.items():
        getattr(library, name).argtypes = arguments
        getattr(library, name).restype = result
    if library.casync_abi_version() != ABI_VERSION:
        raise errors.Unavailable(
            f"{file} speaks version {library.casync_abi_version()} of the C interface, this package {ABI_VERSION}: "
            "install both from one wheel"
        )
    return library


def call(name: str, *arguments: object) -> None:
    """Calls a function that returns a casync_status; raises what it means when it is not OK."""
    library = load()
    status = getattr(library, name)(*arguments)
    if status != 0:
        raise errors.from_status(status, library.casync_last_error().decode(errors="replace"))


def text(name: str, *arguments: object) -> str:
    """Calls a function that fills (char* out, size_t capacity, size_t* length), growing the buffer as needed."""
    length = c_size_t()
    capacity = 4096
    while True:
        buffer = ctypes.create_string_buffer(capacity)
        call(name, *arguments, buffer, capacity, ctypes.byref(length))
        if length.value < capacity:
            return buffer.raw[: length.value].decode()
        capacity = length.value + 1


def c_text(what: str, value: str | bytes | os.PathLike[str]) -> bytes:
    """A str or path as the bytes that C reads, which ends them at a NUL."""
    text = os.fsencode(value)
    if b"\0" in text:
        raise errors.InvalidArgument(f"{what} is {value!r}, which has a NUL")
    return text


def parameters(values: Mapping[str, float]) -> ctypes.Array[Parameter]:
    """A dict of codec parameters as the array C takes. The result owns its strings."""
    array = (Parameter * max(len(values), 1))()
    for slot, (name, value) in zip(array, values.items()):
        if isinstance(value, str):
            raise errors.InvalidArgument(f"parameter {name} is {value!r}: codec parameters are numbers")
        slot.name, slot.value = c_text("a parameter's name", name), float(value)
    return array

