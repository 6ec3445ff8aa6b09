# SPDX-License-Identifier: Apache-2.0
"""Each measured system as inputs of `casync simulate`. A rank is a node: the work of its GPUs inside it comes first."""

from typing import NamedTuple

import published
import secopa
import training as trainings
from published import DECODE, ENCODE, GATHER, NODES, SEND

BYTEPS_PARTITION = 4096000  # BYTEPS_PARTITION_BYTES' default
BYTEPS_MESSAGE = GATHER[1] / (NODES - 1)  # seconds
BULK = 64 << 20  # bytes that HiPress's coordinator lets travel together
CODEC = "terngrad"  # its code is RATIO of a gradient: it stands for every codec, with SeCoPa's costs
SECOND = "bf16"  # codec of a compressed ring's second hop, see ring_of_codes


class Scenario(NamedTuple):
    training: trainings.Training
    plan: str
    profile: str
    ranks: int = NODES


def line(intercept, slope):
    """A curve of the profile, by elements or bytes."""
    points = [(0, intercept), (1e9, intercept + 1e9 * slope)]
    return f"{{ {' '.join(f'point {{ size: {size:g} seconds: {seconds:.9g} }}' for size, seconds in points)} }}"


def link(message, bytes_per_second):
    return f"latency_seconds: 0 message_seconds: {message:.9g} bytes_per_second: {bytes_per_second:.9g}"


def profile(between, *codecs, contention=1.0):
    head = f"version: 1\nmemory_bytes_per_second: 3.87e11\ncontention: {contention:.6g}\n"
    return "\n".join([f"{head}between {{ {between} }}", *codecs]) + "\n"


def codec(name, **costs):
    return f'codec {{ name: "{name}" ' + " ".join(f"{verb} {curve}" for verb, curve in costs.items()) + " }"


def wire(case):
    """By how much a byte takes longer than on the cluster where the constants were measured."""
    return published.LOCAL_BITS / published.TESTBEDS[case.testbed].gigabits


def rate(case):
    return 4 / SEND[0] / wire(case)


def plan(lines, fusion=0, default="strategy: ps"):
    return "\n".join([f"version: 1\nfusion_bytes: {fusion}\ndefault {{ {default} }}", *lines]) + "\n"


def tcp_rate(case):
    return published.TCP_SHARE * published.TESTBEDS[case.testbed].gigabits / 8 * 1e9


def nccl_hop(testbed):
    """Seconds that an all-reduce takes besides its bytes, for each of the hops between nodes."""
    between, all_hops = 2 * (NODES - 1), 2 * (NODES * testbed.gpus - 1)
    latency = published.NCCL_BASE + between * published.NCCL_NETWORK_HOP + (all_hops - between) * testbed.hop
    return latency / between


def ring(case, training):
    """Horovod over NCCL: one ring through all GPUs. Each node's port is crossed by what two of them send each other."""
    testbed = published.TESTBEDS[case.testbed]
    gpus = NODES * testbed.gpus
    crossed = (gpus - 1) / gpus * NODES / (NODES - 1)
    operations = trainings.fused(training.gradients, published.HOROVOD)
    gradients = [g._replace(elements=round(g.elements * crossed)) for g in operations]
    default = f"strategy: ring partitions: {NODES}"
    between = link(nccl_hop(testbed), tcp_rate(case))
    return Scenario(training.with_gradients(gradients), plan([], 0, default), profile(between))


def byteps_keys(elements):
    """Number of elements of each of a gradient's keys."""
    count = -(-4 * elements // BYTEPS_PARTITION)
    return [elements * (k + 1) // count - elements * k // count for k in range(count)]


def byteps_server(tensor, key):
    """BYTEPS_KEY_HASH_FN's default, djb2 of the key's decimal digits."""
    hashed = 5381
    for digit in str((tensor << 16) + key):
        hashed = hashed * 33 + ord(digit)
    return hashed % NODES


def busiest_server(model):
    """Elements of the server that owns most, over the mean of all servers."""
    owned = [0] * NODES
    gradients = [gradient for layer in trainings.describe.MODELS[model].layers() for gradient in layer.gradients]
    for tensor, (_, shape) in enumerate(gradients):
        for key, elements in enumerate(byteps_keys(trainings.describe.elements(shape))):
            owned[byteps_server(tensor, key)] += elements
    return max(owned) * NODES / sum(owned)


def byteps(case, training):
    """Servers on the same nodes. All wait for the node with the busiest one: its port carries its worker's bytes
    and that server's, so the rate of all is lowered by as much."""
    training = trainings.summed_inside(training, published.TESTBEDS[case.testbed])
    keys = []
    for gradient in training.gradients:
        for elements in byteps_keys(gradient.elements):
            keys.append(trainings.Gradient(f"key.{len(keys):05}", elements, gradient.ready))
    between = link(BYTEPS_MESSAGE, tcp_rate(case) * 2 / (1 + busiest_server(case.model)))
    return Scenario(training.with_gradients(keys), plan([], 0, "strategy: ps partitions: 1"), profile(between))


def divided(case, gradients, topology):
    """[(gradient, partitions)] that SeCoPa compresses, and those that it does not."""
    compressed, plain = [], []
    for gradient in gradients:
        compress, partitions = secopa.decide(gradient.elements, topology, wire(case))
        if compress:
            compressed.append((gradient, partitions))
        else:
            plain.append(gradient)
    return compressed, plain


def by_readiness(training, *groups):
    return training.with_gradients(sorted(sum(groups, []), key=lambda gradient: gradient.ready))


def hipress_ps(case, training):
    """Compressed gradients over `ps`, the others as Horovod does it."""
    training = trainings.summed_inside(training, published.TESTBEDS[case.testbed])
    compressed, plain = divided(case, training.gradients, "ps")
    lines = [f'gradient {{ name: "{g.name}" codec {{ name: "{CODEC}" }} strategy: ps partitions: {k} }}'
             for g, k in compressed]  # fmt: skip
    # Decoding by elements of the gradient. Batches: a merge of all contributions has the fixed costs once.
    decode = DECODE[0] * published.RATIO
    costs = codec(CODEC, encode=line(ENCODE[1], ENCODE[0]), decode=line(DECODE[1], decode),
                  merge=line(ENCODE[1] + DECODE[1], decode + ENCODE[0] / NODES))  # fmt: skip
    return Scenario(
        by_readiness(training, trainings.fused(plain, published.HIPRESS_HOROVOD), [g for g, _ in compressed]),
        plan(lines, BULK, f"strategy: ring partitions: {NODES}"),
        profile(link(SEND[1], rate(case)), costs, contention=published.SLOWED),
    )


def hipress_ring(case, training):
    training = trainings.summed_inside(training, published.TESTBEDS[case.testbed])
    compressed, plain = divided(case, training.gradients, "ring")
    return ring_of_codes(case, training, compressed, plain, bulk=BULK)


def ring_of_codes(case, training, compressed, plain, bulk, coding_blocks_sending=False):
    """A ring that encodes again at each hop, as a ring without codecs. A compressed gradient has fewer elements, so
    that the same number of bytes travels: as float32 to the owner and as bfloat16 from it. Each merge costs the
    decoding and encoding of a hop, also that of an uncompressed gradient, whose time is the wire's. If coding blocks
    sending, the gradient grows by the bytes that could have left meanwhile."""
    shrink = published.RATIO * (4 + 4) / (4 + 2)
    hop = ENCODE[1] + DECODE[1]
    blocked = hop * rate(case) / 3 if coding_blocks_sending else 0  # 3: bytes of an element, mean of both ways
    codes = [g._replace(elements=max(1, round(g.elements * shrink + blocked * k))) for g, k in compressed]
    lines = [f'gradient {{ name: "{g.name}" second_hop {{ name: "{SECOND}" }} partitions: {k} }}'
             for g, k in compressed]  # fmt: skip
    decode = DECODE[0] * published.RATIO / shrink
    merge = codec("none", merge=line(hop, (ENCODE[0] / shrink + decode) / 2))  # by elements of both contributions
    costs = [] if coding_blocks_sending else [merge, codec(SECOND, decode=line(DECODE[1], decode))]
    return Scenario(
        by_readiness(training, trainings.fused(plain, published.HIPRESS_HOROVOD), codes),
        plan(lines, bulk, f"strategy: ring partitions: {NODES}"),
        profile(link(SEND[1], rate(case)), *costs, contention=published.SLOWED),
    )


SYSTEMS = {"BytePS": byteps, "Ring": ring, "HiPress-Ring": hipress_ring, "HiPress-PS": hipress_ps}
