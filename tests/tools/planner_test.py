# SPDX-License-Identifier: Apache-2.0
"""casync plan: files, codecs, modes, remarks and refusals."""
import json
import os
import pathlib
import re
import subprocess

from command import casync, claim, ends_with, run_all, temporary_folder
from planner_files import Files

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_a_plan_is_written_checked_simulated_and_explained():
    with temporary_folder() as folder:
        files = Files(folder)
        made = casync("plan", *files.inputs, "-n", 4, "--codecs", "int8,int4", "-o", files.plan, "--json")
        ends_with(0, made, "plan")
        found = json.loads(made.stdout)
        text = open(files.plan).read()
        claim(found["plan"] == text, "the plan is in the JSON, too")
        claim(all(found["step_ms"] <= 1.03 * other["step_ms"] for other in found["compared"]), "hardly worse", found)
        claim(text.startswith(f"# {found['gain']:.2f} x: ") and " ms a step uncompressed, " in text.splitlines()[0],
              "what it gains comes first", text)
        claim(found["gain"] > 1.2 and abs(found["gain"] - found["uncompressed_ms"] / found["step_ms"]) < 1e-9, "gain", found)
        claim("# assumed, not measured: the costs of int" in text and found["assumed"], "the profile measures no codec", text)
        claim("int8" in text or "int4" in text, "a slow link: compressed", text)
        claim(" a step predicted for this model on 4 ranks, 4 nodes\n" in text, "of files without names", text)
        claim("world { ranks: 4 profile_digest:" in text, "it knows its world", text)
        claim(all("  # " in line for line in text.splitlines() if line.startswith("rule")), "how many they are", text)
        claim(len(text.splitlines()) <= 16 and "gradient {" not in text, "rules", text)
        bias = next(one for one in found["gradients"] if one["name"] == "first.bias")
        claim(bias["decision"].startswith("none"), "a bias stays as it is", bias)
        entries = casync("plan", *files.inputs, "-n", 4, "--codecs", "int8,int4", "--entries").stdout
        claim(sum(line.startswith("gradient") and "  # " in line for line in entries.splitlines()) == 3, "reasons", entries)
        check = casync("plan", "--check", files.plan, "--model", files.model)
        ends_with(0, check, "plan --check")
        claim(check.stdout.splitlines()[-1].startswith("OK: 3 gradients, 4.4 MB: int"), "a summary ends it", check.stdout)
        simulated = casync("simulate", *files.inputs, "-n", 4, "--plan", files.plan, "--json")
        ends_with(0, simulated, "simulate")
        claim(abs(json.loads(simulated.stdout)["step_ms"] - found["step_ms"]) < 1e-9 * found["step_ms"],
              "the simulator says the same", simulated.stdout, found["step_ms"])
        explained = casync("explain", *files.inputs, "--plan", files.plan, "large.weight", "--codecs", "int8,int4", "--json")
        ends_with(0, explained, "explain")
        alternatives = json.loads(explained.stdout)["alternatives"]
        claim(sum(a["planned"] for a in alternatives) == 1, "one of them is the plan's", explained.stdout)
        again = casync("plan", *files.inputs, "-n", 4, "--codecs", "int8,int4")
        claim(again.stdout == text, "the same again, on stdout", again.stdout)
        whole = casync("explain", *files.inputs, "-n", 4, "--codecs", "int8,int4")
        ends_with(0, whole, "explain of the step")
        claim(whole.stdout.startswith("compress: yes\n" + text.splitlines()[0][2:] + "\n"), "to the digit", whole.stdout)


def test_partitions_that_follow_from_payloads_are_the_same_wherever_they_are_printed():
    model = ROOT / "examples/models/vgg19.txtpb"
    inputs = ("--model", model, "--profile", ROOT / "examples/profiles/cpu_2_cores_1gbit.txtpb", "-n", 64)
    with temporary_folder() as folder:
        plan, made = f"{folder}/plan.txtpb", f"{folder}/made.txtpb"

        def partitions_of(path):
            checked = casync("plan", "--check", path, "--model", model, "-n", 64, "--json")
            ends_with(0, checked, "plan --check")
            decisions = {one["name"]: one["decision"] for one in json.loads(checked.stdout)["gradients"]}
            simulated = casync("simulate", *inputs, "--plan", path, "--one-rank", "--json")
            ends_with(0, simulated, "simulate")
            found = {one["name"]: one["partitions"] for one in json.loads(simulated.stdout)["gradients"]}
            claim(found.keys() == decisions.keys(), "the same gradients", found, decisions)
            for name, count in found.items():
                claim(f" {count} partition" in decisions[name], name, count, decisions[name])
            return found, decisions

        def write(text):
            with open(plan, "w") as file:
                file.write("version: 1\n" + text)
            return partitions_of(plan)[0]

        sizes = 'default { codec { name: "%s" } partition_bytes: 1048576 }'
        none = write('default { codec { name: "none" } }')
        claim(write(sizes % "onebit") == none, "a size is taken at its word")
        onebit = write('default { codec { name: "onebit" } }')
        # 4,096,000 elements of 1.03125 bits: 32 payloads of 16 KiB.
        claim(none["fc8.weight"] == 64 and onebit["fc8.weight"] == 32, "by the payload", none, onebit)
        explained = casync("explain", *inputs, "--plan", plan, "--codecs", "onebit", "--json", "fc8.weight")
        ends_with(0, explained, "explain")
        planned = next(one for one in json.loads(explained.stdout)["alternatives"] if one["planned"])
        claim(planned["decision"] == "onebit, ps, 32 partitions", "explain", planned)
        # A plan that is found, in rules and in entries.
        found = []
        for more in ((), ("--entries",)):
            ends_with(0, casync("plan", *inputs, "--codecs", "onebit", "-o", made, *more, timeout=240), "plan")
            found.append(partitions_of(made)[1])
        claim(found[0] == found[1], "rules and entries decide the same", *found)


def test_more_nodes_than_ranks_are_refused():
    with temporary_folder() as folder:
        files = Files(folder)
        with open(files.plan, "w") as file:
            file.write("version: 1\n")
        for code, command in ((2, ["plan", *files.inputs]), (2, ["simulate", *files.inputs]), (3, ["explain", *files.inputs]),
                              (2, ["plan", "--check", files.plan, "--model", files.model])):
            refused = casync(*command, "-n", 4, "--nodes", 5)
            ends_with(code, refused, command)
            claim("5 nodes for 4 ranks, expected at most one for each rank" in refused.stderr, "both", refused.stderr)


def test_the_memory_of_residuals_is_printed_and_chosen_by_rules():
    with temporary_folder() as folder:
        files = Files(folder)

        def checked(text, *expected):
            with open(files.plan, "w") as file:
                file.write("version: 1\n" + text)
            check = casync("plan", "--check", files.plan, "--model", files.model)
            ends_with(0, check, "plan --check")
            for line in expected:
                claim(line in check.stdout, line, check.stdout)

        # 1,100,100 elements; the bias of 100 has two buffers in any case.
        checked('default { codec { name: "int8" } }',
                "each rank keeps 8.8 MB from step to step: 8.00 bytes an element, 4.00 with residual_memory one_buffer")
        checked('default { codec { name: "int8" } residual_memory: one_buffer }',
                "each rank keeps 4.4 MB from step to step: 4.00 bytes an element\n")
        checked('default { codec { name: "dgc" } }', "each rank keeps 35.2 MB from step to step: 32.00 bytes an element\n")
        checked('world { ranks: 4 } gossip { neighbours: ring } default { codec { name: "int8" } }',
                "each rank keeps 13.2 MB from step to step: 12.00 bytes an element\n")
        for text, words in (
            ('default { codec { name: "dgc" } residual_memory: one_buffer }',
             "residual_memory one_buffer: codec `dgc` keeps 2 values"),
            ('gossip { neighbours: ring } default { codec { name: "int8" } residual_memory: one_buffer }',
             "residual_memory one_buffer: gossip with codecs keeps copies"),
            ('default { codec { name: "dgc" } warm_up_from { key: "ratio" value: 0.25 } }',
             "warm_up_from without warm_up_steps"),
            ('default { codec { name: "dgc" } warm_up_steps: 9 warm_up_from { key: "rato" value: 0.25 } }',
             "has a parameter `rato`"),
            ('default { codec { name: "patch" } }', "`patch`"),
        ):
            with open(files.plan, "w") as file:
                file.write("version: 1 " + text)
            commands = [["plan", "--check", files.plan, "--model", files.model],
                        ["simulate", *files.inputs, "-n", 4, "--plan", files.plan]]
            if "patch" not in text:  # explain judges the codecs first
                commands += [["explain", *files.inputs, "-n", 4, "--plan", files.plan, *gradient]
                             for gradient in ([], ["large.weight"])]
            for command in commands:
                refused = casync(*command)
                ends_with(3, refused, f"{command} {text}")
                claim("large.weight" in refused.stderr and words in refused.stderr, "as a session does", refused.stderr)
                claim(files.plan in refused.stderr, "with the file", refused.stderr)

        rules = os.path.join(folder, "rules.txtpb")
        with open(rules, "w") as file:
            file.write('version: 1 default { max_error: 1 residual_memory: one_buffer }\n')
        made = casync("plan", *files.inputs, "-n", 4, "--plan", rules, "--codecs", "int8,dgc,powersgd", "-o", files.plan)
        ends_with(0, made, "plan within rules")
        claim("bytes an element" in made.stdout, "the cost is printed", made.stdout)
        text = open(files.plan).read()
        claim("residual_memory: one_buffer" in text and "dgc" not in text and "powersgd" not in text, "kept", text)
        for gradient in (["large.weight"], []):
            explained = casync("explain", *gradient, *files.inputs, "-n", 4, "--plan", files.plan, "--codecs", "int8")
            ends_with(0, explained, "explain")
            claim("bytes an element" in explained.stdout, "the cost is explained", explained.stdout)


def test_codecs_without_costs_are_left_out_beside_those_that_have_some():
    with temporary_folder() as folder:
        files = Files(folder)
        with open(files.profile, "a") as file:
            curve = "{ point { size: 1000000 seconds: 0.0001 } }"
            file.write(f'codec {{ name: "int8" encode {curve} decode {curve} merge {curve} }}\n')
        made = casync("plan", *files.inputs, "-n", 4, "--json")
        ends_with(0, made, "plan")
        found = json.loads(made.stdout)
        used = {word for one in found["gradients"] for word in re.findall("none|[a-z]+[0-9]+[a-z_0-9]*", one["decision"])}
        claim(used == {"none", "int8"} and found["assumed"] == [], "only what was measured", found["gradients"])
        claim("which are left out: bf16,fp16," in made.stderr, "the others are named", made.stderr)
        named = casync("plan", *files.inputs, "-n", 4, "--codecs", "int4", "--json")
        ends_with(0, named, "plan --codecs")
        claim(json.loads(named.stdout)["assumed"] == ["int4"], "named codecs are assumed", named.stdout)
        claim("has no costs of int4: they are assumed" in named.stderr, "and it is said", named.stderr)


def test_costs_of_a_codec_that_there_is_not_are_refused():
    curve = "{ point { size: 1000000 seconds: 0.0001 } }"
    for name, words in (("itn8", ["no codec is called `itn8`", "did you mean `int8`"]),
                        ("int4:blok=64", ["no parameter `blok`", "did you mean `block`"]),
                        ("int4:block", ['codec "int4:block"'])):
        with temporary_folder() as folder:
            files = Files(folder)
            with open(files.profile, "a") as file:
                file.write(f'codec {{ name: "int8" encode {curve} }} codec {{ name: "{name}" encode {curve} }}\n')
            for command in (["plan", *files.inputs, "-n", 4], ["simulate", *files.inputs, "-n", 4],
                            ["explain", *files.inputs, "-n", 4, "large.weight"]):
                result = casync(*command)
                ends_with(3, result, f"{command[0]} with costs of {name}")
                for word in (files.profile, name, *words):
                    claim(word in result.stderr, f"the message holds {word!r}", result.stderr)
    with temporary_folder() as folder:
        files = Files(folder)
        with open(files.profile, "a") as file:
            file.write(f'codec {{ name: "mine/own.cll:a=1" encode {curve} }} codec {{ name: "powersgd:rank=2" encode {curve} }}\n')
        ends_with(0, casync("simulate", *files.inputs, "-n", 4), "a user's file, and a codec of rounds")


def test_steps_that_exchange_seldom_or_late_or_compress_later_are_planned_and_predicted_as_such():
    with temporary_folder() as folder:
        files = Files(folder)
        for options, written in ((["--local-sgd", 8, "--from-step", 90], "local_sgd { every: 8 from_step: 90 }"),
                                 (["--staleness", 1], "staleness: 1"),
                                 (["--warm-up", 500], "warm_up_steps: 500")):
            made = casync("plan", *files.inputs, "-n", 4, "--codecs", "int8", *options, "-o", files.plan, "--json")
            ends_with(0, made, f"plan {options}")
            claim(written in open(files.plan).read(), "the plan says so", open(files.plan).read())
            simulated = casync("simulate", *files.inputs, "-n", 4, "--plan", files.plan, "--json")
            ends_with(0, simulated, "simulate")
            claim(abs(json.loads(simulated.stdout)["step_ms"] / json.loads(made.stdout)["step_ms"] - 1) < 1e-9,
                  "what is simulated is what was planned", [made.stdout, simulated.stdout])
        for wrong in (["--local-sgd", 8, "--staleness", 1], ["--from-step", 3], ["--local-sgd", 0], ["--staleness", 17]):
            ends_with(2, casync("plan", *files.inputs, "-n", 4, *wrong), f"{wrong}")


def test_a_fast_link_compresses_nothing():
    with temporary_folder() as folder:
        files = Files(folder, "1e13")
        result = casync("plan", *files.inputs, "-n", 4, "--codecs", "int8,onebit")
        ends_with(0, result, "plan")
        plan = "".join(line.split("#")[0] for line in result.stdout.splitlines())
        claim("version: 1" in plan and "int8" not in plan and "onebit" not in plan, "nothing", result.stdout)


def test_nodes_are_in_a_plan_if_they_were_asked_for():
    with temporary_folder() as folder:
        files = Files(folder)
        asked = casync("plan", *files.inputs, "-n", 4, "--nodes", 2)
        claim("world { ranks: 4 nodes: 2 profile_digest:" in asked.stdout, "as asked", asked.stdout)
        method = casync("plan", *files.inputs, "-n", 4, "--method", "mg_wfbp")
        claim("world { ranks: 4 profile_digest:" in method.stdout, "else a session on one node does not warn", method.stdout)


def test_a_model_that_cannot_overlap_is_told_so():
    gradient = 'gradient {{ name: "layer{0}.weight" shape: [300, 1000] ready_seconds: {1} need_seconds: 0 }}\n'
    for ready, said in (([0.01] * 6, True), ([0.002, 0.003, 0.005, 0.006, 0.008, 0.01], False)):
        with temporary_folder() as folder:
            files = Files(folder)
            with open(files.model, "w") as file:
                file.write("version: 1\nbackward_seconds: 0.01\nforward_seconds: 0.005\n")
                file.write("".join(gradient.format(i, seconds) for i, seconds in enumerate(ready)))
            for command in ("plan", "explain"):
                made = casync(command, *files.inputs, "-n", 2)
                ends_with(0, made, command)
                claim(("6 of 6 gradients are ready only when the backward pass ends" in made.stderr) == said, command,
                      made.stderr)
                claim(("bucket_cap_mb=1)" in made.stderr) == said, "what to do", made.stderr)


def test_unequal_ranks_are_told_with_what_they_mean():
    cases = (("slow { rank: 2 factor: 1.5 }", "rank 2 computes 1.5 times as long as the others: the step waits for it, and no codec changes that"),
             ("slow { rank: 0 factor: 2 } slow { rank: 3 factor: 1.25 }", "ranks 0, 3 compute 1.25 to 2 times as long as the others: the step waits for them, and"),
             ("slow { rank: 1 factor: 0.5 }", "rank 1 computes 0.5 times as long as the others and waits for them"),
             ("slow { rank: 1 factor: 1 }", ""), ("", ""))  # fmt: skip
    for lines, said in cases:
        with temporary_folder() as folder:
            files = Files(folder)
            with open(files.model, "a") as file:
                file.write(lines)
            for command in ("plan", "explain"):
                made = casync(command, *files.inputs, "-n", 4)
                ends_with(0, made, command)
                claim(said in made.stderr and ("as the others" in made.stderr) == bool(said), command, made.stderr)
            made = json.loads(casync("plan", *files.inputs, "-n", 4, "--json").stdout)
            claim(made["unequal"].startswith(said) and bool(made["unequal"]) == bool(said), "as JSON", made["unequal"])


def test_oddities_of_a_plan_are_said():
    with temporary_folder() as folder:
        files = Files(folder)
        with open(files.plan, "w") as file:
            file.write('version: 1\nworld { ranks: 8 }\nrule { match: "*" codec { name: "int8" } }\n'
                       'rule { match: "*.bias" codec { name: "none" } }\ngradient { name: "larg.weight" partitions: 2 }\n')
        result = casync("plan", "--check", files.plan, "--model", files.model, "-n", 4)
        ends_with(0, result, "plan --check")
        for remark in ("rule 2 `*.bias` never applies", "entry `larg.weight` names no gradient", "made for 8 ranks"):
            claim(remark in result.stdout, remark, result.stdout)
        with open(files.plan, "w") as file:
            file.write('version: 1\ndefault { codec { name: "int8" } second_hop { name: "int4" }\n  strategy: all_gather }\n')
        result = casync("plan", "--check", files.plan, "--model", files.model)
        ends_with(3, result, "all_gather has no second hop")
        claim("gradient `large.weight`: strategy `all_gather` has one hop only" in result.stderr, "says why", result.stderr)
        with open(files.plan, "w") as file:
            file.write('version: 1\nrule { match: "*" partitons: 2 }\n')
        result = casync("plan", "--check", files.plan)
        ends_with(3, result, "an unknown field")
        claim("plan.txtpb:2:" in result.stderr and "did you mean `partitions`" in result.stderr, "place", result.stderr)


def test_nonsense_is_refused_with_3_and_names_the_culprit():
    with temporary_folder() as folder:
        files = Files(folder)
        common = ["plan", *files.inputs, "-n", 2]
        for arguments, culprit in ((["--codecs", "zip"], "zip"), (["--codecs", "int8:colour=1"], "colour")):
            result = casync(*common, *arguments)
            ends_with(3, result, f"plan {arguments}")
            claim(culprit in result.stderr and result.stdout == "", "named", result.stderr)
        result = casync("explain", *files.inputs, "-n", 2, "large.weigh")
        ends_with(3, result, "explain of what is not there")
        claim("did you mean `large.weight`" in result.stderr, "a hint", result.stderr)
        result = casync("explain", *files.inputs)
        ends_with(2, result, "explain for nobody knows how many ranks")
        swapped = casync("plan", "--profile", files.model, "--model", files.profile, "-n", 2)
        ends_with(3, swapped, "a model as the profile")
        claim(swapped.stderr.count("\n") == 1 and f"{files.model} looks like a model description" in swapped.stderr and
              "was it meant for --model?" in swapped.stderr, "one sentence", swapped.stderr)
        ends_with(1, casync(*common, "-o", os.path.join(folder, "no/such/plan")), "a path that cannot be written")
        missing = casync("plan", "--profile", files.profile, "--model", files.model)
        ends_with(2, missing, "how many ranks?")
        claim("casync plan: --ranks is missing" in missing.stderr, "names it", missing.stderr)
        with open(files.profile, "a") as file:
            file.write('codec { name: "int8" encode { point { size: 1 seconds: nan } } }\n')
        result = casync(*common)
        ends_with(3, result, "a profile with NaN")
        claim("profile.txtpb:5:" in result.stderr, "line and column", result.stderr)


def test_a_codec_of_a_list_may_have_several_parameters():
    with temporary_folder() as folder:
        files = Files(folder)
        for codecs in ("int2:block=64,feedback=0", "int8,int2:block=64,feedback=0", "int2:block=64,feedback=0,int8"):
            planned = casync("plan", *files.inputs, "-n", 2, "--goal", "step", "--codecs", codecs, "--json")
            ends_with(0, planned, f"--codecs {codecs}")
            decisions = [gradient["decision"] for gradient in json.loads(planned.stdout)["gradients"]]
            claim(decisions[0].startswith("int2:block=64,feedback=0, "), "it is used", decisions)
        for codecs, culprit in (("int8,feedback=0", "feedback=0"), ("feedback=0", "feedback=0"),
                                ("int2:block=64,feedback=x", "`x` is no number")):
            refused = casync("plan", *files.inputs, "-n", 2, "--codecs", codecs)
            ends_with(3, refused, f"--codecs {codecs}")
            claim(culprit in refused.stderr, "named", refused.stderr)


def test_a_full_disk_leaves_the_file_as_it_was():
    with temporary_folder() as folder:
        files = Files(folder)
        command = ["plan", *files.inputs, "-n", 2, "-o", files.plan]
        for before in (None, "version: 1  # mine\n"):
            if before is not None:
                with open(files.plan, "w") as file:
                    file.write(before)
                os.chmod(files.plan, 0o640)
            there = set(os.listdir(folder))
            result = casync(*command, file_bytes=100)
            ends_with(1, result, "a full disk")
            claim(f"{files.plan}: cannot be written: File too large" in result.stderr, "says which", result.stderr)
            claim(set(os.listdir(folder)) == there, "no part of a plan is left", os.listdir(folder))
            if before is not None:
                with open(files.plan) as file:
                    claim(file.read() == before, "the old plan is left")
        link = os.path.join(folder, "link")
        os.symlink("plan.txtpb", link)
        ends_with(0, casync(*command[:-1], link), "a plan over another one, by a link")
        claim(os.path.islink(link) and os.stat(files.plan).st_mode & 0o777 == 0o640, "its link and its mode stay")
        with open(files.plan) as file:
            claim("world {" in file.read(), "it is replaced")
        later = os.path.join(folder, "later")
        os.symlink("new.txtpb", later)
        ends_with(0, casync(*command[:-1], later), "a plan by a link to a file that is not there yet")
        claim(os.path.islink(later) and os.path.isfile(os.path.join(folder, "new.txtpb")), "the link stays")
        os.remove(later)
        os.remove(os.path.join(folder, "new.txtpb"))
        claim(set(os.listdir(folder)) == there | {"link"}, "nothing else is left", os.listdir(folder))
        ends_with(1, casync(*command[:-1], "/dev/full"), "a device that is full")
        claim("world {" in casync(*command[:-1], "/dev/stderr").stderr, "a pipe gets the text")
        pipe = os.path.join(folder, "pipe")
        os.mkfifo(pipe)
        with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE, text=True) as reader:
            ends_with(0, casync(*command[:-1], pipe), "a pipe with a name")
            claim("world {" in reader.communicate(timeout=60)[0], "it gets the text, and then its end")


run_all(globals())
