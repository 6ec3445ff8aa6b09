# SPDX-License-Identifier: Apache-2.0
"""casync run: the ranks' environment, how they are stopped, and what is left afterwards (nothing)."""
import json
import os
import resource
import select
import signal
import stat
import subprocess
import sys
from pathlib import Path

from command import TOOL, casync, claim, ends_with, is_alive, own_environment, run_all, temporary_folder, until

PRINT_ENVIRONMENT = "import os, json; print(json.dumps(dict(os.environ)))"


def python(text):
    return ["--", sys.executable, "-c", text]


def environments(*options, env=None):
    result = casync("run", "-n", "3", *options, *python(PRINT_ENVIRONMENT), env=env)
    ends_with(0, result, "three ranks that print their environment")
    lines = sorted(result.stdout.splitlines())
    claim([line[:4] for line in lines] == ["[0] ", "[1] ", "[2] "], "each line has its rank before it", result.stdout)
    return [json.loads(line[4:]) for line in lines]


def start(folder, *options, program, ignored=(), stdout=subprocess.PIPE):
    """A job in the background whose ranks write their process ids to `folder`, and which ignores these signals."""
    def set_signals():  # tests that run in the background may have been started with SIGINT ignored
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
            signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)

    env = {**os.environ, "TMPDIR": str(folder), "FOLDER": str(folder)}
    return subprocess.Popen([TOOL, "run", *options, "--", sys.executable, "-c", program], env=env, text=True,
                            stdout=stdout, stderr=subprocess.PIPE, preexec_fn=set_signals)


# Each rank leaves a file <rank>.pid, and has a child that would outlive it: <rank>.child.
LONG_RANK = """
import os, subprocess, sys, time
rank, folder = os.environ['CASYNC_RANK'], os.environ['FOLDER']
child = subprocess.Popen(['sleep', '300'])
for kind, pid in (('child', child.pid), ('pid', os.getpid())):
    with open(f'{folder}/{rank}.{kind}.new', 'w') as file: file.write(str(pid))
    os.rename(f'{folder}/{rank}.{kind}.new', f'{folder}/{rank}.{kind}')
"""

# As that, and goes on once all ranks are up: the launcher ends those that are not when one has failed.
RANKS_TOGETHER = LONG_RANK + """
while not all(os.path.exists(f'{folder}/{each}.pid') for each in range(int(os.environ['CASYNC_SIZE']))): time.sleep(0.01)
"""


def pids(folder, ranks):
    files = [Path(folder) / f"{rank}.{kind}" for rank in range(ranks) for kind in ("pid", "child")]
    until(lambda: all(file.exists() for file in files), 30, "all ranks are up")
    return [int(file.read_text()) for file in files]


def nothing_is_left(folder, processes):
    until(lambda: not any(is_alive(pid) for pid in processes), 10, "no process is left")
    claim(not list(Path(folder).glob("casync-*")), "no rendezvous directory is left", list(Path(folder).iterdir()))


def test_ranks_learn_their_place_the_rendezvous_and_one_token():
    with temporary_folder() as folder:
        ranks = environments(env={"TMPDIR": folder, "RANK": "7", "OMPI_COMM_WORLD_RANK": "5", "PMI_RANK": "5",
                                  "MPI_LOCALRANKID": "5", "MPI_LOCALNRANKS": "6"})
        claim(not list(Path(folder).iterdir()), "the private directory is gone", list(Path(folder).iterdir()))
    for rank, environment in enumerate(ranks):
        told = {name: environment.get(name) for name in
                ("CASYNC_RANK", "CASYNC_SIZE", "CASYNC_LOCAL_RANK", "CASYNC_LOCAL_SIZE")}
        claim(list(told.values()) == [str(rank), "3", str(rank), "3"], "rank and size", told)
        claim(environment["CASYNC_RENDEZVOUS"].startswith(f"file:{folder}/casync-"), "rendezvous", environment)
        others = {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"} & set(environment)
        claim(not others, "no other launcher contradicts", others)
    tokens = {environment["CASYNC_TOKEN"] for environment in ranks}
    claim(len(tokens) == 1 and len(bytes.fromhex(tokens.pop())) == 32, "32 random bytes, the same for all", ranks)
    claim(environments()[0]["CASYNC_TOKEN"] != ranks[0]["CASYNC_TOKEN"], "and other ones for each job")


def test_arguments_are_passed_on():
    environment = environments("--token", "secret", "--rendezvous", "10.1.2.3:999")[2]
    claim((environment["CASYNC_TOKEN"], environment["CASYNC_RENDEZVOUS"]) == ("secret", "10.1.2.3:999"), "as given")
    claim(environments(env={"CASYNC_TOKEN": "known"})[0]["CASYNC_TOKEN"] == "known",
          "the environment's own token stays")


def test_the_job_s_token_replaces_that_of_a_file():
    with temporary_folder() as folder:
        file = Path(folder) / "token"
        file.write_text("of the user's file\n")
        file.chmod(0o600)
        for options in ([], ["--token", "of the argument"]):
            for environment in environments(*options, env={"CASYNC_TOKEN_FILE": str(file)}):
                claim("CASYNC_TOKEN_FILE" not in environment, "a rank has one token", options, environment)
        work = ["bench", "all_reduce", "-r", "2", "-b", "4K", "-e", "4K", "--codec", "int8"]
        ends_with(0, casync(*work, env={"CASYNC_TOKEN_FILE": str(file)}), "ranks that meet by it")


def test_the_private_directory_is_closed_to_others():
    check = "import os; print(oct(os.stat(os.environ['CASYNC_RENDEZVOUS'][5:]).st_mode & 0o777))"
    result = casync("run", "-n", "1", *python(check))
    claim(result.stdout == f"[0] {oct(stat.S_IRWXU)}\n", "mode 0700", result.stdout)


def test_torch_variables_come_with_torch_only():
    claim("MASTER_PORT" not in environments()[0], "not without --torch")
    ranks = environments("--torch")
    claim([e["RANK"] for e in ranks] == ["0", "1", "2"] and ranks[0]["WORLD_SIZE"] == "3", "RANK and WORLD_SIZE", ranks)
    claim(len({(e["MASTER_ADDR"], e["MASTER_PORT"]) for e in ranks}) == 1, "one master", ranks)
    any_port = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    claim(int(ranks[0]["MASTER_PORT"]) < any_port or any_port <= 15000, "no port that the kernel gives to who connects", ranks)


def test_a_program_without_the_separator_keeps_its_options():
    result = casync("run", "-n", "1", "--no-prefix", sys.executable, "-c", "import sys; print(sys.argv[1:])", "-n", "9")
    claim(result.stdout == "['-n', '9']\n", "options of the program are its own", result.stdout, result.stderr)


def test_a_program_that_is_not_there_is_refused():
    result = casync("run", "-n", "2", "--", "/no/such/program")
    ends_with(3, result, "no such program")
    claim("`/no/such/program`" in result.stderr and "No such file" in result.stderr, "it is named", result.stderr)


def test_many_ranks_have_the_descriptors_that_their_output_needs():
    def run(hard):
        return subprocess.run([TOOL, "run", "-n", "24", "--", "true"], capture_output=True, text=True, timeout=60,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (48, hard)))

    ends_with(0, run(400), "the limit is raised")
    result = run(48)
    ends_with(1, result, "it cannot be raised")
    claim("too few file descriptors" in result.stderr and "the output of 24 ranks" in result.stderr, "why", result.stderr)


def test_lines_of_several_ranks_never_mix():
    result = casync("run", "-n", "4", *python("for i in range(300): print('x' * 100)"))
    lines = result.stdout.splitlines()
    claim(len(lines) == 1200 and {line[3:] for line in lines} == {" " + "x" * 100}, "1200 whole lines", len(lines))
    result = casync("run", "-n", "1", *python("import sys; sys.stdout.write('no end'); sys.stderr.write('word\\n')"))
    claim((result.stdout, result.stderr) == ("[0] no end\n", "[0] word\n"), "stdout and stderr stay apart", result)
    result = casync("run", "-n", "1", *python("import os; os.write(1, b'one\\r\\ntwo\\r\\n50%\\r100%\\n')"))
    claim(result.stdout.splitlines() == ["[0] one", "[0] two", "[0] 50%", "[0] 100%"], "lines of each kind", result)


def test_stdin_is_empty():
    result = casync("run", "-n", "1", *python("import sys; print(repr(sys.stdin.read()))"))
    claim(result.stdout == "[0] ''\n", "a rank never waits for the keyboard", result.stdout)


def test_the_exit_code_is_that_of_the_first_rank_that_failed():
    with temporary_folder() as folder:
        program = RANKS_TOGETHER + "\nif rank == '1': sys.exit(7)\ntime.sleep(300)"
        job = start(folder, "-n", "3", "--grace", "0.2", program=program)
        processes = pids(folder, 3)
        _, words = job.communicate(timeout=60)
        claim(job.returncode == 7, "rank 1's code", job.returncode, words)
        claim("rank 1 " in words and "exited with code 7" in words, "it is named", words)
        nothing_is_left(folder, processes)


def test_a_rank_killed_by_a_signal_gives_128_plus_it_and_survivors_have_their_say():
    program = RANKS_TOGETHER + """
if rank == '2': os.kill(os.getpid(), 9)
time.sleep(1)
print('PeerFailure: rank 2', file=sys.stderr)
sys.exit(4)
"""
    with temporary_folder() as folder:
        job = start(folder, "-n", "3", "--grace", "30", program=program)
        processes = pids(folder, 3)
        _, words = job.communicate(timeout=60)
        claim(job.returncode == 137, "128 + SIGKILL", job.returncode, words)
        claim("rank 2 " in words and "killed by signal 9" in words, "the culprit is named", words)
        claim("[0] PeerFailure" in words and "[1] PeerFailure" in words, "the others were not cut short", words)
        nothing_is_left(folder, processes)


def test_ranks_that_ignore_sigterm_are_killed():
    program = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + RANKS_TOGETHER
    program += "\nif rank == '0': sys.exit(3)\ntime.sleep(300)"
    with temporary_folder() as folder:
        job = start(folder, "-n", "2", "--grace", "0.1", program=program)
        processes = pids(folder, 2)
        job.communicate(timeout=30)
        claim(job.returncode == 3, "rank 0's code", job.returncode)
        nothing_is_left(folder, processes)


def test_signals_stop_all_ranks():
    for number in (signal.SIGINT, signal.SIGTERM):
        with temporary_folder() as folder:
            job = start(folder, "-n", "3", program=LONG_RANK + "\ntime.sleep(300)")
            processes = pids(folder, 3)
            job.send_signal(number)
            _, words = job.communicate(timeout=30)
            claim(job.returncode == 128 + number, f"128 + {number}", job.returncode, words)
            nothing_is_left(folder, processes)


def test_a_signal_that_was_ignored_from_the_start_stops_nobody():
    program = LONG_RANK + "\nchild.kill()\nwhile not os.path.exists(f'{folder}/go on'): time.sleep(0.01)"
    with temporary_folder() as folder:
        job = start(folder, "-n", "2", program=program, ignored=[signal.SIGHUP])  # as nohup starts it
        pids(folder, 2)
        job.send_signal(signal.SIGHUP)
        (Path(folder) / "go on").touch()
        _, words = job.communicate(timeout=30)
        claim(job.returncode == 0 and "stopping" not in words, "the ranks came to their end", job.returncode, words)


def test_a_caller_that_ignores_the_ends_of_its_children_hides_none():
    with temporary_folder() as folder:
        job = start(folder, "-n", "2", program="import sys; sys.exit(3)", ignored=[signal.SIGCHLD])
        _, words = job.communicate(timeout=30)
        claim(job.returncode == 3, "the ranks' code", job.returncode, words)


def test_a_rank_that_writes_without_end_does_not_keep_signals_waiting():
    program = LONG_RANK + "\nwhile True: os.write(1, b'\\n' * 65536)"
    with temporary_folder() as folder:
        job = start(folder, "-n", "2", program=program, stdout=subprocess.DEVNULL)
        processes = pids(folder, 2)
        job.send_signal(signal.SIGTERM)
        _, words = job.communicate(timeout=30)
        claim(job.returncode == 128 + signal.SIGTERM, "128 + SIGTERM", job.returncode, words)
        nothing_is_left(folder, processes)


def takes_no_more(pipe):
    """The pipe has no room, and its reader has stopped."""
    return not select.select([], [pipe], [], 0)[1]


def test_a_reader_that_stops_keeps_no_signals_waiting():
    program = LONG_RANK + "\nos.write(1, b'line\\n' * 100_000)"  # more than pipes hold
    with temporary_folder() as folder:
        reader, writer = os.pipe()
        job = start(folder, "-n", "2", program=program, stdout=writer)
        processes = pids(folder, 2)
        until(lambda: takes_no_more(writer), 30, "lines wait for the reader")
        job.send_signal(signal.SIGINT)
        _, words = job.communicate(timeout=60)
        os.close(writer)
        os.close(reader)
        claim(job.returncode == 128 + signal.SIGINT, "128 + SIGINT", job.returncode, words)
        claim("Interrupt: stopping all ranks" in words, "said, although lines of the ranks wait", words)
        nothing_is_left(folder, processes)


def test_a_slow_reader_gets_all_lines():
    program = "import os\nfor i in range(6_000): os.write(1, b'%099d\\n' % i)"
    with temporary_folder() as folder:
        reader, writer = os.pipe()
        job = start(folder, "-n", "2", program=program, stdout=writer)
        until(lambda: takes_no_more(writer), 30, "lines wait for the reader")
        os.close(writer)
        with os.fdopen(reader) as pipe:
            lines = pipe.read().splitlines()
        _, words = job.communicate(timeout=60)
        claim(job.returncode == 0, "both ranks end well", job.returncode, words)
        for rank in "01":
            own = [int(line[4:]) for line in lines if line.startswith(f"[{rank}] ")]
            claim(own == list(range(6_000)), "each line once, and in their order", len(own))


def test_lines_that_a_full_disk_loses_are_a_failure():
    def run(program):
        def fill_disk():
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # writing fails instead
        with temporary_folder() as folder, open(os.path.join(folder, "log"), "w") as log:
            return subprocess.run([TOOL, "run", "-n", "1", *python(program)], stdout=log, stderr=subprocess.PIPE,
                                  text=True, timeout=60, env=own_environment(), preexec_fn=fill_disk)

    result = run("for i in range(100): print('line', i)")
    ends_with(1, result, "a rank that ended well")
    claim("lines of the ranks are lost: File too large" in result.stderr, "why", result.stderr)
    ends_with(7, run("import sys; print('line\\n' * 100); sys.exit(7)"), "a rank's own code counts more")
    ends_with(0, run("print('line')"), "there was room")


def test_a_process_that_left_its_group_with_the_output_does_not_hold_up_the_end():
    program = RANKS_TOGETHER + """
if rank == '0':
    holder = subprocess.Popen(['sleep', '300'], start_new_session=True)
    with open(f'{folder}/holder', 'w') as file: file.write(str(holder.pid))
else:
    with open(f'{folder}/0.pid') as file: first = file.read()
    while os.path.exists(f'/proc/{first}'): time.sleep(0.01)
print('last words')
sys.exit(5)
"""
    with temporary_folder() as folder:
        job = start(folder, "-n", "2", "--grace", "30", program=program)
        processes = pids(folder, 2)
        words, _ = job.communicate(timeout=60)
        os.kill(int((Path(folder) / "holder").read_text()), signal.SIGKILL)
        claim(job.returncode == 5, "the ranks' code", job.returncode)
        claim(words.splitlines() == ["[0] last words", "[1] last words"], "all that was written", words)
        nothing_is_left(folder, processes)


def test_a_stopped_rank_is_stopped_for_good():
    with temporary_folder() as folder:
        job = start(folder, "-n", "2", program=LONG_RANK + "\ntime.sleep(300)")
        processes = pids(folder, 2)
        os.kill(processes[0], signal.SIGSTOP)
        job.send_signal(signal.SIGTERM)
        job.communicate(timeout=30)
        nothing_is_left(folder, processes)


def test_ranks_do_not_outlive_a_launcher_that_is_killed():
    with temporary_folder() as folder:
        job = start(folder, "-n", "2", program=LONG_RANK + "\nchild.kill()\ntime.sleep(300)")
        ranks = pids(folder, 2)[::2]
        job.kill()
        job.communicate(timeout=30)
        until(lambda: not any(is_alive(pid) for pid in ranks), 10, "the ranks went with it")


def test_json_says_how_each_rank_ended():
    program = "import os, sys; print('words'); sys.exit(int(os.environ['CASYNC_RANK']))"
    result = casync("run", "-n", "2", "--json", *python(program))
    ends_with(1, result, "rank 1 exits with 1")
    end = json.loads(result.stdout)
    claim((end["exit_code"], end["first_failed"], end["interrupted_by"]) == (1, 1, None), "who failed", end)
    claim([rank["exit_code"] for rank in end["ranks"]] == [0, 1], "each rank's code", end)
    claim(sorted(line for line in result.stderr.splitlines() if "words" in line) == ["[0] words", "[1] words"],
          "on stderr")


run_all(globals())
