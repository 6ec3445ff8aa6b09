# SPDX-License-Identifier: Apache-2.0
"""Residuals in torch's distributed checkpoints: a resumed run gives the same bytes, another number of ranks loses nothing."""

import pytest

torch = pytest.importorskip("torch")
import ranks  # noqa: E402
import small_net  # noqa: E402
import torch.distributed as dist  # noqa: E402
import torch.distributed.checkpoint as dcp  # noqa: E402

import casync.torch  # noqa: E402
from casync import errors  # noqa: E402


def train_and_save(rank, folder, codec):
    """Hashes of the parameters after six steps; a checkpoint is saved after three."""
    dist.init_process_group("gloo")
    ddp, state, optimizer = small_net.make(codec)
    for step in range(6):
        if step == 3:
            parts = {"net": ddp.module.state_dict(), "sgd": optimizer.state_dict(), "casync": casync.torch.residuals(state)}
            dcp.save(parts, checkpoint_id=folder)
        small_net.step_once(ddp, optimizer, rank, step)
    return small_net.fingerprint(ddp)


def load_and_train(rank, folder, codec, with_residuals=True):
    dist.init_process_group("gloo")
    ddp, state, optimizer = small_net.make(codec)
    for parameter in ddp.parameters():  # a place for the momentum that the checkpoint has
        optimizer.state[parameter]["momentum_buffer"] = torch.zeros_like(parameter)
    parts = {"net": ddp.module.state_dict(), "sgd": optimizer.state_dict()}
    dcp.load(parts, checkpoint_id=folder)
    ddp.module.load_state_dict(parts["net"])
    optimizer.load_state_dict(parts["sgd"])
    if with_residuals:
        casync.torch.load_residuals(state, folder)
    for step in range(3, 6):
        small_net.step_once(ddp, optimizer, rank, step)
    return small_net.fingerprint(ddp)


def load_and_step(rank, folder):
    """The state of this rank right after loading; then the ranks train on together."""
    dist.init_process_group("gloo")
    ddp, state, optimizer = small_net.make("onebit")
    casync.torch.load_residuals(state, folder)
    loaded = state.state_dict()
    small_net.step_once(ddp, optimizer, rank, 3)
    return loaded


def test_a_resumed_run_gives_the_bytes_of_an_uninterrupted_one(tmp_path):
    folder = str(tmp_path)
    whole = ranks.values(__file__, "train_and_save", 2, torch=True, folder=folder, codec="int4")
    resumed = ranks.values(__file__, "load_and_train", 2, torch=True, folder=folder, codec="int4")
    without = ranks.values(__file__, "load_and_train", 2, torch=True, folder=folder, codec="int4", with_residuals=False)
    assert resumed == whole
    assert without != whole  # so the test would notice


def test_other_numbers_of_ranks_load_states_of_their_size(tmp_path):
    folder = str(tmp_path)
    ranks.values(__file__, "train_and_save", 2, torch=True, folder=folder, codec="onebit")
    for size in (1, 3):
        states = ranks.values(__file__, "load_and_step", size, torch=True, folder=folder)
        assert [state["rank"] for state in states] == list(range(size))
        for state in states:
            assert state["ranks"] == size
            assert all(one["residual"].abs().sum() > 0 for one in state["gradients"].values())


def test_a_checkpoint_without_residuals_is_refused(tmp_path):
    dcp.save({"net": {"a": torch.ones(3)}}, checkpoint_id=str(tmp_path), no_dist=True)
    with pytest.raises(errors.InvalidArgument, match="has no residuals under 'casync'"):
        casync.torch.load_residuals(None, str(tmp_path))
