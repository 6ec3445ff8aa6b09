# SPDX-License-Identifier: Apache-2.0
"""CaSync under PyTorch. With DistributedDataParallel:

    state = casync.torch.State(codec="int8")
    ddp.register_comm_hook(state, casync.torch.comm_hook)

Without it: DistributedOptimizer. With FSDP2: fsdp_all_reduce_hook. As a backend: init_process_group("cpu:casync").
"""

import typing as _typing

import torch as _torch

from casync import errors as _errors

if tuple(int(part) for part in _torch.__version__.split(".")[:2]) < (2, 13):
    raise _errors.Unavailable(f"this is PyTorch {_torch.__version__}: casync.torch needs 2.13 or newer")

from casync.torch.broadcast import broadcast_optimizer_state, broadcast_parameters
from casync.torch.hook import comm_hook
from casync.torch.optimizer import DistributedOptimizer
from casync.torch.process_group import register_backend
from casync.torch.state import State

if _typing.TYPE_CHECKING:
    from casync.torch.checkpoint import load_residuals, residuals
    from casync.torch.fsdp import CompressedReduceScatter, fsdp_all_reduce_hook

__all__ = [
    "CompressedReduceScatter",
    "DistributedOptimizer",
    "State",
    "broadcast_optimizer_state",
    "broadcast_parameters",
    "comm_hook",
    "fsdp_all_reduce_hook",
    "load_residuals",
    "register_backend",
    "residuals",
]

register_backend()


def __getattr__(name: str) -> object:
    # FSDP and checkpoints take a second to import, which programs without them don't need.
    if name in ("CompressedReduceScatter", "fsdp_all_reduce_hook"):
        from casync.torch import fsdp

        return getattr(fsdp, name)
    if name in ("load_residuals", "residuals"):
        from casync.torch import checkpoint

        return getattr(checkpoint, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
