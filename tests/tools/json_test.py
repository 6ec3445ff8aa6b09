# SPDX-License-Identifier: Apache-2.0
"""--json prints UTF-8, whatever bytes the name of a file has."""
import json
import os
import shutil
import subprocess
from pathlib import Path

from command import TOOL, claim, own_environment, run_all, temporary_folder
from traces import MODEL, PROFILE, trace, write

INT3 = Path(__file__).parents[2] / "examples/02_write_a_codec/int3.cll"
BYTES = b"tr\xe9ce"  # Latin-1
SHOWN = "tr\ufffdce"


def json_of(folder, *arguments):
    """The JSON of the command, whose other words may have these bytes, too."""
    result = subprocess.run(
        [TOOL, *arguments, "--json"], cwd=folder, capture_output=True, timeout=120,
        env={**own_environment(), "CASYNC_CACHE_DIR": f"{folder}/cache"}
    )
    claim(result.returncode == 0, f"casync {arguments}", result.returncode, result.stdout, result.stderr)
    return json.loads(result.stdout.decode())


def test_a_folder_of_traces():
    with temporary_folder() as folder:
        traces = os.path.join(os.fsencode(folder), BYTES)
        os.mkdir(traces)
        write(os.fsdecode(traces), trace(0), trace(1))
        report = json_of(folder, "report", BYTES)
        claim(report["directory"] == SHOWN and report["ranks"] == 2, "its name", report)


def test_a_plan():
    with temporary_folder() as folder:
        with open(os.path.join(os.fsencode(folder), BYTES), "w", encoding="utf-8") as file:
            file.write("version: 1\n")
        report = json_of(folder, "plan", "--check", BYTES)
        claim(report["plan"] == SHOWN, "its name", report)


def test_a_codec_of_a_file():
    with temporary_folder() as folder:
        codec = BYTES + b".cll"
        shutil.copy(INT3, os.path.join(os.fsencode(folder), codec))
        for name, text in (("model", MODEL), ("profile", PROFILE % "")):
            (Path(folder) / name).write_text(text, encoding="utf-8")
        step = ["--model", "model", "--profile", "profile", "-n", "2", "--nodes", "2"]
        terms = json_of(folder, "explain", *step, "--whole-step", "--codec", codec)
        claim(SHOWN in json.dumps(terms, ensure_ascii=False), "explain names it", terms)
        planned = json_of(folder, "plan", *step, "--codecs", codec)
        claim(planned["step_ms"] > 0 and "plan" in planned, "plan has chosen", planned)


run_all(globals())
