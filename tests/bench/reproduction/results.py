# SPDX-License-Identifier: Apache-2.0
"""Published figures next to simulated ones."""

import contextlib
from typing import NamedTuple

import breakdown
import published
import systems
import training as trainings


class Result(NamedTuple):
    testbed: str
    model: str
    system: str
    published: float  # throughput, or seconds
    simulated: float
    linear: float  # throughput; 0 where it has no meaning
    bound: float

    @property
    def ratio(self):
        return self.simulated / self.published

    @property
    def within(self):
        return abs(self.ratio - 1) <= self.bound


def step_seconds(command, case, system, name):
    """The phases of a step follow each other."""
    write = systems.SYSTEMS[system]
    phases = enumerate(trainings.trainings(case))
    return sum(command.step_seconds(write(case, training), f"{name}.{i}") for i, training in phases)


def throughputs(command, only=lambda case, system: True):
    made = []
    for case in published.CASES:
        samples = case.batch * published.NODES * published.TESTBEDS[case.testbed].gpus
        for system, measured in case.measured.items():
            if not only(case, system):
                continue
            seconds = step_seconds(command, case, system, f"{case.testbed}.{case.model}.{system}")
            made.append(Result(case.testbed, case.model, system, measured, samples / seconds, case.linear,
                               published.BOUND))  # fmt: skip
    return made


def breakdowns(command):
    """Synchronization, as the figure has it: from the backward pass's begin to the end of the iteration."""
    made = []
    for model, steps in breakdown.scenarios().items():
        for i, (name, seconds, scenario) in enumerate(steps):
            simulated = command.step_seconds(scenario, f"breakdown.{model}.{i}") - scenario.training.forward
            made.append(Result("1080Ti", model, name, seconds, simulated, 0, published.BREAKDOWN_BOUND))
    return made


@contextlib.contextmanager
def assuming(module, name, value):
    before = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, before)


def with_batch(model, batch):
    return [case._replace(batch=batch) if case.model == model else case for case in published.CASES]


def otherwise(command, usual):
    """(assumption in other words, rows it changes, of them within the bound, and as usual within)"""

    def counted(words, only):
        made = throughputs(command, only)
        own = [one for one in usual if only(one, one.system)]
        return words, len(made), sum(one.within for one in made), sum(one.within for one in own)

    everything = lambda case, system: True  # noqa: E731
    of = lambda *names: lambda case, system: system in names  # noqa: E731
    for gigabytes in (4, 6):
        with assuming(published, "TCP_SHARE", gigabytes / 12.5):
            yield counted(f"{gigabytes} GB/s over TCP at 100 Gb/s", of("Ring", "BytePS"))
    with assuming(systems, "tcp_rate", systems.rate):
        yield counted("the rate of HiPress's constants for the baselines, too", of("Ring", "BytePS"))
    with assuming(systems, "busiest_server", lambda model: 1):
        yield counted("BytePS's keys evenly over its servers", of("BytePS"))
    with assuming(systems, "BYTEPS_MESSAGE", published.SEND[1]):
        yield counted("a message of BytePS costs what a hop of HiPress's ring does", of("BytePS"))
    with assuming(systems, "nccl_hop", lambda testbed: published.SEND[1]):
        yield counted("a hop of NCCL's ring costs what one of HiPress's does", of("Ring"))
    with assuming(published, "HOROVOD", published.HIPRESS_HOROVOD):
        yield counted("Horovod's defaults up to 0.20 for Ring: 5 ms, 64 MB", of("Ring"))
    slower = published.TESTBEDS["V100"]._replace(gigabits=published.LOCAL_BITS)
    with assuming(published, "TESTBEDS", {**published.TESTBEDS, "V100": slower}):
        yield counted("100 Gb/s are no faster than 56 Gb/s: 4.7 GB/s, too", lambda case, system: case.testbed == "V100")
    with assuming(published, "FORWARD", {"": 1 / 3}):
        yield counted("a third of every step is the forward pass", everything)
    with assuming(trainings, "phases_of", lambda model: [(1.0, trainings.describe.MODELS[model].layers())]):
        yield counted("UGATIT's optimizers end their steps together", lambda case, system: "ugatit" in case.model)
    for model, batches in published.OTHER_BATCHES.items():
        for batch in batches:
            with assuming(published, "CASES", with_batch(model, batch)):
                yield counted(f"`{model}` with batches of {batch}", lambda case, system: case.model == model)
