# SPDX-License-Identifier: Apache-2.0
"""A session beside that of a training: bytes of any type go from rank to rank as they are, and floats are summed."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

from casync import _library, arrays, errors
from casync.session import Session

if TYPE_CHECKING:
    from typing import Any


class CopySession(Session):
    """Broadcasts and gathers memory of the CPU, exactly; submitted and waited for like gradients. What declare() makes known
    is summed, uncompressed. `options` are those of casync.Session, without plan, codec and op. CASYNC_TRACE, CASYNC_RECORD
    and CASYNC_STEPS are not for it."""

    def __init__(self, **options: Any) -> None:
        super().__init__(codec="none", op="copy", **options)

    def declare_copied(self, name: str, nbytes: int, root: int | None = None) -> int:
        """Declares memory of `nbytes` bytes, and returns its id. With a root every rank gets the root's bytes. Without one
        each rank gets the shards of all; its own is the `rank`-th of equal ones. InvalidArgument: nbytes is no multiple
        of 4, or of 4 * size without a root; the root is no rank."""
        self._check()
        words = arrays.Gradient(name, (nbytes // 4,), "float32")
        if root is not None and not 0 <= root < self.size:  # C takes -1 for no root
            raise errors.InvalidArgument(f"{name}: root is {root}: the ranks are 0 to {self.size - 1}")
        identity = ctypes.c_uint32()
        root = -1 if root is None else root
        _library.call(
            "casync_session_declare_copied", self._pointer, name.encode(), nbytes, root, ctypes.byref(identity)
        )
        return self._remember(identity.value, words)

    def end_submissions(self) -> None:
        """Submits nothing more in the step under way: ranks that have submitted other names then learn it at once."""
        self._check()
        _library.call("casync_session_end_submissions", self._pointer)
