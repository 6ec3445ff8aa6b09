# SPDX-License-Identifier: Apache-2.0
"""Local SGD: ranks train alone, and now and then exchange what their parameters have become apart.

A plan's `local_sgd` says when. The communication hook leaves gradients as they are then, and what an optimizer has made
of them is exchanged after its step: each rank submits where all ranks last were minus where it is, and goes to where all
last were minus the mean of that. The same bytes on every rank, whatever codec carries them.
"""

import torch

from casync import errors


class LocalSgd:
    """Belongs to one State, from its first step without gradients on."""

    def __init__(self, synchronizer, parameters, identities):
        """`parameters`: (name, parameter) of all that is trained; `identities`: their gradients' ids."""
        self._synchronizer = synchronizer
        self._parameters = parameters
        self._identities = identities
        with torch.no_grad():
            self._common = [parameter.detach().clone() for _, parameter in parameters]  # where all ranks last were
        self._differences = [torch.empty_like(common) for common in self._common]
        self.has_gradients = False  # of a backward pass that no optimizer has used yet

    def end_step(self):
        """After the parameters have been updated, or were not to be. The session's StepResult."""
        self.has_gradients = False
        if self._synchronizer.session.exchanged != "differences":
            return self._synchronizer.end_step()
        with torch.no_grad():
            for common, difference, (_, parameter) in zip(self._common, self._differences, self._parameters):
                torch.sub(common, parameter, out=difference)
            addresses = [difference.data_ptr() for difference in self._differences]
            self._synchronizer.submit(self._identities, addresses, self._differences)
            step = self._synchronizer.end_step()
            for common, difference, (_, parameter) in zip(self._common, self._differences, self._parameters):
                if step.finite:  # else all ranks go back to where they last were the same
                    common.sub_(difference)
                parameter.copy_(common)
        return step

    def state_dict(self):
        return {name: common for (name, _), common in zip(self._parameters, self._common)}

    def load_state_dict(self, common):
        known = {name: own for (name, _), own in zip(self._parameters, self._common)}
        strangers = sorted(set(known) ^ set(common))
        if strangers:
            raise errors.InvalidArgument(f"the state of local SGD is of other parameters: {strangers[0]} is in one only")
        with torch.no_grad():
            for name, own in known.items():
                own.copy_(common[name])
