# SPDX-License-Identifier: Apache-2.0
"""The compiler compllc as its users meet it: exit codes, stdout and stderr.

usage: compllc_test.py COMPLLC
"""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

COMPLLC = sys.argv.pop(1)
PROGRAM = """codec mine { summary "the elements as they are"; }
void encode(float* gradient, uint8* compressed) { compressed = concat(gradient); }
void decode(uint8* compressed, float* gradient) {
  float* y;
  extract(compressed, y);
  gradient = y;
}
"""


def compllc(*arguments):
    return subprocess.run([COMPLLC, *map(str, arguments)], capture_output=True, text=True, timeout=60)


class CompllcTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="casync-test-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.file = self.folder / "mine.cll"
        self.file.write_text(PROGRAM)

    def test_a_program_is_printed(self):
        ran = compllc(self.file, "--emit=typed")
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertTrue(ran.stdout.startswith("codec mine\n"), ran.stdout)

    def test_a_mistake_is_reported_at_its_place(self):
        self.file.write_text(PROGRAM.replace("= y;", "= z;"))
        ran = compllc(self.file)
        self.assertEqual((ran.returncode, ran.stdout), (1, ""))
        self.assertIn(f"{self.file}:6:14: error: there is no `z`", ran.stderr)

    def test_a_path_that_cannot_be_read_is_named(self):
        for path in (self.folder, self.folder / "none.cll"):
            ran = compllc(path)
            self.assertEqual((ran.returncode, ran.stdout, ran.stderr), (2, "", f"compllc: cannot read {path}\n"))

    def test_an_output_that_cannot_be_written_is_named(self):
        output = self.folder / "none" / "mine.cc"
        ran = compllc(self.file, "-o", output)
        self.assertEqual((ran.returncode, ran.stdout, ran.stderr), (2, "", f"compllc: cannot write {output}\n"))


if __name__ == "__main__":
    unittest.main()
