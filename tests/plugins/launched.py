# SPDX-License-Identifier: Apache-2.0
"""A real launcher for one test: it starts the test's own file as a program, once per rank."""

import atexit
import functools
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import preloaded

TORCHRUN = pathlib.Path(sys.executable).with_name("torchrun")


def torchrun():
    """The command torchrun. It and its ranks, each of which would import PyTorch for four seconds, are forks of one process
    that has imported it."""
    python = _torch()
    return ["env", f"PYTHON_EXEC={python.executable}", python.executable, str(TORCHRUN)]


@functools.cache
def _torch():
    modules = ["torch", "torch._dynamo", "torch.distributed.run", "casync.torch", "pytest"]
    python = preloaded.Python(sys.executable, modules, {**os.environ, "OMP_NUM_THREADS": "1"})
    atexit.register(python.__exit__)
    return python


def values(launcher, program, timeout=240):
    """Runs `launcher... program` and returns what each rank gave to report(), by rank; all have to end well."""
    return values_of_nodes([launcher], program, timeout=timeout)


def values_of_nodes(launchers, program, timeout=240, **environment):
    """Runs `program` by several launchers at once, one for each node of a job. Otherwise like values()."""
    with tempfile.TemporaryDirectory() as folder:
        variables = {k: v for k, v in os.environ.items() if not k.startswith("CASYNC_")}
        variables.update(CASYNC_TIMEOUT_SEC="60", OMP_NUM_THREADS="1", REPORT_FOLDER=folder, **environment)
        log = pathlib.Path(folder, "log")
        processes = []
        try:
            with open(log, "w") as out:
                for launcher in launchers:
                    command = [*launcher, str(program)]
                    processes.append(
                        subprocess.Popen(command, env=variables, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
                    )
            codes = [process.wait(timeout) for process in processes]
        finally:
            for process in processes:
                _end(process)
        assert not any(codes), log.read_text()[-5000:]
        return [json.loads(file.read_text()) for file in sorted(pathlib.Path(folder).glob("rank*"))]


def report(rank, **what):
    """In a rank's process."""
    pathlib.Path(os.environ["REPORT_FOLDER"], f"rank{rank}").write_text(json.dumps(what))


def _end(process):
    """Asks first, and only then kills: a launcher that is killed leaves its ranks behind."""
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
