#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a model description (proto/model.proto) from a table of published layer shapes.

usage: describe.py MODEL --step SECONDS [--from WORDS]   the text goes to stdout
       describe.py --examples FOLDER                     those of examples/models again, as shipped.py has them
       describe.py --list

A step's seconds on one device are the caller's: measured, or from a throughput that was published. They are dealt out
to the layers in proportion to their floating-point operations: a third to the forward and two thirds to the backward
pass, which makes a layer's gradients when it is through with it. Sums over a batch cancel out of that proportion.
"""
import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import convolutional  # noqa: E402
import recurrent  # noqa: E402
import shipped  # noqa: E402
import transformers  # noqa: E402

MODELS = {**convolutional.MODELS, **transformers.MODELS, **recurrent.MODELS}


def schedule(layers, forward, backward):
    """(name, shape, ready, need) of each gradient, in the order in which the backward pass makes them."""
    total = sum(layer.flops for layer in layers)
    passed, rows = 0.0, []
    for layer in layers:
        need = forward * passed / total
        ready = min(backward * (1 - passed / total), backward)
        rows.append([(name, shape, ready, max(need, 0.0)) for name, shape in layer.gradients])
        passed += layer.flops
    return [row for layer in reversed(rows) for row in layer]


def description(model, step, source):
    """The model's text."""
    forward, backward = step / 3, step * 2 / 3
    yield "version: 1"
    yield f'name: "{model.name}"'
    yield f'source: "{model.source}; {source}"'
    yield f"backward_seconds: {backward:.9g}"
    yield f"forward_seconds: {forward:.9g}"
    for name, shape, ready, need in schedule(model.layers(), forward, backward):
        extents = ", ".join(str(extent) for extent in shape)
        yield f'gradient {{ name: "{name}" shape: [{extents}] ready_seconds: {ready:.9g} need_seconds: {need:.9g} }}'


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", choices=sorted(MODELS), help="which model")
    parser.add_argument("--step", type=float, help="seconds of forward and backward pass on one device, alone")
    parser.add_argument("--from", dest="source", default="step time given by hand", help="where these seconds are from")
    parser.add_argument("--examples", metavar="FOLDER", type=Path, help="write all that are shipped there")
    parser.add_argument("--list", action="store_true", help="names, parameters and gradients of all models")
    arguments = parser.parse_args()
    if arguments.list:
        for name, model in sorted(MODELS.items()):
            gradients = [shape for layer in model.layers() for _, shape in layer.gradients]
            parameters = sum(elements(shape) for shape in gradients)
            print(f"{name:12} {parameters:>13} parameters, {len(gradients):>4} gradients")
        return 0
    if arguments.examples is not None:
        for name, (step, source) in shipped.STEPS.items():
            (arguments.examples / f"{name}.txtpb").write_text("\n".join(description(MODELS[name], step, source)) + "\n")
        return 0
    if arguments.model is None or arguments.step is None or not 0 < arguments.step < float("inf"):
        parser.error("a model and --step SECONDS above 0 (or --examples, or --list)")
    print("\n".join(description(MODELS[arguments.model], arguments.step, arguments.source)))
    return 0


def elements(shape):
    count = 1
    for extent in shape:
        count *= extent
    return count


if __name__ == "__main__":
    sys.exit(main())
