# SPDX-License-Identifier: Apache-2.0
"""Trains a small classifier with Lightning, its gradients synchronized in 8 bits.

    torchrun --nproc-per-node 2 examples/12_lightning.py
    casync run -n 2 --torch -- python examples/12_lightning.py
"""

import os

import lightning
import torch
from lightning.pytorch.strategies import DDPStrategy
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import casync.torch


class Classifier(lightning.LightningModule):
    def __init__(self, synchronized):
        super().__init__()
        self.synchronized = synchronized
        self.layers = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))

    def training_step(self, batch, at):
        places, inside = batch
        return nn.functional.cross_entropy(self.layers(places), inside)

    def on_before_optimizer_step(self, optimizer):
        if not self.synchronized.last_step.finite:  # the same answer on all ranks
            optimizer.zero_grad()  # without gradients there is no update

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-2)


def points(count, seed):
    """Points in the plane, and whether they are inside a ring."""
    places = torch.rand(count, 2, generator=torch.Generator().manual_seed(seed)) * 4 - 2
    radius = places.norm(dim=1)
    return TensorDataset(places, ((radius > 0.8) & (radius < 1.6)).long())


def main():
    torch.set_num_threads(1)
    lightning.seed_everything(0, verbose=False)
    # These two lines are all there is to it, besides leaving out updates that are not finite.
    state = casync.torch.State(codec="int8")
    strategy = DDPStrategy(process_group_backend="gloo", ddp_comm_state=state, ddp_comm_hook=casync.torch.comm_hook)
    trainer = lightning.Trainer(
        accelerator="cpu", devices=int(os.environ["LOCAL_WORLD_SIZE"]), strategy=strategy, max_epochs=1, logger=False,
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False
    )
    model = Classifier(state)
    trainer.fit(model, DataLoader(points(32768, seed=1), batch_size=256 // trainer.world_size))

    places, inside = points(2000, seed=2).tensors
    with torch.no_grad():
        accuracy = (model.layers(places).argmax(dim=1) == inside).float().mean().item()
    if trainer.is_global_zero:
        print(f"accuracy {accuracy:.3f}")
    state.close()
    return 0 if accuracy > 0.8 else 1


if __name__ == "__main__":
    raise SystemExit(main())
