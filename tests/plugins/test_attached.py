# SPDX-License-Identifier: Apache-2.0
"""Sessions that native operations of a framework submit to, and an operation that does not end. The operations are
those of stuck_plugin.cc, compiled as those of a framework are."""

import ctypes
import gc
import pathlib
import time

import numpy
import pytest

import casync
from casync import _exit, _library, native
from casync.attached import AttachedSession

LIMIT_S = 2.0


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    source = pathlib.Path(__file__).with_name("stuck_plugin.cc")
    plugin = native.Plugin("stuck", "1", [source], [], [], [])
    _library.load()  # the plugin's library needs it, and the loader takes the one that is there
    loaded = native.load(str(plugin.build(tmp_path_factory.mktemp("stuck"))))
    loaded.casync_plugin_stuck_reduce.argtypes = [ctypes.c_int, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t]
    return loaded


class Frees:
    """libcasync.so, with the sessions noted that are freed."""

    def __init__(self):
        self._library, self.freed = _library.load(), []

    def casync_session_free(self, pointer):
        self.freed.append(pointer.value)
        self._library.casync_session_free(pointer)

    def __getattr__(self, name):
        return getattr(self._library, name)


def test_an_operation_that_does_not_end_is_a_timeout_of_close_and_its_session_is_never_freed(library, monkeypatch, capfd):
    frees = Frees()
    monkeypatch.setattr(_library, "load", lambda: frees)
    ended = AttachedSession(library, quiet=True, rank=0, size=1, codec="none", transport="loopback", timeout=LIMIT_S)
    ended.close()
    address = ended.address
    del ended
    gc.collect()
    assert frees.freed == [address]

    session = AttachedSession(library, quiet=True, rank=0, size=1, codec="none", transport="loopback", timeout=LIMIT_S)
    values = numpy.ones(100, numpy.float32)
    weight = session.declare("weight", values.shape)
    assert library.casync_plugin_stuck_reduce(session.number, weight, values.ctypes.data, values.nbytes) == 0
    assert session.busy
    start = time.monotonic()
    with pytest.raises(casync.errors.Timeout, match="1 gradients and 0 calls are still under way 2 s after the session"):
        session.close()
    assert LIMIT_S < time.monotonic() - start < 3 * LIMIT_S + 5
    with pytest.raises(casync.errors.Error):
        session.number
    kept, start = len(_exit._in_use), time.monotonic()
    del session
    gc.collect()
    assert time.monotonic() - start < LIMIT_S  # it has waited as long as it may
    assert frees.freed == [address]
    assert len(_exit._in_use) == kept + 1
    assert "casync: 1 gradients and 0 calls are still under way" in capfd.readouterr().err
    library.casync_plugin_stuck_let_go()  # its thread comes back to the session, which is there
