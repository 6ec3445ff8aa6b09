# SPDX-License-Identifier: Apache-2.0
"""SeCoPa's rule: the sums of stages by which HiPress compresses a gradient or not, and in how many partitions."""

from published import BROADCAST, DECODE, ENCODE, GATHER, NODES, RATIO, SEND


def seconds_of(line, floats):
    return line[0] * floats + line[1]


def sum_of_stages(floats, topology, wire, compress):
    """Seconds of one partition. `wire`: factor by which a byte takes longer than where the constants are from."""
    moved = wire * floats * (RATIO if compress else 1)
    if topology == "ps":
        return seconds_of(GATHER, moved) + seconds_of(BROADCAST, moved)
    return 2 * (NODES - 1) * seconds_of(SEND, moved)


def codec_stages(floats, topology, partitions):
    if topology == "ps":
        encodes, decodes = min(partitions + 1, NODES), min(NODES - 1 + partitions, 2 * (NODES - 1))
    else:
        encodes = decodes = NODES
    return encodes * seconds_of(ENCODE, floats) + decodes * seconds_of(DECODE, floats * RATIO)


def decide(floats, topology, wire=1.0):
    """(compress, partitions)"""
    best = None
    for partitions in range(1, NODES + 1):
        part = floats / partitions
        for compress in (False, True):
            seconds = sum_of_stages(part, topology, wire, compress)
            if compress:
                seconds += codec_stages(part, topology, partitions)
            if best is None or seconds < best[0]:
                best = (seconds, compress, partitions)
    return best[1:]
