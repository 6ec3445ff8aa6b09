# SPDX-License-Identifier: Apache-2.0
"""Trains a small classifier with PyTorch's DDP, its gradients synchronized by CaSync in 8 bits.

    casync run -n 2 --torch -- python examples/05_train_pytorch.py
    torchrun --nproc-per-node 2 examples/05_train_pytorch.py
"""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import casync.torch

STEPS, BATCH = 60, 512  # points of all ranks together


def batch(generator, count=BATCH):
    """Points in the plane, and whether they are inside a ring."""
    points = torch.rand(count, 2, generator=generator) * 4 - 2
    radius = points.norm(dim=1)
    return points, ((radius > 0.8) & (radius < 1.6)).long()


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    layers = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
    model = DistributedDataParallel(layers)

    # These two lines are all there is to it.
    state = casync.torch.State(codec=os.environ.get("CODEC", "int8"))
    model.register_comm_hook(state, casync.torch.comm_hook)

    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    generator = torch.Generator().manual_seed(1)
    rank, size = dist.get_rank(), dist.get_world_size()
    for step in range(STEPS):
        points, inside = (whole[rank::size] for whole in batch(generator))  # this rank's part
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(points), inside)
        loss.backward()
        if state.last_step.finite:  # the same answer on all ranks
            optimizer.step()

    points, inside = batch(torch.Generator().manual_seed(99), 2000)
    accuracy = (model(points).argmax(dim=1) == inside).float().mean().item()
    if rank == 0:
        sent = state.stats()["wire_bytes_sent"] / STEPS
        print(f"accuracy {accuracy:.3f} after {STEPS} steps, {sent / 1e3:.1f} kB sent per rank and step")
    state.close()
    dist.destroy_process_group()
    return 0 if accuracy > 0.8 else 1


if __name__ == "__main__":
    raise SystemExit(main())
