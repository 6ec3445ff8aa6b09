# SPDX-License-Identifier: Apache-2.0
"""casync report --profile of local SGD: known rounds, and rounds that ran."""
import json
import os
import shutil
from pathlib import Path

from command import casync, claim, ends_with, run_all, temporary_folder
from planner_files import Files
from traces import MODE, MODEL, PROFILE, STEPS, near, rounds, trace, write


def compared(*traces):
    with temporary_folder() as folder:
        (Path(folder) / "profile.txtpb").write_text(PROFILE % "")
        (Path(folder) / "model.txtpb").write_text(MODEL)
        return casync("report", write(folder, *traces), "--profile", f"{folder}/profile.txtpb", "--json")


def prediction_of(*traces):
    result = compared(*traces)
    ends_with(0, result, "report --profile")
    return json.loads(result.stdout)["prediction"]


def test_a_step_is_measured_in_the_mean_of_whole_rounds_without_the_first():
    seen = prediction_of(rounds(0), rounds(1))
    measured = {term["name"]: term["measured_ms"] for term in seen["terms"]}
    # Rounds of 5 and 7 ms a step. Each exchange has the tasks of one step of trace(): half of them a step.
    expected = {"step": 6, "encode": 0.075, "merge": 0.15, "decode": 0.0375, "send": 1.125, "recv": 1.125, "exposed": 0}
    claim(list(measured) == list(expected), "the terms", measured)
    claim(all(near(measured[name], expected[name]) for name in expected), "of a step", measured)
    claim(near(seen["gradients"][0]["measured_ms"], 7.5), "of a gradient's exchange", seen["gradients"])


def test_a_step_is_predicted_with_a_part_of_one_exchange():
    every_step, local = prediction_of(trace(0), trace(1)), prediction_of(rounds(0), rounds(1))
    each, round_of_two = ({term["name"]: term["predicted_ms"] for term in one["terms"]} for one in (every_step, local))
    claim(each["step"] > 6.5, "the exchange, behind passes of 6 ms", each)
    claim(near(round_of_two["step"] - 6, (each["step"] - 6) / 2), "half of an exchange", each, round_of_two)
    for name in ("encode", "merge", "decode", "send", "recv", "exposed"):
        claim(near(round_of_two[name], each[name] / 2), name, each, round_of_two)
    claim(near(local["gradients"][0]["predicted_ms"], every_step["gradients"][0]["predicted_ms"]), "a whole exchange",
          local["gradients"], every_step["gradients"])


def test_one_whole_round_is_too_few():
    result = compared(rounds(0, STEPS[:4]), rounds(1, STEPS[:4]))
    ends_with(3, result, "one round and a half")
    claim("expected at least two whole rounds of " + MODE in result.stderr, "how many are needed", result.stderr)


def test_a_run_is_compared_with_the_prediction_for_its_plan():
    with temporary_folder() as folder:
        files, run = Files(folder), os.path.join(folder, "run")
        with open(files.plan, "w") as file:
            file.write('version: 1\nlocal_sgd { every: 4 from_step: 2 }\ndefault { codec { name: "int8" } }\n')
        ran = casync("bench", "step", "-r", "2", "--model", files.model, "--plan", files.plan, "--seconds", "0.2",
                     env={"CASYNC_TRACE": run})
        ends_with(0, ran, "a run")
        without = casync("report", run, "--profile", files.profile)
        ends_with(3, without, "no model beside the traces")
        claim("CASYNC_RECORD" in without.stderr and "copy that of a run without it" in without.stderr, "how to get one",
              without.stderr)
        shutil.copy(files.model, os.path.join(run, "model.txtpb"))
        result = casync("report", run, "--profile", files.profile, "--json")
        ends_with(0, result, "report --profile")
        seen = json.loads(result.stdout)["prediction"]
        terms = {term["name"]: term for term in seen["terms"]}
        claim(all(term["measured_ms"] > 0 for term in terms.values()), "all were measured", terms)
        claim(terms["step"]["measured_ms"] >= 14.5, "training takes 15 ms", terms)
        simulated = casync("simulate", *files.inputs, "--plan", files.plan, "-n", 2, "--nodes", 1, "--json")
        ends_with(0, simulated, "simulate")
        plan = json.loads(simulated.stdout)
        claim(abs(terms["step"]["predicted_ms"] / plan["step_ms"] - 1) < 1e-6, "as the plan's", terms, plan["step_ms"])
        again = casync("plan", "--from-run", run, "--profile", files.profile)
        ends_with(3, again, "plan --from-run")
        claim("local_sgd { every: 4 from_step: 2 }" in again.stderr and "--local-sgd" in again.stderr,
              "differences are no gradients", again.stderr)


run_all(globals())
