# SPDX-License-Identifier: Apache-2.0
"""NVRTC takes the same text as nvcc. Skipped where it is not there: pip install nvidia-cuda-nvrtc."""
import ctypes
import importlib.util
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(os.environ["CASYNC_SOURCES"])
OPTIONS = ["--gpu-architecture=sm_90", "--std=c++20", "--fmad=false", f"--include-path={ROOT}"]
CODECS = ["bf16", "fp8_e4m3", "int4", "mxfp4", "onebit", "signsgd"]  # casts, blocks, ordered sums, two launches
# Selection, states, sorting, rotation, sums of all elements.
WHOLE = ["adacomp", "dgc", "diana", "graddrop", "randomk", "rht4", "terngrad", "topk"]
TURNS = {"powersgd": 3, "rounds": 6, "turns": 5}  # of programs that exchange
# Of those that are no codecs of ours, where they are.
FOLDERS = {"trits_whole": "tests/compll/program", "rounds": "tests/compll/program", "turns": "tests/compll/cuda/programs"}


def nvrtc_folder():
    found = importlib.util.find_spec("nvidia")
    places = [Path(place) for place in (found.submodule_search_locations or [])] if found else []
    for place in [*places, ROOT / ".deps/nvidia"]:
        for library in sorted(place.glob("*/lib/libnvrtc.so.*")):
            return library
    return None


@pytest.fixture(scope="module")
def nvrtc():
    library = nvrtc_folder()
    if library is None:
        pytest.skip("no NVRTC: pip install nvidia-cuda-nvrtc")
    # It looks for this one by name, and would not find it.
    for builtins in library.parent.glob("libnvrtc-builtins.so.*"):
        ctypes.CDLL(str(builtins), mode=ctypes.RTLD_GLOBAL)
    return ctypes.CDLL(str(library))


def compiled(nvrtc, text):
    """(cubin, log); no cubin where it is refused."""
    program = ctypes.c_void_p()
    assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), text, b"codec.cu", 0, None, None) == 0
    options = (ctypes.c_char_p * len(OPTIONS))(*[option.encode() for option in OPTIONS])
    error = nvrtc.nvrtcCompileProgram(program, len(OPTIONS), options)
    size = ctypes.c_size_t()
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    if error != 0:
        return b"", log.value.decode()
    nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size))
    cubin = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetCUBIN(program, cubin)
    return cubin.raw, log.value.decode()


def kernels_in(nvrtc, source):
    """The machine code of a program's kernels."""
    text = subprocess.run([os.environ["CASYNC_COMPLLC"], source, "--emit=cuda"], capture_output=True, check=True).stdout
    cubin, log = compiled(nvrtc, text)
    assert log.strip() in ("", "\x00"), log
    return cubin


@pytest.mark.parametrize("codec", [*CODECS, *WHOLE, "trits_whole"])
def test_a_codec_becomes_machine_code_with_its_kernels(nvrtc, codec):
    cubin = kernels_in(nvrtc, ROOT / FOLDERS.get(codec, "compll/codecs") / f"{codec}.cll")
    for kernel in ("encode", "merge", "decode") if codec in CODECS else ("encode", "decode"):
        assert f"casync_{codec}_{kernel}".encode() in cubin


@pytest.mark.parametrize("codec", list(TURNS))
def test_each_turn_becomes_machine_code(nvrtc, codec):
    cubin = kernels_in(nvrtc, ROOT / FOLDERS.get(codec, "compll/codecs") / f"{codec}.cll")
    for turn in range(TURNS[codec] + 1):
        assert (f"casync_{codec}_turn_{turn}".encode() in cubin) == (turn < TURNS[codec])


def test_what_is_no_text_is_refused(nvrtc):
    cubin, log = compiled(nvrtc, b'#include "compll/ops/cuda/program.cuh"\nstatic_assert(false);\n')
    assert cubin == b""
    assert "static assertion failed" in log
