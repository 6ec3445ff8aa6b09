# SPDX-License-Identifier: Apache-2.0
"""A folder with a codec's file, an empty cache and a compiler of its own."""
import json
import os
from pathlib import Path

from command import casync, claim, ends_with, temporary_folder

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/02_write_a_codec/int3.cll"
OBJECTS = temporary_folder()
# The system's compiler, for these tests' texts: most are compiled by several tests, and hand over the first one's object.
COMPILER = f"""eval "source=\\${{$(($# - 2))}} object=\\${{$#}}"
made={OBJECTS.name}/$(sha256sum < "$source" | cut -c1-64)
[ ! -e $made ] || exec cp $made "$object"
{os.environ.get("CXX", "c++")} "$@" -O1 && cp "$object" $made.$$ && mv $made.$$ $made"""


class Place:
    """A folder with a codec, an empty cache, and a compiler that counts how often it is called."""

    def __enter__(self):
        self._folder = temporary_folder()
        self.path = Path(self._folder.name)
        self.file, self.cache, self.temporary = self.path / "mine.cll", self.path / "cache", self.path / "tmp"
        self.temporary.mkdir()
        self.file.write_text(EXAMPLE.read_text().replace("codec int3", "codec mine"))
        self.compiler("compiling", COMPILER)
        self.compiler("counting", f'echo called >> {self.path}/calls\nexec {self.path}/compiling "$@"')
        return self

    def __exit__(self, *_):
        self._folder.cleanup()

    def compiler(self, name, script):
        path = self.path / name
        path.write_text("#!/bin/sh\n" + script + "\n")
        path.chmod(0o755)
        return {"CXX": str(path)}

    def environment(self, **more):
        return {"CASYNC_CACHE_DIR": str(self.cache), "CXX": f"{self.path}/counting", "TMPDIR": str(self.temporary),
                **more}

    def info(self, **more):
        return casync("codec", "info", self.file, "--json", env=self.environment(**more), timeout=120)

    def calls(self):
        counted = self.path / "calls"
        return len(counted.read_text().splitlines()) if counted.exists() else 0

    def entry(self):
        found = list(self.cache.glob("*.so"))
        claim(len(found) == 1, "one entry in the cache", *self.cache.iterdir())
        return found[0]

    def entry_count(self):
        return len(list(self.cache.glob("*.so")))

    def comes_out_well(self, calls, what, **more):
        result = self.info(**more)
        ends_with(0, result, what)
        claim(json.loads(result.stdout)["name"] == "mine", what, result.stdout)
        claim(self.calls() == calls, f"{what}: the compiler was called {calls} times in all", self.calls())
        return result
