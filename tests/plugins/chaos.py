# SPDX-License-Identifier: Apache-2.0
"""Jobs of real processes that meet a fault at a random moment, while they open, train or close: kill -9, a process that
is stopped for good or for a moment, a link that is cut, a disk that is full. Nothing may hang, every rank has its answer
within the promised time, replicas never differ, and nothing stays in /dev/shm.

    python tests/plugins/chaos.py 100 [--seed N] [--at-once N]    # prints a line for each that went wrong, and a summary

Links are cut between network namespaces, as root; without that right those jobs are left out.
"""

import argparse
import collections
import concurrent.futures
import contextlib
import hashlib
import os
import random
import resource
import signal
import sys
import tempfile
import time

import hosts
import numpy
import ranks

import casync

DEAD_S = 2.0
TIMEOUT_S = 15.0
FAULTS = ("kill", "stop", "nap", "cut", "full trace", "full checkpoint")
SIZES = (40_000, 7_000, 300)


def train(rank, steps, codec, pause, full):
    """In a rank's process: parameters that all ranks change alike, and a line for each of their versions."""
    if full:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # writing fails as on a full disk
    session = casync.Session(codec=codec)
    ids = [session.declare(f"layer{i}", n) for i, n in enumerate(SIZES)]
    parameters = [numpy.zeros(n, numpy.float32) for n in SIZES]
    for step in range(steps):
        arrays = [numpy.random.default_rng([rank, step, i]).standard_normal(n, numpy.float32) for i, n in enumerate(SIZES)]
        for identity, array in zip(ids, arrays):
            session.submit(identity, array)
        session.step()
        if step == 1:
            ranks.mark("running")
        for parameter, array in zip(parameters, arrays):
            parameter -= 0.1 * array
        ranks.note(f"{step} {hashlib.sha256(b''.join(p.tobytes() for p in parameters)).hexdigest()[:16]}")
        if full == "checkpoint" and step == steps // 2:
            _save_on_a_full_disk(parameters)
        time.sleep(pause)
    if full == "trace":
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))  # close() writes the timeline
    session.close()
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def _save_on_a_full_disk(parameters):
    with tempfile.TemporaryFile() as file:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
        try:
            file.write(parameters[0].tobytes())
            file.flush()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


class Chaos:
    """One job and its fault, drawn from `seed`. `while_running`: all ranks train when the fault comes, and for seconds
    more."""

    def __init__(self, seed, faults, while_running):
        draw = random.Random(seed)
        self.seed = seed
        self.size = draw.randint(2, 8)
        self.fault = draw.choice(faults)
        self.victim = draw.randrange(self.size)
        self.codec = draw.choice(["none", "int8", "int4", "onebit"])
        self.steps = draw.randint(10, 60)
        self.pause = draw.uniform(0.005, 0.05)
        self.moment = draw.uniform(0, 5)  # after the start: some have not opened by then, some are closing
        transports = ["ucx:tcp"] if self.fault == "cut" else ["ucx", "ucx:tcp", "ucx:shm"]
        self.transport = draw.choice(transports)
        self.while_running = while_running
        if while_running:
            self.steps, self.pause, self.moment = 60, 0.05, draw.uniform(0, 0.3)  # after two steps of all ranks
        self.wrong = []

    def __str__(self):
        return (
            f"seed {self.seed}: {self.fault} of rank {self.victim} of {self.size} after {self.moment:.2f} s, "
            f"{self.transport}, {self.codec}, {self.steps} steps"
        )

    def run(self):
        with contextlib.ExitStack() as stack:
            traces = stack.enter_context(tempfile.TemporaryDirectory())
            network = stack.enter_context(hosts.hosts(self.size)) if self.fault == "cut" else None
            env = {
                "CASYNC_DEAD_SEC": str(DEAD_S),
                "CASYNC_TIMEOUT_SEC": str(TIMEOUT_S),
                "CASYNC_TRANSPORT": self.transport,
                "CASYNC_THREADS": "1",
                **({"CASYNC_INTERFACE": hosts.DEVICE} if network else {}),
                **({"CASYNC_TRACE": traces} if self.fault == "full trace" else {}),
            }
            full = self.fault.split()[1] if self.fault.startswith("full") else None
            options = dict(steps=self.steps, codec=self.codec, pause=self.pause, full=None)
            job = stack.enter_context(
                ranks.Job(__file__, "train_victim", self.size, env=env, before=network and network.before(),
                          victim=self.victim, victim_full=full, **options)
            )
            self._strike(job, network)
            self._judge(job, network)
        return self

    def _strike(self, job, network):
        if self.while_running:
            job.wait_for_files("running")
        time.sleep(self.moment)
        self.running = all(job.has_file(rank, "running") for rank in range(self.size))
        victim = job.processes[self.victim]
        self.met = victim.poll() is None  # else it had ended, and the fault does nothing
        self.struck = time.time()
        if self.fault == "kill":
            victim.kill()
        elif self.fault in ("stop", "nap"):
            victim.send_signal(signal.SIGSTOP)
        elif self.fault == "cut":
            network.cut(self.victim)
        taken = max(len(job.lines(rank)) for rank in range(self.size))
        # Each step needs the victim's part. A few more may have been on their way.
        self.ends_all = self.met and self.fault in ("kill", "stop", "cut") and taken + 10 < self.steps
        if self.fault == "nap":
            time.sleep(DEAD_S / 4)
            victim.send_signal(signal.SIGCONT)

    def _limit(self):
        """After the fault a job that runs to its end takes no longer than this, nor one that fails."""
        to_the_end = 60 + self.steps * self.pause  # a loaded machine opens 8 ranks in many seconds
        if self.fault in ("nap", "full trace", "full checkpoint"):
            return to_the_end
        if not self.running:  # not all were there: opening has the session's timeout
            return TIMEOUT_S + 2 * DEAD_S + ranks.MARGIN_S + 20
        return (1.0 if self.fault == "kill" else DEAD_S) + ranks.MARGIN_S

    def _judge(self, job, network):
        deadline = self.struck + self._limit() + 30  # a rank without an answer by then hangs
        for rank, process in enumerate(job.processes):
            if rank == self.victim and self.fault == "stop":
                continue
            try:
                process.wait(max(0.1, deadline - time.time()))
            except Exception:
                self.wrong.append(f"rank {rank} hangs")
        victim = job.processes[self.victim]
        if self.fault == "stop":
            victim.send_signal(signal.SIGCONT)
        try:
            outcomes = job.wait(TIMEOUT_S + 60)  # one that was stopped goes on now
        except AssertionError as error:
            self.wrong.append(str(error)[-2000:])
            return
        for rank, outcome in enumerate(outcomes):
            self._judge_rank(job, rank, outcome)
        self._compare(job)

    def _judge_rank(self, job, rank, outcome):
        said = f"rank {rank}: exit code {outcome.code}, {outcome.error}: {outcome.message} {outcome.stderr[-500:]}"
        if outcome.error is None and outcome.code == 0:
            if len(job.lines(rank)) != self.steps:
                self.wrong.append(f"rank {rank} ended well, and too early")
            if self.ends_all:
                self.wrong.append(f"rank {rank} ended well all the same")
            if self.fault == "full checkpoint" and rank == self.victim:
                self.wrong.append("the full disk took the checkpoint")
            return
        if rank == self.victim and self.fault in ("kill", "stop"):
            return
        if self.fault in ("nap", "full trace"):
            self.wrong.append("nothing may fail, but " + said)
        elif self.fault == "full checkpoint" and rank == self.victim:
            if outcome.error != "OSError":
                self.wrong.append(said)
        elif outcome.error not in ("PeerFailure", "Timeout", "Unavailable"):
            self.wrong.append(said)
        elif self.running and rank != self.victim and f"rank {self.victim}" not in outcome.message and self.fault != "cut":
            self.wrong.append(f"it does not name rank {self.victim}: {said}")
        elif outcome.raised_at - self.struck > self._limit():
            self.wrong.append(f"rank {rank} had its answer after {outcome.raised_at - self.struck:.1f} s: {outcome.message}")

    def _compare(self, job):
        versions = collections.defaultdict(set)
        for rank in range(self.size):
            for line in job.lines(rank):
                step, digest = line.split()
                versions[step].add(digest)
        for step, digests in versions.items():
            if len(digests) != 1:
                self.wrong.append(f"replicas differ after step {step}")


def train_victim(rank, victim, victim_full, **arguments):
    train(rank, **{**arguments, "full": victim_full if rank == victim else None})


def run(seed, faults, while_running=False):
    return Chaos(seed, faults, while_running).run()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("jobs", type=int)
    parser.add_argument("--seed", type=int, default=0, help="of the first job (0)")
    parser.add_argument("--at-once", type=int, default=2, help="jobs that run at the same time (2)")
    given = parser.parse_args()
    faults = [fault for fault in FAULTS if fault != "cut" or hosts.available()]
    before = ranks.in_shared_memory()
    count, wrong, late = collections.Counter(), 0, 0
    with concurrent.futures.ThreadPoolExecutor(given.at_once) as pool:
        for one in pool.map(lambda seed: run(seed, faults), range(given.seed, given.seed + given.jobs)):
            count[one.fault] += 1
            late += not one.met
            if one.wrong:
                wrong += 1
                print(one, *one.wrong, sep="\n    ", flush=True)
    left = ranks.left_in_shared_memory(before)
    faults_said = ", ".join(f"{n} x {fault}" for fault, n in sorted(count.items()))
    print(
        f"{given.jobs} jobs ({faults_said}), of which {late} had ended by then: {wrong} went wrong; "
        f"left in /dev/shm: {sorted(left) or 'nothing'}"
    )
    return 1 if wrong or left else 0


if __name__ == "__main__":
    sys.exit(main())
