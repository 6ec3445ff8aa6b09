# SPDX-License-Identifier: Apache-2.0
"""Errors of a program with DistributedOptimizer when something goes wrong on another rank, or in its own order."""

import contextlib
import os
import signal
import time

import pytest

torch = pytest.importorskip("torch")
import ranks  # noqa: E402

import casync.torch  # noqa: E402
from casync import errors  # noqa: E402


def make(codec="none", hidden=50, deferred=False):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(40, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, 30))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    model = net if deferred else None
    return net, casync.torch.DistributedOptimizer(optimizer, net.named_parameters(), model=model, codec=codec)


def step_once(net, optimizer, rank, step):
    optimizer.zero_grad()
    x = torch.randn(4, 40, generator=torch.Generator().manual_seed(1000 * rank + step))
    net(x).square().mean().backward()
    optimizer.step()


def train_for_ever(rank, deferred):
    net, optimizer = make(hidden=2000, deferred=deferred)
    for step in range(1_000_000):
        if step == 3:
            ranks.mark("running")
        step_once(net, optimizer, rank, step)


@pytest.mark.parametrize("deferred", [False, True], ids=["at_once", "deferred"])
def test_training_raises_peer_failure_that_names_a_killed_rank(deferred):
    with ranks.Job(__file__, "train_for_ever", 3, deferred=deferred) as job:
        job.wait_for_files("running")
        job.processes[2].send_signal(signal.SIGKILL)
        outcomes = job.wait()
    for outcome in outcomes[:2]:
        assert outcome.error == "PeerFailure" and "rank 2" in outcome.message, outcome.stderr


def one_raises(rank):
    net, optimizer = make()
    for step in range(5):
        if rank == 1 and step == 3:
            raise ValueError("the data ended")
        step_once(net, optimizer, rank, step)


def test_a_rank_that_raises_is_named_with_its_exception():
    waiting, raising = ranks.outcomes(__file__, "one_raises", 2)
    assert raising.error == "ValueError"
    assert waiting.error == "PeerFailure", waiting.stderr
    assert "rank 1 ended with ValueError: the data ended" in waiting.message


def models_differ(rank):
    net, optimizer = make(hidden=(50, 60)[rank])
    step_once(net, optimizer, rank, 0)


def test_a_model_that_differs_is_refused_by_the_parameters_name_and_both_shapes():
    for outcome in ranks.outcomes(__file__, "models_differ", 2):
        assert outcome.error == "InvalidArgument", outcome.stderr
        assert "gradient 0." in outcome.message and "50" in outcome.message and "60" in outcome.message


def leaves_in_flight(rank):
    net, optimizer = make(hidden=500)
    step_once(net, optimizer, rank, 0)
    assert not optimizer.casync.in_flight
    if rank == 1:
        net(torch.ones(4, 40)).sum().backward()
        assert optimizer.casync.in_flight
        return  # the program ends with gradients under way
    step_once(net, optimizer, rank, 1)
    step_once(net, optimizer, rank, 2)


def test_an_interpreter_that_exits_with_work_in_flight_ends_the_others_and_itself():
    waiting, leaving = ranks.outcomes(__file__, "leaves_in_flight", 2, whole_ends=True)
    assert leaving.code == 0, leaving.stderr
    assert waiting.error == "PeerFailure" and "rank 1" in waiting.message, waiting.stderr


_kept = []  # as a program keeps its variables until it ends


def ends_after_its_last_step(rank):
    """Rank 0 saves the model, and rank 1 just ends."""
    net, optimizer = make(hidden=2000, deferred=True)
    _kept.append((net, optimizer))
    for step in range(2):
        step_once(net, optimizer, rank, step)
        assert optimizer.casync.deferring and not optimizer.casync.in_flight
    if rank == 1:
        return None
    saved = len(net.state_dict())
    assert not optimizer.casync.deferring
    return saved


def test_a_rank_that_ends_its_program_after_its_last_step_ends_the_step_for_all():
    # Gradients of 560 kB travel for a quarter of a second: the last step's are under way when rank 1 ends.
    outcomes = ranks.outcomes(
        __file__, "ends_after_its_last_step", 2, whole_ends=True, env={"CASYNC_LINK": "20mbit"}
    )
    for outcome in outcomes:
        assert outcome.code == 0 and outcome.error is None, outcome.stderr
    assert outcomes[0].value == 4


def begins_anew(rank, deferred):
    """After a failure in the middle of a step: the model and the optimizer can be saved, and be distributed again."""
    net, optimizer = make(deferred=deferred)
    for step in range(2):
        step_once(net, optimizer, rank, step)
    net.state_dict()  # waits for updates
    optimizer.zero_grad()
    if rank == 1:
        net[0](torch.ones(4, 40)).sum().backward()
        for flight in optimizer.casync._gradients.flights.values():
            flight.wait()  # rank 0 has submitted these, the last ones of its backward pass
        optimizer.casync._synchronizer.session.abort("a test has seen enough")
    else:
        net(torch.ones(4, 40)).sum().backward()
        with pytest.raises(errors.Error, match="a test has seen enough"):
            if deferred:
                optimizer.step()
            optimizer.synchronize()
    with contextlib.suppress(errors.Error):
        optimizer.casync.close()
    again = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    again.load_state_dict(optimizer.state_dict())
    model = net if deferred else None
    again = casync.torch.DistributedOptimizer(again, net.named_parameters(), model=model, codec="none")
    for step in range(2):
        step_once(net, again, rank, step)
    again.casync.close()
    return [value.tolist() for value in net.state_dict().values()]


@pytest.mark.parametrize("deferred", [False, True], ids=["at_once", "deferred"])
def test_what_a_failed_session_has_left_is_saved_and_distributed_again(deferred):
    first, second = ranks.values(__file__, "begins_anew", 2, deferred=deferred)
    assert first == second


def forks(rank):
    net, optimizer = make()
    step_once(net, optimizer, rank, 0)
    child = os.fork()
    if child == 0:
        try:
            step_once(net, optimizer, rank, 1)
        except errors.InvalidArgument as error:
            os._exit(0 if "cannot be used after a fork" in str(error) else 3)
        os._exit(4)
    _, status = os.waitpid(child, 0)
    step_once(net, optimizer, rank, 1)
    optimizer.casync.close()
    return os.waitstatus_to_exitcode(status)


def test_a_forked_child_is_refused_and_its_parent_goes_on():
    assert ranks.values(__file__, "forks", 2) == [0, 0]


def adversaries(rank):
    """Two optimizers whose losses meet in both networks, as a generator and a discriminator have them."""
    torch.set_num_threads(1)
    torch.manual_seed(rank)
    nets = [torch.nn.Linear(8, 8), torch.nn.Linear(8, 1)]
    for net in nets:
        casync.torch.broadcast_parameters(net)
    optimizers = [
        casync.torch.DistributedOptimizer(torch.optim.Adam(net.parameters()), net.named_parameters(), codec="int8")
        for net in nets
    ]
    for step in range(6):
        x = torch.randn(4, 8)
        loss = nets[1](nets[0](x)).mean()
        for optimizer in optimizers:
            optimizer.zero_grad()
        (loss if step % 2 else -loss).backward()
        optimizers[step % 2].step()
    for optimizer in optimizers:
        optimizer.zero_grad()
        optimizer.casync.close()
    return [value.tolist() for net in nets for value in net.state_dict().values()]


def test_two_optimizers_in_one_process_keep_their_own_steps():
    first, second = ranks.values(__file__, "adversaries", 2)
    assert first == second


def by_turns(rank):
    """As adversaries(), but each step freezes the network that it does not train."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    nets = [torch.nn.Linear(8, 8), torch.nn.Linear(8, 1)]
    optimizers = [
        casync.torch.DistributedOptimizer(torch.optim.SGD(net.parameters(), lr=0.1), net.named_parameters(), codec="none")
        for net in nets
    ]
    for step in range(6):
        for at, net in enumerate(nets):
            net.requires_grad_(at == step % 2)
            optimizers[at].zero_grad()
        nets[1](nets[0](torch.full((4, 8), step + 2.0 * rank))).square().mean().backward()
        assert all((p.grad is None) == (at != step % 2) for at, net in enumerate(nets) for p in net.parameters())
        optimizers[step % 2].step()
    steps = [optimizer.casync.stats()["steps"] for optimizer in optimizers]
    for optimizer in optimizers:
        optimizer.casync.close()
    return [value.tolist() for net in nets for value in net.state_dict().values()], steps


def test_networks_that_are_frozen_by_turns_are_trained_by_turns():
    first, second = ranks.values(__file__, "by_turns", 2)
    assert first == second and first[1] == [3, 3]


OPTIMIZERS = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=0.5),
    "momentum": lambda parameters: torch.optim.SGD(parameters, lr=0.5, momentum=0.9, weight_decay=0.1),
    "adamw": lambda parameters: torch.optim.AdamW(parameters, lr=0.1, eps=1e-3, weight_decay=0.1),
}


def idle(rank, deferred):
    """The ranks with a backward pass ahead of each step() are: none at the start, both, none, the first, both. Returns for
    each optimizer the largest difference from plain torch, whose gradients are zeros where a rank has none, and the
    largest change by the steps in which no rank has one."""
    torch.set_num_threads(1)
    outcome = {}
    for name, make_optimizer in OPTIMIZERS.items():
        torch.manual_seed(0)
        net = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.ReLU(), torch.nn.Linear(5, 2))
        torch.manual_seed(0)
        plain = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.ReLU(), torch.nn.Linear(5, 2))
        model = net if deferred else None
        optimizer = casync.torch.DistributedOptimizer(
            make_optimizer(net.parameters()), net.named_parameters(), model=model, codec="none"
        )
        expected, moved = make_optimizer(plain.parameters()), 0.0
        for step, busy in enumerate([(), (0, 1), (), (0,), (0, 1)]):
            before = torch.nn.utils.parameters_to_vector(net.parameters()).detach().clone()
            optimizer.zero_grad()
            if rank in busy:
                loss_of(net, rank, step).backward()
            optimizer.step()
            expected.zero_grad()
            sum((loss_of(plain, one, step) / 2 for one in busy), 0 * loss_of(plain, 0, step)).backward()
            expected.step()
            net.state_dict()  # waits for updates
            after = torch.nn.utils.parameters_to_vector(net.parameters()).detach()
            moved = max(moved, 0.0 if busy else (after - before).abs().max().item())
        difference = (after - torch.nn.utils.parameters_to_vector(plain.parameters())).abs().max().item()
        outcome[name] = difference, moved, optimizer.casync.stats()["steps"]
        optimizer.casync.close()
    return outcome


def loss_of(net, rank, step):
    return net(torch.randn(4, 6, generator=torch.Generator().manual_seed(1000 * rank + step))).square().mean()


@pytest.mark.parametrize("deferred", [False, True], ids=["at_once", "deferred"])
def test_a_step_without_a_backward_pass_is_one_with_zeros_on_any_rank(deferred):
    for outcome in ranks.values(__file__, "idle", 2, deferred=deferred, env={"CASYNC_TIMEOUT_SEC": "20"}):
        for name, (difference, moved, steps) in outcome.items():
            assert difference < 1e-5 and steps == 5, name
        assert outcome["sgd"][1] == 0.0  # as in plain torch, which has no gradients at all then


def interrupted(rank):
    net, optimizer = make()
    step_once(net, optimizer, rank, 0)
    ranks.mark("running")
    if rank == 1:
        time.sleep(5)
    step_once(net, optimizer, rank, 1)


def test_ctrl_c_is_heard_while_step_waits():
    with ranks.Job(__file__, "interrupted", 2) as job:
        job.wait_for_files("running")
        time.sleep(1)
        job.processes[0].send_signal(signal.SIGINT)
        outcomes = job.wait()
    assert outcomes[0].error == "KeyboardInterrupt", outcomes[0].stderr
    assert outcomes[1].error == "PeerFailure", outcomes[1].stderr


def never_submits(rank):
    net, optimizer = make()
    step_once(net, optimizer, rank, 0)
    if rank == 1:
        time.sleep(8)
        return
    step_once(net, optimizer, rank, 1)


def test_a_rank_that_never_comes_is_a_timeout_that_names_it_and_a_parameter():
    waiting, _ = ranks.outcomes(__file__, "never_submits", 2, env={"CASYNC_TIMEOUT_SEC": "4"})
    assert waiting.error == "Timeout", waiting.stderr
    assert "rank 1" in waiting.message and "gradient " in waiting.message


def old_torch(rank):
    torch.__version__ = "2.12.0"
    for name in [name for name in __import__("sys").modules if name.startswith("casync.torch")]:
        del __import__("sys").modules[name]
    import casync.torch  # noqa: F401


def test_a_torch_that_is_too_old_is_refused_with_both_versions():
    (outcome,) = ranks.outcomes(__file__, "old_torch", 1)
    assert outcome.error == "Unavailable" and "2.12.0" in outcome.message and "2.13" in outcome.message
