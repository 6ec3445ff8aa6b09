# SPDX-License-Identifier: Apache-2.0
"""Gradients of custom training loops."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tensorflow

from casync.tensorflow import naming
from casync.tensorflow.reduce import all_reduce

if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import Self

    from casync.tensorflow.session import Session


class DistributedGradientTape:
    """A tf.GradientTape whose gradient() gives the average over all ranks:

        with tf.GradientTape() as tape:
            loss = ...
        gradients = casync.tensorflow.DistributedGradientTape(tape).gradient(loss, model.trainable_variables)

    Each gradient() is a step. Sources are variables, and IndexedSlices come back dense. All else is the tape's own.
    """

    def __init__(self, tape: tensorflow.GradientTape, session: Session | None = None) -> None:
        self._tape, self._session = tape, session
        self.finite: Any = None  # of the last gradient(): a scalar tensor, the same on all ranks

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tape, name)

    def __enter__(self) -> Self:
        self._tape.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._tape.__exit__(*error)

    def gradient(self, target: Any, sources: Any, *args: Any, **kwargs: Any) -> Any:
        """As tf.GradientTape.gradient. A source that the target does not depend on is None, as there: then it has to be
        None on every rank."""
        gradients = self._tape.gradient(target, sources, *args, **kwargs)
        flat, variables = tensorflow.nest.flatten(gradients), tensorflow.nest.flatten(sources)
        reduced, self.finite = all_reduce(flat, naming.names_of(variables), self._session)
        return tensorflow.nest.pack_sequence_as(gradients, reduced)
