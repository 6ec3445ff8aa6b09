# SPDX-License-Identifier: Apache-2.0
"""The library's log in Python: records of the logger `casync` where `logging` has a handler, else lines on stderr."""

import os
import re
import subprocess
import sys

# CASYNC_LINKK is no variable of CaSync, of which the library's own log warns when a session opens.
CONFIGURE = "import logging; logging.basicConfig(format='%(name)s|%(levelname)s|%(message)s', level=logging.{level})\n"
OPEN = "import casync\nwith casync.Session(rank=0, size=1, codec='none', transport='loopback') as session: pass\n"
WARNING = "the environment sets CASYNC_LINKK"
LINE_OF_LIBRARY = re.compile(r"^\[\d\d:\d\d:\d\d\.\d+\] \[casync \d+\] ", re.MULTILINE)


def stderr_of(program, **environment):
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "CASYNC_LINKK": "1", **environment},
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_without_a_handler_lines_go_to_stderr():
    text = stderr_of(OPEN)
    assert WARNING in text and LINE_OF_LIBRARY.search(text)


def test_a_handler_gets_the_library_s_lines_as_records():
    text = stderr_of(CONFIGURE.format(level="WARNING") + OPEN)
    assert f"casync|WARNING|{WARNING}" in text
    assert not LINE_OF_LIBRARY.search(text)
    assert "|INFO|" not in text


def test_the_logger_s_level_decides_what_is_said():
    assert "casync|INFO|transport loopback" in stderr_of(CONFIGURE.format(level="INFO") + OPEN)
    assert WARNING not in stderr_of(CONFIGURE.format(level="ERROR") + OPEN)


def test_the_environment_s_level_is_stronger():
    assert WARNING not in stderr_of(CONFIGURE.format(level="INFO") + OPEN, CASYNC_LOG_LEVEL="error")
    assert "casync|INFO|transport loopback" in stderr_of(CONFIGURE.format(level="ERROR") + OPEN, CASYNC_LOG_LEVEL="info")
    assert WARNING in stderr_of(OPEN, CASYNC_LOG_LEVEL="warn")


def test_a_child_after_a_fork_logs_too():
    program = CONFIGURE.format(level="INFO") + OPEN + (
        "import os\n"
        "child = os.fork()\n" + OPEN.replace("import casync\n", "") +
        "if child: assert os.waitpid(child, 0)[1] == 0\n"
    )  # fmt: skip
    text = stderr_of(program)
    assert text.count("casync|INFO|transport loopback") == 3
    assert not LINE_OF_LIBRARY.search(text)


def test_one_rank_of_a_machine_says_what_is_wrong_with_the_environment():
    program = (
        "import casync\n"
        "with casync.Session(codec='none') as session: pass\n"
    )  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "casync", "run", "-n", "3", "--", sys.executable, "-c", program],
        env={**os.environ, "CASYNC_LINKK": "1"}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (done.stdout + done.stderr).count(WARNING) == 1


def test_no_line_is_lost_at_the_end_behind_a_slow_handler():
    slow = (
        "import logging, time\n"
        "class Slow(logging.StreamHandler):\n"
        "    def emit(self, record):\n"
        "        time.sleep(0.3)\n"
        "        super().emit(record)\n"
        "logging.getLogger('casync').addHandler(Slow())\n"
        "logging.getLogger('casync').setLevel(logging.INFO)\n"
    )
    text = stderr_of(slow + OPEN)
    assert WARNING in text and "transport loopback" in text
    assert not LINE_OF_LIBRARY.search(text)
