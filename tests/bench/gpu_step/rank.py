# SPDX-License-Identifier: Apache-2.0
"""One rank of one case of run.py: prints results as JSON, a line each."""

import contextlib
import hashlib
import json
import os
import statistics
import sys
import threading
import time

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.nn.parallel import DistributedDataParallel

LAYERS, WIDTH = 24, 1024  # 100.8 MB of gradients
WARM_UP = 5
RANK, RANKS = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


def tell(result):
    print("RESULT " + json.dumps(result), flush=True)


def import_casync():
    """The plugin, also with a PyTorch that is older than those it is tested with."""
    if tuple(int(part) for part in torch.__version__.split(".")[:2]) < (2, 13):
        torch.__version__ = torch.torch_version.TorchVersion("2.13.0")
    import casync.torch

    return casync


def synchronize(ddp, way):
    """Registers the hook of a way; returns CaSync's State, or None."""
    if way == "fp16":
        ddp.register_comm_hook(None, default_hooks.fp16_compress_hook)
    elif way.startswith(("casync-", "node-")):
        casync = import_casync()
        kind, codec = way.split("-", 1)
        state = casync.torch.State(codec=codec, local_group=node_of_one(ddp) if kind == "node" else None)
        ddp.register_comm_hook(state, casync.torch.comm_hook)
        return state
    return None


def node_of_one(ddp):
    """A group of this rank alone, through NCCL on a GPU."""
    backend = "nccl" if next(ddp.parameters()).is_cuda else "gloo"
    return [dist.new_group([rank], backend=backend) for rank in range(RANKS)][RANK]


def layers(device):
    torch.manual_seed(0)
    return torch.nn.Sequential(*(torch.nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS))).to(device)


def wait_for(device):
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def ddp_step(device, way, seconds):
    """Time of a step: zero_grad, forward and backward pass, until its gradients are averaged."""
    ddp = DistributedDataParallel(layers(device), bucket_cap_mb=12)
    state = synchronize(ddp, way)
    x = torch.randn(8, WIDTH, device=device)

    def step():
        ddp.zero_grad()
        ddp(x).square().mean().backward()
        wait_for(device)

    for _ in range(WARM_UP):
        step()
    dist.barrier()
    times, begin, enough = [], time.monotonic(), torch.zeros(1)
    while not enough:
        for _ in range(3):
            start = time.monotonic()
            step()
            times.append(1e3 * (time.monotonic() - start))
        enough[0] = time.monotonic() - begin > seconds
        dist.broadcast(enough, 0)
    transport = "gloo"
    if state:
        transport = state.stats()["transport"].split(" ")[0]
        state.close()
    return {"min_ms": min(times), "median_ms": statistics.median(times), "steps": len(times), "transport": transport}


def ddp_steps(device, ways, seconds=1.5):
    """The times of several ways, one after the other."""
    dist.init_process_group("gloo")
    for way in ways.split(","):
        tell({"way": way, **ddp_step(device, way, seconds)})
    dist.destroy_process_group()


class Told(torch.autograd.Function):
    """A parameter whose gradient is the tensor that it is told."""

    @staticmethod
    def forward(ctx, parameter, gradient):
        ctx.save_for_backward(gradient)
        return parameter.sum()

    @staticmethod
    def backward(ctx, _):
        return ctx.saved_tensors[0].clone(), None


class Net(torch.nn.Module):
    SHAPES = [(64, 3, 7, 7), (64,), (256, 64, 1, 1), (512, 512, 3, 3), (1000, 2048), (1000,), (1,)]

    def __init__(self):
        super().__init__()
        self.parts = torch.nn.ParameterList(torch.nn.Parameter(torch.zeros(shape)) for shape in self.SHAPES)

    def forward(self, gradients):
        return sum(Told.apply(part, gradient) for part, gradient in zip(self.parts, gradients))


def gradients_of(step, rank):
    generator = torch.Generator().manual_seed(1000 * step + rank)
    return [torch.randn(shape, generator=generator) * 10.0 ** (i - 3) for i, shape in enumerate(Net.SHAPES)]


def averaged(device, way):
    """A model without values of its own, a function that averages its gradients for a step, and one that ends it all and
    returns the residuals by name."""
    net = Net().to(device)
    if way.startswith("optimizer-"):
        casync = import_casync()
        sgd, named = torch.optim.SGD(net.parameters(), lr=0.1), net.named_parameters()
        optimizer = casync.torch.DistributedOptimizer(sgd, named, codec=way.removeprefix("optimizer-"))

        def average(gradients):
            if optimizer.casync.last_step is not None:
                optimizer.step()  # of the previous step: its gradients have been read
            optimizer.zero_grad()
            net(gradients).backward()
            optimizer.synchronize()

        return net, average, lambda: {}
    ddp = DistributedDataParallel(net, bucket_cap_mb=4)
    state = synchronize(ddp, way)

    def average(gradients):
        ddp.zero_grad()
        ddp(gradients).backward()

    def end():
        kept = state.state_dict()["gradients"]
        state.close()
        return {name: torch.as_tensor(one["residual"]) for name, one in kept.items()}

    return net, average, end


def average_bytes(device, way, steps=12):
    """A digest of all averages and residuals: those of a session on the CPU and on a GPU are equal."""
    if way == "futures":
        return read_through_futures(device)
    dist.init_process_group("gloo")
    net, average, end = averaged(device, way)
    digest, wrong = hashlib.sha256(), 0
    for step in range(steps):
        average([one.to(device) for one in gradients_of(step, RANK)])
        # Read at once in the stream of the program, which is all that DDP promises.
        found = [part.grad.cpu() for part in net.parts]
        if way.endswith("-none") and RANKS == 2:
            both = zip(gradients_of(step, 0), gradients_of(step, 1))
            wrong += sum(not torch.equal(one, (a + b) / 2) for one, (a, b) in zip(found, both))
        for one in found:
            digest.update(one.numpy().tobytes())
    kept = end()
    dist.destroy_process_group()
    for name in sorted(kept):
        digest.update(kept[name].numpy().tobytes())
    tell({"digest": digest.hexdigest(), "wrong": wrong})


class Constants(torch.nn.Module):
    """Parameters whose gradients are one number in all elements."""

    COUNT, SIZE = 10, 1_000_000

    def __init__(self):
        super().__init__()
        self.parts = torch.nn.ParameterList(torch.nn.Parameter(torch.zeros(self.SIZE)) for _ in range(self.COUNT))

    def forward(self, number):
        return sum(Told.apply(part, torch.full_like(part, number)) for part in self.parts)


def read_through_futures(device, steps=5):
    """Averages as another stream of high priority finds them, which waits for a bucket's future: pytorch#155714, where
    that stream reads what was there earlier."""
    dist.init_process_group("gloo")
    casync = import_casync()
    ddp = DistributedDataParallel(Constants().to(device), bucket_cap_mb=3)  # a bucket for each, after the first step
    state = casync.torch.State(codec="none")
    stream = torch.cuda.Stream(device, priority=-1) if device.type == "cuda" else None
    found = []

    def look(future):
        with torch.cuda.stream(stream) if stream else contextlib.nullcontext():
            bucket = future.wait()
            found.append(bucket[-1].item())
        return bucket

    ddp.register_comm_hook(state, lambda state, bucket: casync.torch.comm_hook(state, bucket).then(look))
    wanted = []
    for step in range(steps):
        ddp.zero_grad()
        ddp(float(RANK + step)).backward()
        wanted += [(RANKS - 1) / 2 + step] * (len(found) - len(wanted))
    state.close()
    dist.destroy_process_group()
    wrong = sum(one != expected for one, expected in zip(found, wanted))
    wrong += len(found) <= (steps - 1) * Constants.COUNT
    tell({"digest": hashlib.sha256(repr(found).encode()).hexdigest(), "wrong": wrong})


GRADIENTS, ELEMENTS = 6, 4 << 20  # of each of the two sessions
STOP, STEPS = threading.Event(), [0, 0]


def synchronize_until(casync, device, codec, rank):
    """Steps of one of two sessions of this process, until STOP."""
    place = dict(rank=rank, size=2, rendezvous=os.environ["RENDEZVOUS"], transport="ucx:shm", device=str(device))
    stream = torch.cuda.Stream(device)
    with torch.cuda.stream(stream), casync.Session(codec=codec, **place) as session:
        ids = [session.declare(f"g{i}", [ELEMENTS]) for i in range(GRADIENTS)] + [session.declare("stop", [1])]
        memory = [torch.randn(ELEMENTS, device=device) for _ in range(GRADIENTS)]
        while True:
            memory[GRADIENTS:] = [torch.tensor([float(STOP.is_set())], device=device)]  # they stop together
            addresses, sizes = [one.data_ptr() for one in memory], [4 * one.numel() for one in memory]
            for handle in session.submit_memory(ids, addresses, sizes, memory, stream=stream.cuda_stream):
                handle.wait()
            session.step()
            STEPS[rank] += 1
            if memory[GRADIENTS].item() > 0:
                return


def slowdown(device, codec, seconds=1.5):
    """Time of a backward pass of large matrices alone, and with two sessions of this process whose codecs run meanwhile."""
    casync = import_casync()
    torch.manual_seed(0)
    width, depth, batch = 4096, 12, 4096
    net = torch.nn.Sequential(*(torch.nn.Linear(width, width) for _ in range(depth))).to(device, torch.bfloat16)
    x = torch.randn(batch, width, device=device, dtype=torch.bfloat16)

    def backward_ms():
        loss = net(x).float().square().mean()
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        loss.backward()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end)

    sessions = [threading.Thread(target=synchronize_until, args=(casync, device, codec, rank)) for rank in range(2)]
    for _ in range(10):
        backward_ms()
    alone = [backward_ms() for _ in range(30)]
    for thread in sessions:
        thread.start()
    while min(STEPS) < 3 and all(thread.is_alive() for thread in sessions):
        time.sleep(0.01)
    begin, before, beside = time.monotonic(), STEPS[0], []
    while time.monotonic() - begin < seconds:
        beside.append(backward_ms())
    rate = (STEPS[0] - before) / (time.monotonic() - begin)
    STOP.set()
    for thread in sessions:
        thread.join()
    again = [backward_ms() for _ in range(30)]
    tell(
        {
            "alone_ms": statistics.median(alone + again),
            "beside_ms": statistics.median(beside),
            "steps_per_s": rate,
            "mb_per_step": GRADIENTS * ELEMENTS * 4 / 1e6,
        }
    )


def main():
    case, device, way = sys.argv[1:4]
    torch.set_num_threads(1)
    device = torch.device(device)
    {"step": ddp_steps, "bytes": average_bytes, "slowdown": slowdown}[case](device, way)


if __name__ == "__main__":
    main()
