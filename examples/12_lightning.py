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


class Synchronized(lightning.Callback):
    """Registers the hook on the DDP module that the strategy made, and leaves out updates that are not finite.
    Lightning itself registers DDPStrategy's `ddp_comm_hook` on GPUs only."""

    def __init__(self, **options):
        self.synchronization = casync.torch.State(**options)

    def on_train_start(self, trainer, module):
        trainer.strategy.model.register_comm_hook(self.synchronization, casync.torch.comm_hook)

    def on_before_optimizer_step(self, trainer, module, optimizer):
        if not self.synchronization.last_step.finite:  # the same answer on all ranks
            optimizer.zero_grad()  # without gradients there is no update

    def on_train_end(self, trainer, module):
        self.synchronization.close()


class Classifier(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))

    def training_step(self, batch, at):
        places, inside = batch
        return nn.functional.cross_entropy(self.layers(places), inside)

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
    trainer = lightning.Trainer(
        accelerator="cpu", devices=int(os.environ["LOCAL_WORLD_SIZE"]), max_epochs=1, logger=False,
        strategy=DDPStrategy(process_group_backend="gloo"), enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False, callbacks=[Synchronized(codec="int8")],  # this argument, and the class above
    )  # fmt: skip
    model = Classifier()
    trainer.fit(model, DataLoader(points(32768, seed=1), batch_size=256 // trainer.world_size))

    places, inside = points(2000, seed=2).tensors
    with torch.no_grad():
        accuracy = (model.layers(places).argmax(dim=1) == inside).float().mean().item()
    if trainer.is_global_zero:
        print(f"accuracy {accuracy:.3f}")
    return 0 if accuracy > 0.8 else 1


if __name__ == "__main__":
    raise SystemExit(main())
