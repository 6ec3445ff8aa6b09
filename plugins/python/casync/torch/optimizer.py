# SPDX-License-Identifier: Apache-2.0
"""Training without DistributedDataParallel: an optimizer whose step averages the gradients of all ranks."""

from __future__ import annotations

import contextlib
import functools
from typing import TYPE_CHECKING, cast

import torch
from torch.optim.optimizer import _global_optimizer_post_hooks, _global_optimizer_pre_hooks

from casync import errors, launch
from casync.synchronizer import NonFinite, Synchronizer
from casync.torch import naming, optimizer_checks, saved
from casync.torch.deferred import Deferred, is_compiled
from casync.torch.ending import at_end
from casync.torch.gradients import Gradients

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any

    from casync.codec import Codec
    from casync.session import StepResult

    _Optimizer = torch.optim.Optimizer
    _Closure = Callable[[], float]
    _Update = Callable[[_Closure | None], float | None]
else:
    _Optimizer = object  # the other base of each subclass is an optimizer


def DistributedOptimizer(
    optimizer: torch.optim.Optimizer,
    named_parameters: Iterable[tuple[str, torch.nn.Parameter]] | None = None,
    model: torch.nn.Module | None = None,
    backward_passes_per_step: int = 1,
    plan: str | os.PathLike[str] | None = None,
    codec: str | os.PathLike[str] | Codec | None = None,
    process_group: torch.distributed.ProcessGroup | None = None,
    transport: str | None = None,
    token: str | None = None,
    timeout: float | None = None,
    trace: str | os.PathLike[str] | None = None,
) -> Distributed:
    """Turns `optimizer` into one whose step averages, and returns it: the same object and state, of a class that is both
    its own and `casync.torch.optimizer.Distributed`.

    Names come from `named_parameters` (model.named_parameters()) or from `model`. With `model`, step() returns at once,
    and the next forward pass waits for each module's parameters when it calls that module. Collective: opens a session;
    on the device of the parameters, which are all on one; the other arguments are those of casync.Session.
    """
    if "casync" in vars(optimizer):
        raise errors.InvalidArgument("this optimizer is distributed already: call DistributedOptimizer once")
    optimizer_checks.check_step(optimizer)
    if isinstance(optimizer, torch.optim.LBFGS):
        raise errors.InvalidArgument("LBFGS looks at each rank's own loss, and ranks would part: use another optimizer")
    if named_parameters is None and model is None:
        raise errors.InvalidArgument(
            "gradients need names that are the same on all ranks: give named_parameters=model.named_parameters()"
        )
    named = list((model.named_parameters() if named_parameters is None else named_parameters))
    optimizer_checks.check_names(optimizer, named)
    optimizer_checks.check_alone(optimizer, named)
    device = naming.device_of((name, parameter) for name, parameter in named if parameter.requires_grad)
    options = dict(plan=plan, codec=codec, transport=transport, token=token, timeout=timeout, trace=trace)
    synchronizer = Synchronizer(store=launch.find_store(timeout, process_group), device=str(device), **options)
    distributed = cast("Distributed", optimizer)
    engine = Engine(distributed, synchronizer, device, named, model, backward_passes_per_step)
    base = type(optimizer)
    # Schedulers and other parts of the program may hold the optimizer already: it stays the same object.
    optimizer.__class__ = type(base.__name__, (Distributed, base), {"_casync_base": base})
    vars(optimizer).update(casync=engine, step=_scheduled_step(distributed))
    return distributed


def _scheduled_step(distributed: Distributed) -> Callable[..., float | None]:
    """step() as an attribute of the optimizer. A scheduler of torch sets one that calls the plain optimizer's, wherever
    it finds none of its kind: this takes its place, or keeps it away, and tells the scheduler of the steps."""

    @functools.wraps(Distributed.step)
    def step(*args: Any, **kwargs: Any) -> float | None:
        distributed._opt_called = True
        return Distributed.step(distributed, *args, **kwargs)

    step._wrapped_by_lr_sched = True
    return step


class Engine:
    """A distributed optimizer's own part: `optimizer.casync`."""

    def __init__(
        self,
        optimizer: Distributed,
        synchronizer: Synchronizer,
        device: torch.device,
        named: list[tuple[str, torch.nn.Parameter]],
        model: torch.nn.Module | None,
        passes: int,
    ) -> None:
        if passes < 1:
            raise errors.InvalidArgument(f"backward_passes_per_step is {passes}, expected 1 or more")
        self._optimizer, self._synchronizer = optimizer, synchronizer
        self._named = {parameter: (position, name) for position, (name, parameter) in enumerate(named)}
        self._gradients = Gradients(synchronizer, device, passes, self._begin)
        self._deferred, self._takes = None, model is not None
        self._synchronized = self._skip = False
        self._non_finite = NonFinite(
            "all ranks leave this update out (said once; optimizer.casync.last_step tells of each step)"
        )
        try:
            self.watch(optimizer.__dict__["param_groups"])
            if not self._gradients.exchanged:
                self._gradients.local  # parameters are the same on all ranks now
        except BaseException:
            self._gradients.close()  # those that it watches already would be submitted for an optimizer that is not there
            raise
        if model is not None and not is_compiled(model):
            self._deferred = Deferred(model, optimizer, self._gradients)
        at_end(self._end)

    def watch(self, groups: list[dict[str, Any]]) -> None:
        """Parameters that the optimizer has; a new one may come at any time, on all ranks."""
        for group in groups:
            for parameter in group["params"]:
                if self._gradients.watches(parameter) or not parameter.requires_grad:
                    continue
                if parameter not in self._named:
                    raise errors.InvalidArgument(
                        f"a parameter of shape {tuple(parameter.shape)} has no name: it was not in named_parameters"
                    )
                position, name = self._named[parameter]
                self._gradients.watch(name, parameter, position)
                if self._synchronized:
                    parameter.grad = None  # that of this rank alone: others were averaged without it

    @property
    def in_flight(self) -> bool:
        """Gradients are on their way, and nobody has called step() or synchronize() yet."""
        return bool(self._gradients.flights) and not self.deferring

    @property
    def deferring(self) -> bool:
        return self._deferred is not None and self._deferred.pending

    @property
    def rank(self) -> int:
        """This process's rank in the session."""
        return self._synchronizer.rank

    @property
    def size(self) -> int:
        """The number of ranks in the session."""
        return self._synchronizer.size

    @property
    def last_step(self) -> StepResult | None:
        """The casync.StepResult of the last step that ended."""
        return self._synchronizer.last_step

    def finish(self) -> None:
        """Applies updates that wait for the next forward pass."""
        if self._deferred is not None:
            self._deferred.finish()

    def _begin(self) -> None:
        """A backward pass has a new gradient, which no synchronize() has averaged."""
        self.finish()
        self._synchronized = False

    def _end(self) -> None:
        """Ends the step of an update that waits or was left out: no rank may wait for this one's part."""
        self.finish()
        self._gradients.end_left_out()

    def synchronize(self) -> None:
        """Averages all gradients of this step, once; afterwards they are in .grad."""
        if not self._synchronized:
            self._average()

    def _average(self) -> None:
        self.finish()
        self.watch(self._optimizer.__dict__["param_groups"])
        if not self._gradients.exchanged:
            return
        self._gradients.submit_rest()
        self._gradients.land()
        self._synchronized = True

    def discard(self) -> None:
        """Gradients on their way are not wanted: zero_grad() was called ahead of step()."""
        if self.in_flight:
            self._gradients.discard()
        self._gradients.end_left_out()
        self._gradients.restart()  # also in the middle of an accumulation, where nothing is on its way yet
        self._synchronized = False

    @contextlib.contextmanager
    def skipping(self) -> Iterator[None]:
        if self.in_flight:
            raise errors.InvalidArgument("gradients are on their way: call optimizer.synchronize() first, then skip it")
        self._skip = True
        try:
            yield
        finally:
            self._skip = False

    def step(self, closure: _Closure | None, update: _Update) -> float | None:
        """`update(closure)` is the optimizer's own step."""
        self.finish()
        loss = self._step(closure, update)
        if self._takes and not self.deferring:
            self._gradients.drop()  # as where the update waits for the next forward pass
        return loss

    def _step(self, closure: _Closure | None, update: _Update) -> float | None:
        if not self._gradients.exchanged:
            return self._step_locally(closure, update)
        if closure is not None:
            return self._step_with(closure, update)
        if self._skip or self._synchronized:
            finite = not self._synchronized or self.last_step.finite
            self._synchronized = False
            return self._update(finite, update)
        if self._deferred is not None and self._deferred.ready and not self._is_looked_at():
            self.watch(self._optimizer.__dict__["param_groups"])
            self._gradients.submit_rest()
            return self._deferred.begin()
        self._average()
        self._synchronized = False
        return self._update(self.last_step.finite, update)

    def _update(self, finite: bool, update: _Update) -> float | None:
        if finite:
            return update(None)
        if self._deferred is None:
            self._tell()
            return None
        # On other ranks this update may wait for the next forward pass, which leaves out such parameters alone.
        self._deferred.non_finite.tell(self.rank, self.last_step.first_non_finite)
        self._gradients.drop_non_finite()
        return update(None)

    def _tell(self) -> None:
        self._non_finite.tell(self.rank, self.last_step.first_non_finite)

    def _step_with(self, closure: _Closure, update: _Update) -> float | None:
        def synchronized() -> float:
            loss = closure()
            self._average()
            self._synchronized = False
            if not self.last_step.finite:
                self._tell()
                self._gradients.drop()
            return loss

        return update(torch.enable_grad()(synchronized))

    def _step_locally(self, closure: _Closure | None, update: _Update) -> float | None:
        def counted() -> float:
            loss = closure()
            self._gradients.restart()  # an optimizer may call its closure several times
            return loss

        self.watch(self._optimizer.__dict__["param_groups"])
        self._gradients.local  # made ahead of the first update
        loss = update(None if closure is None else counted)
        self._gradients.end_locally()
        return loss

    def _is_looked_at(self) -> bool:
        """Returns true if somebody expects the update when step() returns: hooks, or a GradScaler, which takes the scale
        away again that a fused optimizer divides gradients by."""
        own = self._optimizer.__dict__
        return bool(
            own.get("grad_scale") is not None
            or own.get("_optimizer_step_pre_hooks")
            or own.get("_optimizer_step_post_hooks")
            or _global_optimizer_pre_hooks
            or _global_optimizer_post_hooks
        )

    def consensus(self) -> StepResult:
        """With a plan's `gossip` or `asynchronous`: as State.consensus()."""
        self._end()
        return self._gradients.local.consensus()

    def stats(self) -> dict[str, Any]:
        return self._synchronizer.stats()

    def state_dict(self) -> dict[str, Any]:
        """The state of error feedback on this rank: tensors, ints and strings. Each rank saves its own."""
        self.finish()
        state = saved.to_tensors(self._synchronizer.state_dict())
        if self._gradients.has_local:
            state["local_sgd"] = self._gradients.local.state_dict()
        return state

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Takes the state that state_dict() gave on this rank, between two steps."""
        self.finish()
        self.watch(self._optimizer.__dict__["param_groups"])
        self._synchronizer.load_state_dict(saved.to_arrays(state_dict))
        self._gradients.go_back()
        if "local_sgd" in state_dict:
            self._gradients.local.load_state_dict(state_dict["local_sgd"])

    def close(self) -> None:
        """Says goodbye to the other ranks. The end of the program does it too. After a failure of the session, which this
        may raise again, the parameters are free for another optimizer."""
        try:
            self._end()
        finally:
            if self._deferred is not None:
                self._deferred.close()
            self._gradients.close()
            self._synchronizer.close()


class Distributed(_Optimizer):
    """Stands before the optimizer's own class."""

    casync: Engine  # what it does for this optimizer

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        # GradScaler and clipping find gradients by way of the groups, and need them averaged.
        engine = self.__dict__.get("casync")
        if engine is not None and engine.in_flight:
            engine.synchronize()
        return self.__dict__["param_groups"]

    @param_groups.setter
    def param_groups(self, groups: list[dict[str, Any]]) -> None:
        self.__dict__["param_groups"] = groups

    def step(self, closure: Callable[[], float] | None = None) -> float | None:
        """Averages what has not been averaged yet and updates the parameters. When some rank's gradient is not finite,
        all ranks leave the update out."""
        return self.casync.step(closure, lambda closure: super(Distributed, self).step(closure))

    step.hooked = True  # torch adds the calls of step hooks to a class without this, and they are in the base's step()

    def synchronize(self) -> None:
        """Waits until .grad holds the averages, so that gradients can be clipped or read; a second call changes nothing.
        step() then only updates."""
        self.casync.synchronize()

    def skip_synchronize(self) -> contextlib.AbstractContextManager[None]:
        """with optimizer.skip_synchronize(): optimizer.step() only updates."""
        return self.casync.skipping()

    def zero_grad(self, set_to_none: bool = True) -> None:
        self.casync.discard()
        super().zero_grad(set_to_none)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        super().add_param_group(param_group)
        groups, engine = self.__dict__["param_groups"], self.__dict__.get("casync")
        if engine is None:
            return
        try:
            engine.watch(groups)
        except errors.Error:
            groups.pop()  # else each step would refuse it again
            raise

    def state_dict(self) -> dict[str, Any]:
        self.casync.finish()
        return super().state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.casync.finish()
        super().load_state_dict(state_dict)

    def __reduce_ex__(self, protocol: int) -> tuple[Any, ...]:
        """A copy, by copy.deepcopy() or pickle, is a plain optimizer with the same state."""
        self.casync.finish()
        return _new, (self._casync_base,), self.__getstate__()

    def casync_update(self, groups: list[dict[str, Any]]) -> None:
        """The optimizer's own step on these groups."""
        mine = self.__dict__["param_groups"]
        self.__dict__["param_groups"] = [group for group in groups if group["params"]]
        try:
            step = self._casync_base.step
            getattr(step, "__wrapped__", step)(self)
        finally:
            self.__dict__["param_groups"] = mine


def _new(base: type[torch.optim.Optimizer]) -> torch.optim.Optimizer:
    return object.__new__(base)
