# SPDX-License-Identifier: Apache-2.0
"""Traces of a job of two ranks and two steps, small enough to know every number by heart."""
import json
import re
from pathlib import Path

from command import casync, claim, ends_with, temporary_folder

EPOCH_US = 1_700_000_000_000_000

# The training and the profile of such traces, with costs of links and of messages that a test adds.
MODEL = """version: 1
backward_seconds: 0.004
forward_seconds: 0.002
gradient { name: "fc.weight" shape: [8000] ready_seconds: 0.004 need_seconds: 0 }
"""
PROFILE = """version: 1
memory_bytes_per_second: 1e10
between { latency_seconds: 1e-5 bytes_per_second: 1e7 %s }
"""
WORK = "send_work { point { size: 1 seconds: 1e-4 } } receive_work { point { size: 1 seconds: 2e-4 } }"


def span(rank, category, start, duration, step, **arguments):
    gradient = arguments.get("gradient")
    name = f"{category} {gradient}[{arguments.get('partition')}]" if gradient else category
    return {"ph": "X", "name": name, "cat": category, "pid": rank, "tid": 0, "ts": start, "dur": duration,
            "args": {"step": step, **arguments}}


def task(rank, category, start, duration, step, partition, **arguments):
    return span(rank, category, start, duration, step, gradient="fc.weight", partition=partition, bytes=1000,
                **arguments)


def trace(rank, link=""):
    """Rank 1's clock starts 500 us later, and everything it does takes twice as long."""
    scale, peer = 1 + rank, 1 - rank
    events = [{"ph": "M", "name": "thread_name", "pid": rank, "tid": 0, "args": {"name": "progress"}}]
    for step, start in ((0, 1000), (1, 11000)):
        events += [
            span(rank, "step", start, 8000, step),
            task(rank, "encode", start + 100, 100 * scale, step, peer),
            task(rank, "send", start + 300, 1000 * scale, step, peer, hop=0, peer=peer),
            task(rank, "recv", start + 300, 1500 * scale, step, rank, hop=0, peer=peer),
            task(rank, "merge", start + 4000, 200 * scale, step, rank),
            task(rank, "decode", start + 7000, 50 * scale, step, rank),
            span(rank, "wait", start + 6000, 1500, step, gradient="fc.weight"),
        ]
    events += [span(rank, "backward", start + 200, 3000 * scale, step) for step, start in ((0, 1000), (1, 11000))]
    gradient = {"name": "fc.weight", "elements": 8000, "dtype": "float32", "codec": "int8", "second_hop": "int8",
                "strategy": "ps", "partitions": 2, "priority": 0, "payload_bytes": 8000, "steps": 2,
                "mean_ms": 7.0 + rank, "exposed_ms": 0.5 * rank}
    stats = {"steps": 2, "payload_bytes_sent": 16000, "wire_bytes_sent": 16400, "messages_sent": 8, "allocations": 0,
             "idle_s": 0.25}
    return {"traceEvents": events,
            "casync": {"rank": rank, "ranks": 2, "host": f"node{rank}", "transport": "loopback", "link": link,
                       "epoch_us": EPOCH_US + 500 * rank, "stats": stats, "gradients": [gradient]}}


MODE = "local_sgd { every: 2 from_step: 1 }"
# Steps by their microseconds, and those that exchange: the first one gradients, then one in each round. The last round
# has one step.
STEPS = ((50_000, True), (7_000, False), (90_000, True), (2_000, False), (8_000, True), (4_000, False), (10_000, True),
         (1_000, False))


def rounds(rank, steps=STEPS):
    """The trace of these steps; those that exchange have the tasks of trace()."""
    one = trace(rank)
    of_a_step = [event for event in one["traceEvents"] if event.get("args", {}).get("step") == 1]
    events = one["traceEvents"][:1]
    for number, (duration, exchanges) in enumerate(steps):
        for event in of_a_step:
            is_step = event["cat"] == "step"
            if not is_step and not exchanges:
                continue
            events.append({**event, "ts": event["ts"] + 100_000 * number, "dur": duration if is_step else event["dur"],
                           "args": {**event["args"], "step": number}})
    one["traceEvents"] = events
    one["casync"].update(mode="local_sgd", plan_mode=MODE)
    return one


def write(folder, *traces):
    for one in traces:
        (Path(folder) / f"rank{one['casync']['rank']}.trace.json").write_text(json.dumps(one))
    return folder


def numbers(*traces):
    """What `casync report --json` says of them."""
    with temporary_folder() as folder:
        result = casync("report", write(folder, *traces), "--json")
        ends_with(0, result, "report --json")
        claim(not (Path(folder) / "report.html").exists(), "--json alone writes no page")
        return json.loads(result.stdout)


def page(*traces, options=(), files=()):
    """The page of a report of these traces, beside `files`: (name, text)."""
    with temporary_folder() as folder:
        for name, text in files:
            (Path(folder) / name).write_text(text)
        ends_with(0, casync("report", write(folder, *traces), *options), "report")
        return (Path(folder) / "report.html").read_text()


def data(html, name):
    """What the page of a report holds under a name."""
    return json.loads(re.search(f'<script type="application/json" id="{name}">(.*?)</script>', html, re.S).group(1))


def near(a, b):
    return abs(a - b) < 1e-6
