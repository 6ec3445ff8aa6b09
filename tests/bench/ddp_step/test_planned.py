# SPDX-License-Identifier: Apache-2.0
"""The plan's step over that of the best other way, from times by way and round."""

import pathlib
import random
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import planned  # noqa: E402


def test_a_way_that_is_best_in_every_round():
    times = {"ddp": [30.0, 31.0, 29.0], "int8": [10.0, 12.0, 11.0], "plan": [11.0, 12.0, 22.0]}
    assert planned.beside_best(times) == 1.1


def test_equal_ways_are_equal():
    draw = random.Random(1)
    noisy = [{way: [draw.gauss(100, 5) for _ in range(5)] for way in ("ddp", "a", "b", "c", "plan")} for _ in range(1000)]
    assert abs(statistics.mean(planned.beside_best(times) for times in noisy) - 1) < 0.01
    # The least of the medians is too small.
    least = [min(statistics.median(times[way]) for way in times if way != "plan") for times in noisy]
    assert statistics.mean(statistics.median(times["plan"]) / low for times, low in zip(noisy, least)) > 1.02


def test_a_way_that_was_given_up_is_no_best_one():
    assert planned.beside_best({"ddp": [1.0], "int8": [10.0, 10.0], "plan": [10.0, 10.0]}) == 1.0


def test_one_round():
    assert planned.beside_best({"ddp": [4.0], "int8": [2.0], "plan": [3.0]}) == 1.5
    assert planned.scatter({"ddp": [4.0], "plan": [3.0]}) == 0.0


def test_scatter_is_between_rounds_that_follow_one_another():
    assert planned.scatter({"plan": [10.0, 11.0, 10.0]}) == 0.1
