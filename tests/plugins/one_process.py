# SPDX-License-Identifier: Apache-2.0
"""The training of tests/plugins/small_net.py in one process, a replica for each rank."""

import pathlib

import torch


def write_plans(folder, texts):
    """A file for each; processes are what takes time here, so each trains by several plans."""
    paths = []
    for at, text in enumerate(texts):
        paths.append(str(folder / f"plan{at}.txtpb"))
        pathlib.Path(paths[-1]).write_text("version: 1\n" + text)
    return paths


def batch(rank, step):
    """As small_net.step_once has it."""
    return torch.randn(4, 40, generator=torch.Generator().manual_seed(1000 * rank + step))


def replica():
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(40, 50), torch.nn.ReLU(), torch.nn.Linear(50, 30))
    return net, torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)


def gradients(net, rank, step):
    net.zero_grad()
    net(batch(rank, step)).square().mean().backward()
    return [p.grad.clone() for p in net.parameters()]


def apply(net, optimizer, values):
    for p, value in zip(net.parameters(), values):
        p.grad = value.clone()
    optimizer.step()


def mean(of_ranks):
    return [torch.stack(values).mean(0) for values in zip(*of_ranks)]


def near(parameters, expected):
    return all(torch.allclose(torch.from_numpy(p), e, rtol=1e-4, atol=1e-6) for p, e in zip(parameters, expected))
