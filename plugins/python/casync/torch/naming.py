# SPDX-License-Identifier: Apache-2.0
"""Names of a bucket's parameters: plans and saved state use names, DDP's buckets hold tensors."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import torch
from torch.nn.parallel import DistributedDataParallel

from casync import errors

if TYPE_CHECKING:
    from collections.abc import Iterable

_DTYPES = {torch.float32: "float32", torch.float16: "float16", torch.bfloat16: "bfloat16"}


def find_ddp(state: object) -> DistributedDataParallel | None:
    """The DDP module that `state` was registered with, or None. DDP does not tell its hooks, but keeps them."""
    for candidate in ddp_modules():
        if any(held is state for _, held in getattr(candidate, "_comm_hooks", ())):
            return candidate
    return None


def ddp_modules() -> list[DistributedDataParallel]:
    """All of this process, also those whose constructor has failed."""
    # Not isinstance(), which asks each object for its __class__: some warn when they are asked anything.
    return [one for one in gc.get_objects() if issubclass(type(one), DistributedDataParallel)]


def trained_parameters(
    ddp: DistributedDataParallel | None, named_parameters: Iterable[tuple[str, torch.nn.Parameter]] | None
) -> list[tuple[str, torch.nn.Parameter]]:
    """(name, parameter) of all that DDP synchronizes, in the model's order."""
    if named_parameters is None:
        if ddp is None:
            raise errors.InvalidArgument(
                "no DistributedDataParallel module has this State: register it with register_comm_hook, or give "
                "State(named_parameters=model.named_parameters())"
            )
        named_parameters = ddp.module.named_parameters()
    return [(name, p) for name, p in named_parameters if p.requires_grad and not hasattr(p, "_ddp_ignored")]


def is_synchronized(dtype: torch.dtype) -> bool:
    return dtype in _DTYPES


def dtype_name(tensor: torch.Tensor, of: str) -> str:
    """The dtype as casync calls it. InvalidArgument: one that is not synchronized."""
    if tensor.dtype not in _DTYPES:
        raise errors.InvalidArgument(f"{of} is {tensor.dtype}; can be {', '.join(map(str, _DTYPES))}")
    return _DTYPES[tensor.dtype]


def device_of(named: Iterable[tuple[str, torch.nn.Parameter]]) -> torch.device:
    """The device of parameters, all of which have to be on one. InvalidArgument: two of them are not, with their names.
    Unavailable: it is neither the CPU nor a GPU of CUDA."""
    first = None
    for name, parameter in named:
        first = first or (name, parameter.device)
        if parameter.device != first[1]:
            raise errors.InvalidArgument(f"{name} is on {parameter.device}, and {first[0]} is on {first[1]}")
    device = torch.device("cpu") if first is None else first[1]
    if device.type not in ("cpu", "cuda"):
        raise errors.Unavailable(f"{first[0]} is on {device}, expected the CPU or a GPU of CUDA")
    return device


def stream_of(device: torch.device) -> int | None:
    """The stream in which this thread's work on `device` is queued, as a number of its driver; None on the CPU."""
    return torch.cuda.current_stream(device).cuda_stream if device.type == "cuda" else None
