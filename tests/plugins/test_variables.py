# SPDX-License-Identifier: Apache-2.0
"""Variables of the environment that change what a session does, in jobs of real processes."""

import atexit

import numpy
import pytest
import ranks

import casync
from casync import launch


def train(rank):
    atexit.register(ranks.note, "exit handler")
    with casync.Session(codec="none") as session:
        weight = session.declare("weight", 100)
        for step in range(6):
            ranks.note(f"step {step}")
            session.submit(weight, numpy.ones(100, numpy.float32))
            session.step()


@pytest.mark.parametrize("variables,steps,end", [({}, 6, ["exit handler"]), ({"CASYNC_STEPS": "4"}, 4, [])])
def test_casync_steps_ends_the_program_after_so_many_steps_without_its_exit_handlers(variables, steps, end):
    with ranks.Job(__file__, "train", 2, env=variables) as job:
        for rank, outcome in enumerate(job.wait()):
            assert outcome.code == 0 and outcome.error is None, outcome.stderr
            assert job.lines(rank) == [*(f"step {step}" for step in range(steps)), *end]


def test_an_empty_number_of_a_rank_is_none(monkeypatch):
    """Torchrun's numbers count then, which also say which ranks are on one machine."""
    for name, value in {"CASYNC_RANK": "", "CASYNC_SIZE": "", "RANK": "1", "WORLD_SIZE": "2"}.items():
        monkeypatch.setenv(name, value)
    assert launch.environment_says(1, 2) and not launch.environment_says(0, 2)
    monkeypatch.setenv("CASYNC_RANK", "0")
    monkeypatch.setenv("CASYNC_SIZE", "2")
    assert launch.environment_says(0, 2) and not launch.environment_says(1, 2)


def over(rank):
    """The average, and how its payloads travelled."""
    with casync.Session(codec="none") as session:
        weight = numpy.full(100_000, rank, numpy.float32)
        session.submit(session.declare("weight", weight.shape), weight)
        assert session.step()
        return weight.min().item(), weight.max().item(), session.stats()["transport"]


@pytest.mark.parametrize("variables,said", [({}, "checksum=xxh3"), ({"CASYNC_CHECKSUM": "0"}, "checksum=off")])
def test_casync_checksum_0_leaves_out_the_checksums_of_payloads(variables, said):
    for least, most, transport in ranks.values(__file__, "over", 2, env=variables):
        assert least == most == 0.5
        assert said in transport.split(), transport


def test_casync_transport_loopback_is_refused_by_ranks_that_are_processes():
    variables = {"CASYNC_TRANSPORT": "loopback", "CASYNC_TIMEOUT_SEC": "10"}
    for outcome in ranks.outcomes(__file__, "over", 2, env=variables):
        assert outcome.error == "InvalidArgument", outcome
        assert "loopback joins threads of one process; use ucx" in outcome.message, outcome.message
