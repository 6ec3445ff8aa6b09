# SPDX-License-Identifier: Apache-2.0
"""One line at the start of a training, so that its user sees that gradients travel through CaSync, and how."""

from __future__ import annotations

import logging
import os
import re
import sys
from typing import TYPE_CHECKING

from casync import _library

if TYPE_CHECKING:
    from casync.codec import Codec
    from casync.session import Session

_log = logging.getLogger("casync")


def greet(
    session: Session, plan: str | os.PathLike[str] | None, codec: str | os.PathLike[str] | Codec | None
) -> None:
    """Rank 0 logs ranks, codec or plan, and network at level INFO; a warning when nobody chose a codec. A program that
    has not configured `logging` gets the line on stderr, unless CASYNC_LOG_LEVEL is `error` or `off`."""
    if session.rank != 0:
        return
    chosen = _chosen(plan, codec)
    version = _library.load().casync_version().decode()
    ranks = "1 rank" if session.size == 1 else f"{session.size} ranks"
    _say(logging.INFO, f"CaSync {version}: {ranks}, {chosen or 'none'}, {network(session.stats()['transport'])}")
    if chosen is None:
        _say(logging.WARNING, "CaSync: no codec was chosen, gradients travel uncompressed: give codec= or plan=, or set "
                              "CASYNC_CODEC or CASYNC_PLAN")  # fmt: skip


def _chosen(plan: str | os.PathLike[str] | None, codec: str | os.PathLike[str] | Codec | None) -> str | None:
    """The plan or the codec, as arguments and environment name them, or None."""
    if plan is not None:
        return f"plan {plan}"
    if codec is not None:
        return str(getattr(codec, "name", codec))
    if os.environ.get("CASYNC_PLAN"):
        return f"plan {os.environ['CASYNC_PLAN']}"
    return os.environ.get("CASYNC_CODEC") or None


def network(description: str) -> str:
    """The transport's description without its tuning: `ucx 1.22 tcp on eth0`."""
    words = re.sub(r"\s\w+=.*", "", description)
    transports = re.search(r"TLS=(\S+)", description)
    devices = re.search(r"NET_DEVICES=(\S+)", description)
    if transports:
        words += " " + ",".join(name for name in transports.group(1).split(",") if name != "self")
    return words + (f" on {devices.group(1)}" if devices else "")


def _say(level: int, text: str) -> None:
    if _log.hasHandlers():
        _log.log(level, text)
    elif os.environ.get("CASYNC_LOG_LEVEL") not in ("error", "off"):
        print(text, file=sys.stderr, flush=True)
