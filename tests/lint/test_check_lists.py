# SPDX-License-Identifier: Apache-2.0
"""tools/check_lists.py on a small made-up tree: it finds the file that no build file names."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
from check_lists import check  # noqa: E402


def tree(root, files):
    (root / "cmake").mkdir()
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return check(root)


def test_a_file_is_named_from_its_folder_or_from_above(tmp_path):
    lists = {"a/CMakeLists.txt": "SOURCES x.cc deep/y.cc HEADERS x.h)", "b/CMakeLists.txt": "z.cc"}
    sources = dict.fromkeys(("a/x.cc", "a/x.h", "a/deep/y.cc", "b/z.cc"), "")
    assert tree(tmp_path, {**lists, **sources}) == []


def test_a_loop_over_tests_names_them_by_their_words(tmp_path):
    lists = {"a/CMakeLists.txt": "foreach(x IN ITEMS one two)\n f(${x}_test.cc)"}
    sources = dict.fromkeys(("a/one_test.cc", "a/two_test.cc", "a/three_test.cc"), "")
    assert tree(tmp_path, {**lists, **sources}) == ["a/three_test.cc: named in no CMakeLists.txt"]


def test_a_python_test_is_named_as_others_are_and_its_helpers_are_not(tmp_path):
    lists = {"tests/a/CMakeLists.txt": "f(test_x.py)\nforeach(x IN ITEMS one)\n f(${x}_test.py)"}
    names = ("test_x.py", "test_y.py", "one_test.py", "two_test.py", "helper.py")
    found = tree(tmp_path, {**lists, **{f"tests/a/{name}": "" for name in names}, "tools/test_z.py": ""})
    assert [line.split(":")[0] for line in found] == ["tests/a/test_y.py", "tests/a/two_test.py"]


def test_a_file_of_elsewhere_is_named_from_the_root(tmp_path):
    lists = {"b/CMakeLists.txt": "${PROJECT_SOURCE_DIR}/a/x.cc", "cmake/M.cmake": "${PROJECT_SOURCE_DIR}/a/y.cc"}
    assert tree(tmp_path, {**lists, "a/x.cc": "", "a/y.cc": ""}) == []


def test_headers_are_named_where_they_make_a_library(tmp_path):
    headers = dict.fromkeys(("base/x.h", "base/x-inl.h", "tests/base/x.h", "tools/x.h"), "")
    assert tree(tmp_path, headers) == ["base/x.h: named in no CMakeLists.txt"]


def test_a_glob_names_what_it_finds_unless_a_nearer_build_file_has_the_folder(tmp_path):
    lists = {"a/CMakeLists.txt": "file(GLOB natives RELATIVE x\n  CONFIGURE_DEPENDS ${framework}/*.cc)", "a/own/CMakeLists.txt": ""}
    sources = dict.fromkeys(("a/b/x.cc", "a/own/x.cc", "a/b/deep/x.cc", "a/x.cc", "a/b/x.c"), "")
    found = [line.split(":")[0] for line in tree(tmp_path, {**lists, **sources})]
    assert found == ["a/b/deep/x.cc", "a/b/x.c", "a/own/x.cc", "a/x.cc"]


def test_a_file_that_is_not_named_is_reported(tmp_path):
    assert tree(tmp_path, {"a/CMakeLists.txt": "x.cc", "a/x.cc": "", "a/y.cc": ""}) == [
        "a/y.cc: named in no CMakeLists.txt"
    ]


def test_a_longer_name_does_not_count_for_a_shorter_one(tmp_path):
    assert len(tree(tmp_path, {"a/CMakeLists.txt": "big_x.cc x.cc.in deep/x.cc", "a/x.cc": ""})) == 1


def test_a_built_file_is_not_a_source(tmp_path):
    assert tree(tmp_path, {"CMakeLists.txt": "", "build/x.cc": "", ".deps/x.h": ""}) == []
