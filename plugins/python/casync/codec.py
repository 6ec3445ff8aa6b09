# SPDX-License-Identifier: Apache-2.0
"""A compression algorithm by itself: bytes from floats and back, as the session does it inside a step."""

from __future__ import annotations

import ctypes
import functools
import json
import os
from typing import TYPE_CHECKING

import numpy

from casync import _library, errors

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from numpy.typing import ArrayLike, NDArray


def codecs() -> list[str]:
    """Names that `Codec` and `Session(codec=...)` take."""
    return _library.load().casync_codec_names().decode().split()


class CodecState:
    """The state that a codec keeps of n elements from one encoding to the next: with error feedback the residual of
    earlier encodings, which is added to the next. Codecs with several such arrays make them with their first encoding:
    `residual` then has a row for each."""

    def __init__(self, elements: int) -> None:
        self.residual = numpy.zeros(elements, numpy.float32)
        self._fresh = True

    def _begin(self, initial: list[float]) -> None:
        if self._fresh and len(initial) > 1:
            self.residual = numpy.repeat(numpy.array(initial, numpy.float32)[:, None], self.residual.size, axis=1)
        elif self._fresh and initial and not self.residual.any():
            self.residual.fill(initial[0])
        self._fresh = False


class Codec:
    """An algorithm with its parameters, e.g. `Codec("int8", block=64)`, or a program's file, `Codec("mine.cll")`, or
    two that make one program, `Codec(["encode.pse", "decode.pse"])`. Immutable; any thread may use it. Raises CompileError when the file does not compile."""

    def __init__(self, name: str | os.PathLike[str] | Iterable[str | os.PathLike[str]], **parameters: float) -> None:
        self._handle = ctypes.c_void_p()
        files = [name] if isinstance(name, (str, bytes, os.PathLike)) else list(name)
        self.name, self.parameters = "+".join(os.fsdecode(file) for file in files), parameters
        _library.call(
            "casync_codec_open",
            _library.c_text("the codec's name", self.name),
            _library.parameters(parameters),
            len(parameters),
            ctypes.byref(self._handle),
        )

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            _library.load().casync_codec_free(self._handle)

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy is opened again, by its name and parameters."""
        return functools.partial(Codec, **self.parameters), (self.name,)

    def __repr__(self) -> str:
        return f"Codec({', '.join([repr(self.name), *(f'{k}={v}' for k, v in self.parameters.items())])})"

    def bound(self, n: int) -> int:
        """Bytes that hold any encoding of n elements."""
        size = ctypes.c_size_t()
        _library.call("casync_codec_bound", self._handle, _count(n), ctypes.byref(size))
        return size.value

    def encode(
        self, x: ArrayLike, state: CodecState | NDArray[numpy.float32] | None = None, seed: int = 0, step: int = 0
    ) -> bytes:
        """The payload of x, any array of float32. `state` is a CodecState, or a float32 array as long as x, contiguous
        and writable, with a row for each of `info()["states"]` where there are several. Error feedback adds it to x first
        and leaves in it what the payload leaves out. It stays as it was when x is not finite."""
        x = numpy.ascontiguousarray(x, numpy.float32).reshape(-1)
        before, after = self._residuals(x, state)
        payload = ctypes.create_string_buffer(max(self.bound(x.size), 1))
        size = ctypes.c_size_t()
        _library.call(
            "casync_codec_encode",
            self._handle,
            _address(x),
            x.size,
            _address(before),
            _address(after),
            _whole("seed", seed, 64),
            _whole("step", step, 32),
            payload,
            len(payload),
            ctypes.byref(size),
        )
        if before is not None:
            before[:] = after  # of an x that is not finite C has made `after` a copy of `before`
        return payload.raw[: size.value]

    def decode(self, payload: bytes | bytearray | memoryview, n: int) -> NDArray[numpy.float32]:
        """The n float32 that the payload stands for. Raises DataLoss when it is no encoding of n elements."""
        self.bound(n)  # refuses a size that no codec has, so no memory for it is asked for
        out = numpy.empty(n, numpy.float32)
        payload = bytes(payload)
        _library.call("casync_codec_decode", self._handle, payload, len(payload), _address(out), out.size)
        return out

    def result(self, decoded: ArrayLike, state: CodecState | NDArray[numpy.float32]) -> NDArray[numpy.float32]:
        """The elements that were encoded, of a codec that encodes differences (`info()["has_result"]`), from the decoded
        ones. `state` is a CodecState of the one who decodes, or an array like that of `encode`: it holds the elements of the
        last result, and those of this one afterwards. It stays as it was when `decoded` is not finite."""
        decoded = numpy.ascontiguousarray(decoded, numpy.float32).reshape(-1)
        if state is None:
            raise errors.InvalidArgument(f"state must be a casync.CodecState or a float32 array, and is {_kind(state)}")
        before, after = self._residuals(decoded, state)
        out = numpy.empty_like(decoded)
        _library.call(
            "casync_codec_result",
            self._handle,
            _address(decoded),
            decoded.size,
            _address(before),
            _address(after),
            _address(out),
        )
        before[:] = after
        return out

    def merge(self, payloads: Iterable[bytes | bytearray | memoryview], n: int) -> bytes:
        """The payload of the sum of what these payloads, of n elements each, stand for."""
        payloads = [bytes(payload) for payload in payloads]
        pointers = (ctypes.c_void_p * max(len(payloads), 1))()
        for slot, payload in enumerate(payloads):
            pointers[slot] = ctypes.cast(ctypes.c_char_p(payload), ctypes.c_void_p)
        sizes = (ctypes.c_size_t * max(len(payloads), 1))(*map(len, payloads))
        merged = ctypes.create_string_buffer(max(self.bound(n), 1))
        size = ctypes.c_size_t()
        _library.call(
            "casync_codec_merge",
            self._handle,
            len(payloads),
            pointers,
            sizes,
            _count(n),
            merged,
            len(merged),
            ctypes.byref(size),
        )
        return merged.raw[: size.value]

    def info(self) -> dict[str, Any]:
        """The codec's own declaration, as a dict."""
        return json.loads(_library.text("casync_codec_info", self._handle))

    def _residuals(
        self, x: NDArray[numpy.float32], state: CodecState | NDArray[numpy.float32] | None
    ) -> tuple[Any, Any]:
        """The kept state, and the array for the next one: the codec reads one while it writes the other."""
        if state is None:
            return None, None
        initial = self.info()["states"]
        if isinstance(state, CodecState) and state._fresh and state.residual.shape == x.shape:
            state._begin(initial)
        residual = state.residual if isinstance(state, CodecState) else state
        if not isinstance(residual, numpy.ndarray) or residual.dtype != numpy.float32:
            raise errors.InvalidArgument(f"state must be a casync.CodecState or a float32 array, and is {_kind(state)}")
        wanted = (len(initial), x.size) if len(initial) > 1 else (x.size,)
        if residual.shape != wanted:
            rows = f" for each of {len(initial)} rows" if len(initial) > 1 else ""
            raise errors.InvalidArgument(f"state holds {residual.size} elements, x has {x.size}{rows}")
        if not residual.flags.c_contiguous or not residual.flags.writeable:
            fault = "read-only" if residual.flags.c_contiguous else "not contiguous"
            raise errors.InvalidArgument(f"state is {fault}, and has to be contiguous and writable")
        return residual, numpy.empty_like(residual)


def _kind(state: object) -> str:
    return f"an array of {state.dtype}" if isinstance(state, numpy.ndarray) else f"a {type(state).__name__}"


def _address(array: NDArray[Any] | None) -> int | None:
    return None if array is None else array.ctypes.data


def _whole(what: str, number: int, bits: int) -> int:
    """A number that C does not take for another one."""
    if not 0 <= number < 2**bits:
        raise errors.InvalidArgument(f"{what} is {number}, expected 0 to 2^{bits} - 1")
    return number


def _count(n: int) -> int:
    if n < 0:
        raise errors.InvalidArgument(f"the number of elements is {n}, expected 0 or more")
    if n >= 2**63:  # a C function would take it for a small one
        raise errors.InvalidArgument(f"the number of elements is {n}, expected less than 2^63")
    return n
