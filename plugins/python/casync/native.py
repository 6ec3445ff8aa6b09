# SPDX-License-Identifier: Apache-2.0
"""Native parts of the plugins: compiled against the framework that is installed, because its C++ interface differs from
release to release. One shared library per framework, kept beside this package or in the cache."""

from __future__ import annotations

import ctypes
import fcntl
import functools
import hashlib
import logging
import os
import pathlib
import platform
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from typing import TYPE_CHECKING

from casync import _library, errors

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TextIO

_log = logging.getLogger("casync")
_PACKAGE = pathlib.Path(__file__).parent
SOURCES = _PACKAGE / "sources"  # as in the source tree: plugins/...
BUILT = _PACKAGE / "lib" / "plugins"  # what the build of this package has compiled
COMPILE_S = 900.0  # TensorFlow's headers take a minute of a fast processor
_UNMAPPED = 65534  # owner of files whose user, mostly root, a container does not know
_FLAGS = ("-std=c++17", "-O2", "-DNDEBUG", "-fPIC", "-shared", "-fvisibility=hidden", "-fvisibility-inlines-hidden")


class Plugin:
    """The build of one framework's library. `sources` are relative to SOURCES; `version` is the framework's;
    `includes` are folders; `flags` go to the compiler and `link` to the linker."""

    def __init__(
        self,
        name: str,
        version: str,
        sources: Iterable[str],
        includes: Iterable[str],
        flags: Iterable[str],
        link: Iterable[str],
    ) -> None:
        self.name, self.version = name, version
        self.sources = [SOURCES / source for source in ("plugins/native/flights.cc", *sources)]
        self.includes, self.flags, self.link = list(includes), list(flags), list(link)

    def file_name(self) -> str:
        """Names everything that the library depends on, so that a change of any makes another file."""
        digest = hashlib.sha256()
        for source in [*self.sources, SOURCES / "plugins/native/flights.h", SOURCES / "plugins/c_api/casync.h"]:
            digest.update(source.read_bytes())
        for word in [self.version, platform.machine(), *_FLAGS, *self.flags, *_compiler()]:
            digest.update(word.encode() + b"\0")
        return f"casync_{self.name}-{digest.hexdigest()[:24]}.so"

    def find(self) -> pathlib.Path | None:
        """The compiled library's path, or None."""
        name = self.file_name()
        if (BUILT / name).is_file():
            return BUILT / name
        path = cache_folder() / name
        return path if path.is_file() else None

    def build(self, folder: str | os.PathLike[str] | None = None) -> pathlib.Path:
        """Compiles, unless that has been done, and returns the path. Of several processes one does it. Raises
        CompileError with what the compiler said, Unavailable without a compiler, and Timeout if it or another process
        that compiles has not ended after COMPILE_S."""
        folder = pathlib.Path(folder or cache_folder())
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / self.file_name()
        with open(folder / f"casync_{self.name}.lock", "w") as lock:
            _lock(lock)
            if not path.is_file():
                self._compile(path)
        return path

    def path(self) -> str:
        """The library's path, ready to be loaded; compiled first where it is missing."""
        _library.load()  # the plugin's library needs it, and the loader takes the one that is there
        return str(self.find() or self.build())

    def _compile(self, path: pathlib.Path) -> None:
        compiler = _compiler()
        if not compiler:
            raise errors.Unavailable(
                f"casync.{self.name} compiles {len(self.sources)} files against the installed {self.name}, once, and there "
                "is no C++ compiler: install g++, or set CXX"
            )
        with tempfile.TemporaryDirectory(dir=path.parent) as work:
            made = f"{work}/{path.name}"
            command = [
                *compiler, *_FLAGS, *self.flags, f"-I{SOURCES}", *(f"-isystem{folder}" for folder in self.includes),
                *map(str, self.sources), "-o", made, f"-L{_PACKAGE / 'lib'}", "-l:libcasync.so", *self.link,
                f"-Wl,--version-script={SOURCES / 'plugins/native/plugin.map'}", "-Wl,--no-undefined", "-lpthread",
            ]  # fmt: skip
            code, said = _run(command)
            if code != 0:
                raise errors.CompileError(
                    f"casync.{self.name} does not compile against {self.name} {self.version}:\n"
                    f"{' '.join(command)}\n{said[-4000:]}"
                )
            os.replace(made, path)


def load(path: str) -> ctypes.CDLL:
    """The plugin's library through ctypes."""
    library, ours = ctypes.CDLL(path), _library.load().casync_abi_version()
    library.casync_plugin_abi_version.restype = ctypes.c_uint32
    if library.casync_plugin_abi_version() != ours:
        raise errors.Unavailable(
            f"{path} was built for version {library.casync_plugin_abi_version()} of the C interface and libcasync.so has "
            f"{ours}: remove the file"
        )
    library.casync_plugin_attach.argtypes = [ctypes.c_void_p]
    library.casync_plugin_detach.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t]
    library.casync_plugin_detach.restype = ctypes.c_int
    library.casync_plugin_in_flight.argtypes = [ctypes.c_int]
    library.casync_plugin_in_flight.restype = ctypes.c_size_t
    return library


def _lock(file: TextIO) -> None:
    """Waits for the process that holds the lock, which compiles."""
    deadline = time.monotonic() + COMPILE_S
    while True:
        try:
            return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise errors.Timeout(
                    f"another process has held {file.name} for {COMPILE_S:g} s: it compiles, or was stopped meanwhile"
                ) from None
        time.sleep(0.05)


def _run(command: list[str]) -> tuple[int, str]:
    """Runs the compiler. Returns its exit code and what it said. One that is late is ended with all that it started."""
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True,
        encoding="utf-8", errors="replace",
    ) as compiler:  # fmt: skip
        try:
            _, said = compiler.communicate(timeout=COMPILE_S)
        except BaseException as end:  # Ctrl-C, too, which a session of its own does not hear
            os.killpg(compiler.pid, signal.SIGKILL)
            if isinstance(end, subprocess.TimeoutExpired):
                raise errors.Timeout(f"{command[0]} has not ended after {COMPILE_S:g} s and was killed") from None
            raise
        return compiler.returncode, said


def detach(library: ctypes.CDLL, number: int) -> None:
    """Takes a session that has ended away from the plugin's operations. Timeout: some of them have not ended, and use it
    and their gradients' memory, so nothing of it may be freed; another call looks again."""
    message = ctypes.create_string_buffer(512)
    status = library.casync_plugin_detach(number, message, len(message))
    if status != 0:
        raise errors.from_status(status, message.value.decode())


@functools.lru_cache(maxsize=None)
def _compiler() -> tuple[str, ...]:
    """The command that compiles C++, as a tuple; () without one."""
    wanted = os.environ.get("CXX", "").split()
    for command in [wanted] if wanted else [["g++"], ["c++"], ["clang++"]]:
        if shutil.which(command[0]):
            return tuple(command)
    return ()


def cache_folder() -> pathlib.Path:
    """The folder for the libraries, the same as for compiled codecs: that of the environment, or, where it cannot be used,
    one in the folder for temporary files; a warning says so, once. Missing folders are made for this user alone.
    Unavailable: others may write to both, or replace them."""
    wanted = os.environ.get("CASYNC_CACHE_DIR")
    if not wanted:
        cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        wanted = os.path.join(cache, "casync")
    try:
        return _own_folder(pathlib.Path(wanted).absolute())
    except errors.Unavailable as error:
        reason = str(error)
    spare = _spare_folder(reason)
    _warn_once(f"the cache of native parts is {spare}: {reason}")
    return spare


def _spare_folder(reason: str) -> pathlib.Path:
    """The cache of a user who cannot use the wanted folder. Nothing is made where others could replace it."""
    temporary = pathlib.Path(os.environ.get("TMPDIR") or "/tmp").absolute()
    folder = temporary / f"casync-cache-{os.geteuid()}"
    try:
        if not temporary.is_dir():
            raise errors.Unavailable(f"{temporary} is not a folder")
        _check_ways(folder)
        return _own_folder(folder)
    except errors.Unavailable as error:
        raise errors.Unavailable(f"{reason}, and {error}") from None


def _own_folder(folder: pathlib.Path) -> pathlib.Path:
    """Makes a folder that is missing, and checks that no other user can replace it or what is in it."""
    try:
        for missing in reversed([each for each in (folder, *folder.parents) if not each.exists()]):
            missing.mkdir(mode=0o700, exist_ok=True)
        state = folder.lstat()
    except OSError as error:
        raise errors.Unavailable(f"{folder}: cannot be made: {error.strerror or error}") from None
    if not stat.S_ISDIR(state.st_mode):
        raise errors.Unavailable(f"{folder} is not a folder")
    if state.st_uid != os.geteuid():
        raise errors.Unavailable(f"{folder} belongs to user {state.st_uid}, and libraries are loaded from it")
    if state.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise errors.Unavailable(f"{folder} can be written by others, and libraries are loaded from it: chmod go-w {folder}")
    _check_ways(folder)
    return folder


def _check_ways(folder: pathlib.Path) -> None:
    """Checks that no other user can replace a folder above this one: its owner and its writers can."""
    others = stat.S_IWGRP | stat.S_IWOTH  # of the next one above; further up a group is trusted
    for above in folder.resolve().parents:
        state = above.stat()
        if state.st_uid not in (os.geteuid(), 0, _UNMAPPED):
            raise errors.Unavailable(f"{above} belongs to user {state.st_uid}, who could replace {folder}")
        if state.st_mode & others and not state.st_mode & stat.S_ISVTX:
            raise errors.Unavailable(f"{above} can be written by others, who could replace {folder}: chmod go-w {above}")
        others = stat.S_IWOTH


@functools.lru_cache(maxsize=None)
def _warn_once(message: str) -> None:
    _log.warning("%s", message)
