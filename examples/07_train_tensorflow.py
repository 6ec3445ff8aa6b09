# SPDX-License-Identifier: Apache-2.0
"""Trains a small classifier in a TensorFlow loop of one's own, its gradients synchronized by CaSync in 8 bits.

    casync run -n 2 -- python examples/07_train_tensorflow.py
"""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import tensorflow as tf

import casync.tensorflow

STEPS, BATCH = 120, 128  # points of all ranks together


def batch(generator, count=BATCH):
    """Points in the plane, and whether they are inside a ring."""
    points = generator.uniform((count, 2), -2, 2)
    radius = tf.norm(points, axis=1)
    return points, tf.cast((radius > 0.8) & (radius < 1.6), tf.int32)


class Net(tf.Module):
    def __init__(self, sizes=(2, 64, 64, 2)):
        super().__init__()
        shapes = list(zip(sizes, sizes[1:]))
        self.weights = [tf.Variable(tf.random.normal(s) / s[0] ** 0.5, name=f"weight{i}") for i, s in enumerate(shapes)]
        self.biases = [tf.Variable(tf.zeros(s[1]), name=f"bias{i}") for i, s in enumerate(shapes)]

    def __call__(self, x):
        for weight, bias in zip(self.weights[:-1], self.biases[:-1]):
            x = tf.nn.relu(x @ weight + bias)
        return x @ self.weights[-1] + self.biases[-1]


def main():
    casync.tensorflow.init(codec=os.environ.get("CODEC", "int8"))
    rank, size = casync.tensorflow.rank(), casync.tensorflow.size()
    tf.random.set_seed(0)
    net = Net()
    casync.tensorflow.broadcast_variables(net.trainable_variables)  # the same start on every rank
    velocities = [tf.Variable(tf.zeros_like(v)) for v in net.trainable_variables]

    @tf.function
    def step(points, inside):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(inside, net(points)))
        # The average over all ranks, each gradient on its way as soon as it is there.
        tape = casync.tensorflow.DistributedGradientTape(tape)
        gradients = tape.gradient(loss, net.trainable_variables)
        if tape.finite:  # the same answer on all ranks
            for gradient, velocity, variable in zip(gradients, velocities, net.trainable_variables):
                velocity.assign(0.9 * velocity + gradient)
                variable.assign_sub(0.1 * velocity)
        return loss

    generator = tf.random.Generator.from_seed(1)
    for _ in range(STEPS):
        step(*(whole[rank::size] for whole in batch(generator)))  # this rank's part

    points, inside = batch(tf.random.Generator.from_seed(99), 2000)
    accuracy = float(tf.reduce_mean(tf.cast(tf.argmax(net(points), 1, tf.int32) == inside, tf.float32)))
    if rank == 0:
        print(f"accuracy {accuracy:.3f} after {STEPS} steps")
    casync.tensorflow.shutdown()
    return 0 if accuracy > 0.8 else 1


if __name__ == "__main__":
    raise SystemExit(main())
