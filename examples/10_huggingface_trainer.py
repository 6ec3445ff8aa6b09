# SPDX-License-Identifier: Apache-2.0
"""Trains a small BERT with the Trainer of Hugging Face's transformers, its gradients synchronized in 8 bits.

    torchrun --nproc-per-node 2 examples/10_huggingface_trainer.py
    casync run -n 2 --torch -- python examples/10_huggingface_trainer.py
"""

import os
import tempfile

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainerCallback, TrainingArguments

import casync.torch

WORDS, BATCH = 32, 64  # sentences of all ranks together


class Synchronized(TrainerCallback):
    """Registers the hook on the DDP module that the Trainer made, and leaves out updates that are not finite."""

    def __init__(self, trainer, **options):
        self.trainer, self.state = trainer, casync.torch.State(**options)

    def on_train_begin(self, args, state, control, **kwargs):
        if args.world_size > 1:  # of one rank the Trainer makes no DDP module
            self.trainer.model_wrapped.register_comm_hook(self.state, casync.torch.comm_hook)

    def on_pre_optimizer_step(self, args, state, control, optimizer=None, **kwargs):
        if args.world_size > 1 and not self.state.last_step.finite:  # the same answer on all ranks
            optimizer.zero_grad()

    def on_train_end(self, args, state, control, **kwargs):
        self.state.close()


def sentences(count, seed):
    """Sentences of eight words, and whether a small word stands at their beginning."""
    words = torch.randint(WORDS, (count, 8), generator=torch.Generator().manual_seed(seed))
    return [dict(input_ids=line, labels=int(line[0] < WORDS // 2)) for line in words]


def accuracy(prediction):
    return {"accuracy": float((prediction.predictions.argmax(-1) == prediction.label_ids).mean())}


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    size = int(os.environ.get("WORLD_SIZE", 1))
    config = BertConfig(
        vocab_size=WORDS, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64,
        max_position_embeddings=8, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder, use_cpu=True, ddp_backend="gloo", max_steps=60, learning_rate=3e-3,
            per_device_train_batch_size=BATCH // size, save_strategy="no", logging_strategy="no", report_to=[],
            disable_tqdm=True, dataloader_pin_memory=False, ddp_find_unused_parameters=False)
        trainer = Trainer(BertForSequenceClassification(config), arguments, train_dataset=sentences(4096, seed=1),
                          eval_dataset=sentences(2000, seed=2), compute_metrics=accuracy)
        trainer.add_callback(Synchronized(trainer, codec="int8"))  # this line, and the class above
        trainer.train()
        reached = trainer.evaluate()["eval_accuracy"]
    if trainer.is_world_process_zero():
        print(f"accuracy {reached:.3f}")
    return 0 if reached > 0.8 else 1


if __name__ == "__main__":
    raise SystemExit(main())
