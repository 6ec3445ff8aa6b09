# SPDX-License-Identifier: Apache-2.0
"""Residuals in torch's distributed checkpoints: a resumed run gives the same bytes, another number of ranks loses nothing."""

import hashlib
import json
import types

import pytest

torch = pytest.importorskip("torch")
import ranks  # noqa: E402
import small_net  # noqa: E402
import torch.distributed as dist  # noqa: E402
import torch.distributed.checkpoint as dcp  # noqa: E402
from torch.distributed.device_mesh import init_device_mesh  # noqa: E402
from torch.distributed.fsdp import fully_shard  # noqa: E402
from torch.testing._internal.distributed import fake_pg  # noqa: E402

import casync.torch  # noqa: E402
from casync import errors, reshard  # noqa: E402
from casync.torch import saved  # noqa: E402

SHARDS = 2  # of a node


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


class Sharded:
    """A net whose shards stay inside of nodes, and what trains it."""

    def __init__(self, nodes):
        torch.set_num_threads(1)
        dist.init_process_group("gloo")
        self.mesh = init_device_mesh("cpu", (nodes, SHARDS), mesh_dim_names=("nodes", "shards"))
        torch.manual_seed(0)
        self.net = torch.nn.Sequential(torch.nn.Linear(40, 50), torch.nn.ReLU(), torch.nn.Linear(50, 30))
        for layer in (self.net[0], self.net[2]):
            fully_shard(layer, mesh=self.mesh["shards"])
        fully_shard(self.net, mesh=self.mesh["shards"])
        self.state = casync.torch.State(codec="onebit", process_group=self.mesh.get_group("nodes"))
        casync.torch.fsdp_all_reduce_hook(self.state).install(self.net)
        self._optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)

    def train(self, rank, steps):
        for step in steps:
            small_net.step_once(self.net, self._optimizer, rank, step)

    def fingerprint(self):
        parts = [parameter.detach().to_local().numpy().tobytes() for parameter in self.net.parameters()]
        return hashlib.sha256(b"".join(parts)).hexdigest()


def train_and_save_shards(rank, folder):
    """The hash of this rank's shard after six steps, and its residuals after three, when a checkpoint is saved."""
    sharded = Sharded(nodes=2)
    sharded.train(rank, range(3))
    parts = {"net": sharded.net.state_dict(), "casync": casync.torch.residuals(sharded.state)}
    dcp.save(parts, checkpoint_id=folder)
    state = saved.to_arrays(sharded.state.state_dict())
    sharded.train(rank, range(3, 6))
    sharded.state.close()
    return sharded.fingerprint(), state


def load_and_train_shards(rank, folder):
    sharded = Sharded(nodes=2)
    parts = {"net": sharded.net.state_dict()}
    dcp.load(parts, checkpoint_id=folder)
    sharded.net.load_state_dict(parts["net"])
    casync.torch.load_residuals(sharded.state, folder)
    sharded.train(rank, range(3, 6))
    sharded.state.close()
    return sharded.fingerprint()


def load_shards_of_one_node(rank, folder):
    sharded = Sharded(nodes=1)
    casync.torch.load_residuals(sharded.state, folder, process_group=sharded.mesh.get_group("nodes"))
    return saved.to_arrays(sharded.state.state_dict())


def test_each_shard_of_several_gets_its_own_residuals_back(tmp_path):
    folder = str(tmp_path)
    whole = ranks.values(__file__, "train_and_save_shards", 2 * SHARDS, torch=True, folder=folder)
    states = [state for _, state in whole]
    assert [state["rank"] for state in states] == [0, 0, 1, 1]
    assert any(
        (states[0]["gradients"][name]["residual"] != states[1]["gradients"][name]["residual"]).any()
        for name in states[0]["gradients"]
    )  # so the test would notice
    resumed = ranks.values(__file__, "load_and_train_shards", 2 * SHARDS, torch=True, folder=folder)
    assert resumed == [digest for digest, _ in whole]
    of_one_node = ranks.values(__file__, "load_shards_of_one_node", SHARDS, torch=True, folder=folder)
    for shard, state in enumerate(of_one_node):
        wanted = reshard.reshard(states[shard::SHARDS], 0, 1)
        assert (state["ranks"], state["rank"]) == (1, 0)
        assert state["gradients"].keys() == wanted["gradients"].keys() == {"0", "2"}
        for name, gradient in wanted["gradients"].items():
            assert (state["gradients"][name]["residual"] == gradient["residual"]).all()


class Owner:
    """Has a session of the ranks `members`."""

    def __init__(self, members, rank):
        self._synchronizer = types.SimpleNamespace(members=members, rank=rank)

    def load_state_dict(self, state):
        self.residual = state["gradients"]["w"]["residual"].tolist()


def save_part(in_job, size, **more):
    """The residuals of one rank as a checkpoint has them."""
    place = f"{in_job}/gradients/w/residual"
    gradient = {"codec": "onebit", "residual": {"tensor": place}, "owned": [[0, 2]]}
    state = {"step": 3, "ranks": size, "rank": in_job, "gradients": {"w": gradient}, **more}
    return {f"{in_job}/state": json.dumps(state), place: torch.full((4,), float(in_job))}


def test_checkpoints_of_earlier_versions_load_into_a_group_of_all_ranks(tmp_path):
    parts = {**save_part(0, 2), **save_part(1, 2)}  # without the members of the group
    dcp.save({"casync": parts}, checkpoint_id=str(tmp_path), no_dist=True)
    owner = Owner([0, 1], rank=1)
    casync.torch.load_residuals(owner, str(tmp_path))
    assert owner.residual == [1.0] * 4


def test_a_group_that_did_not_save_is_refused(tmp_path):
    dcp.save({"casync": save_part(0, 1, members=[0])}, checkpoint_id=str(tmp_path), no_dist=True)
    with pytest.raises(errors.InvalidArgument, match=r"that begin with ranks \[0\], and this rank's begins with 1:"):
        casync.torch.load_residuals(Owner([1, 3], rank=0), str(tmp_path))


@pytest.mark.parametrize("saved, members", [
    ([[0, 1], [2, 3]], [3, 4, 5]), ([[0, 1], [2, 3]], [1]), ([[0, 2], [1, 3]], [1, 3, 5]), ([[0, 2], [1, 3]], [1]),
])  # fmt: skip
def test_a_group_of_another_size_gets_what_the_one_at_its_place_has_saved(tmp_path, saved, members):
    parts = {}
    for group in saved:
        for rank, in_job in enumerate(group):
            parts.update(save_part(in_job, len(group), rank=rank, members=group))
    dcp.save({"casync": parts}, checkpoint_id=str(tmp_path), no_dist=True)
    owner = Owner(members, rank=0)
    store = fake_pg.FakeStore()
    dist.init_process_group("fake", rank=members[0], world_size=len(saved) * len(members), store=store)
    try:
        casync.torch.load_residuals(owner, str(tmp_path))
    finally:
        dist.destroy_process_group()
    # The first two elements count wholly on both ranks that saved, which own them, and the others a half.
    unsent, share = sum(saved[1]), len(members) / (2 * len(members) - 1)
    assert owner.residual == pytest.approx([unsent * share] * 2 + [unsent / 2 * share] * 2)


def test_a_checkpoint_without_residuals_is_refused(tmp_path):
    dcp.save({"net": {"a": torch.ones(3)}}, checkpoint_id=str(tmp_path), no_dist=True)
    with pytest.raises(errors.InvalidArgument, match="has no residuals under 'casync'"):
        casync.torch.load_residuals(None, str(tmp_path))
