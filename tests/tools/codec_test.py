# SPDX-License-Identifier: Apache-2.0
"""Codecs from files: compiled when they are asked for, and kept in a cache."""
import fcntl
import json
import os
import subprocess
import time
from pathlib import Path

from codec_place import Place
from command import TOOL, casync, claim, ends_with, run_all


def test_a_codec_is_compiled_once_and_then_found():
    with Place() as place:
        first = place.comes_out_well(1, "a cold cache")
        claim(place.entry().stat().st_mode & 0o077 == 0, "the entry is this user's alone")
        again = place.comes_out_well(1, "a warm cache")
        claim(first.stdout == again.stdout and again.stderr == "", "nothing else changes", again.stderr)
        claim([p.name for p in place.cache.iterdir()] == [place.entry().name], "nothing is left beside the entry",
              *place.cache.iterdir())
        place.file.write_text(place.file.read_text() + "// edited\n")
        edited = place.comes_out_well(2, "an edited file")
        claim(json.loads(edited.stdout)["program"] != json.loads(first.stdout)["program"], "its digest is another one")


def test_eight_processes_compile_once():
    with Place() as place:
        environment = {**os.environ, **place.environment()}
        processes = [
            subprocess.Popen([TOOL, "codec", "info", place.file], env=environment, text=True, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
            for _ in range(8)
        ]  # fmt: skip
        for process in processes:
            out, err = process.communicate(timeout=200)
            claim(process.returncode == 0 and out.startswith("mine: ") and err == "", "each has the codec", out, err)
        claim(place.calls() == 1, "one of them compiled it", place.calls())
        claim(len(list(place.cache.iterdir())) == 1, "nothing is left beside the entry", *place.cache.iterdir())


def test_an_entry_that_is_not_as_it_was_made_is_made_again():
    with Place() as place:
        place.comes_out_well(1, "a cold cache")
        entry = place.entry()
        whole = entry.read_bytes()
        spoilt = {
            "cut off": whole[: len(whole) // 2],
            "empty": b"",
            "a changed byte": whole[:5000] + bytes([whole[5000] ^ 1]) + whole[5001:],
        }
        calls = 1
        for what, content in spoilt.items():
            entry.write_bytes(content)
            calls += 1
            place.comes_out_well(calls, what)
        entry.chmod(0o722)
        place.comes_out_well(calls + 1, "writable by others")
        place.comes_out_well(calls + 1, "and then it is well again")


def test_a_link_in_the_place_of_an_entry_is_not_followed():
    with Place() as place:
        place.comes_out_well(1, "a cold cache")
        mark, trap = place.path / "mark", place.path / "trap.so"
        source = place.path / "trap.c"
        source.write_text(
            '#include <stdio.h>\n__attribute__((constructor)) static void run(void) { fclose(fopen("%s", "w")); }\n' % mark
        )
        subprocess.run(["cc", "-shared", "-fPIC", source, "-o", trap], check=True)
        entry = place.entry()
        entry.unlink()
        entry.symlink_to(trap)
        place.comes_out_well(2, "a link")
        claim(not mark.exists(), "what the link leads to was not loaded")
        claim(not entry.is_symlink() and trap.exists(), "the link was replaced, not what it leads to")


def refused_caches(place):
    """Folders that cannot be the cache."""
    (place.path / "elsewhere").mkdir()
    (place.path / "link").symlink_to(place.path / "elsewhere")
    (place.path / "shared").mkdir()
    (place.path / "shared").chmod(0o777)
    return [str(place.path / each) for each in ("link", "shared", "mine.cll", "mine.cll/below")]


def test_a_cache_that_cannot_be_used_is_replaced_by_one_in_the_temporary_folder():
    with Place() as place:
        spare = place.temporary / f"casync-cache-{os.geteuid()}"
        for folder in refused_caches(place):
            result = place.comes_out_well(1, folder, CASYNC_CACHE_DIR=folder)
            claim(result.stderr.count(f"is {spare}: {folder}") == 1, "a warning names both, once", result.stderr)
        claim(list(place.temporary.iterdir()) == [spare], "nothing is left beside it", *place.temporary.iterdir())
        claim(not list((place.path / "elsewhere").iterdir()), "nothing was written behind the link")


def test_caches_that_cannot_be_used_are_done_without():
    with Place() as place:
        spare = place.temporary / f"casync-cache-{os.geteuid()}"
        spare.write_text("")
        for calls, folder in enumerate(refused_caches(place), 1):
            result = place.comes_out_well(calls, folder, CASYNC_CACHE_DIR=folder)
            claim(folder in result.stderr and f"{spare} is not a folder" in result.stderr, "a warning names both",
                  result.stderr)
            claim(result.stderr.count("cannot be used") == 1, "once", result.stderr)
        claim(list(place.temporary.iterdir()) == [spare], "nothing is left of it", *place.temporary.iterdir())


def test_a_temporary_folder_that_others_may_write_to_is_not_used():
    with Place() as place:
        place.temporary.chmod(0o777)
        result = place.info(CASYNC_CACHE_DIR=str(place.path / "mine.cll/below"))
        ends_with(1, result, "neither a cache nor a temporary folder")
        claim(f"{place.temporary} can be written by others" in result.stderr, "it is named", result.stderr)
        claim(place.calls() == 0 and not list(place.temporary.iterdir()), "nothing was made there", result.stderr)
        place.temporary.chmod(0o1777)
        place.comes_out_well(1, "with the sticky bit", CASYNC_CACHE_DIR=str(place.path / "mine.cll/below"))


def test_without_a_compiler_it_is_said_and_built_in_codecs_work():
    with Place() as place:
        env = {"CASYNC_CACHE_DIR": str(place.cache), "PATH": str(place.temporary), "CXX": ""}
        result = casync("codec", "info", place.file, env=env)
        ends_with(1, result, "no compiler")
        for word in (str(place.file), "c++, g++, clang++", "apt-get install g++", "CXX"):
            claim(word in result.stderr, f"it says {word}", result.stderr)
        ends_with(0, casync("codec", "info", "int4", env=env), "a built-in codec")


def test_a_broken_compiler_is_named_with_what_it_said():
    with Place() as place:
        broken = place.compiler("broken", 'echo "I am broken" >&2\nexit 1')
        result = place.info(**broken)
        ends_with(3, result, "a compiler that fails")
        for word in (str(place.file), broken["CXX"], "ended with 1", "I am broken"):
            claim(word in result.stderr, f"it says {word}", result.stderr)
        text = Path(result.stderr.split("the text is ")[1].strip())
        claim("generated_mine" in text.read_text(), "the text is kept", text)
        place.comes_out_well(1, "a good compiler afterwards")

        garbage = place.compiler("garbage", 'while [ $# -gt 1 ]; do shift; done\necho garbage > "$1"')
        result = place.info(**garbage)
        ends_with(3, result, "a compiler that makes garbage")
        for word in (str(place.file), garbage["CXX"], "ended well, but what it made cannot be loaded", "the text is "):
            claim(word in result.stderr, f"it says {word}", result.stderr)
        claim("warning" not in result.stderr, "it is no fault of the cache", result.stderr)

        # To load it would end the process: what is to be mapped is not there.
        cut = place.compiler("cut", f'{place.path}/compiling "$@" || exit 1\n'
                                    'while [ $# -gt 1 ]; do shift; done\ntruncate -s 9000 "$1"')
        result = place.info(**cut)
        ends_with(3, result, "a compiler that makes half a file")
        claim("what it made cannot be loaded: it is cut off after" in result.stderr, "it is said", result.stderr)

        nothing = place.compiler("nothing", "exit 0")
        result = place.info(**nothing)
        ends_with(3, result, "a compiler that makes nothing")
        claim("no such file" in result.stderr, "it is said", result.stderr)


def test_a_compiler_that_crashes_is_tried_again_once():
    with Place() as place:
        crash = f"echo tried >> {place.path}/tries\necho \"I crash\" >&2\nkill -11 $$"
        crashing = place.compiler("crashing", crash)
        result = place.info(**crashing)
        ends_with(3, result, "a compiler that crashes")
        for word in (str(place.file), crashing["CXX"], "was ended by signal 11 (Segmentation fault), twice", "I crash"):
            claim(word in result.stderr, f"it says {word}", result.stderr)
        claim((place.path / "tries").read_text() == "tried\n" * 2, "it was tried twice")

        # As g++ says it when a signal ends its cc1plus.
        words = "g++: fatal error: Killed signal terminated program cc1plus"
        for name, end in (("once", "kill -9 $$"), ("once_inside", f'echo "{words}" >&2; exit 1')):
            once = place.compiler(name, f'[ -e {place.path}/{name}.mark ] || {{ touch {place.path}/{name}.mark; {end}; }}\n'
                                        f'exec {place.path}/counting "$@"')
            place.file.write_text(place.file.read_text() + f"// {name}\n")
            ends_with(0, place.info(**once), "a compiler that crashes once")
        claim(place.calls() == 2, "the second try made it", place.calls())


def test_a_compiler_that_hangs_is_ended():
    with Place() as place:
        hanging = place.compiler("hanging", 'echo "I hang" >&2\nsleep 1000')
        result = place.info(**hanging, CASYNC_COMPILE_SEC="0.5")
        ends_with(4, result, "a compiler that hangs")
        for word in (hanging["CXX"], "not ready after 0.5 s (CASYNC_COMPILE_SEC)", "I hang"):
            claim(word in result.stderr, f"it says {word}", result.stderr)


def test_nobody_waits_for_another_longer_than_for_a_compiler():
    with Place() as place:
        place.comes_out_well(1, "a cold cache")
        entry = place.entry()
        entry.unlink()
        with open(entry.with_suffix(".lock"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            place.comes_out_well(2, "a lock that nobody gives back", CASYNC_COMPILE_SEC="5")


def test_mistakes_have_their_place_and_files_are_not_listed():
    with Place() as place:
        place.file.write_text(place.file.read_text().replace("spread(scale", "spraed(scale", 1))
        for command in ("info", "check"):
            result = casync("codec", command, place.file, env=place.environment())
            ends_with(3, result, f"codec {command} of a program with a mistake")
            claim(f"{place.file}:12:32: error: there is no function `spraed`" in result.stderr, "its place",
                  result.stderr)
            claim("^~~~~~" in result.stderr and "did you mean `spread`" in result.stderr, "a caret and a hint", result.stderr)
        ends_with(3, casync("codec", "check", "nowhere.cll"), "no such file")
        claim(".cll" not in casync("codec", "list").stdout, "files are not listed")


def test_two_files_are_one_codec():
    with Place() as place:
        text = place.file.read_text()
        encode, decode = text[: text.index("void decode")], text[text.index("void decode") :]
        (place.path / "mineEncode.pse").write_text(encode)
        (place.path / "mineDecode.pse").write_text(decode)
        both = f"{place.path}/mineEncode.pse+{place.path}/mineDecode.pse"
        result = casync("codec", "info", both, "block=32", "--json", env=place.environment(), timeout=120)
        ends_with(0, result, "two files")
        claim(json.loads(result.stdout)["block"] == 32, "its parameter", result.stdout)
        alone = casync("codec", "info", place.path / "mineEncode.pse", env=place.environment(), timeout=120)
        ends_with(3, alone, "one of two files")
        claim("there is no `void decode(uint8* compressed, float* gradient)`" in alone.stderr, "it says so", alone.stderr)


def test_leftovers_of_a_killed_compilation_are_removed_an_hour_later():
    with Place() as place:
        place.comes_out_well(1, "a cold cache")
        digest = place.entry().stem
        left = [place.cache / f"{digest}.4711.0.cc", place.cache / f"{digest}.4711.0.so", place.cache / "0.lock"]
        fresh, folder = place.cache / f"{digest}.4712.0.cc", place.temporary / "casync-codec-Abcdef"
        folder.mkdir()
        for path in [*left, fresh]:
            path.write_text("half")
        long_ago = time.time() - 30 * 3600
        for path in [*left, folder]:
            os.utime(path, (long_ago, long_ago))
        place.file.write_text(place.file.read_text() + "// edited\n")
        place.comes_out_well(2, "another compilation")
        claim(not any(path.exists() for path in left), "what is old is gone", *place.cache.iterdir())
        claim(fresh.exists() and place.entry_count() == 2, "what may be under way stays", *place.cache.iterdir())
        (place.path / "shared").mkdir(mode=0o777)
        (place.path / "shared").chmod(0o777)
        (place.temporary / f"casync-cache-{os.geteuid()}").write_text("")
        place.comes_out_well(3, "no cache", CASYNC_CACHE_DIR=str(place.path / "shared"))
        claim(not folder.exists(), "nor is the folder of a process that is gone", *place.temporary.iterdir())


def test_a_full_disc_is_as_one_that_cannot_be_written():
    with Place() as place:
        full = place.compiler("full", f"""case "$*" in
  *{place.cache}*) echo "ld: final link failed: No space left on device" >&2; exit 1;;
  *) exec {place.path}/compiling "$@";;
esac""")
        result = place.info(**full)
        ends_with(0, result, "a full cache")
        claim("there is no room" in result.stderr and str(place.cache) in result.stderr, "it is said", result.stderr)
        claim(not list(place.temporary.iterdir()), "nothing is left", *place.temporary.iterdir())


def test_a_folder_above_the_cache_that_others_may_write_to():
    with Place() as place:
        above = place.path / "above"
        (above / "mine").mkdir(parents=True)
        above.chmod(0o777)
        result = place.comes_out_well(1, "a cache below", CASYNC_CACHE_DIR=str(above / "mine/cache"))
        claim(f"{above} can be written by others" in result.stderr, "it is named", result.stderr)
        above.chmod(0o1777)
        result = place.comes_out_well(2, "with the sticky bit", CASYNC_CACHE_DIR=str(above / "mine/cache"))
        claim(result.stderr == "", "is taken", result.stderr)


run_all(globals())
