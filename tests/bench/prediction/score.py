# SPDX-License-Identifier: Apache-2.0
"""The accuracy of predictions: errors of steps and of their exposed time, whether plans come out in the measured order,
and what predictors score that know nothing of the plan.

The exposed time of a step is what it has beyond the training alone, for which the program waits. In most settings it is a
small part of the step, so the error of the step says little: a predictor of no exposed time has a small one, too. The
bounds are therefore on the exposed time of those settings in which it is at least EXPOSED of the step."""

import collections
import itertools
import statistics

MEDIAN_BOUND = 10.0  # percent
WITHIN, SHARE = 20.0, 0.9  # so many percent for this share of all settings
APART, ORDERED = 1.15, 0.9  # this share of the pairs that differ so much when measured is predicted in that order
EXPOSED = 0.1  # a smaller share is about what waking up adds to these steps: 0.4 to 5 %
EXPOSED_BOUND = 25.0  # percent, median of the settings with more


def error(row):
    return 100 * (row["predicted_ms"] / row["step_median_ms"] - 1)


def within(rows):
    return sum(abs(error(row)) <= WITHIN for row in rows) / len(rows)


def median_error(rows):
    return statistics.median(abs(error(row)) for row in rows)


def exposed(row):
    """Milliseconds that a step takes beyond its training alone."""
    return row["step_median_ms"] - row["training_ms"]


def exposed_error(row):
    return 100 * ((row["predicted_ms"] - row["training_ms"]) / exposed(row) - 1)


def with_exposed(rows):
    return [row for row in rows if exposed(row) >= EXPOSED * row["step_median_ms"]]


def median_exposed_error(rows):
    return statistics.median(abs(exposed_error(row)) for row in with_exposed(rows))


def trivial(rows):
    """Predictors that do not simulate, by name: the same rows with their predictions."""
    ratio = statistics.median(row["step_median_ms"] / row["training_ms"] for row in rows)
    bandwidth = {"100mbit": 12.5e6, "1gbit": 1.25e8, "10gbit": 1.25e9}
    sent = [row for row in rows if row["link"] in bandwidth]
    wire = {id(row): 1e3 * row["payload_bytes"] / bandwidth[row["link"]] for row in sent}
    known = {
        "the training alone": predicted(rows, lambda row: row["training_ms"]),
        f"{ratio:.2f} times the training": predicted(rows, lambda row: ratio * row["training_ms"]),
        "the longer of training and wire": predicted(sent, lambda row: max(row["training_ms"], wire[id(row)])),
        "training and wire after each other": predicted(sent, lambda row: row["training_ms"] + wire[id(row)]),
    }
    return {name: others for name, others in known.items() if others}


def predicted(rows, by):
    return [{**row, "predicted_ms": by(row)} for row in rows]


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
    yield "| of | settings | median error | within 20 % | mean error | exposed time, median error (settings) |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for key in ("link", "ranks", "model", "plan"):
        for value in dict.fromkeys(row[key] for row in rows):
            yield summary(f"{key} {value}", [row for row in rows if row[key] == value])
    if rows:
        yield summary("all", rows)
        for name, others in trivial(rows).items():
            yield summary(f"*{name}*", others)
        pairs, right = order(rows)
        if pairs:
            yield f"\n{right} of {pairs} pairs ({100 * right / pairs:.1f} %) that differ by more than 15 % in the right order"


def summary(name, rows):
    mean = statistics.mean(error(row) for row in rows)
    count = len(with_exposed(rows))
    shown = f"{median_exposed_error(rows):.0f} % ({count})" if count else ""
    errors = f"{median_error(rows):.1f} % | {100 * within(rows):.0f} % | {mean:+.1f} % | {shown}"
    return f"| {name} | {len(rows)} | {errors} |"


def complaints(rows, median=MEDIAN_BOUND, share=SHARE):
    if not rows:
        return ["nothing has been measured: --measure"]
    found = []
    if median_error(rows) > median:
        found.append(f"the median error is {median_error(rows):.1f} %, bound {median} %")
    if within(rows) < share:
        found.append(f"{100 * within(rows):.1f} % of the settings are within {WITHIN} %, bound {100 * share} %")
    if median_exposed_error(rows) > EXPOSED_BOUND:
        found.append(f"the median error of exposed time is {median_exposed_error(rows):.0f} %, bound {EXPOSED_BOUND} %")
    for name, others in trivial(rows).items():
        if median_exposed_error(others) <= EXPOSED_BOUND:
            found.append(f"{name} keeps the bound on exposed time, so it bounds nothing")
    pairs, right = order(rows)
    if right < ORDERED * pairs:
        found.append(f"{right} of {pairs} pairs are in the right order, bound {100 * ORDERED} %")
    return found
