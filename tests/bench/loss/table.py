# SPDX-License-Identifier: Apache-2.0
"""The table of losses from single results, and what is wrong with it."""

import statistics

import rows


def by_seed(results, row, optimizer):
    return {one["seed"]: one["loss"] for one in results if (one["row"], one["optimizer"]) == (row.trained, optimizer)}


def percents(results, row, optimizer):
    """Increase of the loss over that without compression, in percent, for each seed that both have."""
    plain, own = by_seed(results, rows.ROWS[0], optimizer), by_seed(results, row, optimizer)
    return [100 * (own[seed] / plain[seed] - 1) for seed in sorted(own) if seed in plain]


def cell(results, row, optimizer):
    """Mean, its standard deviation over the seeds, and their number."""
    values = percents(results, row, optimizer)
    if not values:
        return ""
    if row == rows.ROWS[0]:
        return f"0 ({len(values)})"
    spread = f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):+.2f}{spread} % ({len(values)})"


def megabytes(results, row):
    sent = [one["bytes"] for one in results if one["row"] == row.name]
    return f"{statistics.mean(sent) / 1e6:.2f}" if sent else ""


HEADER = "| codec | MB a rank and step | AdamW | SGD, momentum |"


def measured_rows(results):
    yield HEADER
    yield "| --- | --- | --- | --- |"
    for row in rows.ROWS:
        if not any(one["row"] == row.trained for one in results):
            continue
        name = f"`{row.codec}`" + row.name.removeprefix(row.codec)
        name += f", the values of `{row.values_of}`" if row.values_of else ""
        cells = [cell(results, row, optimizer) for optimizer in rows.OPTIMIZERS]
        yield f"| {name} | {megabytes(results, row)} | {' | '.join(cells)} |"


def replaced_in(page, results):
    """The page with today's rows in place of its own."""
    before, header, rest = page.partition(HEADER)
    if not header:
        raise ValueError(f"the page has no table that begins with {HEADER}")
    after = rest[rest.index("\n\n") :]
    return before + "\n".join(measured_rows(results)) + after


def lines(results):
    yield from measured_rows(results)
    yield ""
    for optimizer in rows.OPTIMIZERS:
        losses = by_seed(results, rows.ROWS[0], optimizer)
        if losses:
            yield f"`none` with {optimizer}: " + ", ".join(f"{losses[seed]:.4f}" for seed in sorted(losses))


def complaints(results):
    """A codec of four bits or more above the bound in the mean; a negative control that is not clearly above it."""
    found = []
    for row in rows.ROWS:
        for optimizer in rows.OPTIMIZERS:
            values = percents(results, row, optimizer)
            if not values:
                continue
            mean = statistics.mean(values)
            if row.name in rows.BOUND_CODECS and not mean <= rows.BOUND:  # also nan
                found.append(f"{row.name} with {optimizer}: {mean:+.2f} %, the bound is {rows.BOUND} %")
            if row.fails and not mean >= rows.FAILING:
                least = f"a negative control loses {rows.FAILING} %"
                found.append(f"{row.name} with {optimizer}: {mean:+.2f} %, {least}")
    return found
