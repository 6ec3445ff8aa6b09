# SPDX-License-Identifier: Apache-2.0
"""pytest in a process that has imported a framework, of which a fork is the one that ranks come from (forked.py).

usage: pytest_forking.py MODULE... -- ARGUMENT...   the modules to import, and what pytest is given
"""

import sys

import forked


def main():
    end = sys.argv.index("--")
    rank = forked.born_forker(sys.argv[1:end])
    if rank is not None:
        forked.run(rank)
        return 0
    import pytest

    return pytest.main(sys.argv[end + 1 :])


if __name__ == "__main__":
    sys.exit(main())
