# SPDX-License-Identifier: Apache-2.0
"""The demands on an optimizer that is to average gradients."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from casync import errors
from casync.torch import naming

if TYPE_CHECKING:
    import torch


def check_step(optimizer: torch.optim.Optimizer) -> None:
    """InvalidArgument: the optimizer's groups are another one's, or its step() was replaced. A scheduler of torch may have
    wrapped step(); anything else in its place would update with each rank's own gradients."""
    if "param_groups" not in vars(optimizer):
        raise errors.InvalidArgument(
            f"{type(optimizer).__name__} has no parameter groups of its own: give DistributedOptimizer the optimizer that "
            "it wraps, and wrap the result"
        )
    own = vars(optimizer).get("step")
    by_scheduler = hasattr(own, "_wrapped_by_lr_sched") and getattr(own, "__wrapped__", None) is type(optimizer).step
    if own is not None and not by_scheduler:
        raise errors.InvalidArgument(
            f"step() of this {type(optimizer).__name__} was replaced by {getattr(own, '__qualname__', own)}, which "
            "knows nothing of other ranks: call DistributedOptimizer first, and replace the step() of its result"
        )


def check_names(optimizer: torch.optim.Optimizer, named: list[tuple[str, torch.nn.Parameter]]) -> None:
    """InvalidArgument: two parameters have one name, or one of the optimizer's has none."""
    names = set()
    for name, _ in named:
        if name in names:
            raise errors.InvalidArgument(f"two parameters are named {name}: give each a name of its own")
        names.add(name)
    known = {parameter for _, parameter in named}
    for at, group in enumerate(optimizer.param_groups):
        for parameter in group["params"]:
            if parameter not in known:
                raise errors.InvalidArgument(
                    f"a parameter of shape {tuple(parameter.shape)} in the optimizer's group {at} has no name in "
                    "named_parameters"
                )


def check_alone(optimizer: torch.optim.Optimizer, named: list[tuple[str, torch.nn.Parameter]]) -> None:
    """InvalidArgument: a DistributedDataParallel module synchronizes one of the optimizer's parameters. Both would average
    its gradient, and change it while the other one reads it."""
    mine = {parameter for group in optimizer.param_groups for parameter in group["params"]}
    names = {parameter: name for name, parameter in named if parameter in mine}
    name = _name_in_ddp(names)
    if name is not None:
        gc.collect()  # a module that nobody uses any more
        name = _name_in_ddp(names)
    if name is not None:
        raise errors.InvalidArgument(
            f"{name} is in a DistributedDataParallel module, which averages its gradient: give DistributedOptimizer the "
            "plain module's parameters and use no DistributedDataParallel, or register casync.torch.comm_hook with it and "
            "keep the plain optimizer"
        )


def _name_in_ddp(names: dict[torch.nn.Parameter, str]) -> str | None:
    for ddp in naming.ddp_modules():
        module = getattr(ddp, "module", None)  # None: its constructor has failed
        for _, parameter in [] if module is None else naming.trained_parameters(ddp, None):
            if parameter in names:
                return names[parameter]
    return None
