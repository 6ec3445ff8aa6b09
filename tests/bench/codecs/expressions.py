# SPDX-License-Identifier: Apache-2.0
"""Codecs as one writes them in PyTorch: each takes a gradient and a residual, and gives a payload and the next residual.

Several tensors stand for a payload. Codes of fewer than eight bits are packed, as on the wire; what a codec of ours adds
for corrupt payloads or NaN is not here."""

import torch

BLOCK = 128


def packed(codes, bits):
    """uint8 codes of `bits` each, eight of them to `bits` bytes."""
    parts = codes.view(-1, 8 // bits)
    total = parts[:, 0].clone()
    for i in range(1, 8 // bits):
        total |= parts[:, i] << (bits * i)
    return total


def bf16(x, residual):
    p = x + residual
    sent = p.to(torch.bfloat16)
    return (sent,), p - sent.float()


def fp16(x, residual):
    p = x + residual
    sent = p.to(torch.float16)
    return (sent,), p - sent.float()


def levels(x, residual, top, block, bits):
    p = (x + residual).view(-1, block)
    scale = p.abs().amax(1, keepdim=True) / top
    q = torch.where(scale > 0, torch.round(p / scale), torch.zeros_like(p))
    codes = q.to(torch.int8)
    payload = codes if bits == 8 else packed((codes & (2**bits - 1)).view(torch.uint8).reshape(-1), bits)
    return (payload, scale), (p - q * scale).view(-1)


def int8(x, residual):
    return levels(x, residual, 127, 256, 8)


def int4(x, residual):
    return levels(x, residual, 7, 128, 4)


def int2(x, residual):
    return levels(x, residual, 1, 64, 2)


def signs(p, bits):
    return packed(bits.to(torch.uint8).view(-1), 1)


def onebit(x, residual):
    p = (x + residual).view(-1, 2048)
    positive = p >= 0
    count = positive.sum(1, keepdim=True)
    sum_positive = torch.where(positive, p, torch.zeros_like(p)).sum(1, keepdim=True)
    sum_all = p.sum(1, keepdim=True)
    up = sum_positive / count.clamp(min=1)
    down = (sum_all - sum_positive) / (2048 - count).clamp(min=1)
    return (signs(p, positive), up, down), (p - torch.where(positive, up, down)).view(-1)


def efsign(x, residual):
    p = (x + residual).view(-1, 2048)
    scale = p.abs().mean(1, keepdim=True)
    positive = p >= 0
    return (signs(p, positive), scale), (p - torch.where(positive, scale, -scale)).view(-1)


def tbq(x, residual, tau=1e-3):
    p = x + residual
    q = (p > tau).to(torch.int8) - (p < -tau).to(torch.int8)
    return (packed((q & 3).view(torch.uint8), 2),), p - tau * q


def terngrad(x, residual):
    scale = x.abs().max()
    q = torch.sign(x) * (torch.rand_like(x) * scale < x.abs())
    return (packed((q.to(torch.int8) & 3).view(torch.uint8), 2), scale), residual


def qsgd(x, residual):
    p = x.view(-1, BLOCK)
    norm = p.norm(dim=1, keepdim=True)
    level = p.abs() / norm * 7
    low = level.floor()
    q = (low + (torch.rand_like(p) < level - low)) * torch.sign(p)
    return (packed((q.to(torch.int8) & 15).view(torch.uint8).reshape(-1), 4), norm), residual


def fp8_e4m3(x, residual):
    p = (x + residual).view(-1, BLOCK)
    scale = p.abs().amax(1, keepdim=True) / 448
    sent = (p / scale).to(torch.float8_e4m3fn)
    return (sent.view(torch.uint8), scale), (p - sent.float() * scale).view(-1)


def topk(x, residual, ratio=0.01):
    p = x + residual
    _, places = torch.topk(p.abs(), int(x.numel() * ratio), sorted=False)
    values = p[places]
    rest = p.clone()
    rest[places] = 0
    return (places.int(), values), rest


def dgc(x, state, ratio=0.001, momentum=0.9):
    velocity, unsent = state
    velocity = momentum * velocity + x
    unsent = unsent + velocity
    sample = unsent.abs()[:: max(1, x.numel() // 65536)]
    bound = sample.kthvalue(int(sample.numel() * (1 - ratio)) + 1).values
    chosen = unsent.abs() > bound
    places = chosen.nonzero().view(-1)
    values = unsent[places]
    return (places.int(), values), (velocity * ~chosen, unsent * ~chosen)


ALL = {
    function.__name__: function
    for function in (bf16, fp16, int8, int4, int2, onebit, efsign, tbq, terngrad, qsgd, fp8_e4m3, topk, dgc)
}
