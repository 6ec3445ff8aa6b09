# SPDX-License-Identifier: Apache-2.0
"""A small profile, a small model and recorded gradients, as files: the input of the planner's commands."""
import json
import os
import struct

PROFILE = """version: 1
memory_bytes_per_second: 1e11
launch_seconds: 1e-6
between { latency_seconds: 1e-5 bytes_per_second: %s }
"""
MODEL = """version: 1
backward_seconds: 0.01
forward_seconds: 0.005
gradient { name: "large.weight" shape: [1000, 1000] ready_seconds: 0.005 need_seconds: 0.003 }
gradient { name: "first.weight" shape: [100, 1000] ready_seconds: 0.01 need_seconds: 0 }
gradient { name: "first.bias" shape: [100] ready_seconds: 0.01 need_seconds: 0 }
"""
# One bit says all of them.
SIGNS = [0.5 if i % 3 else -0.5 for i in range(16384)]


class Files:
    def __init__(self, folder, bytes_per_second="1e8"):
        self.profile, self.model = (os.path.join(folder, name) for name in ("profile.txtpb", "model.txtpb"))
        self.plan = os.path.join(folder, "plan.txtpb")
        with open(self.profile, "w") as file:
            file.write(PROFILE % bytes_per_second)
        with open(self.model, "w") as file:
            file.write(MODEL)
        self.inputs = ["--profile", self.profile, "--model", self.model]


def write_gradients(path, **samples):
    """As safetensors: 1-D tensors of float32."""
    header, data = {"__metadata__": {"by": "a test"}}, b""
    for name, values in samples.items():
        begin, data = len(data), data + struct.pack(f"<{len(values)}f", *values)
        header[name.replace("_", ".")] = {"dtype": "F32", "shape": [len(values)], "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)
    return path
