# SPDX-License-Identifier: Apache-2.0
"""The state of error feedback, as bytes and in TensorFlow's checkpoints."""

import io
import json

import numpy
import tensorflow

from casync.tensorflow.session import current


def save(session):
    """The session's state as bytes: an .npz of numbers and one JSON text, without pickled objects."""
    state = session.state_dict()
    gradients = state.pop("gradients")
    arrays = {f"residual/{name}": gradient["residual"] for name, gradient in gradients.items()}
    state["codecs"] = {name: gradient["codec"] for name, gradient in gradients.items()}
    file = io.BytesIO()
    numpy.savez(file, state=numpy.frombuffer(json.dumps(state).encode(), numpy.uint8), **arrays)
    return file.getvalue()


def load(session, saved):
    """Takes what save() gave on this rank of a job of as many ranks."""
    with numpy.load(io.BytesIO(saved), allow_pickle=False) as arrays:
        state = json.loads(arrays["state"].tobytes())
        state["gradients"] = {
            name: {"codec": codec, "residual": arrays[f"residual/{name}"]} for name, codec in state.pop("codecs").items()
        }
    session.load_state_dict(state)


class Residuals(tensorflow.train.experimental.PythonState):
    """Part of a tf.train.Checkpoint: Checkpoint(model=model, optimizer=optimizer, casync=casync.tensorflow.Residuals()).
    Each rank saves and restores a checkpoint of its own, between two steps. Restored on every rank, or on none."""

    def __init__(self, session=None):
        super().__init__()
        self._session = session

    def serialize(self):
        return save(current(self._session))

    def deserialize(self, string_value):
        load(current(self._session), string_value)
