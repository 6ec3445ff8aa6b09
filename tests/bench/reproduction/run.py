# SPDX-License-Identifier: Apache-2.0
"""HiPress's published figures, and the results of `casync simulate` with its published constants.

    python3 tests/bench/reproduction/run.py BUILD                print the tables
    python3 tests/bench/reproduction/run.py BUILD --write docs   and put them, with pictures, into docs/reproduction.md
    python3 tests/bench/reproduction/run.py BUILD --check docs   exit code 1: the page has others

Takes half a minute. The same build gives the same text and pictures, byte for byte.
"""

import argparse
import pathlib
import re
import sys
import tempfile

import plans
import published
import results
import tables
from command import Command


def sections(command):
    """({name of a table: its lines}, {name of a picture: SVG})"""
    throughputs, steps = results.throughputs(command), results.breakdowns(command)
    texts = {"summary": tables.summary(throughputs, steps)}
    pictures = {"breakdown": tables.breakdown_picture(steps)}
    for testbed in published.TESTBEDS:
        own = [one for one in throughputs if one.testbed == testbed]
        texts[testbed] = tables.throughput(own)
        pictures[testbed.lower()] = tables.throughput_picture(testbed, own)
    texts["breakdown"] = tables.breakdown(steps)
    with tempfile.TemporaryDirectory() as folder:
        texts["plans"] = tables.plans(plans.comparisons(command, pathlib.Path(folder)))
    quiet = Command(command.build)
    texts["otherwise"] = tables.otherwise(results.otherwise(quiet, throughputs))
    return {name: list(lines) for name, lines in texts.items()}, pictures


def replaced(page, texts):
    """The page with what stands between `<!-- NAME -->` and `<!-- end -->` made anew."""
    for name, lines in texts.items():
        pattern = re.compile(rf"(<!-- {re.escape(name)} -->\n).*?(<!-- end -->)", re.DOTALL)
        page, count = pattern.subn(lambda found: found[1] + "\n".join(lines) + "\n" + found[2], page)  # noqa: B023
        if count != 1:
            raise SystemExit(f"the page has {count} places for the table `{name}`, expected one")
    return page


def write(docs, texts, pictures):
    page = docs / "reproduction.md"
    page.write_text(replaced(page.read_text(), texts))
    (docs / "reproduction").mkdir(exist_ok=True)
    for name, svg in pictures.items():
        (docs / "reproduction" / f"{name}.svg").write_text(svg)


def differences(docs, texts):
    """The page's tables that are not as made here, each with its first lines that differ."""
    page = (docs / "reproduction.md").read_text()
    for name, lines in texts.items():
        found = re.search(rf"<!-- {re.escape(name)} -->\n(.*?)<!-- end -->", page, re.DOTALL)
        there = found[1].splitlines() if found else []
        if there != lines:
            pair = next(((a, b) for a, b in zip(there, lines) if a != b), ("", f"{len(there)} lines, not {len(lines)}"))
            yield f"{name}: the page has\n  {pair[0]}\nand the simulator says\n  {pair[1]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", help="a build folder, with bin/casync in it")
    parser.add_argument("--write", metavar="DOCS", type=pathlib.Path, help="the folder of reproduction.md")
    parser.add_argument("--check", metavar="DOCS", type=pathlib.Path, help="the same, which is only compared")
    parser.add_argument("--keep", metavar="FOLDER", help="leave each row's model, plan and profile there")
    arguments = parser.parse_args()
    texts, pictures = sections(Command(arguments.build, arguments.keep))
    for name, lines in texts.items():
        print(f"{name}\n\n" + "\n".join(lines) + "\n")
    if arguments.write is not None:
        write(arguments.write, texts, pictures)
    complaints = [] if arguments.check is None else list(differences(arguments.check, texts))
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
