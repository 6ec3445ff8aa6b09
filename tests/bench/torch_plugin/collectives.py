#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Broadcasts, all-gathers, all-reduces, reduce-scatters and barriers of the backend "casync" beside Gloo's: turns, in the same
processes.

    python tests/bench/torch_plugin/collectives.py [--ranks 2 4] [--kib 0.1 64 1024 65536] [--turns 10] [--link 1gbit]
        [--kinds sum scatter]

Needs the package on PYTHONPATH. `--link`: each rank is a host of its own on a switch, with so much each way; needs root.
Otherwise all ranks share this machine. `KiB`: of the tensor that is broadcast or reduced, and of the output of an all-gather.
`maximum` and `sum` are all-reduces, `scatter` a reduce-scatter with SUM; all of float32. The first turns, which are not
measured, check the results.
"""

import argparse
import contextlib
import json
import os
import pathlib
import statistics
import sys
import time
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "ddp_step"))
import network  # noqa: E402
import results  # noqa: E402

PORT = 29485
KINDS = ("barrier", "broadcast", "all_gather", "maximum", "sum", "scatter")
WARM_UP = 2  # turns


def rank_main(options):
    import torch
    import torch.distributed as dist

    import casync.torch
    from casync.torch.copies import REDUCED

    warnings.filterwarnings("ignore", category=FutureWarning)  # some torch has another name for it
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    ways = {"gloo": dist.group.WORLD, "casync": dist.new_group(list(range(size)), backend="casync")}
    store = dist.distributed_c10d._get_default_store()

    def timed(kind, group, tensor, output):
        begin = time.monotonic()
        if kind == "broadcast":
            dist.broadcast(tensor, group=group, group_src=size - 1)
        elif kind == "maximum":
            dist.all_reduce(tensor, dist.ReduceOp.MAX, group=group)
        elif kind == "sum":
            dist.all_reduce(tensor, group=group)
        elif kind == "scatter":
            dist.reduce_scatter_tensor(output[: tensor.numel() // size], tensor, group=group)
        elif kind == "all_gather":
            dist.all_gather_into_tensor(output, tensor[: tensor.numel() // size], group=group)
        else:
            dist.barrier(group=group)
        return time.monotonic() - begin

    def is_right(kind, tensor, output):
        each = tensor.numel() // size
        if kind == "all_gather":
            found, wanted = output.view(size, each), torch.arange(float(size)).view(size, 1)
        elif kind == "scatter":
            found, wanted = output[:each], size * (size - 1) / 2
        else:
            found, wanted = tensor, size * (size - 1) / 2 if kind == "sum" else size - 1.0
        return kind == "barrier" or bool(((found - wanted).abs() <= 0.01 * size).all())

    for kind, kib in [(kind, kib) for kind in options.kinds for kib in (options.kib if kind != "barrier" else [0])]:
        if kind == "maximum" and 1024 * kib * size > REDUCED:
            continue  # Gloo's, in both groups
        elements = max(size, int(kib * 256) // size * size)
        tensor = torch.full((elements,), float(rank))
        output = torch.empty(elements)
        seconds = {way: [] for way in ways}
        for turn in range(options.turns + WARM_UP):
            for way, group in ways.items():
                tensor.fill_(float(rank))  # else sums grow
                if turn < WARM_UP:
                    output.fill_(-1.0)
                dist.barrier()
                seconds[way].append(timed(kind, group, tensor, output))
                if turn < WARM_UP and not is_right(kind, tensor, output):
                    raise SystemExit(f"{way}: {kind} of {kib:g} KiB is wrong on rank {rank}")
        # A collective is over when the last rank has it.
        store.set(f"{kind} {kib} {rank}", json.dumps(seconds))
        if rank == 0:
            every = [json.loads(store.get(f"{kind} {kib} {each}")) for each in range(size)]
            result = {"kind": kind, "kib": kib}
            for way in ways:
                last = [max(each) for each in zip(*(one[way] for one in every))][WARM_UP:]
                result[way] = [statistics.median(last), min(last)]
            results.give(result)
        dist.barrier()
    dist.destroy_process_group()


def rows_of(ranks, options):
    command = [sys.executable, __file__, "--rank", "--turns", str(options.turns), "--kib", *map(str, options.kib)]
    command += ["--kinds", *options.kinds]
    commands = []
    for rank in range(ranks):
        place = {"RANK": rank, "WORLD_SIZE": ranks, "MASTER_PORT": PORT, "MASTER_ADDR": "127.0.0.1"}
        inside = []
        if options.link:
            inside = ["ip", "netns", "exec", network.NAMES[rank]]
            place.update(MASTER_ADDR=network.ADDRESSES[0], LOCAL_RANK=0, LOCAL_WORLD_SIZE=1)
            place.update(GLOO_SOCKET_IFNAME=network.DEVICE, CASYNC_INTERFACE=network.DEVICE, CASYNC_TRANSPORT="ucx:tcp")
        else:
            place.update(LOCAL_RANK=rank, LOCAL_WORLD_SIZE=ranks)
        environment = {**os.environ, "OMP_NUM_THREADS": "1", **{key: str(value) for key, value in place.items()}}
        commands.append(([*inside, *command], environment))
    return results.of_ranks(commands, options.timeout, f"{ranks} ranks")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", nargs="+", type=int, default=[2, 4])
    parser.add_argument("--kib", nargs="+", type=float, default=[0.1, 64, 1024, 65536])
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--turns", type=int, default=10)
    parser.add_argument("--link", help="rate of each rank's link, such as 1gbit")
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds of so many ranks")
    parser.add_argument("--rank", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rank:
        rank_main(options)
        return 0
    where = f"links of {options.link}" if options.link else "one machine"
    print(f"# load average {os.getloadavg()[0]:.2f}, {os.cpu_count()} cores; {where}")
    print("# ranks collective        KiB   gloo_ms  least_ms casync_ms  least_ms   gloo / casync")
    for ranks in options.ranks:
        with network.hosts(ranks) if options.link else contextlib.nullcontext():
            if options.link:
                network.shape_all(ranks, options.link)
            rows = rows_of(ranks, options)
        for one in rows:
            gloo, ours = one["gloo"], one["casync"]
            print(f"{ranks:7} {one['kind']:11} {one['kib']:9.1f} {1e3 * gloo[0]:9.2f} {1e3 * gloo[1]:9.2f} {1e3 * ours[0]:9.2f} "
                  f"{1e3 * ours[1]:9.2f} {gloo[0] / ours[0]:8.2f} {gloo[1] / ours[1]:6.2f}", flush=True)  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
