# SPDX-License-Identifier: Apache-2.0
"""The part of every framework's plugin that knows no framework: names, buckets, step boundaries, a step's answer.

A plugin declares each trained tensor by its name, at any time, submits gradients as they become ready, and ends the
step. `docs/plugins.md` shows a whole one.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from casync import _library, errors, greeting
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
    of CASYNC_PLAN and CASYNC_CODEC. InvalidArgument: both are given, the plan is no file, the codec has an unknown name
    or a parameter out of range. PlanError: the plan cannot be read, or has such a codec. A codec's file is compiled
    later, when the session opens."""
    if plan is not None and codec is not None:
        raise errors.InvalidArgument(f"both plan {plan} and codec {codec} are given: a plan names its codecs")
    if plan is None and codec is None:
        plan, codec = (os.environ.get(name) or None for name in ("CASYNC_PLAN", "CASYNC_CODEC"))
    if plan is not None and not os.path.isfile(plan):
        raise errors.InvalidArgument(f"plan {plan} is not there")
    if plan is not None:
        _library.call("casync_plan_check", _library.c_text("the plan's path", plan))
    if isinstance(codec, str) and not os.path.splitext(codec.split("+")[0])[1]:
        Codec(codec)


class Synchronizer:
    """One session and the gradients of one training in it.

    Arguments are those of casync.Session. The result is the average over the ranks, unless `op` is "sum".
    Threads: any may submit; one ends the step.
    """

    def __init__(self, **options: Any) -> None:
        self.session = Session(**options)
        self.rank, self.size = self.session.rank, self.session.size
        greeting.greet(self.session, options.get("plan"), options.get("codec"))
        self.last_step: StepResult | None = None  # the StepResult of the last step that ended
        self._ids = {}  # name -> id
        self._declared = {}  # id -> (name, bytes)
        self._submitted: dict[int, Handle] = {}  # by id, in the step under way

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
        identity = self.session.declare(name, shape, dtype, priority, scatter)
        self._ids[name] = identity
        self._declared[identity] = (name, self.session.bytes_of(identity))
        return identity

    def name_of(self, identity: int) -> str:
        return self._declared[identity][0]

    def submit(
        self,
        ids: Sequence[int],
        addresses: Sequence[int],
        owner: object = None,
        done: Done | None = None,
        stream: int | None = None,
    ) -> list[Handle]:
        """Starts averaging gradients in place; `addresses` of contiguous memory that `owner` keeps alive. Returns a
        Handle for each. With done(id, error) and a stream, see Session.submit_memory. A gradient that is already on its way in this
        step raises InvalidArgument with its name, and nothing is started."""
        for identity in ids:
            if identity in self._submitted:
                raise errors.InvalidArgument(
                    f"gradient {self.name_of(identity)} is submitted twice in one step: end the step first, or "
                    "accumulate before you submit"
                )
        sizes = [self._declared[identity][1] for identity in ids]
        handles = self.session.submit_memory(ids, addresses, sizes, owner, done, stream)
        self._submitted.update(zip(ids, handles))
        return handles

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
            address += self._declared[identity][1]
        return self.submit(ids, addresses, owner, done, stream)

    @property
    def submitted(self) -> dict[int, Handle]:
        """Handles of the step under way, by gradient id."""
        return self._submitted

    def missing(self) -> list[int]:
        """Ids of the declared gradients that nobody has submitted in this step: other ranks may wait for them."""
        return [identity for identity in self._declared if identity not in self._submitted]

    def end_step(self) -> StepResult:
        """Waits for all gradients of the step and commits what error feedback remembers. The StepResult is the same on
        all ranks: False in a condition when some gradient was NaN or infinite somewhere. Don't update then: every rank
        leaves the update out, and error feedback keeps its state."""
        result = self.session.step()
        self._submitted = {}
        self.last_step = result
        return result

    def stats(self) -> dict[str, Any]:
        return self.session.stats()

    def state_dict(self) -> dict[str, Any]:
        """The state of error feedback on this rank: numpy arrays, ints and strings, by gradient name."""
        return self.session.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.session.load_state_dict(state)
        self._submitted = {}

    def close(self) -> None:
        self.session.close()
