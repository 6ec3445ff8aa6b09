# SPDX-License-Identifier: Apache-2.0
"""One rank of the demo: trains the same model once per way of synchronizing and prints, as JSON lines from rank 0,
where it stands and what came out."""

import argparse
import hashlib
import json
import math
import statistics
import time

import corpus
import torch
import torch.distributed as dist
from gpt import Gpt
from torch.nn.parallel import DistributedDataParallel

import casync.torch

SEQUENCES = 4  # per rank and step
WARM_UP = 10  # steps that no timing counts: DDP rebuilds its buckets, sockets open, caches fill
HELD_OUT_SEQUENCES = 128  # per rank
RATE, CLIP = 2e-3, 1.0


def say(**what):
    if dist.get_rank() == 0:
        print(json.dumps(what), flush=True)


def keep(state, bucket):
    """Instead of synchronizing, nothing: what is left is compute."""
    future = torch.futures.Future()
    future.set_result(bucket.buffer())
    return future


def learning_rate(step, steps):
    warm = min(1.0, (step + 1) / 20)
    return RATE * warm * (0.05 + 0.95 * (1 + math.cos(math.pi * step / steps)) / 2)


def train(ddp, state, text, name, steps, total, seed):
    """Milliseconds of each step, and of its synchronizing from the first gradient submitted to the last averaged."""
    optimizer = torch.optim.AdamW(ddp.parameters(), lr=RATE, betas=(0.9, 0.95), weight_decay=0.1)
    # The same pieces for every codec; another seed draws others.
    order = torch.Generator().manual_seed(1000 * (seed + 1) + dist.get_rank())
    times, synchronizing = [], []
    for step in range(steps):
        tokens = corpus.batch(text, SEQUENCES, ddp.module.context, order)
        begin, before = time.monotonic(), seconds_of(state)
        optimizer.param_groups[0]["lr"] = learning_rate(step, total)
        optimizer.zero_grad()
        loss = ddp(tokens)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(ddp.parameters(), CLIP)
        optimizer.step()
        times.append(1e3 * (time.monotonic() - begin))
        synchronizing.append(1e3 * (seconds_of(state) - before))
        if step % 5 == 4 or step == steps - 1:
            say(way=name, step=step + 1, loss=loss.item())
    warm_up = min(WARM_UP, steps // 2)
    return times[warm_up:], synchronizing[warm_up:]


def seconds_of(state):
    return state.stats()["synchronizing_s"] if state else 0.0


def held_out_loss(model, text):
    """Over the same pieces for every codec, a part of them on each rank."""
    order = torch.Generator().manual_seed(500 + dist.get_rank())
    with torch.no_grad():
        losses = [model(corpus.batch(text, 32, model.context, order)) for _ in range(HELD_OUT_SEQUENCES // 32)]
    mean = torch.stack(losses).mean()
    dist.all_reduce(mean)
    return mean.item() / dist.get_world_size()


def fingerprint(model):
    """A hash of all parameters' bytes."""
    digest = hashlib.sha256()
    for parameter in model.parameters():
        digest.update(parameter.detach().numpy().tobytes())
    return digest.hexdigest()


def run(name, steps, total, seed, texts, trace=None):
    """Trains from scratch with one way of synchronizing: "compute" (not at all) or a codec's name."""
    torch.manual_seed(seed)
    ddp = DistributedDataParallel(Gpt(), bucket_cap_mb=1)
    state = None
    if name == "compute":
        ddp.register_comm_hook(None, keep)
    else:
        state = casync.torch.State(codec=name, trace=trace)
        ddp.register_comm_hook(state, casync.torch.comm_hook)
    times, synchronizing = train(ddp, state, texts[0], name, steps, total, seed)
    result = {"step_ms": statistics.median(times), "synchronizing_ms": statistics.median(synchronizing)}
    if state:
        result["loss"] = held_out_loss(ddp.module, texts[1])
        result["bytes"] = state.stats()["wire_bytes_sent"] / steps
        prints = [None] * dist.get_world_size()
        dist.all_gather_object(prints, fingerprint(ddp.module))
        result["replicas"] = prints
        state.close()
    return result


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("codecs", nargs="+")
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=1, help="train with so many, from --seed on")
    parser.add_argument("--trace", help="folder for the timeline of a few more steps with --trace-codec")
    parser.add_argument("--trace-codec", default="int4")
    options = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    texts = corpus.read()
    say(result="compute", **run("compute", 40, options.steps, options.seed, texts))
    for seed in range(options.seed, options.seed + options.seeds):
        for codec in options.codecs:
            say(result=codec, seed=seed, **run(codec, options.steps, options.steps, seed, texts))
    if options.trace:
        run(options.trace_codec, WARM_UP + 10, options.steps, options.seed, texts, trace=options.trace)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
