# SPDX-License-Identifier: Apache-2.0
"""Ranks of one node that share the work: they reduce gradients among themselves through a process group of PyTorch (NCCL
on GPUs), and each takes one part of every gradient to the ranks of the other nodes that have the same part.

    mesh = init_device_mesh("cuda", (nodes, gpus), mesh_dim_names=("nodes", "local"))
    State(codec="int4", process_group=mesh.get_group("nodes"), local_group=mesh.get_group("local"))
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import torch.distributed as dist

from casync import errors
from casync.session import StepResult

if TYPE_CHECKING:
    from collections.abc import Sequence

# Newer names come first: where torch has both, it warns of the older ones.
_reduce_scatter = getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor
_all_gather = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor

_FINITE = -1  # in place of the position of a gradient that is not


class Node:
    """The ranks of `group`. A gradient of n elements has parts of ceil(n / ranks) elements, in rank order; the last ones
    are padded with zeros.

    Calls are in the same order on all ranks of the group, because each is one collective: reduce() for each bucket of a
    backward pass, in DDP's order, and at its end gather() for each bucket and agree().
    """

    def __init__(self, group: dist.ProcessGroup) -> None:
        self._group, self.size = group, dist.get_world_size(group)

    def check(self, across: dist.ProcessGroup | None, job: dist.ProcessGroup | None) -> None:
        """InvalidArgument: the ranks of the node and those of `across`, which hold the same part, do not divide the ranks
        of `job` into rows and columns."""
        within, same, ranks = (dist.get_process_group_ranks(group) for group in (self._group, across, job))
        if set(within) & set(same) != {dist.get_rank()} or len(within) * len(same) != len(ranks):
            raise errors.InvalidArgument(
                f"local_group has the ranks {within}, process_group the ranks {same}, and {len(ranks)} ranks train: expected "
                'the ranks of a node and those with the same place in all nodes, such as mesh.get_group("local") and '
                'mesh.get_group("nodes") of a mesh of nodes x local'
            )

    def part_of(self, elements: int) -> int:
        """The elements of a part of a gradient."""
        return -(-elements // self.size)

    def reduce(self, bucket: torch.Tensor, elements: Sequence[int]) -> torch.Tensor:
        """Returns the mean over the node's ranks of this rank's parts of the bucket's gradients, one after another, which
        have so many elements each."""
        rows = bucket.new_empty(self.size, sum(map(self.part_of, elements)))
        gradients = [gradient for gradient in bucket.split(list(elements)) if gradient.numel() != 0]
        if gradients:
            torch._chunk_cat(gradients, dim=0, num_chunks=self.size, out=rows)
        rows.div_(self.size)  # ahead of the sum, which could be beyond float16
        part = bucket.new_empty(rows.shape[1])
        _reduce_scatter(part, rows.view(-1), group=self._group)
        return part

    def gather(self, part: torch.Tensor, bucket: torch.Tensor, elements: Sequence[int]) -> None:
        """Brings the parts of all ranks into the bucket."""
        if part.is_cuda:
            part.record_stream(torch.cuda.current_stream(part.device))  # it may come from another one
        rows = part.new_empty(self.size, part.numel())
        _all_gather(rows.view(-1), part, group=self._group)
        into, out_of, begin = [], [], 0
        for gradient, count in zip(bucket.split(list(elements)), elements):
            length = self.part_of(count)
            columns, full = rows[:, begin : begin + length], count // length if length else 0
            into += [gradient[: full * length].view(full, length), gradient[full * length :]]
            out_of += [columns[:full], columns[full:].flatten()[: count - full * length]]
            begin += length
        with torch.no_grad():
            torch._foreach_copy_(into, out_of)

    def agree(self, step: StepResult, names: Sequence[str], device: torch.device) -> StepResult:
        """The same answer on all ranks of the node: not finite if a part of one of them is not. `names` are those of all
        gradients, in the same order on all ranks."""
        known = {name: place for place, name in enumerate(names)}
        own = _FINITE if step.finite else known.get(step.first_non_finite, len(names))
        answers = torch.empty(self.size, dtype=torch.int64, device=device)
        _all_gather(answers, torch.tensor([own], dtype=torch.int64, device=device), group=self._group)
        broken = [answer for answer in answers.tolist() if answer != _FINITE]
        if not broken:
            return step
        first = min(broken)
        return StepResult(False, names[first] if first < len(names) else None)
