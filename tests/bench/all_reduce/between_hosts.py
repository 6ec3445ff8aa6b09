# SPDX-License-Identifier: Apache-2.0
"""All-reduce of one float32 gradient between network namespaces whose links tbf shapes; one rank in each. Needs root.

    python tests/bench/all_reduce/between_hosts.py --command build/release/bin/casync --links 1gbit 10gbit

Ways differ in the announcement of large messages and take turns, run after run: `usual`, as they are; `announced`, all
above 128 KiB; `unasked`, none. Prints milliseconds, the median over runs of their medians, and the least.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "ddp_step"))
import network  # noqa: E402

SIZES = {"1M": 50, "64M": 8}  # iterations
WAYS = {"usual": {}, "announced": {"UCX_RNDV_THRESH": "128k"}, "unasked": {"UCX_RNDV_THRESH": "2m"}}


def run(command, ranks, codec, size, way):
    """Median and least milliseconds of one run on rank 0."""
    options = f"bench all_reduce --json --codec {codec} --strategy ps -b {size} -e {size} -n {SIZES[size]} -w 3"
    with tempfile.TemporaryDirectory() as meeting:
        processes = []
        for rank, name in enumerate(network.NAMES[:ranks]):
            environment = {**os.environ, **WAYS[way], "CASYNC_RANK": str(rank), "CASYNC_SIZE": str(ranks),
                           "CASYNC_LOCAL_RANK": "0", "CASYNC_LOCAL_SIZE": "1", "CASYNC_RENDEZVOUS": f"file:{meeting}",
                           "CASYNC_TRANSPORT": "ucx:tcp", "CASYNC_INTERFACE": network.DEVICE}
            program = ["ip", "netns", "exec", name, "taskset", "-c", str(rank % os.cpu_count()), command]
            processes.append(subprocess.Popen([*program, *options.split()], env=environment, stdout=subprocess.PIPE,
                                              stderr=subprocess.PIPE, text=True))
        row = json.loads(network.outputs(processes, 300)[0])["rows"][0]
    if row["wrong"]:
        raise SystemExit(f"{codec}, {size}, {way}: {row['wrong']} wrong elements")
    return row["time_median_us"] / 1e3, row["time_min_us"] / 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", default="build/release/bin/casync")
    parser.add_argument("--links", nargs="+", default=["1gbit"], metavar="RATE")
    parser.add_argument("--ranks", nargs="+", type=int, default=[2], choices=[2, 4])
    parser.add_argument("--codecs", nargs="+", default=["none", "int8"], metavar="CODEC")
    parser.add_argument("--sizes", nargs="+", default=list(SIZES), choices=SIZES)
    parser.add_argument("--ways", nargs="+", default=["usual", "announced"], choices=WAYS)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    print(f"# load average {os.getloadavg()[0]:.2f}, {os.cpu_count()} cores")
    print(f"{'link':>9} {'ranks':>5} {'codec':7} {'bytes':>5} {'way':10} {'median':>8} {'least':>8}")
    for ranks in options.ranks:
        with network.hosts(ranks):
            for link in options.links:
                network.shape_all(ranks, link)
                for codec in options.codecs:
                    for size in options.sizes:
                        runs = [{way: run(options.command, ranks, codec, size, way) for way in options.ways}
                                for _ in range(options.runs)]
                        for way in options.ways:
                            middle = statistics.median(one[way][0] for one in runs)
                            least = min(one[way][1] for one in runs)
                            print(f"{link:>9} {ranks:5} {codec:7} {size:>5} {way:10} {middle:8.1f} {least:8.1f}",
                                  flush=True)


if __name__ == "__main__":
    main()
