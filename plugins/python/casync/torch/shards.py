# SPDX-License-Identifier: Apache-2.0
"""Flat tensors of which each rank keeps one shard of the result."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from casync import errors

if TYPE_CHECKING:
    from collections.abc import Iterable

    import torch

    from casync.synchronizer import Synchronizer

_log = logging.getLogger("casync")
_said: set[str] = set()  # the reasons that this process has given


def check_output(name: str, output: torch.Tensor, input: torch.Tensor, size: int) -> None:
    """InvalidArgument: `output` is no shard of `input`."""
    if output.numel() * size != input.numel() or output.dtype != input.dtype:
        raise errors.InvalidArgument(
            f"{name}: the output has {output.numel()} elements of {output.dtype}, expected a {size}th of the input's"
        )


def declare(
    synchronizer: Synchronizer, name: str, shape: Iterable[int], dtype: str, priority: int | None = None
) -> int:
    """Declares a gradient that is reduced and scattered. Where the session's plan, device or transport cannot do that, on
    all ranks alike, every rank gets all of the result, with twice the bytes, and rank 0 says so once."""
    return declare_shards(synchronizer, name, shape, dtype, priority)[0]


def declare_shards(
    synchronizer: Synchronizer, name: str, shape: Iterable[int], dtype: str, priority: int | None = None
) -> tuple[int, bool]:
    """The same; also returns False if every rank gets all of the result."""
    shape = tuple(shape)
    try:
        return synchronizer.declare(name, shape, dtype, priority, scatter=True), True
    except (errors.PlanError, errors.Unavailable) as why:
        identity = synchronizer.declare(name, shape, dtype, priority)
        reason = str(why).split(": ", 1)[-1]
        if synchronizer.rank == 0 and reason not in _said:
            _said.add(reason)
            _log.warning("%s is reduced for all ranks, and not scattered: %s", name, reason)
        return identity, False


def own_shard(tensor: torch.Tensor, rank: int, size: int) -> torch.Tensor:
    """The part of a flat tensor that `rank` keeps: shards are equal, in rank order."""
    return tensor.view(size, -1)[rank]
