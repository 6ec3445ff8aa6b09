# SPDX-License-Identifier: Apache-2.0
"""One rank that trains one model with several ways of synchronizing in turns, in one process: JSON of their steps. Exit
code 1: a way does not give the ranks their mean.

    turns.py small plain casync-int8 casync-plan=plan.txtpb

Processes differ by how their memory and threads happen to lie, and a machine's speed drifts: two processes of one way differ
by 6 to 20 % where two cores carry all ranks. Ways that alternate within one process share both.
"""

import argparse
import json
import statistics
import sys
import time

import models
import torch
import torch.distributed as dist
import worker
from torch.nn.parallel import DistributedDataParallel

# A way that takes this many times the least is not measured again: after its first turn, which may have been disturbed,
# and after its second.
HOPELESS = (2.0, 1.5)


class Way:
    """A copy of the model of its own, its hook, and the times of its turns."""

    def __init__(self, model, how):
        module, self.loss_of = models.make_model(model)
        self.ddp = DistributedDataParallel(module, bucket_cap_mb=25)
        self.exchanges = how != "no-op"
        self.state = worker.synchronize(self.ddp, how)
        self.medians = []
        for _ in range(worker.WARM_UP):
            self.step()

    def step(self):
        """Milliseconds of a step."""
        start = time.monotonic()
        self.ddp.zero_grad()
        self.loss_of(self.ddp).backward()
        return 1e3 * (time.monotonic() - start)

    def turn(self, seconds):
        """Measures for `seconds` by rank 0's clock. The first step counts as warm-up: the others' turns took its cache."""
        self.step()
        times, begin, enough = [], time.monotonic(), torch.zeros(1)
        while not enough:
            times += [self.step() for _ in range(3)]
            enough[0] = time.monotonic() - begin > seconds
            dist.broadcast(enough, 0)
        self.medians.append(statistics.median(times))
        self.ddp.zero_grad()


def is_hopeless(way, ways):
    """By rank 0's times, beside the ways that exchange gradients."""
    for turn, limit in enumerate(HOPELESS):
        known = [other.medians[turn] for other in ways if len(other.medians) > turn and other.exchanges]
        if len(way.medians) > turn and way.medians[turn] > limit * min(known):
            return True
    return False


def measure(ways, turns, seconds):
    """Turns of all ways, there and back, so that none always runs after the same one."""
    for turn in range(turns):
        hopeless = torch.tensor([float(is_hopeless(way, ways)) for way in ways])
        dist.broadcast(hopeless, 0)
        order = [way for way, given_up in zip(ways, hopeless) if not given_up]
        for way in order[:: 1 if turn % 2 == 0 else -1]:
            way.turn(seconds)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", choices=models.NAMES)
    parser.add_argument("ways", nargs="+")
    parser.add_argument("--turns", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=0.5, help="of each way and turn, and at least four steps")
    options = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    ways = [Way(options.model, how) for how in options.ways]
    measure(ways, options.turns, options.seconds)
    faults = [f"{how}: {why}" for how, way in zip(options.ways, ways) if (why := worker.fault(way.ddp, way.loss_of, how))]
    dist.barrier()
    print("RESULT " + json.dumps({how: way.medians for how, way in zip(options.ways, ways)}), flush=True)
    for way in ways:
        if way.state:
            way.state.close()
    dist.destroy_process_group()
    if faults:
        sys.exit("; ".join(faults))


if __name__ == "__main__":
    main()
