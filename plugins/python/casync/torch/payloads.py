# SPDX-License-Identifier: Apache-2.0
"""The bytes of tensors, and the heads that tell of them in buffers."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import torch

from casync import errors

if TYPE_CHECKING:
    from collections.abc import Sequence

HEAD = 64  # bytes ahead of a payload in a buffer


def check(tensor: torch.Tensor, what: str) -> None:
    if tensor.device.type != "cpu":
        raise errors.Unavailable(f"{what}: a tensor is on {tensor.device}, and values are copied in the CPU's memory alone")
    if tensor.layout != torch.strided:
        raise errors.InvalidArgument(f"{what}: a tensor is {tensor.layout}, expected a dense one")


def text(tensor: torch.Tensor) -> str:
    return f"{tensor.numel()} {str(tensor.dtype).removeprefix('torch.')}"


def size_of(tensor: torch.Tensor) -> int:
    return tensor.numel() * tensor.element_size()


def bytes_of(tensor: torch.Tensor) -> torch.Tensor:
    """The bytes of a tensor: its own memory, if it is contiguous."""
    if tensor.numel() == 0:
        return torch.empty(0, dtype=torch.uint8)
    return tensor.detach().resolve_conj().resolve_neg().contiguous().view(-1).view(torch.uint8)


def words_of(tensor: torch.Tensor) -> torch.Tensor | None:
    """The memory of a contiguous tensor, if it is of words of 4 bytes."""
    if not tensor.is_contiguous() or tensor.is_conj() or tensor.is_neg() or tensor.data_ptr() % 4 != 0:
        return None
    return bytes_of(tensor)


def copy_bytes(to: torch.Tensor, tensor: torch.Tensor) -> None:
    own = bytes_of(tensor)
    if own.data_ptr() != to.data_ptr():
        to.copy_(own)


def put(tensor: torch.Tensor, raw: torch.Tensor) -> None:
    """Gives a tensor of any strides the elements in `raw`."""
    if raw.data_ptr() % 16 != 0:
        raw = raw.clone()
    tensor.detach().copy_(raw.view(tensor.dtype).view(tensor.shape))


def put_all(into: Sequence[torch.Tensor], raw: Sequence[torch.Tensor]) -> None:
    """Gives tensors the elements of all ranks: in one of them one after the other, or to each its rank's."""
    if len(into) == 1:
        return put(into[0], raw[0] if len(raw) == 1 else torch.cat(list(raw)))
    for each, one in zip(into, raw if len(raw) > 1 else raw[0].view(len(into), -1)):
        put(each, one)


def _head(tensor: torch.Tensor) -> bytes:
    return struct.pack("<q56s", size_of(tensor), str(tensor.dtype).removeprefix("torch.").encode())


def fill(buffer: torch.Tensor, tensor: torch.Tensor) -> None:
    buffer[:HEAD] = torch.frombuffer(bytearray(_head(tensor)), dtype=torch.uint8)
    copy_bytes(buffer[HEAD : HEAD + size_of(tensor)], tensor)


def payload(buffer: torch.Tensor, tensor: torch.Tensor, what: str, rank: int) -> torch.Tensor:
    """The bytes that `rank` gave. InvalidArgument: its size or dtype is another."""
    head = bytes(buffer[:HEAD].numpy())
    if head != _head(tensor):
        size, dtype = struct.unpack("<q56s", head)
        raise errors.InvalidArgument(
            f"{what}: rank {rank} gives {size} bytes of {dtype.rstrip(bytes(1)).decode(errors='replace')}, expected "
            f"{size_of(tensor)} bytes of {str(tensor.dtype).removeprefix('torch.')}"
        )
    return buffer[HEAD : HEAD + size_of(tensor)]


def room(size: int) -> int:
    """Bytes of a buffer for a payload of `size`: at most an eighth more."""
    unit = max(1024, 1 << max(0, size.bit_length() - 4))
    return HEAD + -(-size // unit) * unit
