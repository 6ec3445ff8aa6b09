# SPDX-License-Identifier: Apache-2.0
"""One rank of run.py, in TensorFlow."""

import os
import pathlib
import sys
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import keras
import numpy
import session_cost
import tensorflow

import casync.tensorflow

LAYERS, READY_S, WIRE_S = 8, 0.05, 0.05
SMALL, ELEMENTS = 512, 1024


def overlap(rank, rounds):
    casync.tensorflow.init(codec="none")
    elements = int(WIRE_S * 125e6) // 4
    values = [tensorflow.Variable(tensorflow.ones(elements)) for _ in range(LAYERS)]

    @tensorflow.function
    def step():
        ready, gradients, asleep = [], [], []
        for value in values:
            with tensorflow.control_dependencies(asleep):
                asleep = [tensorflow.py_function(lambda: time.sleep(READY_S), [], [])]
            with tensorflow.control_dependencies(asleep):
                gradients.append(tensorflow.identity(value))
        reduced, _ = casync.tensorflow.all_reduce(gradients, [f"layer{i}" for i in range(LAYERS)])
        with tensorflow.control_dependencies(reduced):
            return tensorflow.constant(0)

    milliseconds = []
    for _ in range(rounds + 1):
        casync.tensorflow.all_reduce([tensorflow.constant(0.0)], ["start together"])
        begin = time.perf_counter()
        step()
        milliseconds.append((time.perf_counter() - begin) * 1e3)
    return milliseconds[1:]


def cost(rank, rounds):
    """us per gradient: of a graph of reductions, less the same graph without them."""
    session = casync.tensorflow.init(codec="none", rank=0, size=1, transport="loopback")
    values = [tensorflow.Variable(tensorflow.ones(ELEMENTS)) for _ in range(SMALL)]
    names = [f"small {i}" for i in range(SMALL)]

    @tensorflow.function
    def reduce():
        return tensorflow.add_n([g[0] for g in casync.tensorflow.all_reduce([v * 2 for v in values], names)[0]])

    @tensorflow.function
    def without():
        return tensorflow.add_n([g[0] for g in [v * 2 for v in values]])

    def least(function):
        seconds = []
        for _ in range(10 * rounds):
            begin = time.perf_counter()
            function()
            seconds.append(time.perf_counter() - begin)
        return min(seconds) / SMALL * 1e6

    return least(reduce) - least(without), session_cost.least_us(session, SMALL, ELEMENTS, 10 * rounds)


def training(rank, rounds):
    casync.tensorflow.init()
    side = 5000  # 25 million parameters
    model = keras.Sequential([keras.layers.Input((side,)), keras.layers.Dense(side, use_bias=False)])
    model.compile(optimizer=casync.tensorflow.DistributedOptimizer(keras.optimizers.SGD(1e-3)), loss="mse")
    seconds = []

    class Clock(keras.callbacks.Callback):
        def on_train_batch_begin(self, step, logs=None):
            self.begin = time.perf_counter()

        def on_train_batch_end(self, step, logs=None):
            seconds.append(time.perf_counter() - self.begin)

    x = numpy.ones((4 * (rounds + 2), side), numpy.float32)
    model.fit(x, x, batch_size=4, verbose=0, callbacks=[casync.tensorflow.BroadcastCallback(), Clock()])
    return seconds[2:]
