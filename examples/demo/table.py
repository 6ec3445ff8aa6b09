# SPDX-License-Identifier: Apache-2.0
"""The demo's output: a progress bar while it runs, a table and a verdict at the end."""

import statistics
import sys

HEADINGS = (
    "codec    held-out loss     against none   ms/step = compute + exposed   hidden   MB/rank and step   speed-up"
    "   replicas"
)
BOUND = 0.5  # percent that a codec's loss may be above that of none
UNBOUND = ("onebit",)
ONEBIT = (
    "onebit sends a 32nd of the bits and pays for it: in runs this short its loss ends higher, here by {:.1f} %.\n"
    "It is for links on which the time saved is worth more than that; error feedback narrows the gap in longer runs."
)


class Bar:
    """The progress of all runs together, on stderr: one line that moves on a terminal, one line per run elsewhere."""

    def __init__(self, total):
        self._total, self._done, self._live = total, 0, sys.stderr.isatty()
        self._way, self._step = None, 0

    def show(self, way, step, loss):
        if way != self._way or step < self._step:
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


def codecs(results):
    """The results by codec, without that of compute alone; each is a list with one per seed."""
    return {name: of_seeds for name, of_seeds in results.items() if name != "compute"}


def identical(of_seeds):
    return all(len(set(result["replicas"])) == 1 for result in of_seeds)


def worse(of_seeds, none):
    """The excess of its loss over that of none, in percent, by seed."""
    return [100 * (result["loss"] / plain["loss"] - 1) for result, plain in zip(of_seeds, none)]


def outside(results):
    """Codecs whose loss is over the bound, in the mean over the seeds."""
    bound = [name for name in codecs(results) if "none" in results and name not in UNBOUND]
    return [name for name in bound if not mean_worse(results, name) <= BOUND]  # also nan


def mean_worse(results, name):
    return statistics.mean(worse(results[name], results["none"]))


def passed(results):
    return all(map(identical, codecs(results).values())) and not outside(results)


def lines(results, ranks, link):
    """The table, from the results by name; "compute" is among them."""
    compute = results["compute"][0]["step_ms"]
    yield f"{ranks} ranks, one network of {link} per rank. A step of compute alone takes {compute:.0f} ms."
    yield ""
    yield HEADINGS
    for name, of_seeds in codecs(results).items():
        yield row(name, of_seeds, compute, results.get("none"))
    if "none" in results:
        yield ""
        yield from verdict(results)


def verdict(results):
    for name in codecs(results):
        if name != "none" and name not in UNBOUND:
            answer = "NO" if name in outside(results) else "yes"
            yield f"{name:8} within {BOUND} % of none: {answer} ({mean_worse(results, name):+.2f} %)"
    if "onebit" in results:
        yield ONEBIT.format(mean_worse(results, "onebit"))


def row(name, of_seeds, compute, none):
    def mean(field):
        return statistics.mean(result[field] for result in of_seeds)

    step = mean("step_ms")
    # The step's time beyond compute is exposed; the rest of the synchronizing time overlapped with compute.
    exposed = max(0.0, step - compute)
    hidden = max(0.0, mean("synchronizing_ms") - exposed)
    against = spread(worse(of_seeds, none)) if none else ""
    faster = f"{statistics.mean(result['step_ms'] for result in none) / step:.2f} x" if none else ""
    same = "identical" if identical(of_seeds) else "DIFFERENT"
    return (
        f"{name:8} {mean('loss'):13.4f} {against:>16} {step:9.1f} = {step - exposed:7.1f} + {exposed:7.1f} "
        f"{hidden:8.1f} {mean('bytes') / 1e6:18.3f} {faster:>10}   {same}"
    )


def spread(percents):
    """The mean; of several, with their standard deviation."""
    several = f" +- {statistics.stdev(percents):.2f}" if len(percents) > 1 else ""
    return f"{statistics.mean(percents):+.2f}{several} %"
