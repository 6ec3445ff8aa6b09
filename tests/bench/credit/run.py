#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ByteScheduler's credit on a shaped link: time of a step, and time until the most urgent gradient is there.

    sudo python3 tests/bench/credit/run.py build/release

Two network namespaces of one rank each, tbf between them. The model has layers of one size; the layer that is ready last is
needed first. A round measures each plan once, in turns; the table has medians over rounds, and the median over rounds
of the time beside that without a credit in the same round.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "ddp_step"))
import network  # noqa: E402

LAYERS, BACKWARD_S, FORWARD_S = 40, 0.1, 0.05
URGENT = f"layer{LAYERS - 1}"


class Link:
    def __init__(self, rate, elements, partition, credits):
        self.rate, self.elements, self.partition, self.credits = rate, elements, partition, credits


# A credit of 0 is none: each link paces its own. None is a plan with no field at all.
LINKS = [
    Link("1gbit", 400_000, 131072, [0, None, 131072, 524288, 2097152, 8388608]),
    Link("100mbit", 40_000, 16384, [0, None, 16384, 65536, 262144, 1048576]),
]


def model_text(elements):
    lines = ["version: 1", 'name: "layers"', f"backward_seconds: {BACKWARD_S}", f"forward_seconds: {FORWARD_S}"]
    for i in range(LAYERS):
        ready, need = BACKWARD_S * (i + 1) / LAYERS, FORWARD_S * (LAYERS - 1 - i) / LAYERS
        times = f"ready_seconds: {ready:.6g} need_seconds: {need:.6g}"
        lines.append(f'gradient {{ name: "layer{i}" shape: [{elements}] {times} }}')
    return "\n".join(lines) + "\n"


def plan_text(link, credit):
    if credit is None:
        return "version: 1\n"
    lines = ["version: 1", f"default {{ partition_bytes: {link.partition} }}", "fusion_bytes: 0"]
    return "\n".join(lines + ([f"credit_bytes: {credit}"] if credit else [])) + "\n"


def start(rank, folder, command):
    environment = {
        **os.environ,
        "CASYNC_RANK": str(rank),
        "CASYNC_SIZE": "2",
        "CASYNC_LOCAL_RANK": "0",
        "CASYNC_LOCAL_SIZE": "1",
        "CASYNC_RENDEZVOUS": f"file:{folder}",
        "CASYNC_NODE": f"host{rank}",
        "CASYNC_INTERFACE": network.DEVICE,
        "CASYNC_TRACE": os.path.join(folder, "trace"),
        # UCX asks for the machine, not for the namespace: shared memory would go around the link.
        "UCX_TLS": "tcp,self",
    }
    own = ["ip", "netns", "exec", network.NAMES[rank], *command]
    return subprocess.Popen(own, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def measured(casync, link, credit, seconds):
    """Milliseconds of a step, and from the submission of the most urgent gradient to its result."""
    with tempfile.TemporaryDirectory() as folder:
        model, plan = os.path.join(folder, "model.txtpb"), os.path.join(folder, "plan.txtpb")
        pathlib.Path(model).write_text(model_text(link.elements))
        pathlib.Path(plan).write_text(plan_text(link, credit))
        command = [casync, "bench", "step", "--model", model, "--plan", plan, "--seconds", str(seconds)]
        command += ["--transport", "ucx:tcp", "-w", "1", "--json"]
        outputs = network.outputs([start(rank, folder, command) for rank in range(2)], 300)
        step_ms = json.loads(outputs[0])["rows"][0]["step_median_ms"]
        report = [casync, "report", os.path.join(folder, "trace"), "--json"]
        numbers = json.loads(subprocess.run(report, check=True, stdout=subprocess.PIPE, text=True).stdout)
    return step_ms, next(one["mean_ms"] for one in numbers["gradients"] if one["name"] == URGENT)


def median_text(values, others):
    return f"{statistics.median(values):.1f} ({statistics.median(v / o for v, o in zip(values, others)):.2f} x)"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path, help="a build folder")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=3, help="of steps, for each plan and round")
    options = parser.parse_args()
    casync = str(options.build.resolve() / "bin" / "casync")
    print("| link | credit_bytes | a step, ms (beside none) | the most urgent gradient, ms (beside none) |")
    print("| --- | --- | --- | --- |")
    with network.two_hosts():
        for link in LINKS:
            network.shape(link.rate)
            rounds = [{c: measured(casync, link, c, options.seconds) for c in link.credits} for _ in range(options.rounds)]
            for credit in link.credits:
                step, urgent = (
                    median_text([one[credit][i] for one in rounds], [one[0][i] for one in rounds]) for i in range(2)
                )
                name = "an empty plan" if credit is None else credit or "none"
                print(f"| {link.rate} | {name} | {step} | {urgent} |", flush=True)
    print(f"load: {os.getloadavg()[1]:.0f}", file=sys.stderr)


if __name__ == "__main__":
    main()
