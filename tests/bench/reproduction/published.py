# SPDX-License-Identifier: Apache-2.0
"""Published data of HiPress: the figures to be reproduced, and the constants to do it with.

Figures: the authors' plotting scripts (github YouhuiBai/SOSP21-scripts, ee6035d) of Bai et al., SOSP 2021. Constants:
src/SeCoPa/SeCoPa.py in github mark14wu/hipress, aa1b594, fitted by its authors on their local cluster, 16 nodes.
"""

from typing import NamedTuple

NODES = 16

# Straight lines: seconds for each float32, and seconds that an operation takes besides.
ENCODE = (1.4133e-11, 5.8938e-5)
DECODE = (6.2041e-12, 1.3956e-4)  # by floats of the code, of which there are RATIO for each of the gradient's
SEND = (8.5005e-10, 2.0337e-4)  # one hop of a ring
GATHER = (1.2937e-8, 1.4406e-3)  # from 15 nodes to one
BROADCAST = (1.2915e-8, 4.5538e-4)
RATIO = 1 / 16  # size of every codec's code over its gradient

LOCAL_BITS = 56  # Gb/s of the local cluster's links, on which the constants were measured


class Testbed(NamedTuple):
    name: str
    gpus: int  # per node
    gigabits: float  # Gb/s of a node's port
    inside: float  # bytes a second between GPUs of a node
    hop: float  # seconds, a hop of NCCL's ring inside a node


# NCCL's own model of its latencies: src/graph/tuning.cc of 2.8.3, ring, protocol Simple. Seconds.
NCCL_BASE = 8.4e-6
NCCL_NETWORK_HOP = 9.6e-6

TESTBEDS = {
    # NVLink 2, 150 GB/s one way, and PCIe 3.0 x16, 15.8 GB/s, both at 80 %
    "V100": Testbed("16 nodes of 8 V100, 100 Gb/s", 8, 100, 1.2e11, 3.4e-6),
    "1080Ti": Testbed("16 nodes of 2 GTX 1080 Ti, 56 Gb/s", 2, 56, 1.2e10, 5.7e-6),
}

# Share of a port's bits that NCCL moves over TCP: 4 to 6 GB/s between nodes of 8 V100 at 100 Gb/s (NVIDIA/nccl, issue
# 450, January 2021). BytePS says that over TCP it is no faster (its docs/best-practice.md).
TCP_SHARE = 0.4


class Horovod(NamedTuple):
    """Defaults of HOROVOD_CYCLE_TIME, in seconds, and HOROVOD_FUSION_THRESHOLD."""

    cycle: float
    fusion: int


HOROVOD = Horovod(1e-3, 128 << 20)  # since 0.21, November 2020
HIPRESS_HOROVOD = Horovod(5e-3, 64 << 20)  # 0.16.1, which HiPress is built on


class Case(NamedTuple):
    testbed: str
    model: str  # a model of tools/models
    batch: int  # batch of a GPU, in the unit of the throughput
    linear: float  # throughput of all GPUs, if synchronization took no time
    measured: dict  # throughput by system


def case(testbed, model, batch, linear, byteps, ring, hipress_ring=None, hipress_ps=None):
    measured = {"BytePS": byteps, "Ring": ring, "HiPress-Ring": hipress_ring, "HiPress-PS": hipress_ps}
    return Case(testbed, model, batch, linear, {name: value for name, value in measured.items() if value})


# Figs. 7 and 8 at full scale. Words a second for BERT and Transformer, else images or sequences.
CASES = [
    case("V100", "vgg19", 32, 26438, 11165, 14655, 23097, 23507),
    case("V100", "bert_large", 32 * 128, 665925, 474815, 435945, 606363, 628083),
    case("V100", "resnet50", 32, 41946, 32198, 33133, 38864),
    case("V100", "transformer", 2048, 2226089, 944255, 1108166, 1901843),
    case("V100", "ugatit", 2, 275.92, 120.24, 149.34, None, 250.92),
    case("V100", "lstm", 80, 43756, 23671, 27837, None, 38382),
    case("1080Ti", "vgg19", 32, 3754, 1457, 2118, 3374, 3396),
    case("1080Ti", "bert_base", 32 * 128, 287238, 153701, 197521, 247234, 254092),
    case("1080Ti", "resnet50", 32, 6221, 4732, 4844, 5645),
    case("1080Ti", "transformer", 2048, 333839, 189472, 213084, 288852),
    case("1080Ti", "ugatit_light", 1, 37.34, 21.31, 28.16, None, 31.91),
    case("1080Ti", "lstm", 80, 6392, 3381, 4033, None, 5597),
]
BOUND = 0.10  # error of a throughput

# Batches that no source at hand gives, or two in two ways: what else they might be.
OTHER_BATCHES = {"resnet50": (64,), "transformer": (1024, 4096), "ugatit": (1,), "ugatit_light": (2,)}

# Fig. 11, local cluster: seconds of an iteration until synchronization begins, and of synchronization.
FORWARD = {"vgg19": 0.114 / 0.273, "bert_base": 0.234 / 0.456}  # over the figure's "linear"
SLOWED = 276 / 273  # VGG19's computation together with all of HiPress, over the same alone
BREAKDOWN = {
    "vgg19": [("uncompressed, BytePS", 0.590), ("+ compression on CPUs", 0.774), ("+ on GPUs", 0.346),
              ("+ pipelining", 0.319), ("+ bulk synchronization", 0.236), ("+ SeCoPa", 0.189)],
    "bert_base": [("uncompressed, Ring", 0.430), ("+ on GPUs", 0.387), ("+ pipelining", 0.346),
                  ("+ bulk synchronization", 0.323), ("+ SeCoPa", 0.299)],
}  # fmt: skip
BREAKDOWN_BOUND = 0.15
CPU_SLOWNESS = 35.6  # HiPress's onebit on a GPU over BytePS's on a CPU; recalled from the paper
