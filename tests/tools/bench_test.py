# SPDX-License-Identifier: Apache-2.0
"""casync bench: the rows that were asked for, results that are right, every output format."""
import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

from command import TOOL, casync, claim, ends_with, own_environment, run_all, temporary_folder, until

QUICK = ["-n", "3", "-w", "1", "-b", "4K", "-e", "64K", "-f", "4"]


def all_reduce(*options, env=None):
    result = casync("bench", "all_reduce", *QUICK, "--json", *options, timeout=120, env=env)
    ends_with(0, result, f"bench all_reduce {options}")
    rows = json.loads(result.stdout)["rows"]
    claim([row["size_bytes"] for row in rows] == [4096, 16384, 65536], "a row per size", rows)
    claim([row["count"] for row in rows] == [1024, 4096, 16384], "elements are float32", rows)
    claim(all(row["wrong"] == 0 for row in rows), "nothing is wrong", rows)
    claim(all(0 < row["time_min_us"] <= row["time_median_us"] for row in rows), "the median is not below the least",
          rows)
    return rows


def test_none_is_bit_exact_and_moves_all_bytes():
    for row in all_reduce("-r", "2"):
        claim(row["nmse"] == 0 and row["ratio"] == 1, "no error, no compression", row)
        claim(row["wire_bytes_per_rank"] >= row["size_bytes"], "2 (N-1)/N of the gradient and headers", row)
        claim(abs(row["busbw_gb_s"] - row["algbw_gb_s"]) < 1e-9, "two ranks: bus and algorithm bandwidth agree", row)


def test_a_table_says_what_it_measures():
    here = json.loads(casync("bench", "all_reduce", *QUICK, "--json", "-r", "2").stdout)["about"]
    claim(any("all ranks are on this machine" in line for line in here), "no network", here)
    paced = json.loads(casync("bench", "all_reduce", *QUICK, "--json", "-r", "2", env={"CASYNC_LINK": "1gbit"}).stdout)["about"]
    claim(any("PACED" in line for line in paced) and not any("on this machine" in line for line in paced), "or a pace", paced)


def test_ring_of_none_equals_its_graph_carried_out_locally():
    rows = all_reduce("-r", "3", "--strategy", "ring")
    claim(all(row["strategy"] == "ring" and row["nmse"] < 1e-12 for row in rows), "rounding only", rows)


def test_every_strategy_equals_its_graph_carried_out_locally():
    for ranks in ("2", "3", "4"):
        for strategy, codec in (("all_gather", "int8"), ("tree", "none"), ("hierarchical", "int8")):
            rows = all_reduce("-r", ranks, "--strategy", strategy, "--codec", codec)
            claim(all(row["strategy"] == strategy and row["nmse"] < 1e-3 for row in rows), "small errors", rows)


def test_hierarchical_goes_by_the_names_of_nodes():
    program = f"CASYNC_NODE=$((CASYNC_RANK / 2)) exec {TOOL} bench all_reduce --strategy hierarchical --codec int8 "
    result = casync("run", "-n", "4", "--no-prefix", "--", "sh", "-c", program + " ".join(QUICK) + " --json")
    ends_with(0, result, "two nodes of two ranks")
    rows = json.loads(result.stdout)["rows"]
    claim(all(row["wrong"] == 0 and 0 < row["nmse"] < 1e-3 for row in rows), "right, with int8's error", rows)


def test_lossy_codecs_equal_their_graphs_carried_out_locally():
    for codec, error in (("int8", 1e-3), ("int4:block=64", 0.05), ("onebit", 1.0)):
        rows = all_reduce("-r", "3", "--codec", codec)
        claim(all(0 < row["nmse"] < error for row in rows), "an error, as large as the codec's", rows)
        claim(all(row["codec"].startswith(codec.split(":")[0]) and row["ratio"] > 2 for row in rows), "smaller", rows)


def test_a_codec_of_a_file_goes_over_any_strategy():
    here = os.path.dirname(os.path.abspath(__file__))
    file = os.path.relpath(os.path.join(here, "../../examples/02_write_a_codec/int3.cll"))
    with temporary_folder() as folder:
        for strategy in ([], ["--strategy", "ring"]):
            rows = all_reduce("-r", "2", "--codec", file + ":block=64", *strategy, env={"CASYNC_CACHE_DIR": f"{folder}/cache"})
            claim(all(row["codec"] == file + ":block=64" and 0 < row["nmse"] < 0.5 for row in rows), "name and error", rows)
            claim(all(row["strategy"] == (strategy or ["ps"])[-1] for row in rows), "as asked", rows)


MODEL = """version: 1
name: "three"
backward_seconds: 0.004
forward_seconds: 0.002
gradient { name: "a" shape: [300, 7] ready_seconds: 0.001 need_seconds: 0.002 }
gradient { name: "b" shape: [4096] dtype: "bfloat16" ready_seconds: 0.001 need_seconds: 0.001 }
gradient { name: "c" shape: [100000] ready_seconds: 0.004 need_seconds: 0 }
"""
PROFILE = "version: 1\nmemory_bytes_per_second: 1e10\nbetween { latency_seconds: 1e-5 bytes_per_second: 1e9 }\n"


def test_a_step_takes_what_its_training_takes_and_more():
    with temporary_folder() as folder:
        write(folder, "model", MODEL)
        write(folder, "profile", PROFILE)
        write(folder, "int8", 'version: 1\ndefault { codec { name: "int8" } }\n')
        write(folder, "two", "version: 1\ndefault { partitions: 2 }\n")
        step = ["bench", "step", "-r", "3", "--model", f"{folder}/model", "--seconds", "0.1", "-w", "1", "--json"]
        result = casync(*step, "--plan", f"{folder}/int8", "--plan", f"{folder}/two", "--profile", f"{folder}/profile")
        ends_with(0, result, "bench step")
        rows = json.loads(result.stdout)["rows"]
        claim([row["plan"] for row in rows] == [f"{folder}/int8", f"{folder}/two"], "a row per plan", rows)
        claim(all(row["steps"] >= 5 and row["step_median_ms"] >= 5.9 for row in rows), "training takes 6 ms", rows)
        claim(all(row["predicted_ms"] >= 6 for row in rows), "and is predicted to", rows)
        claim(rows[0]["payload_bytes"] < 0.4 * rows[1]["payload_bytes"], "int8 sends less", rows)
        plain = casync(*step)
        ends_with(0, plain, "no plan")
        claim(json.loads(plain.stdout)["rows"][0]["predicted_ms"] is None, "no profile, no prediction", plain.stdout)
        ends_with(3, casync("bench", "step", "--model", f"{folder}/int8"), "a plan is no model")


def test_steps_that_exchange_seldom_or_late():
    with temporary_folder() as folder:
        write(folder, "each", "version: 1\n")
        write(folder, "local", "version: 1\nlocal_sgd { every: 4  from_step: 2 }\n")
        write(folder, "late", "version: 1\nstaleness: 1\n")
        step = ["bench", "step", "-r", "2", "--model", write(folder, "model", MODEL), "--seconds", "0.1", "-w", "1"]
        plans = [word for name in ("each", "local", "late") for word in ("--plan", f"{folder}/{name}")]
        result = casync(*step, *plans, "--profile", write(folder, "profile", PROFILE), "--json")
        ends_with(0, result, "bench step")
        each, local, late = json.loads(result.stdout)["rows"]
        claim(local["steps"] >= 20 and local["steps"] % 4 == 0, "five rounds", local)
        claim(abs(4 * local["payload_bytes"] - each["payload_bytes"]) < 100, "a fourth of the bytes", [each, local])
        # A late exchange may be under way when measuring begins, and when it ends.
        margin = each["payload_bytes"] / late["steps"] + 100
        claim(abs(late["payload_bytes"] - each["payload_bytes"]) < margin, "all of the bytes", [each, late])
        claim(all(row["predicted_ms"] >= 6 and row["step_median_ms"] >= 5.9 for row in (local, late)),
              "training takes 6 ms", [local, late])
        with_record = casync(*step, "--plan", f"{folder}/late", env={"CASYNC_RECORD": f"{folder}/record"})
        ends_with(0, with_record, "with CASYNC_RECORD")
        claim("no model is recorded" in with_record.stderr, "times that are not the program's are no description",
              with_record.stderr)


def test_ranks_that_drift_apart():
    with temporary_folder() as folder:
        write(folder, "free", "version: 1\nasynchronous { }\n")
        write(folder, "bound", "version: 1\nasynchronous { bound: 1 }\n")
        write(folder, "ring", 'version: 1\ngossip { neighbours: ring }\ndefault { codec { name: "int8" } }\n')
        plans = [word for name in ("free", "bound", "ring") for word in ("--plan", f"{folder}/{name}")]
        slow = MODEL + "slow { rank: 1 factor: 10 }\n"
        result = casync("bench", "step", "-r", "3", "--model", write(folder, "model", slow), "--seconds", "0.3", "-w", "1",
                        *plans, "--profile", write(folder, "profile", PROFILE), "--json")
        ends_with(0, result, "bench step")
        free, bound, ring = rows = json.loads(result.stdout)["rows"]
        claim(all(row["steps"] >= 5 and row["step_median_ms"] >= 5.9 for row in rows), "training takes 6 ms", rows)
        claim(6 <= free["predicted_ms"] < 12, "rank 0 is predicted to wait for nobody", free)
        for row in (bound, ring):
            claim(60 <= row["predicted_ms"] < 70, "and to go at the pace of rank 1, which takes 60 ms", row)


def test_the_plans_of_published_methods_are_executed():
    with temporary_folder() as folder:
        files = ["--model", write(folder, "model", MODEL), "--profile", write(folder, "profile", PROFILE)]
        plans, planned = ["--plan", write(folder, "plain", "version: 1\n")], []
        for method in ("mg_wfbp,ps", "best_groups,ring", "bytescheduler"):
            plan = f"{folder}/{method}"
            made = casync("plan", *files, "-n", "2", "--nodes", "1", "--method", method, "-o", plan, "--json")
            ends_with(0, made, method)
            planned.append(json.loads(made.stdout)["step_ms"])
            plans += ["--plan", plan]
        groups = write(folder, "groups", 'version: 1 group { name: "g" gradient: "a" gradient: "c" }\n')
        step = ["bench", "step", "-r", "2", *files, "--seconds", "0.1", "-w", "1", "--json"]
        result = casync(*step, *plans, "--plan", groups)
        ends_with(0, result, "bench step")
        plain, *rows = json.loads(result.stdout)["rows"]
        claim(all(abs(row["payload_bytes"] - plain["payload_bytes"]) < 100 for row in rows), "the same bytes", plain, rows)
        claim(all(row["step_median_ms"] >= 5.9 for row in rows), "training takes 6 ms", rows)
        claim(all(abs(row["predicted_ms"] - step_ms) < 1e-6 for row, step_ms in zip(rows, planned)), "as planned", rows, planned)
        recorded = casync(*step, "--plan", groups, env={"CASYNC_RECORD": f"{folder}/record"})
        ends_with(0, recorded, "with CASYNC_RECORD")
        text = open(f"{folder}/record/model.txtpb").read()
        named = [name for name in "acg" if f'name: "{name}"' in text]
        claim(named == ["a", "c"], "a group is recorded as its members", text)


def test_the_record_finds_the_slow_rank_that_the_description_says():
    for who in (0, 1):  # twice the steps by which a rank is judged, for a busy machine
        with temporary_folder() as folder:
            model = write(folder, "model", MODEL + f"slow {{ rank: {who} factor: 5 }}\n")
            ends_with(0, casync("bench", "step", "-r", "3", "--model", model, "--seconds", "2", "-w", "0",
                                env={"CASYNC_RECORD": f"{folder}/record"}), "with CASYNC_RECORD")  # fmt: skip
            text = open(f"{folder}/record/model.txtpb").read()
            slow = re.findall(r"slow \{\s*rank: (\d+)\s*factor: (\S+)\s*\}", text)
            claim([int(rank) for rank, _ in slow] == [who], "this rank", text)
            claim(2.5 < float(slow[0][1]) < 7, "about 5 times as long", text)


def test_the_record_is_of_the_training():
    with temporary_folder() as folder:
        step = ["bench", "step", "-r", "2", "--model", write(folder, "model", MODEL), "--seconds", "0.1", "-w", "0"]
        ends_with(0, casync(*step, env={"CASYNC_RECORD": f"{folder}/record"}), "with CASYNC_RECORD")
        recorded = f"{folder}/record/model.txtpb"
        text = open(recorded).read()
        claim('name: "a" shape: 300 shape: 7' in text and 'dtype: "bfloat16"' in text, "names, shapes and types", text)
        claim("barrier" not in text, "only what a step has", text)
        again = casync("simulate", "--json", "--model", recorded, "--profile", write(folder, "profile", PROFILE), "-n", "2")
        ends_with(0, again, "a model description")
        # Sleeping is never shorter than what was asked for.
        claim(json.loads(again.stdout)["step_ms"] >= 5.5, "training's 6 ms", again.stdout)


def write(folder, name, text):
    path = f"{folder}/{name}"
    with open(path, "w") as file:
        file.write(text)
    return path


def test_a_plan_file_decides():
    with temporary_folder() as folder:
        plan = folder + "/plan.txtpb"
        with open(plan, "w") as file:
            file.write('version: 1\nrule { match: "bench.4096" codec { name: "bf16" } }\n')
        codecs = [row["codec"] for row in all_reduce("--plan", plan)]
    claim(codecs == ["bf16", "none", "none"], "the rule takes its gradient only", codecs)


def test_text_and_csv_tell_the_same_columns():
    text = casync("bench", "all_reduce", *QUICK)
    ends_with(0, text, "as text")
    lines = [line for line in text.stdout.splitlines() if not line.startswith("# ")]
    claim(len(text.stdout.splitlines()) - len(lines) >= 4, "with a head that says what it was measured on", text.stdout)
    comma = casync("bench", "all_reduce", *QUICK, "--csv")
    ends_with(0, comma, "as CSV")
    rows = rows_of_csv(comma.stdout)
    claim([row["size_bytes"] for row in rows] == ["4096", "16384", "65536"], "rows by size", comma.stdout)


def test_rank_0_prints_under_a_launcher():
    result = casync("run", "-n", "2", "--", TOOL, "bench", "all_reduce", *QUICK)
    ends_with(0, result, "under casync run")
    claim({line[:4] for line in result.stdout.splitlines()} == {"[0] "}, "nobody else prints", result.stdout)


def test_a_closed_stdout_is_no_socket():
    command = ["sh", "-c", 'exec "$0" "$@" >&-', TOOL, "bench", "all_reduce", *QUICK]
    result = casync("run", "-n", "2", "--", *command)
    ends_with(1, result, "the table is lost")
    claim("casync: stdout cannot be written" in result.stderr, "said", result.stderr)
    claim("died" not in result.stderr, "it goes to no other rank", result.stderr)


def test_a_strategy_is_measured_or_refused():
    result = casync("bench", "all_reduce", "-r", "2", *QUICK, "--strategy", "ring", file_bytes=10)
    ends_with(1, result, "a temporary folder that is full")
    claim("plan.txtpb: cannot be written: File too large" in result.stderr, "said", result.stderr)
    claim(result.stdout == "", "no figures", result.stdout)


def test_its_timelines_make_a_report():
    with temporary_folder() as folder:
        env = {"CASYNC_TRACE": folder, "CASYNC_LINK": "1gbit"}
        ends_with(0, casync("bench", "all_reduce", *QUICK, "--codec", "int8", env=env), "with a trace")
        report = casync("report", folder, "--json")
        ends_with(0, report, "what sessions write is what report reads")
        numbers = json.loads(report.stdout)
    claim(numbers["ranks"] == 2 and numbers["missing_ranks"] == [] and numbers["steps"] == 15,
          "both ranks, 3 x 5 steps", numbers)
    claim(numbers["link"] == "1gbit", "the pacing is on record", numbers["link"])
    gradients = {one["name"]: one["ratio"] for one in numbers["gradients"]}
    claim(set(gradients) == {"bench.4096", "bench.16384", "bench.65536"}, "three gradients", gradients)
    claim(all(3 < ratio < 4 for ratio in gradients.values()), "int8 is nearly four times smaller", gradients)
    claim(3 < numbers["ratio"] < 4, "and so is the job, though no step has all gradients", numbers["ratio"])
    kinds = {kind for rank in numbers["by_rank"] for kind, task in rank["tasks"].items() if task["count"] > 0}
    claim(kinds == {"encode", "merge", "decode", "send", "recv"}, "all five primitives", kinds)


def test_results_of_random_codecs_are_right():
    # Codecs with numbers of their own on each rank, with shared ones, with a result, rotated, sketched.
    for codec in ("qsgd", "randomk", "diana", "drive", "sketch"):
        all_reduce("--codec", codec)
    all_reduce("--codec", "qsgd", "--strategy", "ring")
    with temporary_folder() as folder:
        all_reduce("--plan", write(folder, "plan", 'version: 1\nseed: 7\ndefault { codec { name: "terngrad" } }\n'))


def test_plans_whose_steps_are_not_alike_are_refused():
    with temporary_folder() as folder:
        for text, word in (("staleness: 1", "a mode"), ("asynchronous { }", "a mode"),
                           ("default { warm_up_steps: 9 }", "warm_up_steps"),
                           ('group { name: "g" gradient: "bench.4096" gradient: "bench.16384" }', "groups")):
            plan = write(folder, "plan", f"version: 1\n{text}\n")
            result = casync("bench", "all_reduce", *QUICK, "--plan", plan)
            ends_with(3, result, text)
            claim(f"{plan}: {word}" in result.stderr and "casync bench step" in result.stderr, "why", result.stderr)


def test_a_ring_carries_a_codec_that_encodes_again_at_each_hop():
    result = casync("bench", "all_reduce", *QUICK, "--codec", "onebit", "--strategy", "ring", "--json")
    ends_with(0, result, "onebit in a ring")
    rows = json.loads(result.stdout)["rows"]
    claim(rows and all(row["strategy"] == "ring" and row["wrong"] == 0 for row in rows), "as replayed", rows)


def test_codec_has_a_row_per_codec():
    result = casync("bench", "codec", "int8", "int4:block=64", "--partition", "256K", "--total", "1M", "--seconds",
                    "0.01", "--json")
    ends_with(0, result, "bench codec")
    rows = json.loads(result.stdout)["rows"]
    claim([row["codec"] for row in rows] == ["int8", "int4:block=64"], "the codecs asked for", rows)
    for what in ("encode", "decode", "merge"):
        claim(all(row[f"{what}_gb_s"] > 0 and row[f"{what}_of_copy"] > 0 for row in rows), f"speed of {what}", rows)
    claim(4 < rows[1]["payload_bits"] < rows[0]["payload_bits"] < 9, "bits per element, scales included", rows)
    merged = casync("bench", "codec", "int8", "--partition", "16K", "--total", "16K", "--seconds", "0.001", "--merged", "3")
    ends_with(0, merged, "bench codec --merged")
    claim("merge3(GB/s)" in merged.stdout, "the number of codes in a merge", merged.stdout)
    ends_with(3, casync("bench", "codec", "zip"), "an unknown codec")
    large = casync("bench", "codec", "--partition", "2M", "--total", "1M")
    ends_with(2, large, "partitions larger than all")
    claim("--partition 2M of --total 1M" in large.stderr, "both named", large.stderr)
    ends_with(2, small := casync("bench", "all_reduce", "-r", "2", "-b", "2"), "less than a float32")
    claim("--min-bytes 2, expected at least 4" in small.stderr, "the option", small.stderr)


def rows_of_csv(text):
    return list(csv.DictReader(io.StringIO("".join(l for l in text.splitlines(True) if not l.startswith("#")))))


def test_csv_quotes_what_has_commas():
    name = "int4:block=64,feedback=0"
    result = casync("bench", "codec", name, "--partition", "256K", "--total", "1M", "--seconds", "0.01", "--csv")
    ends_with(0, result, "bench codec --csv")
    [row] = rows_of_csv(result.stdout)
    claim(row["codec"] == name and None not in row, "a field per heading", result.stdout)
    claim(float(row["merge_gb_s"]) > 0, "each below its own", row)
    with temporary_folder() as folder:
        plan = write(folder, 'a "plan", mine', "version: 1\n")
        step = ["bench", "step", "-r", "2", "--model", write(folder, "model", MODEL), "--seconds", "0.1", "-w", "0"]
        result = casync(*step, "--plan", plan, "--csv")
        ends_with(0, result, "bench step --csv")
        [row] = rows_of_csv(result.stdout)
        claim(row["plan"] == plan and None not in row, "quotes are doubled", result.stdout)


def test_transport_has_a_row_per_size():
    result = casync("bench", "transport", "-b", "4K", "-e", "1M", "-f", "16", "--seconds", "0.02", "--json")
    ends_with(0, result, "bench transport")
    made = json.loads(result.stdout)
    rows = made["rows"]
    claim(any("checksum=xxh3" in line for line in made["about"]), "with checksums", made["about"])
    claim([row["size_bytes"] for row in rows] == [4096, 65536, 1048576], "rows by size", rows)
    claim(all(row["latency_us"] > 0 and row["bandwidth_gib_s"] > 0 and row["exchange_ms"] > 0 for row in rows),
          "figures", rows)


def test_transport_uses_the_interface_and_leaves_out_checksums_as_it_is_told():
    small = ["bench", "transport", "--transport", "ucx:tcp", "-b", "4K", "-e", "4K", "--seconds", "0.005"]
    result = casync(*small, "--interface", "lo", "--no-checksum", "--json")
    ends_with(0, result, "bench transport --interface lo --no-checksum")
    about = json.loads(result.stdout)["about"]
    claim(any("NET_DEVICES=lo " in line and "checksum=off" in line for line in about), "the description says so", about)
    refused = casync(*small, "--interface", "nosuch0")
    ends_with(3, refused, "an interface that is not there")
    claim('"nosuch0"' in refused.stderr, "it is named", refused.stderr)


def test_a_transport_between_processes_is_needed():
    with temporary_folder() as folder:
        step = ["bench", "step", "--model", write(folder, "model", MODEL)]
        for command in (["bench", "transport", "--transport"], ["bench", "all_reduce", "-r", "2", "--transport"],
                        [*step, "-r", "2", "--transport"], ["profile", "--inside"], ["profile", "--between"]):
            result = casync(*command, "loopback")
            ends_with(3, result, f"casync {command} loopback")
            claim("loopback joins threads of one process" in result.stderr, "said at once", result.stderr)
        alone = casync("bench", "all_reduce", *QUICK, "-r", "1", "--transport", "loopback")
        ends_with(0, alone, "one rank needs no other process")


def test_ctrl_c_leaves_no_folder_of_a_plan_that_the_bench_has_written():
    with temporary_folder() as folder:
        command = [TOOL, "bench", "all_reduce", "-r", "2", "--strategy", "ps", "-n", "1000000"]
        job = subprocess.Popen(command, env={**own_environment(), "TMPDIR": folder}, text=True, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        until(lambda: len(list(Path(folder).glob("casync-??????/plan.txtpb"))) == 2, 60, "each rank has a plan")
        job.send_signal(signal.SIGINT)
        job.communicate(timeout=100)
        until(lambda: not list(Path(folder).glob("casync-??????")), 60, "no folder is left")


found = {one["name"]: one for one in json.loads(casync("doctor", "--json").stdout)["findings"]}
ucx = found["transport ucx"]
claim(ucx["state"] != "broken", "a build with UCX opens it", ucx)
if ucx["state"] != "ok":
    print("[SKIP] there is no UCX here")
    sys.exit(77)
run_all(globals())
