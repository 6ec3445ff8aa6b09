# SPDX-License-Identifier: Apache-2.0
"""The compilation of a plugin's library, with compilers and other processes that do not end."""

import fcntl
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

import casync
from casync import native


def plugin():
    return native.Plugin("nothing", "1", [], [], [], [])


@pytest.fixture
def hanging_compiler(tmp_path, monkeypatch):
    """Starts a program of its own, as g++ does, and writes its number to a file."""
    script = tmp_path / "hanging"
    script.write_text(f"#!/bin/sh\nsleep 600 &\necho $! > {tmp_path}/child\nwait\n")
    script.chmod(0o755)
    monkeypatch.setenv("CXX", str(script))
    native._compiler.cache_clear()
    yield tmp_path / "child"
    monkeypatch.undo()
    native._compiler.cache_clear()


def is_alive(pid):
    """A zombie is not alive: it only waits for its parent to ask."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def comes_true(is_true):
    """Asks again and again, for a minute at most."""
    deadline = time.monotonic() + 60
    while not is_true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def test_a_compiler_that_hangs_is_killed_with_what_it_started(tmp_path, monkeypatch, hanging_compiler):
    """Its child would sleep for longer than a test may take."""
    monkeypatch.setattr(native, "COMPILE_S", 1.0)
    with pytest.raises(casync.errors.Timeout, match="hanging has not ended after 1 s and was killed"):
        plugin().build(tmp_path)
    child = int(hanging_compiler.read_text())
    assert comes_true(lambda: not is_alive(child)), "the compiler's child lives"


def test_a_compiler_s_words_are_told_also_where_they_are_not_utf_8(tmp_path, monkeypatch):
    """Sources may have lines in another encoding, which compilers quote."""
    script = tmp_path / "latin1"
    script.write_text("#!/bin/sh\nprintf 'error: caf\\351 was not declared' >&2\nexit 1\n")
    script.chmod(0o755)
    monkeypatch.setattr(native, "_compiler", lambda: (str(script),))
    with pytest.raises(casync.CompileError, match="error: caf\ufffd was not declared"):
        plugin().build(tmp_path)


def test_a_lock_that_another_process_holds_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(native, "COMPILE_S", 0.5)
    path = tmp_path / "casync_nothing.lock"
    with open(path, "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(casync.errors.Timeout, match="another process has held .*casync_nothing.lock for 0.5 s"):
            plugin().build(tmp_path)


def test_a_lock_that_another_process_lets_go_of_is_taken(tmp_path, monkeypatch):
    path, looks = tmp_path / "casync_nothing.lock", []
    with open(path, "w") as held, open(path, "w") as file:
        fcntl.flock(held, fcntl.LOCK_EX)

        def pause(seconds):
            looks.append(seconds)
            if len(looks) == 3:
                fcntl.flock(held, fcntl.LOCK_UN)

        monkeypatch.setattr(native.time, "sleep", pause)
        native._lock(file)
        assert len(looks) == 3
        with open(path, "w") as other, pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_lock_of_a_process_that_was_killed_is_free(tmp_path, monkeypatch):
    """The kernel lets go of it, so that nobody waits for a process that is gone: the first look takes it."""
    monkeypatch.setattr(native, "COMPILE_S", 0.0)
    path = tmp_path / "casync_nothing.lock"
    holder = subprocess.Popen(
        [sys.executable, "-c", f"import fcntl, sys; f = open({str(path)!r}, 'w'); fcntl.flock(f, 2); print('held', flush=True); sys.stdin.read()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert holder.stdout.readline() == b"held\n"
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    with open(path, "w") as file:
        native._lock(file)


def test_the_cache_is_made_for_this_user_alone(tmp_path, monkeypatch):
    folder = tmp_path / "cache" / "of" / "casync"
    monkeypatch.setenv("CASYNC_CACHE_DIR", str(folder))
    mask = os.umask(0o002)
    try:
        assert native.cache_folder() == folder
    finally:
        os.umask(mask)
    for made in (folder, folder.parent, folder.parent.parent):
        assert made.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("writable", ["folder", "above"])
def test_a_cache_that_others_can_write_to_or_replace_is_refused(tmp_path, monkeypatch, writable):
    folder = tmp_path / "shared" / "casync"
    folder.mkdir(parents=True, mode=0o700)
    monkeypatch.setenv("CASYNC_CACHE_DIR", str(folder))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "none"))
    culprit = folder if writable == "folder" else folder.parent
    culprit.chmod(0o777)
    with pytest.raises(casync.errors.Unavailable, match=f"^{culprit} can be written by others.*none is not a folder"):
        native.cache_folder()
    culprit.chmod(0o1777)  # in a folder with the sticky bit others replace nothing
    if writable == "above":
        assert native.cache_folder() == folder


def test_a_group_may_write_to_folders_above_the_cache_but_not_to_the_next_one(tmp_path, monkeypatch):
    """As check_folder() and check_ways() of compll/load/cache.cc have it."""
    folder = tmp_path / "project" / "shared" / "casync"
    folder.mkdir(parents=True, mode=0o700)
    monkeypatch.setenv("CASYNC_CACHE_DIR", str(folder))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "none"))
    folder.parent.parent.chmod(0o775)
    folder.parent.chmod(0o755)
    assert native.cache_folder() == folder
    folder.parent.chmod(0o775)
    with pytest.raises(casync.errors.Unavailable, match=f"^{folder.parent} can be written by others.*chmod go-w"):
        native.cache_folder()
    folder.parent.chmod(0o1775)
    assert native.cache_folder() == folder


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
@pytest.mark.parametrize("theirs", ["folder", "above"])
def test_a_cache_of_another_user_is_replaced_by_one_in_the_temporary_folder(tmp_path, monkeypatch, caplog, theirs):
    folder, temporary = tmp_path / "project" / "casync", tmp_path / "temporary"
    folder.mkdir(parents=True, mode=0o700)
    temporary.mkdir(mode=0o700)
    os.chown(folder if theirs == "folder" else folder.parent, 12345, 12345)
    monkeypatch.setenv("CASYNC_CACHE_DIR", str(folder))
    monkeypatch.setenv("TMPDIR", str(temporary))
    spare = temporary / f"casync-cache-{os.geteuid()}"
    assert native.cache_folder() == native.cache_folder() == spare
    assert spare.stat().st_mode & 0o777 == 0o700
    assert len(caplog.records) == 1 and f"is {spare}: " in caplog.text and "belongs to user 12345" in caplog.text
    temporary.chmod(0o777)
    with pytest.raises(casync.errors.Unavailable, match=f"belongs to user 12345.*{temporary} can be written by others"):
        native.cache_folder()


def test_a_library_that_came_with_the_package_needs_no_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(native, "BUILT", tmp_path)
    monkeypatch.setenv("CASYNC_CACHE_DIR", str(tmp_path / "file" / "casync"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "none"))
    (tmp_path / "file").write_text("")
    library = tmp_path / plugin().file_name()
    library.write_text("")
    assert plugin().find() == library
    library.unlink()
    with pytest.raises(casync.errors.Unavailable, match="file/casync: cannot be made: .*none is not a folder"):
        plugin().find()


def test_a_cache_that_cannot_be_made_is_replaced_by_one_in_the_temporary_folder(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CASYNC_CACHE_DIR", str(tmp_path / "file" / "casync"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert native.cache_folder() == tmp_path / f"casync-cache-{os.geteuid()}"
