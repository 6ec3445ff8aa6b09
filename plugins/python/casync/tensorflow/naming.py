# SPDX-License-Identifier: Apache-2.0
"""Names of gradients. All ranks give the same ones, and plans and saved residuals speak of them."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING

import tensorflow

from casync import errors

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

_DTYPES = {tensorflow.float32: "float32", tensorflow.float16: "float16", tensorflow.bfloat16: "bfloat16"}


def names_of(variables: Iterable[Any]) -> list[str]:
    """A name for each variable: Keras's path, else TensorFlow's name. Variables with the same name get #2, #3, ... in
    the order given. InvalidArgument: one of them has no name, or is there twice."""
    seen, names = collections.Counter(), []
    known = set()
    for position, variable in enumerate(variables):
        name = _name_of(variable, position)
        if id(variable) in known:
            raise errors.InvalidArgument(
                f"variable {name} is there twice, so its gradient would be submitted twice in a step: give it once"
            )
        known.add(id(variable))
        seen[name] += 1
        names.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return names


def _name_of(variable: Any, position: int) -> str:
    name = getattr(variable, "path", None)
    if not name and isinstance(variable, tensorflow.Variable):
        name = variable.name
    if not name:
        raise errors.InvalidArgument(
            f"source {position} is a {type(variable).__name__} without a name: give variables, or reduce its gradient "
            "with casync.tensorflow.all_reduce([gradient], [name])"
        )
    return name.removesuffix(":0")


def dtype_of(tensor: tensorflow.Tensor, name: str) -> str:
    """The dtype as casync calls it. InvalidArgument: one that is not synchronized."""
    if tensor.dtype not in _DTYPES:
        known = ", ".join(dtype.name for dtype in _DTYPES)
        raise errors.InvalidArgument(f"gradient {name} is {tensor.dtype.name}; can be {known}: cast it first")
    return _DTYPES[tensor.dtype]
