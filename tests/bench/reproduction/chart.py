# SPDX-License-Identifier: Apache-2.0
"""Bars as SVG: what was published above what is simulated, a pair for each row."""

from typing import NamedTuple
from xml.sax.saxutils import escape

LEFT, WIDTH, RIGHT = 210, 480, 70  # of the names, of the longest bar, of its number
PAIR, BAR, TOP = 30, 11, 56
PUBLISHED, WITHIN, OUTSIDE = "#9a9a9a", "#2f6fb0", "#d9822b"


class Row(NamedTuple):
    group: str
    name: str
    published: float
    simulated: float
    within: bool


def text(x, y, words, anchor="start", weight="normal"):
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-weight="{weight}">{escape(words)}</text>'


def bar(y, value, most, colour, number):
    length = WIDTH * value / most
    return [f'<rect x="{LEFT}" y="{y:g}" width="{length:.1f}" height="{BAR}" fill="{colour}"/>',
            text(LEFT + round(length, 1) + 5, y + BAR - 1.5, number)]  # fmt: skip


def legend(bound):
    parts, x = [], LEFT
    for colour, words in ((PUBLISHED, "published"), (WITHIN, f"simulated, within {bound:.0%}"), (OUTSIDE, "outside")):
        parts += [f'<rect x="{x}" y="34" width="11" height="11" fill="{colour}"/>', text(x + 16, 44, words)]
        x += 40 + 7 * len(words)
    return parts


def bars(title, rows, most, number, bound):
    """`number`: a format of one argument."""
    parts, y, group = [text(12, 22, title, weight="bold"), *legend(bound)], TOP, None
    for row in rows:
        if row.group != group:
            y += 8
            parts.append(text(12, y + 15, row.group, weight="bold"))
            group = row.group
        parts.append(text(LEFT - 8, y + 15, row.name, "end"))
        parts += bar(y, row.published, most, PUBLISHED, number.format(row.published))
        parts += bar(y + BAR + 1, row.simulated, most, WITHIN if row.within else OUTSIDE, number.format(row.simulated))
        y += PAIR
    width, height = LEFT + WIDTH + RIGHT, y + 12
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
            'font-family="sans-serif" font-size="12" fill="#222222">')  # fmt: skip
    return "\n".join([head, f'<rect width="{width}" height="{height}" fill="#ffffff"/>', *parts, "</svg>"]) + "\n"
