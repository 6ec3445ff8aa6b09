# SPDX-License-Identifier: Apache-2.0
"""Callbacks for model.fit. All ranks give the same ones in the same order."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import keras

from casync import errors, exchange
from casync.tensorflow import backend, residuals
from casync.tensorflow.broadcast import broadcast_variables
from casync.tensorflow.session import current

if TYPE_CHECKING:
    from typing import Any

    from casync.tensorflow.session import Session


class BroadcastCallback(keras.callbacks.Callback):
    """Gives all ranks the weights and the optimizer's variables of rank `root` ahead of the first step."""

    def __init__(self, root: int = 0, session: Session | None = None) -> None:
        super().__init__()
        backend.check()
        self._root, self._session = root, session

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        # Keras has built the model and its optimizer by now. Random seeds stay each rank's own.
        broadcast_variables([*self.model.weights, *self.model.optimizer.variables], self._root, self._session)


class MetricAverageCallback(keras.callbacks.Callback):
    """Averages the logs of each epoch over the ranks, so that callbacks after this one, such as ReduceLROnPlateau and
    EarlyStopping, decide the same on all ranks."""

    def __init__(self, session: Session | None = None) -> None:
        super().__init__()
        backend.check()
        self._session = session

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        numbers = {name: value for name, value in (logs or {}).items() if isinstance(value, (int, float))}
        if numbers:
            means = exchange.average(numbers, **current(self._session).place)
            logs.update({name: float(mean) for name, mean in means.items()})


class ResidualsCallback(keras.callbacks.Callback):
    """Keeps what error feedback remembers beside the checkpoints of the model: reads `path` when training begins, if
    it is there, and writes it after each epoch, in a new folder if there is none. Each rank has its own file: `path`
    contains {rank}."""

    def __init__(self, path: str | os.PathLike[str], session: Session | None = None) -> None:
        super().__init__()
        backend.check()
        self._path, self._session = path, session

    @property
    def file(self) -> str:
        """This rank's file. InvalidArgument: the path does not tell ranks apart."""
        session = current(self._session)
        own, other = (os.fspath(self._path).format(rank=rank) for rank in (session.rank, session.rank + 1))
        if own == other and session.size > 1:
            raise errors.InvalidArgument(f"each of {session.size} ranks has a file of its own: put {{rank}} into the path {own}")
        return own

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        if os.path.exists(self.file):
            with open(self.file, "rb") as file:
                saved = file.read()
            try:
                residuals.load(current(self._session), saved)
            except errors.InvalidArgument as error:
                raise errors.InvalidArgument(f"{self.file}: {error}") from error

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        os.makedirs(os.path.dirname(self.file) or ".", exist_ok=True)
        with open(self.file + ".part", "wb") as file:
            file.write(residuals.save(current(self._session)))
        os.replace(self.file + ".part", self.file)
