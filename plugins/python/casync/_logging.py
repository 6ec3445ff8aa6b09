# SPDX-License-Identifier: Apache-2.0
"""The library's log as records of the logger `casync`, in programs that have configured `logging`."""

from __future__ import annotations

import atexit
import ctypes
import logging
import os
import threading

from casync import _library, errors

_WAIT_S = 60.0
_LAST_LINE_S = 1.0  # for a handler that writes one
_log = logging.getLogger("casync")
_LEVELS = {1: 5, 2: logging.DEBUG, 3: logging.INFO, 4: logging.WARNING, 5: logging.ERROR}
_reader: threading.Thread | None = None
_ending = False


def hand_over() -> None:
    """Gives the library's lines to `logging` from now on, if that has a handler for them; otherwise they go to stderr. Once
    begun it stays so until the program ends. CASYNC_LOG_LEVEL decides which lines there are; without it, the logger's
    level does."""
    global _reader
    if _reader is not None or not _log.hasHandlers():
        return
    wanted = _log.getEffectiveLevel()
    level = next((ours for ours, theirs in _LEVELS.items() if theirs >= wanted), 5)
    try:
        _library.call("casync_log_begin", level)
    except errors.InvalidArgument:  # somebody in this process reads it through C
        return
    reader = threading.Thread(target=_read, name="casync-log", daemon=True)
    try:
        reader.start()
    except RuntimeError:  # at the program's end: Python 3.12 and later start no thread there
        _library.call("casync_log_end")
        return
    _reader = reader


def _read() -> None:
    while not _ending:
        _say_next(_WAIT_S)


def _say_next(wait_s: float) -> bool:
    """Waits for a line and logs it. False: none came."""
    level, length, capacity = ctypes.c_int(), ctypes.c_size_t(), 4096
    while True:
        text = ctypes.create_string_buffer(capacity)
        _library.call("casync_log_next", wait_s, ctypes.byref(level), text, capacity, ctypes.byref(length))
        if level.value == 0:
            return False
        if length.value < capacity:
            _say(_LEVELS[level.value], text.value.decode(errors="replace"))
            return True
        capacity = length.value + 1


def _say(level: int, text: str) -> None:
    """CASYNC_LOG_LEVEL has chosen among the lines where it is set, so the logger's level leaves none of them out."""
    if os.environ.get("CASYNC_LOG_LEVEL"):
        _log.handle(_log.makeRecord(_log.name, level, __file__, 0, "%s", (text,), None))
    else:
        _log.log(level, "%s", text)


@atexit.register
def _end() -> None:
    """Runs once sessions are closed (_exit), and logs their last lines."""
    global _ending
    if _reader is None:
        return
    while _say_next(0.0):
        pass
    _ending = True
    _library.call("casync_log_end")
    _reader.join(_LAST_LINE_S)


def _forget() -> None:
    global _reader
    _reader = None


os.register_at_fork(after_in_child=_forget)
