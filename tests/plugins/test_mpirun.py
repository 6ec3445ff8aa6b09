# SPDX-License-Identifier: Apache-2.0
"""Ranks that Open MPI's mpirun starts, with nothing set for CaSync. As a program: one of these ranks."""

import os
import shutil
import sys

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


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="no mpirun here (Debian: openmpi-bin)")
def test_two_steps_under_mpirun():
    launcher = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", sys.executable]
    for value in launched.values(launcher, __file__):
        assert value["size"] == 2 and value["steps"] == 2
        assert abs(value["average"] - 1.5) < 0.02


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="no mpirun here (Debian: openmpi-bin)")
def test_two_sessions_that_meet_by_pmix():
    command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "3", "-x", "CASYNC_RENDEZVOUS=pmix", "-x", "TWICE=1"]
    for value in launched.values(command + [sys.executable], __file__):
        assert value["size"] == 3 and value["averages"] == [1.0, 2.0]


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
