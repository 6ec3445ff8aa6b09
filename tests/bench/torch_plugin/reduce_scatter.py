#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""reduce_scatter_tensor of the backend "casync" inside of a backward pass, beside an all-reduce of which a shard is kept.

    CASYNC_LINK=1gbit python tests/bench/torch_plugin/reduce_scatter.py [--ranks 2 4] [--codecs none int4] [--mib 64]

All ranks share this machine; CASYNC_LINK paces each rank's messages; needs the package on PYTHONPATH. The two ways take
turns, step after step, each with a process group of its own:

    whole   every rank gets all of the result, and keeps its shard
    shards  every rank gets its shard

`sent_mb`: megabytes that rank 0 sends in a step. `error`: of the result's shard of rank 0 in the last step, relative.
"""

import argparse
import os
import statistics
import sys
import time
import warnings

import results

WAYS = ("whole", "shards")
PORT = 29483


def reduced(torch, group, tensor):
    """The output of one backward pass that reduces and scatters `tensor`."""
    import torch.distributed as dist

    output = torch.empty(tensor.numel() // group.size())

    class Reduces(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, gradient):
            dist.reduce_scatter_tensor(output, tensor, op=dist.ReduceOp.AVG, group=group)
            return gradient

    Reduces.apply(torch.zeros(1, requires_grad=True)).backward(torch.ones(1))
    return output


def step_of(torch, way, group, tensor):
    from casync.torch import shards

    declare = shards.declare_shards
    if way == "whole":
        shards.declare_shards = lambda synchronizer, *arguments: (synchronizer.declare(*arguments), False)
    try:
        before = group.stats().get("payload_bytes_sent", 0)
        begin = time.monotonic()
        output = reduced(torch, group, tensor)
        return time.monotonic() - begin, group.stats()["payload_bytes_sent"] - before, output
    finally:
        shards.declare_shards = declare


def rank_main(options):
    import torch
    import torch.distributed as dist

    import casync.torch

    warnings.filterwarnings("ignore", category=FutureWarning)  # some torch has another name for it
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    casync.torch.register_backend("casync_way", codec=options.codec)
    ranks = list(range(dist.get_world_size()))
    groups = {way: dist.new_group(ranks, backend="casync_way") for way in WAYS}
    elements = (options.mib << 20) // 4
    tensor = torch.randn(elements, generator=torch.Generator().manual_seed(dist.get_rank()))
    seconds, sent, outputs = {way: [] for way in WAYS}, {}, {}
    for _ in range(options.steps + 2):
        for way in WAYS:
            dist.barrier()
            taken, sent[way], outputs[way] = step_of(torch, way, groups[way], tensor)
            seconds[way].append(taken)
    if dist.get_rank() == 0:
        shard = elements // len(ranks)
        wanted = sum(torch.randn(elements, generator=torch.Generator().manual_seed(rank))[:shard] for rank in ranks)
        wanted /= len(ranks)
        for way in WAYS:
            result = {
                "median_s": statistics.median(seconds[way][2:]),
                "least_s": min(seconds[way][2:]),
                "sent_mb": sent[way] / 1e6,
                "error": ((outputs[way] - wanted).norm() / wanted.norm()).item(),
            }
            results.give({"way": way, **result})
    for group in groups.values():
        group.shutdown()
    dist.barrier()
    dist.destroy_process_group()


def rows_of(ranks, codec, options):
    command = [sys.executable, __file__, "--rank", "--codec", codec, "--mib", str(options.mib), "--steps", str(options.steps)]
    commands = []
    for rank in range(ranks):
        place = {"RANK": rank, "WORLD_SIZE": ranks, "LOCAL_RANK": rank, "LOCAL_WORLD_SIZE": ranks, "MASTER_PORT": PORT}
        environment = {**os.environ, **{key: str(value) for key, value in place.items()}, "MASTER_ADDR": "127.0.0.1"}
        commands.append((command, environment))
    return results.of_ranks(commands, options.timeout, f"{codec} on {ranks} ranks")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", nargs="+", type=int, default=[2, 4])
    parser.add_argument("--codecs", nargs="+", default=["none", "int4"])
    parser.add_argument("--mib", type=int, default=64)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds of one codec on so many ranks")
    parser.add_argument("--rank", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--codec", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rank:
        rank_main(options)
        return 0
    link = os.environ.get("CASYNC_LINK", "no limit")
    print(f"# load average {os.getloadavg()[0]:.2f}, {os.cpu_count()} cores; {options.mib} MiB of float32, link {link}")
    print("# ranks codec    way     median_ms  least_ms  shorter   sent_mb    error")
    for ranks in options.ranks:
        for codec in options.codecs:
            rows = rows_of(ranks, codec, options)
            for one in rows:
                print(f"{ranks:7} {codec:8} {one['way']:7} {1e3 * one['median_s']:9.1f} {1e3 * one['least_s']:9.1f} "
                      f"{rows[0]['median_s'] / one['median_s']:6.2f} x {one['sent_mb']:9.2f} {one['error']:8.5f}",
                      flush=True)  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
