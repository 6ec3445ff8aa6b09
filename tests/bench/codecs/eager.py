#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares each codec's time to encode with that of the same algorithm in PyTorch expressions, on one core, by turns.

    PYTHONPATH=build/release/python taskset -c 1 .venv/torch/bin/python tests/bench/codecs/eager.py

A payload that does not stand for the elements ends the program.
"""

import argparse
import ctypes
import statistics
import time

import expressions
import torch

import casync
from casync import _library


class Ours:
    """A codec whose memory is allocated once, as in a session."""

    def __init__(self, name, x):
        self._codec = casync.Codec(name)
        info = self._codec.info()
        self._x = x
        self._states = [torch.zeros(len(info["states"]) * x.numel()) for _ in range(2)] if info["states"] else None
        self._payload = torch.empty(self._codec.bound(x.numel()), dtype=torch.uint8)
        self._size = ctypes.c_size_t()

    def encode(self):
        before, after = (state.data_ptr() for state in self._states) if self._states else (None, None)
        _library.call(
            "casync_codec_encode",
            self._codec._handle,
            self._x.data_ptr(),
            self._x.numel(),
            before,
            after,
            0,
            0,
            ctypes.c_char_p(self._payload.data_ptr()),
            self._payload.numel(),
            ctypes.byref(self._size),
        )
        if self._states:
            self._states.reverse()

    def check(self):
        """Ends the program if the last payload does not fit: with feedback it and the residual add up to the elements, else it
        has their direction."""
        decoded = torch.from_numpy(self._codec.decode(self._payload[: self._size.value].numpy().tobytes(), self._x.numel()))
        if self._states and len(self._states[0]) == self._x.numel():
            after, before = self._states
            right = torch.allclose(decoded + after, self._x + before, rtol=1e-4, atol=1e-8)
        else:
            right = torch.dot(decoded, self._x) > 0.05 * decoded.norm() * self._x.norm()
        if not right:
            raise SystemExit(f"{self._codec.name}: the payload does not stand for the elements")


class Eager:
    def __init__(self, name, x):
        self._encode, self._x = expressions.ALL[name], x
        self._state = (torch.zeros_like(x), torch.zeros_like(x)) if name == "dgc" else torch.zeros_like(x)

    def encode(self):
        _, self._state = self._encode(self._x, self._state)


def seconds(one):
    begin = time.perf_counter()
    one.encode()
    return time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("codecs", nargs="*", default=list(expressions.ALL))
    parser.add_argument("--elements", type=int, default=1 << 24)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(1)
    x = torch.randn(options.elements, generator=torch.Generator().manual_seed(1)) * 1e-3
    print(f"{options.elements} elements, encoded with feedback; ms, median (least)\n")
    print("| codec | ours | PyTorch | ratio of the medians |\n| --- | --- | --- | --- |")
    for name in options.codecs:
        ours, eager = Ours(name, x), Eager(name, x)
        times = [(seconds(ours), seconds(eager)) for _ in range(options.rounds + 1)][1:]  # the first takes the memory
        ours.check()
        shown = [f"{1e3 * statistics.median(t):.1f} ({1e3 * min(t):.1f})" for t in zip(*times)]
        ratio = statistics.median(t[1] for t in times) / statistics.median(t[0] for t in times)
        print(f"| `{name}` | {shown[0]} | {shown[1]} | {ratio:.1f} |", flush=True)


if __name__ == "__main__":
    main()
