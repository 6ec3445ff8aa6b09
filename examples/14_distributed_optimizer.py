# SPDX-License-Identifier: Apache-2.0
"""Trains a small classifier without DDP: the optimizer averages gradients in 8 bits, each as soon as it is ready.

    casync run -n 2 -- python examples/14_distributed_optimizer.py
    torchrun --nproc-per-node 2 examples/14_distributed_optimizer.py
"""

import os

import torch
from torch import nn

import casync.torch

STEPS, BATCH = 60, 512  # points of all ranks together


def batch(generator, count=BATCH):
    """Points in the plane, and whether they are inside a ring."""
    points = torch.rand(count, 2, generator=generator) * 4 - 2
    radius = points.norm(dim=1)
    return points, ((radius > 0.8) & (radius < 1.6)).long()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)

    # These two lines are all there is to it. With model=model, step() returns at once, and each layer's update waits
    # until the next forward pass needs it.
    casync.torch.broadcast_parameters(model)
    optimizer = casync.torch.DistributedOptimizer(
        optimizer, model.named_parameters(), model=model, codec=os.environ.get("CODEC", "int8")
    )

    generator = torch.Generator().manual_seed(1)
    rank, size = optimizer.casync.rank, optimizer.casync.size
    for step in range(STEPS):
        points, inside = (whole[rank::size] for whole in batch(generator))  # this rank's part
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(points), inside).backward()
        optimizer.step()  # a gradient that is not finite on some rank changes no rank's parameters

    points, inside = batch(torch.Generator().manual_seed(99), 2000)
    accuracy = (model(points).argmax(dim=1) == inside).float().mean().item()
    if rank == 0:
        sent = optimizer.casync.stats()["wire_bytes_sent"] / STEPS
        print(f"accuracy {accuracy:.3f} after {STEPS} steps, {sent / 1e3:.1f} kB sent per rank and step")
    optimizer.casync.close()
    return 0 if accuracy > 0.8 else 1


if __name__ == "__main__":
    raise SystemExit(main())
