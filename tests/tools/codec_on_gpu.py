#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The codecs that sessions take, through `casync codec check --device cuda`: do kernels keep what programs promise?

usage: codec_on_gpu.py CASYNC [--jobs N] [--codecs CODEC,...] [--speeds CODEC,...]   prints tables in Markdown

--codecs tries these alone, --speeds measures these, one at a time. Exit code 77: there is no GPU, or no NVRTC.
"""
import argparse
import concurrent.futures
import itertools
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NOT_HERE = ("there is no CUDA driver", "the CUDA driver does not start", "the CUDA driver knows of no device",
            "there is no NVRTC")  # fmt: skip
SKIPPED = 77


def names_of_sessions(program):
    """The codecs that sessions take. Those of sessions' own memory promise less than a codec of gradients."""
    command = [program, "codec", "list", "--json"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return {one["name"] for one in json.loads(listed.stdout)} - {"patch"}


def check(program, file, seconds):
    """(report, what was said): no report where the codec is refused."""
    command = [program, "codec", "check", file, "--device", "cuda", "--seconds", str(seconds), "--json"]
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    except subprocess.TimeoutExpired:
        return None, "not ready after 120 s"
    try:
        return json.loads(result.stdout)["cuda"], result.stderr
    except (ValueError, KeyError):
        return None, f"exit code {result.returncode}: {result.stderr}"


def failures(report, said):
    if report is None:
        return [said]
    if not report["properties"]:
        return ["no property was tried"]
    return [f"{p['property']}: {p['detail']}" for p in report["properties"] if p["state"] == "FAILS"]


def row(file, report, said):
    found = failures(report, said)
    if report is None:
        return f"| `{file.stem}` | | | {said.strip().splitlines()[0]} |"
    compiled = report.get("compiled_ms", report.get("found_compiled_ms", 0))
    notes = sum(p["state"] == "note" for p in report["properties"])
    return f"| `{file.stem}` | {compiled:.0f} | {len(report['properties'])}, {notes} | {'; '.join(found) or 'all hold'} |"


def speeds(name, report):
    cells = [f" {s['bytes_per_element']:.2f}: {s['gb_s']:.0f} GB/s, {s['of_copy']:.2f} " for s in report["speed"].values()]
    return f"| `{name}` | {report['copy_gb_s']:.0f} GB/s |{'|'.join(cells)}|"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--codecs", default="*")
    parser.add_argument("--speeds", default="")
    options = parser.parse_args()
    files = (file for name in options.codecs.split(",") for file in (ROOT / "compll/codecs").glob(f"{name}.cll"))
    known = names_of_sessions(options.program)
    codecs = sorted(file for file in files if file.stem in known)
    first, said = check(options.program, codecs[0], 0)
    if first is None and any(reason in said for reason in NOT_HERE):
        print("skipped:", said.strip())
        return SKIPPED
    print(f"On {first['device'] if first else '?'}, compiled by {first['compiler'] if first else '?'}.\n")
    print("| codec | compiled or found, ms | properties, of them notes | |\n|---|---|---|---|")
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        others = pool.map(lambda file: check(options.program, file, 0), codecs[1:])
        for file, result in zip(codecs, itertools.chain([(first, said)], others)):
            print(row(file, *result), flush=True)
            failed += bool(failures(*result))
    measured = [file for file in codecs if file.stem in options.speeds.split(",")]
    if measured:
        print("\nBytes an element, their speed, and it as a part of the copy's:\n")
        print("| codec | a copy | encode, or a step | decode | merge of 4 |\n|---|---|---|---|---|")
    for file in measured:
        report, said = check(options.program, file, 0.05)
        print(speeds(file.stem, report) if report and "speed" in report else row(file, report, said))
        failed += report is None or "speed" not in report
    print(f"\n{failed} of {len(codecs)} fail" if failed else "\nall hold")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
