#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds and runs the tests of what changed, at most two minutes of tests: `make quick`.

    tools/quick.py build/dev [--base main] [--seconds 120] [--list]

A file has changed if it differs from the newest common commit with --base, or is not committed. A test belongs to it if
the file is part of its program, of its command line, or of its folder of Python tests. Tests whose own file has changed run
first, then the cheapest, by their times in earlier runs; the others are named.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
UNKNOWN_SECONDS = 5.0  # of a test that has not run here yet
# A library or a module that a test loads without naming it, and words of the tests' names.
FRAMEWORKS = {path.parent.name: (path.parent.name,) for path in ROOT.glob("plugins/python/casync/*/__init__.py")}
FRAMEWORKS["tensorflow"] += ("keras",)
LOADED = {
    **{f"plugins/python/casync/{name}/": words for name, words in FRAMEWORKS.items()},
    **{f"plugins/{name}/": words for name, words in FRAMEWORKS.items()},
    "plugins/python/casync/": ("python", *(word for words in FRAMEWORKS.values() for word in words)),
    "docs/": ("docs", "links", "page", "gallery"),
}


def run(*command):
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def changed_files(base):
    found = subprocess.run(["git", "merge-base", base, "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    if found.returncode != 0:
        why = found.stderr.strip() or "no common commit"
        sys.exit(f"quick.py: git finds nothing to compare with ({why}): name a branch or a commit, as in make quick BASE=HEAD~1")
    common = found.stdout.strip()
    names = run("git", "diff", "--name-only", common) + run("git", "ls-files", "--others", "--exclude-standard")
    return set(names.split())


def included(build):
    """Object -> sources and headers, relative to the repository, as the last build saw them."""
    files, current = {}, None
    for line in run("ninja", "-C", str(build), "-t", "deps").splitlines():
        if ": #deps" in line:
            current = files.setdefault(line.split(":")[0], set())
        elif line.startswith("    "):
            path = pathlib.Path(os.path.normpath(build / line.strip()))
            if path.is_relative_to(ROOT):
                current.add(str(path.relative_to(ROOT)))
    return files


def parts_of(build, program, objects):
    """Sources and headers of a program."""
    inputs = run("ninja", "-C", str(build), "-t", "inputs", program).split()
    return set().union(*(objects.get(one, set()) for one in inputs))


def is_loaded(name, file):
    """The test loads the file without naming it."""
    folder = next((folder for folder in LOADED if file.startswith(folder)), None)
    return folder is not None and any(re.search(rf"\b{word}", name) for word in LOADED[folder])


def belongs(name, words, parts, changed):
    """`words`: the test's command line relative to the repository; `parts`: the files of its program."""
    folders = {os.path.dirname(word) for word in words if word.endswith(".py")}
    helpers = {file for file in changed if os.path.dirname(file) in folders and not os.path.basename(file).startswith("test_")
               and not file.endswith("_test.py")}  # fmt: skip
    return bool(changed & (set(words) | parts)) or bool(helpers) or any(is_loaded(name, file) for file in changed)


def within(seconds, costs, first=()):
    """The names of the tests that fit, and the others; `costs`: name -> seconds. Those in `first` go first, the cheapest of
    them in any case, then the cheapest."""
    chosen, total = [], 0.0
    for name in sorted(costs, key=lambda name: (name not in first, costs[name], name)):
        if total + costs[name] > seconds and (chosen or name not in first):
            break
        chosen.append(name)
        total += costs[name]
    return chosen, [name for name in costs if name not in chosen]


def known_costs(build):
    path = build / "Testing/Temporary/CTestCostData.txt"
    costs = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        fields = line.split()
        if len(fields) == 3 and float(fields[2]) > 0:
            costs[fields[0]] = float(fields[2])
    return costs


def tests_of(build, changed):
    """Tests that belong to the changed files -> programs to build; and those of them whose own file has changed."""
    objects, found, parts, own = included(build), {}, {}, set()
    for test in json.loads(run("ctest", "--test-dir", str(build), "--show-only=json-v1"))["tests"]:
        words = [os.path.relpath(word, ROOT) if word.startswith("/") else word for word in test.get("command", [])]
        for property in test.get("properties", []):
            if property["name"] == "WORKING_DIRECTORY":
                folder = os.path.relpath(property["value"], ROOT)
                words += [os.path.normpath(os.path.join(folder, word)) for word in words if word.endswith(".py")]
        built = os.path.relpath(build, ROOT) + "/bin/"
        programs = [word[len(built) - 4 :] for word in words if word.startswith(built)]
        for program in programs:
            if program not in parts:
                parts[program] = parts_of(build, program, objects)
        if belongs(test["name"], words, set().union(*(parts[program] for program in programs)), changed):
            found[test["name"]] = programs
            if changed & set(words):
                own.add(test["name"])
    return found, own


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--base", default="main", help="branch or commit to compare with")
    parser.add_argument("--seconds", type=float, default=120, help="of all tests together, on one processor")
    parser.add_argument("--list", action="store_true", help="only name the tests")
    options = parser.parse_args()
    build = options.build.resolve()
    found, own = tests_of(build, changed_files(options.base))
    costs = known_costs(build)
    chosen, left = within(options.seconds, {name: costs.get(name, UNKNOWN_SECONDS) for name in found}, own)
    print(f"{len(found)} tests belong to what changed, {len(chosen)} of them run"
          + (f"; left to `make test`: {', '.join(sorted(left))}" if left else ""), flush=True)  # fmt: skip
    if options.list or not chosen:
        print("\n".join(chosen))
        return 0
    targets = sorted({program for name in chosen for program in found[name]} | {"casync_tool", "casync_python"})
    made = subprocess.run(["cmake", "--build", str(build), "--target", *targets], check=False)
    if made.returncode != 0:
        return made.returncode
    names = "|".join(re.escape(name) for name in chosen)
    return subprocess.run(["ctest", "--test-dir", str(build), "--output-on-failure", "-R", f"^({names})$"], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
