# SPDX-License-Identifier: Apache-2.0
"""casync report: what a run would send and take uncompressed, in half precision and with scattered gradients."""
import json
from pathlib import Path

from command import casync, claim, ends_with, run_all, temporary_folder
from traces import MODEL, PROFILE, numbers, trace, write


def changed(**fields):
    """The traces of both ranks, whose gradient has other fields."""
    both = [trace(0), trace(1)]
    for one in both:
        one["casync"]["gradients"][0].update(fields)
    return both


def compared(traces, model):
    """All numbers of these traces, with the prediction for them, and what was printed."""
    with temporary_folder() as folder:
        profile = Path(folder) / "profile.txtpb"
        profile.write_text(PROFILE % "")
        (Path(folder) / "model.txtpb").write_text(model)
        result = casync("report", write(folder, *traces), "--profile", profile, "--json")
        ends_with(0, result, "report --profile")
        return json.loads(result.stdout)


def step_ms(prediction):
    return next(term["predicted_ms"] for term in prediction["terms"] if term["name"] == "step")


def test_uncompressed_elements_of_half_precision_are_sent_in_their_own_type():
    for dtype, codec in (("bfloat16", "bf16"), ("float16", "fp16")):
        half = changed(dtype=dtype, codec=codec, second_hop=codec)
        for shape in ("[8000]", "[80, 100]"):
            model = MODEL.replace("[8000]", f'{shape} dtype: "{dtype}"')
            prediction = compared(half, model)["prediction"]
            claim(prediction["plain_step_ms"] == step_ms(prediction), "nothing was compressed", dtype, prediction)
            # int4 leaves vectors as they are.
            is_matrix = "," in shape
            claim((prediction["int4_step_ms"] < step_ms(prediction)) == is_matrix and
                  (prediction["int4_step_ms"] == step_ms(prediction)) != is_matrix, "with int4", dtype, prediction)
    whole = compared(changed(codec="none", second_hop="none"), MODEL)["prediction"]
    claim(whole["plain_step_ms"] == step_ms(whole) and step_ms(whole) > step_ms(prediction), "float32", whole)


def test_a_scattered_gradient_would_be_sent_once_and_not_back():
    # Each of two ranks sends half of 32000 bytes; in two steps.
    scattered = changed(codec="none", second_hop="none", payload_bytes=16000, scattered=1)
    for one in scattered:
        one["casync"]["stats"]["payload_bytes_sent"] = 32000
    seen = numbers(*scattered)
    claim((seen["plain_bytes_per_rank_step"], seen["payload_bytes_per_rank_step"], seen["ratio"]) == (16000, 16000, 1),
          "nothing was compressed", seen)
    gradient = seen["gradients"][0]
    claim((gradient["ratio"], gradient["strategy"]) == (1, "reduce_scatter"), "of the gradient, too", gradient)
    claim(numbers(*changed(scattered=0))["gradients"][0]["strategy"] == "ps", "another goes by its strategy")
    model = MODEL.replace("shape: [8000]", "shape: [80, 100] scattered: true")
    prediction = compared(scattered, model)["prediction"]
    claim(prediction["plain_step_ms"] == step_ms(prediction), "as it went", prediction)
    claim(prediction["int4_step_ms"] < step_ms(prediction), "int4 is proposed", prediction)


run_all(globals())
