# SPDX-License-Identifier: Apache-2.0
"""Real text that is on every machine with Python: the sources of its standard library, as bytes."""

import hashlib
import pathlib
import sysconfig

import torch

HELD_OUT = 10  # one file in ten, by the hash of its name, so that both parts are the same on every rank
LIMIT = 6_000_000  # bytes: enough that no part is seen twice, and read in a moment
SKIP = {"site-packages", "dist-packages", "test", "tests", "idlelib", "__pycache__"}


def read():
    """(training, held_out): two uint8 tensors."""
    root = pathlib.Path(sysconfig.get_paths()["stdlib"])
    parts = {True: bytearray(), False: bytearray()}
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root)
        if SKIP.isdisjoint(name.parts):
            digest = hashlib.sha256(str(name).encode()).digest()
            parts[digest[0] % HELD_OUT == 0] += path.read_bytes()
    return tuple(torch.frombuffer(parts[held][:LIMIT], dtype=torch.uint8) for held in (False, True))


def batch(text, count, context, generator):
    """`count` pieces of text from random places: int64 [count, context + 1]."""
    starts = torch.randint(len(text) - context - 1, (count, 1), generator=generator)
    return text[starts + torch.arange(context + 1)].long()
