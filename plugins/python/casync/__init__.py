# SPDX-License-Identifier: Apache-2.0
"""CaSync: gradient synchronization that knows about compression.

Needs numpy only. `casync.torch` is imported separately and needs PyTorch.
"""

from casync._library import load as _load, path as _library_path
from casync.codec import Codec, CodecState, codecs
from casync.errors import (
    CompileError,
    DataLoss,
    Error,
    InvalidArgument,
    PeerFailure,
    PlanError,
    Timeout,
    Unavailable,
)
from casync.session import Handle, Session, StepResult

__all__ = [
    "Codec",
    "CodecState",
    "CompileError",
    "DataLoss",
    "Error",
    "Handle",
    "InvalidArgument",
    "PeerFailure",
    "PlanError",
    "Session",
    "StepResult",
    "Timeout",
    "Unavailable",
    "codecs",
    "library_path",
    "version",
]


def library_path() -> str:
    """Path of the library, for a framework's native code to link with."""
    return str(_library_path())


def version() -> str:
    """The version of the library, e.g. "0.1.0"."""
    return _load().casync_version().decode()


def __getattr__(name: str) -> str:
    # The version is the library's, which is loaded only when somebody asks.
    if name == "__version__":
        return version()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
