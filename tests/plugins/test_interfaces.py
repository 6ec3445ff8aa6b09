# SPDX-License-Identifier: Apache-2.0
"""Ranks of a machine that share several network interfaces."""

import contextlib
import os
import subprocess
import time

import hosts
import numpy
import pytest
import ranks

import casync

ELEMENTS, STEPS = 1 << 20, 3


def train(rank):
    with casync.Session(codec="none", transport="ucx") as session:
        gradient = session.declare("gradient", (ELEMENTS,))
        for _ in range(STEPS):
            values = numpy.full(ELEMENTS, rank, numpy.float32)
            session.submit(gradient, values).wait()
            assert session.step()
    return float(values[0]), float(values[-1])


@contextlib.contextmanager
def machine(command):
    """A machine for UCX: what `command` enters, with an IPC namespace, by which UCX knows who shares memory. Yields the
    command that enters both."""
    holder = subprocess.Popen([*command, "unshare", "--ipc", "sleep", "infinity"])
    try:
        end = time.monotonic() + 60
        while os.readlink(f"/proc/{holder.pid}/ns/ipc") == os.readlink("/proc/self/ns/ipc"):
            assert time.monotonic() < end and holder.poll() is None
            time.sleep(0.01)
        yield ["nsenter", "--net", "--ipc", "--mount", "--target", str(holder.pid)]
    finally:
        holder.kill()
        holder.wait()


@pytest.mark.skipif(not hosts.available(), reason="network namespaces need root")
def test_ranks_of_a_machine_take_the_listed_interfaces_by_turns():
    with hosts.hosts(2, networks=2) as network, contextlib.ExitStack() as stack:
        machines = [stack.enter_context(machine(command)) for command in network.before().values()]
        before = {rank: machines[rank // 2] for rank in range(4)}
        places = {
            rank: {"CASYNC_LOCAL_RANK": str(rank % 2), "CASYNC_LOCAL_SIZE": "2", "CASYNC_NODE": f"host{rank // 2}"}
            for rank in range(4)
        }
        env = {"CASYNC_INTERFACE": "casync0,casync1"}
        assert ranks.values(__file__, "train", 4, before=before, env=env, envs=places) == [(1.5, 1.5)] * 4
        sent = [[network.sent(host, device) for device in ("casync0", "casync1")] for host in range(2)]
    # Each rank owns a quarter of the elements. Two quarters, and its own as the result twice, go to the other host.
    crossing = 2 * STEPS * ELEMENTS * 4
    for by_device in sent:
        assert crossing < sum(by_device) < 1.2 * crossing
        assert min(by_device) > 0.3 * crossing


def test_an_interface_of_the_list_that_is_not_there_is_named():
    env = {"CASYNC_INTERFACE": "lo,nonet7", "CASYNC_TIMEOUT_SEC": "3"}
    first = ranks.outcomes(__file__, "train", 2, env=env)[0]
    assert first.error == "InvalidArgument"
    assert '"nonet7"' in first.message
