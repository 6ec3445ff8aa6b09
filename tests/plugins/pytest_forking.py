# SPDX-License-Identifier: Apache-2.0
"""pytest in a process that has imported a framework, of which a fork is the one that ranks come from (forked.py).

usage: pytest_forking.py [--first-of-each] MODULE... -- ARGUMENT...

The modules to import, and what pytest is given. --first-of-each: of a test with parameters only the first set of them.
"""

import sys

import forked


class FirstOfEach:
    """A plugin of pytest that runs each test function once."""

    def pytest_collection_modifyitems(self, config, items):
        first = {item.nodeid.partition("[")[0]: item for item in reversed(items)}.values()
        left_out = [item for item in items if item not in first]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item in first]


def main():
    end = sys.argv.index("--")
    modules = sys.argv[1:end]
    plugins = []
    if modules[0] == "--first-of-each":
        del modules[0]
        plugins.append(FirstOfEach())
    rank = forked.born_forker(modules)
    if rank is not None:
        forked.run(rank)
        return 0
    import pytest

    return pytest.main(sys.argv[end + 1 :], plugins)


if __name__ == "__main__":
    sys.exit(main())
