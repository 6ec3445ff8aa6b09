#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Refuses a source that no build file names: such a file is neither compiled nor checked, and nobody notices.

Named must be each .cc and .c, each test_*.py and *_test.py below tests/, and each header of a library (only named headers
are checked to compile alone). Headers of programs and tests are seen through the files that include them, and *-inl.h is
made to be included many times.

A file is named by its path from the folder of a CMakeLists.txt in its own folder or above, or, in any CMakeLists.txt
or cmake/*.cmake, by ${PROJECT_SOURCE_DIR}/ and its path from the root. A loop over tests names x_test.cc or x_test.py by the word x.
A file(GLOB) names what it finds, if it is in the CMakeLists.txt that is nearest to the file.

usage: check_lists.py [ROOT]   prints the files that are not named, one per line; exit code 1 when there are any
"""
import re
import sys
from pathlib import Path

from source_files import source_files

NOT_LIBRARIES = ("tests/", "tools/", "examples/")


def must_be_named(name):
    if name.endswith(".py"):
        return re.match(r"tests/(.*/)?(test_[^/]*|[^/]*_test)\.py$", name) is not None
    if name.endswith(".h"):
        return not name.startswith(NOT_LIBRARIES) and not name.endswith("-inl.h")
    return True


def build_files(root):
    """Folder relative to the root -> text of its CMakeLists.txt and of the .cmake files beside it, and the text of all of
    them and the modules."""
    lists = {}
    for f in source_files(root, ("CMakeLists.txt",)):
        lists[f.parent.relative_to(root)] = "\n".join(part.read_text() for part in [f, *sorted(f.parent.glob("*.cmake"))])
    modules = [f.read_text() for f in (root / "cmake").glob("*.cmake")]
    return lists, "\n".join([*lists.values(), *modules])


def names_it(text, path):
    """Returns True if the text of a build file names `path`, which is relative to the file's folder."""
    word = r"(?<![\w./-]){}(?![\w./-])"
    if re.search(word.format(re.escape(str(path))), text):
        return True
    stem, is_test, ending = str(path).partition("_test.")
    looped = bool(is_test) and "}_test." + ending in text
    return looped and re.search(word.format(re.escape(stem)), text) is not None


def finds_it(text, path):
    """Returns True if a file(GLOB) of a build file finds `path`, which is relative to the file's folder."""
    words = [word for glob in re.findall(r"file\(GLOB\b([^)]*)\)", text) for word in glob.split()]
    patterns = [re.sub(r"\$\{\w+\}", "*", word) for word in words if "*" in word]
    return any(len(Path(one).parts) == len(path.parts) and path.match(one) for one in patterns)


def check(root):
    lists, everything = build_files(root)

    def is_named(name):
        path = Path(name)
        if "${PROJECT_SOURCE_DIR}/" + name in everything:
            return True
        folders = [folder for folder in path.parents if folder in lists]
        if folders and finds_it(lists[folders[0]], path.relative_to(folders[0])):
            return True
        return any(names_it(lists[folder], path.relative_to(folder)) for folder in folders)

    names = (f.relative_to(root).as_posix() for f in source_files(root, (".h", ".cc", ".c", ".py")))
    return [f"{name}: named in no CMakeLists.txt" for name in names if must_be_named(name) and not is_named(name)]


if __name__ == "__main__":
    found = check(Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent).resolve())
    print(*found, sep="\n", end="\n" if found else "")
    sys.exit(bool(found))
