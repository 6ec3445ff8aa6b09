# SPDX-License-Identifier: Apache-2.0
"""The Makefile and .ci/run with programs that only say what they were told, the demo's verdict, and names that two files
share."""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from source_files import source_files  # noqa: E402


def program(path, script):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def make(folder, *words):
    """The calls of tools/setup and of the Python that tools/setup makes, by this Makefile."""
    shutil.copy(ROOT / "Makefile", folder)
    for path in ("tools/setup", "tools/check_format", ".venv/plain/bin/python"):
        program(folder / path, f'echo "{path} $*"')
    # This may run within `make test`, which hands its own settings on.
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    result = subprocess.run(["make", *words], cwd=folder, env=environment, text=True, capture_output=True, timeout=60,
                            check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout.splitlines()


def build_files():
    """The texts of all CMakeLists.txt and modules, without comments."""
    texts = (path.read_text(encoding="utf-8") for path in source_files(ROOT, ("CMakeLists.txt", ".cmake")))
    return [re.sub(r"#.*", "", text) for text in texts]


def test_the_entry_of_the_ucx_module_has_the_version_of_the_project():
    version = re.search(r"project\(casync VERSION (\d+)\.(\d+)", (ROOT / "CMakeLists.txt").read_text())
    header = (ROOT / "runtime/transport/ucx/module.h").read_text()
    assert set(re.findall(r"casync_ucx_open_\w+", header)) == {f"casync_ucx_open_{version[1]}_{version[2]}"}


def test_every_option_of_the_build_is_on_its_page():
    text = "\n".join(build_files())
    options = set(re.findall(r"\boption\((CASYNC_\w+)", text)) | set(re.findall(r"\bset\((CASYNC_\w+) [^()]*CACHE ", text))
    options |= set(re.findall(r"\bfind_(?:program|path|library)\((CASYNC_\w+) ", text))
    options |= {f"CASYNC_WITH_{name}" for name in re.findall(r"^ *casync_feature\(([A-Z]+) ", text, re.MULTILINE)}
    assert {"CASYNC_GROUPED", "CASYNC_WITH_UCX", "CASYNC_SODIUM", "CASYNC_VENV_DIR"} <= options
    page = (ROOT / "docs/building.md").read_text(encoding="utf-8")
    assert [option for option in sorted(options) if f"`{option}`" not in page] == []


def test_every_label_of_tests_is_on_its_page():
    labels = set()
    for text in build_files():
        for found in re.findall(r"LABELS ((?:[a-z]+ ?)+)", text):
            labels |= set(found.split())
    assert {"unit", "lint", "device"} <= labels
    page = (ROOT / "docs/testing.md").read_text(encoding="utf-8")
    assert [label for label in sorted(labels) if f"\n| `{label}` |" not in page] == []


def test_help_lists_every_target(tmp_path):
    text = (ROOT / "Makefile").read_text()
    targets = re.search(r"^\.PHONY:(.*)$", text, re.MULTILINE)[1].split()
    assert [line.split()[0] for line in make(tmp_path, "help")] == re.findall(r"^([a-z]+):", text, re.MULTILINE)
    assert sorted(targets) == sorted(re.findall(r"^([a-z]+):", text, re.MULTILINE))


def test_a_wheel_and_a_format_need_no_framework(tmp_path):
    setup = "tools/setup --no-packages --without-frameworks"
    assert make(tmp_path, "wheel", "SETUP_ARGS=--no-packages") == [setup, ".venv/plain/bin/python tools/make_wheel"]
    assert make(tmp_path, "format", "SETUP_ARGS=--no-packages") == [setup, "tools/check_format --fix"]


def ci(folder, script):
    """The output of .ci/run with a `make` of this script, and its exit code."""
    (folder / ".ci").mkdir()
    shutil.copy(ROOT / ".ci/run", folder / ".ci/run")
    program(folder / "bin/make", script)
    variables = {**os.environ, "PATH": f"{folder}/bin{os.pathsep}{os.environ['PATH']}"}
    result = subprocess.run([folder / ".ci/run"], text=True, capture_output=True, timeout=60, env=variables, check=False)
    return result.stdout, result.returncode


def summary(text):
    return text[text.index("s in all") :]


def test_continuous_integration_ends_with_the_tests_that_failed(tmp_path):
    text, code = ci(tmp_path, "seq 90; echo '99% tests passed, 1 tests failed out of 100'; echo '  7 - base.status (Failed)'; exit 2")
    assert code == 1 and re.search(r"test +FAILED", summary(text))
    assert summary(text).endswith("99% tests passed, 1 tests failed out of 100\n  7 - base.status (Failed)\n")


def test_continuous_integration_ends_with_the_error_of_a_build_that_failed(tmp_path):
    text, code = ci(tmp_path, "seq 90; echo 'x.cc:1: error: no'; exit 2")
    assert code == 1 and re.search(r"test +FAILED", summary(text))
    assert "build/ci/test.log" in summary(text) and summary(text).endswith("90\nx.cc:1: error: no\n")
    assert "\n9\n" not in summary(text)


def test_continuous_integration_says_that_all_passed(tmp_path):
    text, code = ci(tmp_path, "echo '100% tests passed, 0 tests failed out of 100'")
    assert code == 0 and re.search(r"test +passed", summary(text)) and "FAILED" not in text


def test_the_demo_passes_no_training_that_diverges():
    sys.path.insert(0, str(ROOT / "examples/demo"))
    import table

    def passed(loss):
        return table.passed({name: [{"loss": one, "replicas": ["a", "a"]}] for name, one in (("none", 2.0), ("int4", loss))})

    assert passed(2.0) and not passed(2.1) and not passed(float("nan"))
