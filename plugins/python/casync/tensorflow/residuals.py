# SPDX-License-Identifier: Apache-2.0
"""The state of error feedback, as bytes and in TensorFlow's checkpoints."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import numpy
import tensorflow

from casync import errors
from casync.tensorflow.session import current

if TYPE_CHECKING:
    from typing import Any

    from casync.tensorflow.session import Session


def save(session: Session) -> bytes:
    """The session's state as bytes: an .npz of numbers and one JSON text, without pickled objects."""
    state = session.state_dict()
    gradients = state.pop("gradients")
    arrays = {f"residual/{name}": gradient["residual"] for name, gradient in gradients.items()}
    state["kept"] = {
        name: {key: value for key, value in gradient.items() if key != "residual"} for name, gradient in gradients.items()
    }
    file = io.BytesIO()
    numpy.savez(file, state=numpy.frombuffer(json.dumps(state).encode(), numpy.uint8), **arrays)
    return file.getvalue()


def load(session: Session, saved: bytes) -> None:
    """Takes what save() gave on this rank of a job of as many ranks. InvalidArgument: they are other bytes, or damaged."""
    try:
        state = _state_of(saved)
    except Exception as error:  # of zipfile, numpy or json: a file may hold anything
        raise errors.InvalidArgument(
            f"{len(saved)} bytes are no residuals that casync.tensorflow saved, or are damaged ({error})"
        ) from error
    session.load_state_dict(state)


def _state_of(saved: bytes) -> dict[str, Any]:
    with numpy.load(io.BytesIO(saved), allow_pickle=False) as arrays:
        state = json.loads(arrays["state"].tobytes())
        # Earlier versions saved the codecs alone.
        kept = state.pop("kept", None) or {name: {"codec": codec} for name, codec in state.pop("codecs", {}).items()}
        state["gradients"] = {
            name: {**gradient, "residual": arrays[f"residual/{name}"]} for name, gradient in kept.items()
        }
    return state


class Residuals(tensorflow.train.experimental.PythonState):
    """Part of a tf.train.Checkpoint: Checkpoint(model=model, optimizer=optimizer, casync=casync.tensorflow.Residuals()).
    Each rank saves and restores a checkpoint of its own, between two steps. Restored on every rank, or on none."""

    def __init__(self, session: Session | None = None) -> None:
        super().__init__()
        self._session = session

    def serialize(self) -> bytes:
        return save(current(self._session))

    def deserialize(self, string_value: bytes) -> None:
        load(current(self._session), string_value)
