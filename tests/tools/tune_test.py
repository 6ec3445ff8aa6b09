# SPDX-License-Identifier: Apache-2.0
"""casync tune: from a training program to a plan, a report and measured times, in one call."""
import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

from command import casync, claim, ends_with, run_all, temporary_folder

PROFILE = Path(__file__).resolve().parents[2] / "examples/profiles/cpu_2_cores_1gbit.txtpb"
PROGRAM = """
import sys, casync, numpy
with casync.Session({arguments}) as session:
    gradients = [(session.declare(f"layer{{i}}.weight", (256, 256)), numpy.ones((256, 256), "float32")) for i in range(4)]
    for step in range(1000):
        {body}
        for at, (identity, gradient) in enumerate(gradients):
            gradient[:] = numpy.random.default_rng(97 * step + 10 * session.rank + at).standard_normal((256, 256))
        handles = [session.submit(identity, gradient) for identity, gradient in gradients]
        for handle in handles:
            handle.wait()
        session.step()
"""


def tune(folder, *options, arguments="", body=""):
    program = Path(folder) / "train.py"
    program.write_text(PROGRAM.format(arguments=arguments, body=body))
    return casync("tune", "-n", "2", "--steps", "6", "--profile", PROFILE, "--codecs", "int4", "-o",
                  Path(folder) / "tuned", *options, "--", sys.executable, program, timeout=200)


def test_a_program_that_closes_its_output_and_does_not_end_is_ended_at_the_limit():
    with temporary_folder() as folder:
        begin = time.monotonic()
        result = tune(folder, "--timeout", "4", body="import os, time; os.close(1); os.close(2); time.sleep(1000)")
        claim(result.returncode != 0, "it fails", result.stderr)
        claim("did not end within 4 s" in result.stderr, "with the limit", result.stderr)
        claim(time.monotonic() - begin < 60, "and soon", time.monotonic() - begin)


def test_one_call_measures_plans_and_measures_again():
    with temporary_folder() as folder:
        first = tune(folder, "--json")
        ends_with(0, first, "tune")
        result = json.loads(first.stdout)
        ways = {way["name"]: way for way in result["ways"]}
        claim(list(ways) == ["uncompressed", "plan", "int4"], "three ways, in order", list(ways))
        claim(all(way["step_ms"] > 0 for way in ways.values()), "each was measured", ways)
        claim(ways["uncompressed"]["payload_bytes_per_rank_step"] == 4 * 256 * 256 * 4, "ps sends each half twice", ways)
        claim(ways["int4"]["payload_bytes_per_rank_step"] < ways["uncompressed"]["payload_bytes_per_rank_step"] / 7,
              "and int4 an eighth", ways)
        claim(ways["uncompressed"]["error"] == 0 and 0.005 < ways["int4"]["error"] < 0.05, "errors of Gaussian values",
              ways)
        planned = (Path(folder) / "tuned/planned.txtpb").read_text()
        claim("version: 1" in planned, "the planner's plan is left", planned)
        claim("<html" in Path(result["report"]).read_text(), "and a report")
        claim("3 of 5: plan" in first.stderr, "progress says how far it is", first.stderr)
        claim(all(way["steps"] >= 1 for way in ways.values()), "all have trainings", ways)
        is_chosen_by_its_cost(result, planned)
        model = Path(folder) / "tuned/record/model.txtpb"
        end = re.search("backward_seconds: ([^ \n]+)", model.read_text()).group(1)
        late = re.sub("ready_seconds: [^ ]+", f"ready_seconds: {end}", model.read_text())
        equal = re.sub(r"slow \{[^}]*\}", "", late)  # whatever a busy machine made of the ranks
        model.write_text(equal + "slow { rank: 1 factor: 1.5 }\n")
        again = tune(folder, "--json")
        ends_with(0, again, "tune again")
        phases = re.findall(r"casync tune: \d+ of \d+: ", first.stderr)
        claim("4 of 4 gradients are ready only when the backward pass ends" in again.stderr, "nothing overlaps", again.stderr)
        claim("rank 1 computes 1.5 times as long as the others: the step waits for it" in again.stderr, "unequal ranks",
              again.stderr)
        claim(again.stderr.count("kept from an earlier call") == len(phases), "nothing is measured twice", again.stderr)
        claim(json.loads(again.stdout) == result, "the same result")
        other = tune(folder, "--json", "--goal", "step")
        ends_with(0, other, "tune for another goal")
        claim("kept" not in other.stderr, "another goal starts anew", other.stderr)
        steps = {way["name"]: way["step_ms"] for way in json.loads(other.stdout)["ways"]}
        claim(steps[json.loads(other.stdout)["chosen"]] <= 1.03 * min(steps.values()), "a fast way", other.stdout)


def is_chosen_by_its_cost(result, planned):
    """The plan to use is that of the way with the least time to the same loss, unless a simpler one is as good."""
    costs = {way["name"]: way["step_ms"] * way["steps"] for way in result["ways"]}
    least = min(costs, key=costs.get)
    expected = next(way for way in ("uncompressed", "plan", least) if costs[way] <= 1.03 * costs[least])
    claim(result["chosen"] == expected, f"{expected} is chosen", result)
    text = Path(result["plan"]).read_text()
    if expected == "plan":
        claim(text == planned, "the planner's plan", text)
    elif expected == "int4":
        claim('name: "int4"' in text, "one codec for all gradients", text)
    else:
        claim('name: "int' not in text and "does not pay" in text, "no compression, and why", text)


def test_a_failing_program_is_named_with_its_rank_and_last_words():
    with temporary_folder() as folder:
        result = tune(folder, body='session.rank == 1 and step == 2 and sys.exit("out of cheese")')
        claim(result.returncode != 0, "tune fails", result.stdout)
        claim("training, uncompressed" in result.stderr and "rank" in result.stderr, "phase and rank", result.stderr)
        claim("out of cheese" in "".join(log.read_text() for log in (Path(folder) / "tuned").glob("*.log")), "in a log")


def test_a_program_that_names_its_codec_is_refused():
    with temporary_folder() as folder:
        result = tune(folder, arguments='codec="int8"')
        ends_with(3, result, "tune")
        claim("the program names its codec or plan itself" in result.stderr, "with what to do", result.stderr)


def test_ranks_of_mpirun_that_meet_by_pmix():
    """Such a job has no address of its own that the phases' processes could meet at."""
    if not shutil.which("mpirun"):
        return
    with temporary_folder() as folder:
        program = Path(folder) / "train.py"
        program.write_text(PROGRAM.format(arguments="", body=""))
        command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", "-x", "CASYNC_RENDEZVOUS=pmix"]
        command += [sys.argv[1], "tune", "--steps", "6", "--profile", PROFILE, "--codecs", "int4"]
        command += ["-o", Path(folder) / "tuned", "--", sys.executable, program]
        ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=200)
        ends_with(0, ended, "tune")
        claim("Use it: CASYNC_PLAN=" in ended.stdout, "a plan to use", ended.stdout)


def test_folders_that_an_earlier_job_has_left_where_the_ranks_meet():
    """Open MPI gives a job's number, by which its ranks meet, to a later job, too."""
    with temporary_folder() as folder:
        for phase in range(1, 10):
            (Path(folder) / f"tune{phase}").mkdir(mode=0o700)
        job = ["run", "-n", "2", "--rendezvous", f"file:{folder}", "--", sys.argv[1], "tune", "--steps", "6"]
        ended = casync(*job, "-o", Path(folder) / "tuned", "--", sys.executable, "-c", "import sys; sys.exit(5)")
        claim("ended with exit code 5" in ended.stderr, "the program was started", ended.stderr)


def test_usage():
    for command in (["tune", "-n", "2"], ["tune", "--", "true"], ["tune", "-n", "1", "--", "true"],
                    ["tune", "-n", "2", "--steps", "2", "--", "true"]):
        ends_with(2, casync(*command), f"casync {command}")


run_all(globals())
