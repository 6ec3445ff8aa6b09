# SPDX-License-Identifier: Apache-2.0
"""casync report --beside: two runs side by side, in the table, on the page and as JSON."""
import json
import re
from pathlib import Path

from command import casync, claim, ends_with, run_all, temporary_folder
from traces import data, near, trace, write


def slower():
    """A run like the other, but a step takes 10 ms, fc.weight 10 and 11 ms and half the bytes, and it has a head."""
    made = [trace(0), trace(1)]
    for one in made:
        for event in one["traceEvents"]:
            if event.get("cat") == "step":
                event["dur"] = 10_000
        gradient = one["casync"]["gradients"][0]
        gradient.update(mean_ms=gradient["mean_ms"] + 3, payload_bytes=4000, codec="int4", second_hop="int4")
        one["casync"]["gradients"].append({**gradient, "name": "head", "mean_ms": 1.0})
    return made


def beside(here, there, *options):
    with temporary_folder() as one, temporary_folder() as other:
        result = casync("report", write(one, *here), "--beside", write(other, *there), *options)
        ends_with(0, result, "report --beside")
        html = Path(one) / "report.html"
        return result.stdout, html.read_text() if html.exists() else "", other


def test_two_runs_stand_side_by_side():
    text, _, there = beside([trace(0), trace(1)], slower(), "--json")
    seen = json.loads(text)["beside"]
    claim((seen["directory"], seen["ranks"], seen["steps"], seen["link"]) == (there, 2, 2, ""), "the other run", seen)
    terms = {term["name"]: (term["here"], term["there"], term["difference"]) for term in seen["terms"]}
    claim(terms["ms_per_step"] == (8.0, 10.0, -2.0), "medians of a step", terms)
    claim(terms["exposed_ms_per_step"] == (1.5, 1.5, 0.0), "exposed", terms)
    claim(terms["backward_ms_per_step"] == (4.5, 4.5, 0.0), "the backward pass", terms)
    claim(near(terms["encode"][0], 0.15) and terms["encode"][2] == 0, "tasks, mean over ranks", terms)
    # The head has as many plain bytes as fc.weight.
    claim(terms["ratio"] == (4.0, 8.0, -4.0), "compression", terms)
    weight, head = seen["gradients"]
    claim(weight["name"] == "fc.weight" and weight["mean_ms"] == {"here": 7.5, "there": 10.5, "difference": -3.0},
          "differences by gradient", weight)
    claim(weight["payload_bytes"] == {"here": 8000, "there": 4000, "difference": 4000}, "of bytes, too", weight)
    claim(weight["codec"] == {"here": "int8", "there": "int4"}, "codecs of both", weight)
    claim(head["name"] == "head" and head["mean_ms"] == {"here": None, "there": 1.0, "difference": None},
          "what one run alone has", head)


def test_the_page_and_the_table_show_both_runs():
    text, html, there = beside([trace(0), trace(1)], slower())
    claim(data(html, "numbers")["beside"]["terms"][0] == {"name": "ms_per_step", "here": 8.0, "there": 10.0,
                                                          "difference": -2.0}, "the page has it")
    claim(re.search(r"ms_per_step +8.000 +10.000 +-2.000 +-20%", text), "the step, and by how much", text)
    claim(re.search(r"fc.weight +7.500 +10.500 +-3.000 +-29%", text), "a gradient", text)
    claim(re.search(r"head +- +1.000 +-\n", text), "one that is only there", text)
    claim(text.endswith(f"there: {there}\n"), "and where there is", text)


def test_values_that_a_run_does_not_have_differ_by_nothing():
    older = [trace(0), trace(1)]
    for one in older:
        one["traceEvents"] = [event for event in one["traceEvents"] if event.get("cat") not in ("wait", "backward")]
    text, _, _ = beside(older, [trace(0), trace(1)], "--json")
    terms = {term["name"]: (term["here"], term["there"], term["difference"]) for term in json.loads(text)["beside"]["terms"]}
    claim(terms["exposed_ms_per_step"] == (None, 1.5, None) and terms["backward_ms_per_step"] == (None, 4.5, None),
          "null, not zero", terms)


def test_another_run_that_is_none_is_refused_by_name():
    with temporary_folder() as one, temporary_folder() as other:
        result = casync("report", write(one, trace(0)), "--beside", other)
        ends_with(3, result, "an empty folder beside")
        claim(other in result.stderr and not (Path(one) / "report.html").exists(), "which one", result.stderr)
        result = casync("report", write(one, trace(0)), "--beside", write(other, trace(1)), "--json")
        ends_with(0, result, "ranks without a trace")
        claim(f"{other}: rank 0 of 2 left no trace" in result.stderr, "of which run", result.stderr)


def test_a_name_in_the_table_of_two_runs_is_printable():
    bad = [trace(0), trace(1)]
    for one in bad:
        one["casync"]["gradients"][0]["name"] = "\x1b[2Jwiped"
    text, _, _ = beside(bad, bad)
    claim("\x1b" not in text and "?[2Jwiped" in text, "no control characters", repr(text))


run_all(globals())
