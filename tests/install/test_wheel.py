# SPDX-License-Identifier: Apache-2.0
"""The wheel, in a virtual environment of its own: complete, relocatable, and it works without this tree.

usage: pytest test_wheel.py, with CASYNC_BUILD_DIR naming the build folder the wheel is made from
"""
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ONE_RANK = """
import numpy
import casync
with casync.Session(rank=0, size=1, codec="int8", transport="{transport}") as session:
    gradient = numpy.linspace(-1, 1, 1000, dtype=numpy.float32)
    wanted = gradient.copy()
    handle = session.submit(session.declare("w", gradient.shape), gradient)
    handle.wait()
    session.step()
assert numpy.abs(gradient - wanted).max() < 0.02, "one rank's average is its own gradient"
print("done", casync.__file__)
"""


def run(*command, cwd, **environment):
    """In an environment without PYTHONPATH and library paths: only the installed files can help."""
    kept = {k: v for k, v in os.environ.items() if k in ("HOME", "LANG")}
    result = subprocess.run(
        [str(part) for part in command],
        env={**kept, "PATH": "/usr/bin:/bin", **environment},
        cwd=cwd, text=True, capture_output=True, timeout=120, check=False,
    )  # fmt: skip
    assert result.returncode == 0, f"{command}: {result.returncode}\n{result.stdout}{result.stderr}"
    return result.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    environment = {**os.environ, "CASYNC_DIST_DIR": str(folder)}
    subprocess.run([ROOT / "tools/make_wheel", os.environ["CASYNC_BUILD_DIR"]], env=environment, check=True)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def venv(wheel, tmp_path_factory):
    """A fresh environment with the wheel and numpy, which is linked from the one this test runs in: no network."""
    folder = tmp_path_factory.mktemp("venv")
    run(sys.executable, "-m", "venv", folder, cwd="/")
    packages = next(folder.glob("lib/python*/site-packages"))
    here = Path(next(p for p in sys.path if p.endswith("site-packages")))
    for part in here.glob("numpy*"):
        (packages / part.name).symlink_to(part)
    run(folder / "bin/python", "-m", "pip", "install", "-q", "--no-index", wheel, cwd="/")
    return folder


def test_it_carries_every_part_and_the_licences_of_all(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    for part in (
        "casync/lib/libcasync.so", "casync/lib/libcasync_planio.so", "casync/lib/libprotobuf.so.32",
        "casync/lib/libcasync_ucx.so", "casync/lib/libucp.so.0", "casync/lib/libuct.so.0", "casync/lib/libucs.so.0",
        "casync/lib/libucm.so.0", "casync/lib/ucx/libuct_cma.so.0", "casync/bin/casync", "casync/torch/__init__.py",
        "casync/lib/casync/compile_kernels",
        "casync/lib/casync/include/compll/ops/generated.h", "casync/lib/casync/include/hwy/highway.h",
        "casync/sources/plugins/tensorflow/ops.cc", "casync/sources/plugins/mxnet/engine.cc",
        "casync/sources/plugins/native/flights.cc", "casync/sources/plugins/native/flights.h",
        "casync/sources/plugins/native/plugin.map", "casync/sources/plugins/c_api/casync.h",
        "casync/tensorflow/build.py", "casync/mxnet/build.py",
        "casync/lib/casync/include/compll/ops/cuda/launch.h", "casync/lib/casync/include/compll/ops/cuda/whole.cuh",
    ):  # fmt: skip
        assert part in names
    licences = {Path(n).name for n in names if "/licenses/" in n}
    assert {"LICENSE", "LICENSE.ucx", "LICENSE.libprotobuf32", "LICENSE.libhwy-dev"} <= licences


def test_it_fits_every_python(wheel):
    assert re.fullmatch(r"casync-\d+\.\d+\.\d+-py3-none-linux_\w+\.whl", wheel.name)


def test_its_libraries_need_nothing_of_this_tree(venv):
    package = next(venv.glob("lib/python*/site-packages/casync"))
    files = [*package.glob("lib/*.so*"), *package.glob("lib/ucx/*.so*"), package / "bin/casync",
             package / "lib/casync/compile_kernels"]  # fmt: skip
    assert len(files) > 8
    for file in files:
        text = run("ldd", file, cwd="/")
        assert "not found" not in text, f"{file}\n{text}"
        assert str(ROOT) not in text.replace(str(file), ""), f"{file}\n{text}"


def test_the_command_answers(venv):
    found = json.loads(run(venv / "bin/casync", "doctor", "--json", cwd="/"))
    assert found
    assert "doctor" in run(venv / "bin/casync", "--help", cwd="/")


@pytest.mark.parametrize("transport", ["loopback", "ucx"])
def test_one_rank_synchronizes_with_itself(venv, transport, tmp_path):
    text = run(venv / "bin/python", "-c", ONE_RANK.format(transport=transport), cwd=tmp_path)
    assert text.startswith("done") and str(venv) in text


def test_a_plan_file_is_read_with_the_protobuf_that_came_along(venv, tmp_path):
    (tmp_path / "plan.txtpb").write_text('version: 1\ndefault { codec { name: "bf16" } strategy: PS }\n')
    script = 'import casync; casync.Session(rank=0, size=1, plan="plan.txtpb", transport="loopback").close()'
    run(venv / "bin/python", "-c", script, cwd=tmp_path)


def test_a_codec_of_ones_own_is_compiled_with_the_headers_that_came_along(venv, tmp_path):
    shutil.copy(ROOT / "examples/02_write_a_codec/int3.cll", tmp_path)
    script = 'import casync; print(casync.Codec("int3.cll").info()["program"])'
    cache = {"CASYNC_CACHE_DIR": str(tmp_path / "cache")}
    program = run(venv / "bin/python", "-c", script, cwd=tmp_path, **cache).strip()
    assert len(program) == 16
    assert program in run(venv / "bin/casync", "codec", "info", "int3.cll", cwd=tmp_path, **cache)
    assert len([*tmp_path.glob("cache/*.so")]) == 1, "the command found what Python had compiled"
