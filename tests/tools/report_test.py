# SPDX-License-Identifier: Apache-2.0
"""casync report: known numbers from known traces, and one page that needs no network."""
import json
import re
from pathlib import Path

from command import casync, claim, ends_with, run_all, temporary_folder
from traces import MODEL, PROFILE, WORK, data, near, numbers, page, trace, write


def test_the_numbers_are_those_of_the_traces():
    seen = numbers(trace(0), trace(1))
    expected = {"ranks": 2, "missing_ranks": [], "transport": "loopback", "link": "", "mode": "", "steps": 2,
                "traced_steps": 2, "first_step": 0, "last_step": 1, "ms_per_step": 8.0, "first_step_ms": 8.0,
                "exposed_ms_per_step": 1.5,
                "payload_bytes_per_rank_step": 8000, "wire_bytes_per_rank_step": 8200,
                "plain_bytes_per_rank_step": 32000, "ratio": 4.0}
    claim({key: seen[key] for key in expected} == expected, "the job's numbers", seen)
    tasks = [{kind: one["ms_per_step"] for kind, one in rank["tasks"].items()} for rank in seen["by_rank"]]
    claim(tasks == [{"encode": 0.1, "merge": 0.2, "decode": 0.05, "send": 1.0, "recv": 1.5},
                    {"encode": 0.2, "merge": 0.4, "decode": 0.1, "send": 2.0,
                     "recv": 3.0}], "milliseconds by kind", tasks)
    gradient = seen["gradients"][0]
    claim((gradient["mean_ms"], gradient["exposed_ms"], gradient["ratio"], gradient["bytes"]) == (7.5, 0.25, 4.0,
                                                                                                  32000),
          "means over ranks", gradient)


def test_the_mode_is_the_plans_and_of_older_traces_its_name():
    for header, mode in (({"mode": "local_sgd", "plan_mode": "local_sgd { every: 4 }"}, "local_sgd { every: 4 }"),
                         ({"mode": "", "plan_mode": "staleness: 2"}, "staleness: 2"), ({"mode": "gossip"}, "gossip")):
        both = [trace(0), trace(1)]
        for one in both:
            one["casync"].update(header)
        claim(numbers(*both)["mode"] == mode, "as it is written", header)


def test_the_first_step_and_outliers_do_not_move_the_headline():
    slow = [trace(0), trace(1)]
    for one in slow:
        steps = [event for event in one["traceEvents"] if event.get("cat") == "step"]
        steps[0]["dur"] = 422_000
        one["traceEvents"] += [{**steps[1], "ts": 30_000 + 8_000 * at, "dur": 8_000 if at < 8 else 90_000,
                                "args": {"step": 2 + at}} for at in range(9)]
    seen = numbers(*slow)
    claim((seen["ms_per_step"], seen["first_step_ms"]) == (8.0, 422.0), "the median without the first step", seen)
    claim(seen["series"]["ms"][0] == 422.0 and len(seen["series"]["step"]) == 11, "the curve has all steps", seen["series"])


def test_compute_exposed_and_hidden_split_a_step():
    seen = numbers(trace(0), trace(1))
    by_rank = [(rank["exposed_ms_per_step"], rank["hidden_ms_per_step"]) for rank in seen["by_rank"]]
    # The decode runs while the program waits, so it is not hidden; sends and receives overlap and count once.
    claim(all(near(a, b) for a, b in zip(sum(by_rank, ()), (1.5, 1.8, 1.5, 3.6))), "of each rank", by_rank)
    claim(near(seen["hidden_ms_per_step"], 2.7), "mean over ranks", seen)


def test_ranks_that_the_record_says_are_unequal_are_told():
    model = 'version: 1\nbackward_seconds: 0.1\nforward_seconds: 0.1\ngradient { name: "a" shape: [4] ready_seconds: 0.1 need_seconds: 0 }\n'
    for slow in ("slow { rank: 1 factor: 1.5 }", ""):
        with temporary_folder() as folder:
            path = write(folder, trace(0), trace(1))
            (Path(path) / "model.txtpb").write_text(model + slow)
            made = casync("report", path)
            ends_with(0, made, "report")
            said = "rank 1 computes 1.5 times as long as the others: the step waits for it"
            claim((said in made.stderr) == bool(slow), "on the terminal", made.stderr)
            seen = data((Path(path) / "report.html").read_text(), "numbers")
            claim(seen.get("unequal", "").startswith(said) == bool(slow), "on the page", seen.get("unequal"))
            claim(("unequal" in json.loads(casync("report", path, "--json").stdout)) == bool(slow), "as JSON")


def test_traces_without_waits_have_no_split():
    older = [trace(0), trace(1)]
    for one in older:
        one["traceEvents"] = [event for event in one["traceEvents"] if event.get("cat") != "wait"]
    seen = numbers(*older)
    claim(seen["exposed_ms_per_step"] is None and seen["hidden_ms_per_step"] is None, "unknown, not zero", seen)


def test_the_backward_pass_is_measured_and_drawn():
    seen = numbers(trace(0), trace(1))
    claim([rank["backward_ms_per_step"] for rank in seen["by_rank"]] == [3.0, 6.0], "of each rank", seen["by_rank"])
    claim(seen["backward_ms_per_step"] == 4.5, "mean over ranks", seen)
    claim("backward" not in seen["by_rank"][0]["tasks"], "it is no task", seen["by_rank"][0]["tasks"])
    columns = data(page(trace(0), trace(1)), "timeline-data")
    kind = columns["kinds"].index("backward")
    drawn = [(columns["rank"][i], columns["start_us"][i], columns["duration_us"][i]) for i, one in
             enumerate(columns["kind"]) if one == kind]
    claim(sorted(drawn) == [(0, 200, 3000), (0, 10200, 3000), (1, 700, 6000), (1, 10700, 6000)], "a lane of it", drawn)
    older = trace(1)
    older["traceEvents"] = [event for event in older["traceEvents"] if event.get("cat") != "backward"]
    seen = numbers(trace(0), older)
    claim([rank["backward_ms_per_step"] for rank in seen["by_rank"]] == [3.0, None] and
          seen["backward_ms_per_step"] == 3.0, "an older trace does not say it", seen)


def test_links_are_used_by_the_bytes_of_a_step():
    seen = numbers(trace(0), trace(1))["links"]
    claim((seen["messages"], seen["gbit_per_s"], seen["source"]) == ("between nodes", None, None),
          "two hosts, and nobody says how fast their link is", seen)
    claim([rank["rank"] for rank in seen["by_rank"]] == [0, 1], "each rank", seen)
    # 1000 bytes in a step of 8 ms. Both clocks show messages of 3.5 and 1 ms; put right, each takes their mean.
    for way in [rank[way] for rank in seen["by_rank"] for way in ("out", "in")]:
        claim(way["bytes_per_step"] == 1000 and near(way["gbit_per_s"], 0.001), "the rate of a step", way)
        claim(near(way["busy"], 2.25 / 8) and near(way["busy_gbit_per_s"], 8e-6 / 2.25e-3), "while it is used", way)
        claim(way["utilization"] is None, "of an unknown rate", way)


def test_the_first_step_does_not_count_for_links():
    first = [trace(0), trace(1)]
    for one in first:
        for event in one["traceEvents"]:
            if event.get("cat") in ("send", "recv") and event["args"]["step"] == 0:
                event["args"]["bytes"] = 1_000_000
    out = numbers(*first)["links"]["by_rank"][0]["out"]
    claim(out["bytes_per_step"] == 1000, "bytes of the second step", out)


def test_a_paced_link_is_known():
    seen = numbers(trace(0, link="10mbit,1ms"), trace(1, link="10mbit,1ms"))["links"]
    claim((seen["messages"], seen["source"]) == ("all", "CASYNC_LINK") and near(seen["gbit_per_s"], 0.01), "its rate", seen)
    claim(all(near(rank[way]["utilization"], 0.1) for rank in seen["by_rank"] for way in ("out", "in")),
          "a tenth of it is used", seen)
    other = numbers(trace(0, link="of a later version"), trace(1))["links"]
    claim((other["messages"], other["gbit_per_s"]) == ("all", None), "an unknown form is no rate", other)


def test_a_profile_tells_the_rate_of_links():
    def links(*traces, profile):
        with temporary_folder() as folder:
            file = Path(folder) / "profile.txtpb"
            file.write_text(profile)
            (Path(folder) / "model.txtpb").write_text(MODEL)
            result = casync("report", write(folder, *traces), "--profile", file, "--json")
            ends_with(0, result, "report --profile")
            return json.loads(result.stdout)["links"]

    seen = links(trace(0), trace(1), profile=PROFILE % "")
    claim(seen["source"] == "profile" and near(seen["gbit_per_s"], 0.08), "10 MB/s between nodes", seen)
    claim(near(seen["by_rank"][0]["out"]["utilization"], 0.0125), "an eightieth of it", seen)
    inside = PROFILE % "" + "inside { latency_seconds: 1e-6 point { size: 0 seconds: 0 } point { size: 1e6 seconds: 1 } }\n"
    seen = links(one_host(0), one_host(1), profile=inside)
    claim(seen["messages"] == "all" and near(seen["gbit_per_s"], 0.008), "1 MB/s inside of one node", seen)
    # Rank 0 sends a second message, which nobody receives.
    claim(near(seen["by_rank"][0]["out"]["utilization"], 0.25) and near(seen["by_rank"][0]["in"]["utilization"], 0.125),
          "of a rank's link, each way", seen)


def test_messages_within_a_node_do_not_use_the_link_between_nodes():
    def on_node(rank, node, peer):
        made = trace(rank % 2)
        made["casync"].update(rank=rank, ranks=4, node=node, host=f"host{rank}")
        for event in made["traceEvents"]:
            if "peer" in event.get("args", {}):
                event["args"]["peer"] = peer
        return made

    # 0 and 1 are one node; each sends to and receives from one rank.
    seen = numbers(on_node(0, 0, 1), on_node(1, 0, 0), on_node(2, 1, 3), on_node(3, 2, 2))["links"]
    claim(seen["messages"] == "between nodes", "there are three nodes", seen)
    sent = [rank["out"]["bytes_per_step"] for rank in seen["by_rank"]]
    claim(sent == [0, 0, 1000, 1000], "only 2 and 3 use it", sent)


def test_a_rank_without_a_trace_is_no_node_of_its_own():
    def of_three(rank):
        made = trace(rank)
        made["casync"].update(ranks=3, host="same")
        return made

    seen = numbers(of_three(0), of_three(1))["links"]
    claim(seen["messages"] == "all", "the ranks whose node is known are on one", seen)
    claim([rank["out"]["bytes_per_step"] for rank in seen["by_rank"]] == [1000, 1000], "each message counts", seen)


def test_the_page_has_the_rates_over_time():
    flows = data(page(trace(0), trace(1)), "timeline-data")["flows"]
    claim([(flow["rank"], flow["way"]) for flow in flows] == [(0, "out"), (0, "in"), (1, "out"), (1, "in")],
          "out of and into each rank", flows)
    claim(flows[0]["at_us"] == [300, 2550, 10300, 12550], "from the sender's begin until it is there", flows[0])
    claim(flows[0]["gbit_per_s"] == [0.003556, 0, 0.003556, 0], "1000 bytes in 2.25 ms", flows[0])
    one_step = data(page(trace(0), trace(1), options=["--steps", "1"]), "timeline-data")["flows"]
    claim(one_step[0]["at_us"] == [300, 2550], "of the steps that are drawn", one_step[0])


def test_a_rank_without_a_trace_is_missing_not_an_error():
    with temporary_folder() as folder:
        result = casync("report", write(folder, trace(1)), "--json")
        ends_with(0, result, "one of two ranks")
        claim(json.loads(result.stdout)["missing_ranks"] == [0], "rank 0 is missing", result.stdout)
        claim("rank 0 of 2 left no trace" in result.stderr, "and said to be", result.stderr)


def test_clocks_are_aligned():
    columns = data(page(trace(0), trace(1)), "timeline-data")
    steps = [(columns["rank"][i], columns["start_us"][i]) for i, kind in enumerate(columns["kind"]) if kind == 0]
    claim(sorted(steps) == [(0, 0), (0, 10000), (1, 500), (1, 10500)], "rank 1 is 500 us later", steps)


def test_the_page_is_one_file_that_opens_no_connection():
    html = page(trace(0), trace(1))
    claim(not re.search(r'(src|href)\s*=|@import|url\(|https?://', html), "nothing is loaded from anywhere")
    claim("default-src 'none'" in html, "and the browser is told so")


def test_pacing_reaches_the_page():
    claim(data(page(trace(0, link="1gbit,1ms"), trace(1, link="1gbit,1ms")), "numbers")["link"] == "1gbit,1ms", "link")


def test_names_cannot_leave_the_data():
    bad = trace(0)
    name = "</script><script>alert(1)</script><!--numbers-->"
    bad["casync"]["gradients"][0]["name"] = name
    bad["traceEvents"][2]["args"]["gradient"] = name
    html = page(bad, trace(1))
    claim(html.count("<script") == 3 and "alert(1)</script>" not in html, "three script elements, as always",
          html.count("<script"))
    claim(name in [gradient["name"] for gradient in data(html, "numbers")["gradients"]], "the name is shown as it is")


def test_steps_are_chosen():
    columns = data(page(trace(0), trace(1), options=["--steps", "1"]), "timeline-data")
    claim(set(columns["step"]) == {1} and columns["steps"] == [1, 1], "step 1 only", columns)
    for wrong in ("x", "3..1", "1..", "-1", "1..2x"):
        with temporary_folder() as folder:
            ends_with(2, casync("report", write(folder, trace(0)), f"--steps={wrong}"), f"--steps {wrong}")


def test_steps_that_were_not_traced_are_refused():
    for options in ([], ["--trace", "all.json"], ["--json"]):
        with temporary_folder() as folder:
            result = casync("report", write(folder, trace(0), trace(1)), "--steps", "2..7", *options, cwd=folder)
            ends_with(3, result, f"--steps 2..7 {options}")
            claim(f"--steps 2..7: {folder} has steps 0..1" in result.stderr, "which there are", result.stderr)
            claim(not [one.name for one in Path(folder).iterdir() if not one.name.startswith("rank")], "nothing is written")


def test_long_jobs_show_the_middle():
    long = trace(0)
    long["casync"]["ranks"] = 1
    first = long["traceEvents"][2]
    long["traceEvents"] = [{**first, "ts": 1000 * step + at, "args": {**first["args"], "step": step}}
                           for step in range(100) for at in range(1000)]
    columns = data(page(long), "timeline-data")
    claim(columns["all_steps"] is False and columns["steps"] == [21, 80], "60 steps around the 50th", columns["steps"])
    claim(len(columns["kind"]) == 60000, "whole steps only", len(columns["kind"]))


def predicted(*traces, work=""):
    """The terms of these traces and of a profile, by name, and all that was printed."""
    with temporary_folder() as folder:
        profile = Path(folder) / "profile.txtpb"
        profile.write_text(PROFILE % work)
        (Path(folder) / "model.txtpb").write_text(MODEL)
        write(folder, *traces)
        result = casync("report", folder, "--profile", profile, "--json")
        ends_with(0, result, "report --profile")
        text = casync("report", folder, "--profile", profile).stdout
        html = (Path(folder) / "report.html").read_text()
    prediction = json.loads(result.stdout)["prediction"]
    claim(data(html, "numbers")["prediction"] == prediction, "the page has the same", html[:1000])
    return {term["name"]: term for term in prediction["terms"]}, text


def one_host(rank, processor_us=None):
    """A trace whose first rank sends twice at once in the second step."""
    made = trace(rank)
    made["casync"]["host"] = "node0"
    if rank == 0:
        made["traceEvents"].append({**made["traceEvents"][10], "ts": 11800})
        made["traceEvents"][-1]["args"] = {**made["traceEvents"][10]["args"], "hop": 1}
    for event in made["traceEvents"]:
        if event.get("cat") == "step" and processor_us is not None:
            event["args"]["processor_us"] = processor_us if event["args"]["step"] == 1 else 100 * processor_us
    return made


def test_messages_on_their_way_are_measured_and_predicted_alike():
    terms, text = predicted(one_host(0), one_host(1))
    claim(list(terms) == ["step", "encode", "merge", "decode", "send", "recv", "exposed"],
          "an older trace does not say what processors did", terms)
    # On both clocks, rank 0 sends at 11.3 ms a message that rank 1 has at 14.8, and until 12.8 ms one that nobody has.
    # Rank 1 sends at 11.8 ms a message that rank 0 has at 12.8.
    claim(near(terms["send"]["measured_ms"], (3.5 + 1) / 2), "time in which something leaves, mean over ranks", terms)
    claim(near(terms["recv"]["measured_ms"], (1 + 3.5) / 2), "and comes in", terms)
    # Each rank sends 4000 elements of int8 to the other's partition, and the result back.
    claim(all(0.82 < terms[way]["predicted_ms"] < 0.84 for way in ("send", "recv")),
          "two messages of 4 KB at 10 MB/s, and two latencies", terms)
    claim("send " in text and "recv " in text, "in the table", text)


def test_clocks_of_other_hosts_are_put_by_the_messages_between_them():
    one, other = one_host(0), one_host(1)
    other["casync"]["host"] = "node1"
    other["casync"]["epoch_us"] += 7_000_000
    terms, _ = predicted(one, other)
    # Each way then takes the mean of both ways, 3.5 and 1 ms.
    claim(near(terms["recv"]["measured_ms"], 2.25) and near(terms["send"]["measured_ms"], 2.25),
          "seven seconds between two clocks are not seven seconds on the way", terms)


def test_processor_time_of_messages_is_measured_and_predicted():
    terms, text = predicted(one_host(0, 300), one_host(1, 500), work=WORK)
    claim(near(terms["messages"]["measured_ms"], 0.4), "of the second step, mean over ranks", terms)
    claim(near(terms["messages"]["predicted_ms"], 2 * (0.1 + 0.2)), "two messages out, two in", terms)
    claim("not predicted" not in text, "all is predicted", text)
    terms, text = predicted(one_host(0, 300), one_host(1, 500))
    claim(terms["messages"]["predicted_ms"] is None, "a profile that does not say it predicts nothing", terms)
    claim(re.search("messages +0.400 +not predicted", text), "and is said to", text)
    terms, _ = predicted(one_host(0, 300), one_host(1))
    claim("messages" not in terms, "one rank's trace is older", terms)


def test_the_merged_trace_is_a_chrome_trace():
    with temporary_folder() as folder:
        target = Path(folder) / "all.json"
        both = [trace(0), trace(1)]
        for event in (event for one in both for event in one["traceEvents"] if event.get("cat") == "step"):
            event["args"]["processor_us"] = 300
        ends_with(0, casync("report", write(folder, *both), "--trace", target), "--trace")
        events = json.loads(target.read_text())["traceEvents"]
    spans = [event for event in events if event["ph"] == "X"]
    claim(len(spans) == 32 and {event["pid"] for event in spans} == {0, 1}, "all spans of both ranks", len(spans))
    claim(min(event["ts"] for event in spans if event["pid"] == 1) == 500, "on one clock")
    names = [event["args"]["name"] for event in events if event["name"] == "process_name"]
    claim(names == ["rank 0 node0", "rank 1 node1"], "ranks are processes", names)
    waits = [event for event in spans if event["cat"] == "wait"]
    claim({event["name"] for event in waits} == {"wait fc.weight"} and not any("partition" in event["args"] for event in waits),
          "a wait is for all partitions", waits)
    encodes = {event["name"] for event in spans if event["cat"] == "encode"}
    claim(encodes == {"encode fc.weight[0]", "encode fc.weight[1]"}, "a task is of one", encodes)
    processors = {event["args"]["processor_us"] for event in spans if event["cat"] == "step"}
    claim(processors == {300}, "the processor time of steps is kept", processors)


def test_a_full_disk_leaves_the_merged_trace_as_it_was():
    with temporary_folder() as folder:
        target = Path(folder) / "all.json"
        target.write_text("{}")
        there = {path.name for path in Path(write(folder, trace(0), trace(1))).iterdir()}
        result = casync("report", folder, "--trace", target, file_bytes=100)
        ends_with(1, result, "a full disk")
        claim(f"{target}: cannot be written: File too large" in result.stderr, "said", result.stderr)
        claim(target.read_text() == "{}", "the old file is left", target.read_text())
        left = {path.name for path in Path(folder).iterdir()}
        claim(left == there, "and no part of the new one", left)


run_all(globals())
