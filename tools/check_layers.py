#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Refuses an #include that is not an arrow of cmake/layers.txt.

usage: check_layers.py [ROOT]   prints FILE:LINE: what is wrong, one per line; exit code 1 when there are any
"""
import re
import sys
from pathlib import Path

from source_files import source_files

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')


class Layers:
    """The arrows: for each left side, itself and everything reached from it."""

    def __init__(self, text):
        self.arrows = {}
        for number, line in enumerate(text.splitlines(), 1):
            line = line.split("#")[0].strip()
            if not line:
                continue
            left, arrow, right = line.partition("->")
            if not arrow or len(left.split()) != 1:
                raise SystemExit(f"cmake/layers.txt:{number}: expected `FOLDER -> FOLDER ...`, got `{line}`")
            self.arrows.setdefault(left.strip(), set()).update(right.split())

    def layers_of(self, path):
        """The layers that `path` lies under, the longest first."""
        found = {self._layer(name, path) for name in self._names()} - {None}
        return sorted(found, key=len, reverse=True)

    def reached_from(self, path):
        """Every layer that the file `path` may include."""
        own = self.layers_of(path)
        waiting = [layer for layer in own if layer == path] + [layer for layer in own if layer != path][:1]
        reached = set()
        while waiting:
            layer = waiting.pop()
            if layer not in reached:
                reached.add(layer)
                waiting += self.arrows.get(self._line_of(layer), ())
        return reached

    def may_include(self, path, target):
        """Returns True if the file `path` may include files of the layer `target`."""
        return {target, self._line_of(target)} & self.reached_from(path) != set()

    @staticmethod
    def _layer(name, path):
        """The layer of `name` that `path` lies under, or None: the name, or for FOLDER/* a folder in FOLDER."""
        if name.endswith("/*"):
            folder = name[:-1]
            inside, _, rest = path.removeprefix(folder).partition("/")
            return folder + inside if path.startswith(folder) and rest else None
        return name if path == name or path.startswith(name + "/") else None

    def _line_of(self, layer):
        """The left side whose arrows are those of `layer`: its own, or FOLDER/*."""
        return layer if layer in self._names() else layer.rpartition("/")[0] + "/*"

    def _names(self):
        names = set(self.arrows)
        for right in self.arrows.values():
            names |= right
        return names


def problem_with(root, layers, path, included):
    """The fault of `path` including `included`, or None."""
    top = included.split("/")[0]
    if "/" not in included or top.startswith("."):
        return f'`#include "{included}"` is not a path from the repository root'
    target = layers.layers_of(included)
    if not target:
        if (root / top).is_dir():
            return f"`{included}` is in no layer of cmake/layers.txt"
        return None  # somebody else's library that is usually written with quotes
    if layers.may_include(path, target[0]):
        return None
    from_layer = (layers.layers_of(path) or ["no layer"])[0]
    return f"`{included}` ({target[0]}) is no arrow from {from_layer}: see cmake/layers.txt"


def check(root):
    layers = Layers((root / "cmake/layers.txt").read_text())
    problems = []
    for file in source_files(root):
        path = file.relative_to(root).as_posix()
        if not layers.layers_of(path):
            problems.append(f"{path}:1: in no layer of cmake/layers.txt")
            continue
        for number, line in enumerate(file.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            problem = match and problem_with(root, layers, path, match.group(1))
            if problem:
                problems.append(f"{path}:{number}: {problem}")
    return problems


if __name__ == "__main__":
    found = check(Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent))
    print(*found, sep="\n", end="\n" if found else "")
    sys.exit(bool(found))
