# SPDX-License-Identifier: Apache-2.0
"""The exceptions: one class per kind of fault, so that a program can tell them apart."""

from __future__ import annotations


class Error(RuntimeError):
    """Any failure of casync. The first failure of a session is final and the same on all ranks."""


class InvalidArgument(Error, ValueError):
    """The caller's arguments; nothing was started."""


class PlanError(Error):
    """A plan file, or a decision in it, that cannot be carried out."""


class CompileError(Error):
    """A codec's source that does not compile."""


class PeerFailure(Error):
    """Another rank died, froze or left; the message names it."""


class Timeout(Error, TimeoutError):
    """A deadline passed; the message names who or what was missing."""


class DataLoss(Error):
    """Bytes that arrived are not the bytes that were sent."""


class Unavailable(Error):
    """Something that this machine or this build does not have."""


TIMEOUT, UNAVAILABLE = 4, 6
_BY_STATUS = {
    1: InvalidArgument,
    2: PlanError,
    3: PeerFailure,
    TIMEOUT: Timeout,
    5: DataLoss,
    UNAVAILABLE: Unavailable,
    8: Unavailable,
    10: CompileError,
}


def from_status(status: int, message: str) -> Error:
    """The exception for a casync_status that is not OK. Aborted and internal errors are plain `Error`s."""
    return _BY_STATUS.get(status, Error)(message or f"casync failed with status {status} and no message")
