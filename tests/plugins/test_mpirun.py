# SPDX-License-Identifier: Apache-2.0
"""Ranks that Open MPI's mpirun starts, with nothing set for CaSync. As a program: one of these ranks."""

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


if __name__ == "__main__":
    train()
