# SPDX-License-Identifier: Apache-2.0
"""casync.torch.State between steps: checkpoints, gradients that are not finite, plans, priorities."""

import copy
import gc
import json
import os
import pickle
import re
import struct
import sys
import time
import traceback

import pytest

torch = pytest.importorskip("torch")
import ranks  # noqa: E402
import small_net  # noqa: E402
import torch.distributed as dist  # noqa: E402

import casync.torch  # noqa: E402
from casync import errors  # noqa: E402


def interrupted_and_not(rank, folder):
    """Hashes of the parameters after six steps at once, and after three, a checkpoint, and three."""
    dist.init_process_group("gloo")
    ddp, _, optimizer = small_net.make()
    for step in range(6):
        small_net.step_once(ddp, optimizer, rank, step)
    whole = small_net.fingerprint(ddp)
    ddp, state, optimizer = small_net.make()
    for step in range(3):
        small_net.step_once(ddp, optimizer, rank, step)
    path = f"{folder}/rank{rank}.pt"
    torch.save({"net": ddp.module.state_dict(), "sgd": optimizer.state_dict(), "casync": state.state_dict()}, path)
    state.close()
    saved = torch.load(path, weights_only=True)
    ddp, state, optimizer = small_net.make()
    ddp.module.load_state_dict(saved["net"])
    optimizer.load_state_dict(saved["sgd"])
    state.load_state_dict(saved["casync"])
    for step in range(3, 6):
        small_net.step_once(ddp, optimizer, rank, step)
    resumed = small_net.fingerprint(ddp)
    ddp, state, optimizer = small_net.make()
    ddp.module.load_state_dict(saved["net"])
    optimizer.load_state_dict(saved["sgd"])
    for step in range(3, 6):
        small_net.step_once(ddp, optimizer, rank, step)
    return whole, resumed, small_net.fingerprint(ddp)


def test_a_resumed_run_gives_the_bytes_of_an_uninterrupted_one(tmp_path):
    for whole, resumed, without_residuals in ranks.values(
        __file__, "interrupted_and_not", 2, torch=True, folder=str(tmp_path)
    ):
        assert whole == resumed
        assert whole != without_residuals  # so the test would notice


def copied(rank):
    """Hashes of the parameters after six steps; and after three and three with a copy of the state, in two ways."""
    dist.init_process_group("gloo")
    codec = casync.Codec("int4", block=64)
    ddp, state, optimizer = small_net.make(codec)
    for step in range(3):
        small_net.step_once(ddp, optimizer, rank, step)
    torch.optim.swa_utils.AveragedModel(ddp)  # copies the module, with what it knows of its hook
    copies = [copy.deepcopy(state), pickle.loads(pickle.dumps(state))]
    net, sgd = copy.deepcopy(ddp.module.state_dict()), copy.deepcopy(optimizer.state_dict())
    for step in range(3, 6):
        small_net.step_once(ddp, optimizer, rank, step)
    hashes = [small_net.fingerprint(ddp)]
    for other in [*copies, casync.torch.State(codec=codec)]:
        ddp, optimizer = small_net.with_state(other)
        ddp.module.load_state_dict(net)
        optimizer.load_state_dict(copy.deepcopy(sgd))
        for step in range(3, 6):
            small_net.step_once(ddp, optimizer, rank, step)
        hashes.append(small_net.fingerprint(ddp))
    return hashes


def test_a_copy_of_a_state_opens_a_session_of_its_own_and_goes_on_with_the_residuals():
    for whole, by_copy, by_pickle, without in ranks.values(__file__, "copied", 2, torch=True):
        assert by_copy == by_pickle == whole != without


def test_a_state_refuses_choices_that_cannot_be_when_it_is_made(tmp_path, monkeypatch):
    for options, text in [
        (dict(codec="int5"), "no codec is called `int5`"),
        (dict(codec="int4:block=63"), "parameter `block` is 63"),
        (dict(codec="tpok:ratio=0.1"), "no codec is called `tpok`"),
        (dict(plan=str(tmp_path / "none.txtpb")), "none.txtpb: no such file"),
        (dict(plan=__file__, codec="int4"), "both plan"),
    ]:
        with pytest.raises(errors.InvalidArgument, match=text):
            casync.torch.State(**options)
    for line, text in [("default { partitons: 2 }", "did you mean `partitions`"),
                       ('rule { match: "*.mlp.*" codec { name: "int5" } }', r"rule `\*.mlp.\*`: no codec is called `int5`")]:
        plan = tmp_path / "plan.txtpb"
        plan.write_text(f"version: 1\n{line}\n")
        with pytest.raises(errors.PlanError, match=text):
            casync.torch.State(plan=plan)
        monkeypatch.setenv("CASYNC_PLAN", str(plan))
        with pytest.raises(errors.PlanError, match=text):
            casync.torch.State()
        monkeypatch.delenv("CASYNC_PLAN")


def test_a_refused_state_has_a_short_traceback_and_no_noise(monkeypatch):
    noise = []
    monkeypatch.setattr(sys, "unraisablehook", noise.append)
    with pytest.raises(TypeError, match="codc"):
        casync.torch.State(codc="int8")
    with pytest.raises(errors.InvalidArgument) as refused:
        casync.torch.State(codec="int9")
    assert [frame.name for frame in traceback.extract_tb(refused.value.__traceback__)][1:] == ["__init__"]
    gc.collect()
    assert noise == []


def two_passes(rank, bucket_cap_mb):
    dist.init_process_group("gloo")
    net = torch.nn.Sequential(torch.nn.Linear(1000, 200), torch.nn.Linear(200, 1000))
    ddp = torch.nn.parallel.DistributedDataParallel(net, bucket_cap_mb=bucket_cap_mb)
    ddp.register_comm_hook(casync.torch.State(codec="int8"), casync.torch.comm_hook)
    for _ in range(3):
        ddp(torch.ones(1, 1000)).sum().backward()


@pytest.mark.parametrize("bucket_cap_mb, is_noted", [(25, True), (0.5, False)])
def test_a_model_in_one_bucket_is_told_that_nothing_overlaps(bucket_cap_mb, is_noted):
    first, second = ranks.outcomes(__file__, "two_passes", 2, torch=True, bucket_cap_mb=bucket_cap_mb)
    assert first.stderr.count("come in one bucket") == int(is_noted), first.stderr
    assert "come in one bucket" not in second.stderr


def one_bad_gradient(rank):
    dist.init_process_group("gloo")
    ddp, state, optimizer = small_net.make("int8")
    small_net.step_once(ddp, optimizer, rank, 0)
    good = state.last_step
    if rank == 1:
        handle = ddp.module[2].weight.register_hook(lambda gradient: gradient * float("nan"))
    small_net.step_once(ddp, optimizer, rank, 1)
    bad = state.last_step
    if rank == 1:
        handle.remove()
    return good.finite, bad.finite, bad.first_non_finite


def test_all_ranks_learn_alike_which_gradient_was_not_finite():
    assert set(ranks.values(__file__, "one_bad_gradient", 3, torch=True)) == {(True, False, "2.weight")}


def bad_gradients(rank):
    dist.init_process_group("gloo")
    ddp, state, optimizer = small_net.make("int8")
    if rank == 1:
        ddp.module[2].weight.register_hook(lambda gradient: gradient * float("nan"))
    for step in range(3):
        small_net.step_once(ddp, optimizer, rank, step)


def test_rank_0_warns_once_of_a_gradient_that_is_not_finite():
    first, second = ranks.outcomes(__file__, "bad_gradients", 2, torch=True)
    assert first.stderr.count("gradient 2.weight was not finite on some rank") == 1, first.stderr
    assert "not finite" not in second.stderr


class Writer:
    """As a SummaryWriter of TensorBoard."""

    def __init__(self):
        self.scalars = []

    def add_scalar(self, tag, value, step):
        self.scalars.append((tag, value, step))


def logged(rank):
    dist.init_process_group("gloo")
    ddp, state, optimizer = small_net.make("none")
    writer = Writer()
    state.log_to(writer, every=2)
    for step in range(5):
        small_net.step_once(ddp, optimizer, rank, step)
    return writer.scalars, state.stats()


def test_scalars_are_means_over_the_steps_since_the_last_ones():
    (scalars, stats), (others, _) = ranks.values(__file__, "logged", 2, torch=True)
    assert others == []  # rank 0 writes
    assert [step for tag, _, step in scalars if tag == "casync/finite"] == [2, 4]
    sent = [value for tag, value, _ in scalars if tag == "casync/sent_mb"]
    # 3,580 elements in float32: of two ranks each sends half of them to the owner, and half as results.
    assert all(0.014 < value < 0.017 for value in sent), sent
    exposed, synchronizing = ([v for tag, v, _ in scalars if tag == f"casync/{name}_ms"] for name in
                              ("exposed", "synchronizing"))  # fmt: skip
    assert all(0 <= few <= many for few, many in zip(exposed, synchronizing)), (exposed, synchronizing)
    assert 2 * sum(synchronizing) <= 1e3 * stats["synchronizing_s"] + 1e-6
    with pytest.raises(errors.InvalidArgument, match="every is 0"):
        casync.torch.State(codec="int8").log_to(Writer(), every=0)


def profiled(rank):
    dist.init_process_group("gloo")
    ddp, _, optimizer = small_net.make("int8")
    with torch.profiler.profile() as profile:
        small_net.step_once(ddp, optimizer, rank, 0)
    return {event.key: event.count for event in profile.key_averages() if event.key.startswith("casync.")}


def test_a_profiler_sees_the_submissions_and_the_wait():
    for seen in ranks.values(__file__, "profiled", 2, torch=True):
        assert seen["casync.submit"] >= 1 and seen["casync.wait"] == 1, seen


def other_codecs(rank):
    dist.init_process_group("gloo")
    ddp, _, optimizer = small_net.make(("int8", "int4")[rank])
    try:
        small_net.step_once(ddp, optimizer, rank, 0)
    except errors.InvalidArgument as error:
        return traceback.format_exc(), str(error)


def test_a_traceback_ends_at_the_hook():
    for text, message in ranks.values(__file__, "other_codecs", 2, torch=True):
        assert "rank 0 has int8, rank 1 has int4" in message
        assert "patience" not in text and "_library" not in text and "synchronizer.py" not in text, text
        assert "step_once" in text, text


def test_a_folder_that_cannot_be_written_is_told_at_the_start(tmp_path):
    file = tmp_path / "file"
    file.write_text("no folder")
    (first, *_) = ranks.outcomes(__file__, "bad_gradients", 1, torch=True, env={"CASYNC_TRACE": str(file / "trace")})
    assert "nothing can be written to" in first.stderr and "(CASYNC_TRACE)" in first.stderr, first.stderr


def two_rules(rank, folder):
    dist.init_process_group("gloo")
    plan = os.path.join(folder, "plan.txtpb")
    ddp, state, optimizer = small_net.make(None, plan=plan)
    small_net.step_once(ddp, optimizer, rank, 0)
    return {name: gradient["codec"] for name, gradient in state.state_dict()["gradients"].items()}


def test_a_plan_decides_by_parameter_name(tmp_path):
    (tmp_path / "plan.txtpb").write_text(
        'version: 1\ndefault { codec { name: "int8" } }\nrule { match: "*.bias"  codec { name: "none" } }\n'
    )
    for codecs in ranks.values(__file__, "two_rules", 2, torch=True, folder=str(tmp_path)):
        assert codecs.keys() == {"0.weight", "0.bias", "2.weight", "2.bias"}
        assert "int8" in codecs["0.weight"] and "none" in codecs["2.bias"]


def traced_gradients(folder, rank):
    with open(os.path.join(folder, f"rank{rank}.trace.json")) as file:
        return {gradient["name"]: gradient for gradient in json.load(file)["casync"]["gradients"]}


def trace(rank, folder, plan):
    dist.init_process_group("gloo")
    ddp, state, optimizer = small_net.make(None, plan=plan, trace=folder)
    small_net.step_once(ddp, optimizer, rank, 0)
    state.close()
    return {name: gradient["priority"] for name, gradient in traced_gradients(folder, rank).items()}


def test_what_the_next_forward_pass_needs_first_is_most_urgent_unless_the_plan_says_otherwise(tmp_path):
    plan = tmp_path / "plan.txtpb"
    plan.write_text('version: 1 rule { match: "2.weight" priority: -7 }')
    for priorities in ranks.values(__file__, "trace", 2, torch=True, folder=str(tmp_path), plan=str(plan)):
        assert priorities == {"0.weight": 0, "0.bias": 1, "2.weight": -7, "2.bias": 3}


def record(rank, folder):
    """Rank 1 is 0.3 s late, for which rank 0 waits; each step ends with 0.2 s of something else."""
    os.environ["CASYNC_RECORD"] = folder
    dist.init_process_group("gloo")
    ddp, state, optimizer = small_net.make("none")
    for step in range(5):
        if rank == 1:
            time.sleep(0.3)
        small_net.step_once(ddp, optimizer, rank, step)
        time.sleep(0.2)
    state.close()


def test_a_recorded_model_has_the_parameters_and_the_programs_own_time(tmp_path):
    ranks.values(__file__, "record", 2, torch=True, folder=str(tmp_path / "new"))
    text = (tmp_path / "new" / "model.txtpb").read_text()
    for name in ("0.weight", "0.bias", "2.weight", "2.bias"):
        assert f'name: "{name}"' in text
    assert "shape: 30 shape: 50" in text
    seconds = {key: float(value) for key, value in re.findall(r"^(\w+_seconds): (\S+)$", text, re.MULTILINE)}
    assert seconds["backward_seconds"] >= 0.2, "what a step computes until its gradients are ready belongs to it"
    # Waiting does not: rank 0 stands still for the 0.3 s that rank 1 is late.
    assert seconds["forward_seconds"] < seconds["backward_seconds"]


def record_gradients(rank, folder):
    """Keeps what each backward pass made on this rank, as DDP hands it to the hook."""
    os.environ["CASYNC_RECORD"] = folder
    dist.init_process_group("gloo")
    made = {}

    def keep_and_reduce(state, bucket):
        names = {id(p): name for name, p in ddp.module.named_parameters()}
        for parameter, gradient in zip(bucket.parameters(), bucket.gradients()):
            made[names[id(parameter)]].append(gradient.flatten().tolist())
        return casync.torch.comm_hook(state, bucket)

    ddp, state, optimizer = small_net.make("onebit", hook=keep_and_reduce)
    made.update({name: [] for name, _ in ddp.module.named_parameters()})
    for step in range(5):
        small_net.step_once(ddp, optimizer, rank, step)
    state.close()
    return made


def test_recorded_gradients_are_those_of_rank_0_before_they_are_reduced(tmp_path):
    made = ranks.values(__file__, "record_gradients", 2, torch=True, folder=str(tmp_path))[0]
    content = (tmp_path / "gradients.safetensors").read_bytes()
    length = int.from_bytes(content[:8], "little")
    header, data = json.loads(content[8 : 8 + length]), content[8 + length :]
    assert set(header) - {"__metadata__"} == set(made)
    for name, gradients in made.items():
        begin, end = header[name]["data_offsets"]
        values = list(struct.unpack(f"<{header[name]['shape'][0]}f", data[begin:end]))
        assert values == gradients[3], "the fourth of five"
        assert header["__metadata__"][name] == f"step 3, {len(values)} of {len(values)} elements"


def hide_and_expose(rank, folder):
    """Rank 0 waits for the last layer's gradients inside its backward pass, and at its end for the first layer's."""
    dist.init_process_group("gloo")
    # With find_unused_parameters both layers have a bucket of their own from the first step on.
    several = dict(find_unused_parameters=True)
    ddp, state, optimizer = small_net.make("none", trace=folder, hook=note_future, ddp_options=several)

    def between_the_layers(*_):
        if rank == 0:
            _futures[0].wait()
        else:
            time.sleep(0.3)

    ddp.module[0].register_full_backward_hook(between_the_layers)
    for step in range(2):
        _futures.clear()
        if rank == 1:
            time.sleep(0.3)
        small_net.step_once(ddp, optimizer, rank, step)
    state.close()
    return {name: (g["mean_ms"], g["exposed_ms"]) for name, g in traced_gradients(folder, rank).items()}


_futures = []


def note_future(state, bucket):
    _futures.append(casync.torch.comm_hook(state, bucket))
    return _futures[-1]


def test_only_what_backward_waits_for_at_its_end_counts_as_exposed(tmp_path):
    """Rank 1 comes 0.3 s late, twice in each step; the first time rank 0 is busy meanwhile."""
    gradients = ranks.values(__file__, "hide_and_expose", 2, torch=True, folder=str(tmp_path))[0]
    mean, exposed = (sum(gradients[f"2.{name}"][i] for name in ("weight", "bias")) for i in (0, 1))
    assert mean > 300 and exposed < 0.2 * mean
    assert sum(gradients[f"0.{name}"][1] for name in ("weight", "bias")) > 150
