# SPDX-License-Identifier: Apache-2.0
"""The wheel, in a virtual environment of its own: complete, relocatable, and it works without this tree.

usage: pytest test_wheel.py, with CASYNC_BUILD_DIR naming the build folder the wheel is made from, and CASYNC_VENV_DIR
the folder of the virtual environments
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
ENVIRONMENTS = Path(os.environ["CASYNC_VENV_DIR"])
KERNELS = Path(os.environ["CASYNC_BUILD_DIR"]) / "lib/casync/kernels"
NVRTC = list(Path(sys.prefix).glob("lib/python*/site-packages/nvidia/*/lib/libnvrtc.so.1[23]"))
UCX_PACKAGES = [ROOT / ".deps" / name for name in ("libucx", "libucx_cu13.libs")] + [*ROOT.glob(".deps/libucx*.dist-info")]
OTHER_PYTHONS = sorted(path.parents[1] for path in ENVIRONMENTS.glob("python3.*/bin/python"))
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
TWO_RANKS = """
import sys
import numpy
import casync
with casync.Session(codec="int8", transport="ucx") as session:
    gradient = numpy.full(5000, 1.0 + session.rank, dtype=numpy.float32)
    session.submit(session.declare("w", gradient.shape), gradient).wait()
    session.step()
assert numpy.abs(gradient - 1.5).max() < 0.02, "the average of 1 and 2"
print(f"done python{sys.version_info.major}.{sys.version_info.minor}", flush=True)
"""
# Loading the library may change no handler of a signal: UCX installs some.
HANDLERS = """
import casync


def caught():
    return [line for line in open("/proc/self/status") if line.startswith("SigCgt")]


before = caught()
assert casync.version() and caught() == before, (before, caught())
"""
# A session reads its plan with the protobuf of the wheel; the other side serializes a message with its own.
SHARED_PROCESS = """
import sys

import numpy


def use_casync():
    import casync
    with casync.Session(rank=0, size=1, plan="plan.txtpb", transport="ucx") as session:
        gradient = numpy.linspace(-1, 1, 1000, dtype=numpy.float32)
        session.submit(session.declare("w", gradient.shape), gradient).wait()
        session.step()


def use_torch():
    import torch
    assert torch.jit.script(torch.nn.Linear(2, 2))(torch.ones(1, 2)).shape == (1, 2)


def use_tensorflow():
    import tensorflow as tf
    from google.protobuf import text_format
    graph = tf.function(lambda x: x + 1).get_concrete_function(tf.TensorSpec([2])).graph.as_graph_def()
    again = text_format.Parse(text_format.MessageToString(graph), tf.compat.v1.GraphDef())
    assert again.SerializeToString(deterministic=True) == graph.SerializeToString(deterministic=True)


framework, first = sys.argv[1:]
parts = [use_casync, {"torch": use_torch, "tensorflow": use_tensorflow}[framework]]
for use in parts if first == "casync" else parts[::-1]:
    use()
for use in parts:
    use()
print("done")
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
    subprocess.run([sys.executable, ROOT / "tools/make_wheel", os.environ["CASYNC_BUILD_DIR"]], env=environment, check=True)
    return next(folder.glob("*.whl"))


def install(wheel, environment, folder, ucx_folder=None):
    """A fresh environment of the Python of `environment` with the wheel. What it depends on is linked, so that pip
    needs no network: numpy from `environment`, UCX from the folder that this tree was built with. UCX comes into
    `ucx_folder` if that is given, which is a further one of Python's path. This environment's pip does it: one in each
    would take longer to install than the wheel."""
    run(environment / "bin/python", "-m", "venv", "--without-pip", folder, cwd="/")
    [packages] = folder.glob("lib/python*/site-packages")
    if ucx_folder is not None:
        ucx_folder.mkdir()
        (packages / "further.pth").write_text(f"{ucx_folder}\n")
    for part in environment.glob("lib/python*/site-packages/numpy*"):
        (packages / part.name).symlink_to(part)
    for part in UCX_PACKAGES:
        ((ucx_folder or packages) / part.name).symlink_to(part)
    run(sys.executable, "-m", "pip", "--python", folder / "bin/python", "install", "-q", "--no-index", wheel, cwd="/")
    return folder


@pytest.fixture(scope="module")
def venv(wheel, tmp_path_factory):
    return install(wheel, Path(sys.prefix), tmp_path_factory.mktemp("venv"))


@pytest.fixture(scope="module")
def site(wheel, tmp_path_factory):
    """A folder of Python's path with the files of the wheel, and with UCX."""
    folder = tmp_path_factory.mktemp("site")
    zipfile.ZipFile(wheel).extractall(folder)
    for part in UCX_PACKAGES:
        (folder / part.name).symlink_to(part)
    return folder


def framework_files():
    """The files of every framework: modules, and sources that are compiled against it."""
    package, native = ROOT / "plugins/python", ROOT / "plugins"
    files = [str(path.relative_to(package)) for path in package.glob("casync/*/*.py")]
    files += [f"casync/sources/{path.relative_to(ROOT)}" for path in native.glob("*/*.cc") if path.parent.name != "c_api"]
    assert "casync/torch/state.py" in files and "casync/sources/plugins/tensorflow/ops.cc" in files
    return files


def test_it_carries_every_part_and_the_licences_of_all(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    for part in (
        "casync/lib/libcasync.so", "casync/lib/libcasync_planio.so", "casync/lib/libcasync_ucx.so",
        "casync/bin/casync", "casync/py.typed", "casync/lib/casync/compile_kernels",
        "casync/lib/casync/include/compll/ops/generated.h", "casync/lib/casync/include/hwy/highway.h",
        "casync/sources/plugins/native/plugin.map", "casync/sources/plugins/c_api/casync.h", *framework_files(),
        "casync/lib/casync/include/compll/ops/cuda/launch.h",
        "casync/lib/casync/include/compll/ops/cuda/vector_form.cuh",
    ):  # fmt: skip
        assert part in names
    licences = {Path(n).name for n in names if "/licenses/" in n}
    assert {"LICENSE", "LICENSE.libhwy-dev", "LICENSE.libsodium-dev"} <= licences
    assert any(name.startswith("LICENSE.libprotobuf") for name in licences), licences


def test_it_carries_nothing_else(wheel):
    expected = (
        r"casync/(\w+/)*\w+\.py", r"casync/py\.typed", r"casync/lib/libcasync(_\w+)?\.so", r"casync/lib/casync/.+",
        r"casync/bin/casync", r"casync/sources/plugins/\w+/\w+\.(cc|h|map)", r"casync\.libs/lib.+",
        r"casync-[\d.]+\.(dist-info|data/scripts)/.+",
    )  # fmt: skip
    names = [name for name in zipfile.ZipFile(wheel).namelist() if not name.endswith("/")]
    assert [name for name in names if not any(re.fullmatch(pattern, name) for pattern in expected)] == []


def test_libraries_that_came_along_have_names_of_their_own_and_ucx_stays_in_its_wheel(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    others = [Path(n).name for n in names if n.startswith("casync.libs/lib")]
    assert any(n.startswith("libprotobuf-") for n in others), others
    assert all(re.fullmatch(r"lib\w+-[0-9a-f]{8}\.so[.\d]*", n) for n in others), others
    assert not [n for n in names if "/libuc" in n]


def test_it_says_where_it_runs_and_what_it_needs(wheel):
    assert re.fullmatch(r"casync-\d+\.\d+\.\d+-py3-none-manylinux_2_\d+_\w+\.whl", wheel.name), wheel.name
    files = zipfile.ZipFile(wheel)
    [metadata] = (n for n in files.namelist() if n.endswith(".dist-info/METADATA"))
    lines = files.read(metadata).decode().splitlines()
    assert {"Requires-Dist: numpy", "Requires-Dist: libucx-cu13>=1.22,<2"} <= set(lines)


def test_auditwheel_accepts_it(wheel):
    shown = subprocess.run([sys.executable, "-m", "auditwheel", "show", wheel], text=True, capture_output=True, check=True)
    text = " ".join(shown.stdout.split())
    platform = re.search(r"none-(manylinux_2_\d+_\w+?)\.", wheel.name)[1]
    assert f'constrains the platform tag to "{platform}"' in text or f'following platform tag: "{platform}"' in text


def test_its_libraries_need_nothing_of_this_tree(venv):
    package = next(venv.glob("lib/python*/site-packages/casync"))
    files = [*package.glob("lib/*.so*"), *package.glob("../casync.libs/*.so*"), package / "bin/casync",
             package / "lib/casync/compile_kernels"]  # fmt: skip
    assert len(files) > 6
    for file in files:
        text = run("ldd", file, cwd="/")
        assert "not found" not in text, f"{file}\n{text}"
        assert str(ROOT) not in text.replace(str(file), ""), f"{file}\n{text}"


def test_no_file_has_a_path_of_the_machine_that_built_it(wheel):
    folders = b"|".join(re.escape(os.fsencode(os.path.realpath(folder))) for folder in (ROOT, os.environ["CASYNC_BUILD_DIR"]))
    path = re.compile(rb"(?<![\w./-])(?:" + folders + rb")/[\w./-]*")  # a folder of this name in another one is none
    files = zipfile.ZipFile(wheel)
    assert {name: found[:5] for name in files.namelist() if (found := path.findall(files.read(name)))} == {}


def test_the_command_answers(venv):
    found = json.loads(run(venv / "bin/casync", "doctor", "--json", cwd="/"))
    assert found
    assert "doctor" in run(venv / "bin/casync", "--help", cwd="/")


@pytest.mark.skipif(not NVRTC, reason="NVRTC, with which the build compiles kernels")
def test_kernels_for_gpus_came_along_and_are_usable(venv):
    package = next(venv.glob("lib/python*/site-packages/casync"))
    files = [file.relative_to(KERNELS) for file in KERNELS.glob("*/*")]
    assert files and all((package / "lib/casync/kernels" / file).read_bytes() == (KERNELS / file).read_bytes() for file in files)
    found = json.loads(run(venv / "bin/casync", "doctor", "--json", cwd="/"))["findings"]
    [shipped] = [finding for finding in found if finding["name"] == "shipped kernels"]
    assert "sm_90: " in shipped["value"] and shipped["state"] == "note", shipped


@pytest.mark.parametrize("transport", ["loopback", "ucx"])
def test_one_rank_synchronizes_with_itself(venv, transport, tmp_path):
    text = run(venv / "bin/python", "-c", ONE_RANK.format(transport=transport), cwd=tmp_path)
    assert text.startswith("done") and str(venv) in text


def test_ucx_of_another_folder_is_found_by_python_and_by_the_command(wheel, tmp_path):
    venv = install(wheel, Path(sys.prefix), tmp_path / "venv", ucx_folder=tmp_path / "further")
    text = run(venv / "bin/python", "-c", ONE_RANK.format(transport="ucx"), cwd=tmp_path)
    assert text.startswith("done") and str(venv) in text
    run(venv / "bin/python", "-c", HANDLERS, cwd=tmp_path)
    for command in ([venv / "bin/casync"], [venv / "bin/python", "-m", "casync"]):
        found = json.loads(run(*command, "doctor", "--json", cwd="/"))["findings"]
        [ucx] = [finding for finding in found if finding["name"] == "transport ucx"]
        assert ucx["state"] == "ok", (command, ucx)


def test_a_plan_file_is_read_with_the_protobuf_that_came_along(venv, tmp_path):
    (tmp_path / "plan.txtpb").write_text('version: 1\ndefault { codec { name: "bf16" } strategy: ps }\n')
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


@pytest.mark.parametrize("environment", OTHER_PYTHONS, ids=lambda path: path.name)
def test_another_python_installs_and_runs_it(wheel, environment, tmp_path):
    installed = install(wheel, environment, tmp_path / "venv")
    (tmp_path / "two.py").write_text(TWO_RANKS)
    text = run(installed / "bin/casync", "run", "-n", "2", "--", installed / "bin/python", "two.py", cwd=tmp_path)
    assert text.count(f"done {environment.name}") == 2, text


@pytest.mark.parametrize("framework", ["torch", "tensorflow"])
@pytest.mark.parametrize("first", ["casync", "framework"])
def test_it_shares_a_process_with_libraries_that_have_their_own_protobuf(site, framework, first, tmp_path):
    python = ENVIRONMENTS / framework / "bin/python"
    if not python.exists():
        pytest.skip(f"no environment {framework}: tools/setup makes it")
    (tmp_path / "plan.txtpb").write_text('version: 1\ndefault { codec { name: "bf16" } strategy: ps }\n')
    (tmp_path / "both.py").write_text(SHARED_PROCESS)
    environment = {name: os.environ[name] for name in ("PYTHONPYCACHEPREFIX",) if name in os.environ}
    text = run(python, "-B", "both.py", framework, first, cwd=tmp_path, PYTHONPATH=str(site), **environment)
    assert text.split()[-1] == "done", text
