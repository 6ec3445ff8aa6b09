# SPDX-License-Identifier: Apache-2.0
"""Results of ranks that a benchmark starts: dicts that rank 0 prints, a line each."""

import json
import subprocess

_MARK = "RESULT "


def give(result):
    """Prints a result, on rank 0."""
    print(_MARK + json.dumps(result), flush=True)


def of(output):
    """The results in what rank 0 has printed."""
    return [json.loads(line.removeprefix(_MARK)) for line in output.splitlines() if line.startswith(_MARK)]


def of_ranks(commands, timeout, what):
    """Runs (command, variables) of each rank together. Ends the program, with `what` in its words, if one fails or takes
    more than `timeout` seconds."""
    processes = [
        subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, text=True) for command, variables in commands
    ]
    try:
        outputs = [process.communicate(timeout=timeout)[0] for process in processes]
    except subprocess.TimeoutExpired:
        raise SystemExit(f"{what}: no result in {timeout:g} s") from None
    finally:
        for process in processes:
            process.kill()
    if any(process.returncode for process in processes):
        raise SystemExit(f"{what}: a rank failed")
    return of(outputs[0])
