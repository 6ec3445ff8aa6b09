# SPDX-License-Identifier: Apache-2.0
"""Sums and averages of large tensors outside of a backward pass, for a process group: uncompressed, and the same bits on
every rank. Owners of partitions add in the order of the ranks, half precision in float32, which is rounded once."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import torch
import torch.distributed as dist

from casync.torch import naming, shards
from casync.torch.lane import Part
from casync.torch.payloads import copy_bytes, put, size_of, words_of

if TYPE_CHECKING:
    from typing import Any

    from casync.copying import CopySession


def takes(op: Any, dtype: torch.dtype) -> bool:
    """Returns true if the session adds such values."""
    return naming.is_synchronized(dtype) and (op == dist.ReduceOp.SUM or op == dist.ReduceOp.AVG)


@dataclasses.dataclass
class Sum(Part):
    """Memory whose elements are added up: every rank gets all of the result, or its own shard."""

    dtype: torch.dtype
    scatter: bool

    def declare(self, session: CopySession) -> int:
        elements = self.memory.view(self.dtype)
        return session.declare(self.name, elements.numel(), naming.dtype_name(elements, self.name), scatter=self.scatter)


def reduced(name: str, tensor: torch.Tensor, op: Any, size: int) -> Sum:
    """The sum (or mean, by `op`) of all ranks' `tensor`, in place."""
    memory = words_of(tensor)
    buffer = torch.empty(size_of(tensor), dtype=torch.uint8) if memory is None else memory

    def fill() -> None:
        if memory is None:
            copy_bytes(buffer, tensor)

    def land() -> None:
        if op == dist.ReduceOp.AVG:
            buffer.view(tensor.dtype).div_(size)
        if memory is None:
            put(tensor, buffer)

    return Sum(name, buffer, None, fill, land, tensor.dtype, scatter=False)


def scattered(
    name: str, output: torch.Tensor, input: torch.Tensor, op: Any, place: tuple[int, int], asynchronous: bool
) -> Sum:
    """The sum (or mean, by `op`) of all ranks' `input`. `output` gets the shard of this rank; `place` is (rank, number of
    ranks). `input` keeps its values; if the call is `asynchronous`, also while it is under way."""
    memory = None if asynchronous else words_of(input)
    buffer = torch.empty(size_of(input), dtype=torch.uint8) if memory is None else memory
    mine = shards.own_shard(buffer.view(input.dtype), *place)
    is_output = mine.data_ptr() == output.data_ptr()
    kept: list[torch.Tensor] = []

    def fill() -> None:
        if memory is None:
            copy_bytes(buffer, input)
        elif not is_output:
            kept.append(mine.clone())

    def land() -> None:
        if op == dist.ReduceOp.AVG:
            mine.div_(place[1])
        if is_output:
            return
        output.detach().copy_(mine.view_as(output))
        if kept:
            mine.copy_(kept.pop())

    return Sum(name, buffer, None, fill, land, input.dtype, scatter=True)
