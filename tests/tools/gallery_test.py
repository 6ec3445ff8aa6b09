# SPDX-License-Identifier: Apache-2.0
"""The plans of docs/gallery.md are those of examples/plans, and the command accepts each of them."""
import json
import re
from pathlib import Path

from command import casync, claim, ends_with, run_all, temporary_folder

ROOT = Path(__file__).resolve().parents[2]
PLANS = ROOT / "examples/plans"
ENTRY = re.compile(r"^`examples/plans/(\w+\.txtpb)`\..*?^```\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def shown():
    """File name -> plan on the page."""
    return dict(ENTRY.findall((ROOT / "docs/gallery.md").read_text()))


def without_title(text):
    """A plan without the comment that it begins with."""
    lines = text.splitlines(keepends=True)
    while lines and lines[0].startswith("#"):
        lines.pop(0)
    return "".join(lines)


def test_the_page_shows_every_plan_as_it_is():
    files = {path.name: without_title(path.read_text()) for path in PLANS.glob("*.txtpb")}
    claim(len(files) >= 10, "there are plans", files.keys())
    for name in files.keys() | shown().keys():
        claim(files.get(name) == shown().get(name), f"{name} on the page is the file", files.get(name), shown().get(name))


def test_the_command_accepts_each_plan_for_a_model_and_every_gradient_is_decided():
    for name in shown():
        result = casync("plan", "--check", PLANS / name, "--model", ROOT / "examples/models/bert_base.txtpb", "--json")
        ends_with(0, result, f"{name} is accepted")
        decisions = json.loads(result.stdout)["gradients"]
        claim(len(decisions) > 100, f"{name} decides the model's gradients", len(decisions))
        claim(not any("left to the planner" in one["decision"] for one in decisions), f"{name} leaves nothing open")


def test_a_plan_that_no_session_takes_is_not_accepted():
    with temporary_folder() as folder:
        broken = Path(folder) / "plan.txtpb"
        broken.write_text((PLANS / "start.txtpb").read_text().replace("int8", "int9"))
        ends_with(3, casync("plan", "--check", broken), "int9 is refused")


run_all(globals())
