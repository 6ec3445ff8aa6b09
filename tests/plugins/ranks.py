# SPDX-License-Identifier: Apache-2.0
"""Several real processes for one test: each runs a function of the test's file and reports what came of it.

    with ranks.Job(__file__, "train", 3) as job:   # or, when there is nothing to do meanwhile:
        ...                                        # ranks.outcomes(__file__, "train", 3)
        outcomes = job.wait()

Whatever happens in the `with` block, no process of the job is left when it ends.
"""

import contextlib
import dataclasses
import faulthandler
import os
import pathlib
import pickle
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback

import forked

HERE = pathlib.Path(__file__).resolve().parent
_CHILD = "import sys; sys.path.insert(0, {here!r}); import ranks; ranks.child(*{arguments})"
# Seconds that a loaded machine may add to a promised time. With the second promised for a rank that dies it stays
# under the 5 s after which its silence would be noticed anyway (CASYNC_DEAD_SEC), so how it was noticed is tested too.
MARGIN_S = 3.0


@dataclasses.dataclass
class Outcome:
    """The end of one rank."""

    code: int
    value: object = None  # the function's return value
    error: "str | None" = None  # the exception's class, when it raised
    message: str = ""
    raised_at: float = 0.0  # time.time()
    stderr: str = ""


class Job:
    """`size` ranks of function `name` in file `path`. `env` is added to each rank's environment; `envs` by rank.
    `before` holds, by rank, the command that starts the rank's: ["ip", "netns", "exec", "host1"].
    `pythons`: the command of an interpreter for each rank, instead of this one. `whole_ends`: the test is about the end of
    a rank's program, so no rank leaves out a part of it (forked.py)."""

    def __init__(
        self, path, name, size, torch=False, env=None, envs=None, before=None, pythons=None, whole_ends=False, **kwargs
    ):
        self._folder = tempfile.TemporaryDirectory()
        self.processes = []
        try:
            pythons = pythons or [[sys.executable]] * size
            self._start(path, name, size, torch, env, envs, before or {}, pythons, whole_ends, kwargs)
        except BaseException:
            self.__exit__()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()  # ends a stopped one too; does nothing to one that was waited for
        for process in self.processes:
            process.wait()
            process.stderr.close()
        self._folder.cleanup()

    def _start(self, path, name, size, torch, env, envs, before, pythons, whole_ends, kwargs):
        place = _torch_place() if torch else {"CASYNC_RENDEZVOUS": f"file:{self._folder.name}/meet"}
        os.makedirs(f"{self._folder.name}/meet", mode=0o700)
        environments = [self._environment_of(rank, size, torch, place, env, envs) for rank in range(size)]
        forks = {
            rank for rank, environment in enumerate(environments)
            if rank not in before and pythons[rank] == [sys.executable] and forked.can_start(environment)
        }  # fmt: skip
        forked.prepare(str(path), forks)
        for rank, environment in enumerate(environments):
            arguments = (str(path), name, self._report(rank), dict(rank=rank, **kwargs))
            if rank in forks:
                self.processes.append(forked.start(path, rank, environment, arguments, whole_ends))
                continue
            program = [*pythons[rank], "-c", _CHILD.format(here=str(HERE), arguments=arguments)]
            command = [*before.get(rank, []), *program]
            self.processes.append(
                subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, stdout=sys.stderr, text=True)
            )

    @staticmethod
    def _environment_of(rank, size, torch, place, env, envs):
        names = ("RANK", "WORLD_SIZE") if torch else ("CASYNC_RANK", "CASYNC_SIZE")
        return {
            **{k: v for k, v in os.environ.items() if not k.startswith("CASYNC_")},
            **place,
            names[0]: str(rank),
            names[1]: str(size),
            "OMP_NUM_THREADS": "1",
            "CASYNC_TIMEOUT_SEC": "60",
            **(env or {}),
            **((envs or {}).get(rank, {})),
        }

    def _report(self, rank):
        return f"{self._folder.name}/rank{rank}"

    def has_file(self, rank, name):
        """Returns true if the rank has called ranks.mark(name)."""
        return os.path.exists(f"{self._report(rank)}.{name}")

    def lines(self, rank):
        """Returns the lines that the rank has given to ranks.note() so far."""
        path = pathlib.Path(self._report(rank) + ".notes")
        return path.read_text().splitlines() if path.exists() else []

    def wait_for_files(self, name, timeout=200):
        """Waits until every rank has called ranks.mark(name)."""
        deadline = time.monotonic() + timeout
        for rank, process in enumerate(self.processes):
            while not os.path.exists(f"{self._report(rank)}.{name}"):
                assert process.poll() is None, f"rank {rank} ended: {process.stderr.read()}"
                assert time.monotonic() < deadline, f"rank {rank} did not get to {name}"
                time.sleep(0.01)

    def wait(self, timeout=240):
        """Outcomes by rank. A rank that has not ended by then fails the test, which shows where the threads of all are."""
        deadline = time.monotonic() + timeout
        outcomes = []
        for rank, process in enumerate(self.processes):
            try:
                _, stderr = process.communicate(timeout=max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                ended = [f"rank {i} ended with {o.code}: {o.stderr[-1500:]}" for i, o in enumerate(outcomes)]
                late = f"rank {rank} had not ended after {timeout} s"
                raise AssertionError("\n".join([late, *ended, *self._abort(rank)])) from None
            assert process.returncode != -signal.SIGSEGV, f"rank {rank}: {stderr[-5000:]}"
            outcome = Outcome(process.returncode, stderr=stderr)
            if os.path.exists(self._report(rank)):
                with open(self._report(rank), "rb") as report:
                    outcome = dataclasses.replace(outcome, **pickle.load(report))
            outcomes.append(outcome)
        return outcomes

    def _abort(self, first):
        """What each rank from this one on says of its threads."""
        for process in self.processes[first:]:
            process.send_signal(signal.SIGABRT)  # faulthandler prints them
        said = []
        for rank, process in enumerate(self.processes[first:], first):
            _, stderr = process.communicate(timeout=20)
            said.append(f"rank {rank}, exit code {process.returncode}: {stderr[-5000:]}")
        return said


def outcomes(path, name, size, **options):
    """Runs a job and returns the outcomes of its ranks."""
    with Job(path, name, size, **options) as job:
        return job.wait()


def assert_within(promised_s, seconds):
    """A promise of time, with the margin of a loaded machine; pytest -rP shows what it was."""
    print(f"promised within {promised_s} s: took {seconds:.3f} s")
    assert seconds < promised_s + MARGIN_S


def until(condition, what, seconds=60):
    """Asks again and again for something that has to become true; generous, because the machine may be busy. Between
    two questions it does not sleep: some tests are about the first moment in which it is true."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not within {seconds} s"
        time.sleep(0)


def values(path, name, size, **options):
    """Runs a job in which no rank may fail. Returns the values of its ranks."""
    ended = outcomes(path, name, size, **options)
    for rank, outcome in enumerate(ended):
        failed = f"rank {rank}, exit code {outcome.code}: {outcome.stderr[-3000:]}"
        assert outcome.code == 0 and outcome.error is None, failed
    return [outcome.value for outcome in ended]


def _leave_torch():
    """Ends the process group, if there is one: torch may abort a process that exits while Gloo's threads run."""
    distributed = getattr(sys.modules.get("torch"), "distributed", None)
    if distributed is not None and distributed.is_initialized():
        distributed.destroy_process_group()


def child(path, name, report, kwargs, module=None):
    """In the rank's process: calls the function, reports, and lets an exception end the program as it would. `module`: the
    file, if it has been imported."""
    global _report_path
    _report_path = report
    faulthandler.enable()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell lets programs in the background ignore it
    module = module or forked.load(path)
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


def note(line):
    """In the rank's process: adds a line to what Job.lines() gives."""
    with open(_report_path + ".notes", "a") as notes:
        notes.write(line + "\n")


def _save(**what):
    with open(_report_path + ".part", "wb") as report:
        pickle.dump(what, report)
    os.replace(_report_path + ".part", _report_path)


def in_shared_memory():
    """The names of the segments that are there now."""
    return set(os.listdir("/dev/shm"))


def left_in_shared_memory(before):
    """The names of segments that are not in `before`, that no process has open, and that stay: those of other tests' ranks
    are there for a moment, until UCX unlinks them."""
    left = in_shared_memory() - before
    for _ in range(20):
        if not left:
            break
        for maps in pathlib.Path("/proc").glob("[0-9]*/maps"):
            with contextlib.suppress(OSError):
                text = maps.read_text()
                left = {name for name in left if f"/dev/shm/{name}" not in text}
        time.sleep(0.1)
        left &= in_shared_memory()
    return left


def free_port():
    """Returns a TCP port of this machine that nobody listens on. It lies below those that the kernel gives to callers:
    another test could take one of these while the rank does not listen yet."""
    while True:
        port = random.randrange(15000, 30000)
        with socket.socket() as free:
            try:
                free.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


def _torch_place():
    """The variables by which torch's ranks meet. Each waits in init_process_group until all are in the group: Gloo's call may
    return on one rank while another still connects, and a test that ends at once would break that connection."""
    return {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "TORCH_DIST_INIT_BARRIER": "1"}
