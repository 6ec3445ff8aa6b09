# SPDX-License-Identifier: Apache-2.0
"""Strangers to a job - wrong tokens, bytes that are not ours - stay out, and the job goes on."""

import contextlib
import glob
import os
import pathlib
import random
import re
import socket
import struct
import time

import numpy
import ranks

import casync

RIGHT, WRONG = {"CASYNC_TOKEN": "right" * 8}, {"CASYNC_TOKEN": "wrong" * 8}


def open_until(is_enough):
    """Opens a session again and again, until its error is one that is enough: on a busy machine the time limit may pass
    ahead of that."""
    while True:
        try:
            casync.Session()
        except casync.Error as error:
            if is_enough(error):
                raise
        else:
            return


def open_until_refused(rank):
    open_until(lambda error: "wrong token" in str(error))


def open_until_rank_1_is_refused(rank, folder):
    refused = pathlib.Path(folder, "refused")
    if rank == 0:
        return open_until(lambda error: refused.exists())
    try:
        open_until_refused(rank)
    finally:
        refused.touch()


def test_a_job_of_right_and_wrong_tokens_says_who_did_not_come_and_why(tmp_path):
    envs = {0: {**RIGHT, "CASYNC_TIMEOUT_SEC": "4"}, 1: {**WRONG, "CASYNC_TIMEOUT_SEC": "2"}}
    outcomes = ranks.outcomes(__file__, "open_until_rank_1_is_refused", 2, envs=envs, folder=str(tmp_path))
    assert [outcome.error for outcome in outcomes] == ["Timeout"] * 2
    assert "rank 1 of 2 did not come" in outcomes[0].message, outcomes[0].stderr
    assert "wrong token" in outcomes[1].message, outcomes[1].stderr


def train(rank, folder):
    """Goes on until the test has done its worst, and ten steps more. Returns the last average."""
    if rank == 1:
        await_file(f"{folder}/come")
    with casync.Session(codec="none") as session:
        over, fc = session.declare("over", 1), session.declare("fc", 50_000)
        array = numpy.empty(50_000, numpy.float32)
        steps, left = 0, None
        while left != 0:
            array[:] = rank + 1
            seen = numpy.full(1, os.path.exists(f"{folder}/over"), numpy.float32)
            session.submit(over, seen)
            session.submit(fc, array)
            assert session.step()
            steps += 1
            if steps == 3:
                ranks.mark("running")
            if left is not None:
                left -= 1
            elif seen[0] > 0:  # an average, so all ranks learn it in the same step
                left = 10
        return float(array.min()), float(array.max())


def await_file(path):
    deadline = time.monotonic() + 60
    while not os.path.exists(path):
        assert time.monotonic() < deadline, f"{path} did not come"
        time.sleep(0.01)


def listening(process):
    """(host, port) of each TCP socket on which the process listens."""
    inodes = set()
    for link in glob.glob(f"/proc/{process.pid}/fd/*"):
        try:
            inodes.update(re.findall(r"socket:\[(\d+)\]", os.readlink(link)))
        except FileNotFoundError:  # closed meanwhile
            pass
    found = []
    for table, family in (("tcp", socket.AF_INET), ("tcp6", socket.AF_INET6)):
        for line in open(f"/proc/{process.pid}/net/{table}").readlines()[1:]:
            fields = line.split()
            host, port = fields[1].split(":")
            if fields[3] == "0A" and fields[9] in inodes:
                words = [int(host[i : i + 8], 16) for i in range(0, len(host), 8)]  # each as this machine stores it
                found.append((socket.inet_ntop(family, struct.pack(f"={len(words)}I", *words)), int(port, 16)))
    return found


def await_listening(process):
    deadline = time.monotonic() + 60
    while not (found := listening(process)):
        assert process.poll() is None and time.monotonic() < deadline, "rank 0 does not listen"
        time.sleep(0.02)
    return found


def molest(places, seed):
    """Connects to each of these places: with nothing, with somebody else's protocol, with random bytes."""
    generator = random.Random(seed)
    greetings = [b"", b"GET / HTTP/1.1\r\n\r\n", b"\x00" * 4096, *(generator.randbytes(n) for n in (1, 100, 100_000))]
    for host, port in places:
        for greeting in greetings:
            # A refusal in the middle of it is an answer, too.
            with contextlib.suppress(OSError), socket.create_connection((host, port), timeout=5) as stranger:
                stranger.sendall(greeting)


def test_strangers_while_the_ranks_meet_and_while_they_train_change_nothing(tmp_path):
    meet = {"CASYNC_RENDEZVOUS": f"127.0.0.1:{ranks.free_port()}"}
    seed = int(os.environ.get("CASYNC_TEST_SEED") or random.randrange(2**32))
    print(f"CASYNC_TEST_SEED={seed} repeats this run")
    with ranks.Job(__file__, "train", 2, env={**meet, **RIGHT}, folder=str(tmp_path)) as job:
        place = {"CASYNC_RANK": "1", "CASYNC_SIZE": "2", "CASYNC_TIMEOUT_SEC": "2"}
        intruder = dict(env={**meet, **WRONG}, envs={0: place})
        at_the_door = await_listening(job.processes[0])
        refused = ranks.outcomes(__file__, "open_until_refused", 1, **intruder)
        molest(at_the_door, seed)
        (tmp_path / "come").touch()
        job.wait_for_files("running")
        late = ranks.outcomes(__file__, "open_until_refused", 1, **intruder)
        for process in job.processes:
            molest(listening(process), seed + 1)
        (tmp_path / "over").touch()
        outcomes = job.wait()
    for outcome in refused + late:
        assert outcome.error is not None and "wrong token" in outcome.message, outcome.stderr
    for outcome in outcomes:
        assert outcome.value == (1.5, 1.5), outcome.stderr
