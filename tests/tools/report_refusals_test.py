# SPDX-License-Identifier: Apache-2.0
"""casync report: nothing hostile is accepted, and each refusal names the file and the place."""
import copy
import json
from pathlib import Path

from command import casync, claim, ends_with, run_all, temporary_folder
from traces import MODEL, PROFILE, numbers, trace, write


def refused(text, *words, name="rank0.trace.json"):
    with temporary_folder() as folder:
        (Path(folder) / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        result = casync("report", folder)
        ends_with(3, result, f"a file that begins with {text[:60]!r}")
        claim(not (Path(folder) / "report.html").exists() and result.stdout == "", "nothing is written")
        for word in (name, *words):
            claim(word in result.stderr, f"the message holds {word!r}", result.stderr)


def changed(path, value):
    """The trace of rank 0 with one field replaced, or removed where value is None."""
    whole = copy.deepcopy(trace(0))
    inner = whole
    for key in path[:-1]:
        inner = inner[key]
    if value is None:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return json.dumps(whole)


def test_files_that_are_no_json_are_refused_with_line_and_column():
    whole = json.dumps(trace(0), indent=1)
    for cut in (0, 1, 20, len(whole) // 2, len(whole) - 1):
        refused(whole[:cut], "line", "column", "the file is cut short")
    refused(b"\x00\xff\xfe not json", "line 1")
    refused('{"traceEvents": [{"ph": "X\xff"}]}'.encode("latin-1"), "line 1")
    refused("[" * 200000, "line 1")
    refused(changed(["casync", "epoch_us"], "@").replace('"@"', "1e999"), "1e999")


def test_files_of_another_form_are_refused_naming_the_place():
    refused("[]", "expected an object")
    refused("{}", "`traceEvents` is missing")
    refused('{"traceEvents": []}', "`casync` is missing")
    refused('{"traceEvents": [7], "casync": {}}', "event 0")
    refused('{"traceEvents": [[]], "casync": {}}', "event 0")
    refused(changed(["casync", "rank"], 2), "`rank` is 2", "from 0 to 1")
    refused(changed(["casync", "ranks"], 0), "`ranks` is 0")
    refused(changed(["casync", "ranks"], 1e9), "`ranks` is 1000000000.0")
    refused(changed(["casync", "epoch_us"], None), "`epoch_us` is missing")
    refused(changed(["casync", "job"], 7), "`job` is 7")
    refused(changed(["casync", "gradients"], "many"), "`gradients` is not an array")
    refused(changed(["casync", "gradients", 0, "elements"], -1), "gradients[0]", "`elements` is -1")
    refused(changed(["casync", "gradients", 0, "name"], 5), "gradients[0]", "`name` is 5")
    refused(changed(["casync", "gradients", 0, "scattered"], 2), "gradients[0]", "`scattered` is 2")
    for members in ("many", ["one", 2], None, {"one": "two"}, 7):
        whole = trace(0)
        whole["casync"]["gradients"][0]["members"] = members
        refused(json.dumps(whole), "gradients[0]", "`members` is not an array of names")
    refused(changed(["casync", "stats", "steps"], "two"), "casync.stats", '`steps` is "two"')


def test_bad_events_are_refused_naming_the_event_and_the_field():
    refused(changed(["traceEvents", 3, "dur"], -5), "event 3", "send fc.weight[1]", "`dur` is -5")
    refused(changed(["traceEvents", 3, "ts"], 1e300), "event 3", "`ts` is 1e+300")
    refused(changed(["traceEvents", 3, "ts"], None), "event 3", "`ts` is missing")
    refused(changed(["traceEvents", 3, "ph"], None), "event 3", "`ph` is missing")
    refused(changed(["traceEvents", 3, "args"], []), "event 3", "`args`")
    refused(changed(["traceEvents", 3, "args", "step"], 1e18), "event 3", "`step` is 1e+18")
    refused(changed(["traceEvents", 3, "args", "gradient"], ["x" * 5000]), "event 3", "`gradient`")
    refused(changed(["traceEvents", 3, "tid"], -1), "event 3", "`tid` is -1")
    refused(changed(["traceEvents", 1, "args", "processor_us"], -2), "event 1", "`processor_us` is -2")


def test_characters_that_a_terminal_would_obey_are_not_printed():
    with temporary_folder() as folder:
        bad = trace(0)
        bad["traceEvents"][3].update(name="\x1b[2Jwiped \u202e", dur=-1)
        result = casync("report", write(folder, bad))
        ends_with(3, result, "a name with control characters")
        claim(result.stderr.strip().isascii() and "\x1b" not in result.stderr, "no control characters",
              repr(result.stderr))


def test_events_of_other_kinds_are_counted_not_refused():
    other = trace(0)
    other["traceEvents"].append({"ph": "X", "cat": "tea", "name": "pause", "ts": 0, "dur": 1})
    claim(numbers(other, trace(1))["by_rank"][0]["ignored_events"] == 1, "one event ignored")


def test_folders_of_two_jobs_are_refused():
    with temporary_folder() as folder:
        stranger = trace(1)
        stranger["casync"]["ranks"] = 3
        result = casync("report", write(folder, trace(0), stranger))
        ends_with(3, result, "ranks of jobs of different sizes")
        claim("rank0.trace.json" in result.stderr and "rank1.trace.json" in result.stderr, "both are named",
              result.stderr)
    for job, refuses in (("0b", True), ("0a", False), ("", False)):  # "": an older version wrote it
        with temporary_folder() as folder:
            mine, other = trace(0), trace(1)
            mine["casync"]["job"], other["casync"]["job"] = "0a", job
            result = casync("report", write(folder, mine, other))
            ends_with(3 if refuses else 0, result, f"a trace of job 0a beside one of job {job}")
            for words in ("rank0.trace.json and ", "rank1.trace.json are of different jobs"):
                claim((words in result.stderr) == refuses, "both are named", result.stderr)
    with temporary_folder() as folder:
        write(folder, trace(0))
        (Path(folder) / "rank1.trace.json").write_text(json.dumps(trace(0)))
        result = casync("report", folder)
        ends_with(3, result, "two files of one rank")
        claim("both say they are rank 0" in result.stderr, "which one", result.stderr)


def test_empty_and_absent_folders_are_refused():
    with temporary_folder() as folder:
        ends_with(3, casync("report", folder), "an empty folder")
        ends_with(3, casync("report", Path(folder) / "nowhere"), "no folder")
        (Path(folder) / "rank0.trace.json").mkdir()
        ends_with(3, casync("report", folder), "a folder called like a trace")


def test_a_comparison_refuses_decisions_that_no_session_has():
    for fields, words in (({"codec": "mine (program 01)"}, "its codec mine (program 01) is a file"),
                          ({"second_hop": "mine (program 01)"}, "its codec mine (program 01) is a file"),
                          ({"partitions": 0}, "fc.weight: 0 partitions"),
                          ({"partitions": 1e9}, "fc.weight: 1000000000 partitions, expected 1 to ")):
        with temporary_folder() as folder:
            both = [trace(0), trace(1)]
            for one in both:
                one["casync"]["gradients"][0].update(fields)
            (Path(folder) / "profile.txtpb").write_text(PROFILE % "")
            (Path(folder) / "model.txtpb").write_text(MODEL)
            result = casync("report", write(folder, *both), "--profile", f"{folder}/profile.txtpb")
            ends_with(3, result, fields)
            claim(words in result.stderr, "named", result.stderr)


def compared(**fields):
    """`casync report --profile` of two ranks whose traces have other fields."""
    with temporary_folder() as folder:
        both = [trace(0), trace(1)]
        for one in both:
            one["casync"].update(fields)
        (Path(folder) / "profile.txtpb").write_text(PROFILE % "")
        (Path(folder) / "model.txtpb").write_text(MODEL)
        return casync("report", write(folder, *both), "--profile", f"{folder}/profile.txtpb", "--json")


def test_late_results_are_compared_with_late_ones_and_steps_that_are_not_alike_with_none():
    steps = []
    for staleness in (0, 1, 4):
        result = compared(mode="", staleness=staleness)
        ends_with(0, result, f"a staleness of {staleness}")
        terms = {term["name"]: term["predicted_ms"] for term in json.loads(result.stdout)["prediction"]["terms"]}
        steps.append((terms["step"], terms["exposed"]))
    claim(steps[0][0] > 6.5 and steps[0][1] > 0.5, "the exchange, behind passes of 6 ms", steps)
    claim(all(abs(step - 6) < 1e-3 and abs(exposed) < 1e-3 for step, exposed in steps[1:]), "beside them", steps)
    for mode in ("local_sgd", "gossip", "asynchronous"):
        result = compared(mode=mode)
        ends_with(3, result, mode)
        for words in ("rank0.trace.json", f"a run with `{mode}`", "`casync simulate`"):
            claim(words in result.stderr, "why, and what to do", result.stderr)
    refused(changed(["casync", "staleness"], -1), "`staleness` is -1")
    refused(changed(["casync", "mode"], "\x1b[2J"), "`mode` is \"?[2J\"")
    refused(changed(["casync", "plan_mode"], "\x1b[2J"), "`plan_mode` is \"?[2J\"")


def test_a_broken_record_beside_the_traces_is_named_and_needed_by_a_comparison_only():
    with temporary_folder() as folder:
        path = write(folder, trace(0), trace(1))
        (Path(folder) / "model.txtpb").write_text("version: 1\nbackward_secs: 0.1\n")
        result = casync("report", path, "--json")
        ends_with(0, result, "report")
        claim("model.txtpb" in result.stderr and "backward_secs" in result.stderr, "named", result.stderr)
        claim("unequal" not in json.loads(result.stdout), "nothing is known of ranks", result.stdout)
        (Path(folder) / "profile.txtpb").write_text(PROFILE % "")
        result = casync("report", path, "--profile", f"{folder}/profile.txtpb")
        ends_with(3, result, "report --profile")
        claim(result.stderr.count("backward_secs") == 1, "once", result.stderr)
        (Path(folder) / "model.txtpb").unlink()
        (Path(folder) / "model.txtpb").symlink_to("model.txtpb")
        looped = casync("report", path, "--json")
        ends_with(0, looped, "a model that cannot be looked at")
        claim("model.txtpb" in looped.stderr, "named", looped.stderr)


run_all(globals())
