# SPDX-License-Identifier: Apache-2.0
"""Ranks that are forked from a process which has imported the test's file, and with it the framework, once: an import
takes two to four seconds of a processor, and the tests start hundreds of ranks. All files of one pytest share that
process, and so the import.

A rank is a process like any other: it has its own environment and ends as a program does, by exit code or signal. The
even ranks come from one process and the odd ones from another, so that hashes of strings, and with them the order of
sets, differ between neighbours as they do between programs. A test that pytest_forking.py starts is that first process'
own fork: it imports the framework once less.

To take the modules of PyTorch apart at its end costs a rank 0.3 s of a processor, several times what most of them compute.
So rank 0 alone does this, and each rank of a job with `whole_ends`; another rank that ends well stops where Python has
waited for its threads and called what `atexit` has.
"""

import atexit
import functools
import gc
import importlib
import importlib.util
import os
import pickle
import random
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback

# Variables that nothing reads while it is imported.
_READ_LATE = (
    "CASYNC_",
    "MASTER_ADDR",
    "MASTER_PORT",
    "PYTEST_",
    "RANK",
    "TORCHINDUCTOR_",
    "TORCH_DIST_INIT_BARRIER",
    "WORLD_SIZE",
)
_MESSAGE = 1 << 20  # bytes, at most


def can_start(environment):
    """Returns true if a rank with this environment may come from a process that has imported without it."""
    differs = {k for k in {*environment, *os.environ} if environment.get(k) != _base().get(k)}
    return all(name.startswith(_READ_LATE) for name in differs)


def prepare(path, ranks):
    """Imports the file where these ranks will come from, at once. Otherwise the first rank would wait for the others, and
    maybe no longer, while theirs is imported."""
    forkers = [_forker(parity, threading.get_ident()) for parity in sorted({rank % 2 for rank in ranks})]
    for forker in forkers:
        forker.ask_for(path)
    for forker in forkers:
        forker.await_import(path)


def start(path, rank, environment, arguments, whole_ends):
    """A process that calls ranks.child(*arguments), whose first one is `path`."""
    is_whole = whole_ends or rank == 0
    return _forker(rank % 2, threading.get_ident()).start(environment, arguments, is_whole)


class Process:
    """As subprocess.Popen, of a process that another one has forked."""

    def __init__(self, forker, pid, stderr):
        self.pid = pid
        self.returncode = None
        self.stderr = os.fdopen(stderr, encoding="utf-8", errors="replace")
        self._forker = forker
        self._read = b""

    def poll(self):
        self._forker.collect(0)
        return self.returncode

    def wait(self, timeout=None):
        deadline = _after(timeout)
        while self.returncode is None:
            self._forker.collect(_until(deadline))
            if self.returncode is None and time.monotonic() >= deadline:
                raise subprocess.TimeoutExpired(f"rank {self.pid}", timeout)
        return self.returncode

    def communicate(self, timeout=None):
        deadline = _after(timeout)
        while True:
            if not select.select([self.stderr], [], [], _until(deadline))[0]:
                raise subprocess.TimeoutExpired(f"rank {self.pid}", timeout)
            part = os.read(self.stderr.fileno(), 1 << 16)
            if not part:
                break
            self._read += part
        self.wait(_until(deadline))
        return None, self._read.decode("utf-8", "replace")

    def send_signal(self, number):
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self):
        self.send_signal(signal.SIGKILL)


def born_forker(modules):
    """Imports these here, and forks the process that the even ranks come from. Returns None, and in each rank what it
    runs."""
    global _born
    os.environ["OMP_NUM_THREADS"] = "1"
    for name in modules:
        importlib.import_module(name)
    gc.freeze()  # pytest collects garbage five times at its end
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork() == 0:
        ours.close()
        return _serve(theirs)
    theirs.close()
    _born = ours
    return None


_born = None


class _Forker:
    """The process that forks, seen from the test."""

    def __init__(self, born=None):
        self._children = {}  # pid -> Process
        self._imported = set()  # paths
        if born is not None:
            self._socket = born
            return
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, __file__, str(theirs.fileno())]
        subprocess.Popen(command, env=_base(), pass_fds=[theirs.fileno()], stdout=sys.stderr)
        theirs.close()

    def ask_for(self, path):
        if path not in self._imported:
            self._socket.send(pickle.dumps(path))

    def await_import(self, path):
        while path not in self._imported:
            self.collect(None)

    def start(self, environment, arguments, is_whole):
        stderr, theirs = os.pipe()
        request = pickle.dumps((environment, arguments, is_whole))
        socket.send_fds(self._socket, [request], [sys.stderr.fileno(), theirs])
        os.close(theirs)
        self._started = None
        self._stderr = stderr
        while self._started is None:
            self.collect(None)
        return self._started

    def collect(self, timeout):
        """Takes the messages that have come, or waits for one."""
        while select.select([self._socket], [], [], timeout)[0]:
            message = self._socket.recv(_MESSAGE)
            assert message, "the process that forks ranks ended: see its output"
            timeout = 0
            said = pickle.loads(message)
            if isinstance(said, str):
                self._imported.add(said)
                continue
            pid, code = said
            if code is None:
                self._started = self._children[pid] = Process(self, pid, self._stderr)
            else:
                self._children.pop(pid).returncode = code


@functools.lru_cache(maxsize=None)
def _forker(parity, thread):
    """One for each thread of the test: messages about its ranks come to itself alone."""
    return _Forker(_born if parity == 0 and thread == threading.main_thread().ident else None)


@functools.lru_cache(maxsize=None)
def _base():
    """The environment of the imports."""
    mine = {k: v for k, v in os.environ.items() if not k.startswith("CASYNC_")}
    return {**mine, "OMP_NUM_THREADS": "1"}


def _after(timeout):
    return float("inf") if timeout is None else time.monotonic() + timeout


def _until(deadline):
    return None if deadline == float("inf") else max(0.0, deadline - time.monotonic())


def _serve(requests):
    """In the process that forks: starts ranks until the test ends. Returns, in each rank, its arguments, the module of its
    file, and True if it ends as a whole."""
    woken, wake = socket.socketpair()
    wake.setblocking(False)
    signal.set_wakeup_fd(wake.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)
    running, modules = set(), {}
    while True:
        ready, _, _ = select.select([requests, woken], [], [])
        if woken in ready:
            woken.recv(4096)
            _report_ended(requests, running)
        if requests not in ready:
            continue
        request, fds, _, _ = socket.recv_fds(requests, _MESSAGE, 2)
        if not request:
            for pid in running:
                os.kill(pid, signal.SIGKILL)
            os._exit(0)
        wanted = pickle.loads(request)
        path = wanted if isinstance(wanted, str) else wanted[1][0]
        if path not in modules:
            modules[path] = _imported(path)
        if isinstance(wanted, str):
            requests.send(pickle.dumps(path))
            continue
        environment, arguments, is_whole = wanted
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for each in (requests, woken, wake):
                each.close()
            _become_rank(environment, *fds)
            return arguments, modules[path], is_whole
        for fd in fds:
            os.close(fd)
        running.add(pid)
        requests.send(pickle.dumps((pid, None)))


def _report_ended(requests, running):
    while running:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        running.discard(pid)
        requests.send(pickle.dumps((pid, os.waitstatus_to_exitcode(status))))


def _imported(path):
    """The test's file as a module. A process with threads cannot be forked. Collections of garbage in the ranks, of which
    the one at the end takes half a second with PyTorch, pass over what has been imported."""
    try:
        module = load(path)
        if "torch" in sys.modules:  # imports more in its first DistributedDataParallel or optimizer
            importlib.import_module("torch._dynamo")
        threads = len(os.listdir("/proc/self/task"))
        assert threads == 1, f"{path} has {threads} threads after its imports, so it cannot be forked"
        gc.freeze()
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    return module


def _become_rank(environment, stdout, stderr):
    os.environ.clear()
    os.environ.update(environment)
    for fd, number in ((stdout, 1), (stderr, 2)):
        os.dup2(fd, number)
        os.close(fd)
    random.seed()
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()


def load(path):
    """The test's file as a module."""
    spec = importlib.util.spec_from_file_location("rank_program", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _main():
    requests = socket.socket(fileno=int(sys.argv[1]))
    requests.set_inheritable(False)
    run(_serve(requests))


def run(rank):
    """In a rank's process: what it was started for."""
    import ranks

    arguments, module, is_whole = rank
    ranks.child(*arguments, module=module)
    if not is_whole and "torch" in sys.modules:
        threading._shutdown()
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


if __name__ == "__main__":
    _main()
