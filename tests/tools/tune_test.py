# SPDX-License-Identifier: Apache-2.0
"""casync tune: from a training program to a plan, a report and measured times, in one call."""
import json
import re
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

from command import TOOL, casync, claim, ends_with, is_alive, own_environment, run_all, temporary_folder, until

ROOT = Path(__file__).resolve().parents[2]
PROFILE = ROOT / "examples/profiles/cpu_2_cores_1gbit.txtpb"
FAILING = ["--", sys.executable, "-c", "import sys; sys.exit(5)"]
PROGRAM = """
import sys, casync, numpy
with casync.Session({arguments}) as session:
    gradients = [numpy.ones({shape}, "{dtype}") for i in range(4)]
    gradients = [(session.declare(f"layer{{i}}.weight", gradient.shape, "{dtype}"), gradient)
                 for i, gradient in enumerate(gradients)]
    for step in range(1000):
        {body}
        for at, (identity, gradient) in enumerate(gradients):
            gradient[:] = numpy.random.default_rng(97 * step + 10 * session.rank + at).standard_normal(gradient.shape)
        handles = [session.submit(identity, gradient) for identity, gradient in gradients]
        for handle in handles:
            handle.wait()
        session.step()
"""


def tune(folder, *options, arguments="", body="", profile=PROFILE, codecs="int4", shape="(256, 256)", dtype="float32",
         **process):
    program = Path(folder) / "train.py"
    program.write_text(PROGRAM.format(arguments=arguments, body=body, shape=shape, dtype=dtype))
    return casync("tune", "-n", "2", "--steps", "6", "--profile", profile, "--codecs", codecs, "-o",
                  Path(folder) / "tuned", *options, "--", sys.executable, program, timeout=200, **process)


def tune_in(folder, *options, profile=PROFILE):
    """With a program that fails at once."""
    return casync("tune", "-n", "2", "--profile", profile, *options, "-o", folder, *FAILING)


def test_a_program_that_closes_its_output_and_does_not_end_is_ended_at_the_limit():
    with temporary_folder() as folder:
        result = tune(folder, "--timeout", "4", body="import os, time; os.close(1); os.close(2); time.sleep(1000)")
        claim(result.returncode != 0, "it fails", result.stderr)
        claim("did not end within 4 s" in result.stderr, "with the limit", result.stderr)


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
        planned = (Path(folder) / "tuned/planned.txtpb").read_text()
        claim("version: 1" in planned, "the planner's plan is left", planned)
        claim("<html" in Path(result["report"]).read_text(), "and a report")
        claim("3 of 5: plan" in first.stderr, "progress says how far it is", first.stderr)
        claim(all(way["steps"] >= 1 for way in ways.values()), "all have trainings", ways)
        is_chosen_by_its_cost(result, planned)
        model = Path(folder) / "tuned/record/model.txtpb"
        end = re.search("backward_seconds: ([^ \n]+)", model.read_text()).group(1)
        late = re.sub("ready_seconds: [^ ]+", f"ready_seconds: {end}", model.read_text())
        equal = re.sub(r"slow \{[^}]*\}", "", late)  # whatever a busy machine made of the ranks
        model.write_text(equal + "slow { rank: 1 factor: 1.5 }\n")
        again = tune(folder, "--json")
        ends_with(0, again, "tune again")
        phases = re.findall(r"casync tune: \d+ of \d+: ", first.stderr)
        claim("4 of 4 gradients are ready only when the backward pass ends" in again.stderr, "nothing overlaps", again.stderr)
        claim("rank 1 computes 1.5 times as long as the others: the step waits for it" in again.stderr, "unequal ranks",
              again.stderr)
        claim(again.stderr.count("kept from an earlier call") == len(phases), "nothing is measured twice", again.stderr)
        claim(json.loads(again.stdout) == result, "the same result")
        other = tune(folder, "--json", "--goal", "step", profile=Path(folder) / "tuned/profile.txtpb")
        ends_with(0, other, "tune for another goal, with the profile of the first call")
        claim((Path(folder) / "tuned/profile.txtpb").read_text() == PROFILE.read_text(), "which stays")
        claim("kept" not in other.stderr, "another goal starts anew", other.stderr)
        steps = {way["name"]: way["step_ms"] for way in json.loads(other.stdout)["ways"]}
        claim(steps[json.loads(other.stdout)["chosen"]] <= 1.03 * min(steps.values()), "a fast way", other.stdout)


def is_chosen_by_its_cost(result, planned):
    """The plan to use is that of the way with the least time to the same loss, unless a simpler one is as good."""
    costs = {way["name"]: way["step_ms"] * way["steps"] for way in result["ways"]}
    least = min(costs, key=costs.get)
    expected = next(way for way in ("uncompressed", "plan", least) if costs[way] <= 1.03 * costs[least])
    claim(result["chosen"] == expected, f"{expected} is chosen", result)
    text = Path(result["plan"]).read_text()
    if expected == "plan":
        claim(text == planned, "the planner's plan", text)
    elif expected == "int4":
        claim('name: "int4"' in text, "one codec for all gradients", text)
    else:
        claim('name: "int' not in text and "does not pay" in text, "no compression, and why", text)


def test_a_codec_of_a_file():
    with temporary_folder() as folder:
        file = Path(folder) / "codecs/mine.cll"
        file.parent.mkdir()
        file.write_text((ROOT / "examples/02_write_a_codec/int3.cll").read_text().replace("codec int3", "codec mine"))
        cache = {"CASYNC_CACHE_DIR": f"{folder}/cache"}
        result = tune(folder, "--json", "--goal", "step", codecs="codecs/mine.cll", cwd=folder, env=cache)
        ends_with(0, result, "tune with a codec of a file")
        ways = [way["name"] for way in json.loads(result.stdout)["ways"]]
        claim(ways == ["uncompressed", "plan", "codecs/mine.cll"], "the ways", ways)
        traces = list((Path(folder) / "tuned").glob("mine-*/rank0.trace.json"))
        claim(traces, "it has a folder", *(Path(folder) / "tuned").iterdir())
        ends_with(0, casync("plan", "--check", Path(folder) / "tuned/plan.txtpb", env=cache), "whichever way it is")


def test_a_codec_that_there_is_not_is_refused_ahead_of_training():
    with temporary_folder() as folder:
        for codec in ("int9", f"{folder}/none.cll", "int4:blok=64"):
            result = tune_in(f"{folder}/tuned", "--codecs", codec)
            ends_with(3, result, f"codec {codec}")
            named = codec.partition(":")[0] in result.stderr
            claim(named and "training" not in result.stderr, "it is named at once", result.stderr)


def test_a_device_that_there_is_not_is_refused_ahead_of_training():
    with temporary_folder() as folder:
        for given in ([], ["--profile", PROFILE]):
            result = casync("tune", "-n", "2", "--device", "gpu7", *given, "-o", f"{folder}/tuned", *FAILING)
            ends_with(3, result, f"device gpu7, {given}")
            claim("device `gpu7`, expected cpu, cuda" in result.stderr, "it is named", result.stderr)
            claim("training" not in result.stderr, "at once", result.stderr)
        absent = casync("tune", "-n", "2", "--device", "cuda:1000", "-o", f"{folder}/tuned", *FAILING)
        claim(absent.returncode != 0 and "training" not in absent.stderr, "nor is one that could be there", absent.stderr)


def test_files_that_tune_has_not_made_are_named_and_stay():
    for name in ("plan.txtpb", "profile.txtpb", "record", "int8", "tune.json"):
        with temporary_folder() as folder:
            (Path(folder) / name).write_text("mine")
            result = tune_in(folder, "--fresh")
            ends_with(3, result, f"a folder with {name}")
            claim(f"{folder}/{name} " in result.stderr, "it is named", result.stderr)
            claim("name another folder with -o" in result.stderr, "with what to do", result.stderr)
            claim([path.name for path in Path(folder).iterdir()] == [name], "nothing else is made", result.stderr)
            claim((Path(folder) / name).read_text() == "mine", "it stays")


def test_a_profile_in_the_folder_stays():
    with temporary_folder() as folder:
        profile = Path(folder) / "profile.txtpb"
        shutil.copy(PROFILE, profile)
        for options in ([], ["--fresh"]):
            result = tune_in(folder, *options, profile=profile)
            claim("ended with exit code 5" in result.stderr, "the program was started", result.stderr)
            claim(profile.read_text() == PROFILE.read_text(), "the profile stays")
        measuring = casync("tune", "-n", "2", "-o", folder, *FAILING)
        ends_with(3, measuring, "a call that would measure one")
        claim(f"{profile} " in measuring.stderr and profile.exists(), "it is not replaced", measuring.stderr)


def test_another_profile_or_device_starts_anew():
    with temporary_folder() as folder:
        other = Path(folder) / "other.txtpb"
        other.write_text(PROFILE.read_text() + "# measured again\n")
        ended = Path(folder) / "tuned/uncompressed/ended"
        for anew, options, profile in ((True, [], PROFILE), (False, [], PROFILE), (True, [], other), (False, [], other),
                                       (False, ["--device", "cpu"], other), (True, ["--device", "cuda"], other)):
            result = tune_in(f"{folder}/tuned", *options, profile=profile)
            claim("1 of 6: training, uncompressed" in result.stderr, "the first phase", result.stderr)
            claim(("kept from an earlier call" not in result.stderr) == anew, f"anew: {anew}", result.stderr)
            ended.parent.mkdir(exist_ok=True)
            ended.write_text("")


def test_a_process_that_the_program_leaves_behind_ends_with_it():
    with temporary_folder() as folder:
        program = f"sleep 300 & echo $! > {folder}/$CASYNC_RANK.pid"
        result = casync("tune", "-n", "2", "--timeout", "30", "--profile", PROFILE, "-o", f"{folder}/tuned", "--", "sh",
                        "-c", program, timeout=100)
        claim("did not end" not in result.stderr and "was not written" in result.stderr, "its training was over", result.stderr)
        left = [int((Path(folder) / f"{rank}.pid").read_text()) for rank in range(2)]
        until(lambda: not any(is_alive(pid) for pid in left), 30, "none is left")


def test_signals_end_the_processes_of_the_program():
    for number in (signal.SIGINT, signal.SIGTERM):
        with temporary_folder() as folder:
            program = f"sleep 300 & cd {folder}; echo $! > $CASYNC_RANK.new; mv $CASYNC_RANK.new $CASYNC_RANK.pid; wait"
            command = [TOOL, "tune", "-n", "2", "--profile", PROFILE, "-o", f"{folder}/tuned"]
            # Tests that run in the background may have been started with SIGINT ignored.
            job = subprocess.Popen([*command, "--", "sh", "-c", program], env=own_environment(), text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
            files = [Path(folder) / f"{rank}.pid" for rank in range(2)]
            until(lambda: all(file.exists() for file in files), 60, "both programs run")
            sleeping = [int(file.read_text()) for file in files]
            job.send_signal(number)
            _, words = job.communicate(timeout=60)
            claim(job.returncode == 128 + number, f"128 + {number}", job.returncode, words)
            until(lambda: not any(is_alive(pid) for pid in sleeping), 30, "none is left")


def test_a_program_may_change_its_working_directory():
    with temporary_folder() as folder:
        program = 'cd /; echo "$CASYNC_TRACE and $CASYNC_RECORD"; exit 5'
        result = casync("tune", "-n", "2", "--profile", PROFILE, "-o", "tuned", "--", "sh", "-c", program, cwd=folder)
        ends_with(1, result, "the program fails")
        tuned = Path(folder).resolve() / "tuned"
        words = (tuned / "uncompressed.rank0.log").read_text()
        claim(words == f"{tuned}/uncompressed and {tuned}/record\n", "folders that it finds from anywhere", words)


def test_a_failing_program_is_named_with_its_rank_and_last_words():
    with temporary_folder() as folder:
        result = tune(folder, body='session.rank == 1 and step == 2 and sys.exit("out of cheese")')
        claim(result.returncode != 0, "tune fails", result.stdout)
        claim("training, uncompressed" in result.stderr, "the phase", result.stderr)
        # Rank 0 fails, too, because rank 1 is gone, and may end first.
        claim(re.search("on rank [01] ended with exit code 1; its log \\S+ ends with:", result.stderr), "rank and words",
              result.stderr)
        claim("out of cheese" in "".join(log.read_text() for log in (Path(folder) / "tuned").glob("*.log")), "in a log")


def test_a_result_that_cannot_be_looked_at_is_made_anew():
    with temporary_folder() as folder:
        ends_with(1, tune_in(folder), "the first call")
        (Path(folder) / "uncompressed").symlink_to("uncompressed")
        again = tune_in(folder)
        ends_with(1, again, "a link to itself")
        claim("ended with exit code 5" in again.stderr, "the phase began", again.stderr)


def test_a_training_that_failed_is_none_that_is_kept():
    with temporary_folder() as folder:
        program = 'mkdir -p "$CASYNC_TRACE"; echo "{}" > "$CASYNC_TRACE/rank$CASYNC_RANK.trace.json"; exit 5'
        for call in ("first", "second"):
            result = casync("tune", "-n", "2", "--profile", PROFILE, "-o", folder, "--", "sh", "-c", program)
            ends_with(1, result, f"the {call} call")
            claim("ended with exit code 5" in result.stderr, "it was started", result.stderr)
            claim("kept from an earlier call" not in result.stderr, "nothing is kept", result.stderr)


def test_gradients_that_are_sent_as_they_are_have_a_codec_of_their_type():
    # A vector is no matrix that powersgd takes, and `none` casts to float16.
    for dtype, codec in (("float16", "int8"), ("float32", "powersgd")):
        with temporary_folder() as folder:
            result = tune(folder, "--json", codecs=codec, shape="(256, 256) if i % 2 else (256,)", dtype=dtype)
            ends_with(0, result, f"{codec} with {dtype}")
            ways = [way["name"] for way in json.loads(result.stdout)["ways"]]
            claim(ways == ["uncompressed", "plan", codec], "every way was measured", ways)


def test_a_program_that_names_its_codec_is_refused():
    # Gradients of two rows have codec `none` beside powersgd, too, but over a slow link not with the plan.
    for own, codecs, shape, speed in (("int8", "int4", "(256, 256)", 4e9), ("none", "powersgd", "(256, 256)", 4e9),
                                      ("none", "powersgd", "(2, 32768)", 1e6)):
        with temporary_folder() as folder:
            profile = Path(folder) / "link.txtpb"
            link = f"latency_seconds: 1e-5 bytes_per_second: {speed}"
            profile.write_text("version: 1\nmemory_bytes_per_second: 1e11\n"
                               f"between {{ {link} }}\ninside {{ {link} }}\n")
            result = tune(folder, arguments=f'codec="{own}"', codecs=codecs, shape=shape, profile=profile)
            ends_with(3, result, f"tune of {shape} with its own {own}")
            claim("the program names its codec or plan itself" in result.stderr, "with what to do", result.stderr)


def test_a_refused_training_is_none_that_is_kept():
    with temporary_folder() as folder:
        refused = tune(folder, arguments='codec="int8"')
        ends_with(3, refused, "tune of a program with its own int8")
        claim("2 of 4" not in refused.stderr, "the first training was the last", refused.stderr)
        without = tune(folder, body="break")
        ends_with(3, without, "tune of the same program without a step")
        claim("was not written" in without.stderr, "nothing is left of the refused training", without.stderr)
        mended = tune(folder)
        ends_with(0, mended, "tune of the same program without it")
        claim("kept from an earlier call" not in mended.stderr, "it trained again", mended.stderr)


def test_a_program_without_a_measurement_is_refused_after_its_first_run():
    for program, why in (("pass", "was not written: the program has opened no session, or ended no step"),
                         (PROGRAM.format(arguments="", body="if step == 2: break", shape="(256,)", dtype="float32"),
                          "the program ended after 2 steps, expected 3 at least")):
        with temporary_folder() as folder:
            result = casync("tune", "-n", "2", "--steps", "6", "--profile", PROFILE, "-o", folder, "--",
                            sys.executable, "-c", program, timeout=200)
            ends_with(3, result, why)
            claim(why in result.stderr, "with the cause", result.stderr)
            claim("2 of" not in result.stderr, "the first training was the last", result.stderr)


def test_a_program_that_names_its_codecs_parameters_is_refused():
    with temporary_folder() as folder:
        own = '__import__("os").environ.get("CASYNC_CODEC") == "int4" and "int4:block=32" or None'
        result = tune(folder, arguments=f"codec={own}")
        ends_with(3, result, "tune of a program with a block of its own for int4")
        claim("used codec int4:block=32 and not int4: the program names its codec or plan itself" in result.stderr,
              "both are named", result.stderr)


def test_ranks_of_mpirun_that_meet_by_pmix():
    """Such a job has no address of its own that the phases' processes could meet at."""
    if not shutil.which("mpirun"):
        return "there is no mpirun here"
    with temporary_folder() as folder:
        program = Path(folder) / "train.py"
        program.write_text(PROGRAM.format(arguments="", body="", shape="(256, 256)", dtype="float32"))
        command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", "-x", "CASYNC_RENDEZVOUS=pmix"]
        command += [sys.argv[1], "tune", "--steps", "6", "--profile", PROFILE, "--codecs", "int4"]
        command += ["-o", Path(folder) / "tuned", "--", sys.executable, program]
        ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=200)
        ends_with(0, ended, "tune")
        claim("Use it: CASYNC_PLAN=" in ended.stdout, "a plan to use", ended.stdout)


def test_folders_that_an_earlier_job_has_left_where_the_ranks_meet():
    """Open MPI gives a job's number, by which its ranks meet, to a later job, too."""
    with temporary_folder() as folder:
        for phase in range(1, 10):
            (Path(folder) / f"tune{phase}").mkdir(mode=0o700)
        job = ["run", "-n", "2", "--rendezvous", f"file:{folder}", "--", sys.argv[1], "tune", "--steps", "6"]
        ended = casync(*job, "-o", Path(folder) / "tuned", "--", sys.executable, "-c", "import sys; sys.exit(5)")
        claim("ended with exit code 5" in ended.stderr, "the program was started", ended.stderr)


def free_ipv6_port():
    """None on a machine without IPv6."""
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
            return probe.getsockname()[1]
    except OSError:
        return None


def test_ranks_that_meet_at_an_ipv6_address():
    port = free_ipv6_port()
    if port is None:
        return "this machine has no IPv6"
    with temporary_folder() as folder:
        program = "import os, sys; print('torch is at', os.environ['MASTER_ADDR'], flush=True); sys.exit(5)"
        job = ["run", "-n", "2", "--rendezvous", f"[::1]:{port}", "--", TOOL, "tune", "--profile", PROFILE]
        ended = casync(*job, "-o", Path(folder) / "tuned", "--", sys.executable, "-c", program)
        claim("ended with exit code 5" in ended.stderr, "the program was started", ended.stderr)
        words = "".join(log.read_text() for log in (Path(folder) / "tuned").glob("*.log"))
        claim("torch is at ::1\n" in words, "with an address that torch can resolve", words)


def test_usage():
    for command in (["tune", "-n", "2"], ["tune", "--", "true"], ["tune", "-n", "1", "--", "true"],
                    ["tune", "-n", "2", "--steps", "2", "--", "true"]):
        ends_with(2, casync(*command), f"casync {command}")


run_all(globals())
