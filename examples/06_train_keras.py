# SPDX-License-Identifier: Apache-2.0
"""Trains a small classifier with Keras' model.fit, its gradients synchronized by CaSync in 8 bits.

    casync run -n 2 -- python examples/06_train_keras.py
"""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import keras
import numpy

import casync.tensorflow

EPOCHS, BATCH = 6, 128  # points of all ranks together


def points_in_the_plane(seed, count):
    """Points, and whether they are inside a ring."""
    points = numpy.random.default_rng(seed).uniform(-2, 2, (count, 2)).astype("float32")
    radius = numpy.linalg.norm(points, axis=1)
    return points, ((radius > 0.8) & (radius < 1.6)).astype("int32")


def main():
    casync.tensorflow.init(codec=os.environ.get("CODEC", "int8"))
    rank, size = casync.tensorflow.rank(), casync.tensorflow.size()
    keras.utils.set_random_seed(0)
    hidden = [keras.layers.Dense(64, activation="relu") for _ in range(2)]
    model = keras.Sequential([keras.layers.Input((2,)), *hidden, keras.layers.Dense(2)])

    # Averages the gradients of all ranks, then applies them.
    optimizer = casync.tensorflow.DistributedOptimizer(keras.optimizers.AdamW(1e-2))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer=optimizer, loss=loss, metrics=["accuracy"])

    points, inside = (whole[rank::size] for whole in points_in_the_plane(1, 2560))  # this rank's part
    model.fit(
        points, inside, batch_size=BATCH // size, epochs=EPOCHS, shuffle=False, verbose=0,
        callbacks=[
            casync.tensorflow.BroadcastCallback(),      # the same start on every rank
            casync.tensorflow.MetricAverageCallback(),  # the same logs, too
        ],
    )  # fmt: skip

    accuracy = model.evaluate(*points_in_the_plane(99, 2000), verbose=0)[1]
    if rank == 0:
        print(f"accuracy {accuracy:.3f} after {EPOCHS} epochs")
    casync.tensorflow.shutdown()
    return 0 if accuracy > 0.8 else 1


if __name__ == "__main__":
    raise SystemExit(main())
