# SPDX-License-Identifier: Apache-2.0
"""A process group whose gradients CaSync averages: init_process_group("cpu:casync"), new_group(ranks, backend="casync").

Sums and averages of floating point tensors inside of a backward pass are gradients: they go through a session, under the
plan's codecs. Broadcasts, all-gathers, reductions of small tensors and sums of large ones must arrive exactly, and go
through another one. The rest is Gloo's.
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from casync import errors
from casync.copying import CopySession
from casync.launch import TorchStore
from casync.synchronizer import Synchronizer
from casync.torch.copies import Copies
from casync.torch.payloads import text
from casync.torch.reductions import Reductions

if TYPE_CHECKING:
    import datetime
    import os
    from collections.abc import Callable, Sequence
    from typing import Any

    from casync.codec import Codec


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
        options = {**options, "timeout": options.get("timeout") or timeout.total_seconds()}
        place = {key: value for key, value in options.items() if key not in ("plan", "codec", "op", "trace", "device")}
        open_reducing = functools.partial(
            Synchronizer, store=TorchStore(dist.PrefixStore("casync", store), rank, size), **options
        )
        open_copying = functools.partial(
            CopySession, store=TorchStore(dist.PrefixStore("casync_copies", store), rank, size), **place
        )
        words = dist.PrefixStore("casync_order", store)
        self._reductions = Reductions(open_reducing, words, rank, size, options["timeout"])
        self._copies = Copies(open_copying, words, rank, size, options["timeout"])

    def getBackendName(self) -> str:
        return "casync"

    def allreduce(self, tensors: list[torch.Tensor], options: Any = None) -> dist.Work:
        options = options or dist.AllreduceOptions()
        caller = sys._getframe().f_back  # through C++; None on a thread of autograd's
        if caller is not None and caller.f_code is _OF_JOIN:
            raise self._reductions.abort(errors.Unavailable(_JOIN))
        if len(tensors) == 1 and self._reductions.takes(tensors[0], options.reduceOp):
            return self._reductions.all_reduce(tensors[0], options.reduceOp)
        if len(tensors) == 1 and self._copies.reduces("all_reduce", tensors[0], options.reduceOp):
            return self._copies.all_reduce(tensors[0], options.reduceOp, _asynchronous(options))
        _check_gloo("all_reduce", tensors)
        return self._exact.allreduce(tensors, options)

    def _reduce_scatter_base(self, output: torch.Tensor, input: torch.Tensor, options: Any = None) -> dist.Work:
        options = options or dist.ReduceScatterOptions()
        if self._reductions.takes(input, options.reduceOp):
            return self._reductions.reduce_scatter(output, input, options.reduceOp, _asynchronous(options))
        if self._copies.reduces("reduce_scatter", input, options.reduceOp):
            return self._copies.reduce_scatter(output, input, options.reduceOp, _asynchronous(options))
        _check_gloo("reduce_scatter", [output, input])
        return self._exact._reduce_scatter_base(output, input, options)

    def reduce_scatter_single(self, output: torch.Tensor, input: torch.Tensor, options: Any = None) -> dist.Work:
        return self._reduce_scatter_base(output, input, options)

    def broadcast(self, tensors: list[torch.Tensor], options: Any = None) -> dist.Work:
        if len(tensors) != 1:
            raise errors.InvalidArgument(f"broadcast of {len(tensors)} tensors, expected 1")
        options = options or dist.BroadcastOptions()
        return self._copies.broadcast(tensors[0], options.rootRank, _asynchronous(options))

    def allgather(
        self, outputs: Sequence[Sequence[torch.Tensor]], inputs: Sequence[torch.Tensor], options: Any = None
    ) -> dist.Work:
        return self._copies.gather("all_gather", outputs, inputs, _asynchronous(options))

    def _allgather_base(self, output: torch.Tensor, input: torch.Tensor, options: Any = None) -> dist.Work:
        return self._copies.gather("all_gather", [[output]], [input], _asynchronous(options))

    def all_gather_single(self, output: torch.Tensor, input: torch.Tensor, options: Any = None) -> dist.Work:
        return self._copies.gather("all_gather", [[output]], [input], _asynchronous(options))

    def allgather_coalesced(
        self, outputs: Sequence[Sequence[torch.Tensor]], inputs: Sequence[torch.Tensor], options: Any = None
    ) -> dist.Work:
        """`outputs` is a list for each rank, of a tensor for each input."""
        return self._copies.gather("all_gather", [list(of_input) for of_input in zip(*outputs)], inputs, _asynchronous(options))

    def allgather_into_tensor_coalesced(
        self, outputs: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor], options: Any = None
    ) -> dist.Work:
        return self._copies.gather("all_gather", [[output] for output in outputs], inputs, _asynchronous(options))

    def all_gather_single_coalesced(
        self, outputs: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor], options: Any = None
    ) -> dist.Work:
        return self.allgather_into_tensor_coalesced(outputs, inputs, options)

    def barrier(self, opts: Any = None) -> dist.Work:
        return self._copies.barrier(_asynchronous(opts))

    def shutdown(self) -> None:
        """Waits a while for collectives under way, and fails those that are left."""
        self._copies.close()
        self._reductions.close()

    def abort(self) -> None:
        self.shutdown()

    def stats(self) -> dict[str, Any]:
        """The counters of the gradients' session; none until the first gradient."""
        return self._reductions.stats()

    def copy_stats(self) -> dict[str, Any]:
        """The same of the session of broadcasts, all-gathers and exact reductions."""
        return self._copies.stats()


_JOIN = (
    "in DDP's join() a rank whose inputs have ended gives zeros for gradients of the others, outside of a backward pass, where "
    "a process group of CaSync takes them for other sums: register casync.torch.comm_hook with the module, or give "
    'DistributedDataParallel a group of Gloo, new_group(backend="gloo")'
)
# Torch's function that makes the collectives of the others' backward pass on a rank that has joined.
_OF_JOIN = getattr(getattr(DistributedDataParallel, "_match_all_reduce_for_bwd_pass", None), "__code__", None)


def _asynchronous(options: Any) -> bool:
    """A caller without options may start more ahead of waiting."""
    return getattr(options, "asyncOp", True)


def _check_gloo(what: str, tensors: Sequence[torch.Tensor]) -> None:
    for tensor in tensors:
        if tensor.device.type != "cpu":
            raise errors.Unavailable(
                f"{what} of {text(tensor)} on {tensor.device}: only sums and averages of gradients, in a backward pass, are "
                "reduced on a GPU; the rest are in the CPU's memory"
            )


def _forward(name: str) -> Callable[..., Any]:
    def collective(self: ProcessGroupCasync, *arguments: Any, **keywords: Any) -> Any:
        return getattr(self._exact, name)(*arguments, **keywords)

    return collective


# A collective that a process group in Python inherits runs with the interpreter's lock held (WORK_OVERRIDE in torch's
# PyProcessGroup.hpp). It waits there for a lock of Gloo's, while a thread of Gloo's may hold that one and wait for the
# interpreter's to free a tensor. The same collective of a group that is not a Python class lets the interpreter go on.
for _name in (
    "all_to_all_single",
    "allreduce_coalesced",
    "alltoall",
    "alltoall_base",
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
