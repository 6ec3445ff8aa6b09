# SPDX-License-Identifier: Apache-2.0
"""A small profile and a small model, as files: what the planner's commands take."""
import os

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


class Files:
    def __init__(self, folder, bytes_per_second="1e8"):
        self.profile, self.model = (os.path.join(folder, name) for name in ("profile.txtpb", "model.txtpb"))
        self.plan = os.path.join(folder, "plan.txtpb")
        with open(self.profile, "w") as file:
            file.write(PROFILE % bytes_per_second)
        with open(self.model, "w") as file:
            file.write(MODEL)
        self.inputs = ["--profile", self.profile, "--model", self.model]
