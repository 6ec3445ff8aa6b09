# SPDX-License-Identifier: Apache-2.0
"""Checks that `casync tune` finds the fastest way: its plan against DDP and each codec alone, on several links.

    python tests/bench/ddp_step/planned.py build/release --links unshaped 1gbit 100mbit

Each rank lives in a network namespace of its own, all are joined by a switch whose links tbf shapes each way, and share
this machine's processors; with `--pinned` there are two namespaces, and each has one processor for its ranks, as two
machines would. Needs root, and the package on PYTHONPATH. For each link the ranks profile themselves (`casync
profile`), `casync tune` records the training, plans, and chooses among what it measures, and all ways take turns in one
process (turns.py): `planned` is the planner's plan, `plan` the one that was chosen. The last columns are the chosen
plan's step beside that of the best other way (`beside_best`), and how far two turns of one way are apart (`scatter`).
Exit code 1: some best way is more than 3 % faster than the plan.

`no-op` trains and exchanges nothing. The profile and the recording also predict each way's step (`casync simulate`);
the errors of all follow the rows, and those of their exposed time, the step beyond `no-op`. `--keep FOLDER` keeps
the times, and all that predictions need (predicted.py predicts them again).
"""

import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile

import network
import predicted
import run

CODECS = ["int8", "int4", "onebit"]
BOUND = 1.03
# Gradients are freed after each step. Depending on the rest of the heap, glibc may give their 100 MB to the kernel, and
# the next step then pays up to 50 ms for fresh pages. These settings make glibc keep the memory.
KEEP_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(32 << 20), "MALLOC_TRIM_THRESHOLD_": str(1 << 32)}


def hosts_of(ranks, options):
    return 2 if options.pinned else ranks


def profile(casync, path, ranks, options):
    command = [casync, "profile", "--quick", "--inside", "ucx:tcp", "--between", "ucx:tcp"]
    command += ["--codecs", ",".join(["none", *CODECS])]
    meet = {"CASYNC_RENDEZVOUS": f"file:{path.parent}"}  # torch's store is Python's
    command += ["-o", str(path)]
    ended = run.run_ranks(command, ranks, 600, meet, hosts_of(ranks, options), options.pinned)
    if ended is None or any(code != 0 for code, _, _ in ended):
        raise SystemExit(f"casync profile: {ended[0][2].strip() if ended else 'takes too long'}")


def tune(casync, profiled, model, ranks, folder, options):
    """The folder of `casync tune`, and in words what the planner predicted and which way was chosen."""
    tuned = folder / "tuned"
    training = [sys.executable, str(run.HERE / "worker.py"), model, "casync", "--seconds", "1000"]
    command = [casync, "tune", "--json", "--goal", "step", "--profile", str(profiled), "--codecs", ",".join(CODECS)]
    command += ["--steps", str(options.steps), "-o", str(tuned), "--", *training]
    meet = {"CASYNC_RENDEZVOUS": f"file:{folder}"}
    ended = run.run_ranks(command, ranks, options.timeout, meet, hosts_of(ranks, options), options.pinned)
    if ended is None or any(code != 0 for code, _, _ in ended):
        raise SystemExit(f"casync tune: {ended[0][2].strip() if ended else 'takes too long'}")
    chosen = json.loads(ended[0][1])["chosen"]
    gain = (tuned / "planned.txtpb").read_text().splitlines()[0].lstrip("# ")
    return tuned, f"{chosen}; {gain}"


def measure(model, ranks, ways, options):
    """Milliseconds of a step by way and turn: a turn's median. All ways alternate within one process for each rank."""
    arguments = [model, *ways.values(), "--turns", str(options.turns), "--seconds", str(options.seconds)]
    hosts = hosts_of(ranks, options)
    results, why = run.run_workers("turns.py", arguments, ranks, options.timeout, hosts=hosts, pinned=options.pinned)
    if not results:
        raise SystemExit(f"{model}: {why}")
    return {way: results[0][argument] for way, argument in ways.items()}


def beside_best(times):
    """The plan's step over the best other way's: the median over turns.

    The best way of a turn is the one that was best in the others. The least of several noisy times is too small; a way
    that is chosen without the time that it is then compared by has no such advantage.
    """
    turns = len(times["plan"])
    others = {way: values for way, values in times.items() if way != "plan" and len(values) == turns}
    if not others:
        return times["plan"][0] / min(values[0] for way, values in times.items() if way != "plan")

    def elsewhere(way, turn):
        values = [value for at, value in enumerate(others[way]) if at != turn or turns == 1]
        return statistics.median(values)

    ratios = []
    for turn, planned in enumerate(times["plan"]):
        best = min(others, key=lambda way: elsewhere(way, turn))
        ratios.append(planned / others[best][turn])
    return statistics.median(ratios)


def scatter(times):
    """The median difference of two turns of a way that follow one another, as a share of its time."""
    steps = [abs(a - b) / min(a, b) for values in times.values() for a, b in zip(values, values[1:])]
    return statistics.median(steps) if steps else 0.0


def compare(casync, model, ranks, link, folder, options):
    """Prints a row; returns the time of the tuned plan's step over the least of the others, and the row's settings."""
    tuned, chosen = tune(casync, folder.parent / "profile.txtpb", model, ranks, folder, options)
    ways = {"no-op": "no-op", "ddp": "plain"} | {way: f"casync-{way}" for way in ["none", *CODECS]}
    ways |= {"planned": f"casync-plan={tuned / 'planned.txtpb'}", "plan": f"casync-plan={tuned / 'plan.txtpb'}"}
    times = measure(model, ranks, ways, options)
    ratio = beside_best({way: values for way, values in times.items() if way not in ("no-op", "planned")})
    columns = "".join(f"{statistics.median(times[way]):9.1f}" for way in ways)
    print(f"  {model:12} {ranks:5} {link:9}{columns}  {ratio:.3f} {scatter(times):7.3f}   # {chosen}", flush=True)
    where = {"model": model, "ranks": ranks, "nodes": hosts_of(ranks, options), "link": link}
    setting = predicted.keep(options.keep or folder / "kept", tuned, where, times)
    return ratio, predicted.rows_of(casync, setting)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path, help="build folder with bin/casync")
    parser.add_argument("--models", nargs="+", default=["mlp24"], choices=run.MODELS)
    parser.add_argument("--ranks", nargs="+", type=int, default=[2], choices=[2, 4])
    parser.add_argument("--links", nargs="+", default=["unshaped", "1gbit", "100mbit"])
    parser.add_argument("--turns", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=1.0, help="of each way and turn, and at least three steps")
    parser.add_argument("--steps", type=int, default=20, help="of each training of `casync tune`")
    parser.add_argument("--timeout", type=float, default=600.0, help="of all turns of one row")
    parser.add_argument("--pinned", action="store_true", help="two hosts of one processor each")
    parser.add_argument("--keep", type=pathlib.Path, help="folder that takes times, profiles, models and plans")
    options = parser.parse_args()
    casync = str((options.build / "bin/casync").resolve())
    os.environ.update(KEEP_MEMORY)
    print(f"# load average {os.getloadavg()[0]:.2f}, {os.cpu_count()} cores; median ms of a step")
    ways = "".join(f"{way:>9}" for way in ["no-op", "ddp", "none", *CODECS, "planned", "plan"])
    print(f"# model        ranks link     {ways}  plan / best, scatter")
    slower, rows = False, []
    for ranks, link in ((r, k) for r in options.ranks for k in options.links):
        with network.hosts(hosts_of(ranks, options)), tempfile.TemporaryDirectory() as name:
            network.shape_all(hosts_of(ranks, options), link)
            profile(casync, pathlib.Path(name) / "profile.txtpb", ranks, options)
            for model in options.models:
                folder = pathlib.Path(name) / model
                folder.mkdir()
                ratio, found = compare(casync, model, ranks, link, folder, options)
                slower = slower or ratio > BOUND
                rows += found
    print(*predicted.lines(rows), sep="\n")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
