# SPDX-License-Identifier: Apache-2.0
"""A session's state as torch.save and torch.load(weights_only=True) take it: tensors instead of arrays."""

import torch


def to_tensors(state):
    return _with_residuals(state, lambda residual: torch.from_numpy(residual))


def to_arrays(state):
    return _with_residuals(state, lambda residual: residual.detach().cpu().numpy())


def _with_residuals(state, convert):
    gradients = {
        name: {**gradient, "residual": convert(gradient["residual"])} for name, gradient in state["gradients"].items()
    }
    return {**state, "gradients": gradients}
