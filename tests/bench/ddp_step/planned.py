# SPDX-License-Identifier: Apache-2.0
"""Checks that `casync plan` finds the fastest way: its plan against DDP and each codec alone, on several links.

    python tests/bench/ddp_step/planned.py build/release --links unshaped 1gbit 100mbit

Each rank lives in a network namespace of its own, all are joined by a switch whose links tbf shapes each way; needs
root, and the package on PYTHONPATH. For each link the ranks profile themselves (`casync profile`), the
training is recorded (CASYNC_RECORD), a plan is made of both, and all ways take turns. The last columns are the plan's
step beside that of the best other way (`beside_best`), and how far two rounds of one way are apart (`scatter`). Exit
code 1: some best way is more than 3 % faster than the plan.
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
# A way whose first round takes this many times the least is not measured again.
HOPELESS = 1.5
# Gradients are freed after each step. Depending on the rest of the heap, glibc may give their 100 MB to the kernel, and
# the next step then pays up to 50 ms for fresh pages. These settings make glibc keep the memory.
KEEP_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(32 << 20), "MALLOC_TRIM_THRESHOLD_": str(1 << 32)}


def profile(casync, path, ranks):
    command = [casync, "profile", "--quick", "--inside", "ucx:tcp", "--between", "ucx:tcp"]
    command += ["--codecs", ",".join(["none", *CODECS])]
    meet = {"CASYNC_RENDEZVOUS": f"file:{path.parent}"}  # torch's store is Python's
    ended = run.run_ranks([*command, "-o", str(path)], ranks, 600, meet, ranks)
    if ended is None or any(code != 0 for code, _, _ in ended):
        raise SystemExit(f"casync profile: {ended[0][2].strip() if ended else 'takes too long'}")


def record(model, ranks, folder, options):
    """A description of the training as it is uncompressed."""
    more = {"CASYNC_RECORD": str(folder)}
    results, why = run.run_case(model, "casync-none", ranks, options.seconds, options.timeout, more, ranks)
    if not results:
        raise SystemExit(f"{model}: {why}")
    return folder / "model.txtpb"


def make_plan(casync, profiled, folder, ranks, described):
    """The plan's file, and what it predicts, in words."""
    path = folder / "plan.txtpb"
    command = [casync, "plan", "--goal", "step", "--profile", str(profiled), "--model", str(described)]
    command += ["-o", str(path), "-n", str(ranks), "--nodes", str(ranks), "--codecs", ",".join(CODECS)]
    made = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return path, made.stdout.splitlines()[0]


def measure(model, ranks, ways, options):
    """Milliseconds of a step by way and round: a round's median."""
    times = {way: [] for way in ways}
    for turn in range(options.rounds):
        least = min((values[0] for values in times.values() if values), default=0)
        # There and back, so that nobody always runs after the same one.
        for way, argument in list(ways.items())[:: 1 if turn % 2 == 0 else -1]:
            if turn > 0 and times[way][0] > HOPELESS * least:
                continue
            results, why = run.run_case(model, argument, ranks, options.seconds, options.timeout, hosts=ranks)
            if not results:
                raise SystemExit(f"{model}, {way}: {why}")
            times[way].append(results[0]["median_ms"])
    return times


def beside_best(times):
    """The plan's step over the best other way's: the median over rounds.

    The best way of a round is the one that was best in the others. The least of several noisy times is too small; a way
    that is chosen without the time that it is then compared by has no such advantage.
    """
    rounds = len(times["plan"])
    others = {way: values for way, values in times.items() if way != "plan" and len(values) == rounds}
    if not others:
        return times["plan"][0] / min(values[0] for way, values in times.items() if way != "plan")

    def elsewhere(way, turn):
        values = [value for at, value in enumerate(others[way]) if at != turn or rounds == 1]
        return statistics.median(values)

    ratios = []
    for turn, planned in enumerate(times["plan"]):
        best = min(others, key=lambda way: elsewhere(way, turn))
        ratios.append(planned / others[best][turn])
    return statistics.median(ratios)


def scatter(times):
    """The median difference of two rounds of a way that follow one another, as a share of its time."""
    steps = [abs(a - b) / min(a, b) for values in times.values() for a, b in zip(values, values[1:])]
    return statistics.median(steps) if steps else 0.0


def compare(casync, profiled, model, ranks, link, folder, options):
    """Prints a row; the time of the plan's step beside the least of the others."""
    plan, predicted = make_plan(casync, profiled, folder, ranks, record(model, ranks, folder, options))
    ways = {"ddp": "plain"} | {way: f"casync-{way}" for way in ["none", *CODECS]} | {"plan": f"casync-plan={plan}"}
    times = measure(model, ranks, ways, options)
    ratio = beside_best(times)
    columns = "".join(f"{statistics.median(times[way]):9.1f}" for way in ways)
    print(f"  {model:12} {ranks:5} {link:9}{columns}  {ratio:.3f} {scatter(times):7.3f}   # {predicted}", flush=True)
    return ratio


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path, help="build folder with bin/casync")
    parser.add_argument("--models", nargs="+", default=["mlp24"], choices=run.MODELS)
    parser.add_argument("--ranks", nargs="+", type=int, default=[2], choices=[2, 4])
    parser.add_argument("--links", nargs="+", default=["unshaped", "1gbit", "100mbit"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3.0, help="measured per way and round, and at least three steps")
    parser.add_argument("--timeout", type=float, default=200.0, help="of one way in one round")
    options = parser.parse_args()
    casync = str((options.build / "bin/casync").resolve())
    os.environ.update(KEEP_MEMORY)
    print(f"# load average {os.getloadavg()[0]:.2f}, {os.cpu_count()} cores; median ms of a step")
    ways = "".join(f"{way:>9}" for way in ["ddp", "none", *CODECS, "plan"])
    print(f"# model        ranks link     {ways}  plan / best, scatter")
    slower = False
    for ranks, link in ((r, k) for r in options.ranks for k in options.links):
        with network.hosts(ranks), tempfile.TemporaryDirectory() as name:
            network.shape_all(ranks, link)
            profiled = pathlib.Path(name) / "profile.txtpb"
            profile(casync, profiled, ranks)
            for model in options.models:
                with tempfile.TemporaryDirectory() as folder:
                    ratio = compare(casync, profiled, model, ranks, link, pathlib.Path(folder), options)
                slower = slower or ratio > BOUND
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
