# SPDX-License-Identifier: Apache-2.0
"""One job of three ranks, one of PyTorch, one of TensorFlow and one of MXNet, each with its own Python and its own plugin:
the same gradients by the same names give the same bytes everywhere.

usage: pytest test_same_bits.py, with CASYNC_VENV_DIR naming the folder of the virtual environments
"""

import contextlib
import os

import numpy
import preloaded
import pytest
import ranks

FRAMEWORKS = ("torch", "tensorflow", "mxnet")
SHAPES = {"embedding.weight": (300, 40), "fc.weight": (64, 33), "fc.bias": (64,), "one": (1,)}
STEPS = 3
IMPORTS = {"torch": ["torch", "torch._dynamo"], "tensorflow": ["tensorflow"], "mxnet": ["mxnet"]}
ENVIRONMENTS = os.environ.get("CASYNC_VENV_DIR", ".venv")


@pytest.fixture(scope="module")
def pythons():
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    with contextlib.ExitStack() as stack:
        yield [
            stack.enter_context(preloaded.Python(f"{ENVIRONMENTS}/{name}/bin/python", IMPORTS[name], environment)).command
            for name in FRAMEWORKS
        ]


def gradients(rank, step):
    random = numpy.random.default_rng([rank, step])
    return {name: random.standard_normal(shape).astype(numpy.float32) for name, shape in SHAPES.items()}


def with_torch(rank):
    """The gradient of sum(p * g) by p is g."""
    import torch

    import casync.torch

    parameters = {name: torch.nn.Parameter(torch.zeros(shape)) for name, shape in SHAPES.items()}
    optimizer = torch.optim.SGD(parameters.values(), lr=0.0)
    optimizer = casync.torch.DistributedOptimizer(optimizer, named_parameters=parameters.items())
    for step in range(STEPS):
        optimizer.zero_grad()
        given = gradients(rank, step)
        sum((parameters[name] * torch.from_numpy(given[name])).sum() for name in SHAPES).backward()
        optimizer.step()
        yield {name: parameter.grad.numpy() for name, parameter in parameters.items()}


def with_tensorflow(rank):
    import tensorflow

    import casync.tensorflow

    casync.tensorflow.init()
    variables = [tensorflow.Variable(tensorflow.zeros(shape), name=name) for name, shape in SHAPES.items()]

    @tensorflow.function
    def reduce(given):
        with tensorflow.GradientTape() as tape:
            loss = tensorflow.add_n([tensorflow.reduce_sum(v * g) for v, g in zip(variables, given)])
        return casync.tensorflow.DistributedGradientTape(tape).gradient(loss, variables)

    for step in range(STEPS):
        reduced = reduce([tensorflow.constant(g) for g in gradients(rank, step).values()])
        yield {name: gradient.numpy() for name, gradient in zip(SHAPES, reduced)}


def with_mxnet(rank):
    import mxnet

    import casync.mxnet  # noqa: F401: registers the store

    parameters = [mxnet.gluon.Parameter(name, shape=shape, init="zeros") for name, shape in SHAPES.items()]
    for parameter in parameters:
        parameter.initialize()
    store = mxnet.kv.create("casync")
    store.broadcast = lambda *_, **__: None  # the other ranks do not take part in a Trainer's
    trainer = mxnet.gluon.Trainer(parameters, "sgd", {"learning_rate": 0.0}, kvstore=store)
    for step in range(STEPS):
        given = gradients(rank, step)
        with mxnet.autograd.record():
            loss = sum((p.data() * mxnet.nd.array(given[p.name])).sum() for p in parameters)
        loss.backward()
        trainer.step(1)
        yield {p.name: p.grad().asnumpy() for p in parameters}


def reduce(rank):
    steps = {"torch": with_torch, "tensorflow": with_tensorflow, "mxnet": with_mxnet}[FRAMEWORKS[rank]]
    return [{name: gradient.tobytes() for name, gradient in step.items()} for step in steps(rank)]


@pytest.mark.parametrize("codec", ["none", "int8", "onebit", "topk:ratio=0.05"])
def test_every_framework_gets_the_same_bytes(pythons, codec):
    given = [gradients(rank, 0) for rank in range(3)]
    answers = ranks.values(__file__, "reduce", 3, env={"CASYNC_CODEC": codec}, pythons=pythons)
    for rank in (1, 2):
        for step in range(STEPS):
            for name in SHAPES:
                assert answers[rank][step][name] == answers[0][step][name], (FRAMEWORKS[rank], step, name)
    if codec == "none":
        for name in SHAPES:
            mean = numpy.frombuffer(answers[0][0][name], numpy.float32).reshape(SHAPES[name])
            numpy.testing.assert_allclose(mean, sum(each[name] for each in given) / 3, rtol=1e-5, atol=1e-6)
