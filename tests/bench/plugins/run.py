#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cost and overlap of the plugins for TensorFlow and MXNet: two ranks here, each in its framework's environment.

  overlap   8 gradients become ready 50 ms apart, and each needs 50 ms of a 1 Gb/s link: ms of a step; ideal is 450
  cost      512 gradients of 4 KiB, one rank: us per gradient beyond what the session itself takes
  training  a model of 100 MB under model.fit and gluon over a 1 Gb/s link: s of a step with `none` and with `onebit`
  own       a loop over such a model with `none` beside the framework's own way, MultiWorkerMirroredStrategy and the store
            dist_sync with a server on each host: two network namespaces, joined by a veth pair of 1 Gb/s (tbf); needs root

usage: PYTHONPATH=build/release/python run.py [--framework NAME] [--only WHAT] [--rounds N]
"""

import argparse
import contextlib
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(ROOT / "tests/plugins"))
sys.path.insert(0, str(ROOT / "tests/bench/ddp_step"))
import network  # noqa: E402
import ranks  # noqa: E402

FRAMEWORKS = ("tensorflow", "mxnet")
IDEAL_MS = 8 * 50 + 50


def job(framework, name, size, env=None, **arguments):
    python = str(ROOT / ".venv" / framework / "bin/python")
    env = {"CASYNC_TIMEOUT_SEC": "300", **(env or {})}
    return ranks.values(HERE / f"{framework}_rank.py", name, size, env=env, pythons=[[python]] * size, **arguments)


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


def hosts_of(size):
    """The command that starts each rank on a host of its own."""
    return {rank: ["ip", "netns", "exec", network.NAMES[rank]] for rank in range(size)}


def of_mxnet(number):
    """What MXNet's own processes on host `number` read from their environment."""
    return {
        "DMLC_PS_ROOT_URI": network.ADDRESSES[0],
        "DMLC_PS_ROOT_PORT": "29480",
        "DMLC_NUM_WORKER": "2",
        "DMLC_NUM_SERVER": "2",
        "DMLC_NODE_HOST": network.ADDRESSES[number],
        "DMLC_INTERFACE": network.DEVICE,
    }


@contextlib.contextmanager
def servers_of_mxnet():
    """The scheduler on the first host and a server on each, which are the programs that `import mxnet` becomes."""
    python, processes = str(ROOT / ".venv/mxnet/bin/python"), []
    try:
        for role, number in (("scheduler", 0), ("server", 0), ("server", 1)):
            variables = {**os.environ, **of_mxnet(number), "DMLC_ROLE": role, "OMP_NUM_THREADS": "1"}
            command = ["ip", "netns", "exec", network.NAMES[number], python, "-c", "import mxnet"]
            processes.append(subprocess.Popen(command, env=variables, stderr=subprocess.DEVNULL))
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def own(framework, rounds):
    env = {"CASYNC_CODEC": "none", "CASYNC_INTERFACE": network.DEVICE, "UCX_TLS": "tcp,self"}
    seconds = {}
    with network.two_hosts():
        network.shape("1gbit")
        for name in ("beside", "own"):
            with servers_of_mxnet() if (framework, name) == ("mxnet", "own") else contextlib.nullcontext():
                envs = {rank: {**of_mxnet(rank), "DMLC_ROLE": "worker"} if name == "own" else {} for rank in range(2)}
                both = job(framework, name, 2, env, rounds=rounds, before=hosts_of(2), envs=envs)
                steps = [max(pair) for pair in zip(*both)]
                seconds[name] = sorted(steps)[len(steps) // 2]
    print(f"own       {framework:10}  CaSync {seconds['beside']:.2f} s, its own way {seconds['own']:.2f} s: "
          f"{seconds['beside'] / seconds['own']:.2f} x")  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--framework", choices=FRAMEWORKS)
    parser.add_argument("--only", choices=["overlap", "cost", "training", "own"])
    parser.add_argument("--rounds", type=int, default=8)
    options = parser.parse_args()
    print(f"# load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    for measure in (overlap, cost, training, own):
        for framework in FRAMEWORKS:
            if options.framework in (None, framework) and options.only in (None, measure.__name__):
                measure(framework, options.rounds)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
