# SPDX-License-Identifier: Apache-2.0
"""Updates that wait for the next forward pass: each module's parameters are updated when its turn comes.

Gradients of the first layers are the last to leave and the first to be needed. An optimizer that waits for all of them
stands still while the network works; here a layer waits for its own gradients only, and those go first (priorities).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from typing import Any

    from casync.torch.gradients import Flight, Gradients
    from casync.torch.optimizer import Distributed


class Deferred:
    """The updates of one optimizer over one model.

    The first forward pass is only watched: a module that it calls waits for its own parameters, and parameters of a
    module that it does not call (attention uses its output projection's weight directly) are waited for by the nearest
    module around it that is called.
    """

    def __init__(self, model: torch.nn.Module, optimizer: Distributed, gradients: Gradients) -> None:
        self._optimizer, self._gradients = optimizer, gradients
        self._called = set()  # modules, in the pass that is watched
        self._waiting_of = None  # module -> its parameters; None until a pass has been watched
        self._pending = {}  # parameter -> Flight
        self._snapshot = None  # groups' hyperparameters as they were at step()
        self._modules = [module for module in model.modules()]
        self._parents = {child: module for module in model.modules() for child in module.children()}
        self._model = model
        for module in self._modules:
            module.register_forward_pre_hook(self._before_forward)
            module.register_state_dict_pre_hook(lambda *_: self.finish())
            module.register_load_state_dict_pre_hook(lambda *_: self.finish())

    @property
    def ready(self) -> bool:
        """A forward pass has been watched."""
        if self._waiting_of is None and self._called:
            self._arrange()
        return self._waiting_of is not None

    def _arrange(self) -> None:
        self._waiting_of = {}
        for module in self._modules:
            parameters = list(module.parameters(recurse=False))
            if not parameters:
                continue
            waits = module
            while waits not in self._called and waits in self._parents:
                waits = self._parents[waits]
            self._waiting_of.setdefault(waits, []).extend(parameters)

    def begin(self) -> None:
        """Takes over the step's gradients, which are on their way: the optimizer's step has been called."""
        self._pending = dict(self._gradients.flights)
        groups = self._live_groups()
        self._snapshot = [{k: _copied(v) for k, v in group.items() if k != "params"} for group in groups]
        self._groups = {parameter: at for at, group in enumerate(groups) for parameter in group["params"]}
        for parameter in self._pending:
            parameter.grad = None  # as zero_grad() leaves it: the gradient is the update's now

    def _live_groups(self) -> list[dict[str, Any]]:
        return vars(self._optimizer)["param_groups"]  # the property of that name would wait for gradients

    @property
    def pending(self) -> bool:
        """Some updates wait for the next forward pass."""
        return bool(self._pending)

    def _before_forward(self, module: torch.nn.Module, _: object) -> None:
        if self._waiting_of is None:
            self._called.add(module)
        elif self._pending:
            self._update([p for p in self._waiting_of.get(module, ()) if p in self._pending])

    def finish(self) -> None:
        """Applies all that is left and ends the session's step."""
        if self._pending:
            self._update(list(self._pending))

    def _update(self, parameters: list[torch.nn.Parameter]) -> None:
        if not parameters:
            return
        groups = [{**hyper, "params": []} for hyper in self._snapshot]
        later = {}  # gradients of a pass that has begun already
        for parameter in parameters:
            flight = self._pending[parameter]
            flight.wait()
            later[parameter], parameter.grad = parameter.grad, flight.gradient
            # A gradient that is not finite is so on every rank: all leave this parameter as it is.
            if _finite(flight.gradient):
                groups[self._groups[parameter]]["params"].append(parameter)
        self._optimizer.casync_update(groups)
        for parameter in parameters:
            parameter.grad = later[parameter]
            del self._pending[parameter]
        if not self._pending:
            self._write_back(groups)
            self._gradients.end()

    def _write_back(self, groups: list[dict[str, Any]]) -> None:
        """Hyperparameters that the optimizer itself has moved on, such as a count of steps."""
        for live, before, after in zip(self._live_groups(), self._snapshot, groups):
            for key, value in after.items():
                if key != "params" and not _same(value, before.get(key)):
                    live[key] = value


def _copied(value: Any) -> Any:
    return value.clone() if isinstance(value, torch.Tensor) else value


def _same(a: object, b: object) -> bool:
    return torch.equal(a, b) if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor) else a is b or a == b


def _finite(gradient: torch.Tensor) -> bool:
    if gradient.numel() == 0:
        return True
    least, most = gradient.aminmax()
    return bool(torch.isfinite(least) & torch.isfinite(most))
