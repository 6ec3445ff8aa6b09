# SPDX-License-Identifier: Apache-2.0
"""Compiles the operations of MXNet's engine against the installed MXNet: python -m casync.mxnet.build [FOLDER]

Without a folder into the cache, where the first use would put them, too. Prints the library's path."""

from __future__ import annotations

import functools
import pathlib
import sys

import mxnet

from casync import errors, native

_RELEASE = "1.9."
# MXNet's headers ask for libraries that its wheel has inside.
_FLAGS = [f"-D{name}=0" for name in ("MSHADOW_USE_MKL", "MSHADOW_USE_CBLAS", "MSHADOW_USE_CUDA", "MSHADOW_USE_F16C", "MXNET_USE_MKLDNN")]


@functools.lru_cache(maxsize=None)
def plugin() -> native.Plugin:
    if not mxnet.__version__.startswith(_RELEASE):
        raise errors.Unavailable(f"casync.mxnet needs MXNet {_RELEASE}x, and this is {mxnet.__version__}")
    library = pathlib.Path(mxnet.libinfo.find_lib_path()[0])
    include = mxnet.libinfo.find_include_path()
    return native.Plugin(
        "mxnet", mxnet.__version__, ["plugins/mxnet/engine.cc"], [include], _FLAGS,
        [f"-L{library.parent}", f"-l:{library.name}"],
    )  # fmt: skip


if __name__ == "__main__":
    print(plugin().build(*sys.argv[1:2]))
