# SPDX-License-Identifier: Apache-2.0
"""One rank of run.py, in MXNet."""

import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import mxnet
import session_cost
from mxnet import autograd, gluon

import casync.mxnet

LAYERS, READY_S, WIRE_S = 8, 0.05, 0.05
SMALL, ELEMENTS = 512, 1024


def overlap(rank, rounds):
    store = casync.mxnet.create(codec="none")
    elements = int(WIRE_S * 125e6) // 4
    gradients = [mxnet.nd.ones((elements,)) for _ in range(LAYERS)]
    start = mxnet.nd.zeros((1,))
    for i, gradient in enumerate([*gradients, start]):
        store._declare(i, f"layer{i}", gradient, i)
    milliseconds = []
    for _ in range(rounds + 1):
        store.pushpull(LAYERS, start)
        store.end_step()
        mxnet.nd.waitall()
        begin = time.perf_counter()
        for i, gradient in enumerate(gradients):
            time.sleep(READY_S)
            store.pushpull(i, gradient, priority=-i)
        store.end_step()
        mxnet.nd.waitall()
        milliseconds.append((time.perf_counter() - begin) * 1e3)
    return milliseconds[1:]


def cost(rank, rounds):
    """us per gradient: of reductions pushed to the engine, until all are done, less the same of an addition."""
    store = casync.mxnet.create(codec="none", rank=0, size=1, transport="loopback")
    gradients = [mxnet.nd.ones((ELEMENTS,)) for _ in range(SMALL)]

    def reduce():
        for i, gradient in enumerate(gradients):
            store.pushpull(i, gradient, priority=-i)
        store.end_step()
        mxnet.nd.waitall()

    seconds = []
    for _ in range(10 * rounds):
        begin = time.perf_counter()
        reduce()
        seconds.append(time.perf_counter() - begin)
    return min(seconds) / SMALL * 1e6, session_cost.least_us(store.session, SMALL, ELEMENTS, 10 * rounds)


def training(rank, rounds):
    return seconds_of_gluon(mxnet.kv.create("casync"), rounds)


beside = training


def own(rank, rounds):
    """The same training over MXNet's own servers, which run.py has started."""
    return seconds_of_gluon(mxnet.kv.create("dist_sync"), rounds)


def seconds_of_gluon(store, rounds):
    """Of each step but the first two."""
    side = 5000  # 25 million parameters
    net = gluon.nn.Dense(side, use_bias=False, in_units=side)
    net.initialize()
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1e-3}, kvstore=store)
    x, loss_of = mxnet.nd.ones((4, side)), gluon.loss.L2Loss()
    seconds = []
    for _ in range(rounds + 2):
        begin = time.perf_counter()
        with autograd.record():
            loss = loss_of(net(x), x)
        loss.backward()
        trainer.step(4)
        mxnet.nd.waitall()
        seconds.append(time.perf_counter() - begin)
    return seconds[2:]
