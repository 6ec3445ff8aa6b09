# SPDX-License-Identifier: Apache-2.0
"""The demands on an optimizer that is to average gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING

from casync import errors

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
