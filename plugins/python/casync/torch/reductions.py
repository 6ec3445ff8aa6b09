# SPDX-License-Identifier: Apache-2.0
"""Sums and averages of gradients inside of a backward pass, for a process group: one pass is one step of a session."""

from __future__ import annotations

import contextlib
import functools
import logging
from typing import TYPE_CHECKING

import torch
import torch.distributed as dist

from casync import errors
from casync.torch import naming, shards
from casync.torch.backward import BackwardPass
from casync.torch.collective import CollectiveWork, Order, name_failure
from casync.torch.lane import wait
from casync.torch.models import Models

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from casync.synchronizer import Synchronizer

_log = logging.getLogger("casync")

_DTYPES = (torch.float32, torch.float16, torch.bfloat16)


class Reductions:
    """`open_session(device=...)` opens a Synchronizer of the group's ranks, with the first gradient, on its device."""

    def __init__(
        self, open_session: Callable[..., Synchronizer], store: dist.Store, rank: int, size: int, timeout_s: float
    ) -> None:
        self._open, self._rank, self._size = open_session, rank, size
        self._order = Order(store, rank, size, "reductions", timeout_s)
        self._synchronizer: Synchronizer | None = None
        self._device: torch.device | None = None
        self._pass = BackwardPass(self._end)
        self._ordinal = 0  # of the next gradient in this backward pass
        self._number = 0  # of the last gradient in all of them
        self._works: list[CollectiveWork] = []  # of this pass
        self._models = Models()

    def takes(self, tensor: torch.Tensor, op: Any) -> bool:
        """Returns true if it is a gradient. Joins the backward pass under way, if there is one. Unavailable: a gradient
        that is neither on the CPU nor on a GPU of CUDA. InvalidArgument: it is on another device than earlier ones.
        Error: an earlier pass did not end."""
        # Not `in`: torch's ReduceOp is equal to its constants only from the left.
        if not (op == dist.ReduceOp.SUM or op == dist.ReduceOp.AVG) or tensor.dtype not in _DTYPES:
            return False
        if tensor.is_sparse or not tensor.is_contiguous():
            return False
        if self._ordinal == 0:
            self._pass.forget()  # its only gradient may have been refused
        try:
            self._pass.join()
        except errors.Error:
            raise
        except RuntimeError:
            return False  # not in a backward pass
        if tensor.device.type not in ("cpu", "cuda"):
            raise errors.Unavailable(f"a tensor is on {tensor.device}, expected the CPU or a GPU of CUDA")
        if self._device is not None and tensor.device != self._device:
            raise errors.InvalidArgument(f"a tensor is on {tensor.device}, and the session is on {self._device}")
        return True

    def all_reduce(self, tensor: torch.Tensor, op: Any) -> CollectiveWork:
        """In place."""
        name, dtype = self._name("all_reduce", tensor)
        identity = self._session(tensor, name).declare(name, (tensor.numel(),), dtype, self._ordinal)

        def end() -> None:
            if op == dist.ReduceOp.SUM:
                tensor.mul_(self._size)

        return self._start(name, identity, tensor, [tensor], end)

    def reduce_scatter(self, output: torch.Tensor, input: torch.Tensor, op: Any, asynchronous: bool) -> CollectiveWork:
        """`input` stays as it is; while this is under way, too, if it is `asynchronous`: a caller that waits at once
        does not see that its shard has the result for a moment, and nothing is cloned."""
        name, dtype = self._name("reduce_scatter", input)
        shards.check_output(name, output, input, self._size)
        identity, scattered = shards.declare_shards(
            self._session(input, name), name, (input.numel(),), dtype, self._ordinal
        )
        in_place = scattered and not asynchronous
        memory = input if in_place else input.clone()
        mine = shards.own_shard(memory.view(-1), self._rank, self._size)
        is_output = in_place and mine.data_ptr() == output.data_ptr()
        kept = mine.clone() if in_place and not is_output else None

        def end() -> None:
            if op == dist.ReduceOp.SUM:
                mine.mul_(self._size)
            if is_output:
                return
            output.copy_(mine.view_as(output))
            if kept is not None:
                mine.copy_(kept)
            if memory is not input and memory.is_cuda:
                # Else its memory goes back to the stream in which it was cloned, and this one may still read it.
                memory.record_stream(torch.cuda.current_stream(memory.device))

        return self._start(name, identity, memory, [output], end)

    def stats(self) -> dict[str, Any]:
        return self._synchronizer.stats() if self._synchronizer else {}

    def abort(self, error: errors.Error) -> errors.Error:
        """Ends the session on all ranks, which wait for gradients of this one, and returns the error."""
        if self._synchronizer is not None:
            with contextlib.suppress(errors.Error):  # it had failed, and the others know
                self._synchronizer.session.abort(error)
        return error

    def close(self) -> None:
        synchronizer, self._synchronizer = self._synchronizer, None
        if synchronizer is None:
            return self._order.leave()
        try:
            synchronizer.close()
        except errors.Error as error:
            _log.warning("destroy_process_group: %s", error)  # the works have it, too

    def _session(self, tensor: torch.Tensor, name: str) -> Synchronizer:
        if self._synchronizer is None:
            self._order.meet(name)  # a session that opens waits for ranks that have left, too
            self._synchronizer = self._open(device=str(tensor.device))
            self._device = tensor.device
        return self._synchronizer

    def _name(self, kind: str, tensor: torch.Tensor) -> tuple[str, str]:
        """A backward pass makes the same collectives in each step, so its place is a gradient's name; its size, and words of
        its model, because each has passes of its own, and other buckets after the first one."""
        dtype = naming.dtype_name(tensor, "a tensor")
        name = f"{kind} {self._ordinal} of {tensor.numel()} {dtype}{self._models.text()}"
        self._ordinal += 1
        self._number += 1
        return name, dtype

    def _start(
        self,
        name: str,
        identity: int,
        memory: torch.Tensor,
        result: list[torch.Tensor],
        end: Callable[[], None],
    ) -> CollectiveWork:
        """Starts reducing `memory` in place. `end` makes the result of it, on a thread of the session."""
        number, handles = self._number, []
        look = functools.partial(self._order.compare, number, name)
        work = CollectiveWork(name, result, lambda: wait(handles[0], look))

        def done(_: int, error: Exception | None) -> None:
            if error is None:
                try:
                    with _on(memory.device):
                        end()
                        work.finish()
                    return
                except Exception as raised:  # else nobody would hear of it
                    error = raised
            work.finish(error)

        self._works.append(work)
        stream = naming.stream_of(memory.device)
        handles += self._synchronizer.submit([identity], [memory.data_ptr()], memory, done, stream)
        return work

    def _end(self) -> None:
        """Ends a backward pass, on its thread."""
        self._ordinal = 0
        self._models.end_pass()
        works, self._works = self._works, []
        if self._synchronizer is None:
            return
        try:
            self._synchronizer.end_step()
        except errors.Error as error:
            under_way = [work.what for work in works if not work.is_success()]
            raise name_failure(under_way[0] if under_way else "the backward pass", error) from None


def _on(device: torch.device) -> contextlib.AbstractContextManager[object]:
    return torch.cuda.device(device) if device.type == "cuda" else contextlib.nullcontext()
