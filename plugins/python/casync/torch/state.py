# SPDX-License-Identifier: Apache-2.0
"""The communication hook's state between calls: the session, the gradients' ids, and the gradients on their way."""

from __future__ import annotations

import functools
import logging
import time
from typing import TYPE_CHECKING

import torch
from torch.autograd.profiler import record_function

from casync import errors, launch
from casync.synchronizer import NonFinite, Synchronizer, check_choice
from casync.torch import naming, saved
from casync.torch.completer import Completer, Flight
from casync.torch.local_sgd import LocalSgd
from casync.torch.module_hook import ModuleHook
from casync.torch.node import Node
from casync.torch.scalars import Scalars

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping
    from typing import Any

    from casync.codec import Codec
    from casync.session import Handle, StepResult
    from casync.torch.scalars import ScalarWriter


_log = logging.getLogger("casync")
_WORTH_OVERLAP = 1_000_000  # bytes; fewer take less time than a step varies by


class State:
    """Goes with `comm_hook` into `ddp.register_comm_hook`. Opens its session at the first backward pass, when the
    names and shapes of all gradients are known; its arguments are those of casync.Session, and a plan or codec that
    cannot be is refused here (InvalidArgument, PlanError).

    Names come from `named_parameters`, else from the DDP module that holds this state. A failure of the session is
    raised by backward(), on the thread that called it. With a plan's `local_sgd` or `gossip`, follow(optimizer) once.
    The session is on the device of the first bucket. With `local_group`, the ranks of a node reduce gradients among
    themselves through that group, and each takes a part of every gradient to the ranks of `process_group`, which have the
    same part in other nodes.
    """

    _synchronizer: Synchronizer | None = None
    _completer: Completer | None = None  # here, because a state whose arguments were refused is deleted, too

    def __init__(
        self,
        plan: str | os.PathLike[str] | None = None,
        codec: str | os.PathLike[str] | Codec | None = None,
        named_parameters: Iterable[tuple[str, torch.nn.Parameter]] | None = None,
        process_group: torch.distributed.ProcessGroup | None = None,
        transport: str | None = None,
        token: str | None = None,
        timeout: float | None = None,
        trace: str | os.PathLike[str] | None = None,
        local_group: torch.distributed.ProcessGroup | None = None,
    ) -> None:
        try:
            check_choice(plan, codec)
        except errors.Error as error:
            raise error.with_traceback(None) from None  # the traceback ends at the program's line
        self._named_parameters = None if named_parameters is None else list(named_parameters)
        self._process_group = process_group
        self._node = None if local_group is None else Node(local_group)
        self._options = dict(plan=plan, codec=codec, transport=transport, token=token, timeout=timeout, trace=trace)
        self._device = None  # of the gradients, once the first bucket has told
        self._trained = []  # (name, parameter)
        self._ids = {}  # id(parameter) -> (gradient id, name)
        self._dtype = {}
        self._flights = []
        self._passes = self._buckets = 0  # buckets of the pass under way, in parts of it that have ended
        self._to_load = None
        self._local = None  # the LocalSgd, once a step exchanges no gradients
        self._followed = self._hooked = self._in_backward = False
        self._begin = None
        self._non_finite = NonFinite(
            "skip this update on all ranks, as in `if state.last_step: optimizer.step()` (said once; state.last_step tells of "
            "each step)"
        )
        self._scalars = Scalars()
        self._seconds = {"synchronizing_s": 0.0, "waiting_s": 0.0}
        self.last_step: StepResult | None = None  # of the last backward pass

    def reduce(self, bucket: torch.distributed.GradBucket) -> torch.futures.Future[torch.Tensor]:
        """Submits each gradient of the bucket; the future holds the bucket once all of them are averaged."""
        if isinstance(bucket, tuple) or torch.compiler.is_compiling():
            raise errors.Unavailable(
                "the hook cannot be traced by torch.compile: compile the inner module and wrap it in DDP, with "
                'torch._dynamo.config.optimize_ddp = "ddp_optimizer"'
            )
        buffer, parameters = bucket.buffer(), bucket.parameters()
        self._check(buffer, parameters)
        if self._synchronizer is None:
            self._open(buffer, parameters)
        if self._synchronizer.session.exchanged != "gradients":
            return self._stay(buffer, bucket.is_last())
        future = torch.futures.Future(devices=[buffer.device]) if buffer.is_cuda else torch.futures.Future()
        with record_function("casync.submit"):
            flight = self._take_off(buffer, parameters, bucket.is_last(), future)
        if not self._flights:
            self._begin = time.monotonic()
            self._in_backward = self._wait_after_backward()
        self._flights.append(flight)
        self._completer.add(flight)
        if not self._in_backward:
            self._shadow(flight)
        return flight.future

    def follow(self, optimizer: torch.optim.Optimizer) -> None:
        """With a plan's `local_sgd` or `gossip`: each optimizer.step() ends a step, and exchanges where the plan says so.
        Of several optimizers, follow the one that comes last, or call stepped() yourself."""
        self._followed = True
        optimizer.register_step_post_hook(lambda *_: self.stepped())

    def stepped(self) -> None:
        """The parameters have been updated: ends the step, if its gradients were not exchanged. In the last step of a
        round of local SGD, parameters are the same on all ranks afterwards."""
        if self._local is None or not self._local.has_gradients:
            return
        begin = time.monotonic()
        self.last_step = self._local.end_step()
        for key in self._seconds:
            self._seconds[key] += time.monotonic() - begin
        self._write_scalars()

    def consensus(self) -> StepResult:
        """With a plan's `gossip` or `asynchronous`: takes all ranks to the mean of their parameters, the same bytes on
        each. On every rank after the same update; a step by itself. Evaluate, and save for another number of ranks,
        afterwards. Returns the StepResult: not finite, all ranks keep their parameters. InvalidArgument: the plan has
        neither of them, or no backward pass has run."""
        if self._synchronizer is None:
            raise errors.InvalidArgument(
                "no backward pass has run, so the parameters are those of the start: call consensus() after an update"
            )
        self._refuse_parts()
        self.stepped()
        if self._local is None:
            self._begin_local()
        self.last_step = self._local.consensus()
        return self.last_step

    @property
    def process_group(self) -> torch.distributed.ProcessGroup | None:
        """The group whose ranks are in the session: the one that was given, else the DDP module's. None: all ranks."""
        return self._group_with(naming.find_ddp(self))

    def stats(self) -> dict[str, Any]:
        """The session's counters, with synchronizing_s (first gradient submitted to last averaged, summed over steps)
        and waiting_s (the part of it for which backward() waited at its end)."""
        return {**(self._synchronizer.stats() if self._synchronizer else {}), **self._seconds}

    def log_to(self, writer: ScalarWriter, every: int = 10) -> None:
        """Writes scalars on rank 0 after each `every`-th step, to an object with add_scalar(tag, value, step), such as
        torch.utils.tensorboard.SummaryWriter: casync/exposed_ms and casync/synchronizing_ms of a step, casync/sent_mb of
        rank 0, each the mean since the last scalars, and casync/finite."""
        self._scalars.log_to(writer, every)

    def state_dict(self) -> dict[str, Any]:
        """The state of error feedback on this rank: tensors, ints and strings. Each rank saves its own."""
        if self._synchronizer is None:
            return self._to_load or {}
        state = saved.to_tensors(self._synchronizer.state_dict())
        return state if self._local is None else {**state, "local_sgd": self._local.state_dict()}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Takes the state that state_dict() gave on this rank; ahead of the first backward pass, or between two."""
        if self._synchronizer is None:
            self._to_load = state_dict
        elif state_dict:
            self._load(state_dict)

    def __getstate__(self) -> dict[str, Any]:
        """A copy, by copy.deepcopy() or pickle, has no session yet. It is of the process group of its DDP module, as with
        torch's own hooks, and goes on with this one's residuals."""
        if self._process_group is not None or self._node is not None:
            _log.warning("a copy of a casync.torch.State does not keep its process groups")
        return {"options": self._options, "named_parameters": self._named_parameters, "residuals": self.state_dict()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state["options"], named_parameters=state["named_parameters"])
        self.load_state_dict(state["residuals"])

    def close(self) -> None:
        """Says goodbye to the other ranks. The end of the program does it too."""
        if self._completer is not None:
            self._completer.stop()
        if self._synchronizer is not None:
            self._synchronizer.close()

    def __del__(self) -> None:
        if self._completer is not None:
            self._completer.stop()

    def _open(self, buffer: torch.Tensor, parameters: list[torch.Tensor]) -> None:
        ddp = naming.find_ddp(self)
        trained = naming.trained_parameters(ddp, self._named_parameters)
        if self._node is not None:
            self._node.check(self._group_with(ddp), None if ddp is None else ddp.process_group)
        self._device = self._device or buffer.device
        synchronizer = self._join(self._group_with(ddp))
        # A compressing wrapper around the hook changes every bucket's dtype, so the first bucket tells for all.
        wrapped = buffer.dtype != parameters[0].dtype
        # A model's parameters are in the order of its forward pass, so the first are needed soonest in the next.
        for position, (name, parameter) in enumerate(trained):
            dtype = naming.dtype_name(buffer if wrapped else parameter, f"gradient {name}")
            shape = parameter.shape if self._node is None else (self._node.part_of(parameter.numel()),)
            self._ids[id(parameter)] = (synchronizer.declare(name, shape, dtype, position), name)
            self._dtype[id(parameter)] = dtype
        self._synchronizer, self._completer, self._trained = synchronizer, Completer(synchronizer), trained
        if self._to_load:
            self._load(self._to_load)

    def _group_with(
        self, ddp: torch.nn.parallel.DistributedDataParallel | None
    ) -> torch.distributed.ProcessGroup | None:
        return ddp.process_group if self._process_group is None and ddp is not None else self._process_group

    def _join(self, group: torch.distributed.ProcessGroup | None) -> Synchronizer:
        device = None if self._device is None else str(self._device)
        return Synchronizer(store=launch.find_store(self._options["timeout"], group), device=device, **self._options)

    def synchronizer(self, device: torch.device | None = None) -> Synchronizer:
        """The session's Synchronizer, for hooks other than DDP's. The first call is collective: it opens the session, on
        `device` (None: the CPU). InvalidArgument: it is on another device, or this state has a `local_group`."""
        if self._node is not None:
            raise errors.InvalidArgument("local_group is for DDP's hook; FSDP2 divides gradients within a node by its mesh")
        if self._synchronizer is None:
            self._device = self._device or device
            self._synchronizer = self._join(self._process_group)
            if self._to_load:
                self._load(self._to_load)
        if device is not None and self._device is not None and device != self._device:
            raise errors.InvalidArgument(f"a tensor is on {device}, and the session is on {self._device}")
        return self._synchronizer

    def _load(self, state_dict: Mapping[str, Any]) -> None:
        self._synchronizer.load_state_dict(saved.to_arrays(state_dict))
        self._local = self._to_load = None
        if "local_sgd" in state_dict:
            self._begin_local()
            self._local.load_state_dict(state_dict["local_sgd"])

    def _begin_local(self) -> None:
        for name, parameter in self._trained:
            if naming.dtype_name(parameter, f"parameter {name}") != self._dtype[id(parameter)]:
                raise errors.InvalidArgument(
                    f"{name} is {naming.dtype_name(parameter, name)} and its gradient comes as "
                    f"{self._dtype[id(parameter)]}: local_sgd and gossip exchange parameters as they are; register the hook "
                    "without a compressing wrapper"
                )
        self._local = LocalSgd(self._synchronizer, self._trained, [self._ids[id(p)][0] for _, p in self._trained])
        ddp = naming.find_ddp(self)
        if ddp is not None and not self._hooked:
            # An optimizer that did not step, as under GradScaler, has not said that the step is over.
            ddp.register_forward_pre_hook(ModuleHook(lambda *_: self.stepped() if self._followed else None))
            self._hooked = True

    def _stay(self, buffer: torch.Tensor, last: bool) -> torch.futures.Future[torch.Tensor]:
        """A bucket of a step that exchanges no gradients: they stay as this rank has them."""
        self._refuse_parts()
        if buffer.is_cuda:
            raise errors.Unavailable(
                "local_sgd and gossip exchange parameters in memory of the CPU: leave them out of the plan"
            )
        if self._local is None:
            self._begin_local()
        if self._local.has_gradients:
            raise errors.InvalidArgument(
                "by the plan's local_sgd or gossip this step ends when the parameters have been updated, and nobody says when: "
                "call state.follow(optimizer) once, or state.stepped() after each update"
            )
        self._local.has_gradients = last
        future = torch.futures.Future()
        future.set_result(buffer)
        return future

    def _refuse_parts(self) -> None:
        if self._node is not None:
            raise errors.Unavailable(
                "local_sgd, gossip and asynchronous exchange whole parameters, and with local_group a rank has a part of each: "
                "leave one of the two out"
            )

    def _check(self, buffer: torch.Tensor, parameters: list[torch.Tensor]) -> None:
        if buffer.is_sparse:
            raise errors.InvalidArgument("a bucket is sparse: use Embedding(sparse=False)")
        if buffer.device.type not in ("cpu", "cuda"):
            raise errors.Unavailable(f"a bucket is on {buffer.device}, expected the CPU or a GPU of CUDA")
        if self._device is not None and buffer.device != self._device:
            raise errors.InvalidArgument(f"a bucket is on {buffer.device}, and the session is on {self._device}")
        if self._flights and self._flights[-1].last:
            raise errors.Error("the previous backward pass did not end: its error was caught and dropped")

    def _take_off(
        self,
        buffer: torch.Tensor,
        parameters: list[torch.Tensor],
        last: bool,
        future: torch.futures.Future[torch.Tensor],
    ) -> Flight:
        node = self._node
        if node is None:
            return Flight(self._submit(buffer, parameters), buffer, last, future)
        if torch._C._current_graph_task_id() < 0:
            raise errors.Unavailable("DDP's join() does not go with local_group: give State(...) none in such a program")
        elements = [parameter.numel() for parameter in parameters]
        part = node.reduce(buffer, elements)
        gather = functools.partial(self._gather, node, part, buffer, elements)
        return Flight(self._submit(part, parameters), buffer, last, future, gather)

    def _gather(
        self, node: Node, part: torch.Tensor, buffer: torch.Tensor, elements: list[int], step: StepResult | None
    ) -> StepResult | None:
        node.gather(part, buffer, elements)
        return None if step is None else node.agree(step, [name for name, _ in self._trained], buffer.device)

    def _submit(self, buffer: torch.Tensor, parameters: list[torch.Tensor]) -> list[Handle]:
        """One C call for the bucket. DDP lays its gradients out one after another, in the parameters' order."""
        ids = []
        for parameter in parameters:
            try:
                identity, name = self._ids[id(parameter)]
            except KeyError:
                raise errors.InvalidArgument(
                    f"a parameter of shape {tuple(parameter.shape)} was not among the named parameters when the first "
                    "backward pass began: register a State of its own with each DistributedDataParallel module, or give "
                    "State(named_parameters=...) those of all of them"
                ) from None
            if self._dtype[id(parameter)] != naming.dtype_name(buffer, f"gradient {name}"):
                raise errors.InvalidArgument(
                    f"gradient {name} comes as {buffer.dtype}, and was {self._dtype[id(parameter)]} earlier"
                )
            ids.append(identity)
        return self._synchronizer.submit_bucket(ids, buffer.data_ptr(), buffer, stream=naming.stream_of(buffer.device))

    def _wait_after_backward(self) -> bool:
        """False outside of a backward pass, where DDP's join() lets a rank without data take part with zeros."""
        try:
            torch.autograd.Variable._execution_engine.queue_callback(self._wait)
        except RuntimeError:
            return False
        return True

    def _note_overlap(self, flights: list[Flight]) -> None:
        """Says once when all gradients come in one bucket, so that none travels during the backward pass. DDP makes its
        buckets anew after the first pass."""
        self._buckets += len(flights)
        if not flights[-1].last:
            return
        count, self._buckets = self._buckets, 0
        self._passes += 1
        if self._passes != 2 or count > 1 or self._synchronizer.rank != 0:
            return
        size = flights[0].buffer.numel() * flights[0].buffer.element_size()
        if size >= _WORTH_OVERLAP:
            _log.warning(
                "all %.0f MB of gradients come in one bucket, so none of them travels during the backward pass: "
                "DistributedDataParallel(model, bucket_cap_mb=%d) makes several",
                size / 1e6,
                max(1, size // 8_000_000),
            )

    def _shadow(self, flight: Flight) -> None:
        flight.wait()
        if flight.last:
            self._wait()

    def _wait(self) -> None:
        """Ends a backward pass, on the thread that called it; or a part of one, where use_reentrant=True recomputes."""
        begin = time.monotonic()
        flights, self._flights = self._flights, []
        self._note_overlap(flights)
        if self._node is not None:
            self._completer.gather()
        with record_function("casync.wait"):
            for flight in flights:
                flight.wait()
        self.end_pass(flights[-1].step, self._begin, begin, flights[-1].end)

    def end_pass(self, step: StepResult | None, begin: float, waits_from: float, landed: float) -> None:
        """For hooks of any kind, at the end of a backward pass or a part of it: the result of its step, if it ended
        one, and time.monotonic() of its first submission, of when it began to wait, and of when all had landed."""
        self._seconds["waiting_s"] += max(0.0, landed - waits_from)
        self._seconds["synchronizing_s"] += landed - begin
        if step is not None:
            self.last_step = step
            if not step.finite:
                self._non_finite.tell(self._synchronizer.rank, step.first_non_finite)
            self._write_scalars()

    def _write_scalars(self) -> None:
        """Writes the scalars of log_to() after a step."""
        if self._synchronizer.rank == 0:
            self._scalars.end_step(self.stats, bool(self.last_step))
