# SPDX-License-Identifier: Apache-2.0
"""A real launcher for one test: it starts the test's own file as a program, once per rank."""

import json
import os
import pathlib
import subprocess
import tempfile


def values(launcher, program, timeout=120):
    """Runs `launcher... program` and returns what each rank gave to report(), by rank; all have to end well."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("CASYNC_")}
        environment.update(CASYNC_TIMEOUT_SEC="60", OMP_NUM_THREADS="1", REPORT_FOLDER=folder)
        log = pathlib.Path(folder, "log")
        with open(log, "w") as out:
            process = subprocess.Popen(
                [*launcher, str(program)], env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=out
            )
        try:
            code = process.wait(timeout)
        finally:
            _end(process)
        assert code == 0, log.read_text()[-5000:]
        return [json.loads(file.read_text()) for file in sorted(pathlib.Path(folder).glob("rank*"))]


def report(rank, **what):
    """In a rank's process."""
    pathlib.Path(os.environ["REPORT_FOLDER"], f"rank{rank}").write_text(json.dumps(what))


def _end(process):
    """Asks before it kills: a launcher that is killed leaves its ranks behind."""
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
