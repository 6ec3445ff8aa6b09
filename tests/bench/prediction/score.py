# SPDX-License-Identifier: Apache-2.0
"""The accuracy of predictions: errors of steps, and whether plans come out in the measured order."""

import collections
import itertools
import statistics

MEDIAN_BOUND = 10.0  # percent
WITHIN, SHARE = 20.0, 0.9  # so many percent for this share of all settings
APART, ORDERED = 1.15, 0.9  # this share of the pairs that differ so much when measured is predicted in that order


def error(row):
    return 100 * (row["predicted_ms"] / row["step_median_ms"] - 1)


def within(rows):
    return sum(abs(error(row)) <= WITHIN for row in rows) / len(rows)


def median_error(rows):
    return statistics.median(abs(error(row)) for row in rows)


def order(rows):
    """Counts the pairs of plans for one model on one cluster that differ, and those of them in the right order."""
    pairs = right = 0
    groups = collections.defaultdict(list)
    for row in rows:
        groups[row["link"], row["ranks"], row["model"]].append(row)
    for a, b in (pair for group in groups.values() for pair in itertools.combinations(group, 2)):
        fast, slow = sorted((a, b), key=lambda row: row["step_median_ms"])
        if slow["step_median_ms"] > APART * fast["step_median_ms"]:
            pairs += 1
            right += slow["predicted_ms"] > fast["predicted_ms"]
    return pairs, right


def lines(rows, each):
    if each:
        yield "| link | ranks | model | plan | measured ms | predicted ms | error |"
        yield "| --- | --- | --- | --- | --- | --- | --- |"
        for row in rows:
            yield (
                f"| {row['link']} | {row['ranks']} | {row['model']} | {row['plan']} | {row['step_median_ms']:.1f} | "
                f"{row['predicted_ms']:.1f} | {error(row):+.1f} % |"
            )
        yield ""
    yield "| of | settings | median error | within 20 % | mean error |"
    yield "| --- | --- | --- | --- | --- |"
    for key in ("link", "ranks", "model", "plan"):
        for value in dict.fromkeys(row[key] for row in rows):
            yield summary(f"{key} {value}", [row for row in rows if row[key] == value])
    if rows:
        yield summary("all", rows)
        pairs, right = order(rows)
        if pairs:
            yield f"\n{right} of {pairs} pairs ({100 * right / pairs:.1f} %) that differ by more than 15 % in the right order"


def summary(name, rows):
    mean = statistics.mean(error(row) for row in rows)
    return f"| {name} | {len(rows)} | {median_error(rows):.1f} % | {100 * within(rows):.0f} % | {mean:+.1f} % |"


def complaints(rows):
    if not rows:
        return ["nothing has been measured: --measure"]
    found = []
    if median_error(rows) > MEDIAN_BOUND:
        found.append(f"the median error is {median_error(rows):.1f} %, bound {MEDIAN_BOUND} %")
    if within(rows) < SHARE:
        found.append(f"{100 * within(rows):.1f} % of the settings are within {WITHIN} %, bound {100 * SHARE} %")
    pairs, right = order(rows)
    if right < ORDERED * pairs:
        found.append(f"{right} of {pairs} pairs are in the right order, bound {100 * ORDERED} %")
    return found
