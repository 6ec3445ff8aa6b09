# SPDX-License-Identifier: Apache-2.0
"""Something small for the ranks of a test to train: two layers under DDP, in several buckets."""

import hashlib

import torch
from torch.nn.parallel import DistributedDataParallel

import casync.torch


class CallsInBackward(torch.autograd.Function):
    """The identity, whose backward pass calls a function first."""

    @staticmethod
    def forward(ctx, x, function):
        ctx.function = function
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        ctx.function()
        return gradient, None


def make(codec="int4", hidden=50, hook=casync.torch.comm_hook, ddp_options=None, **options):
    state = casync.torch.State(codec=codec, **options)
    ddp, optimizer = with_state(state, hidden, hook, ddp_options)
    return ddp, state, optimizer


def with_state(state, hidden=50, hook=casync.torch.comm_hook, ddp_options=None):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(40, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, 30))
    ddp = DistributedDataParallel(net, bucket_cap_mb=0.005, **(ddp_options or {}))
    ddp.register_comm_hook(state, hook)
    return ddp, torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)


def largest(tensors):
    """The largest magnitude of all their elements, and NaN if one of these is: Python's max() may drop it."""
    return torch.stack([tensor.abs().max().float() for tensor in tensors]).max().item()


def step_once(ddp, optimizer, rank, step):
    optimizer.zero_grad()
    x = torch.randn(4, 40, generator=torch.Generator().manual_seed(1000 * rank + step))
    ddp(x).square().mean().backward()
    optimizer.step()


def fingerprint(ddp):
    return hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in ddp.parameters())).hexdigest()
