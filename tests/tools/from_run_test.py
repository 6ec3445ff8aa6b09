# SPDX-License-Identifier: Apache-2.0
"""A run next to its prediction: casync report, and casync plan --from-run."""
import json
import os

from command import casync, claim, ends_with, run_all, temporary_folder
from planner_files import SIGNS, Files, write_gradients


def test_a_run_is_compared_with_its_prediction_and_planned_anew():
    with temporary_folder() as folder:
        files, run = Files(folder), os.path.join(folder, "run")
        plan = os.path.join(folder, "plan.txtpb")
        with open(plan, "w") as file:
            file.write('version: 1\ndefault { codec { name: "int8" } partitions: 2 }\n')
        step = ["bench", "step", "-r", "2", "--model", files.model, "--plan", plan, "--seconds", "0.2"]
        environment = {"CASYNC_TRACE": run, "CASYNC_RECORD": run}
        ends_with(0, casync(*step, env=environment), "a run")

        report = casync("report", run, "--profile", files.profile, "--json")
        ends_with(0, report, "report --profile")
        prediction = json.loads(report.stdout)["prediction"]
        terms = {term["name"]: term for term in prediction["terms"]}
        claim(list(terms) == ["step", "encode", "merge", "decode", "send", "recv", "messages", "exposed"],
              "the terms of a step", prediction)
        claim(all(term["measured_ms"] > 0 for term in terms.values()), "all were measured", terms)
        claim(0 < prediction["int4_step_ms"] < prediction["plain_step_ms"], "four bits on 1e8 bytes a second", prediction)
        claim(terms["step"]["measured_ms"] >= 14.5, "training takes 15 ms", terms)
        claim({one["name"] for one in prediction["gradients"]} == {"large.weight", "first.weight", "first.bias"},
              "and every gradient", prediction)
        claim("the step takes" in casync("report", run, "--profile", files.profile).stdout, "in words")
        claim(prediction["to_blame"] in terms, "which term is to blame", prediction)
        with open(os.path.join(run, "report.html")) as file:
            page = file.read()
        shown = json.loads(page.split('id="numbers">')[1].split("</script>")[0])
        claim(set(shown["prediction"]) == set(prediction) and len(shown["prediction"]["gradients"]) == 3,
              "the page has it, too", shown.get("prediction"))
        claim('id="prediction"' in page and "show_prediction();" in page and "'Predicted ms'" in page, "and draws it")

        again = casync("plan", "--from-run", run, "--profile", files.profile, "--codecs", "int8", "--entries")
        ends_with(0, again, "plan --from-run")
        claim('gradient { name: "large.weight"' in again.stdout and "world { ranks: 2 nodes: 1" in again.stdout,
              "a plan for what ran", again.stdout)
        claim("links' times x" in again.stderr, "what was changed is said", again.stderr)
        claim("processor time" not in again.stderr, "of messages the profile says nothing", again.stderr)
        with open(files.profile, "a") as file:
            file.write("inside { bytes_per_second: 1e8 send_work { point { size: 1 seconds: 1e-6 } } "
                       "receive_work { point { size: 1 seconds: 1e-6 } } }\n")
        beside = json.loads(casync("report", run, "--profile", files.profile, "--json").stdout)["prediction"]
        messages = next(term for term in beside["terms"] if term["name"] == "messages")
        claim(messages["measured_ms"] > 0 and messages["predicted_ms"] > 0, "now it does", messages)
        anew = casync("plan", "--from-run", run, "--profile", files.profile, "--codecs", "int8")
        ends_with(0, anew, "plan --from-run")
        claim("processor time of messages and tasks x " in anew.stderr, "and is corrected", anew.stderr)
        samples = os.path.join(run, "gradients.safetensors")
        claim("; loses " in again.stdout and "sample" not in again.stderr, "what the run recorded is measured",
              again.stdout, again.stderr)
        with open(samples, "r+b") as file:
            file.truncate(20)
        broken = casync("plan", "--from-run", run, "--profile", files.profile)
        ends_with(3, broken, "samples that were cut off")
        claim(f"{samples}: cut off" in broken.stderr, "named", broken.stderr)
        os.remove(samples)
        os.symlink(samples, samples)
        looped = casync("plan", "--from-run", run, "--profile", files.profile)
        ends_with(3, looped, "samples that cannot be looked at")
        claim(f"{samples}: " in looped.stderr and "symbolic link" in looped.stderr, "why", looped.stderr)
        other = write_gradients(os.path.join(folder, "other"), large_weight=SIGNS)
        ends_with(0, casync("plan", "--from-run", run, "--profile", files.profile, "--gradients", other), "others instead")

        both = casync("plan", "--from-run", run, "--profile", files.profile, "--model", files.model)
        ends_with(2, both, "a run has its model")
        two = casync(*step, "--plan", plan, env=environment)
        ends_with(3, two, "traces of two plans")
        os.remove(os.path.join(run, "model.txtpb"))
        lost = casync("report", run, "--profile", files.profile)
        ends_with(3, lost, "no model beside the traces")
        claim("CASYNC_RECORD=" in lost.stderr, "how to get one", lost.stderr)


def test_a_run_with_groups_is_planned_anew_by_its_gradients():
    with temporary_folder() as folder:
        files, run = Files(folder), os.path.join(folder, "run")
        with open(files.plan, "w") as file:
            file.write('version: 1\ngroup { name: "all" gradient: "large.weight" gradient: "first.bias" }\n')
        step = ["bench", "step", "-r", "2", "--model", files.model, "--plan", files.plan, "--seconds", "0.2"]
        ends_with(0, casync(*step, env={"CASYNC_TRACE": run, "CASYNC_RECORD": run}), "a run")
        with open(os.path.join(run, "model.txtpb")) as file:
            model = file.read()
        names = ("large.weight", "first.weight", "first.bias")
        claim(all(f'name: "{name}"' in model for name in names) and '"all"' not in model, "gradients, no group", model)
        report = casync("report", run, "--profile", files.profile, "--json")
        ends_with(0, report, "report --profile")
        compared = {one["name"] for one in json.loads(report.stdout)["prediction"]["gradients"]}
        claim(compared == {"all", "first.weight"}, "what was sent is compared", compared)
        again = casync("plan", "--from-run", run, "--profile", files.profile, "--codecs", "int8", "--entries")
        ends_with(0, again, "plan --from-run")
        claim(all(f'gradient {{ name: "{name}"' in again.stdout for name in names) and "group" not in again.stdout,
              "a plan for the gradients", again.stdout)


run_all(globals())
