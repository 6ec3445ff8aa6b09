#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the planner's table of losses, casync/planner/loss_rows.inc, from results.jsonl.

    python tests/bench/loss/export.py > casync/planner/loss_rows.inc

A row is a pair of codecs without other aids, or a mode with nothing compressed: mean increase of the held-out loss in
percent and its standard error, for each optimizer. The exponents say how the loss of `none` falls with the number of
steps.
"""

import json
import math
import pathlib
import statistics

import rows
import table

HERE = pathlib.Path(__file__).resolve().parent
STEPS = 600
FEWEST_SEEDS = 3


def known():
    return [json.loads(line) for line in (HERE / "results.jsonl").read_text().splitlines()]


def is_plain(row):
    """Nothing but codecs: the planner sets no warm-up and no optimizer."""
    plain = rows.Row(row.codec, row.second_hop, fails=row.fails, values_of=row.values_of)
    return row == plain and row.codec != "none"


def head_of(row):
    """The beginning of the row's line; None for a row that the planner has no use for."""
    if is_plain(row):
        return f'CASYNC_LOSS_ROW("{row.codec}", "{row.second_hop or row.codec}"'
    if row in rows.MODES:
        return f"CASYNC_LOSS_MODE({row.local_sgd}, {row.staleness}"
    return None


def estimate(results, row, optimizer):
    """Mean and standard error in percent, or None with too few seeds."""
    values = table.percents(results, row, optimizer)
    if len(values) < FEWEST_SEEDS:
        return None
    return statistics.mean(values), statistics.stdev(values) / math.sqrt(len(values))


def exponent(results, optimizer):
    """Slope of log(loss) by log(steps) of `none`: least squares over all its trainings with `optimizer`."""
    points = [
        (math.log(one["steps"]), math.log(one["loss"]))
        for one in results
        if one["row"] == "none" and one["optimizer"] == optimizer
    ]
    return -statistics.linear_regression(*zip(*points)).slope


def lines():
    results = known()
    final = [one for one in results if one["steps"] == STEPS]
    yield "// Made by tests/bench/loss/export.py from the trainings of tests/bench/loss/results.jsonl."
    for row in rows.ROWS:
        head = head_of(row)
        if head is None:
            continue
        found = [estimate(final, row, optimizer) for optimizer in rows.OPTIMIZERS]
        if None not in found:
            measured = ", ".join(f"{{{mean:.2f}, {error:.2f}}}" for mean, error in found)
            yield f"{head}, {measured})"
    yield f"CASYNC_LOSS_EXPONENTS({', '.join(f'{exponent(results, optimizer):.4f}' for optimizer in rows.OPTIMIZERS)})"


if __name__ == "__main__":
    print("\n".join(lines()))
