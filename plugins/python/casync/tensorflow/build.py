# SPDX-License-Identifier: Apache-2.0
"""Compiles TensorFlow's operations against the installed TensorFlow: python -m casync.tensorflow.build [FOLDER]

Without a folder into the cache, where the first use would put them, too. Prints the library's path."""

from __future__ import annotations

import functools
import sys

import tensorflow

from casync import errors, native

# Releases that the tests run with. Kernels are compiled against the one that is installed.
OLDEST = (2, 16)


@functools.lru_cache(maxsize=None)
def plugin() -> native.Plugin:
    version = tensorflow.version.VERSION
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST:
        raise errors.Unavailable(
            f"casync.tensorflow needs TensorFlow {OLDEST[0]}.{OLDEST[1]} or newer, with Keras 3, and this is {version}"
        )
    flags = tensorflow.sysconfig.get_compile_flags()
    return native.Plugin(
        "tensorflow",
        version,
        ["plugins/tensorflow/ops.cc"],
        [flag[2:] for flag in flags if flag.startswith("-I")],
        # Our own standard comes first, and TensorFlow's overrides it.
        [flag for flag in flags if not flag.startswith("-I")],
        tensorflow.sysconfig.get_link_flags(),
    )


if __name__ == "__main__":
    print(plugin().build(*sys.argv[1:2]))
