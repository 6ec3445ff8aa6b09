#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts comments that open with a word that leaves out the noun: What, Whether, How, Of, Where, Who, Those, ...

A comment begins with a verb or with the thing that it names ("Returns true if ...", "The rank that owns ..."). So does the
name of a test, after "subject: ", a text of --help, and a sentence of a page. A folder may have such openings in 3 % of
each, so that the odd good one need not be bent.

usage: check_comments.py [--list] [ROOT]   prints each folder's shares; exit code 1 when one is over the limit
  --list    prints each such opening, file and line first
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


TEST_CASE = re.compile(r'TEST_CASE\(\s*"(?:[^":]*: )?([^"]+)"')
TEST_FUNCTION = re.compile(r"^def test_(\w+)", re.MULTILINE)
SENTENCE_END = re.compile(r"(?<=[.!?:])\s+")
BEGINS_ANEW = re.compile(r"[-*#>|] |\d+\. ")
HELP = re.compile(r'add_(?:option|flag|subcommand)\([^;{}]*?,\s*"([A-Z][^"]*)"')


def matches(pattern, text):
    """Yields (line, text) of the first group of each match."""
    for found in pattern.finditer(text):
        yield text.count("\n", 0, found.start(1)) + 1, found.group(1).replace("_", " ")


def page_sentences(text):
    """Yields (line, text) of each sentence, heading and cell of a page, but for code."""
    is_code = False
    goes_on = False  # the line above ends within a sentence
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if stripped.startswith("```"):
            is_code = not is_code
        if is_code or not stripped or line.startswith("    "):
            goes_on = False
            continue
        parts = stripped.split("|") if stripped.startswith("|") else SENTENCE_END.split(stripped)
        if goes_on and not BEGINS_ANEW.match(stripped):
            parts = parts[1:]
        for part in parts:
            said = part.lstrip(" -*#>`[.0123456789")
            if said[:1].isalpha():
                yield number, said
        goes_on = stripped[-1] not in ".!?:|" and not stripped.startswith("#")


def openings(path):
    """Yields (kind, line, text) of all that a file says to a reader."""
    text = path.read_text(errors="replace")
    kinds = {"comments": file_comments(path)} if path.suffix != ".md" else {"sentences of pages": page_sentences(text)}
    if path.suffix == ".cc":
        kinds["names of tests"] = matches(TEST_CASE, text)
        kinds["texts of --help"] = matches(HELP, text)
    if path.name.endswith("test.py") or path.name.startswith("test_"):
        kinds["names of tests"] = matches(TEST_FUNCTION, text)
    for kind, said in kinds.items():
        for line, words in said:
            yield kind, line, words


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
    for path in source_files(root, (*SUFFIXES, ".md")):
        name = path.relative_to(root)
        folder = name.parts[0] if len(name.parts) > 1 else "."
        for kind, line, said in openings(path):
            totals[folder, kind] += 1
            if leaves_out_the_noun(said):
                found[folder, kind] += 1
                if wants_list:
                    print(f"{name}:{line}: {said}")
    failed = False
    for key in sorted(totals):
        share = found[key] / totals[key]
        # A folder of a few comments may have one.
        over = share > LIMIT and found[key] > 1
        failed = failed or over
        print(f"{key[0]}: {found[key]} of {totals[key]} {key[1]}, {100 * share:.1f} %{' (over 3 %)' if over else ''}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
