# SPDX-License-Identifier: Apache-2.0
"""casync profile: of this machine, and of the ranks of a job."""
import json
import os
import re
import signal
import subprocess
from pathlib import Path

from command import TOOL, casync, claim, ends_with, own_environment, run_all, temporary_folder, until
from planner_files import Files


def test_ranks_of_a_job_profile_the_links_between_them():
    with temporary_folder() as folder:
        here = os.path.join(folder, "here.txtpb")
        # Rank 0 has a node for itself, where one rank of each other node meets, and so has rank 7.
        program = (f"CASYNC_NODE=$(((CASYNC_RANK + 5) / 6)) exec {TOOL} profile --quick --codecs none,powersgd "
                   f"-o {here} --json")
        result = casync("run", "-n", "8", "--no-prefix", "--", "sh", "-c", program, timeout=200)
        ends_with(0, result, "profile of a job")
        measured = {one["what"]: one for one in json.loads(result.stdout)["measured"]}
        between = re.compile("between, rank (0 to rank 1|0 to rank 7|1 to rank 7): port")  # the slowest
        claim("inside, rank 1 to rank 2: port" in measured and len(list(filter(between.fullmatch, measured))) == 1,
              "both kinds of links", list(measured))
        for what, peers in (("between: incast of rank 0", [2]), ("between: outcast of rank 0", [2]),
                            ("inside: incast of rank 1", [3, 5]), ("inside: outcast of rank 1", [3, 5])):
            points = measured[what + ", times as long by peers"]["points"]
            claim([point[0] for point in points] == peers and all(times > 0 for _, times in points), what, points)
        turns = measured["powersgd turns of a step"]
        claim(len(turns["points"]) >= 4 and all(seconds > 0 for _, seconds in turns["points"]), "turns of rounds", turns)
        with open(here) as file:
            text = file.read()
        claim("node_shares_port: true" in text, "ranks of a node share its port")
        for pair in ("0 to rank 1", "0 to rank 7", "1 to rank 7"):
            claim(re.search(f"# between, rank {pair}: [0-9.]+ GiB/s in messages of 1 MiB", text), "each two nodes", text)
        between, inside = (next(line for line in text.splitlines() if line.startswith(link))
                           for link in ("between", "inside"))
        claim(all(f"{fan} {{ peers: 2 slowdown:" in between and f"{fan} {{ peers: 5 slowdown:" in inside
                  for fan in ("incast", "outcast")), "fans of eight ranks", between, inside)
        for link in (between, inside):
            largest = re.findall("seconds: ([0-9.e+-]+)", link.split("receive_work {")[1])[-1]
            claim(float(largest) > 1e-5, "what the other rank measured", link)


def test_a_profile_of_this_machine_is_one_that_plan_takes():
    with temporary_folder() as folder:
        files = Files(folder)
        here = os.path.join(folder, "here.txtpb")
        result = casync("profile", "--quick", "--codecs", "int8,powersgd", "--between", "ucx:tcp", "--inside", "ucx:tcp",
                        "--name", "this small one", "--device", "cpu", "-o", here, timeout=200)
        if result.returncode == 1 and "ucx" in result.stderr.lower() and "built without" in result.stderr:
            return "there is no UCX here"
        ends_with(0, result, "profile")
        claim(re.search("casync profile: 1 of [0-9]+: ", result.stderr) and " s left)" in result.stderr, "progress", result.stderr)
        last = re.findall("casync profile: ([0-9]+) of ([0-9]+): ", result.stderr)[-1]
        claim(last[0] == last[1], "whose last part is the last", result.stderr)
        claim(result.stdout.splitlines()[-1].startswith(("The profile is usable: ", "Measure again on an idle machine: ")),
              "one sentence at the end", result.stdout)
        text = open(here).read()
        claim('name: "this small one"\n' in text, "the name that was given", text)
        claim('codec { name: "int8"' in text and "# measured int8 encode" in text, "curves and points", text)
        claim('codec { name: "powersgd" encode {' in text and "# measured powersgd turns of a step" in text,
              "of a codec of rounds its turns", text)
        claim("task_seconds: " in text and "by tasks of a rank: off by" in text, "what tasks cost", text)
        claim("contend" in text and "# measured contended training" in text, "what training and codecs cost each other",
              text)
        links = [line for line in text.splitlines() if line.startswith(("between {", "inside {"))]
        claim(len(links) == 2 and all("send_work {" in link and "receive_work {" in link for link in links),
              "what messages take of processors", text)
        for link in links:  # messages over a slow link leave unasked
            size, seconds = re.findall(r"point { size: (\S+) seconds: (\S+) }", link.split("send_work")[0])[-1]
            rate = float(size) / float(seconds)  # of a fitted curve: 600e6 of the measured one is the limit
            announced = "announced_bytes: 131072" in link
            claim(announced if rate > 1.2e9 else not announced if rate < 3e8 else True, "which of them ask first", link)
        claim(text.count("# measured inside: processor time of the") == 2 and "ns of the sender's processors" in text,
              "beside what was measured", text)
        both = [float(line.split(" times the processor time")[0].split()[-1])
                for line in text.splitlines() if "both ways at once take" in line and "processor time" in line]
        claim(len(both) == 2 and all(0.2 < times < 5 for times in both), "and what both ways take of them", text)
        processors = len(os.sched_getaffinity(0))
        claim(f"processors: {processors}\n" in text, "this rank's processors", text)
        claim("upload" not in text, "the CPU is no device to copy to", text)
        claim("merge_base {" in text and "int8 merge, each code" in text, "what a merge costs once", text)
        ends_with(0, casync("plan", "--profile", here, "--model", files.model, "-n", 2), "plan with it")
        simulated = casync("simulate", "--profile", here, "--model", files.model, "-n", 2, "--json")
        ends_with(0, simulated, "simulate with it")
        claim(json.loads(simulated.stdout)["messages_ms"] > 0, "messages take processor time", simulated.stdout)
        explained = casync("explain", "--profile", here, "--model", files.model, "-n", 2, "large.weight", "--codecs", "int8",
                           "--json")
        ends_with(0, explained, "explain with it")
        claim(all(a["messages_ms"] > 0 for a in json.loads(explained.stdout)["alternatives"]), "of each alternative",
              explained.stdout)


def test_a_profile_that_a_signal_ends_leaves_no_folder():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        with temporary_folder() as folder:
            # Tests that run in the background may have been started with SIGINT ignored.
            job = subprocess.Popen([TOOL, "profile", "--quick"], env={**own_environment(), "TMPDIR": folder}, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
            until(lambda: list(Path(folder).glob("casync-??????")) or job.poll() is not None, 60, "there is a folder")
            job.send_signal(number)
            _, words = job.communicate(timeout=100)
            if job.returncode == 1 and "built without" in words:
                return "there is no UCX here"
            claim(job.returncode == -number, f"ended by signal {number}", job.returncode, words)
            until(lambda: not list(Path(folder).glob("casync-??????")), 60, "no folder is left")


run_all(globals())
