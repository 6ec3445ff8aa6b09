# SPDX-License-Identifier: Apache-2.0
"""All-reduce of one float32 gradient between two ranks on one machine: ours, uncompressed, Gloo and Open MPI.

    python tests/bench/all_reduce/run.py --command build/release/bin/casync

The ways take turns, round after round, so that other load on the machine affects all of them; every way is in place,
from the call to the result on rank 0. A wrong sum ends the program. Needs torch, and for Open MPI peer_mpi next to the
command, which is built where Open MPI is there: without it these ways are left out.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SIZES = {64 << 10: 1000, 1 << 20: 200, 64 << 20: 20}  # bytes: iterations
MPI = "mpirun --allow-run-as-root --oversubscribe -n 2 --mca pml ob1 --mca btl self,{btl}"
PORT = 29478


def output_of(command, **extra):
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, **extra)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stderr}")
    return done.stdout


def times(text):
    return [float(line) for line in text.split()]


def gloo(size, iterations):
    def rank(number):
        environment = {
            **os.environ,
            "RANK": str(number),
            "WORLD_SIZE": "2",
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(PORT),
            "GLOO_SOCKET_IFNAME": "lo",
        }
        command = [sys.executable, HERE / "peer_gloo.py", str(size), str(iterations)]
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)

    ranks = [rank(0), rank(1)]
    try:
        outputs = [process.communicate(timeout=300)[0] for process in ranks]
    finally:
        for process in ranks:
            process.kill()
    if any(process.returncode for process in ranks):
        raise SystemExit("Gloo failed")
    result = times(outputs[0])
    return min(result), statistics.median(result)


def mpi(program, btl):
    def measure(size, iterations):
        result = times(output_of([*MPI.format(btl=btl).split(), program, str(size), str(iterations)]))
        return min(result), statistics.median(result)

    return measure


def casync(command, transport, strategy="ps"):
    def measure(size, iterations):
        options = f"bench all_reduce --transport {transport} --strategy {strategy}"
        options += f" -b {size} -e {size} -n {iterations} --json"
        row = json.loads(output_of([command, *options.split()]))["rows"][0]
        return row["time_min_us"], row["time_median_us"]

    return measure


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", default="build/release/bin/casync")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sizes", type=int, nargs="+", choices=SIZES, default=list(SIZES), metavar="BYTES")
    parser.add_argument("--only", nargs="+", metavar="WAY", help="these ways and no others")
    options = parser.parse_args()
    program = pathlib.Path(options.command).parent / "peer_mpi"
    if shutil.which(options.command) is None:
        raise SystemExit(f"{options.command} was not found: run tools/setup and build the preset release")
    ways = {
        "gloo": gloo,
        "openmpi tcp": mpi(program, "tcp"),
        "openmpi shm": mpi(program, "vader"),
        "casync tcp": casync(options.command, "ucx:tcp"),
        "casync shm": casync(options.command, "ucx:shm"),
        "all_gather tcp": casync(options.command, "ucx:tcp", "all_gather"),
        "all_gather shm": casync(options.command, "ucx:shm", "all_gather"),
    }
    missing = [str(tool) for tool in (program, "mpirun") if shutil.which(tool) is None]
    if missing:
        print(f"# Open MPI left out: {' and '.join(missing)} not found (tools/setup installs Open MPI)")
        ways = {name: way for name, way in ways.items() if not name.startswith("openmpi")}
    unknown = set(options.only or []) - set(ways)
    if unknown:
        raise SystemExit(f"--only: {', '.join(sorted(unknown))} is none of {', '.join(ways)}")
    ways = {name: way for name, way in ways.items() if not options.only or name in options.only}
    print(f"# two ranks, us: the least, and the median of {options.rounds} rounds' medians")
    print(f"# load average {os.getloadavg()[0]:.2f}, {os.cpu_count()} cores")
    print(f"{'bytes':>9} {'way':14} {'min':>10} {'median':>10}")
    for size in options.sizes:
        rounds = [{name: way(size, SIZES[size]) for name, way in ways.items()} for _ in range(options.rounds)]
        for name in ways:
            least = min(one[name][0] for one in rounds)
            middle = statistics.median(one[name][1] for one in rounds)
            print(f"{size:9} {name:14} {least:10.1f} {middle:10.1f}", flush=True)


if __name__ == "__main__":
    main()
