# SPDX-License-Identifier: Apache-2.0
"""Healthy jobs of real processes that end in random ways: who leaves first, how long the others pause between their last
result, step() and close(), how fast their links are, and what their plan is. Each has to end well on every rank.

    python tests/plugins/endings.py 100 [--seed N] [--at-once N]    # prints a line for each that did not, and a summary
"""

import argparse
import concurrent.futures
import hashlib
import pathlib
import random
import sys
import tempfile
import time

import numpy
import ranks

import casync

LINKS = {"8mbit": 8e6, "20mbit,2ms": 20e6, "100mbit,1ms": 100e6, "1gbit": 1e9, None: 4e9}
STEPS = 3
STRATEGIES = ["ring", "tree", "double_tree", "all_gather", "hierarchical", "hierarchical_all_gather"]
GROUP = 'group { name: "all" gradient: "layer0" gradient: "layer1" gradient: "layer2" }'
MODES = ["coordinated: true", "credit_bytes: 65536", "staleness: 1", GROUP]


def plan(draw, codec):
    """Draws a plan with this codec: half of them with a strategy other than `ps`, a quarter with a mode."""
    strategy, mode = draw.choice(STRATEGIES), draw.choice(MODES)
    kind = draw.choice(["plain", "strategy", "strategy", "mode"])
    default = f'codec {{ name: "{codec}" }}' + (f" strategy: {strategy}" if kind == "strategy" else "")
    return f"version: 1 {mode if kind == 'mode' else ''} default {{ {default} }}"


def ending(seed, longest_pause=10.0, longest_transfer=4.0):
    """Draws one job from `seed`: keyword arguments of `job`, and its environment."""
    draw = random.Random(seed)
    size = draw.randint(2, 6)
    link = draw.choice(list(LINKS))
    seconds = draw.uniform(0.1, longest_transfer)  # about as long as a step takes, on the link alone
    elements = int(min(max(LINKS[link] * seconds / 8 / 4 / size, 1000), 2_000_000))

    def pauses():
        return [draw.choice([0, 0, draw.uniform(0, 1), draw.uniform(0, longest_pause)]) for _ in range(size)]

    arguments = dict(
        size=size,
        codec=draw.choice(["none", "none", "int8", "int4"]),
        sizes=[elements // 2 + 1, elements // 3 + 1, elements // 6 + 1],
        waits=draw.random() < 0.5,
        before_step=pauses(),
        before_close=pauses(),
        closes=[draw.random() < 0.8 for _ in range(size)],
    )
    arguments["plan"] = plan(draw, arguments["codec"])
    environment = {
        "CASYNC_TRANSPORT": draw.choice(["ucx", "ucx:tcp", "ucx:shm"]),
        "CASYNC_TIMEOUT_SEC": "120",
        **({"CASYNC_LINK": link} if link else {}),
    }
    return arguments, environment


def job(rank, plan, sizes, waits, before_step, before_close, closes):
    """In a rank's process: a few steps, the last of which ends as the arguments say."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "plan.txtpb"
        file.write_text(plan)
        session = casync.Session(plan=file)
    ids = [session.declare(f"layer{i}", n) for i, n in enumerate(sizes)]
    for step in range(STEPS):
        arrays = [numpy.random.default_rng([rank, step, i]).standard_normal(n, numpy.float32) for i, n in enumerate(sizes)]
        handles = [session.submit(identity, array) for identity, array in zip(ids, arrays)]
        if step == STEPS - 1:
            if waits:
                for handle in handles:
                    handle.wait()
            time.sleep(before_step[rank])
        session.step()
    state = session.state_dict()
    kept = sum(float(numpy.abs(gradient["residual"]).sum()) for gradient in state["gradients"].values())
    time.sleep(before_close[rank])
    if closes[rank]:
        session.close()  # else the end of the program does
    digest = hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()
    return dict(digest=digest, step=state["step"], kept=kept)


def complaint(seed, **limits):
    """"" when the job of `seed` ended well, else what did not."""
    arguments, environment = ending(seed, **limits)
    size, codec = arguments.pop("size"), arguments.pop("codec")
    nodes = [{"CASYNC_NODE": "ab"[rank * 2 // size]} for rank in range(size)]
    ended = ranks.outcomes(__file__, "job", size, env=environment, envs=dict(enumerate(nodes)), **arguments)
    wrong = []
    for rank, outcome in enumerate(ended):
        if outcome.code != 0 or outcome.error is not None:
            wrong.append(f"rank {rank}: exit code {outcome.code}, {outcome.error}: {outcome.message}")
        elif "casync: closing at exit" in outcome.stderr:
            wrong.append(f"rank {rank}: {outcome.stderr[-300:]}")
        elif outcome.value["step"] != STEPS:
            wrong.append(f"rank {rank}: its state is of step {outcome.value['step']}")
        elif codec != "none" and outcome.value["kept"] == 0:
            wrong.append(f"rank {rank}: no residual was committed")
    if not wrong and len({outcome.value["digest"] for outcome in ended}) != 1:
        wrong.append("the ranks have different results")
    return f"seed {seed} ({environment}, {arguments}): " + "; ".join(wrong) if wrong else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("jobs", type=int)
    parser.add_argument("--seed", type=int, default=0, help="of the first job (0)")
    parser.add_argument("--at-once", type=int, default=4, help="jobs that run at the same time (4)")
    given = parser.parse_args()
    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(given.at_once) as pool:
        complaints = []
        for text in pool.map(complaint, range(given.seed, given.seed + given.jobs)):
            if text:
                complaints.append(text)
                print(text, flush=True)
    print(
        f"{given.jobs} endings: {given.jobs - len(complaints)} with OK on all ranks, {len(complaints)} without, "
        f"{time.monotonic() - begin:.0f} s"
    )
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
