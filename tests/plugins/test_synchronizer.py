# SPDX-License-Identifier: Apache-2.0
"""The seam that all frameworks' plugins use: casync.synchronizer, casync.exchange and the public part of Session."""

import ast
import contextlib
import logging
import pathlib
import re
import threading

import numpy
import pytest
import ranks

from casync import Session, errors, exchange
from casync.synchronizer import NonFinite, Step, Synchronizer, check_choice

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "plugins/python/casync"
FRAMEWORKS = [file.parent for file in PACKAGE.glob("*/__init__.py")]  # a folder each


def arrays_of(rank, step, names=("a", "b", "c")):
    return {name: numpy.full(100, (rank + 1) * (at + 1) + step, numpy.float32) for at, name in enumerate(names)}


def with_callbacks(rank, steps=20):
    """Results by step, and how often each callback came with what."""
    seam = Synchronizer(codec="none")
    ids = {name: seam.declare(name, (100,)) for name in ("a", "b", "c")}
    results, calls = [], []
    for step in range(steps):
        arrays = arrays_of(rank, step)
        order = sorted(ids, reverse=rank == 1)  # ranks may differ in their order
        addresses = [arrays[name].ctypes.data for name in order]
        seam.submit([ids[name] for name in order], addresses, arrays, lambda id, error: calls.append((id, error)))
        assert not seam.missing()
        assert seam.end_step().finite
        assert sorted(calls) == sorted((id, None) for id in ids.values())
        calls.clear()
        results.append({name: array[0].item() for name, array in arrays.items()})
    seam.close()
    return results


def test_gradients_are_averaged_and_each_callback_comes_once_before_the_step_ends():
    for results in ranks.values(__file__, "with_callbacks", 2):
        for step, result in enumerate(results):
            assert result == {"a": 1.5 + step, "b": 3 + step, "c": 4.5 + step}


def declares_late(rank):
    seam = Synchronizer(codec="none")
    results = []
    for step in range(3):
        arrays = {f"g{i}": numpy.full(10 + i, rank + i, numpy.float32) for i in range(step + 1)}
        for name in sorted(arrays, reverse=rank == 1):
            identity = seam.declare(name, arrays[name].shape)
            assert seam.declare(name, arrays[name].shape) == identity
        for name, array in arrays.items():
            seam.submit([seam.declare(name, array.shape)], [array.ctypes.data], array)
        seam.end_step()
        results.append([array[0].item() for array in arrays.values()])
    with pytest.raises(errors.InvalidArgument, match="g0 was declared as"):
        seam.declare("g0", (11,))
    seam.close()
    return results


def test_gradients_may_be_declared_between_steps():
    for results in ranks.values(__file__, "declares_late", 2):
        assert results == [[0.5], [0.5, 1.5], [0.5, 1.5, 2.5]]


def declares_as_it_goes(rank, orders):
    """Each gradient is declared when it is met, with others on their way."""
    seam = Synchronizer(codec="none", timeout=20)
    for _ in range(2):
        arrays = {name: numpy.full(10, rank + at, numpy.float32) for at, name in enumerate("abc")}
        for name in orders[rank]:
            seam.submit([seam.declare(name, (10,))], [arrays[name].ctypes.data], arrays)
        seam.end_step()
    seam.close()
    return [array[0].item() for array in arrays.values()]


def test_gradients_may_be_declared_in_any_order_after_others_have_been_submitted():
    orders = ["abc", "cab", "bca"]
    assert ranks.values(__file__, "declares_as_it_goes", 3, orders=orders) == [[1, 2, 3]] * 3
    for outcome in ranks.outcomes(__file__, "declares_as_it_goes", 2, orders=["abc", "cb"]):
        assert outcome.error == "InvalidArgument" and "gradient a" in outcome.message, outcome.stderr
        assert "rank 1 has nothing" in outcome.message


def names_the_culprit(rank):
    seam = Synchronizer(codec="none")
    ids = [seam.declare(name, (4,)) for name in ("fc.weight", "fc.bias")]
    first, second = numpy.ones(4, numpy.float32), numpy.ones(4, numpy.float32)
    seam.submit(ids[:1], [first.ctypes.data], first)
    assert [seam.name_of(id) for id in seam.missing()] == ["fc.bias"]
    with pytest.raises(errors.InvalidArgument, match="gradient fc.weight is submitted twice in one step"):
        seam.submit(ids, [first.ctypes.data, second.ctypes.data], first)
    assert [seam.name_of(id) for id in seam.missing()] == ["fc.bias"]
    second[1] = numpy.inf if rank == 1 else 1
    seam.submit(ids[1:], [second.ctypes.data], second)
    result = seam.end_step()
    assert seam.last_step is result and not result
    seam.submit_bucket(ids[:1], first.ctypes.data, first)
    assert seam.end_step()
    seam.close()
    return result.first_non_finite


def test_errors_and_answers_name_the_gradient_on_every_rank():
    assert ranks.values(__file__, "names_the_culprit", 2) == ["fc.bias", "fc.bias"]


def ends_while_waiting(rank):
    seam = Synchronizer(codec="none")
    identity = seam.declare("weight", (4,))
    seam.submit_bucket([identity], numpy.ones(4, numpy.float32).ctypes.data)
    seam.end_step()
    if rank == 1:
        raise ValueError("a rank that raises")
    told, array = threading.Event(), numpy.ones(4, numpy.float32)
    outcome = []

    def done(id, error):
        outcome.append((id, error))
        told.set()

    seam.submit([identity], [array.ctypes.data], array, done)
    assert told.wait(60)
    assert outcome[0][0] == identity
    raise outcome[0][1]


def test_a_rank_that_raises_is_told_to_the_callbacks_of_the_others():
    waiting, raising = ranks.outcomes(__file__, "ends_while_waiting", 2)
    assert raising.error == "ValueError"
    assert waiting.error == "PeerFailure"
    assert "rank 1 ended with ValueError: a rank that raises" in waiting.message


def exchanges(rank):
    arrays = {
        "float": numpy.array([[-0.0, numpy.nan, 1e-45]] if rank == 2 else [[1, 2, 3]], numpy.float32),
        "int": numpy.array([2**62 + rank, -1], numpy.int64),
        "odd": numpy.full(3, rank, numpy.uint8),
        "bool": numpy.array(rank == 2),
        "none": numpy.zeros((0, 3), numpy.float64),
    }
    exchange.broadcast(arrays, root=2)
    rows = exchange.gather(numpy.array([rank, 0.1 * rank]))
    rows += exchange.gather(rank)
    means = exchange.average({"loss": 0.1 * (rank + 1), "matrix": [[rank, 1], [2, 3]]})
    with pytest.raises(errors.InvalidArgument, match="root is 3: the ranks are 0 to 2"):
        exchange.broadcast(arrays, root=3)
    return {name: array.tobytes() for name, array in arrays.items()}, rows, means


def test_exchanges_are_exact():
    outcomes = ranks.values(__file__, "exchanges", 3)
    for arrays, rows, means in outcomes:
        assert arrays == outcomes[2][0]
        assert numpy.frombuffer(arrays["int"], numpy.int64).tolist() == [2**62 + 2, -1]
        assert numpy.signbit(numpy.frombuffer(arrays["float"], numpy.float32)[0])
        assert [row.tolist() for row in rows] == [[0, 0], [1, 0.1], [2, 0.2], 0, 1, 2]
        assert means["loss"] == (0.1 + 0.2 + 0.1 * 3) / 3 and means["loss"].shape == ()
        assert means["matrix"].tolist() == [[1, 1], [2, 3]]


def test_exchanges_are_no_steps_of_a_training_and_leave_no_record_or_trace(tmp_path):
    env = {"CASYNC_STEPS": "1", "CASYNC_RECORD": str(tmp_path / "record"), "CASYNC_TRACE": str(tmp_path / "trace")}
    assert all(ranks.values(__file__, "exchanges", 3, env=env)), "the first step ended the program"
    assert not list(tmp_path.glob("*/*"))


def meets(rank, plan):
    """What a step of gossip and a consensus make of parameters that are the rank's number."""
    results = []
    with Session(plan=plan) as session:
        weight = session.declare("weight", 3)
        for consensus in (False, True):
            if consensus:
                session.begin_consensus()
            assert session.exchanged == "parameters"
            array = numpy.full(3, rank, numpy.float32)
            session.submit(weight, array)
            assert session.step()
            results.append(array[0].item())
    return results


def test_a_consensus_takes_all_ranks_to_the_exact_mean(tmp_path):
    plan = tmp_path / "plan.txtpb"
    plan.write_text("version: 1\ngossip { neighbours: ring }\n")
    results = ranks.values(__file__, "meets", 4, plan=str(plan))
    assert [mixed for mixed, _ in results] == pytest.approx([4 / 3, 1, 2, 5 / 3])  # of a rank and its two neighbours
    assert [agreed for _, agreed in results] == [1.5] * 4


def test_a_session_knows_sizes_and_refuses_a_consensus_of_ranks_that_are_never_apart():
    with Session(rank=0, size=1, codec="none") as session:
        for dtype, shape, size in (("float32", (5, 3), 60), ("float16", (5, 3), 30), ("bfloat16", 7, 14)):
            assert session.bytes_of(session.declare(dtype, shape, dtype)) == size
        with pytest.raises(errors.InvalidArgument, match="a consensus is for a plan with gossip or asynchronous"):
            session.begin_consensus()


def test_a_step_does_not_wait_for_a_member_whose_group_did_not_leave(tmp_path):
    plan = tmp_path / "plan.txtpb"
    plan.write_text('version: 1\ngroup { name: "g" gradient: "a" gradient: "b" }\n')
    heard, told = threading.Event(), []

    def done(_, error):
        told.append(error)
        heard.set()

    with Session(rank=0, size=1, plan=str(plan)) as session:
        ids = [session.declare(name, 4) for name in ("a", "b")]
        arrays = [numpy.full(4, at + 1, numpy.float32) for at in range(2)]
        addresses, sizes = [array.ctypes.data for array in arrays], [array.nbytes for array in arrays]
        session.submit_memory(ids[:1], addresses[:1], sizes[:1], arrays, done)
        with contextlib.suppress(errors.InvalidArgument):  # unless the call comes first
            session.step()
        assert heard.wait(60)
        assert isinstance(told[0], errors.InvalidArgument) and "has not been submitted without `b`" in str(told[0])
        assert session.step()
        assert not session.busy
        session.submit_memory(ids, addresses, sizes, arrays, done)
        assert session.step()
        assert told[1:] == [None, None]
    assert [array.tolist() for array in arrays] == [[1] * 4, [2] * 4]


def test_a_member_whose_group_did_not_leave_is_submitted_again(tmp_path):
    plan = tmp_path / "plan.txtpb"
    plan.write_text('version: 1\ngroup { name: "g" gradient: "a" gradient: "b" }\n')
    heard, told = threading.Event(), []

    def done(identity, error):
        told.append((identity, error))
        heard.set()

    seam = Synchronizer(rank=0, size=1, plan=str(plan))
    a, b = (seam.declare(name, (4,)) for name in "ab")
    arrays = [numpy.full(4, at + 1, numpy.float32) for at in range(2)]
    first, second = (array.ctypes.data for array in arrays)
    seam.submit([a], [first], arrays, done)
    with pytest.raises(errors.InvalidArgument, match="gradient a is submitted twice in one step"):
        seam.submit([b, a], [second, first], arrays, done)
    assert seam.missing() == [b]
    with contextlib.suppress(errors.InvalidArgument):  # unless the call comes first
        seam.end_step()
    assert heard.wait(60)
    assert told[0][0] == a and "has not been submitted without `b`" in str(told[0][1])
    assert seam.missing() == [a, b]
    seam.submit([b, a], [second, first], arrays, done)
    assert not seam.missing()
    assert seam.end_step().finite
    assert sorted(told[1:]) == [(a, None), (b, None)]
    seam.close()
    assert [array.tolist() for array in arrays] == [[1] * 4, [2] * 4]


def test_a_submission_that_is_refused_may_be_made_again():
    seam = Synchronizer(rank=0, size=1, codec="none")
    weight = seam.declare("weight", (4,))
    array = numpy.full(4, 2, numpy.float32)
    for done in (None, lambda identity, error: None):
        with pytest.raises(errors.Error):
            seam.submit([weight], [0], array, done)
        assert seam.missing() == [weight]
        seam.submit([weight], [array.ctypes.data], array, done)
        assert seam.end_step().finite
    seam.close()


def two_sessions(rank):
    """Interleaved, as two optimizers have them; the exchange between them opens a third."""
    first, second = Synchronizer(codec="none"), Synchronizer(codec="int8")
    a, b = first.declare("weight", (8,)), second.declare("weight", (8,))
    for step in range(5):
        one, other = numpy.full(8, rank, numpy.float32), numpy.full(8, rank + 1, numpy.float32)
        first.submit([a], [one.ctypes.data], one)
        second.submit([b], [other.ctypes.data], other)
        if step == 2:
            exchange.average({"loss": rank})
        second.end_step()
        first.end_step()
    second.close()
    first.close()
    return one[0].item(), round(other[0].item(), 2)


def test_two_sessions_in_one_process_are_apart():
    assert ranks.values(__file__, "two_sessions", 2) == [(0.5, 1.5), (0.5, 1.5)]


def greeted(rank, codec=None, configured=False, plan=None):
    if configured:
        logging.basicConfig(level=logging.INFO, format="log: %(levelname)s %(message)s")
    Synchronizer(plan=plan, codec=codec).close()


@pytest.mark.parametrize("configured, prefix", [(False, ""), (True, "log: INFO ")])
def test_rank_0_says_once_that_it_is_active(configured, prefix):
    first, second = ranks.outcomes(__file__, "greeted", 2, codec="int4:block=64", configured=configured)
    (line,) = [line for line in first.stderr.splitlines() if "CaSync" in line]
    assert re.fullmatch(re.escape(prefix) + r"CaSync \d+\.\d+\.\d+: 2 ranks, int4:block=64, ucx .*", line), line
    assert "CaSync" not in second.stderr


def test_nobody_trains_uncompressed_without_being_told():
    assert "no codec was chosen" in ranks.outcomes(__file__, "greeted", 1)[0].stderr
    assert "no codec" not in ranks.outcomes(__file__, "greeted", 1, env={"CASYNC_CODEC": "none"})[0].stderr
    assert "CaSync" not in ranks.outcomes(__file__, "greeted", 1, env={"CASYNC_LOG_LEVEL": "off"})[0].stderr


def test_an_empty_plan_or_codec_is_none_whatever_the_environment_says(monkeypatch):
    monkeypatch.setenv("CASYNC_CODEC", "tpok")  # there is no such codec
    for plan, codec in (("", "int8"), ("", None), (None, ""), ("", "")):
        check_choice(plan, codec)
        text = ranks.outcomes(__file__, "greeted", 1, plan=plan, codec=codec, env={"CASYNC_CODEC": "tpok"})[0].stderr
        assert f": 1 rank, {codec or 'none'}, " in text and "no codec was chosen" not in text, text


@pytest.mark.parametrize("by_environment", [False, True])
def test_a_codec_that_cannot_be_is_refused_ahead_of_a_session(by_environment, monkeypatch):
    def check(codec):
        monkeypatch.setenv("CASYNC_CODEC", codec if by_environment else "")
        check_choice(None, None if by_environment else codec)

    for codec in ("tpok", "tpok:ratio=0.1"):
        with pytest.raises(errors.InvalidArgument, match="no codec is called `tpok`"):
            check(codec)
    with pytest.raises(errors.InvalidArgument, match="parameter `ratio` is 1.5"):
        check("topk:ratio=1.5")
    for codec in ("topk:ratio=0.1", "none", "mine.cll:ratio=0.1", "encode.pse+decode.pse", "folder.1/mine:block=64"):
        check(codec)  # files are compiled when the session opens


def test_frameworks_use_only_public_parts_of_the_session():
    """No folder of a framework reaches into another class: an underscore after a dot is of `self` or the framework."""
    of_session = set()
    for name in ("session", "synchronizer", "exchange", "_library", "_open", "patience"):
        for node in ast.walk(ast.parse((PACKAGE / f"{name}.py").read_text())):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("_") and not node.name.startswith("__"):
                of_session.add(node.name)
            if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
                of_session.add(node.attr)
    assert FRAMEWORKS
    for file in [file for folder in FRAMEWORKS for file in folder.glob("*.py")]:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("casync"):
                private = [part for part in [*node.module.split("."), *(name.name for name in node.names)]
                           if part.startswith("_")]  # fmt: skip
                assert not private, f"{file.name}:{node.lineno} imports {private[0]}"
            if isinstance(node, ast.Attribute) and node.attr in of_session:
                owner = node.value.id if isinstance(node.value, ast.Name) else ""
                assert owner == "self", f"{file.name}:{node.lineno} uses .{node.attr}"


def test_frameworks_leave_to_the_seam_what_they_share():
    """Counting what has left in a step, and the sentence about a gradient that was not finite, are written once."""
    files = [file for folder in FRAMEWORKS for file in folder.glob("*.py")]
    assert files
    for words in ("submitted twice in one step", "was not finite on some rank"):
        assert words in (PACKAGE / "synchronizer.py").read_text(), f"casync.synchronizer no longer says: {words}"
        for file in files:
            assert words not in file.read_text(), f"{file.parent.name}/{file.name} has a sentence of casync.synchronizer"


def test_a_step_takes_each_gradient_once():
    step = Step()
    step.refuse_again(["weight"])
    step.add(["weight"])
    with pytest.raises(errors.InvalidArgument, match="gradient weight is submitted twice in one step: wait first"):
        step.refuse_again(["bias", "weight"], "wait first")
    assert step.submitted == {"weight"}
    step.add(["bias"])
    step.take_back(["weight"])
    step.refuse_again(["weight"])
    assert step.submitted == {"bias"}
    step.add(["weight"])
    step.end()
    step.refuse_again(["weight"])


def test_rank_0_tells_once_of_a_gradient_that_was_not_finite(caplog):
    non_finite = NonFinite("skip it")
    for rank in (1, 0, 0):
        non_finite.tell(rank, f"weight of rank {rank}")
    (record,) = caplog.records
    assert record.getMessage() == "gradient weight of rank 0 was not finite on some rank: skip it"
