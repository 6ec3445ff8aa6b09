# SPDX-License-Identifier: Apache-2.0
"""The compiler compllc as its users meet it: exit codes, stdout and stderr.

usage: compllc_test.py COMPLLC
"""
import resource
import signal
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

    def test_a_file_without_an_end_is_refused(self):
        def limit_time():
            resource.setrlimit(resource.RLIMIT_CPU, (5, 5))

        ran = subprocess.run([COMPLLC, "/dev/zero"], capture_output=True, text=True, timeout=60, preexec_fn=limit_time)
        self.assertEqual((ran.returncode, ran.stdout), (1, ""))
        self.assertIn("/dev/zero:1:1: error: the program has more than 1048576 bytes\n", ran.stderr)

    def test_an_output_that_cannot_be_written_is_named(self):
        output = self.folder / "none" / "mine.cc"
        ran = compllc(self.file, "-o", output)
        self.assertEqual((ran.returncode, ran.stdout, ran.stderr), (2, "", f"compllc: cannot write {output}\n"))

    def test_a_command_line_that_is_wrong_ends_with_2(self):
        for arguments in ([], ["--nonsense", self.file], [self.file, "--emit=nonsense"]):
            self.assertEqual((compllc(*arguments).returncode, compllc(*arguments).stdout), (2, ""))
        self.assertEqual((compllc("--help").returncode, compllc("--words").returncode), (0, 0))

    def test_a_full_disk_cuts_off_no_text(self):
        def fill_disk():
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # writing fails instead

        output = self.folder / "mine.cc"
        ran = subprocess.run([COMPLLC, self.file, "-o", output], capture_output=True, text=True, timeout=60,
                             preexec_fn=fill_disk)
        self.assertEqual((ran.returncode, ran.stderr), (2, f"compllc: cannot write {output}\n"))
        self.assertFalse(output.exists(), "no part of the text is left")
        for arguments in ([self.file, "--emit=tree"], ["--words"], ["--help"]):
            with open("/dev/full", "w") as full:
                ran = subprocess.run([COMPLLC, *map(str, arguments)], stdout=full, stderr=subprocess.PIPE, text=True,
                                     timeout=60)
            self.assertEqual((ran.returncode, ran.stderr), (2, "compllc: stdout cannot be written\n"))


if __name__ == "__main__":
    unittest.main()
