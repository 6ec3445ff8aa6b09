# SPDX-License-Identifier: Apache-2.0
"""A session that native code of a framework submits to: the framework's operations know it by a number."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING

from casync import greeting, native, patience
from casync.session import Session

if TYPE_CHECKING:
    import ctypes
    from typing import Any


class AttachedSession(Session):
    """`library` is a plugin's, from native.load(); `options` are casync.Session's. Says that it is there, unless `quiet`."""

    def __init__(self, library: ctypes.CDLL, quiet: bool = False, **options: Any) -> None:
        self._library, self._options, self._number = library, options, None
        super().__init__(**options)
        self._number = library.casync_plugin_attach(self.address)
        self._detach = functools.partial(native.detach, library, self._number)
        if not quiet:
            greeting.greet(self, options.get("plan"), options.get("codec"))

    @property
    def number(self) -> int:
        """Never used again once the session is closed: operations that name it then fail."""
        self._check()
        return self._number

    @property
    def place(self) -> dict[str, Any]:
        """The arguments with which another session of the same ranks is opened."""
        return {k: v for k, v in self._options.items() if k not in ("plan", "codec", "op", "trace")}

    @property
    def busy(self) -> bool:
        return super().busy or (self._number is not None and self._library.casync_plugin_in_flight(self._number) > 0)

    def close(self) -> None:
        """Timeout, beside Session.close(): an operation has not ended. What it uses is never freed."""
        try:
            super().close()
        finally:
            if self._number is not None and self._pid == os.getpid():
                self._number = None
                # Waits until nothing is under way, which has ended with the session: only then may it be freed.
                patience.in_thread(self._detach)
