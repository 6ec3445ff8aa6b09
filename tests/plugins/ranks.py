# SPDX-License-Identifier: Apache-2.0
"""Several real processes for one test: each runs a function of the test's file and reports what came of it."""

import dataclasses
import faulthandler
import importlib.util
import os
import pathlib
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
_CHILD = "import sys; sys.path.insert(0, {here!r}); import ranks; ranks.child({arguments})"


@dataclasses.dataclass
class Outcome:
    """How one rank ended."""

    code: int
    value: object = None  # what the function returned
    error: "str | None" = None  # the exception's class, when it raised
    message: str = ""
    raised_at: float = 0.0  # time.time()
    stderr: str = ""


class Job:
    """`size` ranks of function `name` in file `path`. `env` is added to each rank's environment; `envs` by rank."""

    def __init__(self, path, name, size, torch=False, env=None, envs=None, **kwargs):
        self._folder = tempfile.TemporaryDirectory()
        self.processes = []
        place = _torch_place() if torch else {"CASYNC_RENDEZVOUS": f"file:{self._folder.name}/meet"}
        os.makedirs(f"{self._folder.name}/meet", mode=0o700)
        for rank in range(size):
            names = ("RANK", "WORLD_SIZE") if torch else ("CASYNC_RANK", "CASYNC_SIZE")
            environment = {
                **{k: v for k, v in os.environ.items() if not k.startswith("CASYNC_")},
                **place,
                names[0]: str(rank),
                names[1]: str(size),
                "OMP_NUM_THREADS": "1",
                "CASYNC_TIMEOUT_SEC": "60",
                **(env or {}),
                **((envs or {}).get(rank, {})),
            }
            arguments = f"{str(path)!r}, {name!r}, {self._report(rank)!r}, {dict(rank=rank, **kwargs)!r}"
            command = [sys.executable, "-c", _CHILD.format(here=str(HERE), arguments=arguments)]
            self.processes.append(
                subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, stdout=sys.stderr, text=True)
            )

    def _report(self, rank):
        return f"{self._folder.name}/rank{rank}"

    def wait_for_files(self, name, timeout=200):
        """Waits until every rank has called ranks.mark(name)."""
        deadline = time.monotonic() + timeout
        for rank, process in enumerate(self.processes):
            while not os.path.exists(f"{self._report(rank)}.{name}"):
                assert process.poll() is None, f"rank {rank} ended: {process.stderr.read()}"
                assert time.monotonic() < deadline, f"rank {rank} did not get to {name}"
                time.sleep(0.01)

    def wait(self, timeout=240):
        """Outcomes by rank. A rank that has not ended by then is killed, and fails the test."""
        outcomes = []
        deadline = time.monotonic() + timeout
        try:
            for rank, process in enumerate(self.processes):
                _, stderr = process.communicate(timeout=max(0.1, deadline - time.monotonic()))
                outcome = Outcome(process.returncode, stderr=stderr)
                if os.path.exists(self._report(rank)):
                    with open(self._report(rank), "rb") as report:
                        outcome = dataclasses.replace(outcome, **pickle.load(report))
                outcomes.append(outcome)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGABRT)  # has faulthandler print where its threads are
            _, stderr = process.communicate()
            raise AssertionError(f"rank {rank} had not ended after {timeout} s: {stderr[-5000:]}") from None
        finally:
            for process in self.processes:
                process.kill()
        return outcomes


def values(path, name, size, **options):
    """Runs a job in which no rank may fail; what the ranks returned."""
    outcomes = Job(path, name, size, **options).wait()
    for rank, outcome in enumerate(outcomes):
        failed = f"rank {rank}, exit code {outcome.code}: {outcome.stderr[-3000:]}"
        assert outcome.code == 0 and outcome.error is None, failed
    return [outcome.value for outcome in outcomes]


def _leave_torch():
    """Ends the process group, if there is one: torch may abort a process that exits while Gloo's threads run."""
    distributed = getattr(sys.modules.get("torch"), "distributed", None)
    if distributed is not None and distributed.is_initialized():
        distributed.destroy_process_group()


def child(path, name, report, kwargs):
    """In the rank's process: calls the function, reports, and lets an exception end the program as it would."""
    global _report_path
    _report_path = report
    faulthandler.enable()
    spec = importlib.util.spec_from_file_location("rank_program", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    try:
        _save(value=getattr(module, name)(**kwargs))
        _leave_torch()
    except BaseException as error:
        _save(error=type(error).__name__, message=str(error), raised_at=time.time())
        traceback.print_exc()
        raise


def mark(name):
    """In the rank's process: tells the test that it got here."""
    pathlib.Path(f"{_report_path}.{name}").touch()


def _save(**what):
    with open(_report_path + ".part", "wb") as report:
        pickle.dump(what, report)
    os.replace(_report_path + ".part", _report_path)


def _torch_place():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1])}
