# SPDX-License-Identifier: Apache-2.0
"""The code on docs/plugins.md and in README.md, as it is printed there."""

import contextlib
import io
import pathlib
import re
import textwrap

import ranks

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/plugins.md"


def train(rank):
    (program,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    names = {}
    exec(compile(program, str(PAGE), "exec"), names)
    parameters, loss = names["train"]()
    return {name: value.tobytes() for name, value in parameters.items()}, loss.item(), parameters["bias"].item()


def test_the_plugin_on_the_page_trains_and_leaves_the_same_parameters_on_every_rank():
    first, second = ranks.values(__file__, "train", 2)
    assert first == second
    _, loss, bias = first
    assert loss < 1e-2 and abs(bias - 3) < 0.1


def average(rank):
    (program,) = re.findall(r"^    import casync, numpy\n(?:    .*\n)+", (ROOT / "README.md").read_text(), re.MULTILINE)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(textwrap.dedent(program), "README.md", "exec"), {})
    return printed.getvalue()


def test_the_session_in_the_readme_prints_the_average_on_every_rank():
    assert ranks.values(__file__, "average", 2) == ["rank 0 of 2: 0.5\n", "rank 1 of 2: 0.5\n"]


def test_the_build_and_the_tools_find_frameworks_by_their_folders():
    """docs/plugins.md counts the files that a new framework touches; of these it has tools/setup only."""
    files = [*ROOT.glob("cmake/*"), *ROOT.glob("plugins/**/CMakeLists.txt"), *ROOT.glob("plugins/native/*"),
             *ROOT.glob("plugins/python/casync/*.py"), *ROOT.glob("tools/*"), *ROOT.glob("tools/casync/doctor/*")]  # fmt: skip
    naming = [file for file in files if file.is_file() and re.search(r"\bmxnet\b", file.read_text())]
    assert [str(file.relative_to(ROOT)) for file in naming] == ["tools/setup"]


def test_setup_tests_and_pages_have_every_framework():
    names = [file.parent.name for file in ROOT.glob("plugins/python/casync/*/__init__.py")]
    assert "torch" in names
    for name in names:
        for file, forms in {
            "tools/setup": (rf"^{name}=\(", rf"\.venv/{name}: ", rf"\binstall_environment {name} "),
            f"tests/plugins/{name}.cmake": (rf"ENVIRONMENT {name} ",),
            "docs/status.md": (rf"\]\((py)?{name}\.md",),
            "README.md": (rf"\]\(docs/(py)?{name}\.md",),
            f"docs/site/python/{name}.md": (rf"^## casync\.{name}$",),
        }.items():
            text = (ROOT / file).read_text()
            for form in forms:
                assert re.search(form, text, re.MULTILINE), f"{file} has no {form}"


def test_the_answers_to_other_projects_questions_are_there():
    page = (ROOT / "docs/peer_tests.md").read_text()
    answers = re.findall(r"`(test_\w+)::(\w+)`", page)
    assert len(answers) > 50
    for file, test in answers:
        text = (ROOT / f"tests/plugins/{file}.py").read_text()
        assert f"def {test}(" in text, f"{file} has no {test}"
    questions = re.findall(r"^\| (?!question|---).*?\| (.*) \|$", page, re.MULTILINE)
    assert len(questions) > 50
    assert all("::" in answer or answer.startswith("the same") for answer in questions)
