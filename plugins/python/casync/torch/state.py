# SPDX-License-Identifier: Apache-2.0
"""What the communication hook keeps between calls: the session, the gradients' ids, and what is on its way."""

import time

import torch

from casync import errors, launch
from casync.session import Session
from casync.torch import naming, saved
from casync.torch.completer import Completer, Flight


class State:
    """Goes with `comm_hook` into `ddp.register_comm_hook`. Opens its session at the first backward pass, when the
    names and shapes of all gradients are known; its arguments are those of casync.Session.

    Names come from `named_parameters`, else from the DDP module that holds this state. A failure of the session is
    raised by backward(), on the thread that called it.
    """

    def __init__(
        self,
        plan=None,
        codec=None,
        named_parameters=None,
        process_group=None,
        transport=None,
        token=None,
        timeout=None,
        trace=None,
    ):
        self._named_parameters = None if named_parameters is None else list(named_parameters)
        self._process_group = process_group
        self._options = dict(plan=plan, codec=codec, transport=transport, token=token, timeout=timeout, trace=trace)
        self._session = self._completer = None
        self._ids = {}  # id(parameter) -> (gradient id, name)
        self._dtype = {}
        self._flights = []
        self._to_load = None
        self._begin = None
        self._seconds = {"synchronizing_s": 0.0, "waiting_s": 0.0}
        self.last_step = None  # casync.StepResult of the last backward pass

    def reduce(self, bucket):
        """Submits each gradient of the bucket; the future holds the bucket once all of them are averaged."""
        if isinstance(bucket, tuple) or torch.compiler.is_compiling():
            raise errors.Unavailable(
                "the hook cannot be traced by torch.compile: compile the inner module and wrap it in DDP, with "
                'torch._dynamo.config.optimize_ddp = "ddp_optimizer"'
            )
        buffer, parameters = bucket.buffer(), bucket.parameters()
        self._check(buffer, parameters)
        if self._session is None:
            self._open(buffer, parameters)
        flight = Flight(self._submit(buffer, parameters), buffer, bucket.is_last())
        if not self._flights:
            self._begin = time.monotonic()
            self._wait_after_backward()
        self._flights.append(flight)
        self._completer.add(flight)
        return flight.future

    def stats(self):
        """The session's counters, with synchronizing_s (first gradient submitted to last averaged, summed over steps)
        and waiting_s (of that, what backward() waited for at its end)."""
        return {**(self._session.stats() if self._session else {}), **self._seconds}

    def state_dict(self):
        """What error feedback remembers on this rank: tensors, ints and strings. Each rank saves its own."""
        if self._session is None:
            return self._to_load or {}
        return saved.to_tensors(self._session.state_dict())

    def load_state_dict(self, state_dict):
        """Takes what state_dict() gave on this rank; before the first backward pass, or between two."""
        if self._session is None:
            self._to_load = state_dict
        elif state_dict:
            self._session.load_state_dict(saved.to_arrays(state_dict))

    def close(self):
        """Says goodbye to the other ranks. The end of the program does it too."""
        if self._session is not None:
            self._completer.stop()
            self._session.close()

    def __del__(self):
        if self._completer is not None:
            self._completer.stop()

    def _open(self, buffer, parameters):
        ddp = naming.find_ddp(self)
        trained = naming.trained_parameters(ddp, self._named_parameters)
        group = self._process_group
        if group is None and ddp is not None:
            group = ddp.process_group
        store = launch.find_store(self._options["timeout"], group)
        session = Session(store=store, **self._options)
        # A compressing wrapper around the hook changes every bucket's dtype, so the first bucket tells for all.
        wrapped = buffer.dtype != parameters[0].dtype
        # A model's parameters are in the order of its forward pass, so the first are needed soonest in the next.
        for position, (name, parameter) in enumerate(trained):
            dtype = naming.dtype_name(buffer if wrapped else parameter, f"gradient {name}")
            self._ids[id(parameter)] = (session.declare(name, parameter.shape, dtype, priority=position), name)
            self._dtype[id(parameter)] = dtype
        if self._to_load:
            session.load_state_dict(saved.to_arrays(self._to_load))
        self._session, self._completer = session, Completer(session)

    def _check(self, buffer, parameters):
        if buffer.is_sparse:
            raise errors.InvalidArgument("a bucket is sparse: use Embedding(sparse=False)")
        if buffer.device.type != "cpu":
            raise errors.Unavailable(f"a bucket is on {buffer.device}: this build synchronizes memory of the CPU")
        if self._flights and self._flights[-1].last:
            raise errors.Error("the backward pass before this one did not end: its error was caught and dropped")

    def _submit(self, buffer, parameters):
        """One C call for the bucket. DDP lays its gradients out one after another, in the parameters' order."""
        ids, addresses, sizes = [], [], []
        address = buffer.data_ptr()
        for parameter in parameters:
            try:
                identity, name = self._ids[id(parameter)]
            except KeyError:
                raise errors.InvalidArgument(
                    f"a parameter of shape {tuple(parameter.shape)} was not among the named parameters when the first "
                    "backward pass began"
                ) from None
            if self._dtype[id(parameter)] != naming.dtype_name(buffer, f"gradient {name}"):
                raise errors.InvalidArgument(
                    f"gradient {name} comes as {buffer.dtype}, and was {self._dtype[id(parameter)]} before"
                )
            ids.append(identity)
            addresses.append(address)
            sizes.append(parameter.numel() * buffer.element_size())
            address += sizes[-1]
        return self._session._submit(ids, addresses, sizes, buffer)

    def _wait_after_backward(self):
        try:
            torch.autograd.Variable._execution_engine.queue_callback(self._wait)
        except RuntimeError as cause:
            raise errors.InvalidArgument("the hook was called outside of a backward pass") from cause

    def _wait(self):
        """Ends a backward pass, on the thread that called it."""
        begin = time.monotonic()
        flights, self._flights = self._flights, []
        for flight in flights:
            flight.wait(self._session)
        end = flights[-1].end
        if flights[-1].step is not None:
            self.last_step = flights[-1].step
        self._seconds["waiting_s"] += max(0.0, end - begin)
        self._seconds["synchronizing_s"] += end - self._begin
