# SPDX-License-Identifier: Apache-2.0
"""tools/check_comments.py on a small made-up tree: it counts the comments that open without a noun, and refuses many."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
from check_comments import leaves_out_the_noun, main  # noqa: E402


def check(root, name, text):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return main([str(root)])


def test_openings():
    for said in ("Whether it fits.", "What it costs", "Of one rank:", "Those behind it."):
        assert leaves_out_the_noun(said), said
    for said in ("Returns true if it fits.", "Its cost", "How to add a codec:", "Offsets of one rank", "- a row"):
        assert not leaves_out_the_noun(said), said


def test_two_openings_of_few_comments_are_refused(tmp_path, capsys):
    assert check(tmp_path, "a/x.h", "/// Whether it fits.\nbool fits();\n\n/// What it costs.\nint cost();\n") == 1
    assert "a: 2 of 2 comments, 100.0 % (over 3 %)" in capsys.readouterr().out


def test_only_the_first_line_of_a_comment_opens_it(tmp_path):
    assert check(tmp_path, "a/x.h", "/// The cost of a task, by\n/// what it moves. Seconds,\n/// of one core.\nint c;\n") == 0


def test_the_comment_below_the_licence_counts(tmp_path):
    licence = "// SPDX-License-Identifier: Apache-2.0\n//\n// What it costs.\nint a;\n\n// Whether it fits.\nint b;\n"
    assert check(tmp_path, "a/x.cc", licence) == 1


def test_a_docstring_opens_like_a_comment(tmp_path):
    text = 'def f():\n    """Whether it fits."""\n\n\ndef g():\n    # What it costs.\n    return 1\n'
    assert check(tmp_path, "a/x.py", text) == 1


def test_strings_and_code_are_no_comments(tmp_path):
    assert check(tmp_path, "a/x.cc", 'const char* a = "/// What";\nint what; int of;\n') == 0


def test_names_of_tests_open_with_their_subject(tmp_path, capsys):
    text = 'TEST_CASE("ring: what arrives is whole") {}\nTEST_CASE(\n    "ring: of two ranks one sends") {}\n'
    assert check(tmp_path, "tests/x.cc", text) == 1
    assert "tests: 2 of 2 names of tests, 100.0 % (over 3 %)" in capsys.readouterr().out
    assert check(tmp_path, "tests/x.cc", 'TEST_CASE("ring: messages that arrive are whole") {}\n') == 0
    assert check(tmp_path, "tests/x_test.py", "def test_what_arrives_is_whole():\n    pass\n\n\ndef test_of_two():\n    pass\n") == 1


def test_help_opens_with_its_subject(tmp_path, capsys):
    text = 'app.add_option("-n,--ranks", ranks, "How many ranks")->required();\napp.add_flag("--json", json, "What was found");\n'
    assert check(tmp_path, "tools/x.cc", text) == 1
    assert "tools: 2 of 2 texts of --help, 100.0 % (over 3 %)" in capsys.readouterr().out
    assert check(tmp_path, "tools/x.cc", 'app.add_subcommand("run", "Start ranks");\n') == 0


def test_sentences_of_pages_open_with_their_subject(tmp_path, capsys):
    text = "# Title\n\nA sentence. What it\ncosts is low.\n\n| a | Whether it fits |\n\n    What is code\n"
    assert check(tmp_path, "docs/x.md", text) == 1
    assert "docs: 2 of 5 sentences of pages, 40.0 % (over 3 %)" in capsys.readouterr().out
