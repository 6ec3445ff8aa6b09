# SPDX-License-Identifier: Apache-2.0
"""Sessions of processes on a GPU, which the emulated driver is: kernels named by NVRTC's cubins, messages over UCX."""

import os
import pathlib
import shutil
import subprocess

import emulated_gpu
import numpy
import pytest
import ranks

import casync

SHAPES = {"weight": (70, 130), "bias": (3,)}
PROFILE = pathlib.Path(__file__).parents[2] / "examples/profiles/h100_8_400gbit.txtpb"


def gradients(rank, step):
    generator = numpy.random.default_rng([rank, step])
    return {name: generator.standard_normal(shape).astype(numpy.float32) for name, shape in SHAPES.items()}


def results(rank, codec, device):
    """All results of three steps, and the state."""
    found = []
    with casync.Session(codec=codec, device=device) as session:
        ids = {name: session.declare(name, shape) for name, shape in SHAPES.items()}
        gpu = emulated_gpu.Gpu() if device else None
        for step in range(3):
            arrays = gradients(rank, step)
            if device is None:
                handles = [session.submit(ids[name], arrays[name]) for name in SHAPES]
            else:
                addresses = [gpu.array(arrays[name]) for name in SHAPES]
                sizes = [arrays[name].nbytes for name in SHAPES]
                handles = session.submit_memory(list(ids.values()), addresses, sizes, arrays, stream=gpu.stream.value)
            for handle in handles:
                handle.wait()
            assert session.step()
            found += [gpu.read(a, s) for a, s in zip(addresses, SHAPES.values())] if device else list(arrays.values())
        state = session.state_dict()
    return found, {name: numpy.asarray(one["residual"]) for name, one in state["gradients"].items()}


@emulated_gpu.needed
@pytest.mark.parametrize("codec", ["none", "int4", "topk"])
def test_a_gpu_gives_the_bytes_of_the_cpu(codec):
    env = emulated_gpu.environment()
    on_gpu = ranks.values(__file__, "results", 2, env=env, codec=codec, device="cuda:0")
    on_cpu = ranks.values(__file__, "results", 2, codec=codec, device=None)
    for (gpu, gpu_state), (cpu, cpu_state) in zip(on_gpu, on_cpu):
        assert [one.tobytes() for one in gpu] == [one.tobytes() for one in cpu]
        assert gpu_state.keys() == cpu_state.keys()
        for name in cpu_state:
            assert gpu_state[name].tobytes() == cpu_state[name].tobytes()


def owner_of_memory(rank):
    """Submits memory of the first GPU to a session on the rank's own."""
    with casync.Session(codec="none", device="cuda") as session:
        gradient = session.declare("gradient", (4,))
        values = numpy.ones(4, numpy.float32)
        gpu = emulated_gpu.Gpu()
        session.submit_memory([gradient], [gpu.array(values)], [values.nbytes], [values], stream=gpu.stream.value)


@emulated_gpu.needed
@pytest.mark.parametrize("devices, own", [(1, 0), (2, 1)])
def test_each_rank_of_a_machine_has_a_gpu_of_its_own(devices, own):
    local_ranks = {rank: {"CASYNC_LOCAL_RANK": str(rank), "CASYNC_LOCAL_SIZE": "2"} for rank in range(2)}
    env = {**emulated_gpu.environment(), "EMULATED_DEVICES": str(devices)}
    second = ranks.outcomes(__file__, "owner_of_memory", 2, env=env, envs=local_ranks)[1]
    if own == 1:
        assert "its memory is on cuda:0, and the session is on cuda:1" in second.message
    else:
        assert "cuda:1" not in (second.message or "")


def without_nvrtc(tmp_path, *codecs):
    """The environment of a machine that has the kernels of these codecs from the library, and no NVRTC."""
    folder = tmp_path / "kernels/sm_90"
    folder.mkdir(parents=True)
    for codec in codecs:
        shutil.copy(pathlib.Path(os.environ["CASYNC_TOOL"]).parents[1] / "lib/casync/kernels/sm_90" / codec, folder)
    variables = {"NVRTC": "/nowhere", "KERNEL_DIR": folder.parent, "CACHE_DIR": tmp_path / "cache"}
    return {**emulated_gpu.environment(), **{f"CASYNC_{name}": str(value) for name, value in variables.items()}}


@emulated_gpu.needed
def test_kernels_that_were_shipped_need_no_nvrtc(tmp_path):
    env = without_nvrtc(tmp_path, "int4", "sum")
    on_gpu = ranks.values(__file__, "results", 2, env=env, codec="int4", device="cuda:0")
    on_cpu = ranks.values(__file__, "results", 2, codec="int4", device=None)
    for (gpu, _), (cpu, _) in zip(on_gpu, on_cpu):
        assert [one.tobytes() for one in gpu] == [one.tobytes() for one in cpu]
    for outcome in ranks.outcomes(__file__, "results", 2, env=env, codec="int8", device="cuda:0"):
        assert outcome.error == "Unavailable"
        assert "codec `int8`: CASYNC_NVRTC=/nowhere is no library that can be loaded" in outcome.message


@emulated_gpu.needed
def test_a_file_of_shipped_kernels_that_is_damaged_or_another_codecs_is_not_used(tmp_path):
    env = without_nvrtc(tmp_path, "int4", "sum")
    folder = tmp_path / "kernels/sm_90"
    shutil.copy(folder / "sum", folder / "int8")
    damaged = bytearray((folder / "int4").read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (folder / "int4").write_bytes(damaged)
    for codec in ("int4", "int8"):
        (outcome,) = ranks.outcomes(__file__, "results", 1, env=env, codec=codec, device="cuda:0")
        assert outcome.error == "Unavailable" and f"codec `{codec}`: CASYNC_NVRTC=/nowhere" in outcome.message


@emulated_gpu.needed
def test_a_training_on_a_gpu_is_recorded_and_planned_for(tmp_path):
    on_gpu, on_cpu = tmp_path / "gpu", tmp_path / "cpu"
    env = {**emulated_gpu.environment(), "CASYNC_RECORD": str(on_gpu)}
    ranks.values(__file__, "results", 2, env=env, codec="int4", device="cuda:0")
    ranks.values(__file__, "results", 2, env={"CASYNC_RECORD": str(on_cpu)}, codec="int4", device=None)
    samples = [(folder / "gradients.safetensors").read_bytes() for folder in (on_gpu, on_cpu)]
    assert samples[0] == samples[1]
    inputs = ["--model", on_gpu / "model.txtpb", "--gradients", on_gpu / "gradients.safetensors", "--profile", PROFILE]
    plan = [os.environ["CASYNC_TOOL"], "plan", *inputs, "--ranks", "2", "--entries"]
    planned = subprocess.run(plan, capture_output=True, text=True, timeout=60)
    assert planned.returncode == 0, planned.stderr
    for name in SHAPES:
        assert f'gradient {{ name: "{name}"' in planned.stdout


def open_on(rank, device):
    casync.Session(codec="none", device=device)


@emulated_gpu.needed
def test_a_driver_without_a_device_is_said():
    env = {**emulated_gpu.environment(), "EMULATED_DEVICES": "0"}
    (outcome,) = ranks.outcomes(__file__, "open_on", 1, env=env, device="cuda")
    assert outcome.error == "Unavailable" and "no CUDA-capable device is detected" in outcome.message


@emulated_gpu.needed
def test_a_driver_that_is_too_old_is_said():
    env = {**emulated_gpu.environment(), "EMULATED_CUDA": "11080"}
    for outcome in ranks.outcomes(__file__, "open_on", 2, env=env, device="cuda:0"):
        assert outcome.error == "Unavailable"
        assert "the CUDA driver is too old: it knows CUDA 11.8, at least 12.0 is needed: update it" in outcome.message


def test_a_device_that_is_none():
    (outcome,) = ranks.outcomes(__file__, "open_on", 1, device="tpu")
    assert outcome.error == "InvalidArgument" and "device `tpu`, expected cpu, cuda or cuda:0" in outcome.message


def host_array(rank):
    with casync.Session(codec="none", device="cuda:0") as session:
        identity = session.declare("weight", (5,))
        array = numpy.zeros(5, numpy.float32)
        session.submit(identity, array)


@emulated_gpu.needed
def test_an_array_of_the_cpu_is_refused():
    (outcome,) = ranks.outcomes(__file__, "host_array", 1, env=emulated_gpu.environment())
    assert outcome.error == "InvalidArgument"
    assert "gradient weight: its memory is the host's, and the session is on cuda:0" in outcome.message
