# SPDX-License-Identifier: Apache-2.0
"""Hooks on modules that the program may copy."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class ModuleHook:
    """A hook of a module. In a copy of the module, by copy.deepcopy() or pickle, it does nothing."""

    def __init__(self, function: Callable[..., None]) -> None:
        self._function = function

    def __call__(self, *arguments: Any) -> None:
        self._function(*arguments)

    def __reduce__(self) -> tuple[Any, ...]:
        return ModuleHook, (_nothing,)


def _nothing(*_: object) -> None:
    pass
