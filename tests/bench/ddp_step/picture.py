#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the pictures of docs/pictures: columns of the tables of docs/measurements.md and docs/codecs.md as bars.

usage: picture.py [--check]
  --check   compare with the files instead of writing them; exit code 1 if one is out of date
"""
import re
import sys
from pathlib import Path
from xml.sax.saxutils import escape

DOCS = Path(__file__).resolve().parents[3] / "docs"
STEP = "Milliseconds of a training step {}, 2 ranks, 100.8 MB of gradients"
# file: (page, heading of the rows, heading of the numbers, title)
PICTURES = {
    "step_unshaped.svg": ("measurements.md", "way", "unshaped", STEP.format("on an unshaped link")),
    "step_10gbit.svg": ("measurements.md", "way", "10 Gb/s", STEP.format("at 10 Gb/s")),
    "step_1gbit.svg": ("measurements.md", "way", "1 Gb/s", STEP.format("at 1 Gb/s")),
    "step_100mbit.svg": ("measurements.md", "way", "100 Mb/s", STEP.format("at 100 Mb/s")),
    "sent.svg": ("codecs.md", "codec", "MB a rank and step", "MB that a rank sends in a step of the demo's model"),
    "loss.svg": ("codecs.md", "codec", "AdamW", "Held-out loss above that of uncompressed training, %, AdamW"),
}
OURS, PEER, GROUND = "#1d4ed8", "#9aa5b4", "#d5dbe3"
LABEL, WIDTH, ROW = 190, 640, 26


def column(text, rows_name, name):
    """(row, number, is a codec of CaSync) of each row of the first table that has both headings. Rows with settings of
    a codec, as in `int2:block=64`, are left out."""
    rows, index = [], None
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if index is None and name in cells and cells[0] == rows_name:
            index = cells.index(name)
        elif index is not None and not line.startswith("|"):
            break
        elif index is not None and (number := re.match(r"[-+]?\d+(\.\d+)?", cells[index])):
            ours = cells[0].startswith("`")
            if not (ours and re.search("[:,]", cells[0])):
                rows.append((cells[0].replace("`", ""), number.group(), ours))
    return rows


def picture(rows, title, prefix):
    most = max(float(value) for _, value, _ in rows)
    scale = (WIDTH - LABEL - 60) / most
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {44 + ROW * len(rows)}" '
        'font-family="system-ui, sans-serif" font-size="13">',
        f'<rect width="100%" height="100%" fill="#fff"/><text x="10" y="22" font-weight="600">{escape(title)}</text>',
    ]
    for at, (way, value, ours) in enumerate(rows):
        y, color = 36 + ROW * at, OURS if ours else GROUND if way.startswith("no ") else PEER
        name, width = f"{prefix}{way}" if ours else way, max(float(value), 0) * scale
        lines += [
            f'<text x="{LABEL - 10}" y="{y + 15}" text-anchor="end">{escape(name)}</text>',
            f'<rect x="{LABEL}" y="{y + 2}" width="{width:.1f}" height="{ROW - 8}" rx="3" fill="{color}"/>',
            f'<text x="{LABEL + width + 6:.1f}" y="{y + 15}">{value}</text>',
        ]
    return "\n".join([*lines, "</svg>", ""])


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    old = []
    for name, (page, rows_name, numbers_name, title) in PICTURES.items():
        rows = column((DOCS / page).read_text(), rows_name, numbers_name)
        if not rows:
            sys.exit(f"picture.py: {page} has no table with the columns {rows_name} and {numbers_name}")
        drawn, file = picture(rows, title, "CaSync " if rows_name == "way" else ""), DOCS / "pictures" / name
        if sys.argv[1:]:
            old += [name] if not file.exists() or file.read_text() != drawn else []
        else:
            file.write_text(drawn)
    if old:
        sys.exit(f"{', '.join(old)}: not what the tables of docs/ say; run {sys.argv[0]}")


if __name__ == "__main__":
    main()
