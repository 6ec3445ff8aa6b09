# SPDX-License-Identifier: Apache-2.0
"""casync plan --goal loss: steps to the same loss, by the trainings of tests/bench/loss."""
import json
import math
import os
import re
import statistics
import subprocess
import sys

from command import casync, claim, ends_with, run_all, temporary_folder
from planner_files import Files

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
LOSSES = os.path.join(ROOT, "tests/bench/loss")


def trainings():
    with open(os.path.join(LOSSES, "results.jsonl")) as file:
        return [json.loads(line) for line in file]


def increases(row, optimizer):
    """Percent over `none` of the same seed, after 600 steps."""
    by_seed = {(one["row"], one["seed"]): one["loss"] for one in trainings()
               if one["optimizer"] == optimizer and one["steps"] == 600}
    seeds = sorted(seed for name, seed in by_seed if name == row and ("none", seed) in by_seed)
    return [100 * (by_seed[row, seed] / by_seed["none", seed] - 1) for seed in seeds]


def exponent(optimizer):
    """By sums of squares: how steeply log(loss) falls with log(steps) without compression."""
    points = [(math.log(one["steps"]), math.log(one["loss"])) for one in trainings()
              if one["row"] == "none" and one["optimizer"] == optimizer]
    x, y = statistics.mean(p[0] for p in points), statistics.mean(p[1] for p in points)
    squares = sum((p[0] - x) ** 2 for p in points)
    return -sum((p[0] - x) * (p[1] - y) for p in points) / squares


def expected_steps(row):
    """As docs/planner.md says it: increases of two standard errors count, and the optimizer with more steps."""
    most = 1
    for optimizer in ("adamw", "sgd"):
        values = increases(row, optimizer)
        if statistics.mean(values) >= 2 * statistics.stdev(values) / math.sqrt(len(values)):
            most = max(most, (1 + statistics.mean(values) / 100) ** (1 / exponent(optimizer)))
    return most


def test_the_table_is_that_of_the_trainings():
    made = subprocess.run([sys.executable, os.path.join(LOSSES, "export.py")], capture_output=True, text=True)
    claim(made.returncode == 0, "export.py", made.stderr)
    with open(os.path.join(ROOT, "casync/planner/loss_rows.inc")) as file:
        claim(file.read() == made.stdout, "loss_rows.inc is what export.py writes: run it again", made.stdout)


def test_a_training_that_diverges_is_a_complaint():
    sys.path.insert(0, LOSSES)
    import table
    def complaints(row, loss):
        known = [("none", 2.0), (row, loss)]
        return table.complaints([{"row": name, "optimizer": "sgd", "seed": 0, "loss": value} for name, value in known])
    claim(complaints("int8", 2.0) == [] and len(complaints("int8", 2.1)) == 1, "a bound of half a percent")
    claim(len(complaints("int8", math.nan)) == 1, "no number is within it", complaints("int8", math.nan))
    claim(len(complaints("topk:feedback=0", math.nan)) == 1, "nor is it a loss that a negative control has")


def test_steps_to_the_same_loss_follow_from_the_trainings():
    with temporary_folder() as folder:
        files = Files(folder)
        for codec in ("int8", "int4", "int2", "onebit", "terngrad"):
            made = casync("plan", *files.inputs, "-n", 4, "--codecs", codec, "--json")
            ends_with(0, made, f"plan --codecs {codec}")
            compared = {one["name"]: one["steps"] for one in json.loads(made.stdout)["compared"]}
            # The bias of 100 elements stays uncompressed.
            expected = 1 + (expected_steps(codec) - 1) * 1100000 / 1100100
            claim(abs(compared[codec + ", ps"] - expected) < 0.02 * expected, codec, compared, expected)
            claim(compared["plain, ps"] == 1, "nothing compressed: as many steps", compared)


def test_four_bits_are_preferred_where_one_bit_needs_more_steps_than_it_saves():
    with temporary_folder() as folder:
        files = Files(folder)
        goals = {}
        for goal in ("loss", "step"):
            made = casync("plan", *files.inputs, "-n", 4, "--codecs", "onebit,int4", "--goal", goal, "--json")
            ends_with(0, made, f"plan --goal {goal}")
            goals[goal] = json.loads(made.stdout)
        decisions = {goal: " ".join(one["decision"] for one in found["gradients"]) for goal, found in goals.items()}
        claim("onebit" not in decisions["loss"] and "int4" in decisions["loss"], "few steps", decisions)
        claim("onebit" in decisions["step"], "the least time of a step", decisions)
        claim(goals["step"]["step_ms"] < goals["loss"]["step_ms"], "which is shorter", goals)
        claim("needs" in goals["loss"]["plan"] and "times as many steps" in goals["loss"]["plan"], "and it is said",
              goals["loss"]["plan"])
        claim("times as many steps" not in goals["step"]["plan"], "of no interest there", goals["step"]["plan"])
        default = casync("plan", *files.inputs, "-n", 4, "--codecs", "onebit,int4", "--json")
        claim(json.loads(default.stdout) == goals["loss"], "loss is the default", default.stdout)


def test_codecs_that_need_many_more_steps_are_left_out_unless_asked_for():
    with temporary_folder() as folder:
        files = Files(folder, "1e6")  # so slow that bytes are all that counts
        made = json.loads(casync("plan", *files.inputs, "-n", 4, "--json").stdout)
        claim(1 <= made["steps"] <= 1.2, "at most 1.2 times the steps", made["steps"])
        claim(all(other["steps"] <= 1.2 for other in made["compared"]), "of what it is compared with, too", made["compared"])
        more = json.loads(casync("plan", *files.inputs, "-n", 4, "--most-steps", 5, "--json").stdout)
        claim(more["steps"] > 1.2 and more["steps"] * more["step_ms"] < made["steps"] * made["step_ms"], "they win here",
              more["steps"], made["steps"])
        ends_with(2, casync("plan", *files.inputs, "-n", 4, "--goal", "both"), "an unknown goal")


def test_explain_agrees_with_plan_and_says_where_compression_pays():
    with temporary_folder() as folder:
        files = Files(folder)
        first = casync("plan", *files.inputs, "-n", 4).stdout.splitlines()[0][2:]
        text = casync("explain", *files.inputs, "-n", 4).stdout
        claim(text.splitlines()[1] == first, "to the digit", text, first)
        claim("the program waits for gradients: " in text, "why", text)
        limit = re.search("the slowest link has (\\S+) Mb/s; compression stops paying above (\\S+) Gb/s", text)
        claim(limit and float(limit[1]) == 800, "here, and from where on not", text)
        step = json.loads(casync("explain", *files.inputs, "-n", 4, "--json").stdout)["step"]
        below = step["pays_below_bytes_per_second"]
        for factor, compresses in ((0.8, True), (1.25, False)):
            other = Files(folder, str(below * factor))
            made = json.loads(casync("plan", *other.inputs, "-n", 4, "--json").stdout)
            claim((made["gain"] / made["steps"] > 1.01) == compresses, "as plan says there", factor, made["gain"])


def mode_text(every, staleness):
    return f"local_sgd {{ every: {every} }}" if every else f"staleness: {staleness}"


def trained_modes():
    """Lines of the planner's table that are about modes."""
    with open(os.path.join(ROOT, "casync/planner/loss_rows.inc")) as file:
        return [line for line in file if line.startswith("CASYNC_LOSS_MODE(")]


def test_modes_are_proposed_and_taken_only_if_they_are_allowed():
    rows = {mode_text(every, 0): f"none, local SGD of {every} steps" for every in (2, 4, 8)}
    rows |= {mode_text(0, late): f"none, {late} step{'s' if late > 1 else ''} late" for late in (1, 2)}
    with temporary_folder() as folder:
        files = Files(folder, "1e7")  # an exchange takes longer than the training
        inputs = ["plan", *files.inputs, "-n", 4, "--codecs", "int8"]
        made = casync(*inputs, "--json")
        ends_with(0, made, "plan")
        bulk = json.loads(made.stdout)
        if not trained_modes():
            allowed = casync(*inputs, "--allow-modes", "--json")
            ends_with(0, allowed, "plan --allow-modes")
            claim(json.loads(allowed.stdout) == bulk and bulk["modes"] == [], "nothing to weigh a mode by", allowed.stdout)
            claim("--allow-modes: no training has measured" in allowed.stderr, "said", allowed.stderr)
            return
        claim(bulk["mode"] == "" and "local_sgd {" not in bulk["plan"].split("version: 1")[1], "it is not taken", bulk["plan"])
        claim(bulk["modes"] and all(one["time_to_loss"] < 0.99 for one in bulk["modes"]), "what would be better", bulk["modes"])
        for one in bulk["modes"]:
            steps = expected_steps(rows[one["mode"]])
            claim(abs(one["steps"] - steps) < 0.01 * steps, "by the trainings", one, steps)
            of_bulk = one["steps"] * one["step_ms"] / (bulk["steps"] * bulk["step_ms"])
            claim(abs(one["time_to_loss"] - of_bulk) < 1e-9, "the part that is left", one, of_bulk)
        best = bulk["modes"][0]
        proposed = [line for line in bulk["plan"].splitlines() if "ask with --allow-modes" in line]
        claim(proposed and f"# with {best['mode']} a step would take " in proposed[0], "the best first", proposed)
        explained = casync("explain", *files.inputs, "-n", 4, "--codecs", "int8")
        ends_with(0, explained, "explain")
        claim(all(line[2:] in explained.stdout.splitlines() for line in proposed), "explain says the same", explained.stdout)

        allowed = casync(*inputs, "--allow-modes", "-o", files.plan, "--json")
        ends_with(0, allowed, "plan --allow-modes")
        found = json.loads(allowed.stdout)
        claim(found["mode"] == best["mode"] and found["modes"] == [], "the best one is taken", found)
        claim(best["mode"] in found["plan"].split("version: 1")[1], "and written", found["plan"])
        claim(abs(found["step_ms"] - best["step_ms"]) < 1e-9 and abs(found["steps"] - best["steps"]) < 1e-9, "as proposed", found)
        claim(found["uncompressed_ms"] == bulk["uncompressed_ms"], "over an exchange in every step", found)
        simulated = casync("simulate", *files.inputs, "-n", 4, "--plan", files.plan, "--json")
        ends_with(0, simulated, "simulate")
        claim(abs(json.loads(simulated.stdout)["step_ms"] / found["step_ms"] - 1) < 1e-9, "as simulated", simulated.stdout)
        whole = json.loads(casync("explain", *files.inputs, "-n", 4, "--codecs", "int8", "--allow-modes", "--json").stdout)
        claim(whole["step"]["mode"] == best["mode"], "explain takes it, too", whole["step"])
        name, value = re.fullmatch("(local_sgd|staleness)\\D+(\\d+)\\D*", best["mode"]).groups()
        asked = json.loads(casync(*inputs, "--" + name.replace("_", "-"), value, "--json").stdout)
        claim(asked["mode"] == best["mode"] and abs(asked["step_ms"] - found["step_ms"]) < 1e-9, "the same plan", asked)
        for key in ("uncompressed_ms", "gain", "steps"):
            claim(abs(asked[key] / found[key] - 1) < 1e-9, f"over an exchange in every step, too: {key}", asked, found)


def test_a_mode_that_was_asked_for_stays_and_one_without_a_loss_is_refused():
    with temporary_folder() as folder:
        files = Files(folder, "1e7")
        inputs = ["plan", *files.inputs, "-n", 4, "--codecs", "int8"]
        asked = json.loads(casync(*inputs, "--local-sgd", 16, "--json").stdout)
        claim("no training has measured how many steps local_sgd { every: 16 } takes" in asked["plan"], "said", asked["plan"])
        claim(asked["modes"] == [], "a mode that was asked for stays", asked["modes"])
        bulk = json.loads(casync(*inputs, "--json").stdout)
        late = json.loads(casync(*inputs, "--staleness", 1, "--json").stdout)
        for other in (asked, late):
            claim(abs(other["uncompressed_ms"] / bulk["uncompressed_ms"] - 1) < 1e-9, "over an exchange in every step",
                  other["uncompressed_ms"], bulk["uncompressed_ms"])
        step = json.loads(casync(*inputs, "--goal", "step", "--json").stdout)
        claim(step["modes"] == [], "no loss, no weighing", step["modes"])
        fast = Files(folder, "1e13")
        hidden = json.loads(casync("plan", *fast.inputs, "-n", 4, "--codecs", "int8", "--allow-modes", "--json").stdout)
        claim(hidden["mode"] == "" and hidden["modes"] == [], "nothing to gain", hidden["mode"], hidden["modes"])
        for wrong in (["--allow-modes", "--local-sgd", 8], ["--allow-modes", "--staleness", 1]):
            ends_with(2, casync(*inputs, *wrong), f"{wrong}")
        refused = casync(*inputs, "--allow-modes", "--goal", "step")
        ends_with(3, refused, "a mode by the time of a step")
        claim("--allow-modes with --goal step" in refused.stderr, "named", refused.stderr)


def test_the_plan_of_a_method_is_written_checked_and_simulated_to_the_same_step():
    with temporary_folder() as folder:
        files = Files(folder)
        planned = json.loads(casync("plan", *files.inputs, "-n", 4, "--codecs", "int8", "--json").stdout)["methods"]
        for method, name in [("mg_wfbp", "MG-WFBP's groups"), ("best_groups", "best groups of neighbours"),
                             ("bytescheduler", "ByteScheduler with a credit")]:
            of_it = {one["name"]: one for one in planned if one["name"].startswith(name)}
            for wanted in [method, method + ",ps", method + ",ring"]:
                made = casync("plan", *files.inputs, "-n", 4, "--method", wanted, "-o", files.plan, "--json")
                ends_with(0, made, wanted)
                found = json.loads(made.stdout)
                claim(found["step_ms"] == of_it[found["method"]]["step_ms"], "as planned", found, of_it)
                least = min(one["step_ms"] for one in of_it.values())
                claim("," in wanted or found["step_ms"] == least, "the better strategy", found, of_it)
                claim("," not in wanted or found["method"].endswith(wanted.split(",")[1]), "the one asked for", found)
                simulated = casync("simulate", *files.inputs, "-n", 4, "--plan", files.plan, "--json")
                ends_with(0, simulated, "simulate")
                step_ms = json.loads(simulated.stdout)["step_ms"]
                claim(abs(step_ms - found["step_ms"]) <= 1e-9 * step_ms, "the simulator says the same", step_ms, found)
                checked = casync("plan", "--check", files.plan, "--model", files.model)
                ends_with(0, checked, "plan --check")
                claim("\nOK: " in checked.stdout, "nothing is odd", checked.stdout)
                text = open(files.plan).read()
                claim(text == found["plan"] and text.startswith(f"# {found['method']}: "), "it says what it is", text)
                claim(("credit_bytes: " in text) == (method == "bytescheduler"), "a credit", text)
        refused = casync("plan", *files.inputs, "-n", 4, "--method", "bytescheduler,tree")
        ends_with(3, refused, "a strategy that it has not")
        claim("expected one of mg_wfbp,ps, " in refused.stderr, "named", refused.stderr)
        for field, value in [("credit_bytes", "1000"), ("group", '{ name: "g" gradient: "first.bias" }')]:
            with open(files.plan, "w") as file:
                file.write(f"version: 1 {field}: {value}\n" if value[0] != "{" else f"version: 1 {field} {value}\n")
            for command in [("plan", "-n", 4, "--plan", files.plan), ("explain", "-n", 4, "--plan", files.plan)]:
                other = casync(command[0], *files.inputs, *command[1:])
                ends_with(3, other, command[0] + " with " + field)
                claim(files.plan + ": " + field in other.stderr, "named", other.stderr)


def test_methods_that_were_published_are_simulated_beside_it():
    with temporary_folder() as folder:
        files = Files(folder)
        made = casync("plan", *files.inputs, "-n", 4, "--codecs", "int8", "--json")
        ends_with(0, made, "plan")
        methods = {one["name"]: one for one in json.loads(made.stdout)["methods"]}
        claim({name.split(",")[0] for name in methods} ==
              {"MG-WFBP's groups", "best groups of neighbours", "ByteScheduler with a credit"} and len(methods) == 6,
              "three, over ps and ring", methods)
        claim(re.fullmatch("[1-3] groups of 3 gradients", methods["MG-WFBP's groups, ring"]["detail"]), "its groups", methods)
        claim(all(one["step_ms"] >= 15 for one in methods.values()), "no shorter than the training", methods)
        text = casync("plan", *files.inputs, "-n", 4, "--codecs", "int8", "-o", files.plan).stdout
        claim(all(f"  {name} ({one['detail']})" in text for name, one in methods.items()), "and printed", text)


run_all(globals())
