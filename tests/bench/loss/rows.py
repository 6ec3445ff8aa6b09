# SPDX-License-Identifier: Apache-2.0
"""The rows of the table of losses: each codec as it is, again with the aids that its authors prescribe, and the modes
in which steps exchange seldom or late."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Row:
    """`codec` and `second_hop` as CASYNC_CODEC writes them, `warm_up` and `frozen` as a share of the steps."""

    codec: str
    second_hop: str = ""
    warm_up: float = 0.0  # not compressed, or
    warm_up_ratio: float = 0.0  # with `ratio` going from here to its own
    frozen: bool = False  # AdamW's second moment stays as it is after the warm-up, as in 1-bit Adam
    momentum: float = 0.9  # of SGD; 0 if the codec has its own
    rate: float = 1.0  # times the usual learning rate
    local_sgd: int = 0  # parameters' differences once in so many steps, instead of gradients
    staleness: int = 0  # results are applied so many steps late
    only: str = ""  # this optimizer
    values_of: str = ""  # results are bit for bit those of this codec, whose trainings count (means_test.cc)
    fails: bool = False  # a negative control: has to end clearly above the uncompressed loss

    @property
    def trained(self):
        """The name of the row whose trainings are this one's."""
        return self.values_of or self.name

    @property
    def name(self):
        aids = [f"second hop {self.second_hop}"] if self.second_hop else []
        aids += [f"{100 * self.warm_up:.0f} % warm-up"] if self.warm_up else []
        aids += [f"from {100 * self.warm_up_ratio:.0f} %"] if self.warm_up_ratio else []
        aids += ["frozen second moment"] if self.frozen else []
        aids += [f"optimizer's momentum {self.momentum}"] if self.momentum != 0.9 else []
        aids += [f"rate x {self.rate}"] if self.rate != 1.0 else []
        aids += [f"local SGD of {self.local_sgd} steps"] if self.local_sgd else []
        aids += [f"{self.staleness} step{'s' if self.staleness > 1 else ''} late"] if self.staleness else []
        return ", ".join([self.codec, *aids])


AS_THEY_ARE = [
    Row(name)
    for name in (
        "none bf16 fp16 int8 fp8_e4m3 fp8_e5m2 natural int4 mxfp4 rht4 qsgd minmax ecqsgd int2 terngrad tbq:tau=0.001 "
        "twobit:tau=0.001 onebit efsign topk mstopk graddrop threshold:tau=0.001 randomk adacomp sbc stc ef21 diana "
        "powersgd natural_dithering nf4 lloyd2 drive topk_lloyd subsampling threshold_coded "
        "qsgd_elias laq sketch sketch_median sketched_topk terngrad_shared atomo nvfp4 adaq topk_chunks"
    ).split()
] + [
    Row("lossless", values_of="none"),
    Row("topk_coded", values_of="topk_lloyd"),
    Row("dgc", momentum=0.0, only="sgd"),
    Row("dgc:momentum=0", only="adamw"),
    Row("signsgd", rate=0.05),
]

# Codecs with fewer than 4 bits, or with steps that are coarse for their bits, and their aids.
WITH_AIDS = [
    Row("qsgd:block=16"),
    Row("qsgd:feedback=1"),
    Row("natural:feedback=1"),
    Row("int2:block=64", second_hop="int8"),
    Row("int2:block=64", second_hop="int4", warm_up=0.1),
    Row("onebit:block=64", second_hop="int4"),
    Row("onebit:block=64", second_hop="int4", warm_up=0.1),
    Row("onebit:block=64", second_hop="int4", warm_up=0.2, frozen=True, only="adamw"),
    Row("efsign:block=64", second_hop="int4", warm_up=0.1),
    Row("tbq:tau=0.001", second_hop="int4", warm_up=0.1),
    Row("terngrad", second_hop="int8", warm_up=0.1),
    Row("topk:ratio=0.01", second_hop="int4", warm_up=0.1),
    Row("topk:ratio=0.05", second_hop="int4", warm_up=0.1),
    Row("stc:ratio=0.05", second_hop="int4", warm_up=0.1),
    Row("adacomp", second_hop="int4", warm_up=0.1),
    Row("randomk:ratio=0.05", warm_up=0.1),
    Row("dgc:ratio=0.01", second_hop="int4", warm_up=0.2, warm_up_ratio=0.25, momentum=0.0, only="sgd"),
    Row("dgc:ratio=0.01,momentum=0", second_hop="int4", warm_up=0.1, only="adamw"),
    Row("ef21:ratio=0.05", warm_up=0.1),
    Row("diana", second_hop="int4", warm_up=0.1),
    Row("powersgd:rank=4", warm_up=0.1),
]

# A codec that sends a code of each element may do without feedback. One that picks a few must show what it loses.
WITHOUT_FEEDBACK = [
    Row("topk:feedback=0", fails=True),
    Row("onebit:feedback=0"),
    Row("int2:feedback=0"),
    Row("int2:block=64,feedback=0", second_hop="int8"),
    Row("onebit:block=64,feedback=0", second_hop="int4"),
    Row("onebit:block=64,feedback=0", second_hop="int4", warm_up=0.1),
    Row("efsign:block=64,feedback=0", second_hop="int4"),
    Row("topk:ratio=0.05,feedback=0", second_hop="int4", warm_up=0.1),
    Row("topk:ratio=0.01,feedback=0", second_hop="int4", warm_up=0.1),
    Row("tbq:tau=0.001,feedback=0", second_hop="int4", warm_up=0.1),
    Row("randomk:ratio=0.05,feedback=0", warm_up=0.1, fails=True),
]

# Nothing is compressed; steps exchange seldom, or late.
MODES = [Row("none", local_sgd=every) for every in (2, 4, 8)] + [Row("none", staleness=steps) for steps in (1, 2)]

ROWS = AS_THEY_ARE + WITH_AIDS + WITHOUT_FEEDBACK + MODES
OPTIMIZERS = ["adamw", "sgd"]
# Four bits and more cost nothing: no more than half a percent over the uncompressed loss.
BOUND = 0.5
# Below that a negative control would say that these trainings show no damage.
FAILING = 5
BOUND_CODECS = "bf16 fp16 int8 fp8_e4m3 fp8_e5m2 natural int4 mxfp4 rht4 qsgd minmax ecqsgd".split()


def plan_text(row, steps):
    """The plan of a row for a training of so many steps."""
    fields = [written("codec", row.codec)]
    fields += [written("second_hop", row.second_hop)] if row.second_hop else []
    fields += [f"warm_up_steps: {round(row.warm_up * steps)}"] if row.warm_up else []
    fields += [f'warm_up_from {{ key: "ratio" value: {row.warm_up_ratio} }}'] if row.warm_up_ratio else []
    mode = f"local_sgd {{ every: {row.local_sgd} }}\n" if row.local_sgd else ""
    mode += f"staleness: {row.staleness}\n" if row.staleness else ""
    return f"version: 1\n{mode}default {{ {'  '.join(fields)} }}\n"


def written(field, codec):
    name, _, parameters = codec.partition(":")
    pairs = [pair.split("=") for pair in parameters.split(",") if pair]
    params = "".join(f'  param {{ key: "{key}" value: {value} }}' for key, value in pairs)
    return f'{field} {{ name: "{name}"{params} }}'
