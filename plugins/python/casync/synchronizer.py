# SPDX-License-Identifier: Apache-2.0
"""The part of every framework's plugin that knows no framework: names, buckets, step boundaries, a step's answer.

A plugin declares each trained tensor by its name, at any time, submits gradients as they become ready, and ends the
step. `docs/plugins.md` shows a whole one.
"""

from __future__ import annotations

import logging
import os
import threading
from typing import TYPE_CHECKING

from casync import _library, errors, greeting, patience
from casync.codec import Codec
from casync.session import Session

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from numpy.typing import DTypeLike

    from casync._calls import Done
    from casync.session import Handle, StepResult


def check_choice(plan: str | os.PathLike[str] | None, codec: str | os.PathLike[str] | Codec | None) -> None:
    """Refuses a plan or codec that no session could open, on the line where the program names it; without both, those
    of CASYNC_PLAN and CASYNC_CODEC; "" is none, whatever the environment says. InvalidArgument: both are given, the plan
    is no file, the codec has an unknown name or a parameter out of range. PlanError: the plan cannot be read, or has
    such a codec. A codec's file is compiled later, when the session opens."""
    if plan and codec:
        raise errors.InvalidArgument(f"both plan {plan} and codec {codec} are given: a plan names its codecs")
    if plan is None and codec is None:
        plan, codec = (os.environ.get(name) for name in ("CASYNC_PLAN", "CASYNC_CODEC"))
    if plan and not os.path.isfile(plan):
        raise errors.InvalidArgument(f"plan {plan}: no such file")
    if plan:
        _library.call("casync_plan_check", _library.c_text("the plan's path", plan))
    if codec and isinstance(codec, str) and not _is_file(codec):
        Codec(codec)


def _is_file(codec: str) -> bool:
    """As base/codec_file.h says of a name, behind which parameters may stand."""
    return "/" in codec or codec.split(":")[0].endswith((".cll", ".pse"))


_log = logging.getLogger("casync")


class Step:
    """The names of the gradients that have left in the step under way: each leaves once. A Synchronizer has its own;
    plugins whose native code submits keep one beside their session."""

    def __init__(self) -> None:
        self.submitted: set[str] = set()

    def refuse_again(
        self, names: Iterable[str], advice: str = "end the step first, or accumulate gradients and submit their sum"
    ) -> None:
        """InvalidArgument: one of them has left already, with its name and the advice."""
        for name in names:
            if name in self.submitted:
                raise errors.InvalidArgument(f"gradient {name} is submitted twice in one step: {advice}")

    def add(self, names: Iterable[str]) -> None:
        """They are on their way."""
        self.submitted.update(names)

    def take_back(self, names: Iterable[str]) -> None:
        """Their submissions came to nothing: they may leave again."""
        self.submitted.difference_update(names)

    def end(self) -> None:
        self.submitted.clear()


class NonFinite:
    """Tells rank 0's user once of a gradient that was not finite. `consequence` completes the sentence."""

    def __init__(self, consequence: str) -> None:
        self._consequence, self._told = consequence, False

    def tell(self, rank: int, name: str | None) -> None:
        if rank == 0 and not self._told:
            self._told = True
            _log.warning("gradient %s was not finite on some rank: %s", name, self._consequence)


def _taking_back(done: Done, names: Mapping[int, str], step: Step) -> Done:
    """`done`, after the gradient that came to nothing is taken back: a member of a plan's group that did not leave."""

    def told(identity: int, error: Exception | None) -> object:
        if error is not None:
            step.take_back([names[identity]])
        return done(identity, error)

    return told


class Synchronizer:
    """One session and the gradients of one training in it.

    Arguments are those of casync.Session. The result is the average over the ranks, unless `op` is "sum".
    Threads: any may submit; one ends the step.
    """

    def __init__(self, **options: Any) -> None:
        self.session = Session(**options)
        self.rank, self.size = self.session.rank, self.session.size
        # The session's ranks as the whole job numbers them. A process group may have some of them only.
        self.members: list[int] = getattr(options.get("store"), "members", None) or list(range(self.size))
        greeting.greet(self.session, options.get("plan"), options.get("codec"))
        self.last_step: StepResult | None = None  # the StepResult of the last step that ended
        self._under_way = Step()
        self._taking = threading.Lock()  # of two threads one submits a gradient

    def declare(
        self,
        name: str,
        shape: int | Iterable[int],
        dtype: DTypeLike = "float32",
        priority: int | None = None,
        scatter: bool = False,
    ) -> int:
        """Makes a gradient known by its name and returns its id. All ranks declare the same gradients, in any order.
        The same again returns the same id; another shape or dtype under a known name raises InvalidArgument. With
        `scatter` a rank gets the result of its own shard alone (Session.declare)."""
        return self.session.declare(name, shape, dtype, priority, scatter)

    def name_of(self, identity: int) -> str:
        """The name of a declared gradient. InvalidArgument: there is none of this id."""
        return self.session.gradient_of(identity).name

    def submit(
        self,
        ids: Sequence[int],
        addresses: Sequence[int],
        owner: object = None,
        done: Done | None = None,
        stream: int | None = None,
    ) -> list[Handle]:
        """Starts averaging gradients in place; `addresses` of contiguous memory that `owner` keeps alive. Returns a
        Handle for each. With done(id, error) and a stream, see Session.submit_memory. A gradient that is already on its
        way in this step raises InvalidArgument with its name, an id that was never declared one with the id, and nothing
        is started. One whose `done` was called with an error is on its way no more. A call that Ctrl-C interrupts may
        have started them; missing() knows."""
        names = {identity: self.name_of(identity) for identity in ids}
        sizes = [self.session.bytes_of(identity) for identity in ids]
        with self._taking:
            self._under_way.refuse_again(names.values())
            self._under_way.add(names.values())  # the first completion may come ahead of the handles
        told = None if done is None else _taking_back(done, names, self._under_way)
        kept = [owner]  # tells this submission from others

        def start() -> list[Handle]:
            try:
                return self.session.submit_memory(ids, addresses, sizes, kept, told, stream)
            except BaseException:
                if not self.session.holds(kept):
                    self._under_way.take_back(names.values())
                raise

        # In a thread it goes on when its caller is interrupted, and knows then what has become of it.
        return patience.in_thread(start) if self.session.compares_next else start()

    def submit_bucket(
        self,
        ids: Sequence[int],
        address: int,
        owner: object = None,
        done: Done | None = None,
        stream: int | None = None,
    ) -> list[Handle]:
        """The same for gradients that lie one after another in one buffer."""
        addresses = []
        for identity in ids:
            addresses.append(address)
            address += self.session.bytes_of(identity)
        return self.submit(ids, addresses, owner, done, stream)

    def missing(self) -> list[int]:
        """Ids of the declared gradients that nobody has submitted in this step: other ranks may wait for them."""
        submitted = self._under_way.submitted
        return [identity for identity, gradient in self.session.declared.items() if gradient.name not in submitted]

    def end_step(self) -> StepResult:
        """Waits for all gradients of the step and commits what error feedback remembers. The StepResult is the same on
        all ranks: False in a condition when some gradient was NaN or infinite somewhere. Don't update then: every rank
        leaves the update out, and error feedback keeps its state."""
        result = self.session.step()
        self._under_way.end()
        self.last_step = result
        return result

    def stats(self) -> dict[str, Any]:
        return self.session.stats()

    def state_dict(self) -> dict[str, Any]:
        """The state of error feedback on this rank: numpy arrays, ints and strings, by gradient name."""
        return self.session.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.session.load_state_dict(state)
        self._under_way.end()

    def close(self) -> None:
        self.session.close()
