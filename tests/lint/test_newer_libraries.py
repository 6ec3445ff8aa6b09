# SPDX-License-Identifier: Apache-2.0
"""Sources compile with newer libraries than those of Debian 12, as far as a text shows it."""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from source_files import source_files  # noqa: E402


def faults(text):
    """fmt 11 has join() in another header than fmt 9, and Protocol Buffers 30 gives names as std::string_view."""
    if "fmt::join(" in text and "#include <fmt/ranges.h>" not in text:
        yield "fmt::join without <fmt/ranges.h>"
    if re.search(r"const std::string& \w+ = [^;]*FindFieldByNumber\(\w+\)->name\(\)", text):
        yield "a reference to a string that is a view"
    if re.search(r"(?<!std::string\()[\w:]+::descriptor\(\)->FindFieldByNumber\(\w+\)->name\(\) \+|"
                 r"\+ [\w:]+::descriptor\(\)->FindFieldByNumber\(\w+\)->name\(\)", text):  # fmt: skip
        yield "a sum of a string and a view"


def test_the_sources_do():
    found = {str(file.relative_to(ROOT)): list(faults(file.read_text(encoding="utf-8"))) for file in source_files(ROOT)}
    assert {file: each for file, each in found.items() if each} == {}


def test_faults_are_found():
    assert list(faults('#include <fmt/format.h>\nfmt::join(a, ", ")')) == ["fmt::join without <fmt/ranges.h>"]
    assert list(faults('#include <fmt/ranges.h>\nfmt::join(a, ", ")')) == []
    field = "Message::descriptor()->FindFieldByNumber(number)->name()"
    assert list(faults(f"const std::string& name = {field};")) == ["a reference to a string that is a view"]
    assert list(faults(f'"no " + {field} + ", expected"')) == ["a sum of a string and a view"]
    assert list(faults(f'"no " + std::string({field}) + ", expected"; const std::string name({field});')) == []
