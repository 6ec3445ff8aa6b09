# SPDX-License-Identifier: Apache-2.0
"""No type and no constant of a header has the name of another one in the same namespace: two that meet in one program
are one to the linker, which takes either (the one definition rule), and no compiler says so."""
import re
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from source_files import source_files  # noqa: E402

IGNORED = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<mark>\w*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|'
    r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*",
    re.DOTALL | re.MULTILINE,
)
NAMESPACE = re.compile(r"\bnamespace\s*([\w:]*)\s*$")
TYPE = re.compile(
    r"(?:template\s*<.*>\s*)?(?:class|struct|union|enum(?:\s+class)?)\s+(?:\[\[.*?\]\]\s*)?"
    r"(\w+(?:\s*<[^{]*?>)?)\s*(?:final)?\s*(?::[^:].*)?$",
    re.DOTALL,
)
CONSTANT = re.compile(r"(?:(?:inline|constexpr|const)\s+)+[^=(;]*?\b(\w+)(?:\[\w*\])?\s*(?:=|$)")


def definitions(text, is_header):
    """The full names of the types, and of a header's constants, that other files can see."""
    scopes = []  # of each open brace: the namespace's name, or None where nothing can be seen from outside
    head = ""
    for sign in IGNORED.sub(" ", text):
        if sign not in "{};":
            head += sign
            continue
        head, words = "", head.strip()
        namespace = NAMESPACE.search(words)
        visible = None not in scopes
        found = TYPE.match(words) if sign == "{" else None
        if found is None and is_header and sign != "}" and not namespace:
            found = CONSTANT.match(words)
        if visible and found:
            yield "::".join([*filter(None, scopes), re.sub(r"\s", "", found.group(1))])
        if sign == "{":
            named = namespace.group(1) or None if namespace else None
            scopes.append("" if words.endswith("extern") else named)
        elif sign == "}" and scopes:
            scopes.pop()


def twice(files):
    """`files`: name -> text. "name: file, file" for each name that several files define."""
    places = defaultdict(set)
    for name, text in files.items():
        for defined in definitions(text, name.endswith(".h")):
            places[defined].add(name)
    return [f"{name}: {', '.join(sorted(where))}" for name, where in sorted(places.items()) if len(where) > 1]


def test_the_sources_define_each_name_once():
    files = {f.relative_to(ROOT).as_posix(): f.read_text() for f in source_files(ROOT)}
    assert len(files) > 100
    assert twice(files) == []


def test_two_types_or_constants_of_one_name_are_reported():
    one = "namespace a {\nnamespace b { class Hub final : public X { int f() { return 1; } }; } constexpr int kN = 3; }"
    other = "#define X {\nnamespace a::b { /* class */ struct Hub { }; }\nnamespace a { inline constexpr int kN{4}; }"
    assert twice({"x.h": one, "y.h": other}) == ["a::b::Hub: x.h, y.h", "a::kN: x.h, y.h"]


def test_names_that_no_other_file_sees_are_free():
    hidden = "namespace a { namespace { struct Case {}; } class Hub; void f() { struct Local {}; } constexpr int kN = 1; }"
    assert twice({"x.cc": hidden, "y.cc": hidden}) == []
    assert twice({"x.h": "namespace a { struct S {}; }", "y.h": "namespace b { struct S {}; struct T { struct S {}; }; }"}) == []
