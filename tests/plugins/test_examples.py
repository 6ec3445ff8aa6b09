# SPDX-License-Identifier: Apache-2.0
"""Each example on several ranks ends as well as on one rank with the same global batch, and with the same parameters on
all of them, byte for byte."""

import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys

import preloaded
import pytest

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLES = HERE.parents[1] / "examples"
COMMAND = pathlib.Path(os.environ["CASYNC_COMMAND"])  # the `casync` of this build
ENVIRONMENTS = pathlib.Path(os.environ["CASYNC_VENV_DIR"])

# Framework of each program, or none for a compiled one; ranks; if its ranks meet as torchrun's do.
TORCH = {"05_train_pytorch": 2, "10_huggingface_trainer": 2, "11_accelerate": 2, "12_lightning": 2, "13_fsdp2": 4}
TENSORFLOW = {"06_train_keras": 2, "07_train_tensorflow": 2}
PROGRAMS = [
    *[("torch", name, size, True) for name, size in TORCH.items()],
    ("torch", "14_distributed_optimizer", 2, False),
    *[("tensorflow", name, size, False) for name, size in TENSORFLOW.items()],
    ("mxnet", "08_train_gluon", 2, False),
]
SHARDS = {"13_fsdp2": 2}  # in which a node's ranks hold its replica
IMPORTS = {
    "torch": ["torch", "torch._dynamo", "transformers.trainer", "transformers.models.bert.modeling_bert", "accelerate",
              "lightning", "lightning.pytorch.strategies", "torch.distributed.fsdp", "casync.torch"],
    "tensorflow": ["tensorflow", "keras", "casync.tensorflow"],
    "mxnet": ["mxnet", "casync.mxnet"],
}  # fmt: skip
# The libraries of Hugging Face ask no server.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("CASYNC_")}
ENVIRONMENT |= {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def python():
    """Framework -> a Python that has imported it."""
    with contextlib.ExitStack() as stack:
        pythons = {}
        for framework, names in IMPORTS.items():
            path = ENVIRONMENTS / framework / "bin/python"
            if path.exists():
                pythons[framework] = stack.enter_context(preloaded.Python(path, names, ENVIRONMENT))
        yield pythons


def of_framework(python, framework):
    if framework not in python:
        pytest.skip(f"no environment of {framework}")
    return python[framework]


def output_of(command, size=1, torch=False, **variables):
    """Of so many ranks under the launcher, which all end well, or of the command alone."""
    launcher = [COMMAND, "run", "-n", str(size), *(["--torch"] if torch else []), "--"] if size else []
    environment = {**ENVIRONMENT, **variables}
    done = subprocess.run([*launcher, *command], env=environment, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    return done.stdout


def assert_alike(replicas, ranks, shards):
    """(digest, rank) of each; a rank holds one of so many shards."""
    assert sorted(int(rank) for _, rank in replicas) == list(range(ranks))
    for shard in range(min(shards, ranks)):
        assert len({digest for digest, rank in replicas if int(rank) % shards == shard}) == 1


def assert_compressed(folder, ranks):
    """Their session exchanged most elements in fewer bits: a framework may leave out what a program registers."""
    for rank in range(ranks):
        seen = json.loads((folder / f"rank{rank}.trace.json").read_text())["casync"]["gradients"]
        compressed = sum(gradient["elements"] for gradient in seen if gradient["codec"] == "int8")
        assert compressed > sum(gradient["elements"] for gradient in seen) / 2


@pytest.mark.parametrize("framework, name, size, torch", PROGRAMS, ids=[name for _, name, _, _ in PROGRAMS])
def test_it_is_as_accurate_as_one_process(python, tmp_path, framework, name, size, torch):
    command = of_framework(python, framework).command
    accuracies = []
    for ranks in (1, size):
        program = [*command, str(HERE / "replicas.py"), str(EXAMPLES / f"{name}.py")]
        printed = output_of(program, ranks, torch, CASYNC_TRACE=str(tmp_path / str(ranks)))
        assert_alike(re.findall(r"replica (\w+) of rank (\d+)", printed), ranks, SHARDS.get(name, 1))
        accuracies.append(float(re.search(r"accuracy (\d\.\d+)", printed).group(1)))
    print(f"{name}: {accuracies[0]} in one process, {accuracies[1]} on {size} ranks")
    if name not in SHARDS:
        assert_compressed(tmp_path / str(size), size)
    else:  # its groups of ranks have numbers of their own, and files of the same names
        assert (tmp_path / str(size) / "rank0.trace.json").is_file()
    assert accuracies[1] >= accuracies[0] - 0.01


def test_a_codec_of_ones_own_trains(python):
    command = [*of_framework(python, "torch").command, str(EXAMPLES / "05_train_pytorch.py")]
    codec, cache = str(EXAMPLES / "02_write_a_codec/int3.cll"), os.environ["CASYNC_CACHE_DIR"]
    assert "accuracy" in output_of(command, 2, torch=True, CODEC=codec, CASYNC_CACHE_DIR=cache)


def test_the_demo_finds_equal_replicas_and_losses(python):
    options = ["--steps", "9", "--ranks", "2", "--codecs", "none", "int4"]
    options += ["--python", of_framework(python, "torch").executable]
    printed = output_of([sys.executable, str(EXAMPLES / "demo/run"), str(COMMAND.parents[1]), *options], size=0)
    assert "int4" in printed


def test_the_demo_refuses_what_it_cannot_run(tmp_path):
    build = str(COMMAND.parents[1])
    for options, told in (([str(tmp_path)], "there is no"),
                          ([build, "--steps", "0"], "--steps: 0, expected at least 1"),
                          ([build, "--seeds", "no"], "--seeds"), ([build, "--ranks", "0"], "--ranks")):
        done = subprocess.run([sys.executable, str(EXAMPLES / "demo/run"), *options], capture_output=True, text=True,
                              timeout=60)
        assert done.returncode == 2 and told in done.stderr and "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_every_program_that_trains_is_here():
    programs = {path.stem for path in EXAMPLES.glob("[0-9]*.py")}
    assert programs == {name for _, name, _, _ in PROGRAMS}


def test_the_program_in_cpp_comes_as_near_to_the_truth_as_one_process(tmp_path):
    errors = []
    for ranks in (1, 2):
        saved = tmp_path / f"of_{ranks}"
        printed = output_of([os.environ["CASYNC_EXAMPLE_WITHOUT_PYTHON"], "int8", str(saved)], ranks, False)
        errors.append(float(re.search(r"within (\d\.\d+)", printed).group(1)))
        replicas = [pathlib.Path(f"{saved}.{rank}").read_bytes() for rank in range(ranks)]
        assert len(replicas[0]) == 4000 and len(set(replicas)) == 1
    assert errors[1] <= 1.01 * errors[0]
