#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts comments that open with a word that leaves out the noun: What, Whether, How, Of, Where, Who, Those, ...

A comment begins with a verb or with the thing that it names ("Returns true if ...", "The rank that owns ..."). A
folder may have such openings in 3 % of its comments, so that the odd good one need not be bent.

usage: check_comments.py [--list] [ROOT]   prints each folder's share; exit code 1 when one is over the limit
  --list    prints each such comment, file and line first
"""
import re
import sys
from collections import Counter
from pathlib import Path

from source_files import source_files

LIMIT = 0.03
OPENINGS = {"what", "whatever", "whether", "how", "of", "where", "wherever", "who", "whoever", "whose", "those", "that",
            "which", "whichever", "behind", "beside", "before"}
LINE_COMMENT = {".py": "#", ".cll": "//", "": "#"}
SUFFIXES = (".h", ".cc", ".c", ".cuh", ".cu", ".py", ".cll", ".proto")


def comments(text, mark):
    """Yields (line, text) of each comment that has a line of its own; lines that follow each other are one comment."""
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        is_comment = line.lstrip().startswith(mark)
        if is_comment and not inside:
            said = line.lstrip().lstrip(mark + "!<").strip()
            # A licence line and the empty line after it come ahead of the comment that they begin.
            if not said or "SPDX" in said:
                continue
            yield number, said
        inside = is_comment


def file_comments(path):
    """Yields (line, text) of each comment of a source, and of each docstring of a Python file."""
    text = path.read_text(errors="replace")
    yield from comments(text, LINE_COMMENT.get(path.suffix, "//"))
    if path.suffix == ".py":
        for found in re.finditer(r'^\s*"""(.+)', text, re.MULTILINE):
            yield text.count("\n", 0, found.start(1)) + 1, found.group(1)


def leaves_out_the_noun(said):
    """Returns true if a comment's first word is one of OPENINGS. "How to add ..." names its subject."""
    first = re.match(r"[A-Za-z]+", said)
    if not first or said.lower().startswith("how to "):
        return False
    return first.group().lower() in OPENINGS


def main(arguments):
    wants_list = "--list" in arguments
    places = [a for a in arguments if a != "--list"]
    root = Path(places[0]) if places else Path(__file__).resolve().parent.parent
    totals, found = Counter(), Counter()
    for path in source_files(root, SUFFIXES):
        name = path.relative_to(root)
        folder = name.parts[0] if len(name.parts) > 1 else "."
        for line, said in file_comments(path):
            totals[folder] += 1
            if leaves_out_the_noun(said):
                found[folder] += 1
                if wants_list:
                    print(f"{name}:{line}: {said}")
    failed = False
    for folder in sorted(totals):
        share = found[folder] / totals[folder]
        # A folder of a few comments may have one.
        over = share > LIMIT and found[folder] > 1
        failed = failed or over
        print(f"{folder}: {found[folder]} of {totals[folder]} comments, {100 * share:.1f} %{' (over 3 %)' if over else ''}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
