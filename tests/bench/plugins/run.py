#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cost and overlap of the plugins for TensorFlow and MXNet: two ranks here, each in its framework's environment.

  overlap   8 gradients become ready 50 ms apart, and each needs 50 ms of a 1 Gb/s link: ms of a step; ideal is 450
  cost      512 gradients of 4 KiB, one rank: us per gradient beyond what the session itself takes
  training  a model of 100 MB under model.fit and gluon over a 1 Gb/s link: s of a step with `none` and with `onebit`

usage: PYTHONPATH=build/release/python run.py [--framework NAME] [--only WHAT] [--rounds N]
"""

import argparse
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(ROOT / "tests/plugins"))
import ranks  # noqa: E402

FRAMEWORKS = ("tensorflow", "mxnet")
IDEAL_MS = 8 * 50 + 50


def job(framework, name, size, env=None, **arguments):
    python = str(ROOT / ".venv" / framework / "bin/python")
    env = {"CASYNC_TIMEOUT_SEC": "300", **(env or {})}
    return ranks.values(HERE / f"{framework}_rank.py", name, size, env=env, pythons=[python] * size, **arguments)


def overlap(framework, rounds):
    steps = [max(both) for both in zip(*job(framework, "overlap", 2, {"CASYNC_LINK": "1gbit"}, rounds=rounds))]
    print(f"overlap   {framework:10}  least {min(steps):5.0f} ms, median {sorted(steps)[len(steps) // 2]:5.0f} ms of ideal {IDEAL_MS} ms: "
          f"{min(steps) / IDEAL_MS:.2f} x")  # fmt: skip


def cost(framework, rounds):
    ((plugin, session),) = job(framework, "cost", 1, rounds=rounds)
    print(f"cost      {framework:10}  {plugin:.1f} us per gradient, of which the session takes {session:.1f}: {plugin - session:.1f} us")


def training(framework, rounds):
    seconds = {}
    for codec in ("none", "onebit"):
        env = {"CASYNC_LINK": "1gbit", "CASYNC_CODEC": codec}
        steps = [max(both) for both in zip(*job(framework, "training", 2, env, rounds=rounds))]
        seconds[codec] = sorted(steps)[len(steps) // 2]
    print(f"training  {framework:10}  none {seconds['none']:.2f} s, onebit {seconds['onebit']:.2f} s: "
          f"{seconds['onebit'] / seconds['none']:.2f} x")  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--framework", choices=FRAMEWORKS)
    parser.add_argument("--only", choices=["overlap", "cost", "training"])
    parser.add_argument("--rounds", type=int, default=8)
    options = parser.parse_args()
    print(f"# load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    for measure in (overlap, cost, training):
        for framework in FRAMEWORKS:
            if options.framework in (None, framework) and options.only in (None, measure.__name__):
                measure(framework, options.rounds)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
