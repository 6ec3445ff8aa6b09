# SPDX-License-Identifier: Apache-2.0
"""`casync codec check` on a GPU as its users meet it: with NVIDIA's NVRTC, and a driver whose device is this host.

usage: codec_cuda_test.py CASYNC FOLDER FAKE   with the emulated libcuda.so.1, and a library in NVRTC's place that
misbehaves; exit code 77: there is no NVRTC
"""
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from command import casync, claim, ends_with, own_environment, run_all, temporary_folder
from planner_files import Files

ROOT = Path(__file__).resolve().parents[2]
DRIVER, FAKE = sys.argv[2:4]
NVRTC = next(Path(sys.prefix).glob("lib/python*/site-packages/nvidia/*/lib/libnvrtc.so.1[23]"), None)
INT4 = ROOT / "compll/codecs/int4.cll"
SHIPPED = Path(sys.argv[1]).parents[1] / "lib/casync/kernels"


CACHE = os.environ.get("CASYNC_CACHE_DIR", "")


def check(*arguments, file=INT4, cache=CACHE, **variables):
    env = {"LD_LIBRARY_PATH": DRIVER, "CASYNC_NVRTC": str(NVRTC), "CASYNC_CACHE_DIR": cache, "CASYNC_KERNEL_DIR": "/nowhere", **variables}
    return casync("codec", "check", file, "--seconds", "0", *arguments, env=env, timeout=200)


def test_both_devices_have_their_part():
    with temporary_folder() as empty:
        result = check("--json", cache=empty)
    ends_with(0, result, "codec check")
    report = json.loads(result.stdout)
    claim(report["holds"] and report["cuda"]["holds"], "it holds", result.stdout)
    claim(report["cuda"]["device"] == "this host", "the driver's device", report["cuda"])
    claim(report["cuda"]["compiler"].startswith("NVRTC 1") and report["cuda"]["compiler"].endswith(" for sm_90"),
          "by NVRTC for the device's architecture", report["cuda"])
    claim(report["cuda"]["compiled_ms"] > 1, "compiled", report["cuda"])
    # Other values of the parameters are tried on the CPU only.
    on_cpu = [one["property"] for one in report["properties"] if "other values of its parameters" not in one["property"]]
    on_gpu = [one["property"] for one in report["cuda"]["properties"]]
    claim(on_gpu[:-2] == on_cpu and len(on_gpu) == len(on_cpu) + 2, "the same properties, and two", report)
    claim(report["cuda"]["error"] == report["error"], "the same error", report)
    words = check("--device", "all")
    ends_with(0, words, "codec check in words")
    for word in ("on this host", "CUDA C++ text in", "compiled by NVRTC", "the driver reports no error"):
        claim(word in words.stdout, f"it prints {word}", words.stdout)


def test_each_device_alone():
    cuda = json.loads(check("--device", "cuda", "--json", CXX="/no/compiler").stdout)
    claim("properties" not in cuda and cuda["cuda"]["holds"], "no compiler is needed for a GPU", cuda)
    cpu = json.loads(check("--device", "cpu", "--json", LD_LIBRARY_PATH="/nowhere").stdout)
    claim("cuda" not in cpu and cpu["properties"], "nothing is said of a GPU", cpu)


def test_codecs_of_all_kinds():
    for name in ("onebit", "terngrad", "diana", "topk"):
        result = check("--device", "cuda", file=ROOT / f"compll/codecs/{name}.cll")
        ends_with(0, result, name)


def test_codecs_that_sessions_take_are_tried_together():
    env = {**own_environment(), "LD_LIBRARY_PATH": DRIVER, "CASYNC_NVRTC": str(NVRTC), "CASYNC_CACHE_DIR": CACHE,
           "CASYNC_KERNEL_DIR": "/nowhere"}  # fmt: skip
    command = [sys.executable, ROOT / "tests/tools/codec_on_gpu.py", sys.argv[1], "--codecs", "gossip_copy,int4,patch"]
    result = subprocess.run(command, env=env, capture_output=True, text=True, timeout=200, check=False)
    ends_with(0, result, "codec_on_gpu.py")
    rows = [line for line in result.stdout.splitlines() if line.startswith("| `")]
    claim(len(rows) == 1 and rows[0].startswith("| `int4` |") and "all hold" in rows[0], "int4 alone, and it holds", rows)


def test_kernels_are_found_in_the_cache():
    with temporary_folder() as cache:
        for made in ("compiled_ms", "found_compiled_ms"):
            result = check("--device", "cuda", "--json", cache=cache)
            claim(made in json.loads(result.stdout)["cuda"], made, result.stdout)
        claim([p.suffix for p in Path(cache).iterdir()] == 3 * [".cubin"], "an entry for each kernel", *Path(cache).iterdir())


def test_kernels_that_were_shipped_need_no_nvrtc():
    with temporary_folder() as cache:
        without = {"cache": cache, "CASYNC_NVRTC": "/nowhere", "CASYNC_KERNEL_DIR": str(SHIPPED)}
        cuda = json.loads(check("--device", "cuda", "--json", **without).stdout)["cuda"]
        claim(cuda["holds"] and "found_compiled_ms" in cuda, "found", cuda)
        claim(cuda["compiler"] == "the build of casync for sm_90", "where from", cuda)
        other = check("--device", "cuda", file=ROOT / "tests/compll/program/kept.cll", **without)
        ends_with(1, other, "a codec that was not shipped")


def test_a_missing_device_is_said_and_is_an_error_where_it_was_asked_for():
    missing = {
        "the CUDA driver does not start: no CUDA-capable device is detected": {"EMULATED_DEVICES": "0"},
        "CASYNC_NVRTC=/nowhere is no library that can be loaded": {"CASYNC_NVRTC": "/nowhere"},
    }
    for reason, variables in missing.items():
        result = check("--json", **variables)
        ends_with(0, result, reason)
        claim(reason in json.loads(result.stdout)["cuda"]["not_tried"], reason, result.stdout)
        claim(f"not tried on a GPU: {reason}" in check(**variables).stdout, reason)
        for device in ("cuda", "all"):
            result = check("--device", device, **variables)
            ends_with(1, result, reason)
            claim(f"{INT4}: {reason}" in result.stderr, reason, result.stderr)


def test_kernels_that_are_refused_are_an_error():
    with temporary_folder() as folder:
        include = Path(folder) / "include"
        shutil.copytree(ROOT / "compll/ops", include / "compll/ops")
        (include / "compll/ops/cuda/types.cuh").write_text("#error these headers are broken\n")
        result = check("--device", "cuda", cache=folder, CASYNC_INCLUDE_DIR=str(include))
        ends_with(3, result, "broken headers")
        for word in (str(INT4), "refuses what was generated for sm_90", "these headers are broken", "the text is "):
            claim(word in result.stderr, f"it says {word}", result.stderr)


def test_an_nvrtc_that_crashes_or_hangs_is_an_error_that_names_the_codec():
    crash, sizes = "was ended by signal 11 (Segmentation fault), 5 times", "casync_int4_"
    for wish, code, words in (("early crash", 3, [crash]), ("crash", 3, [crash, sizes]),
                              ("nonsense", 3, ["made what is no such kernel", sizes]),
                              ("hang", 4, ["was not ready after 0.5 s", sizes])):  # fmt: skip
        with temporary_folder() as empty:
            result = check("--device", "cuda", cache=empty, CASYNC_NVRTC=FAKE, FAKE_NVRTC=wish, CASYNC_COMPILE_SEC="0.5")
        ends_with(code, result, wish)
        for word in (f"{INT4}: ", *words):
            claim(word in result.stderr, f"it says {word}", result.stderr)


def test_a_profile_of_a_gpu_is_one_that_plan_and_simulate_take():
    with temporary_folder() as folder:
        files, here = Files(folder), os.path.join(folder, "gpu.txtpb")
        env = {"LD_LIBRARY_PATH": DRIVER, "CASYNC_NVRTC": str(NVRTC), "CASYNC_CACHE_DIR": CACHE}

        def profile(*arguments):
            return casync("profile", "--quick", "--largest", 1024, "--between", "ucx:tcp", "--inside", "ucx:tcp", *arguments,
                          env=env, timeout=200)

        result = profile("--device", "cuda", "--codecs", "none,int4,topk_coded,powersgd", "-o", here)
        if result.returncode == 1 and "built without" in result.stderr:
            return "there is no UCX here"
        ends_with(0, result, "profile --device")
        with open(here) as file:
            text = file.read()
        for field in ("launch_seconds: ", "upload {", "download {", 'codec { name: "int4" encode {', 'codec { name: "topk_coded" encode {',
                      'codec { name: "powersgd" encode {',
                      "# measured copies from cuda:0", "neither slowed the other"):
            claim(field in text, field, text)
        ends_with(0, casync("plan", "--profile", here, "--model", files.model, "-n", 2, "--codecs", "int4"), "plan with it")
        simulated = casync("simulate", "--profile", here, "--model", files.model, "-n", 2)
        ends_with(0, simulated, "simulate with it")
        claim("copies " in simulated.stdout, "copies are a part of a step", simulated.stdout)
        absent = profile("--device", "cuda:7", "--codecs", "int4")
        claim(absent.returncode == 1 and "CUDA device 7: the driver shows 1" in absent.stderr, "the device that is not there", absent.stderr)
        claim("casync profile: 1 of" not in absent.stderr, "it is missed ahead of all measurements", absent.stderr)


if NVRTC is None:
    print("skipped: no NVRTC beside", sys.executable, "(tools/setup)")
    sys.exit(77)
os.environ.pop("LD_LIBRARY_PATH", None)
run_all(globals())
