# SPDX-License-Identifier: Apache-2.0
"""The codecs' bytes on 64-bit Arm are those on this machine: compiles a few of them with Debian's cross compiler, runs
tests/compll/arm/codec_bytes.cc under qemu, and compares what it prints with what it prints here.

usage: codecs_on_arm.py BUILD CODEC_BYTES SOURCES DEFINITION...; exit code 77 without the compiler or qemu
    BUILD: the build folder, with the codecs' texts; CODEC_BYTES: the program of this machine;
    SOURCES: a file that names the sources of the codecs' library, one a line; DEFINITION: one of its definitions
"""

import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
COMPILER, QEMU = "aarch64-linux-gnu-g++", "qemu-aarch64-static"
# Blocks, bits, halves, drawn levels, a rotation, states, a selection over the whole vector, entropy coding.
CODECS = ("int8", "int4", "onebit", "bf16", "terngrad", "rht4", "dgc", "topk", "qsgd_elias")
# As the build compiles them, less optimized. The headers of this machine's libraries know no machine.
FLAGS = ("-std=c++20", "-O2", "-w", "-ffp-contract=off", "-fwrapv", "-DFMT_HEADER_ONLY", "-DSPDLOG_HEADER_ONLY",
         "-DHWY_COMPILE_ONLY_STATIC", "-DCASYNC_FEW_CODECS=" + " ".join(f"X({name})" for name in CODECS),
         "-idirafter", "/usr/include")  # fmt: skip


def sources_of(build, listed):
    """Paths of what is compiled, relative to the root where they lie in it."""
    texts = {build / f"compll/codecs/{name}.cc" for name in CODECS}
    paths = {path if path.is_absolute() else ROOT / "compll" / path for path in map(pathlib.Path, listed.split())}
    own = {path for path in paths if ROOT / "compll" in path.parents}
    here = ROOT / "tests/compll/arm"
    base = (ROOT / "base/nearest.cc", ROOT / "base/status.cc")
    return sorted([*own, *texts, *base, here / "codec_bytes.cc", here / "few_codecs.cc"])


def run(command, **options):
    made = subprocess.run([str(part) for part in command], text=True, capture_output=True, check=False, **options)
    if made.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} ended with {made.returncode}\n{made.stderr[-4000:]}")
    return made.stdout


def build_for_arm(build, listed, definitions):
    """The program's path."""
    folder = build / "tests/compll/arm"
    folder.mkdir(parents=True, exist_ok=True)
    launcher = ["ccache"] if shutil.which("ccache") else []
    # With paths relative to the root, a cache of compiled files serves every checkout.
    sources = [os.path.relpath(source, ROOT) for source in sources_of(build, listed)]
    objects = [folder / f"{number}.o" for number in range(len(sources))]

    def compile_one(source, made):
        include = ["-I.", f"-I{os.path.relpath(build, ROOT)}"]
        defined = [f"-D{definition}" for definition in definitions]
        run([*launcher, COMPILER, *FLAGS, *defined, *include, "-c", source, "-o", os.path.relpath(made, ROOT)], cwd=ROOT)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(compile_one, sources, objects))
    run([COMPILER, "-static", *objects, "-o", folder / "codec_bytes"])
    for made in objects:
        made.unlink()
    return folder / "codec_bytes"


def main(build, here, listed, *definitions):
    for tool in (COMPILER, QEMU):
        if not shutil.which(tool):
            print(f"{tool} is not installed: tools/setup installs it")
            return 77
    program = build_for_arm(pathlib.Path(build).resolve(), pathlib.Path(listed).read_text(), definitions)
    on_arm = run([QEMU, "-cpu", "cortex-a72", program]).splitlines()
    known = {line for line in run([here]).splitlines()}
    names = {line.split()[0] for line in on_arm}
    if names != set(CODECS):
        sys.exit(f"of {', '.join(CODECS)} only {', '.join(sorted(names))} ran")
    other = [line for line in on_arm if line not in known]
    print("\n".join([f"{len(on_arm)} results, {len(other)} differ:", *other]))
    return 1 if other else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
