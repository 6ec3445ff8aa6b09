# SPDX-License-Identifier: Apache-2.0
"""casync codec check: the properties that a codec's file declares, its error and its speed."""
import json

from codec_place import ROOT, Place
from command import casync, claim, ends_with, run_all


def test_check_tells_that_the_example_holds():
    with Place() as place:
        result = casync("codec", "check", place.file, "--param", "block=64", "--seconds", "0", "--json",
                        env=place.environment(), timeout=200)
        ends_with(0, result, "codec check")
        report = json.loads(result.stdout)
        claim(report["holds"] and report["codec"]["block"] == 64, "it holds, with its parameters", result.stdout)
        claim(len(report["properties"]) >= 8, "many properties", result.stdout)
        claim(all(p["state"] != "FAILS" for p in report["properties"]), "none fails", result.stdout)
        claim(abs(report["bits_per_element"] - 3.5) < 0.001, "3 bits and a scale for 64", report["bits_per_element"])
        claim(0.03 < report["error"]["gaussian"] < 0.1, "the error of seven levels", report["error"])
        claim("found_compiled_ms" in casync("codec", "check", place.file, "--param", "block=64", "--seconds", "0",
                                            "--json", env=place.environment(), timeout=200).stdout, "cached")


def test_check_measures_speed_beside_a_copy():
    with Place() as place:
        result = casync("codec", "check", place.file, "--seconds", "0.01", env=place.environment(), timeout=200)
        ends_with(0, result, "codec check")
        for word in ("encode", "decode", "merge of 4", "GB/s", "of copy"):
            claim(word in result.stdout, f"it prints {word}", result.stdout)


def test_check_tells_that_the_ternary_example_holds():
    with Place() as place:
        file = ROOT / "examples/02_write_a_codec/ternary.cll"
        result = casync("codec", "check", file, "--seconds", "0", "--json", env=place.environment(), timeout=200)
        ends_with(0, result, "codec check")
        report = json.loads(result.stdout)
        claim(report["holds"] and report["properties"], "it holds", result.stdout)
        claim(all(p["state"] != "FAILS" for p in report["properties"]), "none fails", result.stdout)
        claim("interpreted" not in report, "it is compiled", result.stdout)
        claim(abs(report["bits_per_element"] - 1.85) < 0.001, "a fifth of a byte, and a scale for 128", report)
        claim(0.1 < report["error"]["gaussian"] < 0.25, "the error of three levels", report["error"])


def test_check_of_a_codec_of_rounds():
    with Place() as place:
        text = (ROOT / "compll/codecs/powersgd.cll").read_text()
        place.file.write_text(text.replace("codec powersgd", "codec mine").replace("number 32;", ""))
        result = casync("codec", "check", place.file, "--param", "rank=2", "--seconds", "0.01", "--json",
                        env=place.environment(), timeout=200)
        ends_with(0, result, "codec check")
        report = json.loads(result.stdout)
        claim(report["holds"] and len(report["properties"]) == 10, "all of it holds", result.stdout)
        residual = [p for p in report["properties"] if p["property"].startswith("a state keeps")]
        claim(residual[0]["state"] == "holds", "what is left over is kept", result.stdout)
        claim(report["bits_per_element"] == 32 * 2 * 2048 / 1024**2, "two factors", report["bits_per_element"])
        claim(report["error"]["sixteen_steps"] < report["error"]["first_step"] < 1, "errors", report["error"])
        claim(report["speed"]["step"]["bytes_per_element"] > 16, "gradient, result and residual", report["speed"])
        # Half of what is left over is lost.
        place.file.write_text(place.file.read_text().replace("{ return x - y; }", "{ return (x - y) * 0.5; }"))
        result = casync("codec", "check", place.file, "--seconds", "0", env=place.environment(), timeout=200)
        note = [line for line in result.stdout.splitlines() if line.startswith("  note")]
        claim(any("a state keeps what the result does not have" in line for line in note), "a remark", result.stdout)
        # Only one rank's factor: each has a result of its own.
        place.file.write_text(text.replace("codec powersgd", "codec mine").replace("number 32;", "")
                              .replace("matmul(left, right);", "matmul(left, own);"))
        result = casync("codec", "check", place.file, "--seconds", "0", env=place.environment(), timeout=200)
        ends_with(1, result, "ranks that differ")
        claim("FAILS  all ranks have the same result" in result.stdout, "the property is named", result.stdout)


def test_check_tries_other_values_of_parameters():
    with Place() as place:
        result = casync("codec", "check", place.file, "--param", "block=64", "--seconds", "0", "--json",
                        env=place.environment(), timeout=400)
        ends_with(0, result, "codec check")
        others = [p["property"] for p in json.loads(result.stdout)["properties"] if "other values" in p["property"]]
        claim(len(others) == 1 and "block=16; block=48; " in others[0], "ends of the range, no power of two", others)


def test_check_names_what_breaks_a_promise():
    lies = {
        # q * s is farther away than zero is.
        "contractive": ("return q * s;", "return q * s * 3;"),
        # Nothing of what is below zero arrives.
        "unbiased": ("class contractive;\n  feedback;", "class unbiased;"),
        # A sum of two codes has other scales.
        "exact_merge": ("class contractive;", "class contractive;\n  exact_merge;"),
    }
    for word, (before, after) in lies.items():
        with Place() as place:
            place.file.write_text(place.file.read_text().replace(before, after))
            result = casync("codec", "check", place.file, "--seconds", "0", env=place.environment(), timeout=200)
            ends_with(1, result, f"a codec that is not {word}")
            failing = [line for line in result.stdout.splitlines() if line.startswith("  FAILS")]
            claim(any(word in line for line in failing), "the property is named", result.stdout)
            detail = result.stdout.splitlines()[result.stdout.splitlines().index(failing[0]) + 1]
            claim("element" in detail and ", " in detail, "with the input, the size and what differs", result.stdout)


run_all(globals())
