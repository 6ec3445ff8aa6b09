# SPDX-License-Identifier: Apache-2.0
"""Residuals for another number of ranks: the states that all ranks saved become the state of one rank of a new job."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy

from casync import errors

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

_SCATTERED = ", scattered"  # of a gradient of which each rank owns a shard
_LATE = ("step late", "steps late")  # the codecs of a delayed session's results, which all ranks have alike


def reshard(states: Iterable[Mapping[str, Any]], rank: int, size: int) -> dict[str, Any]:
    """The state of `rank` in a job of `size` ranks. `states`: those that Session.state_dict() gave on every rank of the
    job that was saved, in any order. What those ranks had not sent yet is shared out evenly, so that the sum of all
    that is ever applied stays the sum of all gradients. InvalidArgument: a rank's state is missing, or a codec keeps
    more than a residual (momentum, a low-rank factor), which belongs to the old ranks."""
    states = sorted(states, key=lambda state: state["rank"])
    _check(states)
    old = len(states)
    if old == size:
        return states[rank]
    gradients = {}
    for name, first in states[0]["gradients"].items():
        parts = [state["gradients"][name] for state in states]
        if first["codec"].endswith(_LATE) or not len(first["residual"]):
            gradients[name] = first
            continue
        if any("owned" not in part for part in parts):
            raise errors.InvalidArgument(
                f"gradient {name}: {first['codec']} keeps more than a residual, and that belongs to {old} ranks: it cannot "
                f"be loaded by {size}; leave this gradient out of the state to begin it anew"
            )
        is_scattered = first["codec"].endswith(_SCATTERED)
        gradients[name] = _of_shards(name, parts, rank, size) if is_scattered else _shared(parts, size)
    return {"step": states[0]["step"], "ranks": size, "rank": rank, "gradients": gradients}


def _check(states: list[Mapping[str, Any]]) -> None:
    if not states:
        raise errors.InvalidArgument("no states to reshard")
    ranks = [state["rank"] for state in states]
    if ranks != list(range(states[0]["ranks"])):
        raise errors.InvalidArgument(f"states of ranks {ranks}, expected those of all {states[0]['ranks']} ranks, once each")
    for state in states:
        for key in ("step", "ranks"):
            if state[key] != states[0][key]:
                raise errors.InvalidArgument(
                    f"the state of rank {state['rank']} has {key} {state[key]}, that of rank 0 {states[0][key]}"
                )
        if set(state["gradients"]) != set(states[0]["gradients"]):
            (name, *_) = sorted(set(state["gradients"]) ^ set(states[0]["gradients"]))
            raise errors.InvalidArgument(f"gradient {name} is not in the states of both rank 0 and rank {state['rank']}")


def _shared(parts: list[Mapping[str, Any]], size: int) -> dict[str, Any]:
    """In float64. A rank's residual is of its own gradient, so it counts 1 / ranks of a mean; where the rank encodes the
    mean, it is of the mean."""
    total, owners = 0, 0
    for part in parts:
        weight = numpy.ones(len(part["residual"]))
        for first, count in _ranges(part["owned"]):
            weight[first : first + count] = len(parts)
            owners += count
        total = total + weight * numpy.asarray(part["residual"], numpy.float64)
    mean = total / len(parts)
    # In the new job each element counts 1 / size on each rank, and wholly on its owner, where the strategy has owners.
    has_owners = owners > 0 or (len(parts) == 1 and "all_gather" not in parts[0]["codec"].lower())
    share = mean * (size / (2 * size - 1) if has_owners else 1)
    return {"codec": parts[0]["codec"], "residual": share.astype(numpy.float32), "owned": parts[0]["owned"]}


def _of_shards(name: str, parts: list[Mapping[str, Any]], rank: int, size: int) -> dict[str, Any]:
    """A rank sends all but its own shard, so the others have what was not sent of that."""
    if size == 1:
        raise errors.InvalidArgument(
            f"gradient {name} is scattered, and one rank sends nothing: what {len(parts)} ranks had not sent would be lost; "
            "leave this gradient out of the state to begin it anew"
        )
    share = sum(numpy.asarray(part["residual"], numpy.float64) for part in parts) / len(parts) * (size / (size - 1))
    own = len(share) // size
    share[rank * own : (rank + 1) * own] = 0
    return {"codec": parts[0]["codec"], "residual": share.astype(numpy.float32), "owned": parts[0]["owned"]}


def _ranges(owned: str | list[tuple[int, int]]) -> list[tuple[int, int]]:
    return json.loads(owned) if isinstance(owned, str) else owned
