# SPDX-License-Identifier: Apache-2.0
"""The DDP hook with a group for the ranks of a node: nodes of several ranks, each of which takes a part of every gradient
to the other nodes."""

import hashlib
import os
import pathlib

import numpy
import pytest

torch = pytest.importorskip("torch")
import ranks  # noqa: E402
import small_net  # noqa: E402
import torch.distributed as dist  # noqa: E402
from test_torch_ddp import CASES, train  # noqa: E402
from torch.distributed.device_mesh import init_device_mesh  # noqa: E402

import casync.torch  # noqa: E402
from casync import errors  # noqa: E402
from casync.torch import node  # noqa: E402


def groups_of(nodes, local):
    """State's arguments."""
    torch.set_num_threads(1)
    if not dist.is_initialized():
        dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (nodes, local), mesh_dim_names=("nodes", "local"))
    return dict(process_group=mesh.get_group("nodes"), local_group=mesh.get_group("local"))


def digest_of(parameters):
    return hashlib.sha256(b"".join(p.detach().contiguous().view(torch.uint8).numpy().tobytes() for p in parameters)).hexdigest()


def compare(rank, nodes, local, names):
    """Largest difference from plain DDP, and hash of all parameters, by case."""
    groups, outcomes = groups_of(nodes, local), {}
    for name in names:
        case = CASES[name]
        ours, plain = train(rank, True, case, **groups), train(rank, False, case)
        outcomes[name] = (ours.float() - plain.float()).abs().max().item(), digest_of([ours])
    return outcomes


@pytest.fixture(scope="module")
def two_by_two():
    return ranks.values(__file__, "compare", 4, torch=True, nodes=2, local=2, names=list(CASES))


@pytest.mark.parametrize("name", CASES)
def test_parts_give_what_plain_ddp_gives(two_by_two, name):
    for difference, digest in (of_rank[name] for of_rank in two_by_two):
        assert difference <= CASES[name].get("error", 1e-6) and digest == two_by_two[0][name][1]


@pytest.mark.parametrize("nodes, local", [(1, 3), (3, 1), (2, 3)])
def test_other_meshes_average_alike(nodes, local):
    outcomes = ranks.values(__file__, "compare", nodes * local, torch=True, nodes=nodes, local=local, names=["ordinary"])
    for difference, digest in (of_rank["ordinary"] for of_rank in outcomes):
        assert difference <= 1e-6 and digest == outcomes[0]["ordinary"][1]


def beside_a_session(rank, codec):
    """Gradients of three steps by the hook, and by a session of this rank's parts alone, which this test cuts itself."""
    groups = groups_of(2, 2)
    ddp, state, _ = small_net.make(codec, **groups)
    alone = torch.nn.Sequential(torch.nn.Linear(40, 50), torch.nn.ReLU(), torch.nn.Linear(50, 30))
    alone.load_state_dict(ddp.module.state_dict())
    within, across = groups["local_group"], groups["process_group"]
    local, same = dist.get_rank(within), True
    session = casync.Session(codec=codec, store=casync.launch.find_store(None, across))
    inputs, named = torch.Generator().manual_seed(rank), list(alone.named_parameters())
    for _ in range(3):
        x = torch.randn(8, 40, generator=inputs)
        for net in (ddp, alone):
            net.zero_grad()
            net(x).square().mean().backward()
        parts, ids = {}, []
        for name, parameter in reversed(named):
            mean = parameter.grad / 2
            dist.all_reduce(mean, group=within)
            padded = numpy.zeros((2, -(-mean.numel() // 2)), dtype=numpy.float32)
            padded.reshape(-1)[: mean.numel()] = mean.numpy().reshape(-1)
            parts[name] = padded[local].copy()
            ids.append(session.declare(name, parts[name].shape))
        for handle in [session.submit(identity, part) for identity, part in zip(ids, parts.values())]:
            handle.wait()
        session.step()
        for (name, parameter), ours in zip(named, ddp.parameters()):
            both = [None, None]
            dist.all_gather_object(both, parts[name], group=within)
            wanted = numpy.concatenate(both)[: parameter.numel()]
            same = same and wanted.tobytes() == ours.grad.numpy().reshape(-1).tobytes()
    kept = {name: gradient["residual"].numel() for name, gradient in state.state_dict()["gradients"].items()}
    session.close()
    state.close()
    return same, kept, {name: -(-parameter.numel() // 2) for name, parameter in named}


@pytest.mark.parametrize("codec", ["int4", "onebit"])
def test_a_part_is_a_gradient_of_its_parameters_name(codec):
    for same, kept, lengths in ranks.values(__file__, "beside_a_session", 4, torch=True, codec=codec):
        assert same and kept == lengths


def with_nan(rank):
    """In the second of three steps one element on the last rank is not a number: it is in the second part."""
    ddp, state, optimizer = small_net.make("int4", **groups_of(2, 2))
    step, told = 0, []

    def spoil(gradient):
        return gradient.index_fill(0, torch.tensor([29]), float("nan")) if step == 1 and rank == 3 else gradient

    ddp.module[2].bias.register_hook(spoil)
    for step in range(3):
        optimizer.zero_grad()
        ddp(torch.full((4, 40), 0.01 * (rank + step + 1))).square().mean().backward()
        told.append((state.last_step.finite, state.last_step.first_non_finite))
        if state.last_step:
            optimizer.step()
    state.close()
    return told, digest_of(ddp.parameters())


def test_all_ranks_of_all_nodes_learn_of_a_gradient_that_is_not_finite():
    outcomes = ranks.values(__file__, "with_nan", 4, torch=True)
    assert outcomes[0][0] == [(True, None), (False, "2.bias"), (True, None)]
    assert all(outcome == outcomes[0] for outcome in outcomes)


def resumed(rank):
    """Hash of the parameters after four steps, in one go and with new states after two."""
    groups, digests = groups_of(2, 2), []
    for stops in (False, True):
        ddp, state, optimizer = small_net.make("int4", **groups)
        inputs = torch.Generator().manual_seed(rank)
        for step in range(4):
            if stops and step == 2:
                saved, net = state.state_dict(), ddp.module.state_dict()
                momentum = optimizer.state_dict()
                state.close()
                ddp, state, optimizer = small_net.make("int4", **groups)
                ddp.module.load_state_dict(net)
                optimizer.load_state_dict(momentum)
                state.load_state_dict(saved)
            optimizer.zero_grad()
            ddp(torch.randn(8, 40, generator=inputs)).square().mean().backward()
            optimizer.step()
        state.close()
        digests.append(digest_of(ddp.parameters()))
    return digests


def test_residuals_of_parts_are_saved_and_loaded():
    outcomes = ranks.values(__file__, "resumed", 4, torch=True)
    assert all(one == outcomes[0][0] for digests in outcomes for one in digests)


def refused(rank, folder):
    groups, messages = groups_of(2, 2), []
    x = torch.ones(2, 40)

    def note(function, kind):
        with pytest.raises(kind) as caught:
            function()
        messages.append(str(caught.value))

    for wrong in (dict(local_group=groups["local_group"]), dict(groups, process_group=groups["local_group"])):
        ddp, state, _ = small_net.make("none", **wrong)
        note(lambda: ddp(x).sum().backward(), errors.InvalidArgument)
    note(casync.torch.State(**groups).synchronizer, errors.InvalidArgument)
    plan = pathlib.Path(folder, f"{rank}.txtpb")
    plan.write_text('version: 1\ndefault { codec { name: "none" } }\nlocal_sgd { every: 2 }\n')
    ddp, state, _ = small_net.make(None, plan=plan, **groups)
    note(lambda: ddp(x).sum().backward(), errors.Unavailable)
    state.close()
    return messages


def test_groups_that_do_not_fit_and_modes_without_gradients_are_refused(tmp_path):
    messages = ranks.values(__file__, "refused", 4, torch=True, folder=str(tmp_path))
    for rank, (alone, twice, fsdp, mode) in enumerate(messages):
        within = [0, 1] if rank < 2 else [2, 3]
        assert f"local_group has the ranks {within}, process_group the ranks [0, 1, 2, 3], and 4 ranks train" in alone
        assert f"local_group has the ranks {within}, process_group the ranks {within}" in twice
        assert "local_group is for DDP's hook" in fsdp
        assert "with local_group a rank has a part of each" in mode


def dies(rank):
    """One rank ends after two steps, without a word."""
    ddp, state, _ = small_net.make("int4", **groups_of(2, 2))
    for step in range(3):
        if rank == 1 and step == 2:  # DDP itself exchanges nothing then
            os._exit(3)
        ddp(torch.ones(2, 40)).sum().backward()


def test_the_death_of_a_rank_ends_all_others():
    outcomes = ranks.outcomes(__file__, "dies", 4, torch=True)
    assert outcomes[1].code == 3
    assert outcomes[0].error == "RuntimeError"  # of Gloo, in the node of the dead one
    for rank in (2, 3):  # rank 0 of their sessions are those two
        assert outcomes[rank].error == "PeerFailure" and "rank 0" in outcomes[rank].message


def joins(rank):
    """One rank has fewer inputs than the others."""
    ddp, state, _ = small_net.make("none", **groups_of(1, 2))
    with ddp.join():
        for _ in range(1 + rank):
            ddp(torch.ones(2, 40)).sum().backward()
    state.close()


def test_join_is_refused_by_name():
    outcomes = ranks.outcomes(__file__, "joins", 2, torch=True)
    assert "DDP's join() does not go with local_group" in outcomes[0].stderr
    assert outcomes[0].code != 0 and outcomes[1].code != 0


@pytest.mark.parametrize("local", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_every_element_is_in_one_part_and_comes_back(monkeypatch, local, dtype):
    """This process plays all ranks of the node, one after the other."""
    monkeypatch.setattr(node.dist, "get_world_size", lambda group: local)
    elements = [1, 5, 7, 8, 64, 2, 0, 33]
    bucket = torch.arange(sum(elements)).remainder(200).to(dtype) * local
    kept, rank = {}, 0

    def reduce_scatter(part, rows, group):
        part.copy_(rows.view(local, -1)[rank])

    monkeypatch.setattr(node, "_reduce_scatter", reduce_scatter)
    monkeypatch.setattr(node, "_all_gather", lambda rows, part, group: rows.copy_(torch.cat([kept[r] for r in range(local)])))
    ours = node.Node(object())
    for rank in range(local):
        kept[rank] = ours.reduce(bucket, elements)
        assert kept[rank].numel() == sum(map(ours.part_of, elements))
    back = torch.full_like(bucket, -1)
    ours.gather(kept[0], back, elements)
    assert torch.equal(back, bucket / local)
