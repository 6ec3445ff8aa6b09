# SPDX-License-Identifier: Apache-2.0
"""TensorFlow's operations and the tape: sums, names, several gradients under way at once, and the order of steps."""

import gc
import os
import pathlib
import subprocess
import sys
import weakref

import numpy
import pytest

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
tensorflow = pytest.importorskip("tensorflow")
import ranks  # noqa: E402

import casync.tensorflow  # noqa: E402


def numbers(rank, shape, seed=0):
    return numpy.random.default_rng(100 * seed + rank).standard_normal(shape).astype(numpy.float32)


def reduce_everything(rank):
    """Each kind of tensor, outside of a graph and inside."""
    casync.tensorflow.init(codec="none")
    shapes = {"scalar": (), "empty": (0, 3), "one": (1,), "matrix": (33, 7), "large": (300_000,)}
    result = {}
    for dtype in (tensorflow.float32, tensorflow.float16, tensorflow.bfloat16):
        names = [f"{name}/{dtype.name}" for name in shapes]
        tensors = [tensorflow.cast(numbers(rank, shape), dtype) for shape in shapes.values()]
        eager, finite = casync.tensorflow.all_reduce(tensors, names)
        in_graph = tensorflow.function(lambda t=tensors, n=names: casync.tensorflow.all_reduce(t, n)[0])()
        for name, tensor, again in zip(names, eager, in_graph):
            assert tensor.dtype == dtype
            numpy.testing.assert_array_equal(tensor.numpy(), again.numpy())
            result[name] = tensorflow.cast(tensor, tensorflow.float32).numpy()
        assert bool(finite)
    return result


def test_all_reduce_averages_every_dtype_and_shape():
    first, second = ranks.values(__file__, "reduce_everything", 2)
    assert len(first) == 15
    for name, value in first.items():
        numpy.testing.assert_array_equal(value, second[name])
        wanted = (numbers(0, value.shape) + numbers(1, value.shape)) / 2
        tolerance = {"float32": 1e-6, "float16": 2e-3, "bfloat16": 2e-2}[name.split("/")[1]]
        numpy.testing.assert_allclose(value, wanted, rtol=tolerance, atol=tolerance)


def cross(rank):
    """Rank 1 submits `a` only once `b` is done, and rank 0 meets `a` first. With one thread for operations, rank 0 has to
    have both under way."""
    tensorflow.config.threading.set_inter_op_parallelism_threads(1)
    session = casync.tensorflow.init(codec="none")
    ids = {name: session.declare(name, [4]) for name in "ab"}
    operations = casync.tensorflow.session.operations()

    def reduce(name, value, token):
        return operations.casync_all_reduce(value, token, session=session.number, gradient=ids[name], tensor_name=name)

    @tensorflow.function
    def step(value):
        token = operations.casync_begin_step(session=session.number)
        if rank == 0:
            a = reduce("a", value, token)
            b = reduce("b", value, token)
        else:
            b = reduce("b", value, token)
            a = reduce("a", value + 0 * b, token)
        return a, b, operations.casync_end_step([a, b], session=session.number).finite

    a, b, finite = step(tensorflow.ones(4) * (rank + 1))
    assert bool(finite)
    return a.numpy().tolist(), b.numpy().tolist()


def test_several_gradients_are_under_way_with_one_thread():
    assert ranks.values(__file__, "cross", 2) == [([1.5] * 4, [1.5] * 4)] * 2


def tapes(rank):
    casync.tensorflow.init(codec="none")
    table = tensorflow.Variable(tensorflow.ones([5, 2]), name="table")
    twins = [tensorflow.Variable([1.0, 2.0]), tensorflow.Variable([3.0, 4.0])]  # both are called Variable
    unused = tensorflow.Variable(1.0, name="unused")

    def loss_of(scale):
        rows = tensorflow.gather(table, [0, 0, 3])
        return scale * (tensorflow.reduce_sum(rows) + tensorflow.reduce_sum(twins[0] * twins[1]))

    def gradients(scale):
        with casync.tensorflow.DistributedGradientTape(tensorflow.GradientTape()) as tape:
            loss = loss_of(scale)
        return tape.gradient(loss, {"table": table, "twins": twins, "unused": unused}), tape.finite

    eager, finite = gradients(rank + 1.0)
    traced, _ = tensorflow.function(gradients)(tensorflow.constant(rank + 1.0))
    assert bool(finite) and eager["unused"] is None and traced["unused"] is None
    assert not isinstance(eager["table"], tensorflow.IndexedSlices)
    for both in zip(tensorflow.nest.flatten(eager), tensorflow.nest.flatten(traced)):
        if both[0] is not None:
            numpy.testing.assert_array_equal(both[0].numpy(), both[1].numpy())
    return eager["table"].numpy().tolist(), [g.numpy().tolist() for g in eager["twins"]]


def test_the_tape_averages_keeps_structure_and_makes_slices_dense():
    for table, twins in ranks.values(__file__, "tapes", 2):
        assert table == [[3.0, 3.0], [0, 0], [0, 0], [1.5, 1.5], [0, 0]]
        assert twins == [[4.5, 6.0], [1.5, 3.0]]


def two_steps_in_one_graph(rank):
    """As adversarial nets have them. Both are ready at once; ranks that ran them in different orders would mix them up."""
    casync.tensorflow.init(codec="none")
    first, second = (tensorflow.Variable(tensorflow.ones(1000), name=name) for name in ("first", "second"))

    @tensorflow.function
    def step(scale):
        with tensorflow.GradientTape(persistent=True) as tape:
            a, b = tensorflow.reduce_sum(first * scale), tensorflow.reduce_sum(second * scale * 10)
        tape = casync.tensorflow.DistributedGradientTape(tape)
        return tape.gradient(a, [first])[0], tape.gradient(b, [second])[0]

    total = numpy.zeros(2)
    for _ in range(20):
        total += [tensorflow.reduce_mean(g).numpy() for g in step(tensorflow.constant(rank + 1.0))]
    return total.tolist(), casync.tensorflow.session.current().stats()["steps"]


def test_steps_of_one_graph_run_in_the_same_order_on_all_ranks():
    assert ranks.values(__file__, "two_steps_in_one_graph", 2) == [([30.0, 300.0], 40)] * 2


def broadcast_everything(rank):
    casync.tensorflow.init(codec="onebit")  # the codec must not touch these values
    values = {
        "float": numpy.array([-0.0, numpy.nan, numpy.inf, 2e-38], numpy.float32),
        "double": numpy.array([numpy.pi, -0.0]),
        "half": numpy.array([1.5, 65504], numpy.float16),
        "long": numpy.array([2**62 + 1, -5]),
        "bytes": numpy.arange(251, dtype=numpy.uint8),
        "flags": numpy.array([True, False, True]),
        "nothing": numpy.zeros((0, 2), numpy.float32),
    }
    variables = [
        tensorflow.Variable(value if rank == 1 else numpy.zeros_like(value), name=name) for name, value in values.items()
    ]
    casync.tensorflow.broadcast_variables(variables, root=1)
    for variable, value in zip(variables, values.values()):
        assert variable.numpy().tobytes() == value.tobytes(), variable.name
    in_graph = tensorflow.Variable([float(rank)] * 3)
    tensorflow.function(lambda: casync.tensorflow.broadcast_variables([in_graph]))()
    assert in_graph.numpy().tolist() == [0.0] * 3
    return casync.tensorflow.rank(), casync.tensorflow.size(), casync.tensorflow.local_rank()


def test_broadcast_copies_bit_for_bit():
    envs = {rank: {"CASYNC_LOCAL_RANK": str(rank), "CASYNC_LOCAL_SIZE": "2"} for rank in range(2)}
    env = {"CASYNC_STEPS": "1"}  # would end the program at its first step, and a broadcast is none
    first, second = ranks.outcomes(__file__, "broadcast_everything", 2, env=env, envs=envs)
    assert (first.value, second.value) == ((0, 2, 0), (1, 2, 1)), first.stderr[-3000:] + second.stderr[-3000:]
    # And rank 0 has said what gradients travel as, once, though there was a session beside it.
    (line,) = [line for line in first.stderr.splitlines() if line.startswith("CaSync")]
    assert ": 2 ranks, onebit, ucx" in line and "CaSync" not in second.stderr


def two_sessions(rank):
    """Each with a codec, steps and residuals of its own; and a third after the first has ended."""
    first = casync.tensorflow.init(codec="none")
    second = casync.tensorflow.Session(codec="onebit")
    value = tensorflow.constant(numbers(rank, (1000,)))
    exact = casync.tensorflow.all_reduce([value], ["g"])[0][0].numpy()
    coarse = casync.tensorflow.all_reduce([value], ["g"], session=second)[0][0].numpy()
    assert len(set(numpy.abs(coarse))) < 100 and len(set(numpy.abs(exact))) > 900
    casync.tensorflow.shutdown()
    with pytest.raises(ValueError, match="init"):
        casync.tensorflow.all_reduce([value], ["g"])
    casync.tensorflow.init(codec="none")
    numpy.testing.assert_array_equal(casync.tensorflow.all_reduce([value], ["g"])[0][0].numpy(), exact)
    second.close()
    return first.rank


def test_two_sessions_and_one_after_another():
    assert ranks.values(__file__, "two_sessions", 2) == [0, 1]


def results_that_nobody_uses(rank):
    """On one rank: the other waits for them all the same."""
    casync.tensorflow.init(codec="none", timeout=30)

    @tensorflow.function
    def step(value):
        reduced, _ = casync.tensorflow.all_reduce([value, value * 2], ["used", "unused"])
        return reduced if rank == 0 else reduced[:1]

    return step(tensorflow.constant([rank + 1.0]))[0].numpy().tolist()


def test_a_reduction_is_not_left_out_because_its_result_is_not_used():
    assert ranks.values(__file__, "results_that_nobody_uses", 2) == [[1.5]] * 2


def loops(rank):
    casync.tensorflow.init(codec="none")
    weight = tensorflow.Variable(tensorflow.ones(10), name="weight")

    @tensorflow.function
    def train(steps):
        for _ in tensorflow.range(steps):
            with tensorflow.GradientTape() as tape:
                loss = tensorflow.reduce_sum(weight * weight)
            gradient = casync.tensorflow.DistributedGradientTape(tape).gradient(loss, weight)
            weight.assign_sub(0.25 * gradient)

    train(tensorflow.constant(5))
    return weight.numpy().tolist(), casync.tensorflow.session.current().stats()["steps"]


def test_a_loop_inside_a_graph_is_a_step_each_time():
    assert ranks.values(__file__, "loops", 2) == [([0.5**5] * 10, 5)] * 2


def lets_functions_go(rank):
    """Returns which of the functions that were made for a session are there: while it is open, and after its end."""
    function, made = tensorflow.function, []

    def noted(*arguments, **options):
        one = function(*arguments, **options)
        made.append(weakref.ref(one))
        return one

    def are_there():
        gc.collect()
        return [one() is not None for one in made]

    tensorflow.function = noted
    session = casync.tensorflow.Session(codec="none", rank=0, size=1, transport="loopback")
    for names in (["weight"], ["weight"], ["bias"]):
        casync.tensorflow.all_reduce([tensorflow.ones(4)], names, session)
    while_open = are_there()
    session.close()
    return while_open, are_there()


def test_a_closed_session_keeps_no_function_that_was_traced_for_it():
    assert ranks.values(__file__, "lets_functions_go", 1) == [([True, True], [False, False])]


def test_the_library_exports_its_own_functions_only():
    """The Protocol Buffers and Abseil inside the library must not meet another copy in the process."""
    import casync.tensorflow.build

    path = casync.tensorflow.build.plugin().path()
    text = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=True).stdout
    names = [line.split()[-1] for line in text.splitlines()]
    assert len(names) >= 4 and all(name.startswith("casync_plugin_") for name in names), names


def test_one_command_compiles_the_library_into_a_folder():
    import casync.tensorflow.build

    path = pathlib.Path(casync.tensorflow.build.plugin().path())  # there it is found compiled
    command = [sys.executable, "-m", "casync.tensorflow.build", path.parent]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert printed.splitlines()[-1] == str(path)
