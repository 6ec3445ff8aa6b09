# SPDX-License-Identifier: Apache-2.0
"""casync.Session with real ranks: averages, sums, shards, refusals."""

import ctypes
import gc
import pathlib
import re
import subprocess
import sys
import weakref

import numpy
import pytest
import ranks

import casync
from casync import _library, patience

SHAPES = {"embed": (64, 33), "bias": (7,), "scalar": (), "large": (300, 401)}


def gradients(rank, step=0):
    generator = numpy.random.default_rng([rank, step])
    return {name: generator.standard_normal(shape).astype(numpy.float32) for name, shape in SHAPES.items()}


def average_once(rank, op, dtype):
    with casync.Session(codec="none", op=op) as session:
        arrays = {name: numpy.atleast_1d(g).astype(dtype) for name, g in gradients(rank).items()}
        names = list(arrays)[rank % 4 :] + list(arrays)[: rank % 4]  # each rank in an order of its own
        ids = {name: session.declare(name, arrays[name].shape, dtype) for name in names}
        handles = [session.submit(ids[name], arrays[name]) for name in names]
        for handle in handles:
            handle.wait()
        done = all(handle.done for handle in handles)
        return arrays, bool(session.step()), done, session.stats()


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_every_rank_ends_with_the_average(size):
    results = ranks.values(__file__, "average_once", size, op="average", dtype="float32")
    for name in SHAPES:
        expected = sum(gradients(rank)[name].astype(numpy.float64) for rank in range(size)) / size
        for arrays, finite, done, _ in results:
            assert numpy.abs(arrays[name] - expected).max() < 1e-6
            assert finite and done


@pytest.mark.parametrize("dtype,error", [("float32", 1e-5), ("float16", 2e-2)])
def test_every_rank_ends_with_the_sum(dtype, error):
    for arrays, *_ in ranks.values(__file__, "average_once", 3, op="sum", dtype=dtype):
        for name in SHAPES:
            expected = sum(gradients(rank)[name].astype(numpy.float64) for rank in range(3))
            assert numpy.abs(arrays[name] - expected).max() < error


def test_the_counters_count_what_was_sent():
    for _, _, _, stats in ranks.values(__file__, "average_once", 2, op="average", dtype="float32"):
        least = 4 * sum(numpy.prod(shape) for shape in SHAPES.values()) * 2 * (2 - 1) / 2
        assert stats["steps"] == 1 and least * 0.9 <= stats["wire_bytes_sent"] <= least * 1.2


def scattered_once(rank, scatter, op, codec):
    """The array that this rank has in the end, and what it sent."""
    with casync.Session(codec=codec, op=op) as session:
        array = numpy.random.default_rng(rank).standard_normal(12 * 1024).astype(numpy.float32)
        session.submit(session.declare("flat", array.shape, scatter=scatter), array).wait()
        assert session.step()
        return array, session.stats()["payload_bytes_sent"]


@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("op", ["average", "sum"])
def test_every_rank_ends_with_its_own_shard_and_sends_half_of_the_bytes(size, op):
    given = [numpy.random.default_rng(rank).standard_normal(12 * 1024).astype(numpy.float32) for rank in range(size)]
    expected = sum(one.astype(numpy.float64) for one in given) / (size if op == "average" else 1)
    results = ranks.values(__file__, "scattered_once", size, scatter=True, op=op, codec="none")
    for rank, (array, sent) in enumerate(results):
        shard = slice(rank * 12 * 1024 // size, (rank + 1) * 12 * 1024 // size)
        assert numpy.abs(array[shard] - expected[shard]).max() < 1e-5
        array[shard] = given[rank][shard]
        assert array.tobytes() == given[rank].tobytes()
        assert sent == 4 * 12 * 1024 * (size - 1) // size
    whole = ranks.values(__file__, "scattered_once", size, scatter=False, op=op, codec="none")
    assert sum(sent for _, sent in whole) == 2 * sum(sent for _, sent in results)


def refused_scatter(rank):
    with casync.Session(codec="none") as session:
        with pytest.raises(casync.InvalidArgument, match="gradient odd: 7 elements are not 2 equal shards") as refused:
            session.declare("odd", 7, scatter=True)
        return str(refused.value)


def test_shards_that_are_not_equal_are_refused_with_the_next_number_that_is():
    assert all("pad them to 8" in text for text in ranks.values(__file__, "refused_scatter", 2))


def with_a_nan(rank):
    with casync.Session(codec="int8") as session:
        fc, bias = session.declare("fc", 1000), session.declare("bias", 10)
        session.submit(fc, numpy.full(1000, 0.1 * (rank + 1), numpy.float32))
        session.submit(bias, numpy.ones(10, numpy.float32))
        first = session.step()
        before = session.state_dict()["gradients"]["fc"]["residual"]
        array = numpy.full(1000, 0.3, numpy.float32)
        array[5] = numpy.nan if rank == 1 else 0.3
        session.submit(fc, array)
        session.submit(bias, numpy.ones(10, numpy.float32))
        second = session.step()
        after = session.state_dict()["gradients"]["fc"]["residual"]
        return bool(first), second.finite, second.first_non_finite, bool((before == after).all())


def test_all_ranks_learn_alike_that_a_gradient_was_not_finite():
    assert set(ranks.values(__file__, "with_a_nan", 3)) == {(True, False, "fc", True)}


def declare_and_submit(rank, declarations, codecs=("none", "none"), dtypes=("float32", "float32"), plans=None):
    how = dict(codec=codecs[rank]) if plans is None else dict(plan=plans[rank])
    with casync.Session(**how) as session:
        name, size = declarations[rank]
        session.submit(session.declare(name, size, dtypes[rank]), numpy.ones(size, dtypes[rank]))
        session.step()


MISMATCHES = {
    "names": (dict(declarations=[("fc", 8), ("fd", 8)]), ("gradient f", "has nothing")),
    "shapes": (dict(declarations=[("fc", 8), ("fc", 9)]), ("8", "9")),
    "codecs": (dict(declarations=[("fc", 8), ("fc", 8)], codecs=("int8", "int4")), ("int8", "int4")),
    "dtypes": (dict(declarations=[("fc", 8), ("fc", 8)], dtypes=("float32", "float16")), ("float32", "float16")),
}


@pytest.mark.parametrize("case", MISMATCHES)
def test_ranks_that_differ_are_refused_with_both_values(case):
    arguments, both = MISMATCHES[case]
    for outcome in ranks.outcomes(__file__, "declare_and_submit", 2, **arguments):
        assert outcome.error == "InvalidArgument"
        assert all(value in outcome.message for value in both), outcome.message


def test_plans_that_differ_are_refused_with_the_first_difference(tmp_path):
    plans = []
    for rank, pattern in enumerate(["*.bias", "*.norm"]):
        plans.append(str(tmp_path / f"rank{rank}.txtpb"))
        with open(plans[rank], "w") as plan:
            print('version: 1 rule { match: "same" priority: 1 } rule { match: "%s" priority: 2 }' % pattern, file=plan)
    same = [("fc", 8)] * 2
    for outcome in ranks.outcomes(__file__, "declare_and_submit", 2, declarations=same, plans=plans):
        assert outcome.error == "InvalidArgument", outcome.stderr
        assert "rule 2 match: rank 0 has *.bias, rank 1 has *.norm" in outcome.message


@pytest.mark.parametrize("variable,usual,other", [("CASYNC_HEARTBEAT_SEC", "0.5", "2"), ("CASYNC_DEAD_SEC", "5", "60")])
def test_ranks_that_wait_for_one_another_s_heartbeats_differently_are_refused_with_both(variable, usual, other):
    same, envs = [("fc", 8)] * 2, {1: {variable: other}}
    for outcome in ranks.outcomes(__file__, "declare_and_submit", 2, declarations=same, envs=envs):
        assert outcome.error == "InvalidArgument", outcome.stderr
        assert f"{variable}: rank 0 has {usual}, rank 1 has {other}" in outcome.message


def train_by_plan(rank, plan):
    with casync.Session(plan=plan) as session:
        weight = numpy.full(4, rank, numpy.float32)
        session.submit(session.declare("weight", 4), weight)
        session.step()
        return float(weight[0])


def test_a_plan_that_was_made_for_other_ranks_or_nodes_works_and_rank_0_says_so(tmp_path):
    plan = tmp_path / "plan.txtpb"
    plan.write_text('version: 1\nworld { ranks: 8 nodes: 2 }\ndefault { codec { name: "none" } }\n')
    first, second = ranks.outcomes(__file__, "train_by_plan", 2, plan=str(plan))
    assert (first.value, second.value) == (0.5, 0.5), first.stderr + second.stderr
    assert "plan: the plan was made for 8 ranks, and this group has 2" in first.stderr, first.stderr
    assert "plan: the plan was made for 2 nodes, and this group has 1" in first.stderr, first.stderr
    assert "was made for" not in second.stderr, second.stderr
    plan.write_text("version: 1\nworld { ranks: 2 nodes: 1 }\n")
    fitting, _ = ranks.outcomes(__file__, "train_by_plan", 2, plan=str(plan))
    assert "was made for" not in fitting.stderr, fitting.stderr


def test_rank_0_says_where_the_record_is_and_how_to_plan_from_it(tmp_path):
    plan = tmp_path / "plan.txtpb"
    plan.write_text("version: 1\n")
    env = {"CASYNC_RECORD": str(tmp_path / "rec")}
    first, second = ranks.outcomes(__file__, "train_by_plan", 2, plan=str(plan), env=env)
    assert first.stderr.count(f"CaSync: recorded {tmp_path}/rec/model.txtpb") == 1, first.stderr
    assert f"casync plan --profile profile.txtpb --model {tmp_path}/rec/model.txtpb" in first.stderr and "-n 2" in first.stderr
    assert "recorded" not in second.stderr, second.stderr
    without, _ = ranks.outcomes(__file__, "train_by_plan", 2, plan=str(plan))
    assert "recorded" not in without.stderr, without.stderr


LONELY = """
import sys, casync
try:
    casync.Session(rank=int(sys.argv[1]), size=3, rendezvous=sys.argv[2], token="of a test", timeout=12)
except casync.Timeout as error:
    print(error)
"""


def test_a_rank_that_waits_for_others_says_for_whom(tmp_path):
    jobs = [subprocess.Popen([sys.executable, "-c", LONELY, str(rank), f"file:{tmp_path}/{rank}"], text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE) for rank in (0, 2)]  # fmt: skip
    (told, first), (_, last) = (job.communicate(timeout=60) for job in jobs)
    assert "ranks 1, 2 of 3 did not come within 12" in told
    # On a busy machine a thread that wakes up after 10 s does so late.
    assert len(re.findall(r"still waiting for ranks 1, 2 of 3, after 1[0-2] s", first)) == 1, first
    assert len(re.findall(r"rank 2 is still waiting for rank 0 of 3, after 1[0-2] s", last)) == 1, last


def test_world_sizes_that_differ_are_refused_with_both_values():
    same = [("fc", 8)] * 2
    envs = {1: {"CASYNC_SIZE": "3"}}
    env = {"CASYNC_TIMEOUT_SEC": "5"}
    for outcome in ranks.outcomes(__file__, "declare_and_submit", 2, declarations=same, envs=envs, env=env):
        assert outcome.error == "InvalidArgument", outcome.stderr
        assert "2" in outcome.message and "3" in outcome.message


def test_a_gradient_twice_in_one_step_is_refused(alone):
    fc = alone.declare("fc", 6)
    alone.submit(fc, numpy.ones(6, numpy.float32))
    with pytest.raises(casync.InvalidArgument, match="twice"):
        alone.submit(fc, numpy.ones(6, numpy.float32))
    assert alone.step()  # with the first


def test_bfloat16_travels_as_its_uint16_view(alone):
    array = (numpy.array([1.0, -2.5], numpy.float32).view(numpy.uint32) >> 16).astype(numpy.uint16)
    before = array.copy()
    alone.submit(alone.declare("half", 2, "bfloat16"), array)
    assert alone.step() and (array == before).all()


TORCHRUN = dict(RANK="0", WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT="1")


def test_torchrun_without_torch_is_refused_with_what_to_set(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)  # as if it were not installed
    for name, value in TORCHRUN.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(casync.Unavailable, match="CASYNC_RENDEZVOUS"):
        casync.Session()


def test_a_library_of_another_version_is_refused_with_both_versions(monkeypatch):
    monkeypatch.setattr(_library, "ABI_VERSION", 999)
    with pytest.raises(casync.Unavailable, match="speaks version 1 .* this package 999: install both from one wheel"):
        _library.load.__wrapped__()


def test_a_closed_session_says_so(alone):
    alone.close()
    with pytest.raises(casync.InvalidArgument, match="closed"):
        alone.declare("fc", 6)


class Speechless(Exception):
    def __str__(self):
        raise AttributeError("no text")


@pytest.mark.parametrize("error", [FileNotFoundError("no file caf\udce9"), Speechless()], ids=["not UTF-8", "no text"])
def test_an_exception_whose_text_cannot_be_told_ends_the_session_like_any_other(error):
    with pytest.raises(type(error)), casync.Session(rank=0, size=1) as session:
        raise error
    assert session.closed


def test_a_generator_that_is_not_read_to_its_end_closes_its_session_and_aborts_nobody(monkeypatch):
    reasons = []
    monkeypatch.setattr(casync.Session, "abort", lambda session, reason: reasons.append(reason))

    def sessions():
        with casync.Session(rank=0, size=1) as session:
            while True:
                yield session

    reading = sessions()
    session = next(reading)
    reading.close()
    assert session.closed and reasons == []


def open_with_a_file(rank, folder):
    with casync.Session(codec=f"{folder}/{rank}.cll") as session:
        array = numpy.full(1000, 1.0 + rank, numpy.float32)
        session.submit(session.declare("w", 1000), array).wait()
        assert session.step()
        return array


@pytest.mark.parametrize("remark", ["", "// another program\n"])
def test_ranks_whose_codec_files_differ_are_refused_alike(tmp_path, remark):
    example = pathlib.Path(__file__).parents[2] / "examples/02_write_a_codec/int3.cll"
    (tmp_path / "0.cll").write_text(example.read_text())
    (tmp_path / "1.cll").write_text(example.read_text() + remark)
    env = {"CASYNC_CACHE_DIR": str(tmp_path / "cache")}
    outcomes = ranks.outcomes(__file__, "open_with_a_file", 2, env=env, folder=str(tmp_path))
    if not remark:  # the files' place does not matter
        assert all(numpy.abs(outcome.value - 1.5).max() < 1e-5 for outcome in outcomes)
        return
    for outcome in outcomes:
        assert outcome.error == "InvalidArgument"
        assert "rank 0 has int3 (program " in outcome.message and "rank 1 has int3 (program " in outcome.message


def wait_hidden(rank, mark):
    """Rank 1 submits after a wait of rank 0 is over."""
    with casync.Session(codec="none", timeout=20) as session:
        weight, values = session.declare("weight", 4), numpy.full(4, rank, numpy.float32)
        session.submit(weight, values.copy()).wait()
        session.step()
        if rank == 1:
            ranks.until(pathlib.Path(mark).exists, "rank 0 has waited")
        handle = session.submit(weight, values)
        if rank == 0:
            with pytest.raises(casync.Timeout):
                handle.wait(0.1, hidden=True)
            pathlib.Path(mark).touch()
        handle.wait(hidden=True)
        assert session.step()
        return values.tolist()


def test_a_helper_may_wait_for_less_than_the_session_would(tmp_path):
    assert ranks.values(__file__, "wait_hidden", 2, mark=str(tmp_path / "waited")) == [[0.5] * 4] * 2


def test_a_submission_whose_caller_was_interrupted_keeps_its_session():
    session = casync.Session(rank=0, size=1)
    weight, values = session.declare("weight", 4), numpy.ones(4, numpy.float32)
    numbers = (ctypes.c_uint64 * 1)()
    start = session._plain_submit([weight], [values.ctypes.data], [values.nbytes], numbers)
    kept = weakref.ref(session)
    del session
    assert kept() is not None
    start()  # in a thread, after the interruption
    assert kept().step()


def test_a_submission_whose_caller_was_interrupted_keeps_its_memory_and_is_waited_for(monkeypatch):
    started = []

    def interrupted(function, *_):
        started.append(function)
        raise KeyboardInterrupt

    with casync.Session(rank=0, size=1) as session:
        values = numpy.ones(1000, numpy.float32)
        weight, kept = session.declare("weight", values.shape), weakref.ref(values)
        monkeypatch.setattr(patience, "in_thread", interrupted)
        with pytest.raises(KeyboardInterrupt):
            session.submit(weight, values)
        monkeypatch.undo()
        del values
        gc.collect()
        assert kept() is not None, "the session would write to memory that is freed"
        started.pop()()  # in a thread, after the interruption
        assert session.busy
        assert session.step() and not session.busy
        assert kept() is None
