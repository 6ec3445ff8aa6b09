# SPDX-License-Identifier: Apache-2.0
"""Trains a small classifier with Hugging Face's accelerate, its gradients synchronized in 8 bits.

    torchrun --nproc-per-node 2 examples/11_accelerate.py
    casync run -n 2 --torch -- python examples/11_accelerate.py
"""

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import casync.torch


def points(count, seed):
    """Points in the plane, and whether they are inside a ring."""
    places = torch.rand(count, 2, generator=torch.Generator().manual_seed(seed)) * 4 - 2
    radius = places.norm(dim=1)
    return TensorDataset(places, ((radius > 0.8) & (radius < 1.6)).long())


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    model = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    loader = DataLoader(points(32768, seed=1), batch_size=256 // accelerator.num_processes)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)

    # These two lines are all there is to it. (Of one rank there is no DDP module.)
    state = casync.torch.State(codec="int8") if accelerator.num_processes > 1 else None
    if state:
        model.register_comm_hook(state, casync.torch.comm_hook)

    for places, inside in loader:
        with accelerator.accumulate(model):
            accelerator.backward(nn.functional.cross_entropy(model(places), inside))
            # A gradient that is not finite on one rank stops the update on all of them.
            if state is None or not accelerator.sync_gradients or state.last_step.finite:
                optimizer.step()
            optimizer.zero_grad()

    places, inside = points(2000, seed=2).tensors
    with torch.no_grad():
        accuracy = (accelerator.unwrap_model(model)(places).argmax(dim=1) == inside).float().mean().item()
    accelerator.print(f"accuracy {accuracy:.3f}")
    if state:
        state.close()
    accelerator.end_training()
    return 0 if accuracy > 0.8 else 1


if __name__ == "__main__":
    raise SystemExit(main())
