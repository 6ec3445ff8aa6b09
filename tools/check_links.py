#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Refuses a link of a Markdown page that leads to no file, or to no heading of a page, and a page of docs/ that the
site's contents, docs/site/nav.txt, do not name. Links to the web are not tried.

usage: check_links.py [ROOT]   prints page, line and link; exit code 1 if there are any
"""
import re
import sys
from pathlib import Path

from source_files import source_files

LINK = re.compile(r"\]\(([^)\s]+)\)")
WEB = re.compile(r"[a-z]+:")
# Pages that tools/make_docs moves; building the site checks their links.
MOVED = Path("docs/site")


def lines_outside_code(text):
    """Yields (number, line) of each line that lies in no block between ``` and ```."""
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            inside = not inside
        elif not inside:
            yield number, line


def anchors(text):
    """The anchors of a page's headings, as GitHub makes them; a repeated heading gets -1, -2, ..."""
    found = []
    for _, line in lines_outside_code(text):
        if re.match(r"#+ ", line):
            words = re.sub(r"[^\w\- ]", "", line.lstrip("#").strip().lower()).replace(" ", "-")
            same = sum(1 for each in found if re.fullmatch(re.escape(words) + r"(-\d+)?", each))
            found.append(f"{words}-{same}" if same else words)
    return set(found)


def fault(page, target, pages):
    """Returns the reason why a link of `page` leads nowhere, or None. `pages` has the anchors of each page."""
    name, _, anchor = target.partition("#")
    path = (page.parent / name).resolve() if name else page
    if not path.exists():
        return "no such file"
    if anchor and path in pages and anchor not in pages[path]:
        return "no such heading"
    return None


def outside_contents(root):
    """The pages that lie in docs/ and are not among the site's contents, if there is a site."""
    contents = root / MOVED / "nav.txt"
    named = contents.read_text().split() if contents.exists() else None
    pages = [f"docs/{page.name}" for page in sorted((root / "docs").glob("*.md"))]
    return [page for page in pages if named is not None and page not in named]


def check(root):
    root = Path(root).resolve()
    files = [path.resolve() for path in source_files(root, (".md",))]
    pages = {path: anchors(path.read_text()) for path in files}
    faults = [f"{page}: docs/site/nav.txt does not name it" for page in outside_contents(root)]
    for page in (page for page in files if root / MOVED not in page.parents):
        for number, line in lines_outside_code(page.read_text()):
            for target in LINK.findall(re.sub(r"`[^`]*`", "", line)):
                why = None if WEB.match(target) else fault(page, target, pages)
                if why:
                    faults.append(f"{page.relative_to(root)}:{number}: {target}: {why}")
    return faults


def main(arguments):
    faults = check(Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent)
    print("\n".join(faults) or "all links lead somewhere")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
