#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws one column of the table of training steps in docs/measurements.md as bars.

usage: picture.py [--check] "1 Gb/s" docs/pictures/step_1gbit.svg
  --check   compare with the file instead of writing it; exit code 1 if it is out of date
"""
import re
import sys
from pathlib import Path
from xml.sax.saxutils import escape

PAGE = Path(__file__).resolve().parents[3] / "docs/measurements.md"
OURS, PEER, GROUND = "#1d4ed8", "#9aa5b4", "#d5dbe3"
LABEL, WIDTH, ROW = 190, 640, 26


def column(text, name):
    """(way, milliseconds) of each row of the first table that has a column of this name."""
    rows, index = [], None
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if index is None and name in cells and cells[0] == "way":
            index = cells.index(name)
        elif index is not None and not line.startswith("|"):
            break
        elif index is not None and (number := re.match(r"\d+", cells[index])):
            rows.append((cells[0].replace("`", ""), int(number.group()), cells[0].startswith("`")))
    if not rows:
        sys.exit(f"picture.py: {PAGE} has no table with the column {name}")
    return rows


def picture(rows, title):
    most = max(value for _, value, _ in rows)
    scale = (WIDTH - LABEL - 60) / most
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {44 + ROW * len(rows)}" '
        'font-family="system-ui, sans-serif" font-size="13">',
        f'<rect width="100%" height="100%" fill="#fff"/><text x="10" y="22" font-weight="600">{escape(title)}</text>',
    ]
    for at, (way, value, ours) in enumerate(rows):
        y, color = 36 + ROW * at, OURS if ours else GROUND if way.startswith("no ") else PEER
        name = f"CaSync {way}" if ours else way
        lines += [
            f'<text x="{LABEL - 10}" y="{y + 15}" text-anchor="end">{escape(name)}</text>',
            f'<rect x="{LABEL}" y="{y + 2}" width="{value * scale:.1f}" height="{ROW - 8}" rx="3" fill="{color}"/>',
            f'<text x="{LABEL + value * scale + 6:.1f}" y="{y + 15}">{value}</text>',
        ]
    return "\n".join([*lines, "</svg>", ""])


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--check"]
    if len(arguments) != 2:
        sys.exit(__doc__)
    name, file = arguments[0], Path(arguments[1])
    drawn = picture(column(PAGE.read_text(), name), f"Milliseconds of a training step at {name}, 2 ranks, 100.8 MB")
    if "--check" not in sys.argv:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(drawn)
    elif not file.exists() or file.read_text() != drawn:
        sys.exit(f"{file} is out of date: run {Path(__file__).name} {name!r} {file}")


if __name__ == "__main__":
    main()
