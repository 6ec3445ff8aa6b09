# SPDX-License-Identifier: Apache-2.0
"""The page of casync report: its scripts show the numbers, the lanes, the tables and the comparisons of known traces."""
import re
import sys
from pathlib import Path

from command import casync, claim, ends_with, run_all, temporary_folder
from document import NODE, Shown
from traces import MODEL, PROFILE, near, page, rounds, span, task, trace, write

WIDTH = 1000  # pixels of report/document.js's timeline, beside the gutter
GUTTER = 112
COLORS = {"encode": "#2563eb", "send": "#e2570d", "wait": "#d1345b", "text": "#1b2330", "accent": "#1d4ed8"}
END_US = 18500  # of rank 1's second step


def two_ranks():
    return [trace(0), trace(1)]


def compared(traces, work=""):
    """The page of these traces beside their prediction."""
    with temporary_folder() as folder:
        profile = Path(folder) / "profile.txtpb"
        profile.write_text(PROFILE % work)
        return page(*traces, options=["--profile", profile], files=[("model.txtpb", MODEL)])


def x_of(us):
    """The place of a moment on a timeline that shows everything."""
    return GUTTER + us / END_US * WIDTH


def spans(shown, kind):
    """Left end and width of what is drawn in a kind's color, tasks only."""
    return [call["values"][::2] for call in shown.drawn("timeline", "fillRect")
            if call["fillStyle"] == COLORS[kind] and call["values"][3] == 11]


def drag(name, begin, end, **fields):
    """Pointer events at these places, as actions."""
    x, y = begin
    moved_x, moved_y = end
    common = "".join(f", {key}: {value}" for key, value in fields.items())
    return [f"fire('{name}', 'pointerdown', {{clientX: {x}, clientY: {y}{common}}})",
            f"fire('{name}', 'pointermove', {{clientX: {moved_x}, clientY: {moved_y}{common}}})",
            f"fire('{name}', 'pointerup', {{clientX: {moved_x}, clientY: {moved_y}{common}}})"]


def test_cards_and_the_first_sentence_have_the_numbers():
    shown = Shown(page(*two_ranks()))
    expected = {"Ranks": ("2", "2 hosts"), "Steps": ("2", "2 of them traced"),
                "Time per step": ("8 ms", "median; the first step took 8 ms"),
                "Compute": ("6.5 ms", "the program did not wait"),
                "Exposed": ("1.5 ms", "the program waited for gradients: 19 %"),
                "Hidden": ("2.7 ms", "synchronization during compute"),
                "Gradients within": ("4.5 ms", "backward pass, from the first gradient to the last"),
                "Sent per rank and step": ("7.81 KiB", "8.01 KiB with headers"),
                # 1000 bytes in 8 ms; each is on its way for 2.25 ms by clocks that say equally long there and back.
                "Busiest link": ("1 Mb/s", "out of rank 0; while a message is on its way (28 % of the time) 3.56 Mb/s"),
                "Compression": ("4 \u00d7", "31.3 KiB without codecs")}
    claim(shown.cards() == expected, "all cards", shown.cards())
    claim(shown.text("answer") == "19 % of a step waits for synchronization: 1.5 of 8 ms.", "the answer",
          shown.text("answer"))
    claim(shown.text("transport") == "loopback" and shown.title.startswith("CaSync report: "), "whose report",
          shown.title)
    claim(shown.text("banners") == "", "nothing to warn of", shown.text("banners"))
    claim(all(shown.hidden(name) for name in ("prediction", "beside")), "no comparison was asked for")
    claim([cells[::2] for cells in shown.rows("split")] == [["rank 0 node0", "2.85 ms"], ["rank 1 node1", "5.7 ms"]],
          "work by rank", shown.rows("split"))
    bars = shown.element("split")["children"][0]["children"][1]["children"]
    claim([bar["title"] for bar in bars] ==
          ["encode: 0.1 ms per step in 2 tasks", "merge: 0.2 ms per step in 2 tasks",
           "decode: 0.05 ms per step in 2 tasks", "send: 1 ms per step in 2 tasks",
           "recv: 1.5 ms per step in 2 tasks"], "and by kind", bars)
    claim(near(float(bars[3]["style"]["width"].rstrip("%")), 100 / 5.7), "as long as its share", bars[3])


def test_small_numbers_keep_their_digits():
    values = Shown(page(*two_ranks()),
                   "[0.0023, 0.0123456, 0.5678, 0.00012, 0, 7.806, 123456, NaN].map((value) => digits(value))",
                   "bytes(2 ** 20 * 1.5)", "[0.5, 1500, 2.5e6].map(duration)").results
    claim(values[0] == ["0.0023", "0.0123", "0.568", "1.2e-4", "0", "7.81", "123,456", "-"], "three of them", values)
    claim(values[1:] == [["1.5", "MiB"], ["0.5 us", "1.5 ms", "2.5 s"]], "with units", values)


def test_every_rank_has_a_lane_for_each_kind_and_way():
    shown = Shown(page(*two_ranks()))
    lanes = ["step", "backward", "encode", "merge", "decode", "send", "recv", "wait", "out", "in"]
    labels = [call["values"][0] for call in shown.drawn("timeline", "fillText") if call["values"][1] < GUTTER]
    claim(labels == [*lanes, "\u25be rank 0", *lanes, "\u25be rank 1"], "labels", labels)
    # Rank 1 is 500 us later and twice as slow.
    expected = [(100, 100), (10100, 100), (600, 200), (10600, 200)]
    drawn = spans(shown, "encode")
    claim(len(drawn) == 4, "two tasks of each rank", drawn)
    for (left, width), (start, length) in zip(drawn, expected):
        claim(near(left, x_of(start)) and near(width, x_of(length) - GUTTER - (0.5 if width > 2.5 else 0)),
              "in its place", left, width, start)
    axis = [call["values"][0] for call in shown.drawn("timeline", "fillText") if call["values"][2] == 12]
    claim(axis == ["0", "5 ms", "10 ms", "15 ms"], "the axis", axis)
    claim(shown.text("legend") == "stepbackwardencodemergedecodesendrecvwaitout, in", "the legend", shown.text("legend"))


def test_lanes_of_links_have_the_rate_at_each_moment():
    # Two messages on one link: what leaves rank 0 is a kilobyte in 2.25 ms of either step.
    shown = Shown(page(*two_ranks()), "flow_top", "mean_rate(flows[0], 300, 2550)", "mean_rate(flows[0], 0, 18500)",
                  "fire('timeline', 'pointermove', {clientX: 112 + 1000 * 1000 / 18500, clientY: 160})")
    top, rate, mean, _ = shown.results
    claim(near(top, 0.003556) and near(rate, top) and near(mean, 2 * 2250 * top / END_US), "rates", shown.results)
    claim(shown.text("tip") == "out of rank 0rate3.56 Mb/s" and not shown.hidden("tip"), "at the pointer",
          shown.text("tip"))
    paced = Shown(page(trace(0, link="8mbit,1ms"), trace(1, link="8mbit,1ms")), "flow_top")
    claim(near(paced.results[0], 0.008), "as high as the link's rate", paced.results)
    claim(paced.cards()["Busiest link"][0] == "12.5 %", "whose use is known", paced.cards())
    claim("CASYNC_LINK=8mbit,1ms" in paced.text("banners"), "and a banner says so", paced.text("banners"))


def test_the_view_is_moved_by_keys_buttons_and_the_wheel():
    view = "[view.from, view.to]"
    seen = Shown(page(*two_ranks()), view, "fire('document', 'keydown', {key: 'w'})", view,
                 "fire('document', 'keydown', {key: 'D'})", view, "byId('fit').onclick()", view,
                 "fire('timeline', 'wheel', {ctrlKey: true, deltaY: -100, deltaX: 0, clientX: 112})", view,
                 "fire('document', 'keydown', {key: 'x'})",
                 "fire('document', 'keydown', {key: 'w', ctrlKey: true})", view).results
    claim(seen[0] == [0, END_US] and seen[1] is True, "everything, at first", seen)
    claim([round(at) for at in seen[2]] == [3700, 14800], "six tenths of it, around the middle", seen[2])
    claim([round(at) for at in seen[4]] == [5920, 17020], "a capital letter moves, too", seen[4])
    claim(seen[6] == [0, END_US], "all of it again", seen[6])
    claim(seen[8][0] == 0 and near(seen[8][1], END_US * 2.718281828459045 ** -0.4), "around the pointer", seen[8])
    claim(seen[9:11] == [False, False] and seen[11] == seen[8], "other keys are the browser's", seen[9:])


def test_the_finest_view_stays_where_it_is():
    finest = "for (let i = 0; i < 60; ++i) zoom(0.6, 9000); [view.from, view.to]"
    first, again = Shown(page(*two_ranks()), finest, finest).results
    claim(near(first[1] - first[0], 5) and first == again and first[0] < 9000 < first[1], "around the place", first,
          again)
    shown = Shown(page(*two_ranks()), "look(9000, 9005)")
    axis = [call["values"][0] for call in shown.drawn("timeline", "fillText") if call["values"][2] == 12]
    claim(axis == ["9 ms", "9.001 ms", "9.002 ms", "9.003 ms", "9.004 ms", "9.005 ms"], "ticks are told apart", axis)


def test_dragging_moves_the_view_and_the_strip_chooses_a_part():
    inside = "look(5000, 10000)"
    view = "[view.from, view.to].map(Math.round)"
    html = page(*two_ranks())
    shown = Shown(html, inside, *drag("timeline", (600, 200), (500, 200)), view,
                  *drag("timeline", (600, 200), (500, 200), button=2), view,
                  "fire('timeline', 'pointermove', {clientX: 300, clientY: 200})", view)
    moved = shown.results[4]
    claim(moved == [5500, 10500], "by as much as the pointer", moved)
    claim(shown.results[8] == moved and shown.results[10] == moved, "not with another button, and not behind it",
          shown.results)
    claim(shown.element("timeline")["class"] == "", "nothing is dragged any more")
    per_pixel = END_US / 1112
    shown = Shown(html, inside, *drag("overview", (100, 10), (400, 10)), view, inside,
                  *drag("overview", (801, 10), (802, 10)), view,
                  inside, "fire('overview', 'pointerup', {clientX: 0, clientY: 10})", view,
                  "fire('overview', 'pointerdown', {clientX: 10, clientY: 10})", "fire('overview', 'pointercancel')",
                  "fire('overview', 'pointermove', {clientX: 500, clientY: 10})", view)
    chosen, clicked, released, cancelled = (shown.results[at] for at in (4, 9, 12, 16))
    claim(chosen == [round(100 * per_pixel), round(400 * per_pixel)], "from here to there", chosen)
    claim(clicked == [round(802 * per_pixel) - 2500, round(802 * per_pixel) + 2500],
          "a click that trembles moves it there", clicked)
    claim(released == [5000, 10000] == cancelled, "only what began on the strip", released, cancelled)


def test_a_click_folds_a_rank_and_the_legend_hides_kinds():
    html = page(*two_ranks())
    shown = Shown(html, *drag("timeline", (10, 40), (10, 40)))
    labels = [text for text in shown.written("timeline") if "rank" in text]
    claim(labels == ["\u25b8 rank 0", "\u25be rank 1"], "rank 0 is folded", labels)
    claim(len(spans(shown, "wait")) == 2 and len(spans(shown, "encode")) == 4, "into one line of its tasks",
          spans(shown, "encode"))
    hide = "byId('legend').children[{}].onclick()"
    shown = Shown(html, hide.format(2), hide.format(8))
    claim(spans(shown, "encode") == [] and len(spans(shown, "send")) == 4, "encode is hidden", spans(shown, "send"))
    labels = shown.written("timeline")
    claim(not {"encode", "out", "in"} & set(labels) and "send" in labels, "and so are the links", labels)
    pressed = [button["attributes"]["aria-pressed"] for button in shown.element("legend")["children"]]
    claim(pressed == ["true", "true", "false", *["true"] * 5, "false"], "buttons say it", pressed)
    claim(len(spans(Shown(html, hide.format(2), hide.format(2)), "encode")) == 4, "a second click shows it again")


def point(kind, at_us):
    """Points at the middle of rank 0's first lane of a kind, at this time."""
    return f"fire('timeline', 'pointermove', {{clientX: {x_of(at_us)}, clientY: rows[{kind}].y + 5}})"


def test_the_task_at_the_pointer_is_told():
    html = page(*two_ranks())
    shown = Shown(html, point(5, 800))
    expected = ("send fc.weight[1]" "rank0" "step0" "duration1 ms" "start300 us" "bytes1,000" "hop0" "to rank1"
                "rate0.008 Gb/s")
    claim(shown.text("tip") == expected, "its figures", shown.text("tip"))
    bright = [call for call in shown.drawn("timeline", "fillRect") if call["fillStyle"] == COLORS["encode"]
              and call["globalAlpha"] == 1]
    # Partition 1 is encoded by rank 0, and partition 0 by rank 1.
    claim([round(call["values"][0]) for call in bright] == [round(x_of(100))], "only its partition stays bright", bright)
    shown = Shown(html, point(7, 6500))
    claim(shown.text("tip").startswith("wait fc.weightrank0step0duration1.5 ms"), "a wait has no partition",
          shown.text("tip"))
    bright = [call["values"][0] for call in shown.drawn("timeline", "fillRect")
              if call["fillStyle"] == COLORS["encode"] and call["globalAlpha"] == 1]
    claim([round(x) for x in bright] == [round(x_of(100)), round(x_of(600))], "its gradient's tasks of the step stay",
          bright)
    shown = Shown(html, point(5, 800), "fire('timeline', 'pointerleave')")
    claim(shown.hidden("tip"), "nothing is pointed at")


def test_steps_are_listed_and_a_long_job_begins_in_the_middle():
    shown = Shown(page(*two_ranks()), "byId('step').value = '1'; byId('step').onchange(); [view.from, view.to]",
                  "byId('step').value = ''; byId('step').onchange(); [view.from, view.to]")
    claim([option["text"] for option in shown.element("step")["children"]] == ["all", "0", "1"], "the list")
    claim([round(at) for at in shown.results[0]] == [9660, 18500] and shown.results[1] == [0, END_US],
          "step 1, then all", shown.results)
    one = trace(0)
    one["casync"]["ranks"] = 1
    one["traceEvents"] = [span(0, "step", 1000 * step, 900, step) for step in range(10)]
    shown = Shown(page(one), "[view.from, view.to]")
    claim(shown.results == [[4962, 6938]], "steps 5 and 6 of 0 to 9", shown.results)
    claim(not shown.hidden("series-section") and shown.written("series")[-2:] == ["step 0", "step 9"], "the curve",
          shown.written("series"))


def test_the_curve_of_steps_has_the_waits_that_are_known():
    def curves(shown):
        return {call["strokeStyle"] for name in ("moveTo", "lineTo") for call in shown.drawn("series", name)}
    shown = Shown(page(*two_ranks()))
    claim(curves(shown) == {COLORS["accent"], COLORS["wait"]}, "the step, and the wait", curves(shown))
    claim(shown.written("series") == ["0 ms", "4.4 ms", "8.8 ms", "step 0", "step 1"], "the scale",
          shown.written("series"))
    older = two_ranks()
    for one in older:
        one["traceEvents"] = [event for event in one["traceEvents"] if event.get("cat") not in ("wait", "backward")]
    shown = Shown(page(*older))
    claim(curves(shown) == {COLORS["accent"]}, "none is drawn as zero", curves(shown))
    claim(not {"Exposed", "Compute", "Hidden", "Gradients within"} & set(shown.cards()) and shown.text("answer") == "",
          "nor shown", shown.cards())


def several_gradients():
    """Both ranks' traces with a second gradient, of other codecs."""
    both = two_ranks()
    for one in both:
        first = one["casync"]["gradients"][0]
        one["casync"]["gradients"].append({**first, "name": "<b>head</b>", "codec": "onebit", "second_hop": "int4",
                                           "strategy": "ps",
                                           "servers": 2, "dedicated": 1, "payload_bytes": 500, "mean_ms": 9.0,
                                           "exposed_ms": 0.002})
    return both


def test_the_table_is_sorted_and_filtered():
    html = page(*several_gradients())
    shown = Shown(html)
    table = shown.rows("gradients")
    claim(table[0] == ["Gradient", "Codec", "Strategy", "Partitions", "Elements", "In memory", "Sent", "Ratio",
                       "Mean ms", "Exposed ms",
                       "Priority"], "headings", table[0])
    claim(table[1:] == [["<b>head</b>", "onebit \u2192 int4", "ps with 2 dedicated servers", "2", "8,000", "31.3 KiB",
                         "500 B",
                         "64\u00d7", "9", "0.002", "0"],
                        ["fc.weight", "int8", "ps", "2", "8,000", "31.3 KiB", "7.81 KiB", "4\u00d7", "7.5", "0.25", "0"]],
          "the longest first; a name is text", table)
    claim(shown.text("count") == "2 gradients", "how many", shown.text("count"))
    click = "byId('gradients').children[0].children[0].children[{}].children[0].onclick()"
    for column, order in ((0, ["<b>head</b>", "fc.weight"]), (6, ["fc.weight", "<b>head</b>"]),
                          (9, ["fc.weight", "<b>head</b>"])):
        once = [row[0] for row in Shown(html, click.format(column)).rows("gradients")[1:]]
        twice = [row[0] for row in Shown(html, click.format(column), click.format(column)).rows("gradients")[1:]]
        claim(once == order and twice == order[::-1], "by a column, and the other way", column, once, twice)
    for words, names in (("HEAD", ["<b>head</b>"]), ("int8", ["fc.weight"]), ("int4", ["<b>head</b>"]), ("none", [])):
        shown = Shown(html, f"byId('filter').value = '{words}'; byId('filter').oninput()")
        claim([row[0] for row in shown.rows("gradients")[1:]] == names, "by name or codec", words)
        claim(shown.text("count") == f"{len(names)} of 2", "how many of them", shown.text("count"))


def test_a_prediction_has_its_bars_mark_and_columns():
    shown = Shown(compared(two_ranks()), "numbers.prediction")
    prediction = shown.results[0]
    claim(not shown.hidden("prediction") and shown.text("verdict") == prediction["verdict"] + ".", "the verdict",
          shown.text("verdict"))
    rows = shown.rows("terms")
    marked = [name for name, *_ in rows if name.endswith(" \u25c0")]
    claim(marked == [prediction["to_blame"] + " \u25c0"], "one mark", rows)
    claim([name.removesuffix(" \u25c0") for name, *_ in rows] == [term["name"] for term in prediction["terms"]],
          "all terms", rows)
    step = prediction["terms"][0]
    off = 100 * (step["measured_ms"] / step["predicted_ms"] - 1)
    found = re.fullmatch(r"8 / ([\d.]+) ms ([+\u2212][\d.]+) %", rows[0][2])
    claim(found and abs(float(found[1]) - step["predicted_ms"]) < 0.006
          and abs(float(found[2].replace("\u2212", "-")) - off) < 0.06,
          "measured, predicted, off", rows[0], off)
    bars = shown.element("terms")["children"][0]["children"][1]["children"]
    claim(bars[0]["title"] == "step, measured: 8 ms" and bars[1]["title"].startswith("step, predicted: "), "both bars",
          bars)
    most = max(max(term["measured_ms"], term["predicted_ms"] or 0) for term in prediction["terms"])
    claim(near(float(bars[0]["children"][0]["style"]["width"].rstrip("%")), 100 * 8 / most), "as long as they say", bars)
    gradient = prediction["gradients"][0]
    head, row = shown.rows("gradients")
    claim(head[8:12] == ["Mean ms", "Predicted ms", "Off", "Exposed ms"], "columns", head)
    claim(row[8] == "7.5" and abs(float(row[9]) - gradient["predicted_ms"]) < 0.01 and row[10].endswith(" %"), "values",
          row)
    claim("Speed-up" in shown.cards() and "Uncompressed, a step is predicted to take" in shown.text("answer"),
          "and the sentence",
          shown.text("answer"))
    unsaid = two_ranks()
    for one in unsaid:
        for event in one["traceEvents"]:
            if event.get("cat") == "step":
                event["args"]["processor_us"] = 300
    messages = next(row for row in Shown(compared(unsaid)).rows("terms") if row[0].startswith("messages"))
    claim(messages[2] == "0.3 / not predicted", "a term without a prediction", messages)


def test_a_prediction_of_local_sgd_stands_beside_the_mean_of_a_round():
    shown = Shown(compared([rounds(0), rounds(1)]), "numbers.prediction")
    times = shown.results[0]["plain_step_ms"] / 6  # rounds of 5 and 7 ms a step
    speed_up = float(shown.cards()["Speed-up"][0].split()[0])
    claim(abs(speed_up - times) < 0.01, "not beside the median of steps, of which every second one exchanges", speed_up, times)


def test_another_run_stands_beside():
    there = several_gradients()
    for one in there:
        one["casync"]["gradients"][0].update(codec="int4", second_hop="int4", payload_bytes=4000, mean_ms=10.0)
        one["casync"]["stats"]["payload_bytes_sent"] = 8000
    with temporary_folder() as other:
        html = page(*two_ranks(), options=["--beside", write(other, *there)])
        shown = Shown(html)
        claim(f"There: {other}, 2 ranks" in shown.text("beside-runs") and not shown.hidden("beside"), "which run",
              shown.text("beside-runs"))
    cards = shown.cards("beside-cards")
    claim(cards["Time per step"] == ("8 ms", "there 8 ms (0 %)"), "as long", cards)
    claim(cards["Sent per rank and step"] == ("7.81 KiB", "there 3.91 KiB (+100 %)"), "twice as many bytes", cards)
    claim(cards["Compression"] == ("4 \u00d7", "there 16 \u00d7 (\u221275 %)"), "less compression", cards)
    claim(shown.text("beside-only") == "Only there: <b>head</b>.", "what one run alone has", shown.text("beside-only"))
    head, row = shown.rows("gradients")
    claim(head[-5:] == ["Codec there", "Mean ms there", "Mean ms, difference", "Exposed ms, difference",
                        "Sent, difference"], "columns", head)
    claim(row[-5:] == ["int4", "10", "\u22122.5", "0", "+3.91 KiB"], "values", row)


def test_banners_warn_of_what_the_numbers_leave_out():
    alone = trace(1)
    alone["casync"]["dropped"] = 1234
    text = Shown(page(alone, options=["--steps", "1"])).text("banners")
    for words in ("No trace was left by rank 0 of 2", "1,234 events found no room",
                  "The timeline shows steps 1 to 1 of 2."):
        claim(words in text, words, text)
    model = MODEL + "slow { rank: 1 factor: 1.5 }\n"
    text = Shown(page(*two_ranks(), files=[("model.txtpb", model)])).text("banners")
    claim("As recorded, rank 1 computes 1.5 times as long as the others" in text, "of unequal ranks", text)


def test_one_rank_alone_has_no_ratio():
    one = trace(0)
    one["casync"]["ranks"] = 1
    one["casync"]["stats"].update(payload_bytes_sent=0, wire_bytes_sent=0)
    claim(Shown(page(one)).cards()["Compression"][0] == "- \u00d7", "nothing was sent")


def test_tasks_that_overlap_have_rows_of_their_own():
    both = two_ranks()
    both[0]["traceEvents"].append(task(0, "encode", 1150, 100, 0, 0))
    shown = Shown(page(*both))
    rows = {call["values"][1] for call in shown.drawn("timeline", "fillRect")
            if call["fillStyle"] == COLORS["encode"] and call["values"][1] < 190}
    claim(len(rows) == 2, "two rows", rows)


def test_the_theme_changes_colors():
    shown = Shown(page(*two_ranks()), "byId('theme').onclick()")
    colors = {call["fillStyle"] for call in shown.drawn("timeline", "fillText")}
    claim(colors == {"#98a4b5", "#e6ebf2"}, "those of the dark theme", colors)


if NODE is None:
    print("[SKIP] no Node.js to run the page's scripts with: install nodejs")
    sys.exit(77)
run_all(globals())
