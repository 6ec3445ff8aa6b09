# SPDX-License-Identifier: Apache-2.0
"""Ranks of a test (ranks.py, forked.py)."""

import pytest
import ranks

SLOW = """
import time
import casync

time.sleep(5)


def meet(rank):
    with casync.Session() as session:
        return session.rank
"""


def test_ranks_of_a_file_that_takes_long_to_import_begin_together(tmp_path):
    (tmp_path / "slow.py").write_text(SLOW)
    assert ranks.values(tmp_path / "slow.py", "meet", 2, env={"CASYNC_TIMEOUT_SEC": "4"}) == [0, 1]


def test_a_condition_that_is_never_true_fails_the_test_with_its_name():
    ranks.until(lambda: True, "what is true")
    with pytest.raises(AssertionError, match="the end of time: not within 0 s"):
        ranks.until(lambda: False, "the end of time", seconds=0)
