# SPDX-License-Identifier: Apache-2.0
"""One rank of one case: trains a model with one way of synchronizing and prints what a step took, as JSON. Exit code 1: the
ranks' gradients are not one mean."""

import argparse
import json
import statistics
import sys
import time

import models
import network
import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.nn.parallel import DistributedDataParallel

WARM_UP = 4  # PowerSGD starts in the third step, DDP rebuilds its buckets after the first


def nothing(state, bucket):
    """Compute alone: every rank keeps its own gradients."""
    future = torch.futures.Future()
    future.set_result(bucket.buffer())
    return future


def synchronize(ddp, how):
    """Registers the hook; returns our State, for its counters, or None."""
    if how == "no-op":
        ddp.register_comm_hook(None, nothing)
    elif how == "fp16":
        ddp.register_comm_hook(None, default_hooks.fp16_compress_hook)
    elif how.startswith("powersgd"):
        rank = int(how.removeprefix("powersgd"))
        state = powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=rank, start_powerSGD_iter=2)
        ddp.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
    elif how.startswith("casync"):
        import casync.torch

        codec, _, plan = how.removeprefix("casync").removeprefix("-").partition("=")
        # Without a codec: what CASYNC_CODEC or CASYNC_PLAN says.
        state = casync.torch.State(plan=plan) if plan else casync.torch.State(codec=codec or None)
        ddp.register_comm_hook(state, casync.torch.comm_hook)
        return state
    return None


def gloo_bytes(ddp, how):
    """Bytes a rank must send per step over Gloo, whose all-reduce sends 2 (N-1)/N of its input."""
    shapes = [p.shape for p in ddp.parameters()]
    count = sum(shape.numel() for shape in shapes)
    values = {"no-op": 0, "plain": 4 * count, "fp16": 2 * count}.get(how)
    if values is None:
        rank = int(how.removeprefix("powersgd"))
        # A matrix goes as two of its factors when that is smaller by the hook's least rate, 2.
        factors = [(s.numel(), (s[0] + s[1:].numel()) * rank if len(s) > 1 else s.numel()) for s in shapes]
        values = 4 * sum(low if 2 * low < full else full for full, low in factors)
    return 2 * (dist.get_world_size() - 1) / dist.get_world_size() * values


def step_times(ddp, loss_of, seconds):
    """Milliseconds of each step, of as many as fit in `seconds` by rank 0's clock."""
    times, begin, enough = [], time.monotonic(), torch.zeros(1)
    while not enough:
        for _ in range(3):
            start = time.monotonic()
            ddp.zero_grad()
            loss_of(ddp).backward()
            times.append(1e3 * (time.monotonic() - start))
        enough[0] = time.monotonic() - begin > seconds
        dist.broadcast(enough, 0)
    return times


def gradients(ddp):
    return torch.cat([p.grad.reshape(-1) for p in ddp.parameters()])


def fault(ddp, loss_of, how):
    """Makes a step whose ranks have different gradients, multiples of one. Returns the reason for which they have not the
    mean afterwards, or "": also of a way that exchanges nothing, or by a plan, which may leave the ranks with different ones.
    """
    if how in ("no-op", "casync") or "=" in how:
        return ""
    rank, ranks = dist.get_rank(), dist.get_world_size()
    ddp.zero_grad()
    with ddp.no_sync():
        loss_of(ddp).backward()
    mean = gradients(ddp)
    ddp.zero_grad()
    (loss_of(ddp) * (2 * (rank + 1) / (ranks + 1))).backward()
    found = gradients(ddp)
    first = found.clone()
    dist.broadcast(first, 0)
    if not torch.equal(found, first):
        return "the ranks have different gradients"
    # A codec of few bits and the residual of earlier steps leave the direction.
    along = torch.dot(found, mean) / (found.norm() * mean.norm())
    return "" if along > 0.1 else f"the gradients are not their mean: the cosine is {along:.3f}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model", choices=models.NAMES)
    parser.add_argument("how")
    parser.add_argument("--seconds", type=float, default=3.0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    model, loss_of = models.make_model(options.model)
    # PowerSGD over Gloo fails with more than one bucket: its two collectives overtake each other.
    cap = 1000 if options.how.startswith("powersgd") else 25
    ddp = DistributedDataParallel(model, bucket_cap_mb=cap)
    state = synchronize(ddp, options.how)
    for _ in range(WARM_UP):
        ddp.zero_grad()
        loss_of(ddp).backward()
    dist.barrier()
    sent, ours = network.sent_bytes(), state.stats()["wire_bytes_sent"] if state else 0
    times = step_times(ddp, loss_of, options.seconds)
    dist.barrier()
    if state:
        bytes_per_step = (state.stats()["wire_bytes_sent"] - ours) / len(times)
    else:
        bytes_per_step = gloo_bytes(ddp, options.how)
    result = {
        "min_ms": min(times),
        "median_ms": statistics.median(times),
        "steps": len(times),
        "rank_bytes": bytes_per_step,
        "link_bytes": (network.sent_bytes() - sent) / len(times),
    }
    why = fault(ddp, loss_of, options.how)
    print("RESULT " + json.dumps(result), flush=True)
    if state:
        state.close()
    dist.destroy_process_group()
    if why:
        sys.exit(f"{options.how}: {why}")


if __name__ == "__main__":
    main()
