# SPDX-License-Identifier: Apache-2.0
"""The annotations of casync.torch: mypy, which is in another environment than PyTorch, checks a program that trains."""

import os
import pathlib
import re

from type_checks import mypy

TORCH = pathlib.Path(os.environ["CASYNC_VENV_DIR"]) / "torch/bin/python"
# Modules that torch imports, and of which these programs and casync.torch name no type: the half of all that mypy would read.
UNREAD = "sympy.*,torch._dynamo.*,torch._inductor.*,torch.ao.*,torch.fx.*,torch.onnx.*"

PROGRAM = """
from contextlib import AbstractContextManager
from typing import Any, assert_type

import torch
from torch.distributed.checkpoint.state_dict_saver import save
from torch.nn.parallel import DistributedDataParallel
from torch.optim.lr_scheduler import StepLR

import casync
import casync.torch
from casync.torch.optimizer import Distributed
from casync.torch.state import State


class Writer:
    def add_scalar(self, tag: str, value: float, step: int) -> None: ...


def by_hook(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
    ddp = DistributedDataParallel(model)
    state = casync.torch.State(codec=casync.Codec("int8"), named_parameters=model.named_parameters())
    ddp.register_comm_hook(state, casync.torch.comm_hook)
    state.follow(optimizer)
    state.log_to(Writer(), every=5)
    assert_type(state.last_step, casync.StepResult | None)
    if state.last_step:
        optimizer.step()
    save({"casync": casync.torch.residuals(state)}, checkpoint_id="x")
    casync.torch.load_residuals(state, "x")
    state.load_state_dict(state.state_dict())
    state.close()


def by_optimizer(model: torch.nn.Module) -> dict[str, Any]:
    casync.torch.broadcast_parameters(model, root=0)
    plain = torch.optim.SGD(model.parameters(), 0.1)
    optimizer = casync.torch.DistributedOptimizer(plain, model.named_parameters(), plan="plan.txtpb", timeout=30)
    assert_type(optimizer, Distributed)
    schedule = StepLR(optimizer, 10)
    optimizer.synchronize()
    assert_type(optimizer.skip_synchronize(), AbstractContextManager[None])
    with optimizer.skip_synchronize():
        optimizer.step()
    optimizer.zero_grad()
    schedule.step()
    assert_type(optimizer.casync.last_step, casync.StepResult | None)
    return optimizer.casync.stats()


def by_fsdp(model: torch.nn.Module, state: State) -> None:
    casync.torch.fsdp_all_reduce_hook(state).install(model)
    casync.torch.CompressedReduceScatter(state).install(model)
    casync.torch.register_backend("mine", codec="int4")
"""


def test_a_program_that_trains_passes_a_strict_check(tmp_path):
    status, messages = mypy(tmp_path, PROGRAM, f"--python-executable={TORCH}", unread=UNREAD)
    assert status == 0 and messages == "", messages


def test_wrong_uses_are_found(tmp_path):
    program = """
import torch
import casync.torch
casync.torch.State(codek="int8")
casync.torch.DistributedOptimizer(torch.nn.Linear(1, 1))
torch.optim.SGD(torch.nn.Linear, 0.1)
"""
    status, messages = mypy(tmp_path, program, f"--python-executable={TORCH}", unread=UNREAD)
    found = re.findall(r"program.py:(\d+): error: .*\[([a-z-]+)\]", messages)
    wanted = [("4", "call-arg"), ("5", "arg-type"), ("6", "arg-type")]  # also of the types of torch itself
    assert status == 1 and found == wanted, messages
