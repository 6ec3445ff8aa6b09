# SPDX-License-Identifier: Apache-2.0
"""Reductions of the values of all ranks, one after the other by rank: every rank computes the same bits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import torch.distributed as dist

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

_FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
_WHOLE = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool)
_OPERATIONS: tuple[tuple[Any, tuple[torch.dtype, ...], Callable[..., torch.Tensor]], ...] = (  # and the types that they take
    (dist.ReduceOp.SUM, _FLOATS + _WHOLE, torch.add),
    (dist.ReduceOp.AVG, _FLOATS, torch.add),
    (dist.ReduceOp.PRODUCT, _FLOATS + _WHOLE, torch.mul),
    (dist.ReduceOp.MIN, _FLOATS + _WHOLE, torch.minimum),
    (dist.ReduceOp.MAX, _FLOATS + _WHOLE, torch.maximum),
    (dist.ReduceOp.BAND, _WHOLE, torch.bitwise_and),
    (dist.ReduceOp.BOR, _WHOLE, torch.bitwise_or),
    (dist.ReduceOp.BXOR, _WHOLE, torch.bitwise_xor),
)


def name_of(op: Any, dtype: torch.dtype) -> str | None:
    """None: no operation for such values here."""
    return next((kind.name for kind, dtypes, _ in _OPERATIONS if op == kind and dtype in dtypes), None)


def reduced(rows: Sequence[torch.Tensor], op: Any) -> torch.Tensor:
    """The reduction of the values of all ranks, in new memory."""
    into = next(function for kind, _, function in _OPERATIONS if op == kind)
    result = rows[0].clone()
    for row in rows[1:]:
        into(result, row, out=result)
    return result.div_(len(rows)) if op == dist.ReduceOp.AVG else result
