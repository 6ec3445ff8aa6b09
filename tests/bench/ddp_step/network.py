# SPDX-License-Identifier: Apache-2.0
"""Two network namespaces joined by a shaped link: two machines and a slow network, on one machine."""

import contextlib
import os
import subprocess
import time

NAMES = ("casync-bench-0", "casync-bench-1")
DEVICE = "casync0"  # its name in both
ADDRESSES = ("10.177.0.1", "10.177.0.2")


def _run(command):
    subprocess.run(command.split(), check=True)


def _wait_until_up():
    """The kernel takes a moment to notice the other end: until then UCX finds no way through."""
    for name in NAMES:
        show = ["ip", "-n", name, "-o", "link", "show", "dev", DEVICE]
        while "state UP" not in subprocess.run(show, check=True, stdout=subprocess.PIPE, text=True).stdout:
            time.sleep(0.01)


@contextlib.contextmanager
def two_hosts():
    """The namespaces, removed at the end. Needs root."""
    if os.geteuid() != 0:
        raise SystemExit("network namespaces need root: run this as root or with sudo")
    for name in NAMES:
        subprocess.run(["ip", "netns", "delete", name], stderr=subprocess.DEVNULL)  # left by a run that was killed
    try:
        for name in NAMES:
            _run(f"ip netns add {name}")
        _run(f"ip link add {DEVICE} netns {NAMES[0]} type veth peer name {DEVICE} netns {NAMES[1]}")
        for name, address in zip(NAMES, ADDRESSES):
            _run(f"ip -n {name} addr add {address}/24 dev {DEVICE}")
            _run(f"ip -n {name} link set lo up")
            _run(f"ip -n {name} link set {DEVICE} up")
        _wait_until_up()
        yield
    finally:
        for name in NAMES:
            subprocess.run(["ip", "netns", "delete", name], stderr=subprocess.DEVNULL)


def shape(rate):
    """Lets `rate` ("1gbit") through each way; "unshaped" takes the limit off."""
    for name in NAMES:
        subprocess.run(["tc", "-n", name, "qdisc", "del", "dev", DEVICE, "root"], stderr=subprocess.DEVNULL)
        if rate != "unshaped":
            # The bucket holds what passes in 1 ms, and at least four full segments of 64 KiB.
            burst = max(256 * 1024, bits_per_second(rate) // 8 // 1000)
            _run(f"tc -n {name} qdisc add dev {DEVICE} root tbf rate {rate} burst {burst} latency 50ms")


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
