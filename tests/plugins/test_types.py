# SPDX-License-Identifier: Apache-2.0
"""The package's annotations: programs that use it pass a strict check, and wrong uses do not."""

import ast
import re

from type_checks import PACKAGE, mypy

PROGRAM = """
import os
import pathlib
from typing import Any, assert_type

import numpy
from numpy.typing import NDArray

import casync
from casync import exchange, reshard
from casync.synchronizer import Synchronizer, check_choice


class OwnStore:
    rank = 0
    size = 1

    def set(self, key: str, value: bytes) -> None: ...

    def get(self, key: str, seconds: float) -> bytes:
        return b""


def train(array: NDArray[numpy.float32]) -> None:
    with casync.Session(plan=pathlib.Path("plan.txtpb"), timeout=30, store=OwnStore(), device="cpu") as session:
        assert_type(session, casync.Session)
        assert_type((session.rank, session.size, session.exchanged), tuple[int, int, str])
        weight = session.declare("weight", array.shape, array.dtype, priority=3)
        assert_type(weight, int)
        handle = session.submit(weight, array)
        assert_type(handle, casync.Handle)
        handle.wait(timeout=1.5)
        assert_type(handle.done, bool)
        result = session.step()
        assert_type(result, casync.StepResult)
        assert_type(result.first_non_finite, str | None)
        if not result:
            return
        session.load_state_dict(reshard.reshard([session.state_dict()], 0, 1))
        assert_type(session.stats(), dict[str, Any])


def many(session: casync.Session, arrays: list[NDArray[numpy.float32]]) -> list[casync.Handle]:
    def done(identity: int, error: Exception | None) -> None:
        print(identity, error)

    ids = [session.declare(f"g{i}", array.size, "float32") for i, array in enumerate(arrays)]
    addresses, sizes = [array.ctypes.data for array in arrays], [array.nbytes for array in arrays]
    return session.submit_memory(ids, addresses, sizes, owner=arrays, done=done)


def compress(array: NDArray[numpy.float32]) -> NDArray[numpy.float32]:
    codec, state = casync.Codec("int8", block=64), casync.CodecState(array.size)
    assert_type(codec.info(), dict[str, Any])
    payload = codec.encode(array, state, seed=1, step=2)
    assert_type(codec.merge([payload, payload], array.size), bytes)
    kept: NDArray[numpy.float32] = state.residual
    print(kept)
    casync.Codec(["encode.pse", pathlib.Path("decode.pse")])
    return codec.decode(payload, array.size)


def synchronize(name: str | os.PathLike[str]) -> casync.StepResult | None:
    check_choice(name, None)
    synchronizer = Synchronizer(codec=casync.Codec("int4"))
    (handle,) = synchronizer.submit([synchronizer.declare("w", [3])], [0])
    assert_type(synchronizer.missing(), list[int])
    assert_type(handle, casync.Handle)
    synchronizer.end_step()
    return synchronizer.last_step


exchange.broadcast({"w": numpy.zeros(3)}, root=0)
assert_type(exchange.average({"loss": 1.0}), dict[str, NDArray[numpy.float64]])
assert_type((casync.codecs(), casync.version(), casync.library_path()), tuple[list[str], str, str])
try:
    train(numpy.zeros(3, numpy.float32))
except casync.PeerFailure as failure:
    print(failure)
"""

WRONG = """
import casync

casync.Session(size="2")  # arg-type
casync.Session(plam="plan.txtpb")  # call-arg
casync.Session(store=object())  # arg-type
casync.Codec("int8", block="64")  # arg-type


def train(session: casync.Session, handle: casync.Handle) -> str:
    session.submit("w", [1.0])  # arg-type
    handle.wait("forever")  # arg-type
    return session.step()  # return-value
"""


def test_a_program_that_uses_the_package_passes_a_strict_check(tmp_path):
    status, messages = mypy(tmp_path, PROGRAM)
    assert status == 0 and messages == "", messages


def test_wrong_uses_are_found(tmp_path):
    status, messages = mypy(tmp_path, WRONG)
    found = {(int(line), code) for line, code in re.findall(r"program.py:(\d+): error: .*\[([a-z-]+)\]", messages)}
    lines = enumerate(WRONG.splitlines(), 1)
    assert status == 1 and found == {(number, line.split("# ")[1]) for number, line in lines if "# " in line}, messages


def functions(body, place):
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from functions(node.body, f"{place}.{node.name}")
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield f"{place}.{node.name}", node
        elif isinstance(node, (ast.If, ast.Try)):
            yield from functions(node.body, place)


def untyped_parts(function):
    """The parameters without a type, and `return`."""
    every = function.args
    parameters = [*every.posonlyargs, *every.args, *every.kwonlyargs, *filter(None, (every.vararg, every.kwarg))]
    names = [one.arg for one in parameters if one.annotation is None and one.arg not in ("self", "cls")]
    return names + (["return"] if function.returns is None else [])


def test_every_function_has_types():
    untyped, count = [], 0
    for file in sorted(PACKAGE.rglob("*.py")):
        if file.is_relative_to(PACKAGE / "lib"):
            continue
        for name, function in functions(ast.parse(file.read_text()).body, file.relative_to(PACKAGE).as_posix()):
            count += 1
            untyped += [f"{name}: {part}" for part in untyped_parts(function)]
    assert untyped == [], "\n".join(untyped)
    assert count > 300  # the frameworks' plugins are among them
