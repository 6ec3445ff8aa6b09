# SPDX-License-Identifier: Apache-2.0
"""Residuals in a checkpoint of torch.distributed.checkpoint, which any number of ranks loads again.

    dcp.save({"model": model.state_dict(), "casync": casync.torch.residuals(state)}, checkpoint_id=path)
    casync.torch.load_residuals(state, path)
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp

from casync import errors, reshard
from casync.torch import saved

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping
    from typing import Any

    from casync.torch.optimizer import Engine
    from casync.torch.state import State


def residuals(owner: State | Engine) -> dict[str, Any]:
    """The part of a checkpoint that belongs to this rank; every rank gives its own to dcp.save(). `owner` is a State or
    `optimizer.casync`. A flat dictionary: one JSON text, and each tensor under the rank and its place in the state. The
    rank is that in the whole job, because several process groups may save into one checkpoint."""
    state = owner.state_dict()
    if not state:
        return {}
    members, rank = _place(owner)
    tensors = {}
    text = json.dumps({**_without_tensors(state, str(members[rank]), tensors), "members": members})
    return {f"{members[rank]}/state": text, **tensors}


def load_residuals(
    owner: State | Engine,
    checkpoint_id: str | os.PathLike[str] | None = None,
    key: str = "casync",
    storage_reader: dcp.StorageReader | None = None,
    process_group: dist.ProcessGroup | None = None,
) -> None:
    """Loads into `owner` the residuals that residuals() saved under `key`. Ranks are those of `process_group` (None: of
    the owner's); they get what the same group has saved. When that had another number of ranks, residuals are shared
    out (casync.reshard), and the same group is the one at the same place among all groups, of which each rank is in one.
    Where the groups are no such mesh, it is the one that begins with the same rank. Every rank reads the files by itself.
    InvalidArgument: the checkpoint has no residuals under `key`, or none of such a group, or those of some ranks are
    missing."""
    reader = storage_reader or dcp.FileSystemReader(checkpoint_id)
    stored = {
        name: entry for name, entry in reader.read_metadata().state_dict_metadata.items() if name.startswith(f"{key}.")
    }
    if not stored:
        raise errors.InvalidArgument(
            f"the checkpoint {checkpoint_id} has no residuals under {key!r}: leave load_residuals() out to begin "
            "residuals anew"
        )

    def read(entries: dict[str, Any]) -> dict[str, Any]:
        loaded = {name: _empty(entry) for name, entry in entries.items()}
        if loaded:
            dcp.load(loaded, storage_reader=reader, checkpoint_id=checkpoint_id, no_dist=True)
        return loaded

    texts = read({name: entry for name, entry in stored.items() if not _is_tensor(entry)})
    members, rank = _place(owner, process_group)
    world = dist.get_world_size() if dist.is_initialized() else len(members)
    parts = _of_group({name.removesuffix("state"): json.loads(text) for name, text in texts.items()}, members, world)
    tensors = read(
        {name: entry for name, entry in stored.items() if _is_tensor(entry) and name.startswith(tuple(parts))}
    )
    states = [_with_tensors(state, f"{key}.", tensors) for state in parts.values()]
    owner.load_state_dict(_of_this_rank(states, rank, len(members)))


def _place(owner: State | Engine, group: dist.ProcessGroup | None = None) -> tuple[list[int], int]:
    """The ranks of `group` (None: of the owner's session) as the whole job numbers them, and this rank's place."""
    if group is None and owner._synchronizer is not None:
        return owner._synchronizer.members, owner._synchronizer.rank
    group = group or owner.process_group  # of a State: an Engine has a session from the start
    return dist.get_process_group_ranks(group), dist.get_rank(group)


def _of_group(parts: dict[str, dict[str, Any]], members: list[int], world: int) -> dict[str, dict[str, Any]]:
    """The states that the group `members` of so many ranks has saved, by the place of each in the checkpoint."""
    groups: dict[int, dict[str, dict[str, Any]]] = {}
    for place, state in parts.items():
        first, *_ = state.pop("members", [0])  # earlier versions saved those of a group of all ranks
        groups.setdefault(first, {})[place] = state
    at = _place_in_mesh(members, world)
    if at is not None and len(groups) * len(members) == world:
        return groups[sorted(groups)[at]]
    if members[0] not in groups:
        raise errors.InvalidArgument(
            f"the checkpoint has residuals of process groups that begin with ranks {sorted(groups)}, and this rank's "
            f"begins with {members[0]}: it was not among those that saved, and they are not as many as now; leave "
            "load_residuals() out to begin residuals anew"
        )
    return groups[members[0]]


def _place_in_mesh(members: list[int], world: int) -> int | None:
    """The place of a group among all groups of a mesh's dimension, by their first ranks. None: it is of no such mesh."""
    size, first = len(members), members[0]
    stride = members[1] - first if size > 1 else 1
    if stride < 1 or members != list(range(first, first + size * stride, stride)) or world % (size * stride) != 0:
        return None
    outer, inner = divmod(first, size * stride)
    return outer * stride + inner if inner < stride else None


def _of_this_rank(states: list[dict[str, Any]], rank: int, size: int) -> dict[str, Any]:
    state = saved.to_tensors(reshard.reshard([saved.to_arrays(one) for one in states], rank, size))
    if "local_sgd" in states[0]:
        # The start of a round: in local SGD the same on all ranks, in gossip each rank has its own.
        own = [one for one in states if one["rank"] == rank] if len(states) == size else states
        state["local_sgd"] = own[0]["local_sgd"]
    return state


def _is_tensor(entry: Any) -> bool:
    return hasattr(entry, "size")


def _empty(entry: Any) -> Any:
    if not _is_tensor(entry):
        return ""  # a text, which the loader puts here
    return torch.empty(entry.size, dtype=entry.properties.dtype)


def _without_tensors(part: Any, place: str, tensors: dict[str, torch.Tensor]) -> Any:
    """`part` with the place of each tensor instead of it; the tensors go to `tensors`."""
    if isinstance(part, torch.Tensor):
        tensors[place] = part
        return {"tensor": place}
    if isinstance(part, dict):
        return {name: _without_tensors(inner, f"{place}/{name}", tensors) for name, inner in part.items()}
    return part


def _with_tensors(part: Any, prefix: str, tensors: Mapping[str, Any]) -> Any:
    if not isinstance(part, dict):
        return part
    if set(part) == {"tensor"} and isinstance(part["tensor"], str):
        return tensors[prefix + part["tensor"]]
    return {name: _with_tensors(inner, prefix, tensors) for name, inner in part.items()}
