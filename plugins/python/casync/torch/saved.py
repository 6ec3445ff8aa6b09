# SPDX-License-Identifier: Apache-2.0
"""A session's state as torch.save and torch.load(weights_only=True) take it: tensors instead of arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


def to_tensors(state: Mapping[str, Any]) -> dict[str, Any]:
    return _with_residuals(state, lambda residual: torch.from_numpy(residual))


def to_arrays(state: Mapping[str, Any]) -> dict[str, Any]:
    return _with_residuals(state, lambda residual: residual.detach().cpu().numpy())


def _with_residuals(state: Mapping[str, Any], convert: Callable[[Any], Any]) -> dict[str, Any]:
    gradients = {
        name: {**gradient, "residual": convert(gradient["residual"])} for name, gradient in state["gradients"].items()
    }
    return {**state, "gradients": gradients}
