# SPDX-License-Identifier: Apache-2.0
"""Lists the sources of this project, for the lint tools."""
import os
from pathlib import Path

# Folders of the root that hold no sources of ours. Hidden ones (.git, .deps, .venv) are never entered.
NOT_OURS = {"build", "dist"}


def source_files(root, endings=(".h", ".cc", ".c")):
    """Paths of all files below `root` that end so, sorted."""
    root = Path(root)
    found = []
    for folder, folders, files in os.walk(root):
        folders[:] = [f for f in folders if not f.startswith(".") and not (f in NOT_OURS and Path(folder) == root)]
        found += [Path(folder) / f for f in files if f.endswith(endings)]
    return sorted(found)
