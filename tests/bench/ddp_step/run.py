# SPDX-License-Identifier: Apache-2.0
"""Measures the time of a DDP step with different ways of synchronizing, on links of different speed.

    python tests/bench/ddp_step/run.py --links unshaped 1gbit --ways no-op plain fp16 powersgd1 casync-int8

Half of the ranks live in each of two network namespaces, joined by a veth pair that tbf shapes; needs root, and the
package on PYTHONPATH. `mlp24` is 24 x Linear(1024, 1024) at batch 1, 100.8 MB of gradients; models.py has
all models. `link`: megabytes that the interface counted per step, next to those expected to cross it.

Ways take turns: each one once in a round, in processes of its own. `median_ms` is the median of the rounds' medians,
and `min_ms` the least step of all rounds.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

import network

HERE = pathlib.Path(__file__).resolve().parent
MODELS = ["mlp24", "gpt", "small", "embedding", "convolutions"]  # models.py
WAYS = ["no-op", "plain", "fp16", "powersgd1", "powersgd4"]
WAYS += ["casync-none", "casync-int8", "casync-int4", "casync-onebit"]
PORT = 29477


def environment(rank, ranks):
    return {
        **os.environ,
        "RANK": str(rank),
        "WORLD_SIZE": str(ranks),
        # The namespaces share one machine's cores, whatever their networks pretend.
        "LOCAL_RANK": str(rank),
        "LOCAL_WORLD_SIZE": str(ranks),
        "MASTER_ADDR": network.ADDRESSES[0],
        "MASTER_PORT": str(PORT),
        "OMP_NUM_THREADS": "1",
        "GLOO_SOCKET_IFNAME": network.DEVICE,
        "CASYNC_INTERFACE": network.DEVICE,
        # UCX asks for the machine, not for the namespace: shared memory would go around the link.
        "UCX_TLS": "tcp,self",
    }


def run_ranks(command, ranks, timeout, more=None, hosts=2, pinned=False):
    """(exit code, stdout, stderr) of each rank, as many on each of the hosts; None when they take too long. `more`:
    environment variables. `pinned`: each host has one processor, which its ranks share."""
    processes = []
    for rank in range(ranks):
        at = rank * hosts // ranks
        own = ["ip", "netns", "exec", network.NAMES[at], *(["taskset", "-c", str(at)] if pinned else []), *command]
        variables = {**environment(rank, ranks), **(more or {})}
        if pinned:
            each = ranks // hosts
            variables |= {"LOCAL_RANK": str(rank % each), "LOCAL_WORLD_SIZE": str(each)}
        if hosts == ranks or pinned:
            variables["CASYNC_NODE"] = network.NAMES[at]
        processes.append(
            subprocess.Popen(own, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        )
    try:
        outputs = [process.communicate(timeout=timeout) for process in processes]
    except subprocess.TimeoutExpired:
        return None
    finally:
        for process in processes:
            process.kill()
    return [(process.returncode, *output) for process, output in zip(processes, outputs)]


def run_workers(program, arguments, ranks, timeout, more=None, hosts=2, pinned=False):
    """The results of a program beside this file on all ranks, by rank; an empty list and the reason when one failed."""
    ended = run_ranks([sys.executable, str(HERE / program), *arguments], ranks, timeout, more, hosts, pinned)
    if ended is None:
        return [], f"no result in {timeout:.0f} s"
    results = []
    for code, output, errors in ended:
        found = [line for line in output.splitlines() if line.startswith("RESULT ")]
        if code != 0 or not found:
            return [], (errors.strip().splitlines() or ["ended without a result"])[-1]
        results.append(json.loads(found[0].removeprefix("RESULT ")))
    return results, ""


def run_case(model, way, ranks, seconds, timeout, more=None, hosts=2):
    """As run_workers: training of a model with one way of synchronizing."""
    return run_workers("worker.py", [model, way, "--seconds", str(seconds)], ranks, timeout, more, hosts)


def by_turns(ways, rounds, measure):
    """A list for each way of what measure(way) returns, once in each round: there and back, so that none always runs
    after the same one. A way that has returned nothing has failed, and has no further turn."""
    found = [[] for _ in ways]
    for number in range(rounds):
        for at in range(len(ways))[:: 1 if number % 2 == 0 else -1]:
            if all(found[at]):
                found[at].append(measure(ways[at]))
    return found


def merged(rounds):
    """The results by rank of several rounds as those of one."""
    ranks = []
    for results in zip(*rounds):
        steps = sum(result["steps"] for result in results)
        mean = {
            name: sum(result["steps"] * result[name] for result in results) / steps
            for name in ("rank_bytes", "link_bytes")
        }
        least = min(result["min_ms"] for result in results)
        median = statistics.median(result["median_ms"] for result in results)
        ranks.append({"min_ms": least, "median_ms": median, "steps": steps, **mean})
    return ranks


def run_cases(model, ranks, options):
    """(results, reason) of each way, by turns: as run_case, and merged."""
    reasons = {}

    def turn(way):
        results, reasons[way] = run_case(model, way, ranks, options.seconds / options.rounds, options.timeout)
        return results

    found = by_turns(options.ways, options.rounds, turn)
    return [(merged(rounds) if all(rounds) else [], reasons[way]) for way, rounds in zip(options.ways, found)]


def crossing(results):
    """Bytes per step that should leave the first namespace: each of its ranks sends to the others alike over our
    transport, and around a ring, in which two neighbours of all are apart, over Gloo."""
    half = len(results) // 2
    return half, sum(result["rank_bytes"] for result in results[:half])


def link_column(way, results):
    """Measured and expected megabytes on the link per step, and whether they agree."""
    half, sent = crossing(results)
    if way.startswith("casync-"):
        expected = sent * half / (len(results) - 1)
    else:
        expected = sent / half
    measured = results[0]["link_bytes"]
    # Headers add up to 6 % at 1,500-byte packets; 50 kB covers barriers and heartbeats.
    agree = 0.98 * expected - 50e3 <= measured <= 1.08 * expected + 50e3
    return f"{measured / 1e6:9.2f} {expected / 1e6:9.2f} {'ok' if agree else 'DIFFERS'}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", default=["mlp24"], choices=MODELS)
    parser.add_argument("--ranks", nargs="+", type=int, default=[2], choices=[2, 4])
    parser.add_argument("--links", nargs="+", default=["unshaped", "10gbit", "1gbit", "100mbit"])
    parser.add_argument("--ways", nargs="+", default=WAYS, metavar="WAY", help=" ".join(WAYS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3.0, help="of a case in all rounds of three or more steps")
    parser.add_argument("--timeout", type=float, default=150.0, help="of one case in a round")
    options = parser.parse_args()
    print(f"# load average {os.getloadavg()[0]:.2f}, {os.cpu_count()} cores")
    print("# model ranks link      way            min_ms median_ms steps   link_MB    should")
    failed = False
    with network.two_hosts():
        for model, ranks, link in ((m, r, k) for m in options.models for r in options.ranks for k in options.links):
            network.shape(link)
            for way, (results, why) in zip(options.ways, run_cases(model, ranks, options)):
                head = f"{model:7} {ranks:5} {link:9} {way:14}"
                if results:
                    first = results[0]
                    times = f"{first['min_ms']:7.1f} {first['median_ms']:9.1f} {first['steps']:5}"
                    print(head, times, link_column(way, results), flush=True)
                else:
                    failed = True
                    print(head, "failed:", why, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
