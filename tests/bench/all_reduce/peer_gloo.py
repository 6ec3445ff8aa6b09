# SPDX-License-Identifier: Apache-2.0
"""peer_gloo.py BYTES ITERATIONS, one process a rank: rank 0 prints the microseconds of each in-place all-reduce. Exit code
1: the last sum is wrong."""

import sys
import time

import torch
import torch.distributed as dist

WARM_UP = 5


def main():
    count, iterations = int(sys.argv[1]) // 4, int(sys.argv[2])
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    source = torch.arange(count, dtype=torch.float32) % 1000 + dist.get_rank()
    data = torch.empty_like(source)
    for i in range(-WARM_UP, iterations):
        data.copy_(source)
        start = time.perf_counter()
        dist.all_reduce(data)
        if i >= 0 and dist.get_rank() == 0:
            print(f"{1e6 * (time.perf_counter() - start):.3f}")
    size = dist.get_world_size()
    right = torch.equal(data, size * (source - dist.get_rank()) + size * (size - 1) / 2)
    dist.destroy_process_group()
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
