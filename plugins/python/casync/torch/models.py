# SPDX-License-Identifier: Apache-2.0
"""The DDP module that a process group's gradient belongs to. DDP gives its group a tensor and nothing else, but from
inside of autograd's node that has accumulated the gradient of one of the module's parameters."""

from __future__ import annotations

import dataclasses
import weakref
from typing import TYPE_CHECKING

import torch
from torch.utils.weak import WeakTensorKeyDictionary

from casync.torch import naming

if TYPE_CHECKING:
    from torch.nn.parallel import DistributedDataParallel


@dataclasses.dataclass
class _Model:
    """DDP modules that share parameters. No module: a parameter that is in none."""

    number: int
    modules: list[weakref.ref[DistributedDataParallel]]

    def text(self) -> str:
        known = [module for module in (reference() for reference in self.modules) if module is not None]
        rebuilt = sum(getattr(module, "_has_rebuilt_buckets", False) for module in known)
        number = f" of model {self.number}" if self.number > 0 else ""
        return number + (f" in buckets rebuilt {rebuilt} times" if rebuilt > 1 else " in rebuilt buckets" if rebuilt else "")

    def is_gone(self) -> bool:
        return bool(self.modules) and all(reference() is None for reference in self.modules)


class Models:
    """Numbers DDP modules from 0, in the order of their first gradients, which is the same on all ranks."""

    def __init__(self) -> None:
        self._models = WeakTensorKeyDictionary()  # by parameter
        self._count = 0
        # With their parameters, once this pass has looked for them.
        self._found: list[tuple[DistributedDataParallel, set[torch.Tensor]]] | None = None

    def text(self) -> str:
        """The end of a gradient's name: the number of its module, if it is not 0, and that the module has made its buckets
        anew, which DDP does after the first pass: other elements are in them then. "" also for what is no DDP module's,
        and where autograd does not tell: in the first pass of a static graph, which DDP reduces at its end."""
        parameter = getattr(torch._C._current_autograd_node(), "variable", None)
        if not isinstance(parameter, torch.Tensor):
            return ""
        if parameter not in self._models or self._models[parameter].is_gone():
            self._find(parameter)
        return self._models[parameter].text()

    def end_pass(self) -> None:
        self._found = None

    def _find(self, parameter: torch.Tensor) -> None:
        """Looks for the modules of a parameter, and of all that is in one of them: modules that share a parameter have one
        number, because which of them is found first may differ between ranks. A module in the place of one that is gone
        has its number."""
        if self._found is None:
            pairs = [(ddp, getattr(ddp, "module", None)) for ddp in naming.ddp_modules()]
            self._found = [(ddp, set(module.parameters())) for ddp, module in pairs if module is not None]
        having = [(ddp, parameters) for ddp, parameters in self._found if parameter in parameters]
        known = self._models.get(parameter)
        number = known.number if known is not None else self._count if having else 0
        self._count += known is None and bool(having)
        model = _Model(number, [weakref.ref(ddp) for ddp, _ in having])
        for one in {parameter}.union(*(parameters for _, parameters in having)):
            if one not in self._models or self._models[one].is_gone():
                self._models[one] = model
