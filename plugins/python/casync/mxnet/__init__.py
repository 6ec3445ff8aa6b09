# SPDX-License-Identifier: Apache-2.0
"""CaSync under MXNet's gluon:

    store = casync.mxnet.create(codec="int8")     # or mxnet.kv.create("casync")
    trainer = gluon.Trainer(net.collect_params(), "adam", kvstore=store)
"""

from casync.mxnet.broadcast import broadcast_parameters
from casync.mxnet.store import CaSync, create

__all__ = ["CaSync", "broadcast_parameters", "create"]
