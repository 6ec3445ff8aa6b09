# SPDX-License-Identifier: Apache-2.0
"""What the demo shows: a progress bar while it runs, a table at the end."""

import sys

HEADINGS = (
    "codec    held-out loss  against none   ms/step = compute + exposed   hidden   MB/rank and step   speed-up"
    "   replicas"
)
ONEBIT = (
    "onebit sends a 32nd of the bits and pays for it: in runs this short its loss ends 5-20 % higher, here {:.0f} %.\n"
    "It is for links on which the time saved is worth more than that; error feedback narrows the gap in longer runs."
)


class Bar:
    """How far all runs together are, on stderr: one line that moves on a terminal, one line per run elsewhere."""

    def __init__(self, total):
        self._total, self._done, self._live = total, 0, sys.stderr.isatty()
        self._way, self._step = None, 0

    def show(self, way, step, loss):
        if way != self._way:
            self._way, self._step = way, 0
            if not self._live:
                print(f"training: {way}", file=sys.stderr, flush=True)
        self._done += step - self._step
        self._step = step
        if self._live:
            filled = 40 * self._done // self._total
            percent = 100 * self._done // self._total
            line = f"[{'#' * filled}{'.' * (40 - filled)}] {percent:3} %  {way:8} loss {loss:.3f}"
            print(f"\r{line:78}", end="", file=sys.stderr, flush=True)

    def end(self):
        if self._live:
            print(file=sys.stderr)


def identical(result):
    return len(set(result["replicas"])) == 1


def lines(results, link):
    """The table, from the results by name; "compute" is among them."""
    compute, none = results["compute"]["step_ms"], results.get("none")
    yield f"Four ranks, one network of {link} per rank. A step of compute alone takes {compute:.0f} ms."
    yield ""
    yield HEADINGS
    for name, result in results.items():
        if name != "compute":
            yield row(name, result, compute, none)
    if "onebit" in results and none:
        yield ""
        yield ONEBIT.format(worse(results["onebit"], none))


def worse(result, none):
    """How much higher its loss is, in percent."""
    return 100 * (result["loss"] / none["loss"] - 1)


def row(name, result, compute, none):
    step = result["step_ms"]
    # What the step takes beyond compute was waited for; the rest of synchronizing was hidden behind compute.
    exposed = max(0.0, step - compute)
    hidden = max(0.0, result["synchronizing_ms"] - exposed)
    against = f"{worse(result, none):+.2f} %" if none else ""
    faster = f"{none['step_ms'] / step:.2f} x" if none else ""
    same = "identical" if identical(result) else "DIFFERENT"
    return (
        f"{name:8} {result['loss']:13.4f} {against:>13} {step:9.1f} = {step - exposed:7.1f} + {exposed:7.1f} "
        f"{hidden:8.1f} {result['bytes'] / 1e6:18.3f} {faster:>10}   {same}"
    )
