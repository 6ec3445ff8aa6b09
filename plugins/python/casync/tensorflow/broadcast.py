# SPDX-License-Identifier: Apache-2.0
"""The same variables on every rank when training begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

import keras
import tensorflow

from casync import errors, exchange
from casync.tensorflow.reduce import check_graph
from casync.tensorflow.session import current, operations

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from casync.tensorflow.session import Session


def broadcast_variables(variables: Iterable[Any], root: int = 0, session: Session | None = None) -> None:
    """Copies rank `root`'s values to all ranks, in place and bit for bit. Collective: all ranks give variables of the same
    shapes in the same order. Also inside tf.function."""
    session = current(session)
    exchange.check_root(root, session.size)
    variables = [variable.value if isinstance(variable, keras.Variable) else variable for variable in variables]
    if tensorflow.executing_eagerly():
        _in_graph = tensorflow.function(lambda: _emit(variables, root, session.exact), autograph=False, jit_compile=False)
        _in_graph()
    else:
        _emit(variables, root, session.exact)


def _emit(variables: list[Any], root: int, session: Session) -> None:
    check_graph()
    token = operations().casync_begin_step(session=session.number)
    received = []
    for position, variable in enumerate(variables):
        if not variable.shape.is_fully_defined():
            raise errors.InvalidArgument(f"variable {variable.name} has the shape {variable.shape}, which has to be known")
        name = f"broadcast/{position}/{variable.name}"
        words = (variable.shape.num_elements() * variable.dtype.size + 1) // 2
        gradient = session.declare(name, [words], priority=position)
        received.append(
            operations().casync_broadcast(
                variable, token, session=session.number, gradient=gradient, tensor_name=name,
                is_root=session.rank == root,
            )  # fmt: skip
        )
    end = operations().casync_end_step(received, session=session.number).finite
    with tensorflow.control_dependencies([end]):
        for variable, value in zip(variables, received):
            variable.assign(value)
