# SPDX-License-Identifier: Apache-2.0
"""casync plan within a plan: limits, rules, servers and recorded gradients."""
import json
import os
import re
from pathlib import Path

from command import casync, claim, ends_with, run_all, temporary_folder
from planner_files import SIGNS, Files, write_gradients

# Steps of a seventh of the largest lose the small ones.
SPIKES = [0.05 if i % 100 else 1.0 for i in range(16384)]


def test_a_plan_of_rules_is_completed_within_them():
    with temporary_folder() as folder:
        files, rules = Files(folder), os.path.join(folder, "rules.txtpb")

        def write(text):
            with open(rules, "w") as file:
                file.write("version: 1\n" + text)

        def planned(*options):
            made = casync("plan", *files.inputs, "-n", 4, "--plan", rules, "-o", files.plan, "--json", *options)
            ends_with(0, made, "plan --plan")
            return {one["name"]: one["decision"] for one in json.loads(made.stdout)["gradients"]}

        write('rule { match: "large.*" max_error: 0.02 }\n'
              'rule { match: "*.bias" codec { name: "onebit" } strategy: ps partitions: 2 }\n'
              'rule { match: "nobody" max_error: 1 }\n')
        # A budget of its own for the one; what is fixed stays; for the rest what the command line says.
        fine = planned("--max-error", 0)
        claim(fine["first.bias"] == "onebit, ps, 2 partitions", "fixed", fine)
        exact = fine["first.weight"].startswith(("none", "lossless"))
        claim(exact, "the command line's budget for what no rule speaks of", fine)
        claim("none" not in fine["large.weight"] and "onebit" not in fine["large.weight"], "within its budget", fine)
        coarse = planned("--max-error", 0.9)
        claim("none" not in coarse["first.weight"], "a larger one for what no rule speaks of", coarse)
        claim("onebit" not in coarse["large.weight"], "and still its own", coarse)
        ends_with(0, casync("simulate", *files.inputs, "-n", 4, "--plan", files.plan), "the plan is complete")
        write('default { allow { name: "bf16" } allow { name: "dgc" } }\nrule { match: "first.*" max_error: 1e-3 }\n')
        listed = planned()
        claim(all(name in ("none", "bf16", "bf16 on the way back", "none on the way back") for way in listed.values()
                  for name in way.split(", ")[:-2]) or "dgc" in listed["large.weight"], "of the list", listed)
        claim("dgc" not in listed["first.weight"], "and within the budget", listed)

        # Rules are no plan: nobody has chosen.
        for command in (["simulate", *files.inputs, "-n", 4, "--plan", rules],
                        ["explain", *files.inputs, "-n", 4, "--plan", rules, "large.weight"]):
            refused = casync(*command)
            ends_with(3, refused, "what is left open is not run")
            claim("large.weight`: its codec is left to the planner (allow in the default" in refused.stderr,
                  "who left it", refused.stderr)
        checked = casync("plan", "--check", rules, "--model", files.model)
        ends_with(0, checked, "plan --check")
        claim("left to the planner: max_error 0.001, one of bf16, dgc (rule 1 `first.*`)" in checked.stdout and
              "3 gradients have a codec that is left to the planner" in checked.stdout, "said", checked.stdout)

        write('rule { match: "*" codec { name: "onebit" } max_error: 0.02 }\n')
        beyond = casync("plan", *files.inputs, "-n", 4, "--plan", rules)
        ends_with(3, beyond, "a codec beyond its own budget")
        claim("rules.txtpb: gradient `large.weight`: codec `onebit` loses 0." in beyond.stderr and
              "max_error is 0.02 (rule 1 `*`)" in beyond.stderr, "who, and how much", beyond.stderr)
        write('rule { match: "large.*" allow { name: "zip" } }\n')
        unknown = casync("plan", *files.inputs, "-n", 4, "--plan", rules)
        ends_with(3, unknown, "an unknown codec")
        claim("zip" in unknown.stderr, "named", unknown.stderr)
        write('rule { match: "*" max_error: -1 }\n')
        negative = casync("plan", *files.inputs, "-n", 4, "--plan", rules)
        ends_with(3, negative, "a negative budget")
        claim("rules.txtpb:2:19: max_error -1" in negative.stderr, "place", negative.stderr)


def test_servers_of_a_plan_are_checked_planned_priced_and_explained():
    with temporary_folder() as folder:
        files = Files(folder)

        def write(text):
            with open(files.plan, "w") as file:
                file.write("version: 1\n" + text)

        write('default { codec { name: "int8" } servers: 1 }\nrule { match: "first.*" servers: 2 dedicated: true }\n')
        checked = casync("plan", "--check", files.plan, "--model", files.model, "-n", 4)
        ends_with(0, checked, "plan --check")
        claim("large.weight  int8, ps with 1 server, " in checked.stdout, "servers", checked.stdout)
        claim("first.bias  int8, ps with 2 dedicated servers, 1 partition" in checked.stdout, "dedicated", checked.stdout)
        many = casync("plan", "--check", files.plan, "--model", files.model, "-n", 2)
        ends_with(3, many, "nobody contributes")
        claim("plan.txtpb: gradient `first.weight`: 2 dedicated servers in a group of 2 ranks, expected 1 to 1" in many.stderr,
              "which", many.stderr)

        ends_with(0, casync("plan", "--check", files.plan, "--model", files.model), "of a job that may have three ranks")

        made = casync("plan", *files.inputs, "-n", 4, "--goal", "step", "--plan", files.plan, "--json")
        ends_with(0, made, "plan")
        for name, decision in decisions_of(made).items():
            wanted = "ps with 2 dedicated servers" if name.startswith("first.") else "ps with 1 server"
            claim(wanted in decision, "kept", name, decision)
        whole = casync("plan", *files.inputs, "-n", 4, "--goal", "step", "--plan", files.plan)
        claim("servers: 2 dedicated: true" in whole.stdout and "servers: 1" in whole.stdout, "written", whole.stdout)

        def step(*options):
            simulated = casync("simulate", *files.inputs, "-n", 4, "--plan", files.plan, "--json", *options)
            ends_with(0, simulated, "simulate")
            return json.loads(simulated.stdout)

        served = step()
        claim({one["name"]: one["servers"] for one in served["gradients"]}["large.weight"] == 1, "told", served)
        write('default { codec { name: "int8" } }\n')
        claim(served["step_ms"] > step()["step_ms"], "one server is a narrow place", served)

        write('default { codec { name: "int8" } servers: 1 }\n')
        listed = casync("explain", *files.inputs, "-n", 4, "--plan", files.plan, "large.weight")
        ends_with(0, listed, "explain")
        claim("ps with 1 server" in listed.stdout, "shown", listed.stdout)
        write('default { strategy: ring servers: 1 }\n')
        refused = casync("plan", "--check", files.plan)
        ends_with(3, refused, "a ring has no servers")
        claim("plan.txtpb:2:26: servers beside strategy ring, expected strategy ps" in refused.stderr, "place", refused.stderr)


def test_a_plan_that_names_nodes_is_checked_for_any_number_of_ranks():
    with temporary_folder() as folder:
        files = Files(folder)
        with open(files.plan, "w") as file:
            file.write("version: 1\nworld { nodes: 4 }\n")
        ends_with(0, casync("plan", "--check", files.plan, "--model", files.model), "of a job that may have four ranks")
        fewer = casync("plan", "--check", files.plan, "--model", files.model, "-n", 2)
        ends_with(0, fewer, "on another cluster")
        claim("the plan was made for 4 nodes, and this group has 2" in fewer.stdout, "a remark", fewer.stdout)


def decisions_of(made):
    return {one["name"]: one["decision"] for one in json.loads(made.stdout)["gradients"]}


def test_recorded_gradients_decide_what_is_within_a_budget():
    with temporary_folder() as folder:
        files, rules = Files(folder), os.path.join(folder, "rules.txtpb")
        recorded = ["--gradients", write_gradients(os.path.join(folder, "g"), large_weight=SIGNS, first_weight=SPIKES)]

        def planned(text, *options):
            with open(rules, "w") as file:
                file.write("version: 1\n" + text)
            return casync("plan", *files.inputs, "-n", 4, "--goal", "step", "--plan", rules, "--json", *options)

        budget = 'default { max_error: 0.03 allow { name: "int4" } allow { name: "onebit" } }\n'
        typical, measured = (decisions_of(planned(budget, *options)) for options in ([], recorded))
        claim("int4" in typical["large.weight"] and "int4" in typical["first.weight"], "typical values", typical)
        claim(measured["large.weight"].startswith("onebit"), "loses nothing of this one", measured)
        claim(measured["first.weight"].startswith("none,") and "back" not in measured["first.weight"],
              "all of these lose too much of this one", measured)
        claim("onebit" not in measured["first.bias"], "not recorded: as typical values", typical, measured)

        fixed = 'rule { match: "first.weight" codec { name: "int4" } max_error: 0.03 }\n'
        ends_with(0, planned(fixed), "of typical values it loses less")
        refused = planned(fixed, *recorded)
        ends_with(3, refused, "what is fixed loses too much of what was recorded")
        claim("gradient `first.weight`: codec `int4` loses 0.198 of" in refused.stderr, "how much", refused.stderr)

        # And without rules.
        made = casync("plan", *files.inputs, "-n", 4, "--goal", "step", *recorded, "--json")
        ends_with(0, made, "plan --gradients")
        claim("1 gradient has no sample, as `first.bias`" in made.stderr, "which are not recorded", made.stderr)
        for one in json.loads(made.stdout)["gradients"]:
            losses = re.findall("loses (\\S+) of it(?:, (\\S+) back)?$", one["reason"])
            coded = not one["decision"].startswith("none,") or "back" in one["decision"]
            claim(bool(losses) == (coded and one["name"] != "first.bias"), "how much each loses", one)
            claim(all(float(loss) <= 0.0301 for pair in losses for loss in pair if loss), "within the budget", one)
        claim(decisions_of(made)["large.weight"].split(",")[0] not in ("none", "int4", "int8"),
              "coarser where that loses nothing", made.stdout)

        listed = casync("explain", *files.inputs, "-n", 4, "--goal", "step", *recorded, "large.weight", "--json")
        ends_with(0, listed, "explain --gradients")
        claim("onebit" in listed.stdout, "an alternative for this one", listed.stdout)
        listed = casync("explain", *files.inputs, "-n", 4, "--goal", "step", *recorded, "first.weight", "--json")
        claim("onebit" not in listed.stdout and "int4" not in listed.stdout, "and not for that", listed.stdout)

        odd = write_gradients(os.path.join(folder, "odd"), large_weigth=SIGNS)
        strange = casync("plan", *files.inputs, "-n", 4, "--gradients", odd)
        ends_with(0, strange, "a sample of no gradient")
        claim("1 sample is of no gradient of the model: `large.weigth` (did you mean `large.weight`?)" in strange.stderr,
              "said", strange.stderr)
        with open(odd, "r+b") as file:
            file.truncate(1000)
        broken = casync("plan", *files.inputs, "-n", 4, "--gradients", odd)
        ends_with(3, broken, "a file that was cut off")
        claim("odd: tensor `large.weigth`: data_offsets are [0,65536]" in broken.stderr, "named", broken.stderr)


def rules_of(folder, text):
    path = os.path.join(folder, "rules.txtpb")
    with open(path, "w") as file:
        file.write("version: 1\n" + text)
    return path


def test_a_codec_that_rules_fix_is_no_part_of_the_uncompressed_step():
    with temporary_folder() as folder:
        files = Files(folder)
        free = json.loads(casync("plan", *files.inputs, "-n", 4, "--json").stdout)
        for text in ('default { codec { name: "int8" } }\n', 'rule { match: "large.*" second_hop { name: "int8" } }\n'):
            rules = rules_of(folder, text)
            made = casync("plan", *files.inputs, "-n", 4, "--plan", rules, "--json")
            ends_with(0, made, "plan --plan")
            found = json.loads(made.stdout)
            claim(abs(found["uncompressed_ms"] / free["uncompressed_ms"] - 1) < 1e-9, "as without rules", text, found, free)
            claim(found["gain"] > 1.2, "and the gain is over that", text, found["gain"])
            explained = casync("explain", *files.inputs, "-n", 4, "--rules", rules, "--json")
            ends_with(0, explained, "explain --rules")
            step = json.loads(explained.stdout)["step"]
            claim(abs(step["uncompressed_ms"] / free["uncompressed_ms"] - 1) < 1e-9, "explain says the same", step, free)


def test_a_codec_of_a_file_is_found_from_the_plan_that_is_written():
    example = Path(__file__).resolve().parents[2] / "examples/02_write_a_codec/int3.cll"
    with temporary_folder() as folder:
        files, cache = Files(folder), {"CASYNC_CACHE_DIR": os.path.join(folder, "cache")}
        # As seen from where the command runs, which is neither the plan's folder nor the root.
        plans, other = (os.path.relpath(os.path.join(folder, name)) for name in ("plans", "other"))
        os.mkdir(plans)
        os.mkdir(other)
        mine = os.path.join(plans, "mine.cll")
        Path(mine).write_text(example.read_text())
        rules = rules_of(plans, 'default { codec { file: "mine.cll" param { key: "block" value: 64 } } }\n')
        whole = os.path.normpath(os.path.abspath(mine))

        def written(path, *options):
            made = casync("plan", *files.inputs, "-n", 4, *options, "-o", path, env=cache, timeout=120)
            ends_with(0, made, f"plan {options}")
            checked = casync("plan", "--check", path, "--model", files.model, env=cache, timeout=120)
            ends_with(0, checked, f"plan --check {path}")
            ends_with(0, casync("simulate", *files.inputs, "-n", 4, "--plan", path, env=cache), f"simulate {path}")
            return re.findall('file: "([^"]*)"', Path(path).read_text())

        beside = written(os.path.join(plans, "plan.txtpb"), "--plan", rules)
        claim(beside and set(beside) == {"./mine.cll"}, "in the plan's folder: they move together", beside)
        elsewhere = written(os.path.join(other, "plan.txtpb"), "--plan", rules)
        claim(elsewhere and set(elsewhere) == {whole}, "elsewhere: from the root", elsewhere, whole)
        named = written(os.path.join(other, "named.txtpb"), "--codecs", mine)
        claim(named and set(named) == {whole}, "of the command line", named, whole)
        printed = casync("plan", *files.inputs, "-n", 4, "--plan", rules, env=cache, timeout=120)
        ends_with(0, printed, "plan to stdout")
        claim(f'file: "{whole}"' in printed.stdout, "for a file in any folder", printed.stdout)


def test_local_sgd_is_refused_beside_a_warm_up_that_compresses():
    text = ('default { codec { name: "dgc" param { key: "ratio" value: 0.001 } } warm_up_steps: 2000 '
            'warm_up_from { key: "ratio" value: 0.25 } }\n')
    with temporary_folder() as folder:
        files, rules = Files(folder), rules_of(folder, text)
        refused = casync("plan", *files.inputs, "-n", 4, "--plan", rules, "--local-sgd", 8, "-o", files.plan)
        ends_with(3, refused, "the plan would be refused by every reader")
        claim("rules.txtpb: gradient `large.weight`: warm_up_from beside --local-sgd" in refused.stderr, "named",
              refused.stderr)
        claim(not os.path.exists(files.plan), "and is not written")
        for gradient in ([], ["large.weight"]):
            refused = casync("explain", *files.inputs, "-n", 4, "--plan", rules, "--local-sgd", 8, *gradient)
            ends_with(3, refused, "explain")
            claim("gradient large.weight: warm_up_from beside local_sgd" in refused.stderr, "named", refused.stderr)
        for options in ([], ["--staleness", 1]):
            ends_with(0, casync("plan", *files.inputs, "-n", 4, "--plan", rules, *options, "-o", files.plan), f"plan {options}")
            ends_with(0, casync("plan", "--check", files.plan, "--model", files.model), "plan --check")


def test_a_second_hop_that_takes_too_many_steps_is_refused_with_the_reason():
    with temporary_folder() as folder:
        files, rules = Files(folder), rules_of(folder, 'rule { match: "large.*" second_hop { name: "topk" } }\n')
        refused = casync("plan", *files.inputs, "-n", 4, "--plan", rules)
        ends_with(3, refused, "by the trainings")
        claim("gradient large.weight: second_hop `topk` takes more than 1.2 times the steps" in refused.stderr, "why",
              refused.stderr)
        ends_with(0, casync("plan", *files.inputs, "-n", 4, "--plan", rules, "--goal", "step"), "for a step alone")


def test_the_coordinator_of_links_stays_in_a_plan_and_predictions_say_that_they_lack_it():
    said = "coordinated: predicted without the coordinator of links"
    with temporary_folder() as folder:
        files = Files(folder)
        rules = rules_of(folder, 'coordinated: true\ndefault { allow { name: "int8" } }\n')
        for options in ([], ["--entries"]):
            made = casync("plan", *files.inputs, "-n", 4, "--plan", rules, *options, "-o", files.plan)
            ends_with(0, made, "plan --plan")
            claim("coordinated: true" in Path(files.plan).read_text(), "kept", Path(files.plan).read_text())
            claim(f"{rules}: {said}" in made.stderr, "said", made.stderr)
        for command in (["simulate"], ["explain"], ["explain", "large.weight"]):
            predicted = casync(*command, *files.inputs, "-n", 4, "--plan", files.plan)
            ends_with(0, predicted, command)
            claim(said in predicted.stderr, "said", command, predicted.stderr)
        without = rules_of(folder, 'default { allow { name: "int8" } }\n')
        claim(said not in casync("plan", *files.inputs, "-n", 4, "--plan", without).stderr, "of others not")


run_all(globals())
