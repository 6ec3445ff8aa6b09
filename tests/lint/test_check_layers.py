# SPDX-License-Identifier: Apache-2.0
"""tools/check_layers.py on small made-up trees: it refuses what is no arrow, and says where."""
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
from check_layers import check  # noqa: E402

LAYERS = """
base ->                      # a comment
model -> base
planner -> model
planner/io.cc -> proto
runtime -> base
"""


@pytest.fixture
def problems(tmp_path):
    def run(files, layers=LAYERS):
        for name, text in {"cmake/layers.txt": layers, **files}.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return check(tmp_path)

    return run


def test_an_arrow_is_allowed_and_so_is_what_it_reaches(problems):
    assert problems({"planner/a.cc": '#include "planner/a.h"\n#include "model/m.h"\n#include "base/b.h"\n'}) == []


def test_an_include_upwards_is_refused_with_its_line(problems):
    found = problems({"base/b.h": '#pragma once\n#include "model/m.h"\n'})
    assert found == ["base/b.h:2: `model/m.h` (model) is no arrow from base: see cmake/layers.txt"]


def test_an_include_sideways_is_refused(problems):
    assert len(problems({"runtime/r.cc": '#include "planner/a.h"\n'})) == 1


def test_one_file_may_have_arrows_that_its_folder_has_not(problems):
    text = '#include "model/m.h"\n#include "proto/plan.pb.h"\n'
    assert problems({"planner/io.cc": text}) == []
    assert len(problems({"planner/other.cc": text})) == 1


COMMANDS = """
base ->
commands -> base
commands/shared -> commands
commands/* -> commands/shared
tests -> commands/*
"""


def test_folders_of_a_star_may_include_themselves_and_what_it_says(problems):
    text = '#include "commands/plan/deep/p.h"\n#include "commands/shared/s.h"\n#include "commands/c.h"\n'
    assert problems({"commands/plan/command.cc": text, "tests/plan_test.cc": text}, COMMANDS) == []


def test_folders_of_a_star_do_not_include_each_other(problems):
    found = problems({"commands/plan/deep/p.cc": '#include "base/b.h"\n#include "commands/run/r.h"\n'}, COMMANDS)
    assert found == [
        "commands/plan/deep/p.cc:2: `commands/run/r.h` (commands/run) is no arrow from commands/plan: "
        "see cmake/layers.txt"
    ]


@pytest.mark.parametrize("includer", ["commands/shared/s.cc", "commands/c.cc", "base/b.cc"])
def test_nothing_below_includes_a_folder_of_a_star(problems, includer):
    assert len(problems({includer: '#include "commands/run/r.h"\n'}, COMMANDS)) == 1


def test_a_subcommand_of_casync_does_not_include_another_one(problems):
    layers = (Path(__file__).parents[2] / "cmake/layers.txt").read_text()
    allowed = '#include "tools/casync/planning/inputs.h"\n#include "tools/casync/exit_code.h"\n'
    refused = '#include "tools/casync/plan/check.h"\n'
    found = problems({"tools/casync/explain/command.cc": allowed + refused}, layers)
    assert found == [
        "tools/casync/explain/command.cc:3: `tools/casync/plan/check.h` (tools/casync/plan) is no arrow from "
        "tools/casync/explain: see cmake/layers.txt"
    ]


def test_an_include_beside_the_file_is_refused(problems):
    assert "not a path from the repository root" in problems({"base/b.cc": '#include "b.h"\n'})[0]


def test_a_folder_that_is_in_no_layer_is_refused(problems):
    assert problems({"strange/s.cc": ""}) == ["strange/s.cc:1: in no layer of cmake/layers.txt"]


def test_other_peoples_headers_are_no_concern(problems):
    assert problems({"base/b.cc": '#include <vector>\n#include "hwy/highway.h"\n'}) == []


def test_a_line_that_is_no_arrow_is_refused(problems):
    with pytest.raises(SystemExit, match="layers.txt:2: expected `FOLDER -> FOLDER ...`, got `model base`"):
        problems({}, layers="base ->\nmodel base\n")
