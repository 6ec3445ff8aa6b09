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

    from numpy.typing import NDArray

_SCATTERED = ", scattered"  # of a gradient of which each rank owns a shard
_ASYNCHRONOUS = ", asynchronous"  # of a gradient whose owners keep what ranks have not received
_LATE = ("step late", "steps late")  # the codecs of a delayed session's results, which all ranks have alike


def reshard(states: Iterable[Mapping[str, Any]], rank: int, size: int) -> dict[str, Any]:
    """The state of `rank` in a job of `size` ranks. `states`: those that Session.state_dict() gave on every rank of the
    job that was saved, in any order. What those ranks had not sent yet is shared out evenly, so that the sum of all
    that is ever applied stays the sum of all gradients. InvalidArgument: a rank's state is missing, a codec keeps more
    than a residual (momentum, a low-rank factor), which belongs to the old ranks, servers are dedicated, owners of an
    `asynchronous` plan keep what ranks have not received, or `rank` is alone and sends nothing."""
    states = sorted(states, key=lambda state: state["rank"])
    _check(states)
    old = len(states)
    if old == size:
        return states[rank]
    gradients = {}
    for name, first in states[0]["gradients"].items():
        parts = [state["gradients"][name] for state in states]
        if first["codec"].endswith(_ASYNCHRONOUS):
            _check_nothing_is_owed(name, parts, size)
            continue  # it begins anew
        _check_alike(name, parts)
        if first["codec"].endswith(_LATE) or not len(first["residual"]):
            gradients[name] = first
            continue
        if any("owned" not in part or not part.get("is_residual", True) for part in parts):
            raise errors.InvalidArgument(
                f"gradient {name}: {first['codec']} keeps more than a residual, and that belongs to {old} ranks: it cannot "
                f"be loaded by {size}; leave this gradient out of the state to begin it anew"
            )
        is_scattered = first["codec"].endswith(_SCATTERED)
        gradients[name] = _of_shards(name, parts, rank, size) if is_scattered else _shared(name, parts, size)
    return {"step": states[0]["step"], "ranks": size, "rank": rank, "gradients": gradients}


def _check(states: list[Mapping[str, Any]]) -> None:
    if not states:
        raise errors.InvalidArgument("there are no states to reshard: give those of all ranks")
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


def _check_alike(name: str, parts: list[Mapping[str, Any]]) -> None:
    for rank, part in enumerate(parts):
        if part["codec"] != parts[0]["codec"]:
            raise errors.InvalidArgument(
                f"gradient {name}: the state of rank {rank} is of {part['codec']}, that of rank 0 of {parts[0]['codec']}"
            )
        if len(part["residual"]) != len(parts[0]["residual"]):
            raise errors.InvalidArgument(
                f"gradient {name}: the state of rank {rank} has {len(part['residual'])} elements, that of rank 0 "
                f"{len(parts[0]['residual'])}"
            )


def _check_nothing_is_owed(name: str, parts: list[Mapping[str, Any]], size: int) -> None:
    """A state of asynchronous ranks has this rank's residual, and the sums of the partitions that it owns: owners of
    another number of ranks have others."""
    for rank, part in enumerate(parts):
        if numpy.any(part["residual"]):
            raise errors.InvalidArgument(
                f"gradient {name} is asynchronous, and rank {rank} keeps what was not sent or not received: that belongs to "
                f"the partitions of {len(parts)} ranks and cannot be loaded by {size}. Without a codec that keeps a "
                "residual, a step of zeros ahead of the consensus leaves nothing; or leave this gradient out of the states "
                "to begin it anew"
            )


def _shared(name: str, parts: list[Mapping[str, Any]], size: int) -> dict[str, Any]:
    """In float64. The residual of a rank's own contribution counts as much as that in a result, and a residual of the
    result itself, which an owner encodes, wholly."""
    if "dedicated server" in parts[0]["codec"]:
        raise errors.InvalidArgument(
            f"gradient {name}: {parts[0]['codec']}: dedicated servers contribute nothing, and which ranks are servers of "
            f"{size} is not known here; leave this gradient out of the state to begin it anew"
        )
    old, elements = len(parts), len(parts[0]["residual"])
    total, owned, sent = numpy.zeros(elements), 0, 0
    for part in parts:
        weight = numpy.zeros(elements)
        # Earlier versions did not name the ranges that a rank sends. Its residual is 0 in those that it does not send.
        for first, count in part.get("sent", [(0, elements)]):
            weight[first : first + count] = _of_contribution(part, old)
            sent += count
        for first, count in _ranges(part["owned"]):
            weight[first : first + count] = 1
            owned += count
        total += weight * numpy.asarray(part["residual"], numpy.float64)
    # An owner adds its own elements as they are, except where all ranks send theirs as codes.
    all_send = sent == old * elements if "sent" in parts[0] else "all_gather" in parts[0]["codec"].lower()
    in_result = (size if all_send else size - 1) * _of_contribution(parts[0], size) + (1 if owned else 0)
    if not in_result and total.any():
        raise errors.InvalidArgument(
            f"gradient {name}: one rank encodes nothing with {parts[0]['codec']} that keeps a residual: what {old} ranks "
            "had not sent would be lost; leave this gradient out of the state to begin it anew"
        )
    return _loadable(parts, total / in_result if in_result else total)


def _of_shards(name: str, parts: list[Mapping[str, Any]], rank: int, size: int) -> dict[str, Any]:
    """A rank sends all but its own shard, so the others have what was not sent of that."""
    if size == 1:
        raise errors.InvalidArgument(
            f"gradient {name} is scattered, and one rank sends nothing: what {len(parts)} ranks had not sent would be lost; "
            "leave this gradient out of the state to begin it anew"
        )
    total = sum(numpy.asarray(part["residual"], numpy.float64) for part in parts) * _of_contribution(parts[0], len(parts))
    share = total / ((size - 1) * _of_contribution(parts[0], size))
    own = len(share) // size
    share[rank * own : (rank + 1) * own] = 0
    return _loadable(parts, share)


def _of_contribution(part: Mapping[str, Any], ranks: int) -> float:
    """The weight of one rank's contribution in the result of so many. Earlier versions did not save `op`: a mean."""
    return 1 if part.get("op") == "sum" else 1 / ranks


def _loadable(parts: list[Mapping[str, Any]], share: NDArray[numpy.float64]) -> dict[str, Any]:
    """It says nothing of roles: every rank of the new job has the same, whatever it encodes."""
    return {"codec": parts[0]["codec"], "residual": share.astype(numpy.float32)}


def _ranges(owned: str | list[tuple[int, int]]) -> list[tuple[int, int]]:
    return json.loads(owned) if isinstance(owned, str) else owned
