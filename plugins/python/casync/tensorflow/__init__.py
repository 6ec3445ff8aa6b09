# SPDX-License-Identifier: Apache-2.0
"""CaSync under TensorFlow and Keras 3:

    casync.tensorflow.init(codec="int8")
    model.compile(optimizer=casync.tensorflow.DistributedOptimizer(keras.optimizers.Adam()), ...)
    model.fit(..., callbacks=[casync.tensorflow.BroadcastCallback()])
"""

from casync.tensorflow.broadcast import broadcast_variables
from casync.tensorflow.callbacks import BroadcastCallback, MetricAverageCallback, ResidualsCallback
from casync.tensorflow.optimizer import DistributedOptimizer
from casync.tensorflow.reduce import all_reduce
from casync.tensorflow.residuals import Residuals
from casync.tensorflow.session import Session, init, local_rank, rank, shutdown, size
from casync.tensorflow.tape import DistributedGradientTape

__all__ = [
    "BroadcastCallback",
    "DistributedGradientTape",
    "DistributedOptimizer",
    "MetricAverageCallback",
    "Residuals",
    "ResidualsCallback",
    "Session",
    "all_reduce",
    "broadcast_variables",
    "init",
    "local_rank",
    "rank",
    "shutdown",
    "size",
]
