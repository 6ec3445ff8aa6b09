# SPDX-License-Identifier: Apache-2.0
"""Predictions of the ways that planned.py measures: training that shares its processors with codecs and messages.

    python tests/bench/ddp_step/predicted.py build/release FOLDER        # of the settings that planned.py --keep has kept
    python tests/bench/ddp_step/predicted.py build/release tests/bench/ddp_step/data/shared_processors.tar.xz
"""

import argparse
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "prediction"))
import score  # noqa: E402

# Two hosts of one processor each: four models, 2 and 4 ranks, 10 Gb/s, unshaped and 1 Gb/s.
DATA = pathlib.Path(__file__).resolve().parent / "data"
KEPT = DATA / "shared_processors.tar.xz"
# Those of 4 ranks on another day, on a quicker machine, with longer recordings.
AGAIN = DATA / "four_ranks_again.tar.xz"
# A link of 100 Mb/s: of `mlp24` only 4 ranks.
SLOW = DATA / "slow_link.tar.xz"
OTHERS = ("no-op", "ddp", "plan")  # ways that are not predicted: `plan` is one of those that are


def keep(folder, tuned, where, times):
    """Copies what predictions need to a folder of its own: profile, recorded model, the planner's plan, and the times
    of each way's turns in milliseconds. `where`: model, ranks, nodes, link."""
    setting = folder / "-".join(map(str, where.values()))
    setting.mkdir(parents=True, exist_ok=True)
    for name in ("profile.txtpb", "planned.txtpb", "record/model.txtpb"):
        shutil.copy(tuned / name, setting)
    (setting / "times.json").write_text(json.dumps({**where, "turns_ms": times}) + "\n")
    return setting


def simulate(casync, setting, plan, where):
    """A step of the recorded training."""
    command = [casync, "simulate", "--json", "--profile", str(setting / "profile.txtpb")]
    command += ["--model", str(setting / "model.txtpb"), "--plan", str(plan)]
    command += ["-n", str(where["ranks"]), "--nodes", str(where["nodes"]), "--steps", "3"]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def plan_of(way, setting):
    """The file of the planner's plan, or of one with a codec for all gradients."""
    if way == "planned":
        return setting / "planned.txtpb"
    path = setting / f"only_{way}.txtpb"
    path.write_text(f'version: 1\ndefault {{ codec {{ name: "{way}" }} }}\n')
    return path


def rows_of(casync, setting):
    """A row for score.py of each way that was measured twice and more: what was given up early may have been disturbed.

    The training alone is that of the way `no-op`.
    """
    where = json.loads((setting / "times.json").read_text())
    times = where.pop("turns_ms")
    rows = []
    for way in (way for way in times if way not in OTHERS and len(times[way]) > 1):
        step = simulate(casync, setting, plan_of(way, setting), where)
        row = {**where, "plan": way, "step_median_ms": statistics.median(times[way])}
        row |= {"training_ms": statistics.median(times["no-op"]), "predicted_ms": step["step_ms"]}
        rows.append({**row, "payload_bytes": step["wire_bytes_per_rank"]})
    return rows


def rows_of_all(casync, kept):
    """The rows of a folder of settings, or of an archive of one."""
    if kept.is_dir():
        settings = sorted(path.parent for path in kept.glob("*/times.json"))
        return [row for setting in settings for row in rows_of(casync, setting)]
    with tempfile.TemporaryDirectory() as name:
        with tarfile.open(kept) as archive:
            archive.extractall(name)
        return rows_of_all(casync, pathlib.Path(name))


def lines(rows, each=False):
    return score.lines(rows, each) if rows else []


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path, help="build folder with bin/casync")
    parser.add_argument("kept", type=pathlib.Path, help="a folder of settings, or an archive of one")
    parser.add_argument("--rows", action="store_true", help="print each setting, too")
    options = parser.parse_args()
    rows = rows_of_all(str(options.build / "bin/casync"), options.kept)
    print(*lines(rows, options.rows), sep="\n")


if __name__ == "__main__":
    main()
