#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures each codec's and each mode's cost in loss: trains the demo's model with each, several seeds and two
optimizers; a table.

    python tests/bench/loss/run.py build/release --seeds 3 --write

A training takes a minute on two cores. Finished trainings are in results.jsonl next to this file and are not
repeated: take a line out to repeat it. --table prints what is there and trains nothing. --write brings the table of
docs/codecs.md and the planner's, casync/planner/loss_rows.inc, up to date. Exit code 1: a codec of four bits or more is
over the bound, or a negative control is not.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

import export
import rows
import table

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
RESULTS = HERE / "results.jsonl"
AT_ONCE = 8  # trainings of the same processes: a failure costs little


def known(options):
    if not options.results.exists():
        return []
    return [json.loads(line) for line in options.results.read_text().splitlines()]


def is_wanted(row, optimizer, options):
    if row.values_of or optimizer not in options.optimizers or row.only not in ("", optimizer):
        return False
    if options.modes:
        return row in rows.MODES
    if options.rows is not None:
        return row.name in options.rows
    return options.codecs is None or row.codec.split(":")[0] in options.codecs


def missing(options):
    """ROW:OPTIMIZER:SEED of each training that is still to be done: all rows with one seed, then with the next seed, or
    with --by-row all seeds of a row, then of the next row."""
    done = {(one["row"], one["optimizer"], one["seed"]) for one in known(options) if one["steps"] == options.steps}
    wanted = []
    for seed in range(options.seeds):
        for kind, optimizer in enumerate(rows.OPTIMIZERS):
            for at, row in enumerate(rows.ROWS):
                if is_wanted(row, optimizer, options) and (row.name, optimizer, seed) not in done:
                    wanted.append((at, kind, seed))
    ordered = sorted(wanted) if options.by_row else wanted
    return [f"{at}:{kind}:{seed}" for at, kind, seed in ordered]


def train(options, runs):
    environment = {**os.environ, "PYTHONPATH": str(options.build.resolve() / "python"), "OMP_NUM_THREADS": "1"}
    command = [options.build.resolve() / "bin/casync", "run", "-n", str(options.ranks), "--torch", "--no-prefix", "--"]
    command += [options.python, str(HERE / "worker.py"), "--steps", str(options.steps), *runs]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as ranks:
        for line in ranks.stdout:
            print(line, end="", file=sys.stderr, flush=True)
            with options.results.open("a") as results:
                results.write(line)
    return ranks.returncode


def train_missing(options):
    """The exit code of the first processes that failed; 0 also if the time was over first."""
    runs = missing(options)
    end = time.monotonic() + 60 * options.minutes
    at_once = AT_ONCE if options.minutes == float("inf") else 1
    while runs and time.monotonic() < end:
        code = train(options, runs[:at_once])
        if code != 0:
            return code
        runs = runs[at_once:]
    if runs:
        print(f"{len(runs)} trainings are left for another time", file=sys.stderr)
    return 0


def write_tables(results):
    """Both copies of the table that others read."""
    (ROOT / "casync/planner/loss_rows.inc").write_text("\n".join(export.lines()) + "\n")
    page = ROOT / "docs/codecs.md"
    page.write_text(table.replaced_in(page.read_text(), results))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path, help="build folder with bin/casync and python/casync")
    parser.add_argument("--codecs", nargs="+", help="rows of these only")
    parser.add_argument("--rows", nargs="+", help="only rows of these names, such as none")
    parser.add_argument("--modes", action="store_true", help="only rows of local SGD and staleness")
    parser.add_argument("--optimizers", nargs="+", default=rows.OPTIMIZERS, choices=rows.OPTIMIZERS)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--by-row", action="store_true", help="all seeds of a row, then of the next row")
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no training after so many")
    parser.add_argument("--results", type=pathlib.Path, default=RESULTS, help="the file of finished trainings")
    parser.add_argument("--table", action="store_true", help="train nothing")
    parser.add_argument("--write", action="store_true", help="write the tables of docs/codecs.md and of the planner")
    parser.add_argument("--python", default=str(ROOT / ".venv/torch/bin/python"), help="one with torch")
    options = parser.parse_args()
    if options.write and options.results != RESULTS:
        parser.error("--write takes the results that are kept here: leave --results out")
    code = 0 if options.table else train_missing(options)
    if code != 0:
        return code
    results = [one for one in known(options) if one["steps"] == options.steps]
    if options.write:
        write_tables(results)
    print("\n".join(table.lines(results)))
    complaints = table.complaints(results)
    print("\n".join(complaints), file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
