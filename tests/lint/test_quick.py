# SPDX-License-Identifier: Apache-2.0
"""tools/quick.py: tests that belong to changed files, and those that fit into the time."""

import pathlib
import sys

import pytest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import quick  # noqa: E402


def test_the_cheapest_tests_run_until_the_time_is_over():
    assert quick.within(10, {"a": 4, "b": 3, "c": 5, "d": 2}) == (["d", "b", "a"], ["c"])
    assert quick.within(0, {"a": 1}) == ([], ["a"])
    assert quick.within(6, {"a": 4, "b": 3, "c": 1}, {"a"}) == (["a", "c"], ["b"])
    assert quick.within(6, {"a": 7, "b": 3}, {"a"}) == (["a"], ["b"])


def test_a_test_belongs_to_its_file_its_program_and_its_helpers():
    own = ["tests/a/x_test.py", "build/dev/bin/program"]
    for changed, belongs in [
        ({"tests/a/x_test.py"}, True),
        ({"tests/a/y_test.py"}, False),  # a test next to it
        ({"tests/a/helper.py"}, True),
        ({"base/status.h"}, True),  # a header of its program
        ({"base/number.h"}, False),
    ]:
        assert quick.belongs("x", own, {"base/status.h", "base/status.cc"}, changed) == belongs, changed


def test_a_test_belongs_to_modules_that_it_loads():
    for file, name, belongs in [
        ("plugins/python/casync/torch/state.py", "casync.torch.ddp", True),
        ("plugins/python/casync/torch/state.py", "casync.mxnet.gluon", False),
        ("plugins/python/casync/session.py", "casync.mxnet.gluon", True),
        ("plugins/python/casync/session.py", "casync.tensorflow.keras", True),
        ("plugins/tensorflow/ops.cc", "casync.tensorflow.keras", True),
        ("plugins/tensorflow/ops.cc", "casync.mxnet.gluon", False),
        ("plugins/python/casync/session.py", "compll.merge", False),
        ("docs/plan.md", "lint.links", True),
    ]:
        assert quick.belongs(name, [], set(), {file}) == belongs, (file, name)


def test_times_of_earlier_runs_are_read(tmp_path):
    folder = tmp_path / "Testing/Temporary"
    folder.mkdir(parents=True)
    (folder / "CTestCostData.txt").write_text("compll.merge 1 33.5\nbase.status 0 0\n---\nfailed.test\n")
    assert quick.known_costs(tmp_path) == {"compll.merge": 33.5}
    assert quick.known_costs(tmp_path / "none") == {}


def test_a_branch_that_is_not_here_is_named():
    with pytest.raises(SystemExit, match=r"no-such-branch.*make quick BASE="):
        quick.changed_files("no-such-branch")
