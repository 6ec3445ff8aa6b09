#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""FSDP2 on two nodes of two ranks: a step and the loss with Gloo and with CaSync between the nodes.

    python tests/bench/torch_plugin/fsdp.py [--link 1gbit] [--codec int4] [--ways gloo group hook]

Half of the ranks live in each of two network namespaces, joined by a veth pair that tbf shapes; needs root, and the
package on PYTHONPATH. Each way trains the same model on the same samples, 16 x Linear(1024, 1024) that learn a linear map:

    gloo   a mesh of two dimensions, as FSDP has it: reduce-scatter inside the node, all-reduce between by Gloo
    group  the same mesh, whose dimension between the nodes is a process group of the backend "casync"
    hook   a mesh of one dimension inside the node, and fsdp_all_reduce_hook between the nodes

Ways take turns: each one trains once in a round. `median_ms` is the median of the rounds' medians, `least_ms` the least
step of all rounds. `link`: megabytes that left the first node in a step. `loss`: the mean over the last steps, of all
ranks.
"""

import argparse
import os
import pathlib
import statistics
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "ddp_step"))
import network  # noqa: E402
import results  # noqa: E402
import run as hosts  # noqa: E402

NODES, SHARDS = 2, 2
LAYERS, WIDTH, BATCH = 16, 1024, 8
LAST = 5  # steps whose loss is averaged
WAYS = ("gloo", "group", "hook")


def network_of_layers(torch):
    torch.manual_seed(0)
    layers = [torch.nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)]
    for layer in layers:  # near the identity, so that sixteen in a row can learn
        torch.nn.init.eye_(layer.weight)
        torch.nn.init.normal_(layer.bias, std=0.01)
    return torch.nn.Sequential(*layers)


def groups_of(rank, codec):
    """The mesh whose dimension between the nodes is ours."""
    import torch.distributed as dist
    from torch.distributed.device_mesh import DeviceMesh

    import casync.torch

    casync.torch.register_backend("casync_nodes", codec=codec)
    between = [dist.new_group([shard, shard + SHARDS], backend="casync_nodes") for shard in range(SHARDS)]
    within = [dist.new_group(list(range(node * SHARDS, (node + 1) * SHARDS))) for node in range(NODES)]
    ranks = [list(range(node * SHARDS, (node + 1) * SHARDS)) for node in range(NODES)]
    groups = [between[rank % SHARDS], within[rank // SHARDS]]
    return DeviceMesh.from_group(groups, "cpu", mesh=ranks, mesh_dim_names=("nodes", "shards"))


def shard(net, way, codec):
    """Shards `net` and sets up the way between the nodes."""
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    import casync.torch

    if way == "group":
        mesh = whole = groups_of(dist.get_rank(), codec)
    else:
        whole = init_device_mesh("cpu", (NODES, SHARDS), mesh_dim_names=("nodes", "shards"))
        mesh = whole["shards"] if way == "hook" else whole
    for layer in net:
        fully_shard(layer, mesh=mesh, reshard_after_forward=False)
    net = fully_shard(net, mesh=mesh, reshard_after_forward=False)
    if way == "hook":
        state = casync.torch.State(codec=codec, process_group=whole.get_group("nodes"))
        casync.torch.fsdp_all_reduce_hook(state).install(net)
    return net


def train(net, teacher, rank, steps):
    """Seconds, loss and bytes on the link of each step."""
    import torch
    import torch.distributed as dist

    optimizer = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.5)
    seconds, losses, sent = [], [], []
    for step in range(steps):
        x = torch.randn(BATCH, WIDTH, generator=torch.Generator().manual_seed(1000 * step + rank))
        dist.barrier()
        begin, bytes_before = time.monotonic(), network.sent_bytes()
        optimizer.zero_grad()
        loss = (net(x) - x @ teacher).square().mean()
        loss.backward()
        optimizer.step()
        seconds.append(time.monotonic() - begin)
        total = loss.detach().clone()
        dist.all_reduce(total)
        losses.append(total.item() / dist.get_world_size())
        sent.append(network.sent_bytes() - bytes_before)
    return seconds, losses, sent


def rank_main(way, codec, steps):
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    teacher = torch.randn(WIDTH, WIDTH, generator=torch.Generator().manual_seed(1)) / WIDTH**0.5
    net = shard(network_of_layers(torch), way, codec)
    seconds, losses, sent = train(net, teacher, dist.get_rank(), steps)
    result = {
        "median_s": statistics.median(seconds[2:]),
        "least_s": min(seconds[2:]),
        "first_loss": losses[0],
        "loss": statistics.mean(losses[-LAST:]),
        "link_mb": statistics.median(sent[2:]) / 1e6,
    }
    results.give(result)
    dist.destroy_process_group()


def run_way(way, codec, steps, timeout):
    command = [sys.executable, __file__, "--rank", way, "--codec", codec, "--steps", str(steps)]
    ended = hosts.run_ranks(command, NODES * SHARDS, timeout)
    if ended is None:
        raise SystemExit(f"{way}: no result in {timeout} s")
    for rank, (code, output, errors) in enumerate(ended):
        if code != 0:
            raise SystemExit(f"{way}: rank {rank} ended with {code}:\n{errors[-3000:]}")
    return results.of(ended[0][1])[-1]


def merged(rounds):
    """The results of several rounds as those of one. Each round trains on the same samples."""
    result = {name: statistics.median(one[name] for one in rounds) for name in rounds[0]}
    return {**result, "least_s": min(one["least_s"] for one in rounds)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--link", default="1gbit")
    parser.add_argument("--codec", default="int4")
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=WAYS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=30, help="of each way in a round")
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds of one way in a round")
    parser.add_argument("--rank", choices=WAYS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rank:
        rank_main(options.rank, options.codec, options.steps)
        return 0
    print(f"# load average {os.getloadavg()[0]:.2f}, {os.cpu_count()} cores; {options.link} between the nodes, {options.codec}")
    print("# way    median_ms  least_ms  speed-up  first_loss     loss   link_MB")
    reference = None
    with network.two_hosts():
        network.shape(options.link)
        found = hosts.by_turns(
            options.ways, options.rounds, lambda way: run_way(way, options.codec, options.steps, options.timeout)
        )
        for way, rounds in zip(options.ways, found):
            result = merged(rounds)
            reference = reference or result
            print(f"{way:8} {1e3 * result['median_s']:9.1f} {1e3 * result['least_s']:9.1f} "
                  f"{reference['median_s'] / result['median_s']:7.2f} x {result['first_loss']:11.5f} {result['loss']:8.5f} "
                  f"{result['link_mb']:9.2f}", flush=True)  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
