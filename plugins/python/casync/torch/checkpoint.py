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
    `optimizer.casync`. A flat dictionary: one JSON text, and each tensor under the rank and its place in the state."""
    state = owner.state_dict()
    if not state:
        return {}
    tensors = {}
    text = json.dumps(_without_tensors(state, str(state["rank"]), tensors))
    return {f"{state['rank']}/state": text, **tensors}


def load_residuals(
    owner: State | Engine,
    checkpoint_id: str | os.PathLike[str] | None = None,
    key: str = "casync",
    storage_reader: dcp.StorageReader | None = None,
    process_group: dist.ProcessGroup | None = None,
) -> None:
    """Loads into `owner` the residuals that residuals() saved under `key`. Ranks are those of `process_group`; when the
    job that saved had another number of them, residuals are shared out (casync.reshard). Every rank reads the files by
    itself. InvalidArgument: the checkpoint has no residuals under `key`, or those of some ranks are missing."""
    reader = storage_reader or dcp.FileSystemReader(checkpoint_id)
    stored = {
        name: entry for name, entry in reader.read_metadata().state_dict_metadata.items() if name.startswith(f"{key}.")
    }
    if not stored:
        raise errors.InvalidArgument(f"the checkpoint {checkpoint_id} has no residuals under {key!r}")
    loaded = {name: _empty(entry) for name, entry in stored.items()}
    dcp.load(loaded, storage_reader=reader, checkpoint_id=checkpoint_id, no_dist=True)
    states = [
        _with_tensors(json.loads(text), f"{key}.", loaded) for name, text in loaded.items() if name.endswith("/state")
    ]
    owner.load_state_dict(_of_this_rank(states, dist.get_rank(process_group), dist.get_world_size(process_group)))


def _of_this_rank(states: list[dict[str, Any]], rank: int, size: int) -> dict[str, Any]:
    state = saved.to_tensors(reshard.reshard([saved.to_arrays(one) for one in states], rank, size))
    if "local_sgd" in states[0]:
        # The start of a round: in local SGD the same on all ranks, in gossip each rank has its own.
        own = [one for one in states if one["rank"] == rank] if len(states) == size else states
        state["local_sgd"] = own[0]["local_sgd"]
    return state


def _empty(entry: Any) -> Any:
    if not hasattr(entry, "size"):
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
