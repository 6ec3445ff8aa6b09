# SPDX-License-Identifier: Apache-2.0
"""The store `casync` for gluon.Trainer."""

from __future__ import annotations

import ctypes
import functools
import gc
from typing import TYPE_CHECKING

import mxnet

from casync import errors, exchange, native
from casync.attached import AttachedSession
from casync.synchronizer import Step

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping
    from typing import Any, NoReturn

    from casync.codec import Codec


# MXNet's engine writes the answer of a step there, also of a store that nobody holds any more.
_answers: list[ctypes.Array[ctypes.c_int32]] = []


@functools.lru_cache(maxsize=None)
def _library() -> ctypes.CDLL:
    from casync.mxnet import build  # not above: it is also run as a program

    library = native.load(build.plugin().path())
    handle = ctypes.c_void_p
    library.casync_plugin_mxnet_reduce.argtypes = [
        ctypes.c_int, ctypes.c_uint32, ctypes.c_char_p, handle, ctypes.c_size_t, handle, ctypes.c_int,
    ]  # fmt: skip
    library.casync_plugin_mxnet_end_step.argtypes = [ctypes.c_int, handle, ctypes.POINTER(ctypes.c_int32), ctypes.c_int]
    return library


@mxnet.kvstore.KVStoreBase.register
class CaSync(mxnet.kvstore.KVStoreBase):
    """Averages gradients over the ranks:

        trainer = gluon.Trainer(net.collect_params(), "adam", kvstore=mxnet.kv.create("casync"))

    Opened on every rank; arguments are those of casync.Session, and mxnet.kv.create() gives none. Names of gradients are
    those of the Trainer's parameters, and keys that are no numbers. A step ends with the last gradient of the Trainer's
    parameters; without a Trainer, call end_step(). MXNet's engine runs all of it: errors are raised, as MXNetError, where
    the program waits for an array.
    """

    def __init__(self, **options: Any) -> None:
        self.session = AttachedSession(_library(), **options)
        self._trainer = None
        self._has_searched = False  # for a Trainer: a search takes tens of milliseconds
        self._step = Step()
        self._expected = None  # names of the gradients in the step under way, if a Trainer submits them
        self._ids = {}  # key -> (gradient id, name)
        self._received = {}  # key -> value of the root, not yet asked for
        self._gate = mxnet.nd.zeros((1,), mxnet.cpu())
        self._finite = (ctypes.c_int32 * 1)(1)
        _answers.append(self._finite)

    @property
    def type(self) -> str:
        return "casync"

    @property
    def rank(self) -> int:
        return self.session.rank

    @property
    def num_workers(self) -> int:
        return self.session.size

    @staticmethod
    def is_capable(capability: str) -> bool:
        """Updates run in the Trainer (update_on_kvstore=False, its default with this store)."""
        return False

    def broadcast(self, key: Any, value: Any, out: Any, priority: int = 0) -> None:
        """Gives all ranks rank 0's value of a parameter, bit for bit. Collective."""
        if key not in self._received:
            self._receive(key, value)
        received = self._received.pop(key)
        for array in _list(out):
            array[:] = mxnet.nd.array(received, array.context, received.dtype)

    def pushpull(self, key: Any, value: Any, out: Any = None, priority: int = 0) -> None:
        """Averages a gradient over its contexts' sum and the ranks, in place unless `out` is given. Returns at once."""
        values, outs = _list(value), _list(value if out is None else out)
        target = outs[0]
        if target.context.device_type == "gpu":
            raise errors.Unavailable(
                f"gradient {self._name(key)} is on {target.context}, and this store averages in the CPU's memory: keep "
                "the parameters on mxnet.cpu(), or give pushpull() an `out` there"
            )
        if target is not values[0]:
            values[0].copyto(target)
        for other in values[1:]:
            target += other.as_in_context(target.context)
        if not self._step.submitted:
            self._expected = self._names_of_a_step()
        self._reduce(key, target, priority)
        for other in outs[1:]:
            target.copyto(other)
        if self._expected and self._expected <= self._step.submitted:
            self.end_step()

    def end_step(self) -> None:
        """Ends a step after all that was given to pushpull(). Only without a Trainer, which implies it."""
        self._step.end()
        _check(_library().casync_plugin_mxnet_end_step(self.session.number, self._gate.handle, self._finite, 0))

    @property
    def finite(self) -> bool:
        """True if all ranks' gradients were finite in the last step. The same on all ranks. Waits for the step."""
        self._gate.wait_to_read()
        return bool(self._finite[0])

    def state_dict(self) -> dict[str, Any]:
        """The state of error feedback on this rank, after the last step: each rank saves its own."""
        self._gate.wait_to_read()
        return self.session.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Takes the state that state_dict() gave on this rank. On every rank, or on none."""
        self._gate.wait_to_read()
        self.session.load_state_dict(state)

    def close(self) -> None:
        """Says goodbye to the other ranks, after the last step, whose failure it raises once the session is closed. The end
        of the program does it, too."""
        try:
            self._gate.wait_to_read()
        finally:
            self.session.close()

    def set_optimizer(self, optimizer: Any) -> NoReturn:
        raise errors.Unavailable("this store averages gradients and does not update: use Trainer(update_on_kvstore=False)")

    def set_gradient_compression(self, compression_params: Any) -> NoReturn:
        raise errors.Unavailable(
            f"compression_params={compression_params}: this store compresses by its codec, so leave them out and use "
            'casync.mxnet.create(codec="onebit"), or CASYNC_CODEC'
        )

    def push(self, key: Any, value: Any, priority: int = 0) -> NoReturn:
        raise errors.Unavailable(
            f"gradient {self._name(key)} is sparse, or push() was called: use dense gradients and pushpull()"
        )

    pull = row_sparse_pull = init = push

    def _reduce(self, key: Any, array: Any, priority: int) -> None:
        identity, name = self._declared(key, array, priority)
        self._step.refuse_again([name], "it ends when all parameters of the Trainer have been reduced, or with end_step()")
        size = array.size * array.dtype(0).itemsize
        _check(
            _library().casync_plugin_mxnet_reduce(
                self.session.number, identity, name.encode(), array.handle, size, self._gate.handle, priority
            )
        )
        self._step.add([name])

    def _declared(self, key: Any, array: Any, priority: int) -> tuple[int, str]:
        if key not in self._ids:
            self._declare_all()
        if key not in self._ids:
            # MXNet's larger priorities go first.
            self._declare(key, self._name(key), array, -priority)
        return self._ids[key]

    def _declare_all(self) -> None:
        """Declares the Trainer's gradients ahead of the first that leaves: ranks then compare them once."""
        trainer = self._find_trainer()
        for key, parameter in enumerate(trainer._params if trainer else []):
            if parameter.grad_req != "null" and not parameter._deferred_init:
                self._declare(key, parameter.name, parameter.list_grad()[0], key)

    def _declare(self, key: Any, name: str, array: Any, priority: int) -> None:
        self._ids[key] = self.session.declare(name, array.shape, array.dtype, priority), name

    def _names_of_a_step(self) -> set[str] | None:
        """Names of the gradients in a step of the Trainer."""
        trainer = self._find_trainer()
        return {p.name for p in trainer._params if p.grad_req != "null"} if trainer else None

    def _name(self, key: Any) -> str:
        """A Trainer's keys are positions of its parameters; others are the program's own, and names themselves."""
        trainer = self._find_trainer() if isinstance(key, int) else None
        return trainer._params[key].name if trainer else str(key)

    def _find_trainer(self) -> Any:
        """The Trainer that was given this store: MXNet's stores hear of keys only. A Trainer asks for its parameters'
        values ahead of its first step, so a search that found none is repeated then."""
        if self._trainer is None and not self._has_searched:
            self._has_searched = True
            found = _trainers_of(self)
            if len(found) > 1:
                gc.collect()  # those that nobody uses any more
                found = _trainers_of(self)
            if len(found) > 1:
                self._has_searched = False
                raise errors.InvalidArgument(f"{len(found)} Trainers have this store: create one for each of them")
            self._trainer = found[0] if found else None
        return self._trainer

    def _receive(self, key: Any, value: Any) -> None:
        """All parameters that the Trainer is about to ask for, in one exchange."""
        self._has_searched = False
        trainer = self._find_trainer()
        values = {key: value}
        if trainer:
            ready = [p for p in trainer._params_to_init if not p._deferred_init]
            values.update((trainer._param2idx[p.name], p.list_data()[0]) for p in ready)
        arrays = {self._name(each): array.asnumpy() for each, array in values.items()}
        exchange.broadcast(arrays, **self.session.place)
        self._received.update((each, arrays[self._name(each)]) for each in values)


def create(
    plan: str | os.PathLike[str] | None = None, codec: str | os.PathLike[str] | Codec | None = None, **options: Any
) -> CaSync:
    """The store with arguments of casync.Session, where mxnet.kv.create("casync") takes them from the environment."""
    return CaSync(plan=plan, codec=codec, **options)


def _trainers_of(store: CaSync) -> list[Any]:
    trainers = (o for o in gc.get_objects() if issubclass(type(o), mxnet.gluon.Trainer))
    return [t for t in trainers if t._kvstore is store or t._kvstore_params["kvstore"] is store]


def _list(arrays: Any) -> list[Any]:
    return list(arrays) if isinstance(arrays, (list, tuple)) else [arrays]


def _check(result: int) -> None:
    if result != 0:
        raise mxnet.base.MXNetError(mxnet.base.py_str(mxnet.base._LIB.MXGetLastError()))
