# SPDX-License-Identifier: Apache-2.0
"""The requirements on a gradient's memory that is handed to C."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING

import numpy

from casync import _library, errors

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, NoReturn

    from numpy.typing import DTypeLike, NDArray

_NUMPY = {"float32": ("float32",), "float16": ("float16",), "bfloat16": ("bfloat16", "uint16")}
_MOST_ELEMENTS = 2**32


def priority_of(name: str, priority: int | None) -> int:
    """The priority as C takes it, which has 32 bits; None: 0."""
    number = _whole(name, "priority", 0 if priority is None else priority)
    if not -(2**31) <= number < 2**31:
        raise errors.InvalidArgument(f"gradient {name}: priority {number}, expected -2147483648 to 2147483647")
    return number


def _whole(name: str, what: str, value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise errors.InvalidArgument(f"gradient {name}: {what} {value!r}, expected a whole number") from None


class Gradient:
    """A declared gradient: name, shape and dtype."""

    def __init__(self, name: str, shape: int | Iterable[int], dtype: DTypeLike) -> None:
        if "\0" in name:
            raise errors.InvalidArgument(f"the gradient's name is {name!r}, which has a NUL")
        try:
            name.encode()
        except UnicodeEncodeError:
            raise errors.InvalidArgument(f"the gradient's name is {name!r}, which is not UTF-8") from None
        self.name = name
        extents = (shape,) if isinstance(shape, (int, numpy.integer)) else shape
        self.shape = tuple(_whole(name, "an extent of", extent) for extent in extents)
        self.dtype = dtype if isinstance(dtype, str) else numpy.dtype(dtype).name
        if self.dtype not in _library.DTYPES:
            raise errors.InvalidArgument(f"gradient {name}: dtype {self.dtype}; can be {', '.join(_library.DTYPES)}")
        if any(extent < 0 for extent in self.shape):
            raise errors.InvalidArgument(f"gradient {name}: shape {self.shape} has a negative extent")
        if math.prod(self.shape) > _MOST_ELEMENTS:  # C would take an extent of over 64 bits for a small one
            raise errors.InvalidArgument(f"gradient {name}: shape {self.shape} has over 2^32 elements")

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * (4 if self.dtype == "float32" else 2)

    def memory_of(self, array: NDArray[Any]) -> tuple[int, int]:
        """Address and bytes of an array that can be this gradient; InvalidArgument says what is wrong with it."""
        if not isinstance(array, numpy.ndarray):
            self._refuse(f"got {type(array).__name__}, not a numpy array")
        if array.dtype.name not in _NUMPY[self.dtype] or not array.dtype.isnative:
            self._refuse(f"got an array of {array.dtype.str} ({array.dtype.name}), it was declared {self.dtype}")
        if array.size != math.prod(self.shape):
            self._refuse(f"got an array of shape {array.shape}, it was declared {self.shape}")
        if not array.flags.c_contiguous:
            self._refuse("got an array that is not contiguous: numpy.ascontiguousarray makes a copy that is")
        if not array.flags.writeable:
            self._refuse("got a read-only array, and the result is written in place")
        return array.ctypes.data, array.nbytes

    def _refuse(self, why: str) -> NoReturn:
        raise errors.InvalidArgument(f"gradient {self.name}: {why}")
