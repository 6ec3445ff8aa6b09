#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""DistributedDataParallel on a GPU that two processes share: bytes, time of a step, slowdown of a backward pass.

    python tests/bench/gpu_step/run.py [bytes] [step] [slowdown] [--device cuda:0] [--link 1gbit]

Needs a PyTorch with CUDA and the package on PYTHONPATH. Exit code 1: a case failed, or bytes differ.

bytes     averages and residuals of 12 steps by DDP's hook, also with nodes of one rank, and DistributedOptimizer: those
          on the GPU are those on the CPU; and averages that another stream reads once it has waited for a bucket's future (pytorch#155714)
step      24 x Linear(1024, 1024), 100.8 MB of gradients, with Gloo, its fp16 hook, and CaSync. With --link the two
          processes are in network namespaces whose link tbf shapes; needs root
slowdown  a backward pass of matrices in bfloat16 alone, and while two sessions encode, exchange and decode 100 MB
"""

import argparse
import concurrent.futures
import contextlib
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "ddp_step"))
import network  # noqa: E402

AVERAGED = [f"casync-{codec}" for codec in ("none", "int8", "int4", "onebit", "topk", "powersgd", "topk_coded")]
AVERAGED += ["node-none", "node-int4", "optimizer-none", "optimizer-int4", "optimizer-topk", "futures"]
WAYS = ("gloo", "fp16", "casync-none", "casync-int8", "casync-int4", "casync-topk", "casync-onebit")


SAME = "the CPU's bytes"


def environment(rank, ranks, port, shaped):
    place = {"RANK": rank, "WORLD_SIZE": ranks, "LOCAL_RANK": rank, "LOCAL_WORLD_SIZE": ranks, "MASTER_PORT": port}
    variables = {**os.environ, **{name: str(value) for name, value in place.items()}}
    variables["MASTER_ADDR"] = network.ADDRESSES[0] if shaped else "127.0.0.1"
    variables["RENDEZVOUS"] = f"{variables['MASTER_ADDR']}:{port}"
    variables["CASYNC_TOKEN"] = "of one machine"
    if shaped:
        variables.update(GLOO_SOCKET_IFNAME=network.DEVICE, CASYNC_INTERFACE=network.DEVICE, UCX_TLS="tcp,self")
    return variables


def outcome(case, device, way, ranks=2, shaped=False, timeout=90, **more):
    """The results that each rank has printed, a list each, and the last lines of the first one that failed, or ""."""
    port = random.randrange(20000, 30000)
    processes = []
    for rank in range(ranks):
        host = ["ip", "netns", "exec", network.NAMES[rank]] if shaped else []
        command = [*host, sys.executable, str(HERE / "rank.py"), case, device, way]
        own = {**environment(rank, ranks, port, shaped), **more}
        processes.append(subprocess.Popen(command, env=own, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
    complaint, end = "", time.monotonic() + timeout
    try:
        outputs = [process.communicate(timeout=max(0, end - time.monotonic())) for process in processes]
    except subprocess.TimeoutExpired:
        complaint = f"no result in {timeout} s"
    finally:
        for process in processes:
            process.kill()
    if complaint:
        outputs = [process.communicate() for process in processes]  # all that they have printed
    expected = (0, -signal.SIGKILL) if complaint else (0,)
    for process, (_, errors) in zip(processes, outputs):
        if process.returncode not in expected:
            complaint = " / ".join(errors.strip().splitlines()[-6:]) or f"exit code {process.returncode}"
            break
    marks = [[line for line in output.splitlines() if line.startswith("RESULT ")] for output, _ in outputs]
    return [[json.loads(line.removeprefix("RESULT ")) for line in lines] for lines in marks], complaint


def run(*arguments, **more):
    """The results of each rank, a list; or the last lines of the first one that failed, as a string."""
    results, complaint = outcome(*arguments, **more)
    return complaint or results


def verdict_of(on_cpu, on_gpu):
    for found in (on_cpu, on_gpu):
        if isinstance(found, str):
            return found
    if any(result["wrong"] for (result,) in on_gpu):
        return f"{on_gpu[0][0]['wrong']} gradients are not the mean"
    return SAME if on_gpu == on_cpu else "DIFFER from the CPU's"


def compare_bytes(device, ways):
    print("| way | transport | gradients and residuals of two ranks |\n|---|---|---|")
    failed = False
    with concurrent.futures.ThreadPoolExecutor(max(1, os.cpu_count() // 3)) as pool:
        on_cpu = {way: pool.submit(run, "bytes", "cpu", way) for way in ways}
        cases = [(way, transport) for way in ways for transport in ("ucx:tcp", "ucx:shm")]
        on_gpu = [pool.submit(run, "bytes", device, way, CASYNC_TRANSPORT=transport) for way, transport in cases]
        for (way, transport), found in zip(cases, on_gpu):
            verdict = verdict_of(on_cpu[way].result(), found.result())
            failed |= verdict != SAME
            print(f"| {way} | {transport} | {verdict} |", flush=True)
    return failed


def time_steps(device, link, ways):
    shaped = link is not None
    with network.two_hosts() if shaped else contextlib.nullcontext():
        if shaped:
            network.shape(link)
        results, complaint = outcome("step", device, ",".join(ways), shaped=shaped)
    print(f"\n| way, {link or 'one host'} | least, ms | median, ms | steps | over |\n|---|---|---|---|---|")
    for one in results[0]:
        print(f"| {one['way']} | {one['min_ms']:.1f} | {one['median_ms']:.1f} | {one['steps']} | {one['transport']} |")
    if complaint:
        print(f"\n{complaint}")
    return bool(complaint)


def time_backward(device):
    failed = False
    print("\n| codec | backward pass alone, ms | while codecs run | slower by | their steps a second |\n|---|---|---|---|---|")
    for codec in ("int4", "int8", "topk"):
        found = run("slowdown", device, codec, ranks=1)
        if isinstance(found, str):
            failed = True
            print(f"| `{codec}` | {found} |", flush=True)
            continue
        one = found[0][0]
        slower = 100 * (one["beside_ms"] / one["alone_ms"] - 1)
        print(
            f"| `{codec}` | {one['alone_ms']:.2f} | {one['beside_ms']:.2f} | {slower:.1f} % | {one['steps_per_s']:.1f} of "
            f"{one['mb_per_step']:.0f} MB on two ranks |",
            flush=True,
        )
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", default=["bytes", "step", "slowdown"])
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--link", help="rate of a link between two network namespaces, as 1gbit")
    parser.add_argument("--ways", nargs="+", default=WAYS, metavar="WAY", help="of steps: " + " ".join(WAYS))
    parser.add_argument("--averaged", nargs="+", default=AVERAGED, metavar="WAY", help="of bytes: " + " ".join(AVERAGED))
    options = parser.parse_args()
    failed = False
    for case in options.cases:
        if case == "bytes":
            failed |= compare_bytes(options.device, options.averaged)
        elif case == "step":
            failed |= time_steps(options.device, options.link, options.ways)
        else:
            failed |= time_backward(options.device)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
