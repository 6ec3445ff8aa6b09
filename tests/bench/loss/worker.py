# SPDX-License-Identifier: Apache-2.0
"""One rank of the table of losses: trains the demo's model from scratch once for each argument, and prints the results as
JSON lines on rank 0."""

import argparse
import json
import math
import pathlib
import sys
import tempfile

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

sys.path.append(str(pathlib.Path(__file__).resolve().parents[3] / "examples/demo"))

import corpus  # noqa: E402
import rows  # noqa: E402
from frozen_adamw import FrozenAdamW  # noqa: E402
from gpt import Gpt  # noqa: E402

import casync.torch  # noqa: E402

SEQUENCES = 4  # per rank and step
HELD_OUT_SEQUENCES = 128  # per rank
RATES = {"adamw": 2e-3, "sgd": 0.1}
CLIP = 1.0


def learning_rate(kind, row, step, steps):
    warm = min(1.0, (step + 1) / 20)
    return RATES[kind] * row.rate * warm * (0.05 + 0.95 * (1 + math.cos(math.pi * step / steps)) / 2)


def optimizer_of(kind, row, parameters):
    if kind == "sgd":
        return torch.optim.SGD(parameters, lr=RATES[kind], momentum=row.momentum)
    adam = FrozenAdamW if row.frozen else torch.optim.AdamW
    return adam(parameters, lr=RATES[kind], betas=(0.9, 0.95), weight_decay=0.1)


def train(ddp, state, kind, row, steps, seed, text):
    optimizer = optimizer_of(kind, row, ddp.parameters())
    if row.local_sgd:
        state.follow(optimizer)
    order = torch.Generator().manual_seed(1000 * (seed + 1) + dist.get_rank())
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = learning_rate(kind, row, step, steps)
        if row.frozen and kind == "adamw":
            optimizer.frozen = step >= round(row.warm_up * steps)
        optimizer.zero_grad()
        ddp(corpus.batch(text, SEQUENCES, ddp.module.context, order)).backward()
        torch.nn.utils.clip_grad_norm_(ddp.parameters(), CLIP)
        optimizer.step()


def held_out_loss(model, text):
    order = torch.Generator().manual_seed(500 + dist.get_rank())
    with torch.no_grad():
        losses = [model(corpus.batch(text, 32, model.context, order)) for _ in range(HELD_OUT_SEQUENCES // 32)]
    mean = torch.stack(losses).mean()
    dist.all_reduce(mean)
    return mean.item() / dist.get_world_size()


def run(row, kind, seed, steps, texts):
    """The held-out loss after a training, and the bytes that a rank sent in a step."""
    torch.manual_seed(seed)
    ddp = DistributedDataParallel(Gpt(), bucket_cap_mb=1)
    with tempfile.NamedTemporaryFile("w", suffix=".txtpb") as plan:
        plan.write(rows.plan_text(row, steps))
        plan.flush()
        state = casync.torch.State(plan=plan.name)
        ddp.register_comm_hook(state, casync.torch.comm_hook)
        train(ddp, state, kind, row, steps, seed, texts[0])
    result = {"loss": held_out_loss(ddp.module, texts[1]), "bytes": state.stats()["wire_bytes_sent"] / steps}
    state.close()
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("runs", nargs="+", help="ROW:OPTIMIZER:SEED, the first two by their place in rows.py")
    options = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    texts = corpus.read()
    for wanted in options.runs:
        at, kind, seed = (int(number) for number in wanted.split(":"))
        row, optimizer = rows.ROWS[at], rows.OPTIMIZERS[kind]
        result = run(row, optimizer, seed, options.steps, texts)
        if dist.get_rank() == 0:
            what = {"row": row.name, "optimizer": optimizer, "seed": seed, "steps": options.steps}
            print(json.dumps({**what, **result}), flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
