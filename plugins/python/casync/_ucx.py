# SPDX-License-Identifier: Apache-2.0
"""UCX's own wheel, where it is not beside this one: a virtual environment may have it from the environment that it
extends, and a user from the system's packages."""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# In the order in which they need each other. libucs brings libucm, which cannot be loaded alone.
_LIBRARIES = ("libucs.so.0", "libuct.so.0", "libucp.so.0")
_SIGACTION_BYTES = 1024  # more than any C library's structure has


def folder_elsewhere() -> Path | None:
    """The folder of UCX's libraries, if those of this wheel do not find it by themselves, as they do beside the
    package. None for a build, whose libraries know the UCX that they were built with."""
    package = Path(__file__).absolute().parent
    spec = importlib.util.find_spec("libucx") if (package / "bin").is_dir() else None
    if spec is None or spec.origin is None:
        return None
    found = Path(spec.origin).absolute().parent
    return found / "lib" if found.parent != package.parent else None


def load_from_elsewhere() -> None:
    """Loads UCX by its path if it is elsewhere: the module that needs it then takes the one that is there."""
    folder = folder_elsewhere()
    if folder is None:
        return
    # Without it there are other transports, and the one that needs it names the library that is missing.
    with _handlers_kept(), contextlib.suppress(OSError):
        for name in _LIBRARIES:
            ctypes.CDLL(str(folder / name))


@contextlib.contextmanager
def _handlers_kept() -> Iterator[None]:
    """Puts back the program's handlers of signals, which UCX replaces while it is being loaded, unless the user wants
    UCX's: as runtime/transport/ucx/factory.cc does. Python's own `signal` knows neither handlers of C nor threads."""
    if os.environ.get("UCX_HANDLE_ERRORS") or os.environ.get("UCX_DEBUG_SIGNO"):
        yield
        return
    sigaction = ctypes.CDLL(None).sigaction
    before = {int(number): ctypes.create_string_buffer(_SIGACTION_BYTES) for number in signal.valid_signals()}
    for number, action in before.items():
        sigaction(number, None, action)
    try:
        yield
    finally:
        for number, action in before.items():
            sigaction(number, action, None)
