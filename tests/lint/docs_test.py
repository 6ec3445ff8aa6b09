# SPDX-License-Identifier: Apache-2.0
"""The site builds without a warning, has all references, and is refused with a link that leads nowhere.

usage: docs_test.py TOOL   TOOL: the built command
"""
import importlib.machinery
import importlib.util
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOOL = Path(sys.argv[1])


def load():
    """tools/make_docs as a module, anew for each test."""
    loader = importlib.machinery.SourceFileLoader("make_docs", str(ROOT / "tools/make_docs"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("make_docs", loader))
    loader.exec_module(module)
    return module


def claim(holds, what, *seen):
    if not holds:
        print("NOT TRUE:", what, *seen, sep="\n  ")
        sys.exit(1)


def test_the_site_is_whole(folder):
    make_docs = load()
    make_docs.make_docs(TOOL, folder)
    version = subprocess.run([TOOL, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    site = folder / "html" / version
    claim((site / "index.html").exists(), "the site has the version of the command", list((folder / "html").iterdir()))
    for page, words in {
        "reference/python.html": ("casync.Session", "submit_memory", "casync.torch.State", "DistributedOptimizer"),
        "reference/c.html": ("casync_session_open", "CASYNC_PEER_FAILURE", "The last failure of this thread"),
        "reference/cpp.html": ("class Transport", "class Device", "class Codec", "class Session"),
        "searchindex.js": ("bucket_cap_mb", "casync_session_submit_each"),
    }.items():
        text = plain((site / page).read_text())
        for word in words:
            claim(word in text, f"{page} has {word}")
    command = (site / "reference/command.html").read_text()
    subcommands = make_docs.subcommands(make_docs.help_of(TOOL, []))
    claim(len(subcommands) >= 10, "the command has subcommands", subcommands)
    for name in subcommands:
        claim(f"casync {name}" in command, f"the reference has casync {name}")
    claim(f"{version}/index.html" in (folder / "html/index.html").read_text(), "the first page leads to the version")


def plain(page):
    """A page's text without tags, so that highlighted names are whole."""
    return re.sub(r"<[^>]*>", "", page)


def small_tree(folder, page):
    """A tree of one page, for make_docs to build."""
    tree = folder / "tree"
    shutil.copytree(ROOT / "docs/site", tree / "docs/site")
    (tree / "docs/site/nav.txt").write_text("Start\n  docs/one.md\n  docs/command.md\n  reference/command.md\n")
    (tree / "docs/command.md").write_text("# The command\n")
    (tree / "docs/one.md").write_text(page)
    (tree / "README.md").write_text("# CaSync\n\n[one](docs/one.md)\n")
    (tree / "plugins/python/casync").mkdir(parents=True)
    (tree / "plugins/python/casync/__init__.py").write_text("")
    (tree / ".venv").symlink_to(ROOT / ".venv")
    shutil.copy(ROOT / "CMakeLists.txt", tree)
    make_docs = load()
    make_docs.ROOT, make_docs.SITE, make_docs.REFERENCES = tree, tree / "docs/site", ()
    make_docs.HEADERS = (str(ROOT / "plugins/c_api/casync.h"),)
    return make_docs, tree


def is_refused(make_docs, folder):
    try:
        make_docs.make_docs(TOOL, folder / "out")
    except SystemExit as refusal:
        return str(refusal)
    return ""


def test_a_link_to_nowhere_is_refused(folder):
    make_docs, _ = small_tree(folder, "# One\n\n[two](two.md)\n")
    claim("Sphinx" in is_refused(make_docs, folder), "a link to a page that is not there is refused")


def test_a_link_to_a_heading_that_is_not_there_is_refused(folder):
    make_docs, _ = small_tree(folder, "# One\n\n[two](#two)\n")
    claim("Sphinx" in is_refused(make_docs, folder), "a link to a heading that is not there is refused")


def test_the_small_tree_is_accepted_without_such_a_link(folder):
    make_docs, _ = small_tree(folder, "# One\n\n[two](#two) and [the start](../README.md)\n\n## Two\n")
    claim(is_refused(make_docs, folder) == "", "the same tree with good links is accepted")


def test_a_page_outside_of_the_contents_is_refused(folder):
    make_docs, tree = small_tree(folder, "# One\n")
    (tree / "docs/two.md").write_text("# Two\n")
    claim("docs/two.md" in is_refused(make_docs, folder), "a page that nav.txt does not name is refused")


if shutil.which("doxygen") is None:
    sys.exit(77)
for name, test in list(globals().items()):
    if name.startswith("test_"):
        with tempfile.TemporaryDirectory(prefix="casync-test-") as work:
            test(Path(work))
        print("ok", name[5:].replace("_", " "))
