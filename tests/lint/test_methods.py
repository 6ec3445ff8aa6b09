# SPDX-License-Identifier: Apache-2.0
"""docs/methods.md: each row has a source and a state, and the places in the code that it names exist."""
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
STATES = ("works", "partial: ", "not here: ")


def rows_of(text):
    """Yields (method, source, code, state) of each row of the tables."""
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if line.startswith("|") and cells[0] != "method" and set(cells[0]) != {"-"}:
            assert len(cells) == 6, f"{cells[0]}: {len(cells)} columns"
            yield cells[0], cells[1], cells[3], cells[5]


def faults_of(text, root=ROOT):
    faults = []
    for method, source, code, state in rows_of(text):
        if not source:
            faults.append(f"{method}: no source")
        if not state.startswith(STATES):
            faults.append(f"{method}: its state is `{state}`")
        if state.startswith("works") and not code:
            faults.append(f"{method}: works, and no place in the code")
        for place in re.findall(r"`([^`]+)`", code):
            path = "compll/codecs/" + place if place.endswith(".cll") and "/" not in place else place
            if "/" in path and not (root / path).exists():
                faults.append(f"{method}: there is no {path}")
    return faults


def test_the_page_names_what_there_is():
    text = (ROOT / "docs/methods.md").read_text()
    assert faults_of(text) == []
    assert len(list(rows_of(text))) > 50


def test_every_codec_has_a_row():
    text = (ROOT / "docs/methods.md").read_text()
    missing = [path.name for path in (ROOT / "compll/codecs").glob("*.cll") if f"`{path.name}`" not in text]
    assert missing == []


def test_rows_at_fault_are_named():
    row = "| a method | {source} | x | {code} | y | {state} |"
    assert faults_of(row.format(source="A 1990", code="`compll/codecs/int8.cll`", state="works")) == []
    assert faults_of(row.format(source="A 1990", code="`absent.cll`", state="works")) == [
        "a method: there is no compll/codecs/absent.cll"
    ]
    assert faults_of(row.format(source="", code="", state="soon")) == [
        "a method: no source",
        "a method: its state is `soon`",
    ]
    assert faults_of(row.format(source="A 1990", code="", state="works")) == ["a method: works, and no place in the code"]
