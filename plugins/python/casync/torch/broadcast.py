# SPDX-License-Identifier: Apache-2.0
"""The same parameters on every rank before training begins."""

import numpy
import torch

from casync import errors
from casync.session import Session


def broadcast_parameters(parameters, root=0, process_group=None):
    """Copies rank `root`'s values to all ranks, in place and bit for bit. `parameters` is a module (its parameters
    and buffers) or a state_dict; `root` is a rank of the process group. Collective."""
    if isinstance(parameters, torch.nn.Module):
        parameters = parameters.state_dict(keep_vars=True)
    tensors = {name: value for name, value in parameters.items() if isinstance(value, torch.Tensor)}
    with torch.no_grad():
        if process_group is not None or _has_process_group():
            _check_root(root, torch.distributed.get_world_size(process_group))
            for tensor in tensors.values():
                torch.distributed.broadcast(tensor, group=process_group, group_src=root)
        else:
            with Session(codec="none", op="sum") as session:
                size = session.size
                if 0 <= root < size:
                    _over_session(session, tensors, root)
            _check_root(root, size)  # after the goodbye: all ranks raise this, and none an abort of another


def _check_root(root, size):
    if not 0 <= root < size:
        raise errors.InvalidArgument(f"root is {root}: the ranks are 0 to {size - 1}")


def _has_process_group():
    return torch.distributed.is_available() and torch.distributed.is_initialized()


def _over_session(session, tensors, root):
    """As a sum in which only the root is not zero. Sixteen bits at a time become float32, which holds them exactly:
    summed as they are, -0.0, NaN and integers would not arrive as they were."""
    words = {name: _words(tensor) for name, tensor in tensors.items()}
    ids = {name: session.declare(name, array.shape) for name, array in words.items()}
    for name, array in words.items():
        if session.rank != root:
            array[:] = 0
        session.submit(ids[name], array)
    session.step()
    for name, tensor in tensors.items():
        raw = words[name].astype(numpy.uint16).view(numpy.uint8)[: tensor.numel() * tensor.element_size()]
        tensor.copy_(torch.from_numpy(raw.copy()).view(tensor.dtype).reshape(tensor.shape))


def _words(tensor):
    raw = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()
    even = numpy.zeros(raw.size + raw.size % 2, numpy.uint8)
    even[: raw.size] = raw
    return even.view(numpy.uint16).astype(numpy.float32)
