# SPDX-License-Identifier: Apache-2.0
"""Failures as a program of MXNet sees them when a rank dies, raises, leaves or differs: an MXNetError with the rank and
the gradient where it waits for an array, and never a hang."""

import os
import signal
import sys
import time

import numpy
import pytest

mxnet = pytest.importorskip("mxnet")
import ranks  # noqa: E402
from mxnet import autograd, gluon  # noqa: E402

import casync.mxnet  # noqa: E402


def training(units=8, codec="none", **options):
    """One step of a small net with each next()."""
    net = gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(gluon.nn.Dense(units, in_units=20), gluon.nn.Dense(2, in_units=units))
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01}, kvstore=casync.mxnet.create(codec=codec, **options))
    x, loss_of = mxnet.nd.ones((2, 20)), gluon.loss.L2Loss()
    while True:
        with autograd.record():
            loss = loss_of(net(x), mxnet.nd.zeros((2, 2)))
        loss.backward()
        trainer.step(2)
        yield loss.asnumpy()


def train_for_ever(rank):
    for step, _ in enumerate(training()):
        if step == 3:
            ranks.mark("running")


def test_kill_9_raises_on_all_others():
    with ranks.Job(__file__, "train_for_ever", 3) as job:
        job.wait_for_files("running")
        job.processes[2].send_signal(signal.SIGKILL)
        killed = time.time()
        outcomes = job.wait()
    for outcome in outcomes[:2]:
        assert outcome.error == "MXNetError", outcome.stderr[-3000:]
        assert "rank 2" in outcome.message and "casync" in outcome.message
        ranks.assert_within(2.0, outcome.raised_at - killed)


def raise_between_steps(rank):
    for step, _ in enumerate(training()):
        if rank == 1 and step == 2:
            raise KeyError("a mistake of rank 1")


def test_an_exception_between_steps_ends_the_other_ranks():
    first, second = ranks.outcomes(__file__, "raise_between_steps", 2)
    assert second.error == "KeyError"
    assert first.error == "MXNetError" and "rank 1" in first.message, first.stderr[-3000:]


def other_nets(rank):
    # Each has its own weights: the Trainer's broadcast meets the difference first, and it names the parameter, too.
    for _ in training(units=(8, 9)[rank]):
        pass


def test_nets_that_differ_are_told_apart_by_the_parameter():
    for outcome in ranks.outcomes(__file__, "other_nets", 2):
        assert outcome.error in ("InvalidArgument", "MXNetError"), outcome.stderr[-3000:]
        assert "net_dense0" in outcome.message


def unused_on_one_rank(rank):
    """Rank 1 has frozen a parameter."""
    store = casync.mxnet.create(codec="none", timeout=10)
    net = gluon.nn.Dense(2, in_units=3, prefix="only_")
    net.initialize()
    if rank == 1:
        net.bias.grad_req = "null"
    trainer = gluon.Trainer(net.collect_params(), "sgd", kvstore=store)
    for _ in range(3):
        with autograd.record():
            loss = net(mxnet.nd.ones((1, 3))).sum()
        loss.backward()
        trainer.step(1)
        for parameter in net.collect_params().values():
            parameter.data().wait_to_read()


def test_a_gradient_that_one_rank_does_not_have_is_named():
    first, second = ranks.outcomes(__file__, "unused_on_one_rank", 2)
    assert first.error == second.error == "MXNetError", first.stderr[-3000:] + second.stderr[-3000:]
    assert "only_bias" in first.message and "rank 1" in first.message, first.message


def leave_with_work_in_flight(rank):
    store = casync.mxnet.create(codec="none")
    gradient = mxnet.nd.ones((10,))
    store.pushpull("g", gradient)
    store.end_step()
    gradient.wait_to_read()
    if rank == 1:
        store.pushpull("g", gradient)
        time.sleep(1)
        sys.exit(0)
    time.sleep(2)
    store.pushpull("g", gradient)
    gradient.wait_to_read()


def test_the_interpreter_exits_with_work_in_flight():
    begin = time.time()
    first, second = ranks.outcomes(__file__, "leave_with_work_in_flight", 2)
    assert second.error == "SystemExit", second.stderr[-3000:]
    assert first.error == "MXNetError" and "rank 1" in first.message, first.stderr[-3000:]
    assert time.time() - begin < 55


def comes_late(rank):
    casync.exchange.gather([rank])  # both ranks are there
    steps = training(timeout=5)
    next(steps)
    mxnet.nd.waitall()
    if rank == 1:
        time.sleep(8)
        return
    next(steps)
    mxnet.nd.waitall()


def test_a_rank_that_never_comes_is_named_with_the_gradient():
    waiting, _ = ranks.outcomes(__file__, "comes_late", 2)
    assert waiting.error == "MXNetError", waiting.stderr[-3000:]
    assert "gradient net_dense" in waiting.message and "nothing came from rank 1" in waiting.message


class Samples(gluon.data.Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, at):
        return numpy.full(20, at, numpy.float32)


def forks(rank):
    """By the workers of gluon's DataLoader, which do not use the store, and then a child that does."""
    steps = training()
    next(steps)
    loaded = [batch.asnumpy()[0, 0] for batch in gluon.data.DataLoader(Samples(), 2, num_workers=2)]
    child = os.fork()
    if child == 0:
        try:
            next(steps)
        except casync.InvalidArgument as error:
            os._exit(0 if "cannot be used after a fork" in str(error) else 3)
        os._exit(4)
    _, status = os.waitpid(child, 0)
    next(steps)
    mxnet.nd.waitall()
    return loaded, os.waitstatus_to_exitcode(status)


def test_a_forked_child_is_refused_and_its_parent_goes_on():
    assert ranks.values(__file__, "forks", 2) == [([0, 2, 4, 6], 0)] * 2


def two_stores(rank):
    """Each with a codec and steps of its own."""
    stores = [casync.mxnet.create(codec=codec) for codec in ("none", "onebit")]
    arrays = [mxnet.nd.arange(1000) * (rank + 1) for _ in stores]
    for store, array in zip(stores, arrays):
        store.pushpull("g", array)
        store.end_step()
    exact, coarse = (len(set(array.asnumpy().tolist())) for array in arrays)
    stores[0].close()
    stores[1].pushpull("g", arrays[1])
    stores[1].end_step()
    arrays[1].wait_to_read()
    return exact, coarse < 100


def test_two_stores_in_one_process():
    assert ranks.values(__file__, "two_stores", 2) == [(1000, True)] * 2


def beside_a_trainer(rank):
    """A number of the program's own in each step of a Trainer."""
    net = gluon.nn.Dense(2, in_units=3, prefix="net_")
    net.initialize()
    store, means = casync.mxnet.create(codec="none"), []
    trainer = gluon.Trainer(net.collect_params(), "sgd", kvstore=store)
    for _ in range(3):
        with autograd.record():
            loss = net(mxnet.nd.ones((1, 3))).sum()
        loss.backward()
        own = mxnet.nd.array([rank])
        store.pushpull("own", own)
        trainer.step(1)
        means.append(own.asnumpy().tolist())
    mxnet.nd.waitall()
    return means, store.session.stats()["steps"]


def test_a_step_ends_with_the_last_gradient_of_the_trainer_also_if_it_has_more():
    assert ranks.values(__file__, "beside_a_trainer", 2) == [([[0.5]] * 3, 3)] * 2


def other_release(rank):
    mxnet.__version__ = "2.0.0"
    casync.mxnet.create(codec="none")


def test_another_release_is_refused():
    (outcome,) = ranks.outcomes(__file__, "other_release", 1)
    assert outcome.error == "Unavailable" and "2.0.0" in outcome.message and "1.9" in outcome.message
