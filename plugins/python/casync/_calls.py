# SPDX-License-Identifier: Apache-2.0
"""Functions of Python that a thread of the library calls when a gradient is done."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from casync import _library, errors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Done = Callable[[int, "Exception | None"], object]


class Calls:
    """Completions that Python waits for, by a number that C carries. Holds no reference to its session."""

    def __init__(self) -> None:
        self._waiting, self._numbers = {}, itertools.count(1)
        self.failed = set()  # handles of submissions that came to nothing
        waiting, failed = self._waiting, self.failed

        def call(user, handle, status, message):
            done, id = waiting.pop(user)
            error = None if status == 0 else errors.from_status(status, (message or b"").decode(errors="replace"))
            if error is not None:
                failed.add(handle)
            done(id, error)  # ctypes prints what it raises

        self.function = _library.Completion(call)

    def add(self, done: Done, id: int) -> int:
        number = next(self._numbers)
        self._waiting[number] = (done, id)
        return number

    def forget(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            self._waiting.pop(number, None)
