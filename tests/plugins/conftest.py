# SPDX-License-Identifier: Apache-2.0
"""Fixtures of several files."""

import pytest


@pytest.fixture
def alone():
    """A session of one rank."""
    import casync  # not in tests that do not ask for it

    with casync.Session(rank=0, size=1) as session:
        yield session
