# SPDX-License-Identifier: Apache-2.0
"""Turns of the ways that are compared, and the figures of several rounds."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import run  # noqa: E402


def test_each_way_has_a_turn_in_each_round_there_and_back():
    calls = []

    def measure(way):
        calls.append(way)
        return len(calls)

    assert run.by_turns(["a", "b", "a"], 3, measure) == [[1, 6, 7], [2, 5, 8], [3, 4, 9]]
    assert calls == ["a", "b", "a", "a", "b", "a", "a", "b", "a"]


def test_a_way_that_has_failed_has_no_further_turn():
    calls = []

    def measure(way):
        calls.append(way)
        return [] if way == "bad" else [1]

    assert run.by_turns(["good", "bad"], 3, measure) == [[[1], [1], [1]], [[]]]
    assert calls == ["good", "bad", "good", "good"]


def test_the_median_is_that_of_the_rounds_and_bytes_are_those_of_a_mean_step():
    def result(least, median, steps, sent):
        return {"min_ms": least, "median_ms": median, "steps": steps, "rank_bytes": sent, "link_bytes": 2 * sent}

    first, second = [result(1, 7, 10, 100), result(2, 4, 10, 10)], [result(3, 5, 30, 200), result(1, 6, 30, 10)]
    third = [result(2, 9, 10, 100), result(4, 8, 10, 10)]
    assert run.merged([first, second, third]) == [result(1, 7, 50, 160), result(1, 6, 50, 10)]


def test_a_case_is_that_of_all_rounds_or_the_reason_for_which_one_has_failed(monkeypatch):
    turns = []

    def run_case(model, way, ranks, seconds, timeout):
        turns.append((way, seconds))
        if way == "late" and len(turns) > 2:
            return [], "no result in 5 s"
        one = {"min_ms": 1, "median_ms": len(turns), "steps": 2, "rank_bytes": 0, "link_bytes": 0}
        return [one] * ranks, ""

    class Options:
        ways, rounds, seconds, timeout = ["plain", "late"], 3, 6.0, 5.0

    monkeypatch.setattr(run, "run_case", run_case)
    (good, none), (bad, why) = run.run_cases("small", 2, Options)
    assert turns == [("plain", 2.0), ("late", 2.0), ("late", 2.0), ("plain", 2.0), ("plain", 2.0)]
    assert [one["median_ms"] for one in good] == [4, 4] and good[0]["steps"] == 6 and none == ""
    assert bad == [] and why == "no result in 5 s"
