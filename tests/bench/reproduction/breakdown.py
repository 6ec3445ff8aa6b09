# SPDX-License-Identifier: Apache-2.0
"""The steps of Fig. 11 as inputs of `casync simulate`, each with one more of HiPress's mechanisms.

Until SeCoPa is added, all gradients of at least COMPRESSED floats are compressed, whole. HiPress's public code hands gather
and broadcast to one thread that does one of them at a time: two ranks and one message for each collective stand for that.
"""

import published
import systems
import training as trainings
from published import BROADCAST, DECODE, ENCODE, GATHER, NODES, RATIO
from systems import CODEC, Scenario, codec, line, plan, profile

COMPRESSED = 262144  # HiPress's --comp-threshold, in floats
COLLECTIVE = (GATHER[0] + BROADCAST[0], GATHER[1] + BROADCAST[1])
PLAIN = "int8"  # stands for sending as it is where that, too, keeps the one thing busy that a rank does at a time


def case_of(model):
    return next(case for case in published.CASES if case.model == model and case.testbed == "1080Ti")


def one_by_one(training, slowness=1.0, copies=0.0):
    """Nothing overlaps but training: whatever a gradient needs, until it is done, is one task of one stream. Slower by
    so much are encoding and decoding, and copies are seconds a float."""
    coded = 2 * ENCODE[0] + NODES * RATIO * DECODE[0]
    fixed = 2 * ENCODE[1] + NODES * DECODE[1]
    compressed = codec(CODEC, encode=line(COLLECTIVE[1] + fixed, COLLECTIVE[0] * RATIO + slowness * coded + copies),
                       merge=line(0, 0))  # fmt: skip
    plain = codec(PLAIN, encode=line(COLLECTIVE[1], COLLECTIVE[0]), merge=line(0, 0))
    rules = [rule(g, CODEC if g.elements >= COMPRESSED else PLAIN) for g in training.gradients]
    return Scenario(training, plan(rules, 0, "strategy: all_gather partitions: 1"),
                    profile("bytes_per_second: 1e15", compressed, plain), 2)  # fmt: skip


def rule(gradient, name):
    return f'gradient {{ name: "{gradient.name}" codec {{ name: "{name}" }} }}'


def collectives(training, bulk):
    """Codecs run while a collective does, which is a message of the profile's link. In bulk, several are one, and
    codecs have their fixed costs once for all contributions."""
    merged = ((1 if bulk else NODES) * DECODE[1] + ENCODE[1], (NODES * RATIO * DECODE[0] + ENCODE[0]) / 2)
    costs = codec(CODEC, encode=line(ENCODE[1], ENCODE[0]), merge=line(*merged))
    rules = [rule(g, CODEC) for g in training.gradients if g.elements >= COMPRESSED]
    return Scenario(training, plan(rules, bulk, "strategy: all_gather partitions: 1"),
                    profile(systems.link(COLLECTIVE[1], 4 / COLLECTIVE[0]), costs), 2)  # fmt: skip


def vgg19():
    case = case_of("vgg19")
    training = trainings.trainings(case)[0]
    inside = published.TESTBEDS[case.testbed]
    summed = trainings.summed_inside(training, inside)
    to_host_and_back = 2 * 4 / inside.inside
    return [
        systems.byteps(case, training),
        one_by_one(summed, published.CPU_SLOWNESS, to_host_and_back),
        one_by_one(summed),
        collectives(summed, bulk=0),
        collectives(summed, bulk=systems.BULK),
        systems.hipress_ps(case, training),
    ]


def bert_base():
    case = case_of("bert_base")
    training = trainings.trainings(case)[0]
    summed = trainings.summed_inside(training, published.TESTBEDS[case.testbed])
    compressed = [(g, 1) for g in summed.gradients if g.elements >= COMPRESSED]
    plain = [g for g in summed.gradients if g.elements < COMPRESSED]
    return [
        systems.ring(case, training),
        systems.ring_of_codes(case, summed, compressed, plain, bulk=0, coding_blocks_sending=True),
        systems.ring_of_codes(case, summed, compressed, plain, bulk=0),
        systems.ring_of_codes(case, summed, compressed, plain, bulk=systems.BULK),
        systems.hipress_ring(case, training),
    ]


def scenarios():
    """{model: [(name, published seconds, scenario)]}"""
    made = {"vgg19": vgg19(), "bert_base": bert_base()}
    return {model: [(*step, one) for step, one in zip(published.BREAKDOWN[model], steps)]
            for model, steps in made.items()}  # fmt: skip
