# SPDX-License-Identifier: Apache-2.0
"""CaSync under PyTorch's DistributedDataParallel:

    state = casync.torch.State(codec="int8")
    ddp.register_comm_hook(state, casync.torch.comm_hook)
"""

from casync.torch.broadcast import broadcast_parameters
from casync.torch.hook import comm_hook
from casync.torch.state import State

__all__ = ["State", "broadcast_parameters", "comm_hook"]
