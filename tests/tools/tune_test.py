# SPDX-License-Identifier: Apache-2.0
"""casync tune: from a training program to a plan, a report and measured times, in one call."""
import json
import sys
from pathlib import Path

from command import casync, claim, ends_with, run_all, temporary_folder

PROFILE = Path(__file__).resolve().parents[2] / "examples/profiles/cpu_2_cores_1gbit.txtpb"
PROGRAM = """
import sys, casync, numpy
with casync.Session({arguments}) as session:
    gradients = [(session.declare(f"layer{{i}}.weight", (256, 256)), numpy.ones((256, 256), "float32")) for i in range(4)]
    for step in range(1000):
        {body}
        for at, (identity, gradient) in enumerate(gradients):
            gradient[:] = numpy.random.default_rng(97 * step + 10 * session.rank + at).standard_normal((256, 256))
        handles = [session.submit(identity, gradient) for identity, gradient in gradients]
        for handle in handles:
            handle.wait()
        session.step()
"""


def tune(folder, *options, arguments="", body=""):
    program = Path(folder) / "train.py"
    program.write_text(PROGRAM.format(arguments=arguments, body=body))
    return casync("tune", "-n", "2", "--steps", "6", "--profile", PROFILE, "--codecs", "int4", "-o",
                  Path(folder) / "tuned", *options, "--", sys.executable, program, timeout=200)


def test_one_call_measures_plans_and_measures_again():
    with temporary_folder() as folder:
        first = tune(folder, "--json")
        ends_with(0, first, "tune")
        result = json.loads(first.stdout)
        ways = {way["name"]: way for way in result["ways"]}
        claim(list(ways) == ["uncompressed", "plan", "int4"], "three ways, in order", list(ways))
        claim(all(way["step_ms"] > 0 for way in ways.values()), "each was measured", ways)
        claim(ways["uncompressed"]["payload_bytes_per_rank_step"] == 4 * 256 * 256 * 4, "ps sends each half twice", ways)
        claim(ways["int4"]["payload_bytes_per_rank_step"] < ways["uncompressed"]["payload_bytes_per_rank_step"] / 7,
              "and int4 an eighth", ways)
        claim(ways["uncompressed"]["error"] == 0 and 0.005 < ways["int4"]["error"] < 0.05, "errors of Gaussian values",
              ways)
        claim(Path(result["plan"]).read_text().find("version: 1") >= 0, "a plan is left")
        claim("<html" in Path(result["report"]).read_text(), "and a report")
        claim("3 of 5: plan" in first.stderr, "progress says how far it is", first.stderr)
        again = tune(folder, "--json")
        ends_with(0, again, "tune again")
        claim(again.stderr.count("kept from an earlier call") == 5, "nothing is measured twice", again.stderr)
        claim(json.loads(again.stdout)["ways"] == result["ways"], "the same result")


def test_a_failing_program_is_named_with_its_rank_and_last_words():
    with temporary_folder() as folder:
        result = tune(folder, body='session.rank == 1 and step == 2 and sys.exit("out of cheese")')
        claim(result.returncode != 0, "tune fails", result.stdout)
        claim("training, uncompressed" in result.stderr and "rank" in result.stderr, "phase and rank", result.stderr)
        claim("out of cheese" in "".join(log.read_text() for log in (Path(folder) / "tuned").glob("*.log")), "in a log")


def test_a_program_that_names_its_codec_is_refused():
    with temporary_folder() as folder:
        result = tune(folder, arguments='codec="int8"')
        ends_with(3, result, "tune")
        claim("the program names its codec or plan itself" in result.stderr, "with what to do", result.stderr)


def test_usage():
    for command in (["tune", "-n", "2"], ["tune", "--", "true"], ["tune", "-n", "1", "--", "true"],
                    ["tune", "-n", "2", "--steps", "2", "--", "true"]):
        ends_with(2, casync(*command), f"casync {command}")


run_all(globals())
