# SPDX-License-Identifier: Apache-2.0
"""Configured in other ways than by a preset: as a folder of another project, without a build type, for clang."""
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PARENT = """
cmake_minimum_required(VERSION 3.25)
project(parent LANGUAGES C CXX)
add_subdirectory("{root}" casync)
add_executable(consumer "{root}/tests/install/consumer/main.c")
target_link_libraries(consumer PRIVATE casync::casync m)
"""
PARTS = [f"-DCASYNC_WITH_{part}=OFF" for part in ("CUDA", "FRAMEWORKS")]


def configure(source, build, *arguments):
    command = ["cmake", "-S", source, "-B", build, "-G", "Ninja", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", *PARTS, *arguments]
    result = subprocess.run(command, text=True, capture_output=True, timeout=100, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    commands = json.loads((build / "compile_commands.json").read_text())
    cache = dict(line.split("=", 1) for line in (build / "CMakeCache.txt").read_text().splitlines() if ":" in line and "=" in line)
    return {os.path.relpath(entry["file"], ROOT): entry["command"] for entry in commands}, cache


@pytest.fixture(scope="module")
def parent(tmp_path_factory):
    """A parent project whose path has a space."""
    source = tmp_path_factory.mktemp("a parent")
    (source / "CMakeLists.txt").write_text(PARENT.format(root=ROOT))
    return source / "b", *configure(source, source / "b")


def test_the_programs_of_the_parent_have_the_header_and_none_of_our_options(parent):
    build, commands, _ = parent
    command = commands["tests/install/consumer/main.c"]
    assert f"{build}/casync/include" in command.replace("\\ ", " ") and str(ROOT) + " " not in command
    assert "-Wall" not in command and "-Wall" in next(text for name, text in commands.items() if name.endswith(".cc"))


def test_the_programs_of_the_parent_are_linked_to_the_library(parent):
    [rule] = re.findall(r"^build consumer: .*$", (parent[0] / "build.ninja").read_text(), re.MULTILINE)
    assert "casync/lib/libcasync.so" in rule


def test_our_tests_are_not_built_with_the_parent(parent):
    _, commands, cache = parent
    assert not [name for name in commands if name.startswith("tests/") and "consumer" not in name]
    assert not [name for name in cache if name.startswith("BUILD_TESTING")]


def test_without_a_preset_the_build_is_optimized(tmp_path):
    _, cache = configure(ROOT, tmp_path / "b", "-DBUILD_TESTING=OFF")
    assert cache["CMAKE_BUILD_TYPE:STRING"] == "Release"


@pytest.mark.parametrize("compiler", ["g++", "clang++-14"])
@pytest.mark.parametrize("sanitizer, wanted", [("address", "CASYNC_ASAN"), ("thread", "CASYNC_TSAN"), ("undefined", "!CASYNC_SANITIZED")])
def test_a_build_under_a_sanitizer_is_known(compiler, sanitizer, wanted):
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler}, which tools/setup installs")
    text = f'#include "base/sanitizers.h"\n#if !({wanted})\n#error not known\n#endif\n'
    command = [compiler, f"-fsanitize={sanitizer}", f"-I{ROOT}", "-Wundef", "-Werror", "-fsyntax-only", "-x", "c++", "-"]
    result = subprocess.run(command, input=text, text=True, capture_output=True, check=False)
    assert result.returncode == 0, result.stderr


def test_clang_knows_the_options_that_it_is_given(tmp_path):
    clang = shutil.which("clang++-14") or shutil.which("clang++")
    if clang is None:
        pytest.skip("clang, which tools/setup installs")
    c = clang.replace("clang++", "clang")
    compilers = [f"-DCMAKE_CXX_COMPILER={clang}", f"-DCMAKE_C_COMPILER={c}", "-DCMAKE_BUILD_TYPE=RelWithDebInfo"]
    commands, _ = configure(ROOT, tmp_path / "b", *compilers)
    options = {word for command in commands.values() for word in command.split() if word.startswith(("-W", "-f", "--param"))}
    assert {"-Wall", "-ffp-contract=off"} <= options
    result = subprocess.run(
        [clang, *sorted(options), "-Werror", "-fsyntax-only", "-x", "c++", "/dev/null"], text=True, capture_output=True, check=False
    )
    assert result.returncode == 0, result.stderr
