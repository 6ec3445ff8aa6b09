# SPDX-License-Identifier: Apache-2.0
"""Scalars of a state's steps, for TensorBoard and its like."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from casync import errors

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


class ScalarWriter(Protocol):
    """The target of log_to()."""

    def add_scalar(self, tag: str, value: float, step: int, /) -> object: ...


class Scalars:
    """Counts steps, and writes means over each `every` of them."""

    def __init__(self) -> None:
        self._writer: ScalarWriter | None = None
        self._every, self._steps = 1, 0
        self._logged: tuple[float, ...] | None = None  # the counters when scalars were written last

    def log_to(self, writer: ScalarWriter, every: int) -> None:
        if every < 1:
            raise errors.InvalidArgument(f"every is {every}, expected 1 or more steps")
        self._writer, self._every, self._logged = writer, every, None

    def end_step(self, stats: Callable[[], Mapping[str, Any]], finite: bool) -> None:
        """After a step; `stats` are those of State.stats()."""
        self._steps += 1
        if self._writer is None or self._steps % self._every != 0:
            return
        now = stats()
        values = (self._steps, now["waiting_s"], now["synchronizing_s"], now["wire_bytes_sent"])
        steps, *since = (value - then for value, then in zip(values, self._logged or (0, 0, 0, 0)))
        self._logged = values
        for tag, value in zip(("exposed_ms", "synchronizing_ms", "sent_mb"), since):
            self._writer.add_scalar(f"casync/{tag}", value / steps * (1e-6 if tag == "sent_mb" else 1e3), self._steps)
        self._writer.add_scalar("casync/finite", float(finite), self._steps)
