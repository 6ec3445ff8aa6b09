# SPDX-License-Identifier: Apache-2.0
"""The communication hook. Its annotations are what DDP compares when it is registered: types, not strings."""

import torch
import torch.distributed as dist

from casync import errors


def comm_hook(state: object, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """Averages the bucket's gradients over the ranks; `state` is a casync.torch.State."""
    try:
        return state.reduce(bucket)
    except errors.Error as error:
        raise error.with_traceback(None) from None  # the traceback ends at the program's line
