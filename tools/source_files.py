# SPDX-License-Identifier: Apache-2.0
"""Which files are C and C++ sources of this project: what the lint tools look at."""
import os

SUFFIXES = (".h", ".cc", ".c")
# Folders of the root that hold no sources of ours. Hidden ones (.git, .deps, .venv) are never entered.
NOT_OURS = {"build", "dist"}


def source_files(root):
    """Paths of all sources, relative to `root` with forward slashes, sorted."""
    found = []
    for folder, folders, files in os.walk(root):
        folders[:] = [f for f in folders if not f.startswith(".") and not (f in NOT_OURS and folder == str(root))]
        found += [os.path.relpath(os.path.join(folder, f), root) for f in files if f.endswith(SUFFIXES)]
    return sorted(found)
