# SPDX-License-Identifier: Apache-2.0
"""A small GPT over bytes: enough of a model that its gradients are real."""

import torch
from torch import nn
from torch.nn import functional

BYTES = 256


class Block(nn.Module):
    """Attention and a feed-forward network, each added to what came in."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.proj = nn.Linear(width, width, bias=False)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, context, width = x.shape
        q, k, v = (
            part.view(batch, context, self.heads, width // self.heads).transpose(1, 2)
            for part in self.qkv(self.norm1(x)).split(width, dim=2)
        )
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(mixed.transpose(1, 2).reshape(batch, context, width))
        return x + self.down(functional.gelu(self.up(self.norm2(x))))


class Gpt(nn.Module):
    """Bytes in, the loss of predicting each next byte out."""

    def __init__(self, width=128, layers=4, heads=4, context=96):
        super().__init__()
        self.context = context
        self.embed, self.position = nn.Embedding(BYTES, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, BYTES, bias=False)
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                # The layers that add to the residual stream start smaller, so that its size does not grow with depth.
                shrink = (2 * layers) ** -0.5 if name.endswith(("proj.weight", "down.weight")) else 1.0
                nn.init.normal_(parameter, std=0.02 * shrink)

    def forward(self, tokens):
        """tokens: int64 [batch, context + 1]."""
        inputs, targets = tokens[:, :-1], tokens[:, 1:]
        x = self.embed(inputs) + self.position.weight[: inputs.shape[1]]
        for block in self.blocks:
            x = block(x)
        return functional.cross_entropy(self.head(self.norm(x)).flatten(0, 1), targets.flatten())
