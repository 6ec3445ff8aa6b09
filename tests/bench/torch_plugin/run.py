#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's plugin against what it should cost: overlap with backward(), cost of a gradient, hook and optimizer.

    tests/bench/torch_plugin/run.py [BUILD] [overlap] [cost] [ways]

A wrong mean, and a rank that fails, end the program.

overlap  eight layers whose gradients become ready 50 ms apart, 50 ms of wire each: a step; the ideal pipeline is 450 ms
cost     microseconds that Python adds to a gradient of 4 KiB: hook, submission and wait, against one call of C for all
ways     a step of an MLP with 12.6 MB of gradients, not paced and on a slow link: DDP with the hook, DistributedOptimizer,
         and with model= (priorities pay); the ways take turns
"""

import ctypes
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
LAYERS, LAYER_S = 8, 0.05
ROUNDS = 4
OVERLAP_STEPS, RATE = 7, 1e-6
ELEMENTS = 1_562_500  # 6.25 MB: 50 ms at 1 Gb/s, once to the owner or from it, half of it each way twice


def launch(build, ranks, arguments, **environment):
    """The JSON that rank 0 prints."""
    with tempfile.TemporaryDirectory() as folder:
        variables = {**os.environ, "PYTHONPATH": os.environ.get("PYTHONPATH", f"{build}/python"), "OMP_NUM_THREADS": "1"}
        processes = []
        for rank in range(ranks):
            place = {"RANK": str(rank), "WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1"}
            place["MASTER_PORT"] = str(20000 + os.getpid() % 20000)
            processes.append(
                subprocess.Popen(
                    [sys.executable, __file__, "--rank", str(rank), *arguments],
                    env={**variables, **place, **environment}, stdout=subprocess.PIPE, text=True, cwd=folder,
                )  # fmt: skip
            )
        try:
            outputs = [process.communicate(timeout=600)[0] for process in processes]
        finally:
            for process in processes:
                process.kill()
        assert all(process.returncode == 0 for process in processes), outputs
        return json.loads(outputs[0].splitlines()[-1])


def sleeping_layers(torch, gradient_of_all):
    class Sleep(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, weight):
            ctx.elements = weight.numel()
            return x + 0 * weight[0]

        @staticmethod
        def backward(ctx, gradient):
            time.sleep(LAYER_S)
            return gradient, torch.full((ctx.elements,), gradient_of_all)

    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(ELEMENTS))

        def forward(self, x):
            return Sleep.apply(x, self.weight)

    return torch.nn.Sequential(*[Layer() for _ in range(LAYERS)])


def steps(way, net, batch, count, codec):
    """Seconds of each step."""
    import torch
    from torch.nn.parallel import DistributedDataParallel

    import casync.torch

    optimizer = torch.optim.SGD(net.parameters(), lr=RATE)
    run = net
    if way == "hook":
        run = DistributedDataParallel(net, bucket_cap_mb=1)
        state = casync.torch.State(codec=codec)
        run.register_comm_hook(state, casync.torch.comm_hook)
    else:
        model = net if way == "deferred" else None
        optimizer = casync.torch.DistributedOptimizer(optimizer, net.named_parameters(), model=model, codec=codec)
    seconds = []
    for _ in range(count):
        begin = time.perf_counter()
        optimizer.zero_grad()
        run(batch).sum().backward()
        optimizer.step()
        seconds.append(time.perf_counter() - begin)
    if way == "hook":
        state.close()
    else:
        optimizer.casync.finish()  # with `model` the last update waits for a forward pass
        optimizer.casync.close()
    return seconds[2:]


def rank_overlap(way):
    import torch

    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo")
    rank, ranks = torch.distributed.get_rank(), torch.distributed.get_world_size()
    net = sleeping_layers(torch, 1.0 + rank)
    seconds = steps(way, net, torch.zeros(1, requires_grad=True), OVERLAP_STEPS, "none")
    wanted = -RATE * OVERLAP_STEPS * (ranks + 1) / 2  # of weights that were 0, with the mean of 1, 2, ...
    if not all(((weight - wanted).abs() <= 0.01 * abs(wanted)).all() for weight in net.parameters()):
        raise SystemExit(f"{way}: a gradient is not the mean of the ranks'")
    return {"median": statistics.median(seconds), "least": min(seconds)}


def rank_ways(way):
    import torch

    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo")
    torch.manual_seed(0)
    layers = [torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU()) for _ in range(12)]
    return steps(way, torch.nn.Sequential(*layers), torch.randn(1024, 512), 22, "none")


def rank_cost(_):
    """One rank alone, so that nobody waits for a network."""
    import torch

    import casync.torch

    count = 400
    parameters = [torch.nn.Parameter(torch.zeros(1024)) for _ in range(count)]
    optimizer = casync.torch.DistributedOptimizer(
        torch.optim.SGD(parameters, lr=0.0), [(f"p{i}", p) for i, p in enumerate(parameters)], codec="none"
    )
    gradients = [torch.ones(1024) for _ in parameters]
    hooked, plain = [], []
    session = casync.Session(codec="none", rank=0, size=1, rendezvous=f"file:{os.getcwd()}/meet")
    ids = [session.declare(f"p{i}", 1024) for i in range(count)]
    from casync import _library

    numbers, handles = (ctypes.c_uint32 * count)(*ids), (ctypes.c_uint64 * count)()
    addresses = (ctypes.c_void_p * count)(*[gradient.data_ptr() for gradient in gradients])
    sizes = (ctypes.c_size_t * count)(*[4096] * count)
    library, finite = _library.load(), ctypes.c_int32()
    for _ in range(50):
        for parameter, gradient in zip(parameters, gradients):
            parameter.grad = gradient
        begin = time.perf_counter()
        for parameter in parameters:
            optimizer.casync._gradients._ready(parameter)
        optimizer.synchronize()
        hooked.append(time.perf_counter() - begin)
        optimizer.casync._synchronized = False
        begin = time.perf_counter()
        submitted = library.casync_session_submit(session.address, count, numbers, addresses, sizes, handles)
        ended = library.casync_session_step(session.address, ctypes.byref(finite), None, 0)
        plain.append(time.perf_counter() - begin)
        if submitted != 0 or ended != 0:
            raise SystemExit(library.casync_last_error().decode())
    if not all((gradient == 1).all() for gradient in gradients):
        raise SystemExit("a gradient of one rank is not its own mean")
    micro = 1e6 / count
    return {"plugin_us": min(hooked) * micro, "runtime_us": min(plain) * micro,
            "plugin_median_us": statistics.median(hooked) * micro}  # fmt: skip


def main():
    if "--rank" in sys.argv:
        kind, way = sys.argv[3], sys.argv[4]
        print(json.dumps(globals()[f"rank_{kind}"](way)))
        return
    wanted = [argument for argument in sys.argv[1:] if argument in ("overlap", "cost", "ways")] or ["overlap", "cost", "ways"]
    build = next((argument for argument in sys.argv[1:] if argument not in wanted), str(ROOT / "build/release"))
    if "overlap" in wanted:
        ideal = LAYERS * LAYER_S + LAYER_S
        for way in ("hook", "optimizer", "deferred"):
            result = launch(build, 2, ["overlap", way], CASYNC_LINK="1gbit")
            print(f"overlap, {way}: median {result['median'] * 1e3:.0f} ms, least {result['least'] * 1e3:.0f} ms, "
                  f"ideal {ideal * 1e3:.0f} ms: {result['median'] / ideal:.2f} x", flush=True)  # fmt: skip
    if "cost" in wanted:
        result = launch(build, 1, ["cost", "-"])
        print(f"cost of a gradient of 4 KiB: plugin {result['plugin_us']:.1f} us (median {result['plugin_median_us']:.1f}), "
              f"of that the runtime {result['runtime_us']:.1f} us", flush=True)  # fmt: skip
    if "ways" in wanted:
        for link in ("", "300mbit"):
            seconds = {"hook": [], "optimizer": [], "deferred": []}
            for _ in range(ROUNDS):
                for way in seconds:
                    seconds[way] += launch(build, 2, ["ways", way], **({"CASYNC_LINK": link} if link else {}))
            for way, each in seconds.items():
                print(f"{link or 'not paced'}, {way}: median {statistics.median(each) * 1e3:.0f} ms, "
                      f"least {min(each) * 1e3:.0f} ms", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
