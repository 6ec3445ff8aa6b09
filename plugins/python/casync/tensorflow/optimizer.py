# SPDX-License-Identifier: Apache-2.0
"""Keras optimizers that average gradients over the ranks."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import keras

from casync import errors
from casync.tensorflow import naming
from casync.tensorflow.reduce import all_reduce

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, TypeVar

    from casync.tensorflow.session import Session

    Optimizer = TypeVar("Optimizer", bound=keras.optimizers.Optimizer)


class _Distributed:
    """Goes in front of an optimizer's own class."""

    def apply(self, grads: Iterable[Any], trainable_variables: Iterable[Any] | None = None) -> Any:
        variables = self._trainable_variables if trainable_variables is None else list(trainable_variables)
        grads = list(grads)
        if len(variables) == len(grads):  # else Keras says what is wrong
            grads, _ = all_reduce(grads, naming.names_of(variables), self._casync_session)
        return super().apply(grads, trainable_variables)


def DistributedOptimizer(  # noqa: N802: known by this name
    optimizer: Optimizer, session: Session | None = None
) -> Optimizer:
    """Turns a Keras 3 optimizer into one that averages gradients over all ranks and then applies them, before clipping and
    weight decay. Returns the same object, with its state. Under model.fit and in custom loops: each apply() is a step.

    A saved model holds the optimizer's own class, so that it loads anywhere: wrap it again then."""
    if not isinstance(optimizer, keras.optimizers.Optimizer):
        raise errors.InvalidArgument(f"{type(optimizer).__name__} is no keras.optimizers.Optimizer")
    if isinstance(optimizer, _Distributed):
        raise errors.InvalidArgument(f"{optimizer.name} is distributed already: its gradients would be reduced twice")
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
