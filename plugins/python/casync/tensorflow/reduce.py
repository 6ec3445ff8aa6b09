# SPDX-License-Identifier: Apache-2.0
"""One step: a reduction for each gradient, all of them under way together, and the step's end after them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tensorflow
from tensorflow.python.ops import control_flow_util  # the public interface does not tell whether XLA compiles a graph

from casync import errors
from casync.synchronizer import Step
from casync.tensorflow import naming
from casync.tensorflow.session import current, operations

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from casync.tensorflow.session import Session


def all_reduce(tensors: Sequence[Any], names: Sequence[str], session: Session | None = None) -> tuple[list[Any], Any]:
    """The tensors reduced over the ranks, and whether all of them were finite on every rank. Each call is a step, so
    all ranks make the same calls with the same names. A tensor that is None stays None, on all ranks alike.
    IndexedSlices are made dense. Works in tf.function and outside, for float32, float16 and bfloat16."""
    reduced, finite, _ = reduce_step(tensors, names, session)
    return reduced, finite


def reduce_step(
    tensors: Sequence[Any], names: Sequence[str], session: Session | None = None
) -> tuple[list[Any], Any, Any]:
    """As all_reduce(), with the name of the first gradient that was not finite."""
    if len(tensors) != len(names):
        raise errors.InvalidArgument(f"{len(tensors)} tensors and {len(names)} names, expected a name for each tensor")
    session = current(session)
    step = Step()
    given = [i for i, tensor in enumerate(tensors) if tensor is not None]
    dense = [_dense(tensors[i], names[i]) for i in given]
    for i in given:
        step.refuse_again([names[i]], "give each tensor a name of its own")
        step.add([names[i]])
    gradients = tuple(
        (session.declare(names[i], tensor.shape, naming.dtype_of(tensor, names[i]), priority=i), names[i])
        for i, tensor in zip(given, dense)
    )
    if tensorflow.executing_eagerly():
        reduced, finite, first = _function_of(session, gradients)(dense)
    else:
        reduced, finite, first = _emit(session.number, gradients, dense)
    result = list(tensors)
    for i, tensor in zip(given, reduced):
        result[i] = tensor
    return result, finite, first


def _dense(tensor: Any, name: str) -> Any:
    dense = tensorflow.convert_to_tensor(tensor)
    if not dense.shape.is_fully_defined():
        raise errors.InvalidArgument(f"gradient {name} has the shape {dense.shape}: use tf.ensure_shape, it has to be known")
    return dense


def _function_of(session: Session, gradients: tuple[tuple[int, str], ...]) -> Any:
    """A tf.function, because TensorFlow runs operations outside of graphs one at a time."""
    function = session.functions.get(gradients)
    if function is None:
        number = session.number  # a function that held the session would keep it from being freed
        function = session.functions[gradients] = tensorflow.function(
            lambda tensors: _emit(number, gradients, tensors), autograph=False, jit_compile=False
        )
    return function


def _emit(number: int, gradients: tuple[tuple[int, str], ...], tensors: list[Any]) -> tuple[list[Any], Any, Any]:
    check_graph()
    # TensorFlow runs what is ready in any order, but these two of every step in the order of the program: so on all ranks
    # the steps of one graph come in the same order.
    token = operations().casync_begin_step(session=number)
    reduced = [
        operations().casync_all_reduce(tensor, token, session=number, gradient=gradient, tensor_name=name)
        for (gradient, name), tensor in zip(gradients, tensors)
    ]
    end = operations().casync_end_step(reduced, session=number)
    with tensorflow.control_dependencies([end.finite]):
        return [tensorflow.identity(tensor) for tensor in reduced], end.finite, end.first_non_finite


def check_graph() -> None:
    """Refuses to exchange anything where XLA compiles, or in a branch. Unavailable, InvalidArgument."""
    graph = tensorflow.compat.v1.get_default_graph()
    if control_flow_util.GraphOrParentsInXlaContext(graph):
        raise errors.Unavailable(
            "XLA compiles this function, and nothing can be exchanged inside compiled code: use "
            "model.compile(jit_compile=False), or keep tf.function(jit_compile=True) to the forward pass and the loss, and "
            "reduce gradients and broadcast variables outside of it"
        )
    if type(graph).__name__ == "CondBranchFuncGraph":
        raise errors.InvalidArgument(
            "gradients are reduced inside a tf.cond, which ranks may decide differently, and then wait for each other: "
            "reduce them outside of it. With keras.optimizers.LossScaleOptimizer, wrap that one: "
            "DistributedOptimizer(LossScaleOptimizer(...))"
        )
