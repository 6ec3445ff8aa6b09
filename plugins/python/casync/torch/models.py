# SPDX-License-Identifier: Apache-2.0
"""The DDP module that a process group's gradient belongs to. DDP gives its group a tensor and nothing else, but from
inside of autograd's node that has accumulated the gradient of one of the module's parameters."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import torch
from torch.utils.weak import WeakTensorKeyDictionary

from casync.torch import naming

if TYPE_CHECKING:
    from torch.nn.parallel import DistributedDataParallel


@dataclasses.dataclass
class _Model:
    """A DDP module, or 0 for parameters that are in none."""

    number: int
    has_rebuilt: bool = False  # it has made its buckets anew, which DDP does after the first pass
    is_settled: bool = False  # it will not do so any more


class Models:
    """Numbers DDP modules from 0, in the order of their first gradients, which is the same on all ranks."""

    def __init__(self) -> None:
        self._models = WeakTensorKeyDictionary()  # by parameter
        self._count = 0
        # With their parameters, once this pass has looked for them.
        self._found: list[tuple[DistributedDataParallel, set[torch.Tensor]]] | None = None

    def text(self) -> str:
        """The end of a gradient's name, which is the same on all ranks: the number of its module, if it is not 0, and that
        the module has rebuilt its buckets: there are other elements in them then. "" also for what is no DDP module's, and
        where autograd does not tell: in the first pass of a static graph, which DDP reduces at its end."""
        parameter = getattr(torch._C._current_autograd_node(), "variable", None)
        if not isinstance(parameter, torch.Tensor):
            return ""
        model = self._models.get(parameter)
        if model is None or not model.is_settled:
            model = self._look(parameter)
        number = f" of model {model.number}" if model.number > 0 else ""
        return number + (" in rebuilt buckets" if model.has_rebuilt else "")

    def end_pass(self) -> None:
        self._found = None

    def _look(self, parameter: torch.Tensor) -> _Model:
        """Looks at the modules that have the parameter. A new one gives its number to all of its parameters. Modules that
        share it have one number: which of them is found first may differ between ranks. Modules that nobody uses any more
        may be among them, on some ranks: they do not rebuild their buckets."""
        if self._found is None:
            pairs = [(ddp, getattr(ddp, "module", None)) for ddp in naming.ddp_modules()]
            self._found = [(ddp, set(module.parameters())) for ddp, module in pairs if module is not None]
        having = [(ddp, parameters) for ddp, parameters in self._found if parameter in parameters]
        if parameter not in self._models:
            model = _Model(self._count if having else 0)
            self._count += bool(having)
            for one in {parameter}.union(*(parameters for _, parameters in having)):
                self._models.setdefault(one, model)
        model = self._models[parameter]
        model.has_rebuilt = any(getattr(ddp, "_has_rebuilt_buckets", False) for ddp, _ in having)
        model.is_settled = model.has_rebuilt or not any(_rebuilds(ddp) for ddp, _ in having)
        return model


def _rebuilds(ddp: DistributedDataParallel) -> bool:
    """False also for one whose constructor has failed."""
    return ddp.static_graph or not getattr(ddp, "find_unused_parameters", True)
