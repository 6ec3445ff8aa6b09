# SPDX-License-Identifier: Apache-2.0
"""Gradients of an optimizer's parameters: each leaves as soon as autograd has accumulated it."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import torch

from casync import errors
from casync.torch import naming
from casync.torch.local_sgd import LocalSgd

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from casync.session import Handle, StepResult
    from casync.synchronizer import Synchronizer


_ADVICE = "call optimizer.synchronize() first, then clip, scale or read gradients, then call optimizer.step()"


@dataclasses.dataclass
class Flight:
    """One gradient on its way. Its memory is the session's until the handle is done."""

    name: str
    parameter: torch.nn.Parameter
    gradient: torch.Tensor
    memory: torch.Tensor  # travels: the gradient, or a copy in one piece
    handle: Handle
    version: int  # of the gradient's tensor when it left

    def wait(self) -> None:
        self.handle.wait()
        if self.gradient._version != self.version:
            raise errors.InvalidArgument(f"gradient {self.name} was changed while it was on its way: {_ADVICE}")
        if self.memory is not self.gradient:
            with torch.no_grad():
                self.gradient.copy_(self.memory)
            self.memory, self.version = self.gradient, self.gradient._version

    def check(self) -> None:
        """InvalidArgument: the program has given the parameter another gradient, of this rank alone."""
        kept = self.parameter.grad
        if kept is not None and kept is not self.gradient:
            raise errors.InvalidArgument(f"gradient {self.name} was replaced while it was on its way: {_ADVICE}")


class Gradients:
    """Submits gradients of named parameters from autograd's hooks, one session step for each optimizer step.

    Belongs to the thread that trains.
    """

    def __init__(
        self, synchronizer: Synchronizer, device: torch.device, passes: int, begin: Callable[[], object]
    ) -> None:
        """`device`: the session's. `passes`: backward passes of a step; `begin()` is called with each new gradient, and
        ends the previous step, if that has not been done."""
        self._synchronizer, self._device, self._passes, self._begin = synchronizer, device, passes, begin
        self._names = {}  # parameter -> name
        self._ids = {}  # parameter -> gradient id
        self._declared = {}  # parameter -> (shape, dtype)
        self._passed = {}  # parameter -> backward passes since the last step
        self._hooks = []
        self._local = None
        self._awaits_update = False  # a step of local SGD has gradients, and its parameters have yet to be updated
        self.flights: dict[torch.Tensor, Flight] = {}  # by parameter, in the order in which they left

    def watch(self, name: str, parameter: torch.nn.Parameter, priority: int) -> None:
        """Declares the gradient and submits it from now on. A parameter that is frozen does not matter until it gets a
        gradient. InvalidArgument: it is on another device, has no memory of its own, is a shard, or another optimizer's
        Gradients submit it."""
        if parameter.device != self._device:
            raise errors.InvalidArgument(f"{name} is on {parameter.device}, and the session is on {self._device}")
        if parameter.numel() > 0 and parameter.data_ptr() == 0:
            raise errors.InvalidArgument(
                f"{name} is a {type(parameter.data).__name__}, which has no memory of its own, as with FSDP: use "
                "casync.torch.fsdp_all_reduce_hook there"
            )
        if getattr(parameter, "_fsdp_flattened", False):  # torch sets it
            raise errors.InvalidArgument(
                f"{name} is a shard of FullyShardedDataParallel's, another one on each rank: use fully_shard and "
                "casync.torch.fsdp_all_reduce_hook"
            )
        if _is_watched(parameter):
            raise errors.InvalidArgument(
                f"{name} is in another DistributedOptimizer, too, and both would average its gradient: call casync.close() "
                "of that one first"
            )
        dtype = naming.dtype_name(parameter, f"parameter {name}")
        self._names[parameter] = name
        self._ids[parameter] = self._synchronizer.declare(name, parameter.shape, dtype, priority)
        self._declared[parameter] = parameter.shape, parameter.dtype
        self._passed[parameter] = 0
        if self._local is not None:
            self._local.add(name, parameter, self._ids[parameter])
        if parameter.requires_grad:
            self._hooks.append(parameter.register_post_accumulate_grad_hook(self._ready))

    def watches(self, parameter: torch.nn.Parameter) -> bool:
        return parameter in self._names

    def _ready(self, parameter: torch.Tensor) -> None:
        name = self._names[parameter]
        if parameter.grad.is_sparse:
            raise errors.InvalidArgument(f"gradient {name} is sparse: use Embedding(sparse=False)")
        self._begin()
        if parameter in self.flights or (self._awaits_update and self._passed[parameter] == self._passes):
            raise errors.InvalidArgument(
                f"gradient {name} was computed again ahead of optimizer.step(): with several backward passes in a "
                f"step, say how many: DistributedOptimizer(..., backward_passes_per_step=N); it is {self._passes}. If "
                "an update is left out, call optimizer.zero_grad()"
            )
        self._passed[parameter] += 1
        if self._passed[parameter] < self._passes:
            return
        if self.exchanged:
            self._submit([parameter], [self._gradient_of(parameter)])
        else:
            self._awaits_update = True

    @property
    def exchanged(self) -> bool:
        """False where, by the plan's local_sgd, this step leaves gradients as each rank has them."""
        return self._synchronizer.session.exchanged == "gradients"

    def submit_rest(self) -> None:
        """Submits the gradients that no hook has: of parameters without a part in this rank's backward pass (zeros, for
        other ranks may wait for them), or set by hand."""
        rest = self._rest()
        for parameter in rest:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        if rest:
            self._submit(rest, [self._gradient_of(parameter) for parameter in rest])

    def _rest(self) -> list[torch.Tensor]:
        return [parameter for parameter in self._names if parameter not in self.flights and parameter.requires_grad]

    def _submit(self, parameters: list[Any], gradients: list[torch.Tensor]) -> None:
        memories = [each if each.is_contiguous() else each.detach().contiguous() for each in gradients]
        handles = self._synchronizer.submit(
            [self._ids[parameter] for parameter in parameters],
            [memory.data_ptr() for memory in memories],
            memories,
            stream=naming.stream_of(self._device),
        )
        for parameter, gradient, memory, handle in zip(parameters, gradients, memories, handles):
            self.flights[parameter] = Flight(
                self._names[parameter], parameter, gradient, memory, handle, gradient._version
            )

    def _gradient_of(self, parameter: torch.Tensor) -> torch.Tensor:
        gradient, name = parameter.grad, self._names[parameter]
        if gradient.is_sparse:
            raise errors.InvalidArgument(f"gradient {name} is sparse: use Embedding(sparse=False)")
        if gradient.dtype != parameter.dtype:
            raise errors.InvalidArgument(f"gradient {name} is {gradient.dtype}, its parameter {parameter.dtype}")
        shape, dtype = self._declared[parameter]
        if (gradient.shape, gradient.dtype, gradient.device) != (shape, dtype, self._device):
            raise errors.InvalidArgument(
                f"gradient {name} is {gradient.dtype} of shape {tuple(gradient.shape)} on {gradient.device}, and was {dtype} "
                f"of shape {tuple(shape)} on {self._device} when the optimizer was made a DistributedOptimizer: change the "
                "parameter ahead of that, or call optimizer.casync.close() and make another one"
            )
        if not gradient.is_contiguous() and not _is_laid_out_as(parameter, gradient):
            parameter.grad = gradient.contiguous()
        return parameter.grad

    def land(self) -> StepResult:
        """Waits for all on their way and ends the session's step."""
        self.check()
        for flight in self.flights.values():
            flight.wait()
        return self.end()

    def check(self) -> None:
        """InvalidArgument: the program has given a parameter another gradient than the one that is on its way."""
        for flight in self.flights.values():
            flight.check()

    def discard(self) -> None:
        """The same for gradients that nobody wants, whatever happened to them meanwhile. Other ranks wait for those that
        this rank has not sent, too: these are NaN, so that no rank updates with the others, whatever it calls."""
        if rest := self._rest():
            self._submit(rest, [torch.full_like(parameter, float("nan")) for parameter in rest])
        for flight in self.flights.values():
            flight.handle.wait()
        self.end()

    def end(self) -> StepResult:
        """Ends the step; all on their way have landed."""
        self.flights = {}
        self.restart()
        return self._synchronizer.end_step()

    def end_locally(self) -> StepResult:
        """Ends a step of local SGD, after the parameters have been updated: exchanges them where the plan says so."""
        self.restart()
        return self.local.end_step()

    def end_left_out(self) -> None:
        """Ends a step of local SGD whose update was left out, on this rank alone maybe: it counts all the same, or the
        others would wait for this rank when they exchange parameters."""
        if self._awaits_update:
            self.end_locally()

    def restart(self) -> None:
        """Backward passes count from here."""
        self._passed = dict.fromkeys(self._passed, 0)
        self._awaits_update = False

    def go_back(self) -> None:
        """A state was loaded: passes that were counted, and the start of a round, are of steps that are no more."""
        self.restart()
        self._local = None

    def drop(self) -> None:
        """Leaves no gradients, so that an optimizer updates nothing."""
        for parameter in self._names:
            parameter.grad = None

    def drop_non_finite(self) -> None:
        """Leaves those that are finite."""
        for parameter in self._names:
            if parameter.grad is not None and not is_finite(parameter.grad):
                parameter.grad = None

    @property
    def local(self) -> LocalSgd:
        """Made at the first step that exchanges no gradients, while parameters are the same on all ranks."""
        if self._device.type != "cpu":
            raise errors.Unavailable("local_sgd exchanges parameters in memory of the CPU: leave it out of the plan")
        if self._local is None:
            trained = [(name, parameter) for parameter, name in self._names.items()]
            self._local = LocalSgd(self._synchronizer, trained, [self._ids[parameter] for _, parameter in trained])
        return self._local

    @property
    def has_local(self) -> bool:
        return self._local is not None

    def close(self) -> None:
        """Lets go of the parameters, and of gradients that a failed session does not bring."""
        self.flights = {}
        for hook in self._hooks:
            hook.remove()


def is_finite(gradient: torch.Tensor) -> bool:
    if gradient.numel() == 0:
        return True
    least, most = gradient.aminmax()
    return bool(torch.isfinite(least) & torch.isfinite(most))


def _is_laid_out_as(parameter: torch.Tensor, gradient: torch.Tensor) -> bool:
    """Returns true if the elements of both have the same order in memory, as fused optimizers expect."""
    strides = zip(parameter.shape, parameter.stride(), gradient.stride())
    return all(size == 1 or own == other for size, own, other in strides)


def _is_watched(parameter: torch.nn.Parameter) -> bool:
    """Returns true if some Gradients submit the parameter's gradient and were not closed."""
    hooks = getattr(parameter, "_post_accumulate_grad_hooks", None) or {}
    return any(isinstance(getattr(hook, "__self__", None), Gradients) for hook in hooks.values())
