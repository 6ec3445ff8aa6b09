# SPDX-License-Identifier: Apache-2.0
"""The report's page after its scripts have run, in Node.js and on the document of report/document.js."""
import json
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

from command import claim

NODE = shutil.which("node") or shutil.which("nodejs")
VOID = {"meta", "input"}  # elements without an end


class _Tree(HTMLParser):
    """Reads a page; each element must end where its parent expects it."""

    def __init__(self):
        super().__init__()
        self.open = [{"tag": "page", "attributes": {}, "children": []}]

    def handle_starttag(self, tag, attributes):
        node = {"tag": tag, "attributes": {name: value or "" for name, value in attributes}, "children": []}
        self.open[-1]["children"].append(node)
        if tag not in VOID:
            self.open.append(node)

    def handle_endtag(self, tag):
        claim(self.open[-1]["tag"] == tag, f"</{tag}> ends what is open", self.open[-1]["tag"])
        self.open.pop()

    def handle_data(self, data):
        self.open[-1]["children"].append(data)


def tree_of(html):
    reader = _Tree()
    reader.feed(html)
    reader.close()
    claim(len(reader.open) == 1, "every element of the page ends", reader.open[-1]["tag"])
    return next(node for node in reader.open[0]["children"] if not isinstance(node, str))


def below(node):
    """The element and all elements within it, in the order of the page."""
    yield node
    for child in node["children"]:
        if not isinstance(child, str):
            yield from below(child)


class Shown:
    """The document after its scripts have run, and then `actions`: JavaScript in their scope. report/document.js says
    which functions they have, and `results` has their values."""

    def __init__(self, html, *actions):
        root = tree_of(html)
        *_, script = (node for node in below(root) if node["tag"] == "script")  # the others are data
        asked = {"root": root, "script": script["children"][0], "actions": actions}
        ran = subprocess.run([NODE, Path(__file__).parent / "report" / "document.js"], input=json.dumps(asked),
                             capture_output=True, text=True, timeout=200)
        claim(ran.returncode == 0, "the page's scripts run", ran.stderr)
        seen = json.loads(ran.stdout)
        self.root, self.title, self.results = seen["root"], seen["title"], seen["results"]

    def element(self, name):
        return next(node for node in below(self.root) if node.get("id") == name)

    def text(self, name):
        return self.element(name)["text"]

    def hidden(self, name):
        return self.element(name)["hidden"]

    def cards(self, name="cards"):
        """Label of each card -> its value and the line below it."""
        return {card["children"][0]["text"]: (card["children"][1]["text"].strip(), card["children"][2]["text"])
                for card in self.element(name)["children"]}

    def rows(self, name):
        """The texts of a table's cells, row by row; of other elements, those of the children's children."""
        table = self.element(name)
        lines = [node for node in below(table) if node["tag"] == "tr"] if table["tag"] == "table" else table["children"]
        return [[cell["text"] for cell in line["children"]] for line in lines]

    def drawn(self, name, call):
        """The calls of a canvas's last frame that have this name."""
        return [one for one in self.element(name)["calls"] if one["name"] == call]

    def written(self, name):
        return [call["values"][0] for call in self.drawn(name, "fillText")]
