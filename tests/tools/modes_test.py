# SPDX-License-Identifier: Apache-2.0
"""Plans whose ranks do not step together: predicted, explained, checked, and not searched."""
import json
import os

from command import casync, claim, ends_with, run_all, temporary_folder
from planner_files import Files

ASYNCHRONOUS = 'version: 1\nasynchronous { bound: 2 }\ndefault { codec { name: "int8" } }\n'
RING = 'version: 1\ngossip { neighbours: ring }\ndefault { codec { name: "int8" } }\n'
PAIRS = "version: 1\ngossip { neighbours: pairs every: 2 from_step: 10 }\n"
SLOW = "slow { rank: 1 factor: 2 }\n"
TRAINING_MS = 15


def write(folder, text):
    path = os.path.join(folder, "mode.txtpb")
    with open(path, "w") as file:
        file.write(text)
    return path


def predicted(files, plan, *options):
    result = casync("simulate", *files.inputs, "-n", 4, "--plan", plan, "--json", *options)
    ends_with(0, result, f"simulate {options}")
    return json.loads(result.stdout)


def test_each_rank_has_a_pace_of_its_own():
    with temporary_folder() as folder:
        files = Files(folder, "1e12")
        with open(files.model, "a") as file:
            file.write(SLOW)
        free = predicted(files, write(folder, "version: 1\nasynchronous { }\n"))["rank_paces"]
        claim([round(pace["step_ms"] / TRAINING_MS, 1) for pace in free] == [1, 2, 1, 1], "nobody waits", free)
        bounded = predicted(files, write(folder, ASYNCHRONOUS))["rank_paces"]
        claim(all(1.9 < pace["step_ms"] / TRAINING_MS < 2.1 for pace in bounded), "the slowest one's pace", bounded)
        claim([pace["most_ahead"] for pace in bounded] == [2, 0, 2, 2], "the bound", bounded)
        late = predicted(files, write(folder, "version: 1\nstaleness: 3\n"))["rank_paces"]
        claim([pace["most_ahead"] for pace in late] == [3, 0, 3, 3], "three steps late", late)
        text = casync("simulate", *files.inputs, "-n", 4, "--plan", write(folder, ASYNCHRONOUS)).stdout
        claim("steps ahead of the slowest: mean, most" in text, "a line for each rank", text)
        claim("rank_paces" not in predicted(files, write(folder, "version: 1\n")), "ranks that step together have none")


def test_slow_ranks_and_jitter_make_the_step_longer():
    with temporary_folder() as folder:
        files, plan = Files(folder, "1e12"), write(folder, "version: 1\n")

        def times(*options):
            return predicted(files, plan, *options)["step_ms"] / TRAINING_MS

        claim(1 <= times() < 1.02, "hardly more than the training", times())
        for factors in (["--slow", "1=2"], ["--slow", "1=2", "--slow", "3=1.5"], ["--slow", "3=1.5", "--slow", "1=2"]):
            claim(2 <= times(*factors) < 2.02, "all wait for rank 1", times(*factors))
        jitter = ["--jitter", 0.5, "--steps", 20]
        drawn = times(*jitter)
        claim(1.2 < drawn < 1.52, "in each step for the rank with the most of 0 to 50 %", drawn)
        claim(times(*jitter) == drawn != times(*jitter, "--seed", 1), "as the seed says")
        refused = casync("simulate", *files.inputs, "-n", 4, "--slow", "4=2")
        ends_with(3, refused, "a rank that there is not")
        claim("--slow 4=2" in refused.stderr and "from 0 to 3" in refused.stderr, "named", refused.stderr)


def test_what_is_waited_for_is_told_with_its_partitions():
    with temporary_folder() as folder:
        files = Files(folder)
        for partitions, words in ((1, "ps, 1 partition\n"), (4, "ps, 4 partitions\n")):
            plan = write(folder, f"version: 1\ndefault {{ partitions: {partitions} }}\n")
            text = casync("simulate", *files.inputs, "-n", 4, "--plan", plan).stdout
            claim("waited for most:" in text and words in text, "a line of a gradient", text)


def test_gossip_sends_to_neighbours():
    with temporary_folder() as folder:
        files = Files(folder)
        all_bytes = 4 * 1_100_100
        ring = predicted(files, write(folder, RING))
        claim(0.5 * all_bytes < ring["wire_bytes_per_rank"] < 0.52 * all_bytes, "a byte an element, to two", ring)
        pairs = predicted(files, write(folder, PAIRS))
        claim(pairs["wire_bytes_per_rank"] == all_bytes / 2, "to one, in every other step", pairs)
        claim(len(pairs["rank_paces"]) == 4, "paces", pairs)


def test_a_gradient_is_explained_in_the_plans_mode():
    with temporary_folder() as folder:
        files = Files(folder)
        for text in (ASYNCHRONOUS, RING, PAIRS, "version: 1\nstaleness: 2\n", "version: 1\nlocal_sgd { every: 4 }\n"):
            plan = write(folder, text)
            result = casync("explain", *files.inputs, "-n", 4, "--codecs", "int8", "--plan", plan, "large.weight", "--json")
            ends_with(0, result, f"explain {text}")
            explained = json.loads(result.stdout)
            claim(explained["nearest_partitions"] is False, "with any number of partitions", explained)
            alternatives = explained["alternatives"]
            own = [one for one in alternatives if one["planned"]]
            step_ms = predicted(files, plan)["step_ms"]
            claim(len(own) == 1 and abs(own[0]["step_ms"] / step_ms - 1) < 1e-6, "the plan's step", [text, own, step_ms])
            claim(text == PAIRS or len(alternatives) > 1, "other ways", [text, alternatives])


def test_such_plans_are_checked_and_none_is_searched():
    with temporary_folder() as folder:
        files = Files(folder)
        for text, name in ((ASYNCHRONOUS, "asynchronous"), (RING, "gossip"), (PAIRS, "gossip")):
            plan = write(folder, text)
            ends_with(0, casync("plan", "--check", plan, "--model", files.model), f"plan --check {text}")
            searched = casync("plan", *files.inputs, "-n", 4, "--plan", plan)
            ends_with(3, searched, "plan --plan")
            claim(f"no plan is searched for `{name}`: no training has measured" in searched.stderr, "why", searched.stderr)


def is_refused(files, plan, *culprits):
    """By the prediction, and by the check ahead of any."""
    for command in (["simulate", *files.inputs, "--plan", plan], ["plan", "--check", plan, "--model", files.model]):
        refused = casync(*command, "-n", 4)
        ends_with(3, refused, command)
        claim(all(culprit in refused.stderr for culprit in culprits), "named", [command, refused.stderr])


def test_modes_that_no_session_takes_are_refused_by_name():
    with temporary_folder() as folder:
        files = Files(folder)
        for text, culprits in (
                ("version: 1\nasynchronous { }\ndefault { strategy: ring }\n", ("large.weight", "strategy `ring`")),
                ('version: 1\nasynchronous { }\ndefault { codec { name: "powersgd" } }\n', ("large.weight", "powersgd")),
                ('version: 1\nasynchronous { }\ndefault { codec { name: "subsampling" } }\n', ("large.weight", "subsampling")),
                ("version: 1\nasynchronous { first: 5 }\n", ("first: 5", "4 ranks contribute")),
                ('version: 1\nasynchronous { }\ndefault { codec { name: "int8" } warm_up_steps: 5 }\n',
                 ("large.weight", "warm_up_steps")),
                ('version: 1\ngossip { neighbours: pairs }\ndefault { codec { name: "int8" } }\n', ("pairs", "int8")),
                ('version: 1\ngossip { neighbours: ring }\ndefault { codec { name: "int8" } second_hop { name: "int4" } }\n',
                 ("large.weight", "second_hop `int4`")),
                *((f'version: 1\ngossip {{ neighbours: ring }}\ndefault {{ codec {{ name: "{codec}" }} }}\n',
                   ("large.weight", codec)) for codec in ("subsampling", "terngrad", "powersgd", "dgc")),
        ):
            is_refused(files, write(folder, text), *culprits)
        vectors = os.path.join(folder, "vectors.txtpb")
        with open(vectors, "w") as file:
            file.write('version: 1\ngradient { name: "bias" shape: [100] ready_seconds: 0 need_seconds: 0 }\n'
                       "backward_seconds: 0.01\nforward_seconds: 0.005\n")
        for mode in ("asynchronous { }", "gossip { neighbours: pairs }", "gossip { neighbours: ring }"):
            steps = []
            for codec in ("powersgd", "none"):  # which does not take a vector
                plan = write(folder, f'version: 1\n{mode}\ndefault {{ codec {{ name: "{codec}" }} partitions: 2 }}\n')
                simulated = casync("simulate", "--profile", files.profile, "--model", vectors, "-n", 4, "--plan", plan,
                                   "--json")
                ends_with(0, simulated, f"simulate {mode} with {codec}")
                ends_with(0, casync("plan", "--check", plan, "--model", vectors, "-n", 4), f"check {mode} with {codec}")
                steps.append(json.loads(simulated.stdout)["step_ms"])
            claim(steps[0] == steps[1], "sent as it is", mode, steps)
        first = write(folder, "version: 1\nasynchronous { first: 5 }\n")
        ends_with(0, casync("plan", "--check", first, "--model", files.model), "of a job that may have five ranks")
        many = casync("plan", "--check", write(folder, PAIRS), "--model", files.model, "-n", 65)
        ends_with(3, many, "more ranks than pairs are drawn of")
        claim("up to 64 ranks" in many.stderr, "how many", many.stderr)
        with open(files.model, "a") as file:
            file.write("slow { rank: 4 factor: 2 }\n")
        refused = casync("simulate", *files.inputs, "-n", 4, "--plan", write(folder, ASYNCHRONOUS))
        ends_with(3, refused, "a rank that there is not")
        claim("slow rank 4, and there are 4 ranks" in refused.stderr, "named", refused.stderr)
        ends_with(0, casync("plan", "--check", write(folder, ASYNCHRONOUS), "--model", files.model, "-n", 4), "of the model")


def test_a_scattered_gradient_is_for_steps_that_all_ranks_exchange_in():
    with temporary_folder() as folder:
        files = Files(folder)
        with open(files.model, "a") as file:
            file.write('gradient { name: "shard" shape: [1000] scattered: true ready_seconds: 0.01 need_seconds: 0 }\n')
        for mode in ("local_sgd { every: 4 }", "staleness: 1", "gossip { neighbours: ring }", "asynchronous { }"):
            is_refused(files, write(folder, f"version: 1\n{mode}\n"), "gradient shard is scattered")
        plain = casync("plan", "--check", write(folder, "version: 1\n"), "--model", files.model, "-n", 4)
        ends_with(0, plain, "without a mode")
        slow = Files(folder, "1e6")  # modes that need up to twice the steps would pay
        for command in ("plan", "explain"):
            planned = casync(command, *slow.inputs, "-n", 4, "--most-steps", 3)
            ends_with(0, planned, f"{command}, where modes would be proposed")
            claim("--allow-modes" in planned.stdout + planned.stderr, "as they are without", planned.stderr)
        with open(slow.model, "a") as file:
            file.write('gradient { name: "shard" shape: [1000] scattered: true ready_seconds: 0.01 need_seconds: 0 }\n')
        for command in ("plan", "explain"):
            planned = casync(command, *slow.inputs, "-n", 4, "--most-steps", 3)
            ends_with(0, planned, f"{command} of a scattered gradient")
            claim("--allow-modes" not in planned.stdout + planned.stderr, "no mode is proposed", planned.stderr)


def test_shards_count_as_padded_for_the_simulated_ranks():
    with temporary_folder() as folder:
        files = Files(folder)

        def described(elements):
            with open(files.model, "w") as file:
                file.write("version: 1\nbackward_seconds: 0.01\nforward_seconds: 0.005\n"
                           f'gradient {{ name: "shard" shape: [{elements}] scattered: true '
                           "ready_seconds: 0.01 need_seconds: 0 }\n")

        plan, steps = write(folder, "version: 1\n"), []
        for elements in (100_000, 100_002):  # recorded on 4 ranks, and on 3
            described(elements)
            simulated = casync("simulate", *files.inputs, "-n", 3, "--plan", plan, "--json")
            ends_with(0, simulated, f"simulate {elements} elements")
            steps.append(json.loads(simulated.stdout)["step_ms"])
            explain = ["explain", *files.inputs, "--plan", plan]
            for command in (["plan", "--check", plan, "--model", files.model], ["plan", *files.inputs], explain,
                            [*explain, "shard"]):
                ends_with(0, casync(*command, "-n", 3), command)
        claim(steps[0] == steps[1], "as many elements", steps)
        described(99_999)
        ends_with(0, casync("plan", "--check", plan, "--model", files.model), "recorded on 3 ranks, of any job")


run_all(globals())
