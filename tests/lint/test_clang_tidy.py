# SPDX-License-Identifier: Apache-2.0
""".clang-tidy refuses names that are not the house's, and takes those that are."""
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TIDY = shutil.which("clang-tidy-14") or "clang-tidy-14 (tools/setup installs it)"

GOOD = """
namespace casync {
constexpr int kLimit = 3;
const int kTable[] = {1, 2};
enum class Colour { kRed };
struct Plain { int member_name = 0; };
class Owner {
 public:
  int do_it() const { return member_; }

 private:
  int member_ = kLimit;
};
template <class T>
T twice(const T& value) {
  const T local_copy = value;
  constexpr int kTwo = 2;
  return kTwo * local_copy;
}
}  // namespace casync
#define CASYNC_MACRO 1
"""


def complaints(tmp_path, source):
    file = tmp_path / "x.cc"
    file.write_text(source)
    command = [TIDY, "--quiet", f"--config-file={ROOT}/.clang-tidy", str(file), "--", "-std=c++20"]
    text = subprocess.run(command, text=True, capture_output=True, timeout=100, check=False).stdout
    return re.findall(r"x\.cc:\d+:\d+: error: (.*)", text)


def test_the_houses_names_are_fine(tmp_path):
    assert complaints(tmp_path, GOOD) == []


@pytest.mark.parametrize(
    "source",
    [
        "constexpr int limit = 3;",
        "const int someTable = 3;",
        "enum class Colour { red };",
        "struct plain {};",
        "struct Plain { int memberName = 0; };",
        "class Owner { int member = 0; public: int get() { return member; } };",
        "int doIt() { return 1; }",
        "int twice(int Value) { return 2 * Value; }",
        "int twice(int value) { int localCopy = value; return localCopy; }",
        "#define some_macro 1",
        "int* nothing = 0;",
        "struct A { virtual ~A() = default; virtual void f(); }; struct B : A { virtual void f(); };",
    ],
)
def test_others_are_refused(tmp_path, source):
    assert len(complaints(tmp_path, source)) == 1

