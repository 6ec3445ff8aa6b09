# SPDX-License-Identifier: Apache-2.0
"""Updates that wait for the next forward pass: each module's parameters are updated when its turn comes.

Gradients of the first layers are the last to leave and the first to be needed. An optimizer that waits for all of them
stands still while the network works; here a layer waits for its own gradients only, and those go first (priorities).
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import torch

from casync.synchronizer import NonFinite
from casync.torch.gradients import is_finite
from casync.torch.module_hook import ModuleHook

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from casync.torch.gradients import Flight, Gradients
    from casync.torch.optimizer import Distributed


class Deferred:
    """The updates of one optimizer over one model.

    The first forward pass is only watched: a module that it calls waits for its own parameters, and parameters of a
    module that it does not call (attention uses its output projection's weight directly) are waited for by the nearest
    module around it that is called. Where there is none, step() itself waits.
    """

    def __init__(self, model: torch.nn.Module, optimizer: Distributed, gradients: Gradients) -> None:
        self._optimizer, self._gradients = optimizer, gradients
        self._called = set()  # modules, in the pass that is watched
        self._waiting_of = None  # called module -> the parameters it waits for; None until a pass has been watched
        self._awaited = set()  # all of these
        self._pending = {}  # parameter -> Flight
        self._stepped = []  # the optimizer's groups at step()
        self._snapshot = []  # their hyperparameters as they were then
        self._moved = []  # by group: those that the optimizer itself has moved on since
        self.non_finite = NonFinite(
            "all ranks leave updates of such parameters out (said once; optimizer.casync.last_step tells of each step)"
        )
        self._modules = [module for module in model.modules()]
        self._parents = {child: module for module in model.modules() for child in module.children()}
        self._model = model
        self._hooks = []
        for module in self._modules:
            self._hooks.append(module.register_forward_pre_hook(ModuleHook(self._before_forward)))
            self._hooks.append(module.register_state_dict_pre_hook(ModuleHook(lambda *_: self.finish())))
            self._hooks.append(module.register_load_state_dict_pre_hook(ModuleHook(lambda *_: self.finish())))

    @property
    def ready(self) -> bool:
        """A forward pass has been watched."""
        if self._waiting_of is None and self._called:
            self._arrange()
        return self._waiting_of is not None

    def _arrange(self) -> None:
        self._waiting_of = {}
        for module in self._modules:
            waits = module
            while waits not in self._called and waits in self._parents:
                waits = self._parents[waits]
            if waits in self._called:
                parameters = dict.fromkeys(module.parameters(recurse=False))  # two modules may share one
                self._waiting_of.setdefault(waits, {}).update(parameters)
                self._awaited.update(parameters)

    def begin(self) -> None:
        """Takes over the step's gradients, which are on their way: the optimizer's step has been called."""
        self._gradients.check()
        self._pending = dict(self._gradients.flights)
        # The property of that name would wait for gradients.
        groups = self._stepped = list(vars(self._optimizer)["param_groups"])
        self._snapshot = [_copied(group) for group in groups]
        self._moved = [{} for _ in groups]
        self._groups = {parameter: at for at, group in enumerate(groups) for parameter in group["params"]}
        for parameter in self._pending:
            parameter.grad = None  # as zero_grad() leaves it: the gradient is the update's now
        self._update([parameter for parameter in self._pending if parameter not in self._awaited])

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

    def close(self) -> None:
        """Lets go of the model, and of updates that a failed session does not bring."""
        self._pending = {}
        for hook in self._hooks:
            hook.remove()

    def _update(self, parameters: list[torch.nn.Parameter]) -> None:
        if not parameters:
            return
        with _outside_of_forward(parameters[0].device.type):
            self._update_now(parameters)
        if not self._pending:
            self._end()

    def _update_now(self, parameters: list[torch.nn.Parameter]) -> None:
        groups = [{**_copied(hyper), "params": []} for hyper in self._snapshot]
        later = {}  # gradients of a pass that has begun already
        for parameter in parameters:
            flight = self._pending[parameter]
            flight.wait()
            later[parameter], parameter.grad = parameter.grad, flight.gradient
            # A gradient that is not finite is so on every rank: all leave this parameter as it is. The program may also
            # have taken the parameter out of the optimizer.
            if parameter in self._groups and is_finite(flight.gradient):
                groups[self._groups[parameter]]["params"].append(parameter)
        self._optimizer.casync_update(groups)
        for parameter in parameters:
            parameter.grad = later[parameter]
            del self._pending[parameter]
        self._note_moved(groups)

    def _note_moved(self, groups: list[dict[str, Any]]) -> None:
        """Hyperparameters that the optimizer itself has moved on, such as a count of steps. Each part of the update
        begins with those of step()."""
        for moved, before, after in zip(self._moved, self._snapshot, groups):
            for key, value in after.items():
                if key != "params" and not _same(value, before.get(key)):
                    moved[key] = value

    def _end(self) -> None:
        for group, moved in zip(self._stepped, self._moved):
            group.update(moved)
        step = self._gradients.end()
        if not step.finite:
            self.non_finite.tell(self._optimizer.casync.rank, step.first_non_finite)


def is_compiled(model: torch.nn.Module) -> bool:
    return any(hasattr(module, "_orig_mod") or module._compiled_call_impl for module in model.modules())


@contextlib.contextmanager
def _outside_of_forward(device: str) -> Iterator[None]:
    """Neither inference mode, whose tensors no later step could change, nor autocast, which rounds products: a forward
    pass may be in both, and step() is in none."""
    with torch.inference_mode(False), torch.autocast(device, enabled=False):
        yield


def _copied(group: dict[str, Any]) -> dict[str, Any]:
    """A group's hyperparameters."""
    return {k: v.clone() if isinstance(v, torch.Tensor) else v for k, v in group.items() if k != "params"}


def _same(a: object, b: object) -> bool:
    return torch.equal(a, b) if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor) else a is b or a == b

