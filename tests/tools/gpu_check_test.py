# SPDX-License-Identifier: Apache-2.0
"""tools/gpu_check with programs that stand for those of a build, on a machine whose GPU is a program nvidia-smi."""
import contextlib
import io
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
from pathlib import Path

from command import claim, is_alive, own_environment, run_all, temporary_folder, until

ROOT = Path(__file__).resolve().parents[2]
FILES = ("tools/gpu_check", "tools/gpu_check_pack.sh")
SCRIPT = "".join((ROOT / file).read_text() for file in FILES)
LIMIT_S = 120

# Like Catch2's: a list of cases has their number as its exit code, and -w NoTests refuses a name of no case.
SESSIONS = r"""
cases="on this GPU: first, and second
on this GPU: over nccl, one rank"
if [ "$1" = --list-test-names-only ]; then
  case ${2:-} in
    "~*over nccl*") echo "$cases" | grep -v "over nccl"; exit 1 ;;
    "*over nccl*") echo "$cases" | grep "over nccl"; exit 1 ;;
    *) echo "$cases"; exit 77 ;;
  esac
fi
echo "$3" >>"$SEEN/cases"
"""
PROGRAMS = {
    "casync": 'case "$*" in "codec list") echo "# bits: of each"; echo "# codec  bits"; echo "int4     4.5"; '
    'echo "fp8_e4m3  8"; echo "patch x" ;; esac; echo "casync $*" >>"$SEEN/casync"',
    "gpu_sessions_test": SESSIONS,
    "gpu_session_bench": "echo '| codec | calls |'; echo '|---|---|'; echo '| `int4` | 0 |'",
    "gpu_kernels_test": 'if [ "$1" = --list ]; then echo int4; echo topk; else echo "$*" >>"$SEEN/kernels"; fi',
    "gpu_kernels_bench": "echo '| codec | encode |'; echo '|---|---|'; echo '| `int4` | 1 GB/s, 9.5 us |'",
}
# The machine has a card, a sanitizer that runs its program, and a PyTorch.
MACHINE = {
    "nvidia-smi": 'echo "name, driver_version"; echo "A card, 580.1"',
    "compute-sanitizer": '[ "$1" != --help ] || exit 0; echo "$*" >>"$SEEN/sanitized"; '
    'while [ "${1#--}" != "$1" ]; do shift 2; done; echo "ERROR SUMMARY: 0 errors"; exec "$@"',
    "python3": 'case "$*" in *"import torch"*) echo 1 >>"$SEEN/torch"; exit ${TORCH:-0} ;; esac; '
    'case "$*" in *"nvidia.nccl"*) exit 1 ;; esac; '
    'exec %s "$@"' % sys.executable,
}


def put(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


@contextlib.contextmanager
def machine(without=(), **programs):
    """A folder with the script, the programs of `pack`, and those of a machine, some of them by other texts."""
    with temporary_folder() as name:
        root = Path(name)
        (root / "seen").mkdir()
        for file in (*FILES, "tests/bench/gpu_step/targets.py"):
            put(root / file, (ROOT / file).read_text())
        for file in ("tests/bench/gpu_step/run.py", "tests/tools/codec_on_gpu.py"):
            put(root / file, "import os, sys\nprint(os.path.basename(sys.argv[0]), *sys.argv[1:])\n")
        for program, text in {**PROGRAMS, **programs}.items():
            if program not in without:
                put(root / "build/gpu/bin" / program, "#!/bin/sh\n" + text + "\n")
        for program, text in MACHINE.items():
            if program not in without:
                put(root / "path" / program, "#!/bin/sh\n" + text + "\n")
        put(root / "build/gpu/commit", "abc123\n")
        yield root


def start(root, *arguments, **variables):
    path = f"{root / 'path'}:/usr/bin:/bin"
    env = {**own_environment(), "PATH": path, "SEEN": str(root / "seen"), **variables}
    command = [root / "tools/gpu_check", *arguments]
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def outcome(process):
    """(exit code, output) of the script, of which nothing is left then."""
    try:
        output, _ = process.communicate(timeout=LIMIT_S)
    finally:
        process.terminate()
    return process.returncode, output


def run(root, *arguments, **variables):
    """(exit code, output, page)."""
    code, output = outcome(start(root, "run", *arguments, **variables))
    page = root / "docs/gpu-results.md"
    return code, output, page.read_text() if page.exists() else ""


def seen(root, name):
    file = root / "seen" / name
    return file.read_text().splitlines() if file.exists() else []


def test_the_page_has_the_machine_and_every_section():
    with machine() as root:
        code, output, page = run(root)
        claim(code == 0, "all passes", output)
        for text in ("commit abc123", "A card, 580.1", "Comparison of sessions", "Sessions over NCCL", "PyTorch's DDP on",
                     "Speed", "Steps of sessions", "over 1 Gb/s", "Slowdown", "compute-sanitizer", "Comparison of kernels",
                     "Properties of codec files", "codec check on the device", "Time of each stage", "Profile",
                     "Figures that have a target", "| `int4` | 0 |"):  # fmt: skip
            claim(text in page, f"the page has {text}", page)
        claim(re.search(r"\d{4}-\d\d-\d\d", page), "a date", page)
        claim("allocations, synchronizations and the like in steady steps | 0 | at most 0 | yes |" in page, "a target", page)
        claim(page.count("Left out") == 1 and "compiled none for sm_90" in page, "what it leaves out, and why", page)
        names = ["on this GPU: first\\, and second", "on this GPU: over nccl\\, one rank"]
        sanitized = ["on this GPU: the device conforms", "session on a GPU: another codec on the second hop*"]
        ran = sorted(seen(root, "cases"))
        claim(ran == sorted(names + 3 * sanitized), "each case ran once, by its escaped name, some under each tool", ran)
        profile = [line for line in seen(root, "casync") if line.startswith("casync profile ")]
        claim(len(profile) == 1 and " --codecs int4,fp8_e4m3 --output " in profile[0], "codecs of sessions", profile)
        claim(seen(root, "torch") == ["1"], "PyTorch is looked for once", seen(root, "torch"))
        claim({"--small . int4 onebit terngrad published rht4 turned", ". int4", ". topk"} <= set(seen(root, "kernels")),
              "kernels ran, under the sanitizer and without", seen(root, "kernels"))  # fmt: skip
        tools = {line.split()[1] for line in seen(root, "sanitized")}
        claim(tools == {"racecheck", "memcheck", "synccheck"}, "each tool ran", seen(root, "sanitized"))


# Stands for a tool that has so many ports for all of its runs; notes how many run at a time.
COUNTING = r"""
if [ "$1" = --help ]; then echo "  --tool arg"; echo "$OPTIONS"; exit 0; fi
echo "$*" >>"$SEEN/sanitized"
touch "$SEEN/run.$$"
ls "$SEEN" | grep -c "^run" >>"$SEEN/together"
sleep 1
rm "$SEEN/run.$$"
"""


def test_sanitizers_do_not_run_out_of_ports():
    for options, most in (("", 8), ("  --max-connections arg (=10)", 16)):
        with machine() as root:
            put(root / "path/compute-sanitizer", "#!/bin/sh\n" + COUNTING)
            put(root / "path/nproc", "#!/bin/sh\necho 16\n")
            code, output, page = run(root, "sanitizer", OPTIONS=options)
            claim(code == 0, "it passes", output, page)
            told = ["--max-connections 100" in line for line in seen(root, "sanitized")]
            claim(len(told) == 18 and set(told) == {bool(options)}, "more ports where the tool knows of them", told)
            together = [int(line) for line in seen(root, "together")]
            claim(max(together) <= most, "as many at a time as have ports", together)


def test_a_section_that_fails_lets_the_others_go_on():
    failing = SESSIONS + '\necho "bytes differ"; exit 3'
    with machine(gpu_sessions_test=failing) as root:
        code, output, page = run(root, "sessions", "speed")
        claim(code == 1, "it fails", code, output)
        claim("bytes differ" in page and "first\\, and second: exit code 3" in page, "its output", page)
        claim("| `int4` | 1 GB/s, 9.5 us |" in page, "the next section", page)


def test_a_kernel_that_crashes_is_named():
    with machine(gpu_kernels_test=PROGRAMS["gpu_kernels_test"] + '\n[ "$2" != topk ] || kill -SEGV $$') as root:
        code, _, page = run(root, "kernels")
        claim(code == 1 and "topk: exit code 139" in page and "int4: exit code" not in page, "which one", page)


# Ends a section once its case runs, as `timeout -k 5 LIMIT COMMAND...` does when the limit is reached.
ENDING = r"""
case "$1 $4" in "-k bash") ;; *) exec /usr/bin/timeout "$@" ;; esac
echo "$3" >>"$SEEN/limits"
shift 3
/usr/bin/timeout 1000 "$@" &
while [ ! -s "$SEEN/pid" ]; do sleep 0.05; done
[ ! -e "$SEEN/ended" ] || { wait $!; exit; }
touch "$SEEN/ended"
kill $!
wait $! || exit 124
"""


def test_a_section_that_takes_too_long_is_ended():
    hanging = SESSIONS + '\necho $$ >"$SEEN/pid"; exec sleep 600'
    with machine(gpu_sessions_test=hanging) as root:
        put(root / "path/timeout", "#!/bin/bash\n" + ENDING)  # sh drops exported functions
        code, output, page = run(root, "--seconds", "170", "sessions", "speed")
        claim(code == 1, "it was ended", code, output)
        first, second = map(int, seen(root, "limits"))
        claim(first <= 170 and second <= 150, "no limit is beyond the end", first, second)
        claim(f"exit code 124 of `cases_side_by_side ~*over nccl*`, ended after {first} s" in page, "the page", page)
        claim("under way: on this GPU: first\\, and second" in page, "the case that took too long", page)
        claim("| `int4` | 1 GB/s, 9.5 us |" in page, "the next section", page)
        pid = int(seen(root, "pid")[0])
        until(lambda: not is_alive(pid), LIMIT_S, "the section's processes end")


def test_sections_for_which_no_time_is_left_are_named():
    with machine() as root:
        put(root / "path/nvidia-smi", "#!/bin/sh\nsleep 1.1\n")
        code, output, page = run(root, "--seconds", "1", "sessions", "speed")
        claim(code == 0 and seen(root, "cases") == [], "none was begun", code, output)
        claim("# Speed\n\nLeft out: no time is left of 1 s" in page, "the page", page)


def test_what_is_done_stays_if_it_is_ended_from_outside():
    hanging = SESSIONS + '\necho $$ >"$SEEN/pid"; exec sleep 600'
    with machine(gpu_sessions_test=hanging) as root:
        process = start(root, "run", "speed", "sessions")
        until(lambda: seen(root, "pid"), LIMIT_S, "the section began")
        process.send_signal(signal.SIGTERM)
        _, output = outcome(process)
        page = (root / "docs/gpu-results.md").read_text()
        claim("| `int4` | 1 GB/s, 9.5 us |" in page and "ended early" in page, "both sections", page, output)
        claim("under way: on this GPU: first\\, and second" in page, "the case", page)
        pid = int(seen(root, "pid")[0])
        until(lambda: not is_alive(pid), LIMIT_S, "the section's processes end")


def test_without_a_gpu_the_exit_code_is_77():
    with machine(gpu_sessions_test="echo 'there is no CUDA driver' >&2; exit 77") as root:
        code, output, page = run(root)
        claim(code == 77 and "there is no CUDA driver" in output and page == "", "the reason", code, output)


def test_cases_that_are_not_there_are_a_failure():
    with machine(gpu_sessions_test=SESSIONS.replace('grep "over nccl"', "true")) as root:
        code, output, page = run(root, "nccl")
        claim(code == 1 and "no test has this name: *over nccl*" in page, "no case", code, page, output)


def test_the_page_says_what_the_machine_lacks():
    with machine(without=("nvidia-smi", "compute-sanitizer", "gpu_kernels_bench")) as root:
        code, output, page = run(root, "ddp", "steps", "speed", "sanitizer", TORCH="1")
        claim(code == 0, "it is no failure", output)
        for text in ("There is no nvidia-smi", "no PyTorch that finds the GPU", "pack had no programs that nvcc compiles"):
            claim(text in page, text, page)
        claim(page.count("no PyTorch that finds the GPU") == 2, "of DDP's bytes, and of its steps", page)
        lacks = "compute-sanitizer\n\nLeft out: it is not on this machine"
        claim(lacks in page or Path("/usr/local/cuda/bin/compute-sanitizer").exists(), lacks, page)


def test_pack_makes_an_archive_that_run_unpacks():
    with machine() as root:
        shutil.rmtree(root / "build/gpu")
        (root / ".venv").symlink_to(ROOT / ".venv")
        binaries = [f"bin/{name}" for name in PROGRAMS] + [f"lib/{name}.so" for name in
                    ("libcasync", "libcasync_planio", "libcasync_ucx")] + ["lib/casync/compile_kernels"]  # fmt: skip
        for file in [root / "build/dev" / name for name in binaries] + [root / ".deps/libucx/lib/ucx/libuct_cma.so.0"]:
            file.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy("/usr/bin/true", file)
        headers = root / "build/dev/lib/casync/include"
        for file in ("compll/ops/a.h", "compll/ops/cpu/a.h", "compll/ops/cuda/a.h", "base/units.h", "hwy/a.h", "hwy/ops/a.h"):
            put(headers / file, "")
        put(root / "plugins/python/casync/__init__.py", "")
        code, output = outcome(start(root, "pack"))
        claim(code == 0, "it packs", output)
        with tarfile.open(root / "build/gpu.tar.xz") as archive:
            names = archive.getnames()
        for name in [f"bin/{program}" for program in PROGRAMS] + ["commit", "python/casync/lib"]:
            claim(f"gpu/{name}" in names, f"the archive has {name}", names)
        shutil.rmtree(root / "build/gpu")
        code, output, _ = run(root, "speed")
        claim((root / "build/gpu/bin/casync").exists(), "run unpacks it", code, output)
        claim(not (root / "build/gpu.part").exists(), "and leaves nothing beside it")
        shutil.rmtree(root / "build/gpu")
        packed = root / "build/gpu.tar.xz"
        packed.write_bytes(packed.read_bytes()[:-200])
        code, output = outcome(start(root, "run", "speed"))
        claim(code == 1 and not (root / "build/gpu").exists(), "nothing runs of an archive that is cut short", output)


def test_wrong_arguments_are_named():
    with machine() as root:
        for arguments, text in ((["--seconds", "soon"], "--seconds soon is no number"), (["--from"], "--from needs a value"),
                                (["speeds"], "there is no section speeds")):  # fmt: skip
            code, output, _ = run(root, *arguments)
            claim(code == 1 and text in output, text, code, output)


def test_times_of_ways_stay_if_a_later_way_fails():
    with temporary_folder() as folder:
        one = '{"way": "gloo", "min_ms": 1, "median_ms": 2, "steps": 3, "transport": "gloo"}'
        failing = f"import os\nprint('RESULT {one}', flush=True)\nif os.environ['RANK'] == '1': raise SystemExit('no hook')\n"
        put(Path(folder) / "rank.py", failing)
        sys.path.insert(0, str(ROOT / "tests/bench/gpu_step"))
        import run as gpu_step

        gpu_step.HERE = Path(folder)
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            failed = gpu_step.time_steps("cuda:0", None, ["gloo", "casync-int4"])
        claim(failed and "| gloo | 1.0 | 2.0 | 3 | gloo |" in said.getvalue(), "the time is kept", said.getvalue())
        claim("no hook" in said.getvalue(), "the complaint", said.getvalue())


def test_speeds_are_compared_with_their_targets():
    sys.path.insert(0, str(ROOT / "tests/bench/gpu_step"))
    import targets

    names = [*targets.FIXED_RATE, *targets.SELECTING, *targets.ROTATING_OR_RANDOM, "mstopk"]
    for name in names:
        claim((ROOT / "compll/codecs" / f"{name}.cll").exists(), f"{name} is a codec's file")

    def said(without=()):
        rows = {name: "| 1 GB/s, 200.0 us | 0.95, 0.92, 0.80 |" for name in names if name not in without}
        rows["mstopk"], rows["ef21"] = "| 1 GB/s, 300.0 us | 0.60, 0.60, 0.60 |", "| 1 GB/s, 90.0 us | 0.34, 0.60, 0.60 |"
        table = "\n".join(f"| `{name}` {row}" for name, row in rows.items())
        page = f"# Speed\n\n{targets.MANY}\n\nA copy.\n\n| codec | encode | of the copy |\n|---|---|---|\n{table}\n"
        return {name: (measured, least, most) for name, measured, least, most in targets.figures(page)}

    infinite, found = float("inf"), said()
    for figure, expected in {
        "share of a copy, codecs of a fixed rate, merge of 4, the slowest (bf16)": (0.8, 0.75, infinite),
        "share of a copy, codecs that select, encode, the slowest (ef21)": (0.34, 0.5, infinite),
        "encode of `mstopk`, part of the time of `topk`": (1.5, 0, 1),
    }.items():
        claim(found.get(figure) == expected, figure, found)
    lacking = "share of a copy, codecs of a fixed rate, encode, the slowest (not all are here)"
    claim(said(without=["int4"])[lacking] == (None, 0.9, infinite), "a codec that the page lacks", said(["int4"]))


def test_the_names_are_those_of_the_sources():
    lists = "\n".join(file.read_text() for file in (ROOT / "tests").rglob("CMakeLists.txt"))
    for program in set(re.findall(r"\bgpu_(?:sessions|session|kernels)_(?:test|bench)\b", SCRIPT)):
        claim(f"casync_program({program}" in lists, f"the build makes {program}")
    folders = ("compll/codecs", "tests/compll/language/golden", "tests/compll/cuda/programs", "tests/compll/program")
    function = SCRIPT[SCRIPT.index("sanitizer_side_by_side() {") :]
    groups = re.search(r"for kernels in (.*?); do", function, re.DOTALL)[1]
    kernels = " ".join(re.findall('"([^"]*)"', groups)).split()
    claim(len(kernels) > 10, "kernels for the sanitizer", kernels)
    for name in kernels:
        claim(any((ROOT / folder / f"{name}.cll").exists() for folder in folders), f"{name} is a codec's file")
    specs = re.findall(r'"\$tool" "([^"$]*?)\*?"', function)
    claim(len(specs) == 2, "cases for the sanitizer", specs)
    sessions = ROOT / "tests/runtime/session"
    sources = [sessions / "gpu_sessions_test.cc", *sessions.glob("session_device*_test.cc")]
    cases = "".join(file.read_text() for file in sources)
    for spec in specs:
        claim(f'TEST_CASE("{spec}' in cases, f"a case begins with {spec}")


if __name__ == "__main__":
    run_all(globals())
