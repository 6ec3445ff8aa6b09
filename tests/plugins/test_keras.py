# SPDX-License-Identifier: Apache-2.0
"""Keras 3: model.fit with DistributedOptimizer and the callbacks, checkpoints of residuals, and the answers to what cannot
work."""

import os
import pathlib
import types

import numpy
import pytest

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
tensorflow = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")
import ranks  # noqa: E402

import casync.tensorflow  # noqa: E402

SAMPLES, BATCH = 64, 8


def data():
    random = numpy.random.default_rng(7)
    x = random.standard_normal((SAMPLES, 12)).astype(numpy.float32)
    return x, (x @ random.standard_normal((12, 3)) > 0).astype(numpy.float32)


def make(seed=0):
    keras.utils.set_random_seed(seed)
    # With names, because Keras numbers the models of one process.
    layers = [keras.layers.Dense(40, activation="relu", name="first"), keras.layers.Dense(3, activation="sigmoid", name="last")]
    return keras.Sequential([keras.layers.Input((12,)), *layers], name="net")


def weights_of(model):
    return [weight.tobytes() for weight in model.get_weights()]


def fit(rank, size=2, optimizer=None, epochs=2, policy=None, seed=None, callbacks=(), **compile_options):
    """Each rank takes its part of every global batch of 2 * BATCH samples. Returns (model, history)."""
    if policy:
        keras.mixed_precision.set_global_policy(policy)
    model = make(rank if seed is None else seed)
    optimizer = optimizer or keras.optimizers.SGD(0.1, momentum=0.9)
    if size > 1:
        optimizer = casync.tensorflow.DistributedOptimizer(optimizer)
        callbacks = [casync.tensorflow.BroadcastCallback(), casync.tensorflow.MetricAverageCallback(), *callbacks]
    model.compile(optimizer=optimizer, loss="mse", **compile_options)
    x, y = data()
    per_rank = 2 * BATCH // size
    mine = numpy.concatenate([numpy.arange(i + rank * per_rank, i + (rank + 1) * per_rank) for i in range(0, SAMPLES, 2 * BATCH)])
    history = model.fit(
        x[mine], y[mine], batch_size=per_rank, epochs=epochs, shuffle=False, verbose=0, callbacks=list(callbacks)
    )
    return model, history.history


def train(rank):
    """Every variation in one job, because TensorFlow takes seconds to start."""
    casync.tensorflow.init(codec="none")
    result = {}
    model, history = fit(rank)
    result["plain"] = model.get_weights(), history["loss"]
    result["loops in graphs"] = [w.tobytes() for w in fit(rank, steps_per_execution=4)[0].get_weights()]
    result["plain again"] = weights_of(model)
    result["eager"] = fit(rank, run_eagerly=True, epochs=1)[0].get_weights()
    result["mixed_bfloat16"] = weights_of(fit(rank, policy="mixed_bfloat16")[0])
    scaled = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.1), initial_scale=2.0**40, dynamic_growth_steps=2)
    result["mixed_float16"] = weights_of(fit(rank, policy="mixed_float16", optimizer=scaled, epochs=8)[0])
    result["scale"] = float(scaled.dynamic_scale.numpy())  # began too large: steps were left out on both ranks
    keras.mixed_precision.set_global_policy("float32")
    accumulating = keras.optimizers.SGD(0.1, gradient_accumulation_steps=2)
    result["accumulation"] = weights_of(fit(rank, optimizer=accumulating)[0])
    result["not finite"] = not_finite(rank)
    clipped = keras.optimizers.Adam(keras.optimizers.schedules.ExponentialDecay(0.01, 3, 0.5), clipnorm=0.5, weight_decay=1e-3)
    result["clipping"] = weights_of(fit(rank, optimizer=clipped)[0])
    result["embedding"] = embedding(rank)
    result["untrained"] = untrained(rank)
    return result


def embedding(rank):
    """Rows of a table, whose gradients are slices; each rank looks at other ones."""
    keras.utils.set_random_seed(0)
    layers = [keras.layers.Input((3,)), keras.layers.Embedding(10, 4), keras.layers.Flatten(), keras.layers.Dense(1)]
    model = keras.Sequential(layers)
    model.compile(optimizer=casync.tensorflow.DistributedOptimizer(keras.optimizers.SGD(0.1)), loss="mse")
    start = model.layers[0].get_weights()[0].copy()
    model.fit(numpy.full((8, 3), rank), numpy.ones((8, 1)), batch_size=4, verbose=0)
    moved = numpy.abs(model.layers[0].get_weights()[0] - start).max(axis=1) > 0
    return weights_of(model), moved.tolist()


def untrained(rank):
    """Weights that no gradient changes, and the optimizer's state, after the callback; each rank has started from others."""
    model = make(rank)
    model.layers[0].trainable = False
    model.compile(optimizer=casync.tensorflow.DistributedOptimizer(keras.optimizers.Adam(0.1 * (rank + 1))), loss="mse")
    model.optimizer.build(model.trainable_variables)
    callback = casync.tensorflow.BroadcastCallback(root=1)
    callback.set_model(model)
    callback.on_train_begin()
    return weights_of(model), float(model.optimizer.learning_rate.numpy())


def not_finite(rank):
    """Weights after each of four batches, of which the second is bad on rank 1; in graphs and outside."""
    x, y = data()
    weights = []
    for eagerly in (False, True):
        model = make(0)
        optimizer = casync.tensorflow.DistributedOptimizer(keras.optimizers.Adam(0.01))
        model.compile(optimizer=optimizer, loss="mse", run_eagerly=eagerly)
        for step in range(4):
            bad = numpy.nan if step == 1 and rank == 1 else 0
            model.train_on_batch(x[rank::2] + bad, y[rank::2])
            weights.append((weights_of(model), int(optimizer.iterations.numpy())))
    return weights


@pytest.fixture(scope="module")
def trained():
    return ranks.values(__file__, "train", 2, env={"CASYNC_TIMEOUT_SEC": "120"})


def test_ranks_end_with_the_same_weights(trained):
    first, second = trained
    for way in ("loops in graphs", "plain again", "mixed_float16", "mixed_bfloat16", "accumulation", "clipping"):
        assert first[way] == second[way], way


def test_gradients_of_a_table_move_the_rows_of_all_ranks(trained):
    first, second = (of_rank["embedding"] for of_rank in trained)
    assert first == second and first[1] == [True, True] + [False] * 8


def test_the_callback_gives_all_ranks_the_roots_untrained_weights_and_learning_rate(trained):
    first, second = (of_rank["untrained"] for of_rank in trained)
    assert first == second and abs(first[1] - 0.2) < 1e-6


def test_the_loss_scale_follows_the_gradients_of_all_ranks(trained):
    assert trained[0]["scale"] == trained[1]["scale"] < 2.0**40


def test_it_is_the_training_of_one_process_with_the_global_batch(trained):
    model, history = fit(0, size=1)
    weights, loss = trained[0]["plain"]
    for ours, wanted in zip(weights, model.get_weights()):
        numpy.testing.assert_allclose(ours, wanted, rtol=1e-4, atol=1e-6)
    numpy.testing.assert_allclose(loss, history["loss"], rtol=1e-4)  # metrics are averaged, too


def test_a_gradient_that_is_not_finite_on_one_rank_changes_no_rank(trained):
    for ours, others in zip(trained[0]["not finite"], trained[1]["not finite"]):
        assert ours == others
    for way in (trained[0]["not finite"][:4], trained[0]["not finite"][4:]):
        assert [iterations for _, iterations in way] == [1, 1, 2, 3]
        assert way[0][0] == way[1][0] != way[2][0] != way[3][0]


def test_steps_in_one_execution_give_the_same(trained):
    assert trained[0]["loops in graphs"] == trained[0]["plain again"]


def test_eager_gives_the_same(trained):
    for ours, wanted in zip(trained[0]["eager"], trained[1]["eager"]):
        numpy.testing.assert_array_equal(ours, wanted)


def resume(rank, folder):
    """Six steps, then the same with a checkpoint after three, in both ways of keeping residuals."""
    casync.tensorflow.init(codec="topk:ratio=0.1")
    x, y = data()
    x, y = x[rank::2], y[rank::2]

    def build():
        model = make(3)
        model.compile(optimizer=casync.tensorflow.DistributedOptimizer(keras.optimizers.SGD(0.1, momentum=0.9)), loss="mse")
        model.optimizer.build(model.trainable_variables)
        return model

    def steps(model, count):
        for _ in range(count):
            model.train_on_batch(x, y)

    start = casync.tensorflow.Residuals()
    none_yet = start.serialize()
    model = build()
    steps(model, 3)
    checkpoint = tensorflow.train.Checkpoint(model=model, optimizer=model.optimizer, casync=casync.tensorflow.Residuals())
    path = checkpoint.save(f"{folder}/rank{rank}")
    callback = casync.tensorflow.ResidualsCallback(f"{folder}/a new folder/residuals-{{rank}}")
    callback.on_epoch_end(0)
    steps(model, 3)
    wanted = weights_of(model)

    again = build()
    checkpoint = tensorflow.train.Checkpoint(model=again, optimizer=again.optimizer, casync=casync.tensorflow.Residuals())
    checkpoint.restore(path).assert_consumed()
    steps(again, 3)
    by_checkpoint = weights_of(again)

    third = build()
    tensorflow.train.Checkpoint(model=third, optimizer=third.optimizer).restore(path).expect_partial()
    callback.on_train_begin()
    steps(third, 3)
    by_callback = weights_of(third)

    forgetful = build()
    tensorflow.train.Checkpoint(model=forgetful, optimizer=forgetful.optimizer).restore(path).expect_partial()
    steps(forgetful, 3)
    return wanted, by_checkpoint, by_callback, weights_of(forgetful), len(none_yet)


def test_training_goes_on_byte_for_byte_from_checkpoints_of_residuals(tmp_path):
    for wanted, by_checkpoint, by_callback, forgetful, _ in ranks.values(__file__, "resume", 2, folder=str(tmp_path)):
        assert by_checkpoint == wanted
        assert by_callback == wanted
        assert forgetful != wanted, "residuals made no difference, so this test shows nothing"


def refuse(rank):
    """One rank: what cannot work is refused while the graph is made."""
    casync.tensorflow.init(codec="none", rank=0, size=1, transport="loopback")
    x, y = data()
    answers = {}

    def note(name, function):
        try:
            function()
        except Exception as error:
            answers[name] = type(error).__name__, str(error)

    def fit_with(optimizer, **options):
        model = make()
        model.compile(optimizer=optimizer, loss="mse", **options)
        model.fit(x, y, verbose=0)

    wrap = casync.tensorflow.DistributedOptimizer
    note("xla", lambda: fit_with(wrap(keras.optimizers.SGD()), jit_compile=True))
    note("twice", lambda: wrap(wrap(keras.optimizers.SGD())))
    note("inside", lambda: wrap(keras.optimizers.LossScaleOptimizer(wrap(keras.optimizers.SGD()))))
    note("a branch", lambda: fit_with(keras.optimizers.LossScaleOptimizer(wrap(keras.optimizers.SGD()))))
    copied = wrap(keras.optimizers.SGD())
    fit_with(type(copied).from_config(copied.get_config()))
    weight = tensorflow.Variable([1.0, 2.0], name="weight")
    broadcast = tensorflow.function(lambda: casync.tensorflow.broadcast_variables([weight]), jit_compile=True)
    note("xla broadcast", broadcast)
    double = tensorflow.Variable(numpy.ones(2), name="double")

    def gradient(sources):
        with tensorflow.GradientTape() as tape:
            loss = tensorflow.reduce_sum(weight) + tensorflow.cast(tensorflow.reduce_sum(double), tensorflow.float32)
        return casync.tensorflow.DistributedGradientTape(tape).gradient(loss, sources)

    note("one twice", lambda: gradient([weight, weight]))
    twin = tensorflow.ones(2)
    note("one name twice", lambda: casync.tensorflow.all_reduce([twin, twin * 2], ["twin", "twin"]))
    note("float64", lambda: gradient([double]))
    note("root", lambda: casync.tensorflow.broadcast_variables([weight], root=1))

    def through():
        with tensorflow.GradientTape() as tape:
            loss = casync.tensorflow.all_reduce([weight * 2], ["doubled"])[0][0]
        return tape.gradient(loss, weight)

    note("through a reduction", through)
    with tensorflow.GradientTape() as tape:
        constant = tensorflow.constant([1.0])
        tape.watch(constant)
        loss = constant * 2
    note("no name", lambda: casync.tensorflow.DistributedGradientTape(tape).gradient(loss, [constant]))
    return answers


def test_what_cannot_work_is_refused_by_name():
    (answers,) = ranks.values(__file__, "refuse", 1)
    for name, words in {
        "xla": ("Unavailable", "jit_compile=False"),
        "xla broadcast": ("Unavailable", "broadcast variables outside of it"),
        "twice": ("InvalidArgument", "reduced twice"),
        "inside": ("InvalidArgument", "wrap the outer one"),
        "a branch": ("InvalidArgument", "DistributedOptimizer(LossScaleOptimizer"),
        "one twice": ("InvalidArgument", "weight is there twice"),
        "one name twice": ("InvalidArgument", "gradient twin is submitted twice in one step"),
        "float64": ("InvalidArgument", "double is float64"),
        "root": ("InvalidArgument", "root is 1: the ranks are 0 to 0"),
        "through a reduction": ("LookupError", "CasyncAllReduce"),
        "no name": ("InvalidArgument", "source 0"),
    }.items():
        assert answers[name][0] == words[0] and words[1] in answers[name][1], (name, answers.get(name))


@pytest.mark.parametrize("backend", ["torch", "jax"])
def test_another_backend_of_keras_is_refused_with_the_variable_that_selects_it(monkeypatch, backend):
    plain = keras.optimizers.SGD()
    monkeypatch.setattr(keras.config, "backend", lambda: backend)
    for make_one in (
        lambda: casync.tensorflow.DistributedOptimizer(plain),
        casync.tensorflow.BroadcastCallback,
        casync.tensorflow.MetricAverageCallback,
        lambda: casync.tensorflow.ResidualsCallback("residuals-{rank}"),
    ):
        with pytest.raises(casync.InvalidArgument, match=f"backend is {backend}.*set KERAS_BACKEND=tensorflow") as refused:
            make_one()
        assert ("casync.torch" in str(refused.value)) == (backend == "torch")


def test_one_file_for_the_residuals_of_several_ranks_is_refused():
    alone, together = (types.SimpleNamespace(rank=0, size=size) for size in (1, 2))
    assert casync.tensorflow.ResidualsCallback("residuals", alone).file == "residuals"
    assert casync.tensorflow.ResidualsCallback(pathlib.Path("of-{rank}"), together).file == "of-0"
    for way in ("on_train_begin", "on_epoch_end"):
        callback = casync.tensorflow.ResidualsCallback("residuals", together)
        with pytest.raises(casync.InvalidArgument, match="each of 2 ranks has a file of its own: put {rank} into the path"):
            getattr(callback, way)(*[0] * (way == "on_epoch_end"))


def test_a_file_of_residuals_that_is_damaged_is_refused_by_its_name(tmp_path):
    gradients = {"first/kernel": {"codec": "topk", "residual": numpy.arange(500, dtype=numpy.float32)}}
    loaded, state = [], {"step": 3, "ranks": 1, "rank": 0}
    session = types.SimpleNamespace(
        rank=0, size=1, state_dict=lambda: {**state, "gradients": gradients}, load_state_dict=loaded.append
    )
    callback, file = casync.tensorflow.ResidualsCallback(tmp_path / "residuals", session), tmp_path / "residuals"
    callback.on_epoch_end(0)
    whole = file.read_bytes()
    callback.on_train_begin()
    assert loaded[0]["step"] == 3 and (loaded[0]["gradients"]["first/kernel"]["residual"] == numpy.arange(500)).all()
    for damaged in (b"", b"a text", whole[:-100], whole.replace(b"first/kernel", b"first/kerneL")):
        file.write_bytes(damaged)
        with pytest.raises(casync.InvalidArgument, match=f"{file}: {len(damaged)} bytes are no residuals"):
            callback.on_train_begin()
    assert len(loaded) == 1


def apply_generators(rank):
    casync.tensorflow.init(codec="none", rank=0, size=1, transport="loopback")
    weight = keras.Variable(numpy.full(2, 3, numpy.float32), name="weight")
    optimizer = casync.tensorflow.DistributedOptimizer(keras.optimizers.SGD(1.0))
    for _ in range(2):
        optimizer.apply((gradient for gradient in [tensorflow.ones(2)]), (variable for variable in [weight]))
    return weight.numpy().tolist()


def test_gradients_and_variables_may_be_generators_as_for_other_optimizers():
    assert ranks.values(__file__, "apply_generators", 1) == [[1.0, 1.0]]


class OwnAdam(keras.optimizers.Adam):
    """A program's own optimizer."""


def save_and_load(rank, folder):
    casync.tensorflow.init(codec="none", rank=0, size=1, transport="loopback")
    x, y = data()
    for kind in (OwnAdam, keras.optimizers.Adam):
        model = make()
        model.compile(optimizer=casync.tensorflow.DistributedOptimizer(kind(0.01)), loss="mse")
        model.fit(x, y, epochs=1, verbose=0)
        model.save(f"{folder}/model.keras")
        loaded = keras.models.load_model(f"{folder}/model.keras", custom_objects={"OwnAdam": OwnAdam})
        assert type(loaded.optimizer) is kind
    casync.tensorflow.shutdown()
    loaded.fit(x, y, epochs=1, verbose=0)  # by itself, without a session
    slots = [variable.numpy() for variable in loaded.optimizer.variables]
    again = casync.tensorflow.DistributedOptimizer(loaded.optimizer)
    for before, after in zip(slots, again.variables):
        numpy.testing.assert_array_equal(before, after.numpy())
    return True


def test_a_saved_model_loads_without_casync_and_is_wrapped_again_with_its_state(tmp_path):
    assert ranks.values(__file__, "save_and_load", 1, folder=str(tmp_path)) == [True]
