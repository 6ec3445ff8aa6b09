# SPDX-License-Identifier: Apache-2.0
"""Checks of the states that a session loads: they come from files, which may be damaged or hold something else."""

from __future__ import annotations

import collections.abc
import json
import operator
from typing import TYPE_CHECKING

import numpy

from casync import errors

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_LATE = ("step late", "steps late")  # the codecs of results that staleness has not handed over


def counters(state: Mapping[str, Any]) -> dict[str, int]:
    """The whole numbers of a state about its job: step, ranks and rank. InvalidArgument: it has none of them, or is no state."""
    if not isinstance(state, collections.abc.Mapping):
        raise errors.InvalidArgument(f"this is no state of a session but a {type(state).__name__}; take one by state_dict()")
    missing = [key for key in ("step", "ranks", "rank", "gradients") if key not in state]
    if missing:
        raise errors.InvalidArgument(
            f"this is no state of a session: it has no {', '.join(missing)}; take one by state_dict()"
        )
    if not isinstance(state["gradients"], collections.abc.Mapping):
        raise errors.InvalidArgument(f"the state's gradients are a {type(state['gradients']).__name__}, not a dict")
    numbers = {}
    for key in ("step", "ranks", "rank"):
        try:
            numbers[key] = operator.index(state[key])
        except TypeError:
            raise errors.InvalidArgument(f"the state's {key} is {state[key]!r}, expected a whole number") from None
    return numbers


def described(gradient: Mapping[str, Any]) -> dict[str, Any]:
    """All of a gradient's state but its residual, as JSON takes it."""
    known = {key: gradient[key] for key in ("codec", "op", "owned", "sent", "is_residual") if key in gradient}
    if isinstance(known.get("owned"), str):  # the form of early versions
        known["owned"] = json.loads(known["owned"])
    return known


def check_kept(name: str, gradient: Mapping[str, Any]) -> None:
    """Residuals are finite: a step with NaN leaves them as they were. What waits some steps for its turn may be anything."""
    if not isinstance(gradient, collections.abc.Mapping) or not isinstance(gradient.get("codec"), str):
        raise errors.InvalidArgument(f"gradient {name}: its state names no codec: this state is damaged")
    if "residual" not in gradient:
        raise errors.InvalidArgument(f"gradient {name}: its state has no residual: this state is damaged")
    try:
        kept = numpy.asarray(gradient["residual"], numpy.float32)
    except (TypeError, ValueError) as error:
        raise errors.InvalidArgument(f"gradient {name}: its residual is no array of float32: {error}") from None
    if gradient["codec"].endswith(_LATE):
        return
    finite = numpy.isfinite(kept)
    if not finite.all():
        place = int(numpy.argmin(finite.ravel()))
        raise errors.InvalidArgument(
            f"gradient {name}: element {place} of its residual is {kept.ravel()[place]}, and would be in every later step:"
            " this state is damaged, take an earlier one"
        )
