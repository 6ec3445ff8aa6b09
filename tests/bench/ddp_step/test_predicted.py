# SPDX-License-Identifier: Apache-2.0
"""Predictions of settings that planned.py has kept, by the command itself."""

import os
import pathlib
import shutil
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(HERE))
import predicted  # noqa: E402

CASYNC = os.environ["CASYNC_COMMAND"]
TIMES = {"no-op": [200.0, 210.0, 190.0], "ddp": [900.0], "none": [800.0], "int8": [300.0, 320.0], "planned": [250.0, 260.0]}


@pytest.fixture
def setting(tmp_path):
    """What is kept of a run of two ranks, whose plan is that of one codec."""
    tuned = tmp_path / "tuned"
    (tuned / "record").mkdir(parents=True)
    shutil.copy(ROOT / "examples/profiles/cpu_2_cores_1gbit.txtpb", tuned / "profile.txtpb")
    shutil.copy(ROOT / "examples/models/resnet50.txtpb", tuned / "record/model.txtpb")
    (tuned / "planned.txtpb").write_text('version: 1\ndefault { codec { name: "int8" } }\n')
    where = {"model": "resnet50", "ranks": 2, "nodes": 2, "link": "1gbit"}
    return predicted.keep(tmp_path / "kept", tuned, where, {**TIMES, "plan": TIMES["planned"]})


def test_ways_that_were_measured_more_than_once_are_predicted(setting):
    rows = predicted.rows_of(CASYNC, setting)
    assert [row["plan"] for row in rows] == ["int8", "planned"]
    assert [row["step_median_ms"] for row in rows] == [310.0, 255.0]
    assert {row["training_ms"] for row in rows} == {200.0}


def test_equal_plans_have_equal_predictions_of_more_than_the_training(setting):
    int8, planned = predicted.rows_of(CASYNC, setting)
    assert int8["predicted_ms"] == planned["predicted_ms"] > 195  # the model's own passes
    # 25.6 million bytes of int8, of which each of two ranks sends one half twice.
    assert int8["payload_bytes"] == pytest.approx(25.6e6, rel=0.05)


def test_ranks_of_one_machine_share_its_link(setting):
    where = {"ranks": 4, "nodes": 2}
    apart = predicted.simulate(CASYNC, setting, setting / "planned.txtpb", {"ranks": 4, "nodes": 4})
    assert predicted.simulate(CASYNC, setting, setting / "planned.txtpb", where)["nodes"] == 2 != apart["nodes"]


def test_the_score_names_the_settings_it_is_of(setting):
    text = "\n".join(predicted.lines(predicted.rows_of(CASYNC, setting)))
    assert "| model resnet50 | 2 |" in text and "*the training alone*" in text
    assert predicted.lines([]) == []


@pytest.fixture(scope="module")
def kept():
    """The rows of all days. Recordings of the first day have 12 steps, most others have 20."""
    return [predicted.rows_of_all(CASYNC, archive) for archive in (predicted.KEPT, predicted.AGAIN, predicted.SLOW)]


def test_training_that_shares_its_processors_is_predicted_within_the_bounds(kept):
    """As measured by `planned.py --pinned`."""
    first, again, slow = kept
    rows = [row for row in first if row["ranks"] == 2] + again + slow
    assert {row["ranks"] for row in rows} == {2, 4} and len(rows) > 110
    assert {row["link"] for row in rows} == {"unshaped", "10gbit", "1gbit", "100mbit"}
    assert predicted.score.complaints(rows, median=8.0, share=0.9) == []


def test_short_recordings_make_predictions_worse_where_ranks_share_a_processor(kept):
    """Training alone differs by up to 40 % there between two processes that follow each other."""
    first, *_ = kept
    assert {row["ranks"] for row in first} == {2, 4} and len(first) > 95
    assert predicted.score.complaints(first, median=8.5, share=0.85) == []
