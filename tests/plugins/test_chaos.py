# SPDX-License-Identifier: Apache-2.0
"""One job for each fault of chaos.py; a hundred are a command of their own."""

import chaos
import hosts
import pytest
import ranks


@pytest.mark.parametrize("fault", chaos.FAULTS)
def test_a_fault_is_answered_in_time_and_leaves_nothing_behind(fault):
    if fault == "cut" and not hosts.available():
        pytest.skip("network namespaces need root")
    before = ranks.in_shared_memory()
    job = chaos.run(chaos.FAULTS.index(fault), [fault], while_running=True)
    assert job.met, f"{job}: rank {job.victim} had ended by then"
    assert job.wrong == [], job
    assert ranks.left_in_shared_memory(before) == set()
