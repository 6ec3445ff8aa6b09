#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Predicted and measured steps: codecs, strategies, models, ranks and links, on two hosts of one processor each.

    sudo python3 tests/bench/prediction/run.py build/release --measure     half an hour on an idle machine
    python3 tests/bench/prediction/run.py build/release                    predicts again, and compares

Each host is a network namespace whose ranks share one processor; tbf shapes the link between them. `casync profile` runs
among the same ranks, `casync bench step` measures, `casync simulate` predicts. Measurements are in data/ next to this
file, so that predicting again needs neither root nor time. Exit code 1: a bound of score.py is not kept.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "ddp_step"))
import network  # noqa: E402
import score  # noqa: E402
import settings  # noqa: E402

DATA = HERE / "data"
RESULTS = DATA / "measured.jsonl"


def host_of(rank, ranks):
    return rank * 2 // ranks


def start(rank, ranks, folder, command):
    """One rank on its host's processor."""
    host = host_of(rank, ranks)
    environment = {
        **os.environ,
        "CASYNC_RANK": str(rank),
        "CASYNC_SIZE": str(ranks),
        "CASYNC_LOCAL_RANK": str(rank),
        "CASYNC_LOCAL_SIZE": str(ranks),
        "CASYNC_RENDEZVOUS": f"file:{folder}",
        "CASYNC_NODE": f"host{host}",
        "CASYNC_INTERFACE": network.DEVICE,
        # UCX asks for the machine, not for the namespace: shared memory would go around the link.
        "UCX_TLS": "tcp,self",
    }
    own = ["ip", "netns", "exec", network.NAMES[host], "taskset", "-c", str(host), *command]
    return subprocess.Popen(own, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run_ranks(ranks, command, timeout):
    """Rank 0's output."""
    with tempfile.TemporaryDirectory() as folder:
        return network.outputs([start(rank, ranks, folder, command) for rank in range(ranks)], timeout)[0]


def profile_path(link, ranks):
    return DATA / f"profile_{link}_{ranks}.txtpb"


def measure_profile(casync, link, ranks):
    command = [casync, "profile", "--quick", "--inside", "ucx:tcp", "--between", "ucx:tcp"]
    command += ["--codecs", ",".join(settings.CODECS), "-o", str(profile_path(link, ranks))]
    print(f"# profile: {link}, {ranks} ranks", file=sys.stderr, flush=True)
    run_ranks(ranks, command, 600)


def measure(casync, folder, link, ranks, model, seconds):
    """A row for each plan, measured one after the other by the same processes."""
    plans = settings.plans_of(link, ranks)
    command = [casync, "bench", "step", "--model", str(folder / f"{model}.txtpb"), "--seconds", str(seconds)]
    command += ["--transport", "ucx:tcp", "-w", "1", "--json"]
    for plan in plans:
        command += ["--plan", str(folder / f"{plan}.txtpb")]
    table = json.loads(run_ranks(ranks, command, 900))
    for plan, row in zip(plans, table["rows"]):
        kept = {key: round(row[key], 4) for key in ("step_median_ms", "step_min_ms", "processor_ms", "payload_bytes")}
        yield {"link": link, "ranks": ranks, "model": model, "plan": plan, "steps": row["steps"], **kept}


def write_files(folder):
    for name in settings.MODELS:
        (folder / f"{name}.txtpb").write_text(settings.model_text(name))
    for name in settings.PLANS:
        (folder / f"{name}.txtpb").write_text(settings.plan_text(name))


def measure_all(casync, options):
    DATA.mkdir(exist_ok=True)
    rows = []
    with network.two_hosts(), tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_files(folder)
        for link in options.links:
            network.shape(link)
            for ranks in options.ranks:
                measure_profile(casync, link, ranks)
                for model in options.models:
                    for row in measure(casync, folder, link, ranks, model, options.seconds):
                        print(json.dumps(row), file=sys.stderr, flush=True)
                        rows.append(row)
                keep(rows)  # beside their profile, which is new already


def keep(rows):
    kept = [row for row in known() if not any(same(row, new) for new in rows)]
    RESULTS.write_text("".join(json.dumps(row) + "\n" for row in kept + rows))


def same(row, other):
    return all(row[key] == other[key] for key in ("link", "ranks", "model", "plan"))


def known():
    if not RESULTS.exists():
        return []
    return [json.loads(line) for line in RESULTS.read_text().splitlines()]


def profile_beside_no_computing(folder, row):
    """The profile without what computing costs that shares the processors: in these steps computing is waiting."""
    path = folder / profile_path(row["link"], row["ranks"]).name
    if not path.exists():
        lines = profile_path(row["link"], row["ranks"]).read_text().splitlines(keepends=True)
        path.write_text("".join(line for line in lines if not line.startswith("contended ")))
    return path


def predict(casync, folder, row):
    command = [casync, "simulate", "--json", "--profile", str(profile_beside_no_computing(folder, row))]
    command += ["--model", str(folder / f"{row['model']}.txtpb"), "--plan", str(folder / f"{row['plan']}.txtpb")]
    # The hosts' ranks, as start() places them.
    command += ["-n", str(row["ranks"]), "--nodes", "2"]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(output)["step_ms"]


def with_prediction(casync, folder, row):
    _, backward, forward = settings.MODELS[row["model"]]
    return {**row, "training_ms": 1e3 * (backward + forward), "predicted_ms": predict(casync, folder, row)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path, help="build folder with bin/casync")
    parser.add_argument("--measure", action="store_true", help="anew, as root")
    parser.add_argument("--links", nargs="+", default=settings.LINKS, choices=settings.LINKS)
    parser.add_argument("--ranks", nargs="+", type=int, default=settings.RANKS, choices=settings.RANKS)
    parser.add_argument("--models", nargs="+", default=list(settings.MODELS), choices=list(settings.MODELS))
    parser.add_argument("--seconds", type=float, default=1.0, help="measured for each plan, and at least five steps")
    parser.add_argument("--rows", action="store_true", help="print every setting")
    options = parser.parse_args()
    casync = str((options.build / "bin/casync").resolve())
    if options.measure:
        measure_all(casync, options)
    with tempfile.TemporaryDirectory() as name:
        write_files(pathlib.Path(name))
        rows = [with_prediction(casync, pathlib.Path(name), row) for row in known()]
    print("\n".join(score.lines(rows, options.rows)))
    complaints = score.complaints(rows)
    print("\n".join(complaints), file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
