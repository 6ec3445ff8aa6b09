# SPDX-License-Identifier: Apache-2.0
"""Helpers of the command's tests: they run it, and make claims that end the test with what was seen."""
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time

TOOL = sys.argv[1]


def own_environment():
    """Variables of a surrounding job are not the command's business."""
    return {k: v for k, v in os.environ.items() if not k.startswith(("CASYNC_", "OMPI_", "PMI", "SLURM_"))}


def casync(*arguments, env=None, timeout=60, cwd=None, file_bytes=None):
    """Runs the command to its end. No file that it writes gets longer than `file_bytes`, as if the disk were full."""
    def fill_disk():
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # writing fails instead
    return subprocess.run(
        [TOOL, *map(str, arguments)], capture_output=True, text=True, timeout=timeout, cwd=cwd,
        env={**own_environment(), **(env or {})}, preexec_fn=None if file_bytes is None else fill_disk
    )


def claim(holds, what, *seen):
    if not holds:
        print("NOT TRUE:", what, *seen, sep="\n  ")
        sys.exit(1)


def ends_with(code, result, what):
    claim(result.returncode == code, what, f"exit code {result.returncode}, expected {code}", result.stdout,
          result.stderr)


def temporary_folder():
    return tempfile.TemporaryDirectory(prefix="casync-test-")


def until(condition, seconds, what):
    """Waits for something that has to become true; generous, because the machine may be busy."""
    end = time.monotonic() + seconds
    while not condition():
        claim(time.monotonic() < end, f"{what} (within {seconds} s)")
        time.sleep(0.01)


def is_alive(pid):
    """A zombie is not alive: it only waits for its parent to ask."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def run_all(tests):
    """Each function of the test file that is called test_..., in order; the name is the claim. Prints how long each took.
    One that cannot run on this machine returns the reason."""
    for name, test in list(tests.items()):
        if name.startswith("test_"):
            begin = time.monotonic()
            reason = test()
            how = f"[SKIP] {reason}:" if reason else "ok"
            print(how, name[5:].replace("_", " "), f"({time.monotonic() - begin:.1f} s)")
