# SPDX-License-Identifier: Apache-2.0
"""One rank of run.py, in TensorFlow."""

import json
import os
import pathlib
import sys
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "ddp_step"))
import keras
import network
import numpy
import session_cost
import tensorflow

import casync.tensorflow

LAYERS, READY_S, WIRE_S = 8, 0.05, 0.05
SMALL, ELEMENTS = 512, 1024
SIDE, BATCH = 5000, 4  # 25 million parameters; samples of a rank


def overlap(rank, rounds):
    casync.tensorflow.init(codec="none")
    elements = int(WIRE_S * 125e6) // 4
    values = [tensorflow.Variable(tensorflow.ones(elements)) for _ in range(LAYERS)]

    def sleep(x):
        time.sleep(READY_S)
        return x

    @tensorflow.function
    def step(awake):  # an argument: TensorFlow would sleep while it optimizes the graph if this were a constant
        gradients = []
        for value in values:
            # Not stateful: TensorFlow would run all of them ahead of the step.
            awake = tensorflow.numpy_function(sleep, [awake], tensorflow.float32, stateful=False)
            with tensorflow.control_dependencies([awake]):
                gradients.append(tensorflow.identity(value))
        reduced, _ = casync.tensorflow.all_reduce(gradients, [f"layer{i}" for i in range(LAYERS)])
        with tensorflow.control_dependencies(reduced):
            return tensorflow.constant(0)

    milliseconds = []
    for _ in range(rounds + 1):
        casync.tensorflow.all_reduce([tensorflow.constant(0.0)], ["start together"])
        begin = time.perf_counter()
        step(tensorflow.zeros(()))
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
    optimizer = casync.tensorflow.DistributedOptimizer(keras.optimizers.SGD(1e-3))
    return seconds_of_fit(model_with(optimizer), rounds, [casync.tensorflow.BroadcastCallback()])


def beside(rank, rounds):
    """A loop over the same layer, as `own`, over CaSync."""
    casync.tensorflow.init()

    def mean(gradient):
        return casync.tensorflow.all_reduce([gradient], ["weight"])[0][0]

    step = step_over(tensorflow.Variable(tensorflow.zeros((SIDE, SIDE))), mean)
    return seconds_of(tensorflow.function(step), rounds)


def own(rank, rounds):
    """The same loop as TensorFlow spreads it over the hosts of network.py. Keras 3 cannot be fitted in this strategy."""
    workers = [f"{address}:29478" for address in network.ADDRESSES]
    os.environ["TF_CONFIG"] = json.dumps({"cluster": {"worker": workers}, "task": {"type": "worker", "index": rank}})
    strategy = tensorflow.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        weight = tensorflow.Variable(tensorflow.zeros((SIDE, SIDE)))

    def mean(gradient):
        return tensorflow.distribute.get_replica_context().all_reduce(tensorflow.distribute.ReduceOp.MEAN, gradient)

    return seconds_of(tensorflow.function(lambda: strategy.run(step_over(weight, mean))), rounds)


def step_over(weight, mean):
    """One step of a layer without bias, whose gradient goes through `mean`."""

    def step():
        x = tensorflow.ones((BATCH, SIDE))
        with tensorflow.GradientTape() as tape:
            loss = tensorflow.reduce_mean(tensorflow.square(x @ weight - x))
        weight.assign_sub(1e-3 * mean(tape.gradient(loss, weight)))
        return tensorflow.reduce_sum(weight[0])

    return step


def seconds_of(step, rounds):
    """Of each step but the first two."""
    seconds = []
    for _ in range(rounds + 2):
        begin = time.perf_counter()
        float(tensorflow.convert_to_tensor(step()))
        seconds.append(time.perf_counter() - begin)
    return seconds[2:]


def model_with(optimizer):
    model = keras.Sequential([keras.layers.Input((SIDE,)), keras.layers.Dense(SIDE, use_bias=False)])
    model.compile(optimizer=optimizer, loss="mse")
    return model


def seconds_of_fit(model, rounds, callbacks):
    """Of each step but the first two."""
    seconds = []

    class Clock(keras.callbacks.Callback):
        def on_train_batch_begin(self, step, logs=None):
            self.begin = time.perf_counter()

        def on_train_batch_end(self, step, logs=None):
            seconds.append(time.perf_counter() - self.begin)

    x = numpy.ones((BATCH * (rounds + 2), SIDE), numpy.float32)
    model.fit(x, x, batch_size=BATCH, verbose=0, callbacks=[*callbacks, Clock()])
    return seconds[2:]
