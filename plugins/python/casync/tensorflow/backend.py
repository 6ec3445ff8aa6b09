# SPDX-License-Identifier: Apache-2.0
"""Keras' backend: the framework that its models compute with."""

from __future__ import annotations

import keras

from casync import errors


def check() -> None:
    """InvalidArgument: Keras does not compute with TensorFlow, whose tensors are all that this plugin exchanges."""
    backend = keras.config.backend()
    if backend == "tensorflow":
        return
    instead = ", or train the model as a torch.nn.Module with casync.torch" if backend == "torch" else ""
    raise errors.InvalidArgument(
        f"Keras' backend is {backend}, and casync.tensorflow needs tensorflow: set KERAS_BACKEND=tensorflow ahead of "
        f"importing keras{instead}"
    )
