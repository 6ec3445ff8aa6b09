# SPDX-License-Identifier: Apache-2.0
"""Network namespaces joined by a shaped link or a switch: machines and a slow network, on one machine."""

import contextlib
import os
import subprocess
import time

NAMES = tuple(f"casync-bench-{i}" for i in range(4))
DEVICE = "casync0"  # its name in all
ADDRESSES = tuple(f"10.177.0.{i + 1}" for i in range(4))
SWITCH = "casync-bench-switch"


def _run(command):
    subprocess.run(command.split(), check=True)


def _wait_until_up(names):
    """The kernel takes a moment to notice the other end: until then UCX finds no way through."""
    for name in names:
        show = ["ip", "-n", name, "-o", "link", "show", "dev", DEVICE]
        while "state UP" not in subprocess.run(show, check=True, stdout=subprocess.PIPE, text=True).stdout:
            time.sleep(0.01)


def _delete(names):
    for name in names:
        subprocess.run(["ip", "netns", "delete", name], stderr=subprocess.DEVNULL)


@contextlib.contextmanager
def _namespaces(names):
    """The namespaces, removed at the end. Needs root."""
    if os.geteuid() != 0:
        raise SystemExit("network namespaces need root: run this as root or with sudo")
    _delete(names)  # left by a run that was killed
    try:
        for name in names:
            _run(f"ip netns add {name}")
        yield
    finally:
        _delete(names)


def _start(names):
    for name, address in zip(names, ADDRESSES):
        _run(f"ip -n {name} addr add {address}/24 dev {DEVICE}")
        _run(f"ip -n {name} link set lo up")
        _run(f"ip -n {name} link set {DEVICE} up")
    _wait_until_up(names)


@contextlib.contextmanager
def two_hosts():
    """Two hosts, joined by one link."""
    names = NAMES[:2]
    with _namespaces(names):
        _run(f"ip link add {DEVICE} netns {names[0]} type veth peer name {DEVICE} netns {names[1]}")
        _start(names)
        yield


@contextlib.contextmanager
def hosts(count):
    """`count` hosts, each joined to a switch by a link of its own."""
    names = NAMES[:count]
    with _namespaces((*names, SWITCH)):
        _run(f"ip -n {SWITCH} link add bridge0 type bridge")
        _run(f"ip -n {SWITCH} link set bridge0 up")
        for i, name in enumerate(names):
            _run(f"ip link add {DEVICE} netns {name} type veth peer name port{i} netns {SWITCH}")
            _run(f"ip -n {SWITCH} link set port{i} master bridge0")
            _run(f"ip -n {SWITCH} link set port{i} up")
        _start(names)
        yield


def _limit(name, device, rate):
    subprocess.run(["tc", "-n", name, "qdisc", "del", "dev", device, "root"], stderr=subprocess.DEVNULL)
    if rate != "unshaped":
        # The bucket, which fills while nothing is sent, holds what passes in 2.6 ms: 32 KiB at 100 Mb/s. From 1 Gb/s on it
        # is four full segments of 64 KiB, or what passes in 1 ms.
        per_second = bits_per_second(rate) // 8
        burst = max(32 * 1024, min(256 * 1024, per_second * 26 // 10000), per_second // 1000)
        _run(f"tc -n {name} qdisc add dev {device} root tbf rate {rate} burst {burst} latency 50ms")


def shape(rate):
    """Lets `rate` ("1gbit") through each link of two_hosts() each way; "unshaped" takes the limit off."""
    for name in NAMES[:2]:
        _limit(name, DEVICE, rate)


def shape_all(count, rate):
    """The same for the links of hosts(count)."""
    for i, name in enumerate(NAMES[:count]):
        _limit(name, DEVICE, rate)
        _limit(SWITCH, f"port{i}", rate)


def bits_per_second(rate):
    number, unit = rate[:-4], rate[-4:]
    return int(float(number) * {"kbit": 1e3, "mbit": 1e6, "gbit": 1e9}[unit])


def sent_bytes():
    """Bytes that this process's namespace has sent over the link so far."""
    with open("/proc/self/net/dev") as table:
        for line in table:
            name, _, counters = line.partition(":")
            if name.strip() == DEVICE:
                return int(counters.split()[8])
    return 0


def outputs(processes, timeout):
    """The outputs of all processes, none of which outlives this. Exits with the errors of one that failed."""
    try:
        said = [process.communicate(timeout=timeout) for process in processes]
    finally:
        for process in processes:
            process.kill()
    for process, (_, errors) in zip(processes, said):
        if process.returncode != 0:
            raise SystemExit(f"{' '.join(process.args)}: {errors.strip()}")
    return [output for output, _ in said]
