# SPDX-License-Identifier: Apache-2.0
"""Our planner's plan against SeCoPa's, on the network whose constants SeCoPa has: 16 nodes, onebit."""

import pathlib
from typing import NamedTuple

import published
import secopa

ROOT = pathlib.Path(__file__).resolve().parents[3]
PROFILE = ROOT / "examples" / "profiles" / "v100_secopa.txtpb"
MODELS = ["vgg19", "bert_large", "resnet50", "transformer", "ugatit", "lstm"]
CODEC = "onebit"
FUSIONS = (65536, 4 << 20, 64 << 20)  # the first is what a plan that says nothing has


class Comparison(NamedTuple):
    model: str
    training: float  # seconds of a step, all of them
    ours: float
    secopa: float
    helped: float  # SeCoPa's decisions with what they leave open chosen best

    @property
    def gain(self):
        return self.secopa / self.ours - 1


def secopa_plan(gradients, fusion, urgent_first):
    lines = ["version: 1", f"fusion_bytes: {fusion}"]
    for i, gradient in enumerate(gradients):
        compress, partitions = secopa.decide(gradient["elements"], "ps")
        # The backward pass makes first what is needed last.
        priority = len(gradients) - i if urgent_first else 0
        lines.append(f'gradient {{ name: "{gradient["name"]}" codec {{ name: "{CODEC if compress else "none"}" }} '
                     f"strategy: ps partitions: {partitions} priority: {priority} }}")  # fmt: skip
    return "\n".join(lines) + "\n"


def simulated(command, model, plan):
    """Seconds of a step, all ranks simulated."""
    return command.run("simulate", "--plan", plan, *inputs(model), "--json")["step_ms"] / 1000


def inputs(model):
    described = ROOT / "examples" / "models" / f"{model}.txtpb"
    return ["--profile", PROFILE, "--model", described, "--ranks", published.NODES]


def comparison(command, model, folder):
    ours, theirs = folder / f"{model}.ours.txtpb", folder / f"{model}.secopa.txtpb"
    command.call("plan", *inputs(model), "--goal", "step", "--codecs", CODEC, "--output", ours)
    plain = command.run("simulate", *inputs(model), "--json")
    steps = []
    for fusion in FUSIONS:
        for urgent_first in (True, False):
            theirs.write_text(secopa_plan(plain["gradients"], fusion, urgent_first))
            steps.append(simulated(command, model, theirs))
    return Comparison(model, plain["training_ms"] / 1000, simulated(command, model, ours), steps[0], min(steps))


def comparisons(command, folder):
    return [comparison(command, model, folder) for model in MODELS]
