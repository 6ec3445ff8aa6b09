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


def mypy(folder, program, *options, unread=""):
    """Returns mypy's answer to `program`: its exit code, and its messages without the last line. `unread`: patterns of
    modules that it does not read, so that whatever comes from them has any type."""
    file, settings = folder / "program.py", folder / "mypy.ini"
    file.write_text(program)
    settings.write_text(f"[mypy]\n[mypy-{unread}]\nfollow_imports = skip\n" if unread else "[mypy]\n")
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--no-error-summary", "--show-error-codes"]
    command += [f"--cache-dir={_CACHE.name}", f"--config-file={settings}", *options, str(file)]
    environment = {**os.environ, "MYPYPATH": str(PACKAGE.parent)}
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    return result.returncode, result.stdout + result.stderr
