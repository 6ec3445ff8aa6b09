# SPDX-License-Identifier: Apache-2.0
"""The models whose steps are measured: NAMES, and what each is made for."""

import pathlib
import sys

import torch
from torch import nn
from torch.nn import functional

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "examples" / "demo"))
from gpt import BYTES, Gpt  # noqa: E402


def mlp24():
    """24 matrices of 4 MiB: 100.8 MB of gradients, next to nothing to compute."""
    layers = nn.Sequential(*(nn.Linear(1024, 1024) for _ in range(24)))
    x = torch.randn(1, 1024)
    return layers, lambda ddp: ddp(x).square().mean()


def gpt():
    """A transformer of 10.9 M parameters."""
    model = Gpt(width=384, layers=6, heads=6, context=96)
    tokens = torch.randint(BYTES, (2, 97))
    return model, lambda ddp: ddp(tokens)


def small():
    """Many small tensors: 200 layers of 96 values with a norm each, 800 gradients of 7.6 MB together."""

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.linear = nn.LayerNorm(96), nn.Linear(96, 96)

        def forward(self, x):
            return x + functional.gelu(self.linear(self.norm(x)))

    layers = nn.Sequential(*(Layer() for _ in range(200)))
    x = torch.randn(16, 96)
    return layers, lambda ddp: ddp(x).square().mean()


def embedding():
    """One huge tensor: 100,000 words of 64 values, 25.6 MB, and a head that is small compared with it."""

    class Bag(nn.Module):
        def __init__(self):
            super().__init__()
            self.words = nn.EmbeddingBag(100_000, 64)
            self.head = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 20))

        def forward(self, words):
            return self.head(self.words(words))

    words, labels = torch.randint(100_000, (64, 50)), torch.randint(20, (64,))
    return Bag(), lambda ddp: functional.cross_entropy(ddp(words), labels)


def convolutions():
    """A residual network of 4.9 M parameters, whose step computes more than it sends."""

    class Block(nn.Module):
        def __init__(self, width_in, width, stride):
            super().__init__()
            self.first = nn.Conv2d(width_in, width, 3, stride, 1, bias=False)
            self.second = nn.Conv2d(width, width, 3, 1, 1, bias=False)
            self.norms = nn.ModuleList(nn.BatchNorm2d(width) for _ in range(2))
            self.past = nn.Conv2d(width_in, width, 1, stride, bias=False)

        def forward(self, x):
            y = functional.relu(self.norms[0](self.first(x)))
            return functional.relu(self.past(x) + self.norms[1](self.second(y)))

    blocks = [Block(a, b, s) for a, b, s in [(3, 64, 1), (64, 128, 2), (128, 256, 2), (256, 512, 2)]]
    model = nn.Sequential(*blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))
    x, labels = torch.randn(4, 3, 32, 32), torch.randint(10, (4,))
    return model, lambda ddp: functional.cross_entropy(ddp(x), labels)


_MAKERS = {maker.__name__: maker for maker in (mlp24, gpt, small, embedding, convolutions)}
NAMES = list(_MAKERS)


def make_model(name):
    """The model and a function that gives its loss, the same on each rank."""
    torch.manual_seed(0)
    return _MAKERS[name]()
