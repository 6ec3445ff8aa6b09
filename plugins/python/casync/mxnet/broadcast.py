# SPDX-License-Identifier: Apache-2.0
"""The same parameters on every rank when training begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mxnet

from casync import errors, exchange

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def broadcast_parameters(params: Mapping[str, Any], root: int = 0, **options: Any) -> None:
    """Copies rank `root`'s values to all ranks, in place and bit for bit. `params` is net.collect_params(), or a dict of
    Parameters or NDArrays by name. Collective; `options` are where casync.Session finds the other ranks."""
    arrays = {name: _arrays_of(name, value) for name, value in params.items()}
    values = {name: copies[0].asnumpy() for name, copies in arrays.items()}
    exchange.broadcast(values, root, **options)
    for name, copies in arrays.items():
        for array in copies:
            array[:] = mxnet.nd.array(values[name], array.context, values[name].dtype)


def _arrays_of(name: str, value: Any) -> list[Any]:
    if isinstance(value, mxnet.nd.NDArray):
        return [value]
    if value._deferred_init:
        raise errors.InvalidArgument(f"parameter {name} has no shape yet: run the net once, then broadcast")
    return value.list_data()
