# SPDX-License-Identifier: Apache-2.0
"""The DDP module that a process group's gradient belongs to. DDP gives its group a tensor and nothing else, but from
inside of autograd's node that has accumulated the gradient of one of the module's parameters."""

from __future__ import annotations

import torch
from torch.utils.weak import WeakTensorKeyDictionary

from casync.torch import naming


class Models:
    """Numbers DDP modules from 0, in the order of their first gradients, which is the same on all ranks."""

    def __init__(self) -> None:
        self._numbers = WeakTensorKeyDictionary()  # by parameter
        self._count = 0
        self._modules: list[set[torch.Tensor]] | None = None  # by their parameters, once this pass has looked for them

    def number(self) -> int:
        """That of the module whose gradient is ready. 0 also for what is no DDP module's, and where autograd does not
        tell: in the first pass of a static graph, which DDP reduces at its end."""
        parameter = getattr(torch._C._current_autograd_node(), "variable", None)
        if not isinstance(parameter, torch.Tensor):
            return 0
        if parameter not in self._numbers:
            self._add(parameter)
        return self._numbers[parameter]

    def end_pass(self) -> None:
        self._modules = None

    def _add(self, parameter: torch.Tensor) -> None:
        """Gives it a number, with all others of its module. Modules that share it have one number: which of them is
        found first may differ between ranks."""
        if self._modules is None:
            modules = [getattr(ddp, "module", None) for ddp in naming.ddp_modules()]
            self._modules = [set(module.parameters()) for module in modules if module is not None]
        together = {one for module in self._modules if parameter in module for one in module}
        number = self._count if together else 0
        self._count += bool(together)
        for one in together | {parameter}:
            self._numbers.setdefault(one, number)
