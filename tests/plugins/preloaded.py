# SPDX-License-Identifier: Apache-2.0
"""A Python that has imported a framework already, for programs that a launcher starts: each of their ranks would import
it for two to five seconds of a processor.

    with preloaded.Python("torch/bin/python", ["torch"]) as python:
        subprocess.run(["casync", "run", "-n", "2", "--", *python.command, "program.py"])

`command` is a small process that hands its arguments, environment, folder, network, and files 0 to 2 to a fork of that
Python, waits for it, and ends as it does. It passes SIGTERM on to the fork. If it is killed, the fork is killed too. It
takes `program.py`, `-c TEXT` or `-m MODULE`, behind `-u` or not. `executable` is a file that does the same, for launchers
that want one.
"""

import contextlib
import ctypes
import gc
import importlib
import os
import pickle
import runpy
import select
import shlex
import signal
import socket
import subprocess
import sys
import tempfile

_MESSAGE = 1 << 20  # bytes, at most
_READY = b"ready\n"
_NAMESPACES = [f"/proc/self/ns/{kind}" for kind in ("mnt", "net")]  # `ip netns exec` gives a program both


class Python:
    """`python`: the interpreter; `modules`: names to import. Those must leave it with one thread. Variables that imports
    read have to be in `environment`."""

    def __init__(self, python, modules, environment=None):
        self._folder = tempfile.TemporaryDirectory()
        address = f"{self._folder.name}/socket"
        self._process = subprocess.Popen(
            [python, __file__, "serve", address, *modules],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.command = [sys.executable, "-I", __file__, "run", address]
        self.executable = f"{self._folder.name}/python"
        with open(self.executable, "w") as script:
            script.write(f'#!/bin/sh\nexec {shlex.join(self.command)} "$@"\n')
        os.chmod(self.executable, 0o700)
        if self._process.stdout.readline() != _READY:
            self.__exit__()
            raise RuntimeError(f"{python} cannot import {', '.join(modules)}: see its output")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.stdin.close()  # ends it
        self._process.wait()
        self._process.stdout.close()
        self._folder.cleanup()


def _serve(address, modules):
    """Returns in each program's process, which then is as Python is at its beginning."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(address)
    listener.listen(64)
    for name in modules:
        importlib.import_module(name)
    threads = len(os.listdir("/proc/self/task"))
    assert threads == 1, f"there are {threads} threads after the imports, so programs cannot be forked"
    gc.freeze()  # the last collection of garbage in each program passes over what has been imported
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how the processes between ended
    os.write(1, _READY)
    while True:
        ready, _, _ = select.select([listener, 0], [], [])
        if 0 in ready:
            os._exit(0)
        connection, _ = listener.accept()
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            listener.close()
            return _start(connection)
        connection.close()


def _start(connection):
    """In a process for one program: starts it, and tells how it ended. Returns in the program's process."""
    request, fds, _, _ = socket.recv_fds(connection, _MESSAGE, 3 + len(_NAMESPACES))
    pid = os.fork()
    if pid == 0:
        connection.close()
        arguments, environment, folder = pickle.loads(request)
        _join_namespaces(fds[3:])
        for number, fd in enumerate(fds[:3]):
            os.dup2(fd, number)
        for fd in fds:
            os.close(fd)
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(folder)
        return arguments
    for fd in (0, 1, *fds):
        os.close(fd)
    end = os.pidfd_open(pid)
    while connection in select.select([end, connection], [], [])[0]:
        passed_on = connection.recv(_MESSAGE)
        os.kill(pid, int(passed_on) if passed_on else signal.SIGKILL)
        if not passed_on:
            break
    _, status = os.waitpid(pid, 0)
    with contextlib.suppress(OSError):
        connection.send(pickle.dumps(os.waitstatus_to_exitcode(status)))
    os._exit(0)


def _join_namespaces(fds):
    """Leaves out those that this process is in already: it may be forbidden to join them."""
    for fd, path in zip(fds, _NAMESPACES):
        if not os.path.samestat(os.fstat(fd), os.stat(path)):
            libc = ctypes.CDLL(None, use_errno=True)
            if libc.setns(fd, 0) != 0:
                raise OSError(ctypes.get_errno(), "setns", path)


def _become(arguments):
    if arguments[0] == "-u":
        sys.stdout.reconfigure(write_through=True)
        arguments = arguments[1:]
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        sys.path[0] = os.getcwd()
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    elif arguments[0] == "-c":
        sys.argv = ["-c", *arguments[2:]]
        sys.path[0] = ""
        exec(compile(arguments[1], "<string>", "exec"), {"__name__": "__main__"})
    else:
        sys.argv = arguments
        sys.path[0] = os.path.dirname(os.path.abspath(arguments[0]))
        runpy.run_path(arguments[0], run_name="__main__")


def _run(address, arguments):
    """Ends as the program does."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.connect(address)
        request = pickle.dumps((arguments, dict(os.environ), os.getcwd()))
        namespaces = [os.open(path, os.O_RDONLY) for path in _NAMESPACES]
        socket.send_fds(connection, [request], [0, 1, 2, *namespaces])
        signal.signal(signal.SIGTERM, lambda number, _: connection.send(str(number).encode()))
        answer = connection.recv(_MESSAGE)
    code = pickle.loads(answer) if answer else 1
    if code < 0:
        with contextlib.suppress(OSError):  # SIGKILL has no handler
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)


if __name__ == "__main__":
    role, address, *rest = sys.argv[1:]
    if role == "run":
        _run(address, rest)
    _become(_serve(address, rest))
