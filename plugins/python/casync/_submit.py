# SPDX-License-Identifier: Apache-2.0
"""Submissions as C takes them."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

from casync import _library

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from casync._calls import Calls, Done

NOT_STARTED = 2**64 - 1  # in place of a handle


def handles(count: int) -> ctypes.Array[ctypes.c_uint64]:
    """Places for the handles of so many submissions, none of which has been started."""
    return (ctypes.c_uint64 * max(count, 1))(*[NOT_STARTED] * count)


def plain(ids: Sequence[int], addresses: Sequence[int], sizes: Sequence[int]) -> tuple[Any, ...]:
    """Arguments of casync_session_submit, between the session and the handles."""
    count = len(ids)
    return (
        count,
        (ctypes.c_uint32 * max(count, 1))(*ids),
        (ctypes.c_void_p * max(count, 1))(*addresses),
        (ctypes.c_size_t * max(count, 1))(*sizes),
    )


def each(
    ids: Sequence[int],
    addresses: Sequence[int],
    sizes: Sequence[int],
    on_gpu: bool,
    stream: int | None,
    done: Done | None,
    calls: Calls,
) -> tuple[ctypes.Array[_library.Submission], list[int]]:
    """The array of casync_session_submit_each, and the numbers of `done` among the calls."""
    submissions = (_library.Submission * max(len(ids), 1))()
    keys = []
    for slot, id, address, size in zip(submissions, ids, addresses, sizes):
        slot.struct_size = ctypes.sizeof(_library.Submission)
        slot.gradient, slot.data, slot.bytes = id, address, size
        slot.device = _library.CUDA if on_gpu else _library.CPU
        slot.stream = stream
        if done is not None:
            keys.append(calls.add(done, id))
            slot.done, slot.user = calls.function, keys[-1]
    return submissions, keys
