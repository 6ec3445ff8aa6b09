# SPDX-License-Identifier: Apache-2.0
"""casync.Codec: a compression algorithm by itself."""

import pathlib

import numpy
import pytest

import casync

GRADIENT = numpy.random.default_rng(7).standard_normal(1000).astype(numpy.float32)
EXAMPLE = pathlib.Path(__file__).parents[2] / "examples/02_write_a_codec/int3.cll"
# Largest error of one element, in units of the largest magnitude of the gradient.
ERROR = {"none": 0.0, "bf16": 2**-8, "fp16": 2**-10, "int8": 1 / 127, "int4": 1 / 7, "onebit": 1.0}


def test_the_codecs_of_this_build_are_named():
    assert set(ERROR) <= set(casync.codecs())


def test_the_version_is_three_numbers():
    assert all(part.isdigit() for part in casync.version().split(".")) and casync.version().count(".") == 2


@pytest.mark.parametrize("name", ERROR)
def test_what_is_decoded_is_close_to_what_was_encoded(name):
    codec = casync.Codec(name)
    payload = codec.encode(GRADIENT)
    assert len(payload) <= codec.bound(GRADIENT.size)
    error = numpy.abs(codec.decode(payload, GRADIENT.size) - GRADIENT).max()
    assert error <= ERROR[name] * numpy.abs(GRADIENT).max()


@pytest.mark.parametrize("n", [0, 1, 2, 15, 16, 17, 127, 129, 256, 257])
@pytest.mark.parametrize("name", ERROR)
def test_sizes_at_the_edges_of_bytes_and_blocks(name, n):
    codec, x = casync.Codec(name), GRADIENT[:n]
    payload = codec.encode(x)
    assert len(payload) <= codec.bound(n)
    largest = numpy.abs(x).max(initial=0)
    for code, times in ((payload, 1), (codec.merge([payload, payload], n), 2)):
        decoded = codec.decode(code, n)
        assert decoded.shape == (n,) and decoded.dtype == numpy.float32
        assert numpy.abs(decoded - times * x).max(initial=0) <= 2 * times * ERROR[name] * largest
    if n > 0:
        with pytest.raises(casync.DataLoss):
            codec.decode(payload[:-1], n)


@pytest.mark.parametrize("n", [2**31 + 1, 2**32, 2**32 + 5, 2**40 + 1, 2**63, 2**64, 2**64 + 1, -1])
@pytest.mark.parametrize("name", ["topk", "randomk", "int8"])
def test_a_size_that_no_codec_has_is_refused(name, n):
    codec = casync.Codec(name)
    for call in (codec.bound, lambda n: codec.decode(b"", n), lambda n: codec.merge([b""], n)):
        with pytest.raises(casync.InvalidArgument, match="elements"):
            call(n)


def test_a_seed_or_a_step_that_c_would_take_for_another_is_refused():
    codec = casync.Codec("int8")
    codec.encode(GRADIENT, seed=2**64 - 1, step=2**32 - 1)
    for seed in (-1, 2**64):
        with pytest.raises(casync.InvalidArgument, match=rf"seed is {seed}, expected 0 to 2\^64 - 1"):
            codec.encode(GRADIENT, seed=seed)
    for step in (-1, 2**32):
        with pytest.raises(casync.InvalidArgument, match=rf"step is {step}, expected 0 to 2\^32 - 1"):
            codec.encode(GRADIENT, step=step)


def test_the_largest_size_has_a_bound():
    assert casync.Codec("topk").bound(2**31) > 8 * 2**31 // 100
    assert casync.Codec("int8").bound(2**31) > 2**31


@pytest.mark.parametrize("name", ["int8", "int4", "onebit"])
def test_feedback_keeps_what_the_payload_leaves_out(name):
    codec, state = casync.Codec(name), casync.CodecState(GRADIENT.size)
    applied = numpy.zeros_like(GRADIENT, dtype=numpy.float64)
    for step in range(20):
        applied += codec.decode(codec.encode(GRADIENT, state, step=step), GRADIENT.size)
    assert numpy.abs(applied + state.residual - 20.0 * GRADIENT).max() < 1e-3


@pytest.mark.parametrize("bad", [numpy.inf, -numpy.inf, numpy.nan])
@pytest.mark.parametrize("name", ERROR)
def test_a_gradient_that_is_not_finite_leaves_the_state_as_it_was(name, bad):
    state = casync.CodecState(GRADIENT.size)
    state.residual[:] = 0.01 * GRADIENT
    before = state.residual.copy()
    gradient = GRADIENT.copy()
    gradient[17] = bad
    casync.Codec(name).encode(gradient, state)
    assert (state.residual == before).all()


@pytest.mark.parametrize("name", ["none", "int8"])
def test_merge_is_the_code_of_the_sum(name):
    codec = casync.Codec(name)
    merged = codec.merge([codec.encode(GRADIENT), codec.encode(2 * GRADIENT)], GRADIENT.size)
    assert numpy.abs(codec.decode(merged, GRADIENT.size) - 3 * GRADIENT).max() <= 0.1


def test_a_payload_of_another_length_is_data_loss():
    codec = casync.Codec("int8")
    with pytest.raises(casync.DataLoss):
        codec.decode(codec.encode(GRADIENT)[:-1], GRADIENT.size)


def test_an_unknown_codec_is_refused_with_the_one_meant_or_the_command_that_lists_them():
    with pytest.raises(casync.InvalidArgument, match="`casync codec list` shows all"):
        casync.Codec("threebit")
    with pytest.raises(casync.InvalidArgument, match="did you mean `onebit`"):
        casync.Codec("onebitt")


def test_an_unknown_parameter_is_refused():
    with pytest.raises(casync.InvalidArgument, match="blok"):
        casync.Codec("int8", blok=64)


def test_a_name_of_a_million_parameters_is_refused():
    """Work that grew by its square would take longer than the test may."""
    with pytest.raises(casync.InvalidArgument, match="no parameter `a0`"):
        casync.Codec("int8:" + ",".join(f"a{i}=1" for i in range(1_000_000)))


def test_a_state_of_another_size_is_refused():
    with pytest.raises(casync.InvalidArgument, match="3 elements"):
        casync.Codec("int8").encode(GRADIENT, casync.CodecState(3))


def test_a_state_that_is_not_contiguous_is_refused_and_nothing_around_it_is_touched():
    around = numpy.zeros(3000, numpy.float32)
    for state in (around[1000:2000][::-1], around[::2][:1000]):
        with pytest.raises(casync.InvalidArgument, match="not contiguous"):
            casync.Codec("int8").encode(GRADIENT, state)
    assert not around.any()


def test_a_read_only_state_is_refused():
    with pytest.raises(casync.InvalidArgument, match="read-only"):
        casync.Codec("int8").encode(GRADIENT, numpy.frombuffer(bytes(4 * GRADIENT.size), numpy.float32))


def test_info_is_what_the_codec_declares():
    assert casync.Codec("int8").info()["name"] == "int8"


@pytest.fixture
def cache(monkeypatch, tmp_path):
    monkeypatch.setenv("CASYNC_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_a_codec_of_rounds_says_what_it_is_and_encodes_nothing_by_itself():
    codec = casync.Codec("powersgd", rank=2)
    assert codec.info()["rounds"] == 2 and "powersgd" in casync.codecs()
    with pytest.raises(casync.InvalidArgument, match="runs in a session"):
        codec.encode(GRADIENT)


def test_a_patch_takes_the_weights_of_one_side_to_the_other():
    codec, random = casync.Codec("patch"), numpy.random.default_rng(1)
    sender, receiver = casync.CodecState(100_000), casync.CodecState(100_000)
    weights = random.integers(0x3C00, 0x3E00, 100_000, numpy.uint32) << 16
    for changed in (100_000, 2000, 0, 2000):
        weights[random.permutation(100_000)[:changed]] += 1 << 16
        payload = codec.encode(weights.view(numpy.float32), sender)
        version = codec.result(codec.decode(payload, weights.size), receiver)
        assert version.tobytes() == weights.tobytes()
        assert changed == 100_000 or len(payload) <= 1.5 * changed + 12 * 25 + 64
    with pytest.raises(casync.InvalidArgument, match="no sum"):
        codec.merge([payload, payload], weights.size)
    with pytest.raises(casync.InvalidArgument, match="encodes no differences"):
        casync.Codec("int8").result(GRADIENT, casync.CodecState(GRADIENT.size))
    with pytest.raises(casync.InvalidArgument, match="state must be"):
        codec.result(version, None)
    assert "patch" not in casync.codecs()


def test_another_width_is_compiled_when_it_is_asked_for(cache):
    two, four = casync.Codec("minmax", bits=2), casync.Codec("minmax")
    assert len(two.encode(GRADIENT)) < 0.6 * len(four.encode(GRADIENT))
    assert numpy.abs(two.decode(two.encode(GRADIENT), GRADIENT.size) - GRADIENT).max() < 2.5
    with pytest.raises(casync.InvalidArgument, match="expected a whole number: 1 or 2 or 4 or 8"):
        casync.Codec("minmax", bits=3)


def test_a_file_is_a_codec(cache):
    codec = casync.Codec(EXAMPLE, block=64)
    info = codec.info()
    assert info["name"] == "int3" and info["block"] == 64 and len(info["program"]) == 16
    error = numpy.abs(codec.decode(codec.encode(GRADIENT), GRADIENT.size) - GRADIENT).max()
    assert 0 < error <= 0.51 / 3 * numpy.abs(GRADIENT).max()
    assert len([*cache.iterdir()]) == 1
    assert casync.Codec(f"{EXAMPLE}:block=64").info() == info


def test_a_file_with_a_mistake_is_a_compile_error_with_its_place(cache, tmp_path):
    (tmp_path / "mine.cll").write_text(EXAMPLE.read_text().replace("spread(scale", "spraed(scale", 1))
    with pytest.raises(casync.CompileError, match=r"mine\.cll:12:32: error: there is no function `spraed`"):
        casync.Codec(tmp_path / "mine.cll")


def test_a_file_that_is_not_there_is_refused():
    with pytest.raises(casync.InvalidArgument, match="nowhere.cll: no such file"):
        casync.Codec("nowhere.cll")


def test_without_a_compiler_a_file_is_unavailable_and_says_why(cache, monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(casync.Unavailable, match="CXX=no-such-compiler"):
        casync.Codec(EXAMPLE)
    assert casync.Codec("int8").info()["name"] == "int8"


def test_two_files_are_one_codec(tmp_path):
    text = EXAMPLE.read_text().replace("codec int3", "codec two")
    encode, decode = tmp_path / "encode.pse", tmp_path / "decode.pse"
    encode.write_text(text[: text.index("void decode")])
    decode.write_text(text[text.index("void decode") :])
    codec = casync.Codec([encode, decode], block=64)
    assert codec.info()["block"] == 64
    assert numpy.abs(codec.decode(codec.encode(GRADIENT), GRADIENT.size) - GRADIENT).max() < 1
    assert casync.Codec(f"{encode}+{decode}", block=64).encode(GRADIENT) == codec.encode(GRADIENT)


def test_a_name_ends_where_it_ends():
    for name in ("int8\0x", f"{EXAMPLE}\0x"):
        with pytest.raises(casync.InvalidArgument, match="which has a NUL"):
            casync.Codec(name)
    with pytest.raises(casync.InvalidArgument, match="which has a NUL"):
        casync.Codec("int8", **{"block\0x": 64})
