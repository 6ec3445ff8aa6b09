# SPDX-License-Identifier: Apache-2.0
"""casync doctor: its findings, its verdict, and the modules that the command finds."""
import json
import os
import shutil
import subprocess

from command import TOOL, casync, claim, ends_with, own_environment, run_all, temporary_folder


def test_doctor_finds_what_it_needs_and_speaks_json():
    result = casync("doctor", "--json", env={"CASYNC_LINK": "1gbit", "CASYNC_TOKEN": "hush-hush", "CASYNC_LNIK": "1"})
    report = json.loads(result.stdout)
    claim(result.returncode == (0 if report["healthy"] else 1), "1 when something is broken", result.stdout)
    found = {finding["name"]: finding for finding in report["findings"]}
    for name in ("casync", "abi", "transport ucx", "transport loopback", "plan reader", "codecs", "codec compiler",
                 "codec headers", "shipped kernels", "kernel compiler", "processor", "instruction sets",
                 "locked memory", "open files", "shared memory", "lo", "listen on 127.0.0.1",
                 "net.core.rmem_max", "CASYNC_LINK"):
        claim(name in found, f"doctor looks at {name}", sorted(found))
    claim(all(f["state"] in ("ok", "note", "warn", "broken") for f in report["findings"]), "four states", report)
    claim(all(f["hint"] for f in report["findings"] if f["state"] == "broken"), "what is broken has a hint", report)
    claim(found["CASYNC_LINK"]["value"] == "1gbit", "variables are shown", found["CASYNC_LINK"])
    claim("hush-hush" not in result.stdout + result.stderr, "but not the token", result.stdout)
    claim("CASYNC_LNIK" in found["unknown variable"]["value"], "and what nobody reads", found)
    claim(report["verdict"].startswith("CaSync can work here") and "warning" in report["verdict"], "a verdict", report)


def test_doctor_ends_with_1_when_a_variable_would_stop_every_session():
    result = casync("doctor", env={"CASYNC_TIMEOUT_SEC": "soon"})
    ends_with(1, result, "doctor with a broken variable")
    claim("broken" in result.stdout and "CASYNC_TIMEOUT_SEC" in result.stdout, "the culprit is named", result.stdout)
    claim(result.stdout.splitlines()[-1].startswith("CaSync cannot work here: 1 finding is broken"), "a verdict",
          result.stdout)


def test_a_command_that_is_found_by_the_path_finds_its_own_modules_and_no_others():
    def states(program, folder):
        env = {**own_environment(), "PATH": os.path.dirname(TOOL) + os.pathsep + os.environ["PATH"]}
        made = subprocess.run([program, "doctor", "--json"], capture_output=True, text=True, timeout=60, env=env,
                              cwd=folder)
        found = {finding["name"]: finding["state"] for finding in json.loads(made.stdout)["findings"]}
        return {name: found[name] for name in ("transport ucx", "plan reader", "codec headers", "kernel compiler")}

    with temporary_folder() as folder:
        for name in ("libcasync_ucx.so", "libcasync_planio.so"):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write("of a stranger")
        by_name, by_path = states("casync", folder), states(TOOL, "/")
        claim(by_name == by_path, "as if it is called by its path", by_name, by_path)


def test_doctor_of_a_wheel_knows_python_and_frameworks():
    frameworks = ("torch", "other", "tensorflow", "mxnet")
    with temporary_folder() as folder:
        packages = os.path.join(folder, "lib/python3.11/site-packages")
        program = os.path.join(packages, "casync/bin/casync")
        for path in (os.path.dirname(program), os.path.join(packages, "torch-2.13.0+cpu.dist-info"),
                     os.path.join(packages, "torchvision-0.1.dist-info"), os.path.join(packages, "other-7.dist-info"),
                     os.path.join(packages, "tensorflow_cpu-9.9.dist-info"),
                     os.path.join(packages, "tensorflow_io_gcs_filesystem-0.37.dist-info"),
                     os.path.join(packages, "mxnet_cu112-1.9.1.dist-info"),
                     *(os.path.join(packages, "casync", framework) for framework in frameworks)):
            os.makedirs(path)
        for framework in frameworks:
            open(os.path.join(packages, "casync", framework, "__init__.py"), "w", encoding="utf-8").close()
        shutil.copy(TOOL, program)
        made = subprocess.run([program, "doctor", "--json"], capture_output=True, text=True, timeout=60)
        found = {finding["name"]: finding["value"] for finding in json.loads(made.stdout)["findings"]}
        claim(found["python"] == "python3.11" and found["torch"] == "2.13.0+cpu", "by their folders", found)
        claim(found["other"] == "7", "each that has a plugin", found)
        claim(found.get("tensorflow") == "9.9" and found.get("mxnet") == "1.9.1", "also builds of other names", found)
        claim("torchvision" not in found, "no others", found)


def test_doctor_of_a_wheel_names_a_folder_that_cannot_be_read():
    with temporary_folder() as folder:
        packages = os.path.join(os.path.realpath(folder), "lib/python3.11/site-packages")
        program = os.path.join(packages, "bin/casync")
        os.makedirs(os.path.dirname(program))
        os.makedirs(os.path.join(packages, "numpy-2.0.dist-info"))
        open(os.path.join(packages, "casync"), "w", encoding="utf-8").close()  # no folder
        shutil.copy(TOOL, program)
        made = subprocess.run([program, "doctor", "--json"], capture_output=True, text=True, timeout=60)
        found = {finding["name"]: finding for finding in json.loads(made.stdout)["findings"]}
        named = found.get("frameworks", {"value": "", "state": "", "hint": ""})
        claim(named["value"] == os.path.join(packages, "casync") + ": Not a directory", "the folder", found)
        claim(named["state"] == "warn" and "make this folder readable" in named["hint"], "a warning", named)
        claim(found["numpy"]["value"] == "2.0", "all that can be read is there", found)


run_all(globals())
