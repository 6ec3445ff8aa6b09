# SPDX-License-Identifier: Apache-2.0
"""Trains a small classifier with FSDP2: shards stay inside a node, and CaSync averages them between nodes in 8 bits.

    casync run -n 4 --torch -- python examples/13_fsdp2.py
    torchrun --nnodes 2 --nproc-per-node 2 --rdzv-backend c10d --rdzv-endpoint HOST:PORT examples/13_fsdp2.py
"""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

import casync.torch

STEPS, BATCH = 60, 512  # points of all ranks together
RANKS_PER_NODE = 2


def batch(generator, count=BATCH):
    """Points in the plane, and whether they are inside a ring."""
    points = torch.rand(count, 2, generator=generator) * 4 - 2
    radius = points.norm(dim=1)
    return points, ((radius > 0.8) & (radius < 1.6)).long()


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    within = min(RANKS_PER_NODE, size)
    mesh = init_device_mesh("cpu", (size // within, within), mesh_dim_names=("nodes", "shards"))

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
    for layer in model:
        if isinstance(layer, nn.Linear):
            fully_shard(layer, mesh=mesh["shards"])
    fully_shard(model, mesh=mesh["shards"])

    # These two lines are all there is to it.
    state = casync.torch.State(codec=os.environ.get("CODEC", "int8"), process_group=mesh.get_group("nodes"))
    casync.torch.fsdp_all_reduce_hook(state).install(model)

    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    generator = torch.Generator().manual_seed(1)
    for step in range(STEPS):
        points, inside = (whole[rank::size] for whole in batch(generator))  # this rank's part
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(points), inside).backward()
        # The state's answer is the same on all nodes, and is about this rank's shard: the other shards are asked, too.
        finite = torch.tensor(float(state.last_step.finite))
        dist.all_reduce(finite, dist.ReduceOp.MIN, group=mesh.get_group("shards"))
        if finite.item():
            optimizer.step()

    points, inside = batch(torch.Generator().manual_seed(99), 2000)
    accuracy = (model(points).argmax(dim=1) == inside).float().mean().item()
    if rank == 0:
        sent = state.stats()["wire_bytes_sent"] / STEPS
        print(f"accuracy {accuracy:.3f} after {STEPS} steps, {sent / 1e3:.1f} kB sent per rank and step between nodes")
    state.close()
    dist.destroy_process_group()
    return 0 if accuracy > 0.8 else 1


if __name__ == "__main__":
    raise SystemExit(main())
