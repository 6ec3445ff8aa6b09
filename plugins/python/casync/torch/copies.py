# SPDX-License-Identifier: Apache-2.0
"""Broadcasts, gathers and exact reductions of a process group: bytes of any dtype over a session of their own.

A large tensor travels from and to its own memory. A small one, or one that is not of words, travels in a buffer behind a
head with its size and dtype: buffers have few sizes, so that the session knows few names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from casync import errors
from casync.torch import exact, shards, sums
from casync.torch.collective import CollectiveWork, Order, done
from casync.torch.ending import at_end
from casync.torch.lane import Job, Lane, Part
from casync.torch.payloads import bytes_of, check, copy_bytes, fill, payload, put, put_all, room, size_of, text, words_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    import torch.distributed as dist

    from casync.copying import CopySession

IN_PLACE = 1 << 20  # from so many bytes on, a tensor travels from its own memory
REDUCED = 1 << 18  # up to so many bytes of all ranks, every rank gets them and reduces them itself
_MOST_NAMES = 1024  # sizes of tensors that the session knows; more travel in buffers


class Copies:
    """`open_session()` opens a session of the group's ranks, with the first collective. Not `asynchronous`: the caller
    waits for it at once, as torch's functions do without async_op."""

    def __init__(
        self, open_session: Callable[..., CopySession], store: dist.Store, rank: int, size: int, timeout_s: float
    ) -> None:
        self._rank, self._size = rank, size
        self._names: set[str] = set()
        at_end(self.close)  # others may still need messages of this rank
        self._lane = Lane(open_session, Order(store, rank, size, "copies", timeout_s))

    def broadcast(self, tensor: torch.Tensor, root: int, asynchronous: bool) -> CollectiveWork:
        """Gives `tensor` of all ranks the bytes of rank `root`'s."""
        what = f"broadcast of {text(tensor)} from rank {root}"
        check(tensor, "broadcast")
        if not 0 <= root < self._size:
            raise errors.InvalidArgument(f"broadcast: root is {root}, and the ranks are 0 to {self._size - 1}")
        if self._size == 1:
            return done(what, [tensor])
        mine, size = self._rank == root, size_of(tensor)
        if self._goes_whole(what, size):
            memory = words_of(tensor)
            buffer = torch.empty(size, dtype=torch.uint8) if memory is None else memory
            part = Part(what, buffer, root, lambda: copy_bytes(buffer, tensor), lambda: put(tensor, buffer))
            if memory is not None:
                part.fill = part.land = _nothing
        else:
            buffer = torch.empty(room(size), dtype=torch.uint8)
            part = Part(
                f"broadcast of {buffer.numel()} bytes from rank {root}",
                buffer,
                root,
                lambda: fill(buffer, tensor),
                lambda: put(tensor, payload(buffer, tensor, what, root)),
            )
        if mine:
            part.land = _nothing
        else:
            part.fill = _nothing
        return self._lane.start(Job(CollectiveWork(what, [tensor]), [part]), asynchronous)

    def gather(
        self,
        what: str,
        outputs: Sequence[Sequence[torch.Tensor]],
        inputs: Sequence[torch.Tensor],
        asynchronous: bool,
    ) -> CollectiveWork:
        """For each input: its outputs get those of all ranks, by rank. One output is all of them, one after another."""
        if len(outputs) != len(inputs):
            raise errors.InvalidArgument(
                f"{what}: {len(outputs)} outputs for {len(inputs)} inputs, expected one list of outputs for each input"
            )
        parts, seen = [], {}
        named = f"{what} of {' and '.join(text(tensor) for tensor in inputs[:3])}"
        if len(inputs) > 3:
            named += f" and {len(inputs) - 3} more"
        for into, tensor in zip(outputs, inputs):
            part = self._gathered(what, into, tensor)
            seen[part.name] = seen.get(part.name, 0) + 1
            if seen[part.name] > 1:
                part.name += f" ({seen[part.name]})"
            parts.append(part)
        flat = [tensor for into in outputs for tensor in into]
        if self._size == 1:
            for part in parts:
                part.fill()
            return done(named, flat)
        return self._lane.start(Job(CollectiveWork(named, flat), parts), asynchronous)

    def reduces(self, what: str, tensor: torch.Tensor, op: Any) -> bool:
        """Returns true if it is for all_reduce() or reduce_scatter(), as `what` says: the same on all ranks, as all make the
        same calls."""
        name = exact.name_of(op, tensor.dtype)
        if name is None or tensor.device.type != "cpu" or tensor.layout != torch.strided:
            return False
        return self._is_small(tensor) or (sums.takes(op, tensor.dtype) and self._names_it(f"{what} {name} of {text(tensor)}"))

    def all_reduce(self, tensor: torch.Tensor, op: Any, asynchronous: bool) -> CollectiveWork:
        """In place."""
        what = f"all_reduce {exact.name_of(op, tensor.dtype)}"
        if self._is_small(tensor):
            return self._reduce(what, tensor, tensor, 0, op, asynchronous)
        return self._sum(sums.reduced(f"{what} of {text(tensor)}", tensor, op, self._size), tensor, asynchronous)

    def reduce_scatter(self, output: torch.Tensor, input: torch.Tensor, op: Any, asynchronous: bool) -> CollectiveWork:
        what = f"reduce_scatter {exact.name_of(op, input.dtype)}"
        named = f"{what} of {text(input)}"
        shards.check_output(named, output, input, self._size)
        if self._is_small(input):
            return self._reduce(what, output, input, self._rank * output.numel(), op, asynchronous)
        part = sums.scattered(named, output, input, op, (self._rank, self._size), asynchronous)
        return self._sum(part, output, asynchronous)

    def barrier(self, asynchronous: bool) -> CollectiveWork:
        """Done once every rank has called it, and all that they have called earlier here is done."""
        if self._size == 1:
            return done("barrier", [])
        return self._lane.start(self._meeting("barrier"), asynchronous)

    def stats(self) -> dict[str, Any]:
        """The session's counters; none until the first collective."""
        return self._lane.stats()

    def close(self) -> None:
        """Waits for what is under way, a while, and fails what is left."""
        self._lane.close(self._meeting("destroy_process_group"))

    def _meeting(self, what: str) -> Job:
        word = torch.zeros(4 * self._size, dtype=torch.uint8)
        return Job(CollectiveWork(what, []), [Part(what, word, None, _nothing, _nothing)])

    def _gathered(self, what: str, into: Sequence[torch.Tensor], tensor: torch.Tensor) -> Part:
        named = f"{what} of {text(tensor)}"
        size = size_of(tensor)
        for each in [tensor, *into]:
            check(each, what)
        wanted = self._size * tensor.numel() if len(into) == 1 else tensor.numel()
        if len(into) not in (1, self._size) or any(each.numel() != wanted or each.dtype != tensor.dtype for each in into):
            raise errors.InvalidArgument(
                f"{named}: outputs are {', '.join(text(each) for each in into[:4])}, expected all of {self._size} ranks in "
                f"one tensor of {self._size * tensor.numel()} elements, or one of {tensor.numel()} for each rank"
            )
        if self._size == 1:
            return Part(named, tensor, None, lambda: put(into[0], bytes_of(tensor)), _nothing)
        if self._goes_whole(named, self._size * size):
            memory = words_of(into[0]) if len(into) == 1 else None
            buffer = torch.empty(self._size * size, dtype=torch.uint8) if memory is None else memory
            own = buffer[self._rank * size : (self._rank + 1) * size]
            land = _nothing if memory is not None else lambda: put_all(into, [buffer])
            return Part(named, buffer, None, lambda: copy_bytes(own, tensor), land)
        return self._in_buffers(what, tensor, named, lambda rows: put_all(into, rows))

    def _is_small(self, tensor: torch.Tensor) -> bool:
        """Every rank gets the tensors of all, and reduces them itself."""
        return self._size == 1 or self._size * size_of(tensor) <= REDUCED

    def _sum(self, part: sums.Sum, result: torch.Tensor, asynchronous: bool) -> CollectiveWork:
        return self._lane.start(Job(CollectiveWork(part.name, [result]), [part]), asynchronous)

    def _reduce(
        self, what: str, output: torch.Tensor, tensor: torch.Tensor, first: int, op: Any, asynchronous: bool
    ) -> CollectiveWork:
        """Gives `output` the reduction of as many elements from the `first` on."""
        named = f"{what} of {text(tensor)}"

        def land(rows: Sequence[torch.Tensor]) -> None:
            own = [row.view(tensor.dtype)[first : first + output.numel()] for row in rows]
            output.detach().copy_(exact.reduced(own, op).view_as(output))

        if self._size == 1:
            land([bytes_of(tensor)])
            return done(named, [output])
        part = self._in_buffers(what, tensor, named, land)
        return self._lane.start(Job(CollectiveWork(named, [output]), [part]), asynchronous)

    def _in_buffers(self, what: str, tensor: torch.Tensor, named: str, land: Callable[[list[torch.Tensor]], None]) -> Part:
        """Gives land() the bytes of all ranks, which travel behind heads."""
        buffer = torch.empty(self._size * room(size_of(tensor)), dtype=torch.uint8)
        of_rank = buffer.view(self._size, -1)

        def land_payloads() -> None:
            land([payload(raw, tensor, named, rank) for rank, raw in enumerate(of_rank)])

        return Part(
            f"{what} of {buffer.numel()} bytes", buffer, None, lambda: fill(of_rank[self._rank], tensor), land_payloads
        )

    def _goes_whole(self, name: str, size: int) -> bool:
        """The memory travels without a head, under its own name. The same on all ranks: all make the same calls."""
        return size >= IN_PLACE and size % (4 * self._size) == 0 and self._names_it(name)

    def _names_it(self, name: str) -> bool:
        """Returns false if the session would know too many names."""
        if name not in self._names and len(self._names) >= _MOST_NAMES:
            return False
        self._names.add(name)
        return True


def _nothing() -> None:
    pass
