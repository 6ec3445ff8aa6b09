# SPDX-License-Identifier: Apache-2.0
"""The session of TensorFlow's operations, and the one that a program opens with init()."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING

import tensorflow

from casync import errors, native
from casync.attached import AttachedSession

if TYPE_CHECKING:
    import ctypes
    from typing import Any

    from casync.codec import Codec

_LOCAL_RANKS = (
    "CASYNC_LOCAL_RANK",
    "LOCAL_RANK",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "MPI_LOCALRANKID",
    "SLURM_LOCALID",
)

# The failures of a job, as the operations raise them.
_AS_OF_OPERATIONS = {
    errors.PeerFailure: tensorflow.errors.UnavailableError,
    errors.Timeout: tensorflow.errors.DeadlineExceededError,
    errors.DataLoss: tensorflow.errors.DataLossError,
    errors.Error: tensorflow.errors.AbortedError,
}


@functools.lru_cache(maxsize=None)
def _loaded() -> tuple[Any, ctypes.CDLL]:
    from casync.tensorflow import build  # not above: it is also run as a program

    path = build.plugin().path()
    # First: TensorFlow wraps the operations that are registered while it loads the library.
    return tensorflow.load_op_library(path), native.load(path)


def operations() -> Any:
    """TensorFlow's wrappers of the operations. Compiled here where they are missing."""
    return _loaded()[0]


class Session(AttachedSession):
    """A casync.Session that TensorFlow's operations submit to. Needs no init(). Graphs that were traced with it end with
    it."""

    def __init__(self, **options: Any) -> None:
        super().__init__(_loaded()[1], **options)  # the library is compiled while no other rank waits
        self._exact = None
        # The functions that reduce.py calls outside of graphs, by the gradients that each reduces.
        self.functions: dict[tuple[tuple[int, str], ...], Any] = {}

    def declare(self, *arguments: Any, **options: Any) -> int:
        """As casync.Session's. The failure of a job is an exception of tf.errors: a graph that is traced raises it then as
        its operations do."""
        try:
            return super().declare(*arguments, **options)
        except errors.Error as error:
            failure = _AS_OF_OPERATIONS.get(type(error))
            if failure is None:
                raise
            raise failure(None, None, str(error)) from error

    @property
    def exact(self) -> Session:
        """A session beside this one that sums without a codec, in steps that are none of the training. Its first use is
        collective."""
        if self._exact is None:
            self._exact = Session(quiet=True, plan="", codec="none", op="copy", trace="", **self.place)
        return self._exact

    def close(self) -> None:
        try:
            if self._exact is not None:
                self._exact.close()
        finally:
            try:
                super().close()
            finally:
                self.functions.clear()  # nobody can call them any more


_opened = None


def init(
    plan: str | os.PathLike[str] | None = None, codec: str | os.PathLike[str] | Codec | None = None, **options: Any
) -> Session:
    """Opens the session that all functions of casync.tensorflow use unless they are given another one. Arguments are
    those of casync.Session. Collective: every rank calls it once."""
    global _opened
    if _opened is not None and not _opened.closed:
        raise errors.InvalidArgument("casync.tensorflow.init() was called already: call shutdown() first")
    _opened = Session(plan=plan, codec=codec, **options)
    return _opened


def shutdown() -> None:
    """Says goodbye to the other ranks. The end of the program does it, too."""
    global _opened
    if _opened is not None:
        _opened.close()
        _opened = None


def current(session: Session | None = None) -> Session:
    """`session`, or the one that init() opened."""
    if session is not None:
        return session
    if _opened is None or _opened.closed:
        raise errors.InvalidArgument("no session is open: call casync.tensorflow.init() first, on every rank")
    return _opened


def rank() -> int:
    """This process's rank in the job, from 0."""
    return current().rank


def size() -> int:
    """The number of ranks."""
    return current().size


def local_rank() -> int:
    """This process's place among the ranks of its machine, as the launcher says. Unavailable: it does not."""
    for name in _LOCAL_RANKS:
        if os.environ.get(name):
            return int(os.environ[name])
    if current().size == 1:
        return 0
    raise errors.Unavailable(f"the launcher gives no local rank: start with `casync run`, or set {_LOCAL_RANKS[0]}")
