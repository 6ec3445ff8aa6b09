# SPDX-License-Identifier: Apache-2.0
"""Runs `casync` on a scenario."""

import json
import pathlib
import subprocess
import tempfile


class Command:
    def __init__(self, build, keep=None):
        self.build = build
        self.program = pathlib.Path(build) / "bin" / "casync"
        if not self.program.exists():
            raise SystemExit(f"{self.program} is missing, expected a build folder with the command in it")
        self.keep = keep

    def call(self, *arguments):
        made = subprocess.run([self.program, *map(str, arguments)], capture_output=True, text=True)
        if made.returncode != 0:
            raise SystemExit(f"casync {' '.join(map(str, arguments))}\n{made.stderr}")
        return made.stdout

    def run(self, *arguments):
        """Its JSON."""
        return json.loads(self.call(*arguments))

    def step_seconds(self, scenario, name):
        """Its inputs stay in the folder `keep`, if there is one."""
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            if self.keep is not None:
                folder = pathlib.Path(self.keep) / name
                folder.mkdir(parents=True, exist_ok=True)
            texts = {"model": scenario.training.text(), "plan": scenario.plan, "profile": scenario.profile}
            files = []
            for kind, text in texts.items():
                (folder / f"{kind}.txtpb").write_text(text)
                files += [f"--{kind}", folder / f"{kind}.txtpb"]
            return self.run("simulate", *files, "--ranks", scenario.ranks, "--json")["step_ms"] / 1000
