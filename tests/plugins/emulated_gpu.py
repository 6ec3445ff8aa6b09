# SPDX-License-Identifier: Apache-2.0
"""A GPU of one's own program, on the emulated driver that tests/compll/cuda builds: memory and a stream by ctypes.

EMULATED_LIBCUDA names the folder of its libcuda.so.1, which LD_LIBRARY_PATH has to show when a process begins.
"""

import ctypes
import os
import pathlib
import sys

import numpy
import pytest

FOLDER = os.environ.get("EMULATED_LIBCUDA")
NVRTC = next(pathlib.Path(sys.prefix).glob("lib/python*/site-packages/nvidia/*/lib/libnvrtc.so.1[23]"), None)
needed = pytest.mark.skipif(FOLDER is None or NVRTC is None, reason="the emulated driver and NVRTC")


def environment():
    return {"LD_LIBRARY_PATH": FOLDER, "CASYNC_NVRTC": str(NVRTC)}


class Gpu:
    """The first device, its context current on this thread."""

    def __init__(self):
        self._driver = ctypes.CDLL("libcuda.so.1")
        context, self.stream = ctypes.c_void_p(), ctypes.c_void_p()
        self._call("cuInit", 0)
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self._call("cuCtxPushCurrent_v2", context)
        self._call("cuStreamCreateWithPriority", ctypes.byref(self.stream), 1, 0)

    def _call(self, name, *arguments):
        code = getattr(self._driver, name)(*arguments)
        assert code == 0, f"{name}: {code}"

    def array(self, values):
        """The address of a copy of `values` in the device's memory, written by the stream."""
        memory = ctypes.c_uint64()
        self._call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(values.nbytes))
        host = ctypes.c_void_p(values.ctypes.data)
        self._call("cuMemcpyHtoDAsync_v2", memory, host, ctypes.c_size_t(values.nbytes), self.stream)
        return memory.value

    def read(self, address, shape):
        values = numpy.empty(shape, numpy.float32)
        host = ctypes.c_void_p(values.ctypes.data)
        self._call("cuMemcpyDtoHAsync_v2", host, ctypes.c_uint64(address), ctypes.c_size_t(values.nbytes), self.stream)
        self._call("cuStreamSynchronize", self.stream)
        return values
