# SPDX-License-Identifier: Apache-2.0
"""Failures of a step in TensorFlow when a rank dies, raises, leaves or differs: tf.errors with the rank and the
gradient, and never a hang."""

import os
import signal
import sys
import threading
import time

import numpy
import pytest

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
tensorflow = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")
import ranks  # noqa: E402

import casync.tensorflow  # noqa: E402


def make(units=8):
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.layers.Input((20,)), keras.layers.Dense(units, name="first"), keras.layers.Dense(2, name="last")])
    model.compile(optimizer=casync.tensorflow.DistributedOptimizer(keras.optimizers.SGD(0.01)), loss="mse")
    return model


def batch():
    return numpy.ones((32, 20), numpy.float32), numpy.zeros((32, 2), numpy.float32)


class Mark(keras.callbacks.Callback):
    def on_train_batch_end(self, step, logs=None):
        if step == 3:
            ranks.mark("running")


def train_for_ever(rank):
    casync.tensorflow.init(codec="none")
    x, y = batch()
    make().fit(x, y, batch_size=2, epochs=1_000_000, verbose=0, callbacks=[Mark()])


def test_kill_9_raises_unavailable_on_all_others():
    with ranks.Job(__file__, "train_for_ever", 3) as job:
        job.wait_for_files("running")
        job.processes[2].send_signal(signal.SIGKILL)
        killed = time.time()
        outcomes = job.wait()
    for outcome in outcomes[:2]:
        assert outcome.error == "UnavailableError", outcome.stderr[-3000:]
        assert "rank 2" in outcome.message and "casync" in outcome.message
        ranks.assert_within(2.0, outcome.raised_at - killed)


def raise_in_a_callback(rank):
    casync.tensorflow.init(codec="none")

    class Stop(keras.callbacks.Callback):
        def on_train_batch_end(self, step, logs=None):
            if rank == 1 and step == 2:
                raise KeyError("a mistake of rank 1")

    x, y = batch()
    make().fit(x, y, batch_size=2, verbose=0, callbacks=[Stop()])


def test_an_exception_between_steps_ends_the_other_ranks():
    first, second = ranks.outcomes(__file__, "raise_in_a_callback", 2)
    assert second.error == "KeyError"
    assert first.error == "UnavailableError" and "rank 1" in first.message, first.stderr[-3000:]


def fail_inside_the_step(rank):
    """Rank 1 cannot compute one of two gradients: the other is on its way, and rank 0 has sent both."""
    casync.tensorflow.init(codec="none")
    a, b = tensorflow.Variable(tensorflow.ones(10), name="a"), tensorflow.Variable(tensorflow.ones(10), name="b")

    @tensorflow.custom_gradient
    def checked(x):
        def gradient(upstream):
            with tensorflow.control_dependencies([tensorflow.debugging.Assert(tensorflow.equal(rank, 0), ["rank 1 has a bad batch"])]):
                return tensorflow.identity(upstream)

        return tensorflow.identity(x), gradient

    @tensorflow.function
    def step():
        with tensorflow.GradientTape() as tape:
            loss = tensorflow.reduce_sum(a) + tensorflow.reduce_sum(checked(b))
        return casync.tensorflow.DistributedGradientTape(tape).gradient(loss, [a, b])

    step()


def test_an_operation_that_fails_beside_a_reduction_ends_the_job():
    begin = time.time()
    first, second = ranks.outcomes(__file__, "fail_inside_the_step", 2)
    assert second.error == "InvalidArgumentError" and "bad batch" in second.message, second.stderr[-3000:]
    assert first.error == "UnavailableError" and "rank 1" in first.message, first.stderr[-3000:]
    assert max(first.raised_at, second.raised_at) - begin < 55, "a timeout of the session ended it, and nothing else"


def other_models(rank):
    casync.tensorflow.init(codec="none")
    x, y = batch()
    make((8, 9)[rank]).fit(x, y, verbose=0)


def test_models_that_differ_are_told_apart_by_the_parameter():
    for outcome in ranks.outcomes(__file__, "other_models", 2):
        assert outcome.error == "InvalidArgumentError", outcome.stderr[-3000:]
        assert "first" in outcome.message and "8" in outcome.message and "9" in outcome.message


def unused_on_one_rank(rank):
    casync.tensorflow.init(codec="none", timeout=10)
    a, b = tensorflow.Variable(tensorflow.ones(10), name="a"), tensorflow.Variable(tensorflow.ones(10), name="b")
    for _ in range(3):
        with tensorflow.GradientTape() as tape:
            loss = tensorflow.reduce_sum(a) + (tensorflow.reduce_sum(b) if rank == 0 else 0)
        casync.tensorflow.DistributedGradientTape(tape).gradient(loss, [a, b])


def test_a_gradient_that_one_rank_does_not_have_is_named():
    first, second = ranks.outcomes(__file__, "unused_on_one_rank", 2)
    known = ("InvalidArgumentError", "DeadlineExceededError", "UnavailableError")
    assert first.error in known and second.error in known, first.stderr[-3000:] + second.stderr[-3000:]
    assert "casync: b: " in first.message and "rank 1" in first.message, first.message


def submit_twice(rank):
    """By the operations themselves: the tape refuses it earlier."""
    session = casync.tensorflow.init(codec="none")
    gradient = session.declare("weight", [4])
    operations = casync.tensorflow.session.operations()

    @tensorflow.function
    def step(value):
        token = operations.casync_begin_step(session=session.number)
        both = [
            operations.casync_all_reduce(v, token, session=session.number, gradient=gradient, tensor_name="weight")
            for v in (value, value * 2)
        ]
        return operations.casync_end_step(both, session=session.number).finite

    step(tensorflow.ones(4))


def test_a_gradient_submitted_twice_in_a_step_is_named():
    outcomes = ranks.outcomes(__file__, "submit_twice", 2)
    assert any("weight" in o.message and "twice" in o.message for o in outcomes), [o.message for o in outcomes]
    assert all(o.error is not None for o in outcomes)


def leave_with_work_in_flight(rank):
    """Rank 1's step waits for rank 0, which never begins one, and its program ends."""
    casync.tensorflow.init(codec="none")
    value = [tensorflow.ones(10)]
    casync.tensorflow.all_reduce(value, ["warm"])
    if rank == 1:
        threading.Thread(target=lambda: casync.tensorflow.all_reduce(value, ["warm"]), daemon=True).start()
        time.sleep(1)
        sys.exit(0)
    time.sleep(2)
    casync.tensorflow.all_reduce(value, ["warm"])


def test_the_interpreter_exits_with_work_in_flight():
    begin = time.time()
    first, second = ranks.outcomes(__file__, "leave_with_work_in_flight", 2)
    assert second.error == "SystemExit" and second.code == 0, (second.code, second.stderr[-3000:])
    assert first.error == "UnavailableError" and "rank 1" in first.message, first.stderr[-3000:]
    assert time.time() - begin < 55


def comes_late(rank):
    casync.exchange.gather([rank])  # both ranks are there
    casync.tensorflow.init(codec="none", timeout=5)
    value = [tensorflow.ones(10)]
    casync.tensorflow.all_reduce(value, ["weight"])
    if rank == 1:
        time.sleep(8)
        return
    casync.tensorflow.all_reduce(value, ["weight"])


def test_a_rank_that_never_comes_is_a_deadline_exceeded_that_names_it_and_the_gradient():
    waiting, _ = ranks.outcomes(__file__, "comes_late", 2)
    assert waiting.error == "DeadlineExceededError", waiting.stderr[-3000:]
    assert "casync: weight: " in waiting.message and "nothing came from rank 1" in waiting.message


def forks(rank):
    """As the workers of keras.utils.PyDataset do."""
    casync.tensorflow.init(codec="none")
    value = [tensorflow.ones(10) * rank]
    casync.tensorflow.all_reduce(value, ["weight"])
    child = os.fork()
    if child == 0:
        try:
            casync.tensorflow.all_reduce(value, ["weight"])
        except casync.InvalidArgument as error:
            os._exit(0 if "cannot be used after a fork" in str(error) else 3)
        os._exit(4)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), float(casync.tensorflow.all_reduce(value, ["weight"])[0][0][0])


def test_a_forked_child_is_refused_and_its_parent_goes_on():
    assert ranks.values(__file__, "forks", 2) == [(0, 0.5)] * 2


def let_go(rank):
    """A graph knows its session by a number, and outlives it."""
    session = casync.tensorflow.Session(codec="none", rank=0, size=1, transport="loopback")
    operations, number, gradient = casync.tensorflow.session.operations(), session.number, session.declare("weight", [4])

    @tensorflow.function
    def step(value):
        token = operations.casync_begin_step(session=number)
        reduced = operations.casync_all_reduce(value, token, session=number, gradient=gradient, tensor_name="weight")
        return reduced, operations.casync_end_step([reduced], session=number).finite

    value = tensorflow.ones(4)
    step(value)
    del session
    while casync._exit._leaving:
        time.sleep(0.01)
    step(value)


def test_a_graph_whose_session_nobody_holds_any_more_says_so():
    (outcome,) = ranks.outcomes(__file__, "let_go", 1)
    assert outcome.error == "AbortedError" and "its session is closed" in outcome.message, outcome.stderr[-3000:]


def old_release(rank):
    tensorflow.version.VERSION = "2.15.1"
    casync.tensorflow.init(codec="none")


def other_interface(rank):
    """A library that was compiled for another version of the C interface."""
    from casync import _library
    from casync.tensorflow import build

    build.plugin().path()
    library = _library.load()

    class Other:
        def __getattr__(self, name):
            return (lambda: 999) if name == "casync_abi_version" else getattr(library, name)

    _library.load = lambda: Other()
    casync.tensorflow.init(codec="none")


def no_compiler(rank):
    casync.tensorflow.init(codec="none")


def test_wrong_versions_and_no_compiler_say_what_to_do(tmp_path):
    (outcome,) = ranks.outcomes(__file__, "old_release", 1)
    assert outcome.error == "Unavailable" and "2.15.1" in outcome.message and "2.16" in outcome.message
    (outcome,) = ranks.outcomes(__file__, "other_interface", 1)
    assert outcome.error == "Unavailable" and "999" in outcome.message, outcome.stderr
    (outcome,) = ranks.outcomes(__file__, "no_compiler", 1, env={"CXX": "no-such-compiler", "CASYNC_CACHE_DIR": str(tmp_path / "c")})
    assert outcome.error == "Unavailable" and "g++" in outcome.message, outcome.stderr
