# SPDX-License-Identifier: Apache-2.0
"""Network namespaces joined by a bridge: machines of their own for the ranks of a job, whose links can be cut."""

import contextlib
import itertools
import json
import os
import subprocess

DEVICE = "casync0"  # its name on every host; those of further networks are casync1 and so on
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
    def __init__(self, count, networks):
        self._networks = networks
        job = f"{os.getpid()}-{next(_numbers)}"
        self._switch = f"casync-{job}-switch"
        self._names = [f"casync-{job}-{i}" for i in range(count)]

    def before(self):
        """By rank: the command that runs a program on the rank's host."""
        return {rank: ["ip", "netns", "exec", name] for rank, name in enumerate(self._names)}

    def cut(self, rank):
        _run(f"ip -n {self._switch} link set port0-{rank} down")

    def mend(self, rank):
        _run(f"ip -n {self._switch} link set port0-{rank} up")

    def sent(self, rank, device):
        """Bytes that have left the rank's host by this interface."""
        command = ["ip", "-n", self._names[rank], "-json", "-s", "link", "show", device]
        said = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
        return json.loads(said)[0]["stats64"]["tx"]["bytes"]

    def _make(self):
        _run(f"ip netns add {self._switch}")
        _run(f"ip -n {self._switch} link add bridge0 type bridge")
        _run(f"ip -n {self._switch} link set bridge0 up")
        for i, name in enumerate(self._names):
            _run(f"ip netns add {name}")
            _run(f"ip -n {name} link set lo up")
            for network in range(self._networks):
                self._plug_in(i, network)

    def _plug_in(self, host, network):
        """An interface with an address of this network, and with a way to the others."""
        name, device, port = self._names[host], f"casync{network}", f"port{network}-{host}"
        _run(f"ip link add {device} netns {name} type veth peer name {port} netns {self._switch}")
        _run(f"ip -n {self._switch} link set {port} master bridge0")
        _run(f"ip -n {self._switch} link set {port} up")
        _run(f"ip -n {name} addr add 10.178.{network}.{host + 1}/24 dev {device}")
        _run(f"ip -n {name} link set {device} up")
        for other in range(self._networks):
            if other != network:
                _run(f"ip -n {name} route add 10.178.{other}.0/24 dev {device} metric 200")

    def _remove(self):
        for name in [*self._names, self._switch]:
            subprocess.run(["ip", "netns", "delete", name], stderr=subprocess.DEVNULL)


@contextlib.contextmanager
def hosts(count, networks=1):
    """As many hosts on each of so many networks, removed at the end."""
    made = Hosts(count, networks)
    try:
        made._make()
        yield made
    finally:
        made._remove()
