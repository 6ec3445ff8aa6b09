# SPDX-License-Identifier: Apache-2.0
"""Strategy PS with servers, as real processes over TCP: averages, identical replicas, and servers without gradients."""

import signal

import numpy
import pytest
import ranks

import casync

SHAPES = {"embed": (640, 333), "bias": (7,), "scalar": (1,), "large": (300, 401)}
STEPS = 3
TCP = {"CASYNC_TRANSPORT": "ucx:tcp"}


def gradients(rank, step):
    generator = numpy.random.default_rng([rank, step])
    return {name: generator.standard_normal(shape).astype(numpy.float32) for name, shape in SHAPES.items()}


def average(contributors, step):
    parts = [gradients(rank, step) for rank in contributors]
    return {name: sum(part[name].astype(numpy.float64) for part in parts) / len(parts) for name in SHAPES}


def train(rank, plan, silent=()):
    """All results of all steps. A rank that is silent has no gradients: what it submits is memory for the results."""
    results = []
    with casync.Session(plan=plan) as session:
        ids = {name: session.declare(name, shape) for name, shape in SHAPES.items()}
        for step in range(STEPS):
            arrays = gradients(rank, step)
            if rank in silent:
                arrays = {name: numpy.full(shape, numpy.nan, numpy.float32) for name, shape in SHAPES.items()}
            for name, array in arrays.items():
                session.submit(ids[name], array)
            assert session.step()
            results.append(arrays)
        return results, session.stats()


def plan_file(folder, codec, servers, name="plan.txtpb"):
    path = folder / name
    path.write_text(f'version: 1 default {{ codec {{ name: "{codec}" }} partition_bytes: 65536 {servers} }}\n')
    return str(path)


def assert_alike(values):
    for step in range(STEPS):
        for name in SHAPES:
            first = values[0][0][step][name].tobytes()
            assert all(results[step][name].tobytes() == first for results, _ in values), (step, name)


@pytest.mark.parametrize("size,servers", [(2, 1), (3, 1), (3, 2), (4, 2), (4, 4)])
def test_servers_own_everything_and_every_rank_ends_with_the_average(tmp_path, size, servers):
    plan = plan_file(tmp_path, "none", f"servers: {servers}")
    values = ranks.values(__file__, "train", size, env=TCP, plan=plan)
    assert_alike(values)
    for step in range(STEPS):
        expected = average(range(size), step)
        for name in SHAPES:
            assert numpy.abs(values[0][0][step][name] - expected[name]).max() < 1e-6
    sent = [stats["payload_bytes_sent"] / STEPS for _, stats in values]
    whole = 4 * sum(numpy.prod(shape) for shape in SHAPES.values())
    for rank in range(size - servers):  # sends its gradient once, and no results
        assert sent[rank] == pytest.approx(whole, rel=0.02)
    assert sum(sent[size - servers :]) == pytest.approx(whole * ((size - 1) + (servers - 1)), rel=0.02)


@pytest.mark.parametrize("size,servers", [(2, 1), (3, 1), (3, 2), (4, 2)])
def test_dedicated_servers_have_no_gradients_and_get_the_average_of_the_others(tmp_path, size, servers):
    plan = plan_file(tmp_path, "none", f"servers: {servers} dedicated: true")
    silent = list(range(size - servers, size))
    values = ranks.values(__file__, "train", size, env=TCP, plan=plan, silent=silent)
    assert_alike(values)
    for step in range(STEPS):
        expected = average(range(size - servers), step)
        for name in SHAPES:
            assert numpy.abs(values[-1][0][step][name] - expected[name]).max() < 1e-6


@pytest.mark.parametrize("codec", ["int4", "onebit", "topk", "signsgd", "diana"])
@pytest.mark.parametrize("servers", ["servers: 1", "servers: 2", "servers: 1 dedicated: true"])
def test_with_codecs_all_replicas_hold_the_same_bytes(tmp_path, codec, servers):
    plan = plan_file(tmp_path, codec, servers)
    assert_alike(ranks.values(__file__, "train", 3, env=TCP, plan=plan, silent=[2] if "dedicated" in servers else []))


def train_apart(rank, plan, workers, steps):
    """Asynchronous steps, another number on each rank: the sum of the results. A server declares, closes, and serves."""
    total = {name: numpy.zeros(shape) for name, shape in SHAPES.items()}
    with casync.Session(plan=plan) as session:
        ids = {name: session.declare(name, shape) for name, shape in SHAPES.items()}
        if rank >= workers:
            ranks.mark("running")
            return total
        for step in range(steps[rank]):
            arrays = gradients(rank, step)
            for name, array in arrays.items():
                session.submit(ids[name], array)
            assert session.step()
            for name, array in arrays.items():
                total[name] += array
            if step == 1:
                ranks.mark("running")
    return total


@pytest.mark.parametrize("servers", [1, 2])
def test_a_process_that_declares_and_closes_serves_asynchronous_ranks_until_they_have_ended(tmp_path, servers):
    plan = tmp_path / "plan.txtpb"
    plan.write_text(f"version: 1 asynchronous {{ bound: 0 }} default {{ servers: {servers} dedicated: true }}")
    totals = ranks.values(__file__, "train_apart", 2 + servers, env=TCP, plan=str(plan), workers=2, steps=[3, 6])
    for name in SHAPES:
        contributions = [gradients(rank, step)[name] for rank, steps in ((0, 3), (1, 6)) for step in range(steps)]
        together = [gradients(rank, step)[name] for rank in (0, 1) for step in range(3)]
        assert numpy.abs(totals[1][name] - sum(contributions) / 2).max() < 1e-5
        assert numpy.abs(totals[0][name] - sum(together) / 2).max() < 1e-5


def test_a_server_of_asynchronous_ranks_that_dies_is_named(tmp_path):
    plan = tmp_path / "plan.txtpb"
    plan.write_text("version: 1 asynchronous { } default { servers: 1 dedicated: true }")
    with ranks.Job(__file__, "train_apart", 3, env=TCP, plan=str(plan), workers=2, steps=[10**6, 10**6]) as job:
        job.wait_for_files("running")
        job.processes[2].send_signal(signal.SIGKILL)
        outcomes = job.wait()
    for outcome in outcomes[:2]:
        assert outcome.error == "PeerFailure", outcome.stderr
        assert "rank 2" in outcome.message


def test_ranks_whose_numbers_of_servers_differ_are_refused_with_both(tmp_path):
    plans = [plan_file(tmp_path, "none", f"servers: {1 + rank}", f"{rank}.txtpb") for rank in range(2)]
    for outcome in ranks.outcomes(__file__, "train_with_own_plan", 2, env=TCP, plans=plans):
        assert outcome.error == "InvalidArgument", outcome.stderr
        assert "default servers: rank 0 has 1 server, rank 1 has 2 servers" in outcome.message


def train_with_own_plan(rank, plans):
    train(rank, plans[rank])


def test_more_servers_than_ranks_are_refused_with_the_gradient(tmp_path):
    plan = plan_file(tmp_path, "none", "servers: 3")
    outcomes = ranks.outcomes(__file__, "train", 2, env=TCP, plan=plan)
    for outcome in outcomes:  # a rank that declares once the other one has failed is told that it did, and why
        assert outcome.error in ("PlanError", "PeerFailure"), outcome.stderr
        assert "gradient embed: 3 servers in a group of 2 ranks, expected 1 to 2" in outcome.message
    assert "PlanError" in (outcome.error for outcome in outcomes)
