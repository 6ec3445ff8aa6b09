# SPDX-License-Identifier: Apache-2.0
"""A session that native code of a framework submits to: the framework's operations know it by a number."""

import os

from casync.session import Session


class AttachedSession(Session):
    """`library` is a plugin's, from native.load(); `options` are casync.Session's."""

    def __init__(self, library, **options):
        self._library, self._options, self._number = library, options, None
        super().__init__(**options)
        self._number = library.casync_plugin_attach(self.address)

    @property
    def number(self):
        """Never used again once the session is closed: operations that name it then fail."""
        self._check()
        return self._number

    @property
    def place(self):
        """The arguments with which another session of the same ranks is opened."""
        return {k: v for k, v in self._options.items() if k not in ("plan", "codec", "op", "trace")}

    @property
    def busy(self):
        return super().busy or (self._number is not None and self._library.casync_plugin_in_flight(self._number) > 0)

    def close(self):
        super().close()
        if self._number is not None and self._pid == os.getpid():
            # Waits until nothing is under way, which has ended with the session: only then may it be freed.
            self._library.casync_plugin_detach(self._number)
            self._number = None
