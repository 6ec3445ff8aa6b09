# SPDX-License-Identifier: Apache-2.0
"""Keras optimizers that average gradients over the ranks."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import keras
import tensorflow

from casync import errors
from casync.synchronizer import NonFinite
from casync.tensorflow import backend, naming
from casync.tensorflow.reduce import reduce_step
from casync.tensorflow.session import current

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, TypeVar

    from casync.tensorflow.session import Session

    Optimizer = TypeVar("Optimizer", bound=keras.optimizers.Optimizer)


class _Distributed:
    """Goes in front of an optimizer's own class."""

    _casync_session: Session | None = None  # of one that Keras made anew from its configuration: init()'s
    _casync_non_finite: NonFinite | None = None  # once it was needed

    def apply(self, grads: Iterable[Any], trainable_variables: Iterable[Any] | None = None) -> Any:
        if trainable_variables is not None:
            trainable_variables = list(trainable_variables)  # may be a generator, which Keras would find empty
        variables = self._trainable_variables if trainable_variables is None else trainable_variables
        grads = list(grads)
        if len(variables) != len(grads):
            return super().apply(grads, trainable_variables)  # Keras says what is wrong
        grads, finite, first = reduce_step(grads, naming.names_of(variables), self._casync_session)
        # Loss scaling leaves out such updates by itself, and changes its scale.
        if isinstance(self, keras.optimizers.LossScaleOptimizer) or tensorflow.distribute.has_strategy():
            return super().apply(grads, trainable_variables)
        if not self.built:
            self.build(variables)  # variables are made outside of branches

        def update() -> None:
            super(_Distributed, self).apply(grads, trainable_variables)

        def leave_out() -> None:
            tensorflow.numpy_function(self._casync_tell, [first], [])

        if tensorflow.executing_eagerly():
            return update() if finite else self._casync_tell(first.numpy())
        return tensorflow.cond(finite, update, leave_out)

    def _casync_tell(self, name: bytes) -> None:
        if self._casync_non_finite is None:
            object.__setattr__(self, "_casync_non_finite", NonFinite("all ranks leave this update out (said once)"))
        self._casync_non_finite.tell(current(self._casync_session).rank, name.decode(errors="replace"))


def DistributedOptimizer(  # noqa: N802: known by this name
    optimizer: Optimizer, session: Session | None = None
) -> Optimizer:
    """Turns a Keras 3 optimizer into one that averages gradients over all ranks, ahead of clipping and weight decay,
    and then applies them. Returns the same object, with its state. Under model.fit and in custom loops: each apply() is
    a step. When some rank's gradient is not finite, all ranks leave the update out.

    A saved model holds the optimizer's own class, so that it loads anywhere: wrap it again then."""
    backend.check()
    if not isinstance(optimizer, keras.optimizers.Optimizer):
        raise errors.InvalidArgument(f"{type(optimizer).__name__} is no keras.optimizers.Optimizer of Keras 3: give one")
    if isinstance(optimizer, _Distributed):
        raise errors.InvalidArgument(
            f"{optimizer.name} is distributed already, and its gradients would be reduced twice: wrap it once"
        )
    inner = getattr(optimizer, "inner_optimizer", None)
    if isinstance(inner, _Distributed):
        raise errors.InvalidArgument(
            f"{optimizer.name} wraps a distributed optimizer, which would see gradients on some ranks only: wrap the outer one"
        )
    object.__setattr__(optimizer, "__class__", _distributed(type(optimizer)))
    object.__setattr__(optimizer, "_casync_session", session)
    return optimizer


@functools.lru_cache(maxsize=None)
def _distributed(base: type) -> type:
    # Named as its base, so that Keras saves it as that.
    return type(base.__name__, (_Distributed, base), {"__module__": base.__module__, "__qualname__": base.__qualname__})
