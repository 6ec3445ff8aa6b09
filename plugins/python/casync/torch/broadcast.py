# SPDX-License-Identifier: Apache-2.0
"""The same parameters on every rank before training begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from casync import exchange

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def broadcast_parameters(
    parameters: torch.nn.Module | Mapping[str, Any],
    root: int = 0,
    process_group: torch.distributed.ProcessGroup | None = None,
) -> None:
    """Copies rank `root`'s values to all ranks, in place and bit for bit. `parameters` is a module (its parameters
    and buffers) or a state_dict; `root` is a rank of the process group. Collective."""
    if isinstance(parameters, torch.nn.Module):
        parameters = parameters.state_dict(keep_vars=True)
    tensors = {name: value for name, value in parameters.items() if isinstance(value, torch.Tensor)}
    with torch.no_grad():
        if process_group is not None or _has_process_group():
            exchange.check_root(root, torch.distributed.get_world_size(process_group))
            for tensor in tensors.values():
                torch.distributed.broadcast(tensor, group=process_group, group_src=root)
        else:
            _over_session(tensors, root)


def _has_process_group() -> bool:
    return torch.distributed.is_available() and torch.distributed.is_initialized()


def _over_session(tensors: Mapping[str, torch.Tensor], root: int) -> None:
    """As bytes: numpy has no bfloat16."""
    raw = {
        name: tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().copy()
        for name, tensor in tensors.items()
    }
    exchange.broadcast(raw, root)
    for name, tensor in tensors.items():
        tensor.copy_(torch.from_numpy(raw[name]).view(tensor.dtype).reshape(tensor.shape))
