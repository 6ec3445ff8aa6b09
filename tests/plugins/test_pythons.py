# SPDX-License-Identifier: Apache-2.0
"""The package with each Python of .venv/python3.*."""

import os
import pathlib
import subprocess

import pytest

LEFT_OPEN = """
import casync
session = casync.Session(rank=0, size=1, codec="none")
session.declare("gradient", (3,))
"""
PYTHONS = sorted(pathlib.Path(os.environ["CASYNC_VENV_DIR"]).glob("python3.*/bin/python"))


@pytest.mark.parametrize("python", PYTHONS, ids=[python.parts[-3] for python in PYTHONS])
def test_a_session_that_is_left_open_says_goodbye_at_the_end_of_the_program(python):
    # Since 3.12 no thread can be started there.
    env = {name: value for name, value in os.environ.items() if name != "CASYNC_VENV_DIR"}  # no variable of the library
    ended = subprocess.run([python, "-c", LEFT_OPEN], capture_output=True, text=True, timeout=60, env=env)
    assert (ended.returncode, ended.stderr) == (0, "")
