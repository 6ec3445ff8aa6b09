# SPDX-License-Identifier: Apache-2.0
"""Checks that `casync plan` finds the fastest way: its plan against plain and each codec alone, on several links.

    python tests/bench/ddp_step/planned.py build/release --links unshaped 1gbit 100mbit

As run.py: DDP in two network namespaces, as root. For each link the ranks profile themselves (`casync profile`), the
training is recorded (CASYNC_RECORD), a plan is made of both, and all ways take turns. Exit code 1: some way is more
than 3 % faster than the plan.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import network
import run

CODECS = ["int8", "int4", "onebit"]
BOUND = 1.03
# Gradients are freed after each step. Depending on the rest of the heap, glibc may give their 100 MB to the kernel, and
# the next step then pays up to 50 ms for fresh pages. These settings make glibc keep the memory.
KEEP_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(32 << 20), "MALLOC_TRIM_THRESHOLD_": str(1 << 32)}


def profile(casync, path, ranks):
    command = [casync, "profile", "--quick", "--inside", "ucx:tcp", "--between", "ucx:tcp"]
    command += ["--codecs", ",".join(["none", *CODECS])]
    meet = {"CASYNC_RENDEZVOUS": f"file:{path.parent}"}  # torch's store is Python's
    ended = run.run_ranks([*command, "-o", str(path)], ranks, 600, meet)
    if ended is None or any(code != 0 for code, _, _ in ended):
        raise SystemExit(f"casync profile: {ended[0][2].strip() if ended else 'takes too long'}")


def record(model, ranks, folder, options):
    """A description of the training as it is uncompressed."""
    more = {"CASYNC_RECORD": str(folder)}
    results, why = run.run_case(model, "casync-none", ranks, options.seconds, options.timeout, more)
    if not results:
        raise SystemExit(f"{model}: {why}")
    return folder / "model.txtpb"


def make_plan(casync, folder, ranks, described):
    """The plan's file, and what it predicts, in words."""
    path = folder / "plan.txtpb"
    command = [casync, "plan", "--goal", "step", "--profile", str(folder / "profile.txtpb"), "--model", str(described), "-o", str(path)]
    command += ["-n", str(ranks), "--nodes", "1", "--codecs", ",".join(CODECS)]
    made = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return path, made.stdout.splitlines()[0]


def measure(model, ranks, ways, options):
    """Milliseconds of a step by way: the median over rounds of a round's median."""
    medians = {way: [] for way in ways}
    for turn in range(options.rounds):
        # There and back, so that nobody always runs after the same one.
        for way, argument in list(ways.items())[:: 1 if turn % 2 == 0 else -1]:
            results, why = run.run_case(model, argument, ranks, options.seconds, options.timeout)
            if not results:
                raise SystemExit(f"{model}, {way}: {why}")
            medians[way].append(results[0]["median_ms"])
    return {way: statistics.median(values) for way, values in medians.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path, help="build folder with bin/casync")
    parser.add_argument("--models", nargs="+", default=["mlp24"], choices=["mlp24", "gpt"])
    parser.add_argument("--ranks", nargs="+", type=int, default=[2], choices=[2, 4])
    parser.add_argument("--links", nargs="+", default=["unshaped", "1gbit", "100mbit"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3.0, help="measured per way and round, and at least three steps")
    parser.add_argument("--timeout", type=float, default=200.0, help="of one way in one round")
    options = parser.parse_args()
    casync = str((options.build / "bin/casync").resolve())
    os.environ.update(KEEP_MEMORY)
    print(f"# load average {os.getloadavg()[0]:.2f}, {os.cpu_count()} cores; median ms of a step")
    ways = ["none", *CODECS]
    print(f"# model ranks link     {''.join(f'{way:>9}' for way in ways)}     plan  plan / best of them")
    slower = False
    with network.two_hosts():
        for model, ranks, link in ((m, r, k) for m in options.models for r in options.ranks for k in options.links):
            network.shape(link)
            with tempfile.TemporaryDirectory() as name:
                folder = pathlib.Path(name)
                profile(casync, folder / "profile.txtpb", ranks)
                plan, predicted = make_plan(casync, folder, ranks, record(model, ranks, folder, options))
                arguments = {way: f"casync-{way}" for way in ways} | {"plan": f"casync-plan={plan}"}
                times = measure(model, ranks, arguments, options)
            ratio = times["plan"] / min(times[way] for way in ways)
            slower = slower or ratio > BOUND
            columns = "".join(f"{times[way]:9.1f}" for way in arguments)
            print(f"  {model:5} {ranks:5} {link:9}{columns}  {ratio:.3f}   # {predicted}", flush=True)
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
