# SPDX-License-Identifier: Apache-2.0
"""Ranks that Open MPI's mpirun starts, with nothing set for CaSync. As a program: one of these ranks."""

import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile

import launched
import numpy
import pytest

import casync


def train():
    with casync.Session(codec="int8") as session:
        fc = session.declare("fc", 1000)
        for step in range(2):
            array = numpy.full(1000, session.rank + step, numpy.float32)
            session.submit(fc, array)
            assert session.step()
        launched.report(session.rank, size=session.size, average=float(array.mean()), steps=session.stats()["steps"])


pytestmark = pytest.mark.skipif(shutil.which("mpirun") is None, reason="no mpirun here (Debian: openmpi-bin)")
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe"]


def test_two_steps_under_mpirun():
    launcher = MPIRUN + ["-n", "2", sys.executable]
    for value in launched.values(launcher, __file__):
        assert value["size"] == 2 and value["steps"] == 2
        assert abs(value["average"] - 1.5) < 0.02


def test_two_sessions_that_meet_by_pmix():
    command = MPIRUN + ["-n", "3", "-x", "CASYNC_RENDEZVOUS=pmix", "-x", "TWICE=1"]
    for value in launched.values(command + [sys.executable], __file__):
        assert value["size"] == 3 and value["averages"] == [1.0, 2.0]


def test_two_sessions_on_three_nodes():
    """Each node has a PMIx server of its own: mpirun is told to start its daemons here, under three names.

    Each daemon gets a folder of its own for its files. Open MPI names the folder of a session after the machine, and
    daemons that share it remove each other's files while they start: about one job in 14 dies of that.
    """
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:  # a short path: it becomes part of a socket's name
        shell = pathlib.Path(folder, "remote_shell")
        shell.write_text(f'#!/bin/sh\nexport TMPDIR="{folder}/$1"\nmkdir "$TMPDIR"\nshift\nexec sh -c "$*"\n')
        shell.chmod(0o755)
        hosts = "127.0.0.2:1,127.0.0.3:2,127.0.0.4:1"
        command = MPIRUN + ["--mca", "plm_rsh_agent", str(shell), "--host", hosts, "-n", "4"]
        command += ["-x", "TWICE=1", "-x", "CASYNC_INTERFACE=lo"]
        for value in launched.values(command + [sys.executable], __file__):
            assert value["size"] == 4 and value["averages"] == [1.5, 2.5]


def test_a_pmix_server_that_says_nothing_is_an_error_in_time():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        uri = f"1.0;tcp4://127.0.0.1:{server.getsockname()[1]}"
        launch = {"CASYNC_RANK": "0", "CASYNC_SIZE": "2", "CASYNC_RENDEZVOUS": "pmix", "CASYNC_TIMEOUT_SEC": "1"}
        launch |= {"PMIX_NAMESPACE": "1", "PMIX_RANK": "0", "PMIX_SERVER_URI4": uri, "PMIX_SERVER_URI41": uri}
        program = "import casync; casync.Session(codec='none')"
        ended = subprocess.run([sys.executable, "-c", program], env={**os.environ, **launch}, capture_output=True,
                               text=True, timeout=120)
    assert ended.returncode == 1
    assert "PMIx server does not answer" in ended.stderr


def twice():
    """A second session finds the second meeting, not what the first has left."""
    averages = []
    for turn in range(2):
        with casync.Session(codec="none") as session:
            fc = session.declare("fc", 1000)
            array = numpy.full(1000, session.rank + turn, numpy.float32)
            session.submit(fc, array)
            assert session.step()
            averages.append(float(array.mean()))
            rank, size = session.rank, session.size
    launched.report(rank, size=size, averages=averages)


if __name__ == "__main__":
    twice() if "TWICE" in os.environ else train()
