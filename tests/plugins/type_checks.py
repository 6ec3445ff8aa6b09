# SPDX-License-Identifier: Apache-2.0
"""Runs mypy, strictly, on small programs that use the package as it is installed: with its own types, unseen."""

import os
import pathlib
import subprocess
import sys
import tempfile

import casync

_CACHE = tempfile.TemporaryDirectory(prefix="casync-test-mypy-")  # numpy is checked once
PACKAGE = pathlib.Path(casync.__file__).parent


def mypy(folder, program, *options):
    """Returns mypy's answer to `program`: its exit code, and its messages without the last line."""
    file = folder / "program.py"
    file.write_text(program)
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--no-error-summary", "--show-error-codes"]
    command += [f"--cache-dir={_CACHE.name}", *options, str(file)]
    environment = {**os.environ, "MYPYPATH": str(PACKAGE.parent)}
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    return result.returncode, result.stdout + result.stderr
