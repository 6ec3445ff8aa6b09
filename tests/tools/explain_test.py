# SPDX-License-Identifier: Apache-2.0
"""casync explain: a gradient's alternatives within rules, the crossover, and the terms of a whole step."""
import json
import os
from pathlib import Path

from command import casync, claim, ends_with, run_all, temporary_folder
from planner_files import Files

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples")


def test_explain_stays_within_rules_and_marks_a_plan_that_does_not():
    with temporary_folder() as folder:
        files, rules = Files(folder), os.path.join(folder, "rules.txtpb")

        def explained(*options):
            result = casync("explain", *files.inputs, "-n", 4, "--rules", rules, "--json", *options)
            ends_with(0, result, f"explain --rules {options}")
            return json.loads(result.stdout)

        with open(files.plan, "w") as file:
            file.write('version: 1\ndefault { codec { name: "int8" } partitions: 2 }\n')
        with open(rules, "w") as file:
            file.write('version: 1\ndefault { allow { name: "bf16" } }\nrule { match: "nobody" priority: 3 }\n')
        free = casync("explain", *files.inputs, "-n", 4, "--plan", files.plan, "large.weight", "--json")
        claim(all(one["allowed"] for one in json.loads(free.stdout)["alternatives"]), "without rules", free.stdout)
        report = explained("--plan", files.plan, "large.weight")
        for one in report["alternatives"]:
            claim(one["planned"] or set(one["decision"].split(", ")[0].split()) <= {"none", "bf16"}, "within them", one)
            claim(one["allowed"] != one["planned"], "the plan's way is not", one)
        claim(report["what_decided"].startswith("the plan's way is not allowed; the shortest step is with bf16"),
              "said", report["what_decided"])
        words = casync("explain", *files.inputs, "-n", 4, "--rules", rules, "--plan", files.plan, "large.weight")
        claim(words.stdout.count("(not allowed)") == 1, "marked", words.stdout)
        claim("rule 1 `nobody`" in words.stderr, "what is odd about rules", words.stderr)
        crossing = explained()["crossover"]
        claim({one["with"].split(",")[0] for one in crossing} <= {"", "bf16", "none"} and "bf16" in str(crossing),
              "the table has what they allow", crossing)

        # A budget allows all that loses no more, also codecs that the planner would not look at next to better ones.
        with open(rules, "w") as file:
            file.write('version: 1\ndefault { max_error: 0.03 strategy: ps }\n')
        with open(files.plan, "w") as file:
            file.write('version: 1\ndefault { codec { name: "int8" param { key: "block" value: 64 } } }\n')
        alternatives = explained("--plan", files.plan, "large.weight")["alternatives"]
        claim(all(one["allowed"] for one in alternatives), "within the budget", alternatives)
        claim(all(" ps," in one["decision"] for one in alternatives), "as the rules fix it", alternatives)
        with open(rules, "a") as file:
            file.write('rule { match: "large.*" codec { name: "none" } partitions: 4 priority: 9 }\n')
        only = explained("large.weight")
        claim([(one["planned"], one["allowed"]) for one in only["alternatives"]] == [(True, False)] and
              "if only for its priority" in only["what_decided"], "another priority than the rules fix", only)
        open_plan = casync("explain", *files.inputs, "-n", 4, "--rules", rules, "--plan", rules, "large.weight")
        ends_with(3, open_plan, "rules are no plan")
        claim("casync plan --plan" in open_plan.stderr, "what makes one", open_plan.stderr)


def test_the_step_of_a_given_plan_is_that_plans():
    with temporary_folder() as folder:
        files = Files(folder)

        def step(*options):
            result = casync("explain", *files.inputs, "-n", 4, "--codecs", "int4", "--json", *options)
            ends_with(0, result, f"explain {options}")
            return json.loads(result.stdout)["step"]

        searched = step()
        claim(searched["compress"], "the planner compresses here", searched)
        for text, mode, compresses in (
                ("", "", False),
                ('default { codec { name: "int8" } strategy: ring }', "", True),
                ('default { codec { name: "int8" } }\nstaleness: 2', "staleness: 2", True),
                ("local_sgd { every: 4 from_step: 9 }", "local_sgd { every: 4 from_step: 9 }", False),
                ('gossip { neighbours: ring gamma: 0.5 }\ndefault { codec { name: "int8" } }',
                 "gossip { neighbours: ring gamma: 0.5 }", True),
                ("asynchronous { bound: 3 first: 2 }", "asynchronous { bound: 3 first: 2 }", False),
        ):
            with open(files.plan, "w") as file:
                file.write(f"version: 1\n{text}\n")
            simulated = casync("simulate", *files.inputs, "-n", 4, "--plan", files.plan, "--json")
            ends_with(0, simulated, "simulate")
            step_ms = json.loads(simulated.stdout)["step_ms"]
            found = step("--plan", files.plan)
            claim(abs(found["planned_ms"] / step_ms - 1) < 1e-9, "its step, and not the planner's", text, found, step_ms)
            claim(abs(found["uncompressed_ms"] / searched["uncompressed_ms"] - 1) < 1e-9, "over the same", found, searched)
            claim((found["mode"], found["compress"], found["modes"]) == (mode, compresses, []), "as it is", text, found)
            lines = casync("explain", *files.inputs, "-n", 4, "--codecs", "int4", "--plan", files.plan).stdout.splitlines()
            claim(lines[0] == f"compress: {'yes' if compresses else 'no'}", "the first line", lines)
            claim((f"with this plan and {mode}" if mode else "with this plan") in lines[1], "the second", lines)
        with open(files.plan, "w") as file:
            file.write('version: 1\ncoordinated: true\ndefault { max_error: 0.03 }\n')
        refused = casync("explain", *files.inputs, "-n", 4, "--plan", files.plan)
        ends_with(3, refused, "rules are no plan")
        claim(f"{files.plan}: gradient `large.weight`: its codec is left to the planner" in refused.stderr, "who",
              refused.stderr)
        claim(f"{files.plan}: coordinated: predicted without" in refused.stderr, "what is not known", refused.stderr)


def test_a_vector_of_a_plan_with_powersgd_is_judged_as_it_is_sent():
    with temporary_folder() as folder:
        files = Files(folder)
        with open(files.plan, "w") as file:
            file.write('version: 1\ndefault { codec { name: "powersgd" } }\n')

        def explained(*gradient):
            result = casync("explain", *files.inputs, "-n", 4, "--plan", files.plan, "--json", *gradient)
            ends_with(0, result, f"explain {gradient}")
            return json.loads(result.stdout)

        planned = [one for one in explained("first.bias")["alternatives"] if one["planned"]]
        claim(len(planned) == 1 and planned[0]["allowed"] and planned[0]["decision"].startswith("none, ps"),
              "a bias is sent as it is", planned)
        planned = [one for one in explained("large.weight")["alternatives"] if one["planned"]]
        claim(planned[0]["decision"].startswith("powersgd, ps"), "a matrix is not", planned)
        simulated = casync("simulate", *files.inputs, "-n", 4, "--plan", files.plan, "--json")
        ends_with(0, simulated, "simulate")
        codecs = {one["name"]: (one["codec"], one["second_hop"]) for one in json.loads(simulated.stdout)["gradients"]}
        claim(codecs["first.bias"] == ("none", "none") and codecs["large.weight"] == ("powersgd", "powersgd"),
              "as it is simulated", codecs)
        checked = casync("plan", "--check", files.plan, "--model", files.model, "-n", 4, "--json")
        ends_with(0, checked, "plan --check")
        claim(explained()["step"]["codecs"] == json.loads(checked.stdout)["codecs"], "as the check counts them",
              checked.stdout)


def test_crossover_as_table_and_picture():
    with temporary_folder() as folder:
        files = Files(folder)
        picture = os.path.join(folder, "map.svg")
        result = casync("explain", *files.inputs, "-n", 4, "--codecs", "int8", "--svg", picture, "--json")
        ends_with(0, result, "explain")
        rows = json.loads(result.stdout)["crossover"]
        claim(rows[-1]["pays_up_to_bytes_per_second"] is not None, "large gradients on slow links", rows)
        svg = open(picture).read()
        table = casync("explain", *files.inputs, "-n", 4, "--codecs", "int8").stdout
        claim("800 Gb/s and above  int8" in table, "the fastest that was tried is no limit", table)
        claim(svg.startswith("<svg") and svg.rstrip().endswith("</svg>") and "uncompressed" in svg, "a picture")
        claim("you are here: 800 Mb/s" in svg and ">10 Gb/s<" in svg and "bandwidth of the slowest link" in svg,
              "round ticks, a mark and labels", svg[-3000:])
        claim(all(row["bytes"] == int(row["bytes"]) and row["bytes"] % 4 == 0 for row in rows), "whole elements", rows)


def whole_step(profile, model, *arguments):
    inputs = ["--profile", f"{EXAMPLES}/profiles/{profile}.txtpb", "--model", f"{EXAMPLES}/models/{model}.txtpb"]
    made = casync("explain", "--whole-step", *inputs, *arguments, "--json")
    ends_with(0, made, "explain --whole-step")
    return json.loads(made.stdout)


def test_a_whole_step_says_what_the_paper_on_the_utility_of_compression_says():
    gigabit = 1.25e8
    found = {model: whole_step("v100_24x4_10gbit", model, "-n", 96, "--nodes", 24, "--codec", "powersgd")
             for model in ("resnet50", "bert_base")}
    below = {by: value / gigabit for by, value in found["resnet50"]["pays_below_bytes_per_second"].items()}
    claim(all(6 < value < 10 for value in below.values()), "ResNet-50 on 96 V100: below 8 to 10 Gb/s", below)
    claim(all(1 < one["enough_ratio"] <= 4 for one in found.values()), "a ratio of 4 is enough at 10 Gb/s", found)


def test_the_terms_of_a_whole_step_add_up_and_only_the_overlap_is_taken_off():
    with temporary_folder() as folder:
        files = Files(folder)
        for codec in (["--codec", "int8"], ["--codecs", "int8,int4"], ["--codec", "none"]):
            made = casync("explain", "--whole-step", *files.inputs, "-n", 4, *codec, "--json")
            ends_with(0, made, "explain --whole-step")
            found = json.loads(made.stdout)
            for side in ("plain", "compressed"):
                for by in ("closed_form", "simulated"):
                    ms = found[side][by]
                    sums = sum(ms[f"{term}_ms"] for term in ("computing", "encode", "latency", "wire", "decode"))
                    claim(abs(sums - ms["overlapping_ms"] - ms["step_ms"]) < 1e-6 * ms["step_ms"], "adds up", side, by, ms)
            none = codec[1] == "none"
            claim(found["plain"]["bytes"] == (4 * 1100100), "all of it", found["plain"])
            claim((found["compressed"]["bytes"] < 0.4 * found["plain"]["bytes"]) != none, "a codec's bytes", found)
            below = found["pays_below_bytes_per_second"]["simulated"]
            claim((below is None) == none, "it pays somewhere but without a codec", below)
        text = casync("explain", "--whole-step", *files.inputs, "-n", 4, "--codec", "int8").stdout
        claim(len(text.splitlines()) <= 24 and "compression pays " in text and "= step" in text, "one screen", text)
        both = casync("explain", "--whole-step", *files.inputs, "-n", 4, "large.weight")
        claim(both.returncode == 2 and both.stderr, "a step or a gradient", both.stderr)
        Path(files.plan).write_text('version: 1\nworld { ranks: 4 }\ndefault { codec { name: "int4" } }\n')
        planned = casync("explain", "--whole-step", *files.inputs, "--plan", files.plan)
        claim(planned.returncode == 2 and "--rules" in planned.stderr, "a plan would not be the one shown", planned.stderr)
        ruled = casync("explain", "--whole-step", *files.inputs, "-n", 4, "--rules", files.plan, "--json")
        ends_with(0, ruled, "explain --whole-step --rules")
        claim(json.loads(ruled.stdout)["compressed"]["bytes"] < 0.2 * 4 * 1100100, "the rules' codec", ruled.stdout)


def test_files_without_names_are_described():
    with temporary_folder() as folder:
        files = Files(folder)
        inputs = [*files.inputs, "-n", 1]
        for command in (["explain", "--whole-step", *inputs, "--codec", "int8"], ["simulate", *inputs]):
            made = casync(*command)
            ends_with(0, made, f"{command}")
            claim(made.stdout.startswith("this model on 1 rank, 1 node\n"), "the first line", made.stdout)
        made = casync("explain", *inputs, "--codecs", "int8")
        claim("one gradient alone, 1 rank, 1 node\n" in made.stdout, "the title", made.stdout)
        with open(files.model, "w") as file:
            file.write("version: 1\nbackward_seconds: 0\nforward_seconds: 0\n")
        made = casync("simulate", *inputs)
        ends_with(0, made, "simulate what takes no time")
        claim("nan" not in made.stdout and "training         0.000 ms    0.0 %" in made.stdout, "no share of it", made.stdout)


run_all(globals())
