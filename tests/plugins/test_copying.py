# SPDX-License-Identifier: Apache-2.0
"""casync.copying.CopySession with real ranks: bytes that go from rank to rank as they are, and sums."""

import numpy
import pytest
import ranks

import casync
from casync import exchange
from casync.copying import CopySession


def copied(rank):
    """Bytes that no sum leaves as they are, from one rank and from all, beside a sum, in one session and step after step."""
    own = numpy.full(6, 0x7F800001 + rank, numpy.uint32)
    with CopySession() as session:
        for _ in range(3):
            one, all_ = own.copy(), numpy.zeros((session.size, 6), numpy.uint32)
            all_[session.rank] = own
            ids = [session.declare_copied("one", one.nbytes, 1), session.declare_copied("all", all_.nbytes)]
            total = numpy.full(100_000, session.rank + 0.5, numpy.float16)
            session.submit_memory(ids, [one.ctypes.data, all_.ctypes.data], [one.nbytes, all_.nbytes], (one, all_))
            session.submit(session.declare("total", total.size, "float16"), total)
            session.end_submissions()
            assert session.step() and (total == 8).all()
        with pytest.raises(casync.InvalidArgument, match="6 elements are not 4 equal shards"):
            session.declare_copied("uneven", 24)
        for root in (4, -1, 2**32):  # C says -1 for no root, and has 32 bits
            with pytest.raises(casync.InvalidArgument, match=f"root is {root}: the ranks are 0 to 3"):
                session.declare_copied("root", 24, root)
        with pytest.raises(casync.InvalidArgument, match="7 bytes, expected a multiple of 4"):
            session.declare_copied("bytes", 7, 0)
        for nbytes in (-4, 2**64 + 24):
            with pytest.raises(casync.InvalidArgument, match="gradient wide: shape"):
                session.declare_copied("wide", nbytes, 0)
        with pytest.raises(casync.InvalidArgument, match="which has a NUL"):
            session.declare_copied("one\0", 24, 0)
    return one.tolist(), all_[:, 0].tolist()


def test_a_session_of_copies_gives_every_rank_the_same_bytes(tmp_path):
    """Nor does it count as steps of the training, or write its record and trace."""
    env = {"CASYNC_STEPS": "1", "CASYNC_RECORD": str(tmp_path / "record"), "CASYNC_TRACE": str(tmp_path / "trace")}
    for one, first in ranks.values(__file__, "copied", 4, env=env):
        assert one == [0x7F800002] * 6 and first == [0x7F800001 + rank for rank in range(4)]
    assert not list(tmp_path.glob("*/*"))


@pytest.mark.parametrize(
    "array,why",
    [
        (numpy.frombuffer(bytes(8)), "is read-only, and is written in place"),
        (numpy.array([None]), "is of objects"),
        ([1.0], "is a list, not a numpy array"),
    ],
    ids=["read-only", "objects", "list"],
)
def test_an_array_that_cannot_be_exchanged_is_refused_by_its_name(array, why):
    with pytest.raises(casync.InvalidArgument, match=f"array w {why}"):
        exchange.broadcast({"w": array}, rank=0, size=1)
