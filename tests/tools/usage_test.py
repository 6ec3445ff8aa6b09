# SPDX-License-Identifier: Apache-2.0
"""The command line: help, versions, exit codes, codecs."""
import json
import os
import resource
import shutil
import subprocess
from pathlib import Path

from command import TOOL, casync, claim, ends_with, own_environment, run_all, temporary_folder

PAGE = Path(__file__).resolve().parents[2] / "docs/command.md"


def commands(*command):
    """Each subcommand of `casync COMMAND` and of those, as `--help` lists them."""
    _, _, lines = casync(*command, "--help").stdout.partition("Subcommands:\n")
    found = []
    for line in lines.splitlines():
        if line.startswith("  ") and line[2] != " ":
            name = [*command, line.split()[0]]
            found += [name, *commands(*name)]
    return found


COMMANDS = commands()


def test_help_lists_the_subcommands():
    for command in (["run"], ["bench", "all_reduce"], ["codec", "check"], ["completion", "bash"], ["completion", "fish"],
                    ["completion", "zsh"]):
        claim(command in COMMANDS, f"casync --help leads to {command}", COMMANDS)


def test_every_subcommand_has_help_on_stdout():
    for command in [[], *COMMANDS]:
        result = casync(*command, "--help")
        ends_with(0, result, f"casync {command} --help")
        claim("Usage: casync" in result.stdout and result.stderr == "", "help is data", result.stdout, result.stderr)


def test_every_leaf_subcommand_offers_json():
    for command in COMMANDS:
        if command not in (["bench"], ["codec"]) and command[0] != "completion":
            claim("--json" in casync(*command, "--help").stdout, f"casync {command} has --json")


def test_the_page_shows_every_subcommand():
    text = PAGE.read_text(encoding="utf-8")
    for command in COMMANDS:
        claim("casync " + " ".join(command) in " ".join(text.split()), f"docs/command.md shows casync {command}")


def test_version_names_the_abi():
    result = casync("--version")
    ends_with(0, result, "--version")
    claim(result.stdout.startswith("casync ") and "(ABI 1)" in result.stdout, "version and ABI", result.stdout)


def test_misunderstood_arguments_end_with_2_and_empty_stdout():
    for command in ([], ["dance"], ["run"], ["run", "-n", "0", "--", "true"], ["run", "-n", "2"], ["report"],
                    ["codec", "info"], ["codec", "check"], ["plan"], ["explain"],
                    ["explain", "--profile", "p", "--model", "m", "-n", "2", "a.weight", "--svg", "map.svg"],
                    ["bench", "step"], ["bench", "all_reduce", "-b", "1x"],
                    ["bench", "all_reduce", "-b", "2M", "-e", "1M"],
                    ["bench", "all_reduce", "--strategy", "magic"], ["bench", "all_reduce", "--csv", "--json"],
                    ["run", "-n", "2", "what", "--", "true"]):
        result = casync(*command)
        ends_with(2, result, f"casync {command}")
        claim((result.stdout == "" or "--json" in command) and result.stderr != "", "words go to stderr", result.stdout)


def error_of(result):
    """What a command that failed with --json has printed, which is an error and nothing else."""
    made = json.loads(result.stdout)
    claim(list(made) == ["error"], "one error", made)
    error = made["error"]
    claim(error["exit_code"] == result.returncode and error["message"], "its exit code and message", error)
    claim(error["message"].splitlines()[0] in result.stderr, "words go to stderr all the same", error, result.stderr)
    return error


# A command line that each subcommand refuses once it has understood it, and the kind of the error. Those that no input
# makes fail have none.
REFUSED = {
    ("tune",): (["-n", "2", "--profile", "none", "-o", "/dev/null/tuned", "--", "true"], "Unavailable"),
    ("run",): (["-n", "2", "--", "/no/such/program"], "InvalidArgument"),
    ("report",): (["/no/such/folder"], "InvalidArgument"),
    ("profile",): (["--codecs", "int9"], "InvalidArgument"),
    ("plan",): (["--check", "/no/such/plan"], "InvalidArgument"),
    ("explain",): (["--profile", "/no/such", "--model", "/no/such", "-n", "2"], "InvalidArgument"),
    ("simulate",): (["--profile", "/no/such", "--model", "/no/such", "-n", "2"], "InvalidArgument"),
    ("bench", "all_reduce"): (["-r", "2", "-e", "64K", "--codec", "int5"], "InvalidArgument"),
    ("bench", "codec"): (["int5"], "InvalidArgument"),
    ("bench", "transport"): (["--transport", "pigeons"], "InvalidArgument"),
    ("bench", "step"): (["--model", "/no/such", "-r", "2"], "InvalidArgument"),
    ("codec", "list"): None,
    ("codec", "info"): (["zip"], "InvalidArgument"),
    ("codec", "check"): (["/no/such.cll"], "InvalidArgument"),
    ("doctor",): None,
}  # fmt: skip


def test_with_json_every_subcommand_prints_its_errors_as_json():
    leaves = [command for command in COMMANDS if command not in (["bench"], ["codec"]) and command[0] != "completion"]
    for command in leaves:
        unknown = casync(*command, "--json", "--no-such-option")
        ends_with(2, unknown, f"casync {command} --no-such-option")
        claim(error_of(unknown)["kind"] == "Usage", "of the command line", unknown.stdout)
        claim(tuple(command) in REFUSED, f"add what casync {command} refuses to REFUSED")
        if REFUSED[tuple(command)] is None:
            continue
        arguments, kind = REFUSED[tuple(command)]
        refused = casync(*command, "--json", *arguments)
        error = error_of(refused)
        claim(error["kind"] == kind, f"casync {command}", refused.stdout)
        plain = casync(*command, *arguments)
        ends_with(refused.returncode, plain, f"casync {command} without --json")
        claim(error["message"].splitlines()[0] in plain.stderr and plain.stdout == "", "the same words, and no JSON",
              plain.stdout, plain.stderr)


def test_an_error_of_a_command_line_is_json_wherever_json_stands():
    for command, told in ((["run", "-n", "two", "--json", "--", "true"], "`two` is no number"),
                          (["runn", "--json"], "no subcommand `runn` (did you mean `run`?)"),
                          (["bench", "--json"], "no subcommand"),
                          (["bench", "all_reduce", "--csv", "--json"], "excludes"),
                          (["bench", "all_reduce", "-b", "1x", "--json"], "1x"), (["plan", "--json"], "--profile"),
                          (["explain", "--json"], "are missing"), (["run", "--json", "-n", "2"], "no program")):
        result = casync(*command)
        ends_with(2, result, f"casync {command}")
        error = json.loads(result.stdout)["error"]
        claim(error["kind"] == "Usage" and told in error["message"], told, error)
    own = casync("run", "-n", "1", "--", "false", "--json")
    claim(own.returncode == 1 and own.stdout == "", "a program's own --json is not the command's", own.stdout)


def test_an_error_in_a_file_has_its_place_as_fields():
    with temporary_folder() as folder:
        path = os.path.join(folder, "plan.txtpb")
        with open(path, "w", encoding="utf-8") as file:
            file.write('version: 1\nrule { match: "*" partitons: 2 }\n')
        error = error_of(casync("plan", "--json", "--check", path))
        claim((error["file"], error["line"]) == (path, 2) and error["column"] > 1, "file, line and column", error)
        claim(error["message"].startswith(f"{path}:2:"), "and in the message", error)
    nowhere = error_of(casync("codec", "info", "zip", "--json"))
    claim("file" not in nowhere and "line" not in nowhere, "no place, no fields", nowhere)


def test_an_error_may_be_as_long_as_a_command_line():
    path = "a" * 100_000
    error = error_of(casync("plan", "--json", "--check", path))
    claim(path in error["message"] and "file" not in error, "a message without a place", len(error["message"]))


def test_data_that_a_full_disk_cuts_off_is_a_failure():
    for command in (["codec", "list"], ["codec", "info", "int4", "--json"], ["plan", "--help"], ["--version"]):
        with open("/dev/full", "w", encoding="utf-8") as full:
            made = subprocess.run([TOOL, *command], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60,
                                  env=own_environment())
        claim(made.returncode == 1, f"casync {command}", made.returncode, made.stderr)
        claim("casync: stdout cannot be written" in made.stderr, "said", made.stderr)


def test_a_closed_stdout_takes_no_data():
    made = subprocess.run(["sh", "-c", 'exec "$0" codec list >&-', TOOL], stderr=subprocess.PIPE, text=True, timeout=60)
    claim(made.returncode == 1 and "casync: stdout cannot be written" in made.stderr, "said", made)


def test_a_size_beyond_all_memory_is_said():
    def casync_within_memory(*arguments):
        limit = 4 << 30
        return subprocess.run([TOOL, *arguments], capture_output=True, text=True, timeout=60, env=own_environment(),
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))

    if casync_within_memory("--version").returncode != 0:
        return "a sanitizer needs more memory"
    large = casync_within_memory("bench", "codec", "none", "--partition", "64G", "--total", "64G", "--json")
    ends_with(1, large, "64 GiB of 4 GiB")
    claim("not enough memory" in error_of(large)["message"], "said", large.stdout)
    messages = casync_within_memory("bench", "transport", "-b", "64G", "-e", "64G", "--json")
    ends_with(1, messages, "messages of 64 GiB")
    claim("not enough memory" in error_of(messages)["message"], "said once", messages.stdout)
    # 2^34 times 2^30 is no 64-bit number.
    sizes = ["-b", "16G", "-e", "16G", "-f", str(1 << 30)]
    end = casync_within_memory("bench", "all_reduce", *sizes, "--strategy", "magic")
    ends_with(2, end, "one size, and then a strategy that there is not")
    claim("no strategy `magic`" in end.stderr, "said", end.stderr)


def test_an_unknown_subcommand_is_named():
    for command, told in ((["runn", "-n", "2"], "no subcommand `runn` (did you mean `run`?)"),
                          (["bench", "allreduce"], "no subcommand `allreduce` (did you mean `all_reduce`?)"),
                          (["dance"], "no subcommand `dance`"), ([], "Usage: casync"), (["bench"], "all_reduce")):
        result = casync(*command)
        claim(told in result.stderr, f"casync {command} says it", result.stderr)


def test_help_is_a_word_too_and_begins_with_tune():
    whole = casync("help")
    ends_with(0, whole, "casync help")
    claim(whole.stdout == casync("--help").stdout, "the same", whole.stdout)
    first = whole.stdout.split("Subcommands:\n")[1].split()[0]
    claim(first == "tune", "the command of the first hour", whole.stdout)
    unknown = casync("help", "pln", "--json")
    ends_with(2, unknown, "help of what there is not")
    claim("no subcommand `pln` (did you mean `plan`?)" in error_of(unknown)["message"], "said", unknown.stdout)
    one = casync("help", "plan")
    claim(one.stdout == casync("plan", "--help").stdout and "--profile" in one.stdout, "of one subcommand", one.stdout)


def test_a_number_that_is_none_is_said_so():
    for value, told in (("two", "--ranks: `two` is no number, expected 1 to 1024"),
                        ("2000", "--ranks: `2000` is out of range, expected 1 to 1024")):
        result = casync("run", "-n", value, "--", "true")
        ends_with(2, result, "run -n")
        claim(told in result.stderr, told, result.stderr)
    for command in (["run", "-n", "1", "--grace"], ["tune", "-n", "2", "--timeout"], ["plan", "--max-error"],
                    ["explain", "--most-steps"], ["codec", "check", "a.cll", "--seconds"],
                    ["bench", "codec", "--seconds"], ["bench", "transport", "--seconds"],
                    ["bench", "all_reduce", "--timeout"],
                    ["bench", "step", "--model", "m", "--seconds"], ["bench", "step", "--model", "m", "--timeout"],
                    ["simulate", "--profile", "p", "--model", "m", "-n", "2", "--jitter"]):
        for value in ("nan", "NaN"):
            result = casync(*command, value)
            ends_with(2, result, f"casync {command} {value}")
            claim(f"{command[-1]}: `{value}` is no number, expected" in result.stderr, "said", result.stderr)


def test_a_profile_refuses_codecs_before_it_measures():
    result = casync("profile", "--codecs", "int9")
    ends_with(3, result, "profile of an unknown codec")
    claim("int9" in result.stderr and " of " not in result.stderr.split("int9")[0], "nothing was measured", result.stderr)


def test_refused_input_is_said_once_for_all_ranks():
    result = casync("bench", "all_reduce", "-r", "3", "--codec", "int5", "-e", "64K")
    ends_with(3, result, "bench of an unknown codec")
    claim(result.stderr.count("no codec is called `int5`") == 1, "one rank speaks", result.stderr)
    rounds = casync("bench", "all_reduce", "--codec", "powersgd")
    ends_with(3, rounds, "a codec of rounds")
    claim("use `casync bench step`" in rounds.stderr and rounds.stdout == "", "what to use instead", rounds.stderr)


def completed_by_bash(*words, cwd=None):
    """The words that bash offers after `casync WORDS`; the last one is being typed."""
    shown = '\nCOMP_WORDS=(casync "$@"); COMP_CWORD=$#; _casync; printf "%s\n" "${COMPREPLY[@]}"'
    return printed_by("bash", shown, *words, cwd=cwd)


def completed_by_zsh(*words):
    """The same of zsh, where its _describe, which needs a terminal, gets them."""
    described = ('\nwords=(casync "$@"); CURRENT=$#words; PREFIX="${words[CURRENT]}"; _files() { }\n'
                 '_describe() { local each; for each in "${(@P)2}"; do each="${each%%:*}"\n'
                 '[[ "$each" == "$PREFIX"* ]] && print -r -- "$each"; done; true }\n_casync\ntrue')
    return printed_by("zsh", described, *words, begin="compdef() { }\n")


def completed_by_fish(*words):
    """The same of fish itself."""
    return printed_by("fish", '\ncomplete -C "casync $argv" | string split -f 1 \\t; true', *words)


def printed_by(shell, end, *words, begin="", cwd=None):
    script = begin + casync("completion", shell).stdout + end
    first = [shell, "-c", script] if shell == "fish" else [shell, "-c", script, shell]
    made = subprocess.run([*first, *words], capture_output=True, text=True, timeout=60, cwd=cwd)
    claim(made.returncode == 0 and made.stderr == "", f"the script for {shell} runs", made.stderr)
    return made.stdout.splitlines()


def test_shells_complete_subcommands_and_options():
    for shell, completed in (("bash", completed_by_bash), ("zsh", completed_by_zsh), ("fish", completed_by_fish)):
        if shutil.which(shell) is None:
            print(f"skipped: {shell} is not installed")
            continue
        claim("explain" in completed("exp"), f"{shell}: a subcommand", completed("exp"))
        claim("all_reduce" in completed("bench", "all"), f"{shell}: one below it", completed("bench", "all"))
        claim("--max-error" in completed("plan", "--max"), f"{shell}: an option", completed("plan", "--max"))
        claim("--iterations" in completed("bench", "all_reduce", "--codec", "int8", "--iter"), f"{shell}: after options")
        claim("--max-error" not in completed("run", "--max"), f"{shell}: not of another subcommand")
        claim("explain" not in completed("run", "--", "exp"), f"{shell}: none in the program's own words")


def test_bash_completes_names_of_files_with_spaces():
    with temporary_folder() as folder:
        os.makedirs(os.path.join(folder, "my traces"))
        for words in (["report", "my"], ["run", "--", "my"]):
            offered = completed_by_bash(*words, cwd=folder)
            claim(offered == ["my traces"], "one name", offered)
        offered = completed_by_bash("", cwd=folder)
        claim("explain" in offered and "my traces" in offered, "beside subcommands", offered)
    # Readline then escapes the spaces, and ends folders with a slash.
    script = casync("completion", "bash").stdout
    claim("complete -o filenames -F _casync casync" in script, "bash knows that these are names of files", script)


def test_codec_list_and_info_agree():
    codecs = json.loads(casync("codec", "list", "--json").stdout)
    names = [codec["name"] for codec in codecs]
    claim("none" in names and "int8" in names and "onebit" in names, "the built-in codecs are listed", names)
    lines = casync("codec", "list").stdout.splitlines()
    claim([line.split()[0] for line in lines if line[0] != "#"] == names, "a line per codec", lines)
    words = {line.split()[0]: line.split() for line in lines}
    claim(words["int4"][1:4] == ["4.25", "yes", "1.00"], "bits, feedback, steps to the same loss", words["int4"])
    claim(float(words["onebit"][3]) > 1.2, "one bit needs more steps", words["onebit"])
    claim(words["drive"][3] == "?", "without trainings", words["drive"])
    claim("casync bench codec" in lines[3] and "steps" in lines[4], "where speeds are", lines[:5])
    claim(words["diana"][2] == "own", "memory that is no residual", words["diana"])
    for codec in codecs:
        result = casync("codec", "info", codec["name"], "--json")
        ends_with(0, result, "codec info")
        claim(json.loads(result.stdout) == codec, "info tells what list tells", result.stdout)
        claim(casync("codec", "info", codec["name"]).stdout.startswith(codec["name"] + ": "), "and in words")


def test_codec_parameters_are_filled_in():
    codecs = json.loads(casync("codec", "list", "--json").stdout)
    codec, parameter = next((c, p) for c in codecs for p in c["parameters"]
                            if p["name"] == "feedback" and p["initial"] == 1)
    off = casync("codec", "info", codec["name"], "feedback=0", "--json")
    ends_with(0, off, "a parameter within its range")
    value = next(p["value"] for p in json.loads(off.stdout)["parameters"] if p["name"] == "feedback")
    claim(value == 0 and parameter["value"] == 1, "the value given is shown, else the initial one", value, parameter)


def test_unknown_codecs_and_parameters_are_refused_with_3():
    for arguments in (["zip"], ["int8", "colour=1"], ["int8", "block=-7"], ["int8", "block"], ["int8", "block=many"]):
        result = casync("codec", "info", *arguments)
        ends_with(3, result, f"codec info {arguments}")
        claim(result.stdout == "" and result.stderr.startswith("casync codec: "), "said on stderr", result.stderr)
    claim("`casync codec list` shows all" in casync("codec", "info", "zip").stderr, "where those there are are listed")
    large = casync("codec", "info", "int4", "block=1000000")
    claim("`block` is 1000000, expected" in large.stderr, "a number as it was typed", large.stderr)


def test_explain_names_the_options_that_are_missing():
    for given, told in (([], "--profile, --model and --ranks are missing"),
                        (["--profile", "p", "--model", "m"], "--ranks is missing"),
                        (["--plan", "x", "--model", "m"], "--profile is missing")):
        result = casync("explain", *given)
        ends_with(2, result, "explain")
        claim(told in result.stderr, told, result.stderr)


run_all(globals())
