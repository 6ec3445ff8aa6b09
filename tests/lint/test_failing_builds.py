# SPDX-License-Identifier: Apache-2.0
"""Builds and set-ups that cannot work end at once, with a sentence that says what to install."""
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def path_with(folder, *programs):
    """A PATH that holds these programs and no other."""
    folder.mkdir()
    for program in programs:
        (folder / program).symlink_to(shutil.which(program))
    return str(folder)


def run(command, tmp_path, succeeds=False, **environment):
    kept = {k: v for k, v in os.environ.items() if k in ("HOME", "LANG")}
    result = subprocess.run(
        command, env={**kept, **environment}, cwd=tmp_path, text=True, capture_output=True, timeout=100, check=False
    )
    assert (result.returncode == 0) == succeeds, result.stdout + result.stderr
    return " ".join((result.stdout + result.stderr).split())


def configure(tmp_path, path, *arguments, **environment):
    # cmake finds its own files beside the program a link points to, so its real place is called.
    cmake = os.path.realpath(shutil.which("cmake"))
    command = [cmake, "-S", str(ROOT), "-B", str(tmp_path / "b"), "-G", "Ninja", *arguments]
    return run(command, tmp_path, PATH=path, **environment)


def test_without_a_compiler_cmake_says_what_to_install(tmp_path):
    text = configure(tmp_path, path_with(tmp_path / "bin", "ninja"))
    assert "no CXX compiler found: run tools/setup, or install the package g++" in text


def test_a_build_among_the_sources_is_refused_and_leaves_our_makefile(tmp_path):
    shutil.copy(ROOT / "CMakeLists.txt", tmp_path)
    shutil.copytree(ROOT / "cmake", tmp_path / "cmake")
    (tmp_path / "Makefile").write_text("ours")
    text = run(["cmake", "."], tmp_path, PATH=os.environ["PATH"])
    assert "build in a folder of its own" in text and (tmp_path / "Makefile").read_text() == "ours"


def test_without_a_library_cmake_names_its_package(tmp_path):
    text = configure(tmp_path, os.environ["PATH"], "-DCMAKE_DISABLE_FIND_PACKAGE_spdlog=ON")
    assert "spdlog was not found: run tools/setup, or install the package libspdlog-dev" in text


def test_a_library_of_another_version_is_named(tmp_path):
    (tmp_path / "Catch2Config.cmake").write_text("")
    (tmp_path / "Catch2ConfigVersion.cmake").write_text("set(PACKAGE_VERSION 3.4.0)\nset(PACKAGE_VERSION_COMPATIBLE FALSE)\n")
    own = ";".join(f"{root}/cmake/Catch2" for root in ("/lib", "/usr/lib", "/usr/lib64", "/usr/share", "/usr/local/lib"))
    text = configure(tmp_path, os.environ["PATH"], f"-DCMAKE_PREFIX_PATH={tmp_path}", f"-DCMAKE_IGNORE_PATH={own}")
    assert "Catch2 2.13 was not found, only 3.4.0:" in text and "build without tests (BUILD_TESTING=OFF)" in text


def test_without_python_cmake_says_how_to_go_on(tmp_path):
    parts = [f"-DCASYNC_WITH_{part}=OFF" for part in ("CUDA", "FRAMEWORKS")]
    text = configure(tmp_path, os.environ["PATH"], "-DCMAKE_DISABLE_FIND_PACKAGE_Python3=ON", *parts)
    assert "Python3 3.9 was not found: run tools/setup, or install the package python3" in text
    assert "or build without tests (BUILD_TESTING=OFF)" in text


@pytest.mark.parametrize("wanted", ["ON", "true", "1"])
def test_ucx_that_is_wanted_and_not_there_is_an_error(tmp_path, wanted):
    text = configure(tmp_path, os.environ["PATH"], f"-DCASYNC_WITH_UCX={wanted}", "-DCMAKE_DISABLE_FIND_PACKAGE_ucx=ON")
    assert "CASYNC_WITH_UCX=ON, but the package ucx was not found: run tools/setup" in text


def test_an_optional_part_is_auto_on_or_off(tmp_path):
    text = configure(tmp_path, os.environ["PATH"], "-DCASYNC_WITH_UCX=perhaps")
    assert "CASYNC_WITH_UCX=perhaps: expected AUTO, ON or OFF" in text


def test_cuda_that_is_wanted_and_not_there_is_an_error(tmp_path):
    text = configure(tmp_path, os.environ["PATH"], "-DCASYNC_WITH_CUDA=ON", CUDACXX=str(tmp_path / "nvcc"))
    assert "CASYNC_WITH_CUDA=ON, but no nvcc of CUDA 12.4 or later was found" in text


def test_an_nvcc_that_refuses_the_compiler_is_not_used(tmp_path):
    (tmp_path / "bin").mkdir()
    fake_program(tmp_path / "bin", "nvcc", "echo unsupported GNU version >&2; exit 1")
    path = os.pathsep.join([str(tmp_path / "bin"), os.environ["PATH"]])
    text = configure(tmp_path, path, "-DCASYNC_WITH_CUDA=ON")
    assert "no nvcc of CUDA 12.4 or later was found" in text and "nvcc says: unsupported GNU version" in text


def test_a_missing_python_environment_is_an_error_when_it_is_wanted(tmp_path):
    text = configure(tmp_path, os.environ["PATH"], "-DCASYNC_WITH_FRAMEWORKS=ON", f"-DCASYNC_VENV_DIR={tmp_path}")
    assert re.search(r"CASYNC_WITH_\w+ is ON, but", text) and "is not there: run tools/setup" in text


@pytest.fixture
def setup_copy(tmp_path):
    """tools/setup in a tree of its own, so that whatever it does is done there."""
    (tmp_path / "tools").mkdir()
    return shutil.copy(ROOT / "tools/setup", tmp_path / "tools/setup")


def fake_program(folder, name, script):
    path = folder / name
    path.unlink(missing_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


BASICS = ("bash", "env", "dirname", "sha256sum", "cut", "mkdir", "flock", "cat")


def test_setup_without_root_names_what_is_missing(tmp_path, setup_copy):
    path = path_with(tmp_path / "bin", *BASICS)
    fake_program(tmp_path / "bin", "dpkg-query", 'case "$*" in *ninja-build*) exit 1 ;; *) echo installed ;; esac')
    fake_program(tmp_path / "bin", "id", "echo 1000")
    text = run([setup_copy], tmp_path, PATH=path)
    assert "packages are missing" in text and "apt-get install ninja-build" in text


def test_setup_asks_once_for_optional_packages_and_for_each_alone(tmp_path, setup_copy):
    path = path_with(tmp_path / "bin", *BASICS, "cp", "rm", "touch", "wc")
    fake_program(tmp_path / "bin", "python3", INSTALLS)
    fake_program(tmp_path / "bin", "id", "echo 0")
    fake_program(tmp_path / "bin", "dpkg-query", f'''case "$*" in
      *fish*) exit 1 ;;
      *mold*) [ ! -e {tmp_path}/has-mold ] || echo installed ;;
      *) echo installed ;;
    esac''')
    fake_program(tmp_path / "bin", "apt-get", f'''echo "$*" >>{tmp_path}/asked
      case "$*" in *fish*) exit 100 ;; *mold*) touch {tmp_path}/has-mold ;; esac''')
    arguments = [setup_copy, "--without-frameworks"]
    text = run(arguments, tmp_path, succeeds=True, PATH=path, HOME=str(tmp_path))
    assert "apt-get could not install fish" in text and (tmp_path / "has-mold").exists()
    asked = (tmp_path / "asked").read_text()
    text = run(arguments, tmp_path, succeeds=True, PATH=path, HOME=str(tmp_path))
    assert "without fish, which apt-get could not install earlier" in text
    assert (tmp_path / "asked").read_text() == asked


def test_setup_on_another_system_says_which_packages_are_meant(tmp_path, setup_copy):
    text = run([setup_copy], tmp_path, PATH=path_with(tmp_path / "bin", *BASICS))
    assert "this is not Debian" in text and "libspdlog-dev" in text and "tools/setup --no-packages" in text
    for said in (text, (ROOT / "docs/building.md").read_text(encoding="utf-8")):
        assert "make test SETUP_ARGS=--no-packages" in said


def test_setup_with_an_old_python_says_which_is_needed(tmp_path, setup_copy):
    path = path_with(tmp_path / "bin", *BASICS)
    fake_program(tmp_path / "bin", "python3", '[ "$1" = --version ] && echo Python 3.8.1; exit 1')
    text = run([setup_copy, "--no-packages"], tmp_path, PATH=path)
    assert "python3 is Python 3.8.1, but 3.9 or newer is needed" in text


def test_setup_goes_on_without_the_newest_torch(tmp_path, setup_copy):
    path = path_with(tmp_path / "bin", *BASICS, "cp", "rm")
    newest = re.search(r"^torch_newest=\((\S+)", setup_copy.read_text(), re.MULTILINE).group(1)
    fake_program(tmp_path / "bin", "python3", f"""case "$*" in
      *{newest}*) exit 1 ;;
      *" --target .deps "*) mkdir .deps ;;
      "-m venv "*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
    esac""")
    text = run([setup_copy, "--no-packages"], tmp_path, succeeds=True, PATH=path, HOME=str(tmp_path))
    assert f"could not install into .venv/torch_newest: {newest}" in text and "tests that run with it are left out" in text
    assert not (tmp_path / ".venv/torch_newest").exists() and (tmp_path / ".venv/mxnet/setup-stamp").exists()


# A python3 that makes environments, and a pip that installs nothing.
INSTALLS = """case "$*" in
      *" --target .deps "*) mkdir .deps ;;
      "-m venv "*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
    esac"""


def test_setup_goes_on_without_a_further_python_that_has_no_venv(tmp_path, setup_copy):
    path = path_with(tmp_path / "bin", *BASICS, "cp", "rm")
    fake_program(tmp_path / "bin", "python3", INSTALLS)
    fake_program(tmp_path / "bin", "python3.12", """case "$*" in
      -c*) echo "$0" ;;
      "-m venv "*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python"; exit 1 ;;
      *) exit 1 ;;
    esac""")
    text = run([setup_copy, "--no-packages"], tmp_path, succeeds=True, PATH=path, HOME=str(tmp_path))
    assert "python3.12 -m venv failed" in text and "tests that run with it are left out" in text
    assert not (tmp_path / ".venv/python3.12").exists() and (tmp_path / ".venv/plain/setup-stamp").exists()


def test_setup_says_how_to_leave_out_a_framework_that_cannot_be_had(tmp_path, setup_copy):
    path = path_with(tmp_path / "bin", *BASICS, "cp", "rm", "touch", "wc")
    fake_program(tmp_path / "bin", "python3", 'case "$*" in *mxnet==*) exit 1 ;; esac\n' + INSTALLS)
    text = run([setup_copy, "--no-packages"], tmp_path, PATH=path, HOME=str(tmp_path))
    assert "could not install into .venv/mxnet" in text and "--only FRAMEWORK (make test SETUP_ARGS=...)" in text
    run([setup_copy, "--no-packages", "--only", "torch"], tmp_path, succeeds=True, PATH=path, HOME=str(tmp_path))


def test_setup_begins_an_environment_anew_that_could_not_be_made(tmp_path, setup_copy):
    path = path_with(tmp_path / "bin", *BASICS, "cp", "rm", "touch", "wc")
    fake_program(tmp_path / "bin", "python3", """case "$*" in
      "-m venv "*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python"; exit 1 ;;
      *pip*) exit 1 ;;
    esac""")
    text = run([setup_copy, "--no-packages", "--without-frameworks"], tmp_path, PATH=path, HOME=str(tmp_path))
    assert "-m venv failed: install python3-venv" in text
    fake_program(tmp_path / "bin", "python3", INSTALLS)
    run([setup_copy, "--no-packages", "--without-frameworks"], tmp_path, succeeds=True, PATH=path, HOME=str(tmp_path))
    assert (tmp_path / ".venv/plain/setup-stamp").exists()


def test_setup_completes_an_environment_that_an_earlier_run_left_without_pip(tmp_path, setup_copy):
    path = path_with(tmp_path / "bin", *BASICS, "cp", "rm", "touch", "wc")
    python = """case "$*" in
      *" --target .deps "*) mkdir .deps ;;
      "-m venv "*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" && cp "$0" "$3/bin/pip" ;;
      "-m pip "*) [ -x "${0%/*}/pip" ] ;;
    esac"""
    (tmp_path / ".venv/plain/bin").mkdir(parents=True)
    for folder, name in (("bin", "python3"), (".venv/plain/bin", "python")):
        fake_program(tmp_path / folder, name, python)
    run([setup_copy, "--no-packages", "--without-frameworks"], tmp_path, succeeds=True, PATH=path, HOME=str(tmp_path))
    assert (tmp_path / ".venv/plain/setup-stamp").exists()
