# SPDX-License-Identifier: Apache-2.0
"""Network namespaces joined by a bridge: machines of their own for the ranks of a job, whose links can be cut."""

import contextlib
import itertools
import os
import subprocess

DEVICE = "casync0"  # its name on every host
_numbers = itertools.count()


def _run(command):
    subprocess.run(command.split(), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def available():
    """This process may make them: as root, where the kernel has them."""
    name = f"casync-try-{os.getpid()}"
    if os.geteuid() != 0:
        return False
    try:
        _run(f"ip netns add {name}")
        _run(f"ip netns delete {name}")
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


class Hosts:
    def __init__(self, count):
        job = f"{os.getpid()}-{next(_numbers)}"
        self._switch = f"casync-{job}-switch"
        self._names = [f"casync-{job}-{i}" for i in range(count)]

    def before(self):
        """By rank: the command that runs a program on the rank's host."""
        return {rank: ["ip", "netns", "exec", name] for rank, name in enumerate(self._names)}

    def cut(self, rank):
        _run(f"ip -n {self._switch} link set port{rank} down")

    def mend(self, rank):
        _run(f"ip -n {self._switch} link set port{rank} up")

    def _make(self):
        _run(f"ip netns add {self._switch}")
        _run(f"ip -n {self._switch} link add bridge0 type bridge")
        _run(f"ip -n {self._switch} link set bridge0 up")
        for i, name in enumerate(self._names):
            _run(f"ip netns add {name}")
            _run(f"ip link add {DEVICE} netns {name} type veth peer name port{i} netns {self._switch}")
            _run(f"ip -n {self._switch} link set port{i} master bridge0")
            _run(f"ip -n {self._switch} link set port{i} up")
            _run(f"ip -n {name} addr add 10.178.0.{i + 1}/24 dev {DEVICE}")
            _run(f"ip -n {name} link set lo up")
            _run(f"ip -n {name} link set {DEVICE} up")

    def _remove(self):
        for name in [*self._names, self._switch]:
            subprocess.run(["ip", "netns", "delete", name], stderr=subprocess.DEVNULL)


@contextlib.contextmanager
def hosts(count):
    """As many hosts, removed at the end."""
    made = Hosts(count)
    try:
        made._make()
        yield made
    finally:
        made._remove()
