# SPDX-License-Identifier: Apache-2.0
"""A process group whose gradients CaSync averages: init_process_group("cpu:casync"), new_group(ranks, backend="casync").

Sums and averages of floating point tensors inside of a backward pass are gradients: they go through a session, under the
plan's codecs. All else, such as broadcasts, all-gathers of parameters and sums of metrics, must arrive exactly and is
Gloo's.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import _create_work_from_future

from casync import errors
from casync.launch import TorchStore
from casync.synchronizer import Synchronizer
from casync.torch import naming, shards

if TYPE_CHECKING:
    import datetime
    import os
    from collections.abc import Callable
    from typing import Any

    from casync.codec import Codec

_DTYPES = (torch.float32, torch.float16, torch.bfloat16)


def register_backend(
    name: str = "casync",
    plan: str | os.PathLike[str] | None = None,
    codec: str | os.PathLike[str] | Codec | None = None,
    **options: Any,
) -> None:
    """Makes a backend `name` known to torch.distributed. Import of casync.torch registers "casync", which takes plan and
    codec from CASYNC_PLAN and CASYNC_CODEC; register another name for other arguments, those of casync.Session."""
    create = functools.partial(_create, dict(plan=plan, codec=codec, **options))
    dist.Backend.register_backend(name, create, devices=["cpu", "cuda"])


def _create(
    options: dict[str, Any], store: dist.Store, rank: int, size: int, timeout: datetime.timedelta
) -> ProcessGroupCasync:
    return ProcessGroupCasync(options, store, rank, size, timeout)


class ProcessGroupCasync(dist.ProcessGroup):
    """All ranks call the same collectives in the same order, as in any process group."""

    def __init__(
        self, options: dict[str, Any], store: dist.Store, rank: int, size: int, timeout: datetime.timedelta
    ) -> None:
        super().__init__(rank, size)
        self._exact = dist.ProcessGroup(rank, size)
        gloo = dist.ProcessGroupGloo(dist.PrefixStore("gloo", store), rank, size, timeout)
        for group in (self, self._exact):
            group._register_backend(torch.device("cpu"), dist.ProcessGroup.BackendType.GLOO, gloo)
            group._set_default_backend(dist.ProcessGroup.BackendType.GLOO)
        options = {"timeout": timeout.total_seconds(), **options}
        meeting = TorchStore(dist.PrefixStore("casync", store), rank, size)
        self._open = functools.partial(Synchronizer, store=meeting, **options)
        self._synchronizer = None
        self._ordinal = 0  # of the next gradient in this backward pass

    def getBackendName(self) -> str:
        return "casync"

    def allreduce(self, tensors: list[torch.Tensor], options: Any = None) -> dist.Work:
        options = options or dist.AllreduceOptions()
        if len(tensors) != 1 or not self._is_gradient(tensors[0], options.reduceOp):
            return self._exact.allreduce(tensors, options)
        return self._reduce("all_reduce", tensors[0], options.reduceOp, lambda: list(tensors))

    def _reduce_scatter_base(self, output: torch.Tensor, input: torch.Tensor, options: Any = None) -> dist.Work:
        options = options or dist.ReduceScatterOptions()
        if not self._is_gradient(input, options.reduceOp):
            return self._exact._reduce_scatter_base(output, input, options)
        everything = input.clone()
        mine = shards.own_shard(everything, self.rank(), self.size())

        def keep_mine() -> torch.Tensor:
            output.copy_(mine.view_as(output))
            return output

        return self._reduce("reduce_scatter", everything, options.reduceOp, keep_mine, mine)

    def reduce_scatter_single(self, output: torch.Tensor, input: torch.Tensor, options: Any = None) -> dist.Work:
        return self._reduce_scatter_base(output, input, options)

    def shutdown(self) -> None:
        synchronizer, self._synchronizer = self._synchronizer, None
        if synchronizer is not None:
            synchronizer.close()

    def stats(self) -> dict[str, Any]:
        """The session's counters; none before the first gradient."""
        return self._synchronizer.stats() if self._synchronizer else {}

    def _is_gradient(self, tensor: torch.Tensor, op: Any) -> bool:
        """Joins the backward pass under way, if there is one."""
        if tensor.device.type != "cpu":
            raise errors.Unavailable(f"a tensor is on {tensor.device}: this build synchronizes memory of the CPU")
        # Not `in`: torch's ReduceOp is equal to its constants only from the left.
        if not (op == dist.ReduceOp.SUM or op == dist.ReduceOp.AVG) or tensor.dtype not in _DTYPES:
            return False
        if not tensor.is_contiguous() or tensor.is_sparse:
            return False
        try:
            if self._ordinal == 0:
                torch.autograd.Variable._execution_engine.queue_callback(self._end)
        except RuntimeError:
            return False  # not in a backward pass
        return True

    def _reduce(
        self, kind: str, tensor: torch.Tensor, op: Any, result: Callable[[], Any], mine: torch.Tensor | None = None
    ) -> dist.Work:
        """Starts reducing in place. `mine`: the part whose result this rank wants; None: all of it."""
        if self._synchronizer is None:
            self._synchronizer = self._open()
        dtype = naming.dtype_name(tensor, "a tensor")
        # A backward pass makes the same collectives in each step, so its place is a gradient's name; its size, because
        # DDP forms other buckets after the first step.
        name = f"{kind} {self._ordinal} of {tensor.numel()} {dtype}"
        self._ordinal += 1
        declare = self._synchronizer.declare if mine is None else functools.partial(shards.declare, self._synchronizer)
        identity = declare(name, (tensor.numel(),), dtype, self._ordinal)
        future = torch.futures.Future()

        def done(_: int, error: Exception | None) -> None:
            if error is not None:
                future.set_exception(error)
                return
            if op == dist.ReduceOp.SUM:
                (tensor if mine is None else mine).mul_(self.size())
            future.set_result(result())

        self._synchronizer.submit([identity], [tensor.data_ptr()], tensor, done)
        return _create_work_from_future(future)

    def _end(self) -> None:
        """Ends a backward pass, on its thread."""
        self._ordinal = 0
        self._synchronizer.end_step()


def _forward(name: str) -> Callable[..., Any]:
    def collective(self: ProcessGroupCasync, *arguments: Any, **keywords: Any) -> Any:
        return getattr(self._exact, name)(*arguments, **keywords)

    return collective


# A collective that a process group in Python inherits runs with the interpreter's lock held (WORK_OVERRIDE in torch's
# PyProcessGroup.hpp). It waits there for a lock of Gloo's, while a thread of Gloo's may hold that one and wait for the
# interpreter's to free a tensor. The same collective of a group that is not a Python class lets the interpreter go on.
for _name in (
    "_allgather_base",
    "all_gather_single",
    "all_gather_single_coalesced",
    "all_to_all_single",
    "allgather",
    "allgather_coalesced",
    "allgather_into_tensor_coalesced",
    "allreduce_coalesced",
    "alltoall",
    "alltoall_base",
    "barrier",
    "broadcast",
    "gather",
    "monitored_barrier",
    "recv",
    "recv_anysource",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_single_coalesced",
    "reduce_scatter_tensor_coalesced",
    "scatter",
    "send",
):
    if hasattr(dist.ProcessGroup, _name):  # torch renames some from version to version
        setattr(ProcessGroupCasync, _name, _forward(_name))
