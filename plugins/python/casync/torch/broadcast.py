# SPDX-License-Identifier: Apache-2.0
"""The same parameters, and the same state of the optimizer, on every rank when training begins."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy
import torch

from casync import errors, exchange, launch

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
    if isinstance(parameters, torch.optim.Optimizer) or "param_groups" in parameters:
        raise errors.InvalidArgument("this is an optimizer's state: call casync.torch.broadcast_optimizer_state(optimizer)")
    tensors = {name: value for name, value in parameters.items() if isinstance(value, torch.Tensor)}
    with torch.no_grad():
        if process_group is not None or _has_process_group():
            _check_root(root, process_group)
            for tensor in tensors.values():
                _over_group(tensor, root, process_group)
        else:
            _over_session(tensors, root)


def broadcast_optimizer_state(
    optimizer: torch.optim.Optimizer, root: int = 0, process_group: torch.distributed.ProcessGroup | None = None
) -> None:
    """Gives all ranks the optimizer's state of rank `root`, bit for bit, with its learning rates: after the root alone has
    loaded a checkpoint. Other ranks' optimizers may have no state yet. Collective."""
    own = _saved(optimizer)
    if process_group is not None or _has_process_group():
        _check_root(root, process_group)
        received = [own]
        torch.distributed.broadcast_object_list(received, group=process_group, group_src=root)
        (state,) = received
    else:
        sizes = exchange.gather([len(own)])
        exchange.check_root(root, len(sizes))
        words = numpy.zeros(sizes[root].item(), numpy.uint8)
        mine = numpy.frombuffer(own, numpy.uint8)[: words.size]
        words[: mine.size] = mine
        exchange.broadcast({"optimizer": words}, root)
        state = words.tobytes()
    # The root's GPU may be another one, or not be here: load_state_dict() moves the state to the parameters' devices.
    taken = torch.load(io.BytesIO(state), map_location="cpu", weights_only=True)
    for mine, given in zip(optimizer.param_groups, taken["param_groups"]):
        for key, value in given.items():  # learning rates may be tensors
            if isinstance(value, torch.Tensor) and isinstance(mine.get(key), torch.Tensor):
                given[key] = value.to(mine[key].device)
    optimizer.load_state_dict(taken)


def _saved(optimizer: torch.optim.Optimizer) -> bytes:
    file = io.BytesIO()
    torch.save(optimizer.state_dict(), file)
    return file.getvalue()


def _has_process_group() -> bool:
    return torch.distributed.is_available() and torch.distributed.is_initialized()


def _check_root(root: int, group: torch.distributed.ProcessGroup | None) -> None:
    launch.check_member(group)
    exchange.check_root(root, torch.distributed.get_world_size(group))


def _over_group(tensor: torch.Tensor, root: int, group: torch.distributed.ProcessGroup | None) -> None:
    """Backends take memory in one piece: Gloo goes on with the bytes that follow, whatever the strides are."""
    values = tensor.contiguous()
    torch.distributed.broadcast(values, group=group, group_src=root)
    if not tensor.is_contiguous():
        _put(tensor, values)


def _put(tensor: torch.Tensor, values: torch.Tensor) -> None:
    """Gives a tensor its values, also an expanded one, whose elements lie in one place."""
    for dimension, (size, stride) in enumerate(zip(tensor.shape, tensor.stride())):
        if size > 1 and stride == 0:
            tensor, values = tensor.narrow(dimension, 0, 1), values.narrow(dimension, 0, 1)
    tensor.copy_(values)


def _over_session(tensors: Mapping[str, torch.Tensor], root: int) -> None:
    """As bytes: numpy has no bfloat16."""
    raw = {
        name: tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().copy()
        for name, tensor in tensors.items()
    }
    exchange.broadcast(raw, root)
    for name, tensor in tensors.items():
        _put(tensor, torch.from_numpy(raw[name]).view(tensor.dtype).reshape(tensor.shape))
