#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The figures of a page of tools/gpu_check that have a target, in a table.

usage: targets.py PAGE   prints the table in Markdown; a figure that the page does not have is said to be missing
"""

import pathlib
import re
import sys


def tables(page):
    """(the headings and lines of text above it that a table has, rows as dictionaries) of each table."""
    found, heading, above, head = [], "", "", None
    for line in page.splitlines():
        if line.startswith("|"):
            cells = [cell.strip().strip("`") for cell in line.strip().strip("|").split("|")]
            if head is None:
                head = cells
                found.append((f"{heading}\n{above}", []))
            elif not set(line) <= set("|-: "):
                found[-1][1].append(dict(zip(head, cells)))
            continue
        head = None
        if line.startswith("#"):
            heading = line
        above = line.strip() or above
    return found


def number(text, unit=""):
    """The number of a cell; with a unit, the one that has it."""
    match = re.search(rf"(-?[\d.]+) ?{unit}", text)
    return float(match[1]) if match else None


def cells(found, column, above=""):
    """{the first cell of a row: its cell in the column} of the tables that have this text above them."""
    return {next(iter(row.values())): row[column] for text, rows in found if above in text for row in rows if column in row}


# Codecs whose speed on many elements has one target.
FIXED_RATE = ("bf16", "fp16", "int2", "int4", "int8", "onebit", "efsign", "tbq", "twobit")
SELECTING = ("topk", "graddrop", "threshold", "stc", "ef21")
ROTATING_OR_RANDOM = ("rht4", "mxfp4", "qsgd", "terngrad", "natural", "minmax")
MANY = "## 1 x 67108864 elements"


def speeds(found):
    """As figures(), of kernels on many elements."""
    shares = {codec: text.split(", ") for codec, text in cells(found, "of the copy", MANY).items()}
    for codecs, kind, operation, place, least in (
        (FIXED_RATE, "of a fixed rate", "encode", 0, 0.9),
        (FIXED_RATE, "of a fixed rate", "decode", 1, 0.9),
        (FIXED_RATE, "of a fixed rate", "merge of 4", 2, 0.75),
        (SELECTING, "that select", "encode", 0, 0.5),
        (ROTATING_OR_RANDOM, "that rotate or draw", "encode", 0, 0.75),
    ):
        known = [(float(shares[codec][place]), codec) for codec in codecs if codec in shares]
        share, slowest = min(known) if len(known) == len(codecs) else (None, "not all are here")
        yield f"share of a copy, codecs {kind}, {operation}, the slowest ({slowest})", share, least, float("inf")
    times = cells(found, "encode", MANY)
    own, exact = (number(times.get(codec, ""), "us") for codec in ("mstopk", "topk"))
    yield "encode of `mstopk`, part of the time of `topk`", own / exact if own and exact else None, 0, 1


def figures(page):
    """(name, measured or None, least, most) of each figure."""
    found = tables(page)
    yield from speeds(found)
    for name, measured, most in times(found):
        yield name, measured, float("-inf"), most


def times(found):
    """(name, measured or None, most) of each figure that is a time, or counts what takes time."""

    def measured(column, row, above="", unit=""):
        return number(cells(found, column, above).get(row, ""), unit)

    for codec in ("int8", "int4", "onebit", "topk"):
        for what in ("encode", "decode"):
            name = f"200 tensors of 4 KiB, {codec}, {what}, us"
            yield name, measured(what, codec, "## 200 x 1024 elements", "us"), 20
    yield "submit to the end of the first launch, one gradient, int4, us", measured("first kernel, us", "int4", "one, 1 gr"), 15
    yield "ResNet50's 161 gradients, int4, kernels of a step, ms", measured("kernels, ms", "int4", "ResNet50, 161"), 0.35
    yield "ResNet50's 161 gradients, int4, a step over loopback, ms", measured("step, ms", "int4", "ResNet50, 161"), 0.35
    calls = [number(row["calls"]) for _, rows in found for row in rows if "calls" in row]
    yield "allocations, synchronizations and the like in steady steps", sum(calls) if calls else None, 0
    for codec in ("int4", "int8", "topk"):
        yield f"slowdown of a backward pass, {codec}, %", measured("slower by", codec), 5
    int4, fp16 = (measured("least, ms", way, "1 Gb/s") for way in ("casync-int4", "fp16"))
    part = int4 / fp16 if int4 is not None and fp16 else None
    yield "DDP of 100 MB over 1 Gb/s, int4's part of the time of Gloo's fp16 hook", part, 0.4


def main():
    page = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")
    print("| figure | measured | target | kept |\n|---|---|---|---|")
    for name, measured, least, most in figures(page):
        target = f"at most {most}" if most < float("inf") else f"at least {least}"
        if measured is None:
            print(f"| {name} | missing | {target} | |")
        else:
            print(f"| {name} | {measured:.4g} | {target} | {'yes' if least <= measured <= most else 'NO'} |")


if __name__ == "__main__":
    main()
