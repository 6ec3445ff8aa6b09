# SPDX-License-Identifier: Apache-2.0
"""When a node's gradients are ready, as the simulator's models have it."""

import math
import pathlib
import statistics
import sys
from typing import NamedTuple

import published

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools" / "models"))
import convolutional  # noqa: E402
import describe  # noqa: E402


class Gradient(NamedTuple):
    name: str
    elements: int
    ready: float  # seconds after the backward pass began


class Training(NamedTuple):
    backward: float
    forward: float  # and whatever else comes ahead of the backward pass
    gradients: list

    def with_gradients(self, gradients):
        return self._replace(gradients=gradients, backward=max([self.backward, *(g.ready for g in gradients)]))

    def text(self):
        """No gradient is later than the next forward pass: all frameworks wait for the last."""
        lines = ["version: 1", f"backward_seconds: {self.backward:.9g}", f"forward_seconds: {self.forward:.9g}"]
        for gradient in self.gradients:
            ready = min(gradient.ready, float(f"{self.backward:.9g}"))
            lines.append(f'gradient {{ name: "{gradient.name}" shape: [{gradient.elements}] '
                         f"ready_seconds: {ready:.9g} need_seconds: 0 }}")  # fmt: skip
        return "\n".join(lines) + "\n"


def ugatit_phases(light):
    """Two optimizers, one after the other, each with its own end: discriminators, then generators. (part, layers)

    Layers of passes in the order in which the authors' script makes them; the backward pass goes through them from
    the end. A gradient is complete with the last of its parameter's passes to go back, which is the first one made.
    """
    a_to_b, b_to_a = (convolutional.ugatit_generator(f"gen{side}", light) for side in "AB")
    judged = convolutional.ugatit_discriminators()

    def again(layers):
        return [layer._replace(gradients=[]) for layer in layers]

    # The real image, then the made one, through which the backward pass goes on to what made it.
    discriminators = again(a_to_b + b_to_a) + judged + again(judged)
    # A translation, the way back and the identity.
    generators = a_to_b + b_to_a + again(b_to_a + a_to_b + b_to_a + a_to_b) + again(judged)
    phases = [discriminators, generators]
    work = [sum(layer.flops for layer in phase) for phase in phases]
    return [(flops / sum(work), phase) for flops, phase in zip(work, phases)]


def phases_of(model):
    if model.startswith("ugatit"):
        return ugatit_phases(light=model == "ugatit_light")
    return [(1.0, describe.MODELS[model].layers())]


def forward_part(model):
    """Forward pass as a share of a step's computation: published for VGG19 and BERT-base, their mean for the others."""
    known = published.FORWARD
    return known.get("bert_base" if model.startswith("bert") else model, statistics.mean(known.values()))


def compute_seconds(case):
    gpus = published.NODES * published.TESTBEDS[case.testbed].gpus
    return case.batch * gpus / case.linear


def trainings(case):
    """One for each phase of a step."""
    made = []
    for part, layers in phases_of(case.model):
        step = part * compute_seconds(case)
        forward = step * forward_part(case.model)
        rows = describe.schedule(layers, forward, step - forward)
        gradients = [Gradient(name, describe.elements(shape), ready) for name, shape, ready, _ in rows]
        made.append(Training(step - forward, forward, gradients))
    return made


def summed_inside(training, testbed):
    """Ready when a node's GPUs have summed it and, in the end, handed it round: one after the other over their link."""
    shares, free, gradients = 2 * (testbed.gpus - 1) / testbed.gpus, 0.0, []
    for gradient in training.gradients:
        free = max(free, gradient.ready) + shares * 4 * gradient.elements / testbed.inside
        gradients.append(gradient._replace(ready=free))
    return training.with_gradients(gradients)


def fused(gradients, horovod):
    """In each cycle, what is ready becomes one operation of up to so many bytes."""
    made = []
    for gradient in gradients:
        ready = math.ceil(gradient.ready / horovod.cycle) * horovod.cycle
        last = made[-1] if made else None
        if last and last.ready == ready and 4 * (last.elements + gradient.elements) <= horovod.fusion:
            made[-1] = last._replace(elements=last.elements + gradient.elements)
        else:
            made.append(Gradient(f"fused.{len(made)}", gradient.elements, ready))
    return made
