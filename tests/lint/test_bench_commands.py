# SPDX-License-Identifier: Apache-2.0
"""Commands of benchmarks and tests that pages name exist, with the options that they name."""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from source_files import source_files  # noqa: E402

SCRIPTS = [*ROOT.glob("tests/bench/*/*.py"), *ROOT.glob("tests/plugins/*.py"), ROOT / "tools/quick.py"]
BUILD_FILES = "\n".join(path.read_text(encoding="utf-8") for path in source_files(ROOT, ("CMakeLists.txt",)))
FUNCTIONS = "\n".join(path.read_text(encoding="utf-8") for path in ROOT.glob("cmake/*.cmake"))
TESTS = {path.stem for ending in ("cc", "py") for path in ROOT.glob(f"tests/**/*_test.{ending}")}


def commands(text):
    """The code of a page: what stands between backquotes, and indented lines."""
    yield from re.findall(r"`([^`]+)`", text)
    yield from re.findall(r"^    (\S.*)$", text, re.MULTILINE)


def script_of(word):
    """The script that a command's word names, by its path or by a name that no other one has."""
    found = [path for path in SCRIPTS if f"/{path.relative_to(ROOT)}".endswith(f"/{word}")]
    return found[0] if len(found) == 1 else None


def faults(text):
    for command in commands(text):
        words = command.split()
        scripts = [(word, script_of(word)) for word in words if word.endswith(".py")]
        for word, script in scripts:
            if script is None and word.startswith(("tests/bench/", "tests/plugins/")):
                yield f"{word}: no such script"
        if len(scripts) == 1 and scripts[0][1] is not None:
            source = scripts[0][1].read_text(encoding="utf-8")
            after = words[words.index(scripts[0][0]) :]
            for option in re.findall(r"(?<!\S)--[a-z][\w-]*", " ".join(after)):
                if f'"{option}"' not in source and option != "--help":
                    yield f"{scripts[0][0]}: no option {option}"
        for program in re.findall(r"(?<![\w/.])\w+_bench(?![\w/.])", command):
            if not re.search(rf"\b(casync_program|add_custom_target)\({program}\b", BUILD_FILES):
                yield f"{program}: no such program"
        if re.fullmatch(r"\w+_test", command) and command not in TESTS and f"function({command} " not in FUNCTIONS:
            yield f"{command}: no such test"


def test_pages_name_commands_that_exist():
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]
    found = [f"{page.relative_to(ROOT)}: {fault}" for page in pages for fault in faults(page.read_text(encoding="utf-8"))]
    assert found == []


def test_faults_are_found():
    assert list(faults("`planned.py build --rounds 2 --turns\n3`")) == ["planned.py: no option --rounds"]
    assert list(faults("    python tests/bench/none/run.py --x")) == ["tests/bench/none/run.py: no such script"]
    assert list(faults("`old_bench memory`, `gone_test`")) == ["old_bench: no such program", "gone_test: no such test"]
    assert list(faults("`codecs_bench --pairs`, `tests/bench/codecs/eager.py --rounds 3`, `session_fusion_test`")) == []
