# SPDX-License-Identifier: Apache-2.0
"""Trains a small classifier with MXNet's gluon, its gradients synchronized by CaSync in 8 bits.

    casync run -n 2 -- python examples/08_train_gluon.py
"""

import os

import mxnet as mx
import numpy
from mxnet import autograd, gluon

import casync.mxnet

STEPS, BATCH = 120, 128  # points of all ranks together


def batch(random, count=BATCH):
    """Points in the plane, and whether they are inside a ring."""
    points = random.uniform(-2, 2, (count, 2)).astype("float32")
    radius = numpy.linalg.norm(points, axis=1)
    return mx.nd.array(points), mx.nd.array((radius > 0.8) & (radius < 1.6))


def main():
    mx.random.seed(0)
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(64, "relu"), gluon.nn.Dense(64, "relu"), gluon.nn.Dense(2))
    net.initialize(mx.init.Xavier())
    net.hybridize()

    # The store gives all ranks the same start, and averages the gradients of all of them.
    store = casync.mxnet.create(codec=os.environ.get("CODEC", "int8"))
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 1e-2}, kvstore=store)

    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    random = numpy.random.default_rng(1)
    for _ in range(STEPS):
        points, inside = (whole[store.rank :: store.num_workers] for whole in batch(random))
        with autograd.record():
            loss = loss_of(net(points), inside)
        loss.backward()
        trainer.allreduce_grads()
        if store.finite:  # the same answer on all ranks
            trainer.update(len(points))  # this rank's batch: the gradients are averages over the ranks

    points, inside = batch(numpy.random.default_rng(99), 2000)
    accuracy = float((net(points).argmax(axis=1) == inside).mean().asscalar())
    if store.rank == 0:
        print(f"accuracy {accuracy:.3f} after {STEPS} steps")
    store.close()
    return 0 if accuracy > 0.8 else 1


if __name__ == "__main__":
    raise SystemExit(main())
