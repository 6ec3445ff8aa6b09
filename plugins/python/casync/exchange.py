# SPDX-License-Identifier: Apache-2.0
"""Exact exchanges of arrays, without compression: the same start on every rank, means of metrics.

Each call opens a session for its duration, so it is collective: all ranks call it with the same names, in the same order
of calls. `options` are those of casync.Session (rank, size, rendezvous, token, transport, timeout, store). No step of it
counts for CASYNC_STEPS, and CASYNC_RECORD and CASYNC_TRACE are not for it: they are for the session of a training.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from casync import errors
from casync.copying import CopySession

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from numpy.typing import ArrayLike, NDArray


def broadcast(arrays: Mapping[str, NDArray[Any]], root: int = 0, **options: Any) -> None:
    """Copies rank `root`'s values to all ranks, in place and bit for bit. `arrays`: name -> contiguous, writable numpy
    array of any dtype but objects; all ranks give the same names and sizes. InvalidArgument: an array that is not like
    this, by its name; on every rank, a root that is no rank."""
    with CopySession(**options) as session:
        size = session.size
        for name, array in arrays.items():
            _check_array(name, array)
        if 0 <= root < size:
            _take_from(session, {name: (array, root) for name, array in arrays.items()})
    check_root(root, size)  # after the goodbye: all ranks raise this, and none an abort of another


def check_root(root: int, size: int) -> None:
    """InvalidArgument: `root` is not one of `size` ranks."""
    if not 0 <= root < size:
        raise errors.InvalidArgument(f"root is {root}: the ranks are 0 to {size - 1}")


def gather(array: ArrayLike, **options: Any) -> list[NDArray[Any]]:
    """The arrays of all ranks, by rank: all of the same shape and dtype."""
    array = numpy.array(array)  # of no dimensions, too, which ascontiguousarray() gives one
    with CopySession(**options) as session:
        _check_array("to be gathered", array)
        rows = [array.copy() for _ in range(session.size)]
        _take_from(session, {f"rank {rank}": (row, rank) for rank, row in enumerate(rows)})
    return rows


def average(values: Mapping[str, ArrayLike], **options: Any) -> dict[str, NDArray[numpy.float64]]:
    """The mean over the ranks of numbers or arrays: name -> float64 array of the same shape. Computed in the order of
    the ranks, so it is the same on all of them. All ranks give the same names and shapes."""
    names = sorted(values)
    arrays = [numpy.asarray(values[name], numpy.float64) for name in names]
    with CopySession(**options) as session:
        rows = {}
        for name, array in zip(names, arrays):
            for rank in range(session.size):
                rows[f"{name} of rank {rank}"] = (array.reshape(-1).copy(), rank)
        _take_from(session, rows)
        size = session.size
    means = {}
    for name, array in zip(names, arrays):
        total = sum(rows[f"{name} of rank {rank}"][0] for rank in range(size))
        means[name] = (total / size).reshape(array.shape)
    return means


def _check_array(name: str, array: NDArray[Any]) -> None:
    """In the session, so that the other ranks hear at once that this one goes."""
    if not isinstance(array, numpy.ndarray):
        raise errors.InvalidArgument(f"array {name} is a {type(array).__name__}, not a numpy array")
    if array.dtype.hasobject:
        raise errors.InvalidArgument(f"array {name} is of objects, whose bytes mean nothing elsewhere")
    if not array.flags.writeable:
        raise errors.InvalidArgument(f"array {name} is read-only, and is written in place")


def _take_from(session: CopySession, arrays: Mapping[str, tuple[NDArray[Any], int]]) -> None:
    """name -> (array, rank): gives every rank that rank's array. It is a sum in which only one rank is not zero, of
    sixteen bits at a time as float32, which holds them exactly: summed as they are, -0.0, NaN and integers would not
    arrive as they were."""
    words = {name: _words(array) for name, (array, _) in arrays.items()}
    ids = {name: session.declare(name, array.shape) for name, array in words.items()}
    for name, (_, rank) in arrays.items():
        if session.rank != rank:
            words[name][:] = 0
        session.submit(ids[name], words[name])
    session.step()
    for name, (array, _) in arrays.items():
        raw = words[name].astype(numpy.uint16).view(numpy.uint8)[: array.nbytes]
        array[...] = raw.view(array.dtype).reshape(array.shape)


def _words(array: NDArray[Any]) -> NDArray[numpy.float32]:
    raw = numpy.ascontiguousarray(array).reshape(-1).view(numpy.uint8)
    even = numpy.zeros(raw.size + raw.size % 2, numpy.uint8)
    even[: raw.size] = raw
    return even.view(numpy.uint16).astype(numpy.float32)
