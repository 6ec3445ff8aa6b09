# SPDX-License-Identifier: Apache-2.0
"""The store `casync` under gluon.Trainer: averages, names, steps on MXNet's engine, residuals."""

import contextlib
import gc
import pathlib
import subprocess
import sys
import types
import weakref

import numpy
import pytest

mxnet = pytest.importorskip("mxnet")
import ranks  # noqa: E402
from mxnet import autograd, gluon  # noqa: E402

import casync.mxnet  # noqa: E402
from casync.mxnet import store as store_module  # noqa: E402

BATCH, STEPS = 8, 6


class Scales(gluon.HybridBlock):
    """MXNet has no matrix product of float16 on a processor; this does without."""

    def __init__(self, **options):
        super().__init__(**options)
        with self.name_scope():
            self.weight = self.params.get("weight", shape=(1, 2, 8, 8))
            self.bias = self.params.get("bias", shape=(1, 2), init="zeros")

    def hybrid_forward(self, F, x, weight, bias):
        rows = F.broadcast_add(F.sum(F.broadcast_mul(x, weight), axis=(2, 3)), bias)
        return F.concat(rows, F.mean(rows, axis=1, keepdims=True), dim=1)


def make(dtype="float32", hybrid=True):
    net = gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        if dtype == "float16":
            net.add(Scales())
        else:
            net.add(gluon.nn.Conv2D(6, 3), gluon.nn.Dense(20, activation="relu"), gluon.nn.Dense(3))
    net.cast(dtype)
    net.initialize(mxnet.init.Xavier())
    if hybrid:
        net.hybridize(static_alloc=True)
    return net


def data(dtype="float32"):
    random = numpy.random.default_rng(5)
    x = random.standard_normal((STEPS, BATCH, 2, 8, 8)).astype(dtype)
    return x, random.standard_normal((STEPS, BATCH, 3)).astype(dtype)


def train(net, rank, size, store, dtype="float32", steps=range(STEPS), trainer=None, **options):
    """Each rank takes its part of every global batch."""
    x, y = data(dtype)
    loss_of = gluon.loss.L2Loss()
    options = {"learning_rate": 0.05, "momentum": 0.9, "multi_precision": dtype == "float16", **options}
    trainer = trainer or gluon.Trainer(net.collect_params(), "sgd", options, kvstore=store)
    for step in steps:
        with autograd.record():
            loss = loss_of(net(mxnet.nd.array(x[step, rank::size], dtype=dtype)), mxnet.nd.array(y[step, rank::size], dtype=dtype))
        loss.backward()
        trainer.step(BATCH // size)
    return trainer


def weights_of(net):
    return {name: p.data().asnumpy() for name, p in net.collect_params().items()}


def every_training(rank):
    """Every variation in one job."""
    result = {}
    for name, options in {
        "hybrid": {},
        "plain": {"hybrid": False},
        "half": {"dtype": "float16"},
    }.items():
        mxnet.random.seed(17)
        net = make(**options)
        store = mxnet.kv.create("casync")
        trainer = train(net, rank, 2, store, options.get("dtype", "float32"))
        result[name] = weights_of(net)
        assert store.finite and not trainer._update_on_kvstore
        assert (store.rank, store.num_workers, store.type) == (rank, 2, "casync")
        result[f"steps of {name}"] = store.session.stats()["steps"]
        result[f"names of {name}"] = sorted(store.session.state_dict()["gradients"])
        store.close()
    mxnet.random.seed(rank)  # other starts, so that only the Trainer's broadcast can make them equal
    net = make()
    train(net, rank, 2, casync.mxnet.create(codec="int8"))
    result["other starts"] = weights_of(net)
    return result


@pytest.fixture(scope="module")
def trained():
    return ranks.values(__file__, "every_training", 2, env={"CASYNC_CODEC": "none"})


@pytest.mark.parametrize("way", ["hybrid", "plain", "half", "other starts"])
def test_ranks_end_with_the_same_weights(trained, way):
    first, second = trained
    assert len(first[way]) == (2 if way == "half" else 6)
    for name in first[way]:
        assert first[way][name].tobytes() == second[way][name].tobytes(), name


def test_it_is_the_training_of_one_process_with_the_global_batch(trained):
    mxnet.random.seed(17)
    net = make()
    train(net, 0, 1, None)
    for name, wanted in weights_of(net).items():
        numpy.testing.assert_allclose(trained[0]["hybrid"][name], wanted, rtol=1e-4, atol=1e-5)


def test_steps_are_counted_and_gradients_have_the_names_of_parameters(trained):
    for way, name in {"hybrid": "net_dense0_weight", "plain": "net_conv0_bias", "half": "net_scales0_weight"}.items():
        assert trained[0][f"steps of {way}"] == STEPS
        assert name in trained[0][f"names of {way}"] and len(trained[0][f"names of {way}"]) == len(trained[0][way])


def cross(rank):
    """Rank 1 gives `b`'s result to `a` and then pushes `a`; rank 0 pushes `a` first: it has both under way."""
    store = casync.mxnet.create(codec="none")
    a, b = mxnet.nd.ones((4,)) * (rank + 1), mxnet.nd.ones((4,)) * (rank + 1)
    for name in "ab":
        store._declare(name, name, a, 0)
    if rank == 0:
        store.pushpull("a", a)
        store.pushpull("b", b)
    else:
        store.pushpull("b", b)
        a += 0 * b
        store.pushpull("a", a)
    store.end_step()
    return a.asnumpy().tolist(), b.asnumpy().tolist(), store.finite


def test_several_gradients_are_under_way():
    env = {"MXNET_CPU_WORKER_NTHREADS": "1"}
    first, second = ranks.outcomes(__file__, "cross", 2, env=env)
    assert first.value == second.value == ([1.5] * 4, [1.5] * 4, True), first.stderr[-3000:] + second.stderr[-3000:]
    assert ": 2 ranks, none, ucx" in first.stderr and "CaSync" not in second.stderr


def by_hand(rank):
    """Without a Trainer: several contexts, a separate output, a gradient that is not finite."""
    store = casync.mxnet.create(codec="none")
    parts = [mxnet.nd.ones((3,), mxnet.cpu(i)) * (rank + 1 + i) for i in range(2)]
    out = [mxnet.nd.zeros((3,), mxnet.cpu(i)) for i in range(2)]
    store.pushpull("g", parts, out=out)
    store.end_step()
    assert [part.asnumpy().tolist() for part in parts] == [[rank + 1.0] * 3, [rank + 2.0] * 3]
    bad = mxnet.nd.array([1, numpy.nan if rank == 1 else 0, 2])
    store.pushpull("g", bad)
    store.end_step()
    finite = store.finite
    kept = mxnet.nd.zeros((100_000,))
    for _ in range(3):
        store.pushpull("temporary", mxnet.nd.ones((100_000,)) * (rank + 1), out=kept)
        store.pushpull("forgotten", mxnet.nd.ones((100_000,)) * (rank + 1))  # nobody holds the array but the engine
        store.end_step()
    assert store.finite and kept.asnumpy().tolist() == [1.5] * 100_000
    parameters = {"w": mxnet.nd.ones((2,)) * rank, "n": mxnet.nd.array([rank], dtype="int64")}
    casync.mxnet.broadcast_parameters(parameters, root=1)
    return [o.asnumpy().tolist() for o in out], finite, {k: v.asnumpy().tolist() for k, v in parameters.items()}


def test_contexts_outputs_and_gradients_that_are_not_finite():
    wanted = [[4.0] * 3] * 2, False, {"w": [1.0, 1.0], "n": [1]}
    assert ranks.values(__file__, "by_hand", 2) == [wanted] * 2


def two_trainers(rank):
    """Each with a store of its own, in one backward pass."""
    mxnet.random.seed(rank)
    nets = [gluon.nn.Dense(units, in_units=4, prefix=f"net{units}_") for units in (3, 5)]
    trainers = []
    for net in nets:
        net.initialize()
        store = casync.mxnet.create(codec="none")
        trainers.append((gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1}, kvstore=store), store))
    for step in range(3):
        with autograd.record():
            losses = [net(mxnet.nd.ones((2, 4)) * (rank + 1)).square().sum() for net in nets]
        autograd.backward(losses)
        # The first step gives all ranks the same start, in the same order; then ranks may differ in their order.
        for trainer, _ in trainers if rank == 0 or step == 0 else trainers[::-1]:
            trainer.step(2)
    mxnet.nd.waitall()
    steps = [store.session.stats()["steps"] for _, store in trainers]
    return steps, [{name: w.tobytes() for name, w in weights_of(net).items()} for net in nets]


def test_two_trainers_with_a_store_each():
    first, second = ranks.values(__file__, "two_trainers", 2)
    assert first == second and first[0] == [3, 3]


def late(rank):
    """Searches of a store that is used without a Trainer for three steps, and then given to one."""
    searches, search = [], store_module._trainers_of
    store_module._trainers_of = lambda store: searches.append(1) or search(store)
    store = casync.mxnet.create(codec="none")
    gradient = mxnet.nd.ones((3,)) * rank
    for _ in range(3):
        store.pushpull("g", gradient)
        store.end_step()
    by_hand = len(searches)
    mxnet.random.seed(rank)
    net = make()
    train(net, rank, 2, store)
    return by_hand, {name: w.tobytes() for name, w in weights_of(net).items()}


def test_a_store_looks_for_its_trainer_once_and_finds_one_that_comes_later():
    first, second = ranks.values(__file__, "late", 2)
    assert first[0] == second[0] == 1
    assert first[1] == second[1]


def leave_out(rank):
    """An update whose gradient is not finite on rank 1, between two others."""
    mxnet.random.seed(3)
    net, store, x, _ = make(), casync.mxnet.create(codec="int8"), *data()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1}, kvstore=store)
    weights = []
    for step in range(3):
        bad = numpy.nan if step == 1 and rank == 1 else 0
        with autograd.record():
            loss = net(mxnet.nd.array(x[step, rank::2] + bad)).square().mean()
        loss.backward()
        trainer.allreduce_grads()
        if store.finite:
            trainer.update(BATCH // 2)
        weights.append({name: w.tobytes() for name, w in weights_of(net).items()})
    return weights


def test_an_update_that_is_not_finite_somewhere_can_be_left_out_on_all_ranks():
    first, second = ranks.values(__file__, "leave_out", 2)
    assert first == second and first[0] == first[1] != first[2]


def resume(rank):
    """Six steps; and three, whose residuals another session takes for the other three."""
    results = []
    for parts in ([range(6)], [range(3), range(3, 6)], [range(3), None, range(3, 6)]):
        mxnet.random.seed(3)
        net = make()
        state = None
        for part in parts:
            if part is None:
                state = None  # forgets
                continue
            store = casync.mxnet.create(codec="topk:ratio=0.1")
            if state is not None:
                store.load_state_dict(state)
            train(net, rank, 2, store, steps=part, momentum=0)
            state = store.state_dict()
            store.close()
        results.append({name: w.tobytes() for name, w in weights_of(net).items()})
    return results


def test_training_goes_on_byte_for_byte_with_the_residuals():
    for whole, resumed, forgetful in ranks.values(__file__, "resume", 2):
        assert resumed == whole
        assert forgetful != whole, "residuals made no difference, so this test shows nothing"


def refuse(rank):
    answers = {}

    def note(name, function):
        try:
            function()
        except Exception as error:
            answers[name] = type(error).__name__, str(error)

    def trainer(**options):
        net = make()
        net(mxnet.nd.zeros((1, 2, 8, 8)))
        store = casync.mxnet.create(codec="none", rank=0, size=1, transport="loopback")
        trainer = gluon.Trainer(net.collect_params(), "sgd", kvstore=store, **options)
        trainer._init_kvstore()
        return store, trainer

    note("update", lambda: trainer(update_on_kvstore=True))
    note("compression", lambda: trainer(compression_params={"type": "2bit"}))
    store, first = trainer()
    net = make()
    second = gluon.Trainer(net.collect_params(), "sgd", kvstore=store)
    note("shared", lambda: store.pushpull(0, mxnet.nd.zeros((1,))))
    del first, second
    store = casync.mxnet.create(codec="none", rank=0, size=1, transport="loopback")
    gradient = mxnet.nd.ones((3,))
    store.pushpull("g", gradient)
    note("twice", lambda: store.pushpull("g", gradient))
    note("push", lambda: store.push("g", gradient))
    note("integers", lambda: store.pushpull("i", mxnet.nd.ones((3,), dtype="int32")))
    on_gpu = types.SimpleNamespace(context=mxnet.gpu(0))  # as much of an array as there is without a GPU
    note("gpu", lambda: store.pushpull("on_gpu", on_gpu))
    store.end_step()
    store.close()
    note("closed", lambda: (store.pushpull("g", gradient), gradient.wait_to_read()))
    alone = {"rank": 0, "size": 1, "transport": "loopback"}
    note("root", lambda: casync.mxnet.broadcast_parameters({"w": gradient.copy()}, root=2, **alone))
    note("deferred", lambda: casync.mxnet.broadcast_parameters(make().collect_params()))
    return answers


def test_what_cannot_work_is_refused_by_name():
    (answers,) = ranks.values(__file__, "refuse", 1)
    for name, (kind, words) in {
        "update": ("ValueError", "update_on_kvstore=False"),
        "compression": ("Unavailable", "codec"),
        "shared": ("InvalidArgument", "2 Trainers"),
        "twice": ("InvalidArgument", "g is submitted twice"),
        "push": ("Unavailable", "push()"),
        "gpu": ("Unavailable", "gradient on_gpu is on gpu(0)"),
        "integers": ("InvalidArgument", "gradient i: dtype int32"),
        "root": ("InvalidArgument", "root is 2: the ranks are 0 to 0"),
        "closed": ("InvalidArgument", "closed"),
        "deferred": ("InvalidArgument", "net_conv0_weight"),
    }.items():
        assert name in answers and answers[name][0] == kind and words in answers[name][1], (name, answers.get(name))


def closes_after_a_failure(rank):
    store = casync.mxnet.create(codec="none", rank=0, size=1, transport="loopback")
    gradient = mxnet.nd.ones((3,))
    store.pushpull("g", gradient)
    store.end_step()
    assert store.finite
    store.session.abort("it is enough")
    store.pushpull("g", gradient)
    store.end_step()
    with pytest.raises(mxnet.base.MXNetError, match="it is enough"):
        store.close()
    return store.session.closed


def test_a_store_is_closed_also_after_a_step_that_failed():
    assert ranks.values(__file__, "closes_after_a_failure", 1) == [True]


def lets_go_of_its_store(rank):
    """The engine may end the step later, when the session is closed."""
    store = casync.mxnet.create(codec="none", rank=0, size=1, transport="loopback")
    gradient, place = mxnet.nd.ones((3,)), weakref.ref(store._finite)
    store.pushpull("g", gradient)
    store.end_step()
    del store
    gc.collect()
    is_there = place() is not None
    with contextlib.suppress(mxnet.base.MXNetError):
        mxnet.nd.waitall()
    return is_there


def test_the_answer_of_a_step_has_a_place_when_its_store_is_gone():
    assert ranks.values(__file__, "lets_go_of_its_store", 1) == [True]


def test_the_library_exports_its_own_functions_only():
    """The parts of MXNet inside the library must not meet another copy in the process."""
    import casync.mxnet.build

    path = casync.mxnet.build.plugin().path()
    text = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=True).stdout
    names = [line.split()[-1] for line in text.splitlines()]
    assert len(names) >= 4 and all(name.startswith("casync_plugin_") for name in names), names


def test_one_command_compiles_the_library_into_a_folder():
    import casync.mxnet.build

    path = pathlib.Path(casync.mxnet.build.plugin().path())  # there it is found compiled
    command = [sys.executable, "-m", "casync.mxnet.build", path.parent]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert printed.splitlines()[-1] == str(path)
