#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures each codec's cost in loss: trains the demo's model with each, several seeds and two optimizers; a table.

    python tests/bench/loss/run.py build/release --seeds 3

A training takes a minute on two cores. Finished trainings are in results.jsonl next to this file and are not
repeated: take a line out to repeat it. --table prints what is there and trains nothing. Exit code 1: a codec of four
bits or more is over the bound, or a negative control is not.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

import rows
import table

HERE = pathlib.Path(__file__).resolve().parent
RESULTS = HERE / "results.jsonl"


def known():
    if not RESULTS.exists():
        return []
    return [json.loads(line) for line in RESULTS.read_text().splitlines()]


def is_wanted(row, optimizer, options):
    if optimizer not in options.optimizers or row.only not in ("", optimizer):
        return False
    if options.rows is not None:
        return row.name in options.rows
    return options.codecs is None or row.codec.split(":")[0] in options.codecs


def missing(options):
    """ROW:OPTIMIZER:SEED of each training that is still to be done, all rows with one seed before the next seed."""
    done = {(one["row"], one["optimizer"], one["seed"]) for one in known() if one["steps"] == options.steps}
    wanted = []
    for seed in range(options.seeds):
        for kind, optimizer in enumerate(rows.OPTIMIZERS):
            for at, row in enumerate(rows.ROWS):
                if is_wanted(row, optimizer, options) and (row.name, optimizer, seed) not in done:
                    wanted.append(f"{at}:{kind}:{seed}")
    return wanted


def train(options, runs):
    environment = {**os.environ, "PYTHONPATH": str(options.build.resolve() / "python"), "OMP_NUM_THREADS": "1"}
    command = [options.build.resolve() / "bin/casync", "run", "-n", str(options.ranks), "--torch", "--no-prefix", "--"]
    command += [options.python, str(HERE / "worker.py"), "--steps", str(options.steps), *runs]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as ranks:
        for line in ranks.stdout:
            print(line, end="", file=sys.stderr, flush=True)
            with RESULTS.open("a") as results:
                results.write(line)
    return ranks.returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path, help="build folder with bin/casync and python/casync")
    parser.add_argument("--codecs", nargs="+", help="rows of these only")
    parser.add_argument("--rows", nargs="+", help="only rows of these names, such as none")
    parser.add_argument("--optimizers", nargs="+", default=rows.OPTIMIZERS, choices=rows.OPTIMIZERS)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--table", action="store_true", help="train nothing")
    parser.add_argument("--python", default=str(HERE.parents[2] / ".venv/torch/bin/python"), help="one with torch")
    options = parser.parse_args()
    runs = [] if options.table else missing(options)
    for begin in range(0, len(runs), 8):  # new processes now and then: a failure costs little
        code = train(options, runs[begin : begin + 8])
        if code != 0:
            return code
    results = [one for one in known() if one["steps"] == options.steps]
    print("\n".join(table.lines(results)))
    complaints = table.complaints(results)
    print("\n".join(complaints), file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
