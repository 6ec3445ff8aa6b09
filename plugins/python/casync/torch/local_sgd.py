# SPDX-License-Identifier: Apache-2.0
"""Local SGD: ranks train alone, and now and then exchange what their parameters have become apart.

A plan's `local_sgd` says when. In these steps the communication hook leaves gradients unchanged. After the optimizer's
step each rank submits the difference `common - own`, where `common` are the parameters that all ranks last had, and
sets its parameters to `common` minus the mean difference: the same bytes on every rank, with every codec.

Gossip, a plan's `gossip`: each rank submits its parameters and goes to the mean of its own and its neighbours', so that
ranks stay apart. A consensus takes all to the same place, the exact mean.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from casync import errors
from casync.synchronizer import NonFinite
from casync.torch import naming

if TYPE_CHECKING:
    from collections.abc import Mapping

    from casync.session import StepResult
    from casync.synchronizer import Synchronizer


class LocalSgd:
    """Belongs to one State, from its first step without gradients on."""

    def __init__(
        self, synchronizer: Synchronizer, parameters: list[tuple[str, torch.Tensor]], identities: list[int]
    ) -> None:
        """`parameters`: (name, parameter) of all that is trained; `identities`: their gradients' ids."""
        self._synchronizer = synchronizer
        self._parameters: list[tuple[str, torch.Tensor]] = []
        self._identities: list[int] = []
        # The parameters that all ranks last had, or with gossip those of this rank after the last round.
        self._common: list[torch.Tensor] = []
        self._submitted: list[torch.Tensor] = []
        for (name, parameter), identity in zip(parameters, identities):
            self.add(name, parameter, identity)
        self.has_gradients = False  # of a backward pass that no optimizer has used yet
        self._non_finite = NonFinite(
            "the parameters are those of the start of the round again (said once; last_step tells of each step)"
        )

    def add(self, name: str, parameter: torch.Tensor, identity: int) -> None:
        """Exchanges one more from now on: on all ranks, which have the same values of it."""
        with torch.inference_mode(False):  # an evaluation may be what asks for a consensus
            common = parameter.detach().clone()
            self._submitted.append(torch.empty_like(common))
        self._common.append(common)
        self._parameters.append((name, parameter))
        self._identities.append(identity)

    def end_step(self) -> StepResult:
        """After the parameters have been updated, or were not to be. The session's StepResult."""
        self.has_gradients = False
        exchanged = self._synchronizer.session.exchanged
        if exchanged == "parameters":
            return self._exchange_parameters()
        return self._exchange_differences() if exchanged == "differences" else self._synchronizer.end_step()

    def consensus(self) -> StepResult:
        """With gossip: a step by itself, after which all ranks have the mean of their parameters. The StepResult; False
        in a condition: some rank's are not finite, and all keep theirs."""
        self._synchronizer.session.begin_consensus()
        with torch.no_grad():
            step = self._submit([parameter for _, parameter in self._parameters])
            if step.finite:
                self._go_to(self._submitted)
        return step

    def _exchange_differences(self) -> StepResult:
        with torch.no_grad():
            for common, difference, (_, parameter) in zip(self._common, self._submitted, self._parameters):
                torch.sub(common, parameter, out=difference)
            step = self._submit()
            for common, difference, (_, parameter) in zip(self._common, self._submitted, self._parameters):
                if step.finite:  # else all ranks go back to where they last were the same
                    common.sub_(difference)
                parameter.copy_(common)
        if not step.finite:
            self._non_finite.tell(self._synchronizer.rank, step.first_non_finite)
        return step

    def _exchange_parameters(self) -> StepResult:
        with torch.no_grad():
            step = self._submit([parameter for _, parameter in self._parameters])
            # A rank that has met values that are not finite goes back to where its round began.
            self._go_to(self._submitted if step.finite else self._common)
        if not step.finite:
            self._non_finite.tell(0, step.first_non_finite)  # each such rank, as others may not know of it
        return step

    def _submit(self, values: list[torch.Tensor] | None = None) -> StepResult:
        """Exchanges `values`, else what is in the memory for it already, and ends the step."""
        for memory, value in zip(self._submitted, values or []):
            memory.copy_(value)
        addresses = [memory.data_ptr() for memory in self._submitted]
        stream = naming.stream_of(self._submitted[0].device) if self._submitted else None
        self._synchronizer.submit(self._identities, addresses, self._submitted, stream=stream)
        return self._synchronizer.end_step()

    def _go_to(self, values: list[torch.Tensor]) -> None:
        for common, value, (_, parameter) in zip(self._common, values, self._parameters):
            common.copy_(value)
            parameter.copy_(value)

    def state_dict(self) -> dict[str, torch.Tensor]:
        return {name: common.clone() for (name, _), common in zip(self._parameters, self._common)}

    def load_state_dict(self, common: Mapping[str, torch.Tensor]) -> None:
        known = {name: own for (name, _), own in zip(self._parameters, self._common)}
        strangers = sorted(set(known) ^ set(common))
        if strangers:
            raise errors.InvalidArgument(
                f"the state of local SGD is of other parameters: {strangers[0]} is in the state or in the model alone; "
                "load the state of this model"
            )
        with torch.no_grad():
            for name, own in known.items():
                own.copy_(common[name])
