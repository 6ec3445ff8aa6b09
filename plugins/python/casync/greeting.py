# SPDX-License-Identifier: Apache-2.0
"""One line at the start of a training, so that its user sees that gradients travel through CaSync, and how."""

from __future__ import annotations

import logging
import os
import re
import sys
import time
from typing import TYPE_CHECKING

from casync import _library

if TYPE_CHECKING:
    from casync.codec import Codec
    from casync.session import Session

_log = logging.getLogger("casync")
_told = False  # of a record
_began = time.time() - 1  # a file of an earlier program is no record of this one


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


def tell_record(session: Session) -> None:
    """Rank 0 logs once where CASYNC_RECORD has left the model, and the two commands that make a plan of it."""
    global _told
    folder = os.environ.get("CASYNC_RECORD")
    if _told or not folder or session.rank != 0:
        return
    model = os.path.join(folder, "model.txtpb")
    if not os.path.isfile(model) or os.path.getmtime(model) < _began:
        return
    _told = True
    samples = os.path.join(folder, "gradients.safetensors")
    measured = f" --gradients {samples}" if os.path.isfile(samples) else ""
    _say(logging.INFO, f"CaSync: recorded {model}; a plan for it: casync profile -o profile.txtpb && casync plan "
                       f"--profile profile.txtpb --model {model}{measured} -n {session.size} -o plan.txtpb"
                       )  # fmt: skip


def _chosen(plan: str | os.PathLike[str] | None, codec: str | os.PathLike[str] | Codec | None) -> str | None:
    """The plan or the codec, as arguments and environment name them, or None."""
    if plan:
        return f"plan {plan}"
    if plan is not None or codec is not None:  # "" is none, whatever the environment says
        return str(getattr(codec, "name", codec) or "none")
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
