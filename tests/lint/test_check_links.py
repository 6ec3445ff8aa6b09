# SPDX-License-Identifier: Apache-2.0
"""tools/check_links.py on small made-up pages: it finds links to files and headings that do not exist."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
from check_links import check  # noqa: E402


def faults_of(root, pages):
    for name, text in pages.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return check(root)


def test_links_to_files_and_headings_are_accepted(tmp_path):
    pages = {
        "README.md": "[a](docs/a.md) [b](docs/a.md#one-more-word) [c](src/) [d](#here) [e](https://x.org/y)\n# Here",
        "docs/a.md": "# A\n## One more `word`\n[up](../README.md#here)",
        "src/x.cc": "",
    }
    assert faults_of(tmp_path, pages) == []


def test_a_missing_file_is_named_with_its_line(tmp_path):
    assert faults_of(tmp_path, {"docs/a.md": "text\n[b](b.md)"}) == ["docs/a.md:2: b.md: no such file"]


def test_a_missing_heading_is_named(tmp_path):
    pages = {"a.md": "[b](b.md#old) [c](#old)", "b.md": "# New"}
    assert faults_of(tmp_path, pages) == ["a.md:1: b.md#old: no such heading", "a.md:1: #old: no such heading"]


def test_a_page_outside_of_the_contents_is_named(tmp_path):
    pages = {"docs/a.md": "", "docs/b.md": "", "docs/site/nav.txt": "Start\n  docs/a.md\n", "docs/site/c.md": "", "d.md": ""}
    assert faults_of(tmp_path, pages) == ["docs/b.md: docs/site/nav.txt does not name it"]


def test_a_repeated_heading_has_a_number(tmp_path):
    pages = {"a.md": "# Same\n# Same\n[1](#same) [2](#same-1) [3](#same-2)"}
    assert faults_of(tmp_path, pages) == ["a.md:3: #same-2: no such heading"]


def test_code_has_neither_links_nor_headings(tmp_path):
    pages = {"a.md": "`[&](int x)` [b](#comment)\n```\n# Comment\n[x](y.md)\n```"}
    assert faults_of(tmp_path, pages) == ["a.md:1: #comment: no such heading"]
