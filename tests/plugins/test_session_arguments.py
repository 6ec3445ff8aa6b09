# SPDX-License-Identifier: Apache-2.0
"""Arguments of casync.Session, and those that are refused: arrays, names, numbers, time limits, a store's answers."""

import time

import numpy
import pytest

import casync
from casync import launch
from casync.synchronizer import Synchronizer

BAD_ARRAYS = {
    "dtype": (numpy.ones(6), "float64"),
    "contiguous": (numpy.ones((6, 2), numpy.float32)[:, 0], "not contiguous"),
    "shape": (numpy.ones(7, numpy.float32), r"\(7,\)"),
    "type": ([1.0] * 6, "list"),
    "order": (numpy.ones(6, ">f4"), ">f4"),
    "read-only": (numpy.frombuffer(bytes(24), numpy.float32), "read-only"),
}


@pytest.mark.parametrize("case", BAD_ARRAYS)
def test_an_array_that_cannot_be_the_gradient_is_refused_by_name(alone, case):
    array, why = BAD_ARRAYS[case]
    with pytest.raises(casync.InvalidArgument, match=f"gradient fc: .*{why}"):
        alone.submit(alone.declare("fc", 6), array)


def test_a_name_is_not_cut(alone):
    alone.declare("fc", 6)
    with pytest.raises(casync.InvalidArgument, match="which has a NUL"):
        alone.declare("fc\0weight", 6)
    with pytest.raises(casync.InvalidArgument, match=r"'fc\\udcff', which is not UTF-8"):
        alone.declare("fc\udcff", 6)


WRONG_NUMBERS = {
    "extent of 64 bits and more": (dict(shape=(2**64 + 6,)), r"shape \(18446744073709551622,\) has over 2\^32 elements"),
    "extent that is not whole": (dict(shape=(6.7,)), "an extent of 6.7, expected a whole number"),
    "priority of 33 bits": (dict(shape=6, priority=2**31), "priority 2147483648, expected -2147483648 to 2147483647"),
    "priority below": (dict(shape=6, priority=-(2**31) - 1), "priority -2147483649, expected"),
    "priority that is not whole": (dict(shape=6, priority=0.5), "priority 0.5, expected a whole number"),
}


@pytest.mark.parametrize("case", WRONG_NUMBERS)
def test_a_number_that_c_would_take_for_another_is_refused_by_the_gradient_s_name(alone, case):
    arguments, why = WRONG_NUMBERS[case]
    with pytest.raises(casync.InvalidArgument, match=f"gradient fc: {why}"):
        alone.declare("fc", **arguments)
    assert alone.declare("fc", numpy.int64(6), priority=numpy.int32(-7)) == alone.declare("fc", (6,), priority=-7)


@pytest.mark.parametrize("value", ["abc", "0", "-1", "nan", "1e9"])
def test_a_timeout_that_cannot_be_is_refused_with_variable_value_and_range(monkeypatch, value):
    monkeypatch.setenv("CASYNC_TIMEOUT_SEC", value)
    with pytest.raises(casync.InvalidArgument, match=f"CASYNC_TIMEOUT_SEC.*{value}.*0.001.*1000000"):
        casync.Session(rank=0, size=1)


def test_a_timeout_that_is_no_number_is_refused():
    with pytest.raises(casync.InvalidArgument, match="'soon'"):
        casync.Session(rank=0, size=1, timeout="soon")


@pytest.mark.parametrize("device", [None, "", "cpu"])
def test_a_session_without_a_device_takes_arrays(device):
    with casync.Session(rank=0, size=1, device=device) as session:
        session.submit(session.declare("fc", 6), numpy.ones(6, numpy.float32))
        assert session.step()


@pytest.mark.parametrize("name", ["rank", "size"])
def test_a_place_of_more_bits_than_c_has_is_refused(name):
    with pytest.raises(casync.InvalidArgument, match=rf"{name} is 4294967297, expected less than 2\^31"):
        casync.Session(**{"rank": 0, "size": 1, name: 2**32 + 1})


@pytest.mark.parametrize("name", ["codec", "device", "op", "plan", "rendezvous", "token", "trace", "transport"])
def test_a_text_that_c_would_cut_is_refused_by_its_argument_and_a_token_is_not_shown(name):
    with pytest.raises(casync.InvalidArgument, match=f"^{name} (is 'a secret|has a NUL)") as refused:
        casync.Session(rank=0, size=1, **{name: "a secret\0"})
    assert ("secret" in str(refused.value)) == (name != "token")


def test_an_id_that_was_never_declared_is_refused_by_its_number_and_nothing_is_started():
    seam = Synchronizer(rank=0, size=1, codec="none")
    weight = seam.declare("weight", (4,))
    array = numpy.ones(4, numpy.float32)
    for submit in (
        lambda: seam.submit([weight, 77], [array.ctypes.data] * 2, array),
        lambda: seam.submit_bucket([77, weight], array.ctypes.data, array),
        lambda: seam.name_of(77),
        lambda: seam.session.bytes_of(77),
    ):
        with pytest.raises(casync.InvalidArgument, match="gradient id 77 was never declared in this session"):
            submit()
        assert seam.missing() == [weight]
    seam.submit([weight], [array.ctypes.data], array)
    assert seam.end_step().finite
    seam.close()


class BadStore:
    """Gives `value`, or raises it."""

    rank, size = 1, 2

    def __init__(self, value):
        self.value, self.asked = value, 0

    def set(self, key, value):
        pass

    def get(self, key, seconds):
        self.asked += 1
        if isinstance(self.value, BaseException):
            raise self.value
        return self.value


@pytest.mark.parametrize(
    "value,error,why",
    [
        ("text", casync.InvalidArgument, r"the store's get\('casync.rank0'\) gave a str, expected bytes"),
        (None, casync.InvalidArgument, "gave a NoneType, expected bytes"),
        (SystemExit("the store is gone"), SystemExit, "the store is gone"),
        (KeyError("no such key"), KeyError, "no such key"),
    ],
    ids=["text", "nothing", "exit", "raises"],
)
def test_a_store_whose_answer_cannot_be_used_is_asked_no_more_and_is_the_cause_that_is_raised(value, error, why):
    store = BadStore(value)
    with pytest.raises(error, match=why):
        casync.Session(store=store, timeout=2)
    assert store.asked == 1


def test_a_store_that_has_no_value_yet_is_asked_again():
    store = BadStore(TimeoutError("not yet"))
    with pytest.raises(casync.Timeout, match="rank 0 of 2 did not come within"):
        casync.Session(store=store, timeout=1)
    assert store.asked > 1


class StoreOfTorch:
    """Raises RuntimeError, as a FileStore of torch does: after the time limit, or at once."""

    def __init__(self, waits):
        self.waits = waits

    def wait(self, keys, limit):
        if self.waits:
            time.sleep(limit.total_seconds())
        raise RuntimeError("no value")


def test_a_time_limit_of_torch_s_store_is_told_from_its_failure():
    with pytest.raises(TimeoutError, match="key did not come within 0.1 s: no value"):
        launch.TorchStore(StoreOfTorch(waits=True), 1, 2).get("key", 0.1)
    with pytest.raises(RuntimeError, match="^no value$"):
        launch.TorchStore(StoreOfTorch(waits=False), 1, 2).get("key", 60)
