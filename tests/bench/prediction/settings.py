# SPDX-License-Identifier: Apache-2.0
"""The measured and predicted settings: models, plans, and those combined on each link."""

from typing import NamedTuple

LINKS = ["100mbit", "1gbit", "10gbit", "unshaped"]
RANKS = [2, 3, 4]


class Setting(NamedTuple):
    link: str
    ranks: int
    model: str
    plan: str


def few():
    """As in VGG: most of the weight in one gradient that is ready early."""
    shapes = [(1000, 256), (256, 3072), (128, 128, 3, 3), (64, 128, 3, 3), (64, 64, 3, 3), (64, 3, 3, 3)]
    return [(f"layer{i}.weight", shape) for i, shape in enumerate(shapes)]


def many():
    """As in residual networks: a hundred gradients, half of them small."""
    gradients = []
    for i in range(40):
        gradients += [(f"block{i}.conv", (64, 32 + 16 * (i % 3), 3, 3)), (f"block{i}.scale", (64,))]
    return gradients


def alike():
    """As in transformers: blocks of one size, and an embedding that is ready last and needed first."""
    gradients = []
    for i in range(6):
        gradients += [(f"block{i}.down", (128, 512)), (f"block{i}.up", (512, 128)), (f"block{i}.attention", (512, 128))]
        gradients += [(f"block{i}.norm", (128,))]
    return gradients + [("embedding", (2048, 128))]


MODELS = {"few": (few, 0.030, 0.015), "many": (many, 0.040, 0.020), "alike": (alike, 0.020, 0.010)}


def model_text(name):
    """A description in which computing takes as long for each gradient."""
    shapes, backward, forward = MODELS[name]
    gradients = shapes()
    lines = ["version: 1", f'name: "{name}"', f'source: "{shapes.__doc__}"']
    lines += [f"backward_seconds: {backward}", f"forward_seconds: {forward}"]
    for i, (gradient, shape) in enumerate(gradients):
        ready, need = backward * (i + 1) / len(gradients), forward * (len(gradients) - 1 - i) / len(gradients)
        extents = ", ".join(map(str, shape))
        lines.append(
            f'gradient {{ name: "{gradient}" shape: [{extents}] ready_seconds: {ready:.6g} need_seconds: {need:.6g} }}'
        )
    return "\n".join(lines) + "\n"


# The partitions that the measurements in data/ had: those of 1 MiB, whatever the codec.
MEASURED = "partition_bytes: 1048576"
# Codec, strategy, and what else stands in the plan's default, if not MEASURED.
PLANS = {
    "none-ps": ("none", "ps", ""),
    "none-ring": ("none", "ring", ""),
    "none-tree": ("none", "tree", ""),
    "none-hierarchical": ("none", "hierarchical", ""),
    "bf16-ps": ("bf16", "ps", ""),
    "fp16-gather": ("fp16", "all_gather", ""),
    "int8-ps": ("int8", "ps", ""),
    "int8-ps-1": ("int8", "ps", "partitions: 1"),
    "int8-hierarchical": ("int8", "hierarchical", ""),
    "int4-ps": ("int4", "ps", ""),
    "int4-ps-8": ("int4", "ps", "partitions: 8"),
    "int4-hierarchical": ("int4", "hierarchical", ""),
    "onebit-ps": ("onebit", "ps", ""),
    "onebit-gather": ("onebit", "all_gather", ""),
    "topk-gather": ("topk", "all_gather", ""),
}
SLOW = ["int8-ps", "int8-hierarchical", "int4-ps", "int4-hierarchical", "onebit-ps", "onebit-gather", "topk-gather"]
FAST = [name for name in PLANS if name not in ("none-tree", "bf16-ps")]


def plan_text(name):
    codec, strategy, more = PLANS[name]
    return f'version: 1\ndefault {{ codec {{ name: "{codec}" }} strategy: {strategy} {more or MEASURED} }}\n'


def plans_of(link, ranks):
    """Leaves out plans that take seconds a step, and plans that equal another."""
    names = {"100mbit": SLOW, "1gbit": list(PLANS)}.get(link, FAST)
    return [name for name in names if ranks > 2 or "hierarchical" not in name and "tree" not in name]


def all_settings():
    for link in LINKS:
        for ranks in RANKS:
            for model in MODELS:
                for plan in plans_of(link, ranks):
                    yield Setting(link, ranks, model, plan)


CODECS = sorted({codec for codec, _, _ in PLANS.values()})
