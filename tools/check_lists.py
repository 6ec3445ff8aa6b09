#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Refuses a source that no build file names: such a file is neither compiled nor checked, and nobody notices.

A file counts as named when a CMakeLists.txt in its folder or in one above holds its path relative to that folder,
or a cmake/*.cmake its path from the root.

usage: check_lists.py [ROOT]   prints the files that are not named, one per line; exit code 1 when there are any
"""
import re
import sys
from pathlib import Path

from source_files import source_files


def named_in(text, path):
    return re.search(r"(?<![\w./-])" + re.escape(path) + r"(?![\w./-])", text) is not None


def lists_above(root, path):
    """(text of the build file, path of the source as that file would write it), from the nearest up."""
    for folder in path.parents:
        build_file = folder / "CMakeLists.txt"
        if build_file.is_file():
            yield build_file.read_text(), path.relative_to(folder).as_posix()
        if folder == root:
            break
    for module in sorted((root / "cmake").glob("*.cmake")):
        yield module.read_text(), path.relative_to(root).as_posix()


def check(root):
    return [
        f"{name}: named in no CMakeLists.txt"
        for name in source_files(root)
        if not any(named_in(text, path) for text, path in lists_above(root, root / name))
    ]


if __name__ == "__main__":
    found = check(Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent).resolve())
    print(*found, sep="\n", end="\n" if found else "")
    sys.exit(bool(found))
