# SPDX-License-Identifier: Apache-2.0
"""Each framework with a plugin is on the pages where readers look for it."""
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FRAMEWORKS = sorted(path.parent.name for path in (ROOT / "plugins/python/casync").glob("*/__init__.py"))


def test_there_are_frameworks():
    assert "torch" in FRAMEWORKS


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_readme_and_the_reference_have_the_framework(framework):
    assert framework in (ROOT / "README.md").read_text().lower()
    assert (ROOT / f"docs/site/python/{framework}.md").read_text().startswith(f"## casync.{framework}\n")
