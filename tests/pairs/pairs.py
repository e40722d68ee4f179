"""Programs with one fault each, and the same without it. `python3 pairs.py NAME faulty` runs one of them for a profiler;
`python3 pairs.py NAME both` times both in turn, bare, and prints the times of a step in µs as JSON. run.py compares."""

import json
import sys
import time

import torch

STEPS, WARMUP, ROUNDS = 60, 15, 15


def layers(width, count):
    return torch.nn.Sequential(*(torch.nn.Linear(width, width) for _ in range(count))).cuda()


def busy(milliseconds):
    """Python at work: no sleep, which would give the CPU away."""
    end = time.perf_counter() + milliseconds / 1000
    while time.perf_counter() < end:
        pass


class Pair:
    """A step with the fault and without it. change: what the fix means for `tacho what-if`."""

    def __init__(self):
        self.total = torch.zeros((), device="cuda")

    def begin(self, name):
        torch.cuda.nvtx.range_push(name)

    def end(self):
        torch.cuda.nvtx.range_pop()


class ItemEachStep(Pair):
    """loss.item() in every step: the GPU runs dry while the next step is launched."""

    change = ["--no-wait", "loss_item"]

    def __init__(self):
        super().__init__()
        self.model, self.x = layers(2048, 40), torch.randn(512, 2048, device="cuda")

    def step(self, faulty):
        with torch.no_grad():
            loss = self.model(self.x).mean()
        if faulty:
            self.begin("loss_item")
            loss.item()
            self.end()
        else:
            self.total += loss


class MaskInTheMiddle(Pair):
    """x[mask] must know how many rows remain: the host waits in the middle of the step."""

    change = ["--no-wait", "select"]

    def __init__(self):
        super().__init__()
        self.model, self.x = layers(2048, 20), torch.randn(1024, 2048, device="cuda")
        self.mask = torch.arange(1024, device="cuda") % 2 == 0
        self.rows = self.mask.nonzero().flatten()

    def step(self, faulty):
        with torch.no_grad():
            y = self.model(self.x)
            self.begin("select")
            y = y[self.mask] if faulty else y.index_select(0, self.rows)
            self.end()
            self.model(y)


class SynchronizeEachStep(Pair):
    """torch.cuda.synchronize() after each step of many small kernels: nothing of the next one is launched meanwhile."""

    change = ["--no-wait", "cudaDeviceSynchronize"]

    def __init__(self):
        super().__init__()
        self.model, self.x = layers(1024, 60), torch.randn(1024, 1024, device="cuda")

    def step(self, faulty):
        with torch.no_grad():
            self.model(self.x)
        if faulty:
            torch.cuda.synchronize()


class PythonBetween(Pair):
    """Python that computes for 2 ms in each step, about as long as the GPU has work."""

    change = ["--no-host", "preprocess"]

    def __init__(self):
        super().__init__()
        self.model, self.x = layers(2048, 20), torch.randn(512, 2048, device="cuda")

    def step(self, faulty):
        self.begin("preprocess")
        if faulty:
            busy(2)
        self.end()
        with torch.no_grad():
            self.model(self.x)


class PythonBehindTheGpu(PythonBetween):
    """The same where the GPU has work for longer: it saves less than 2 ms, or nothing."""

    def __init__(self):
        super().__init__()
        self.model, self.x = layers(4096, 20), torch.randn(2048, 4096, device="cuda")


class BlockingCopy(Pair):
    """A copy of pinned memory that the host waits for, without need."""

    change = ["--no-wait", "upload"]

    def __init__(self):
        super().__init__()
        self.model, self.x = layers(2048, 30), torch.randn(512, 2048).pin_memory()

    def step(self, faulty):
        self.begin("upload")
        x = self.x.to("cuda", non_blocking=not faulty)
        self.end()
        with torch.no_grad():
            self.model(x)


class SlowKernels(Pair):
    """Twice the elements that are needed, in a program bound by the GPU."""

    change = ["--kernel", "exp=0.5x"]

    def __init__(self):
        super().__init__()
        self.x = torch.rand(1 << 25, device="cuda")
        self.half = self.x[: 1 << 24].clone()

    def step(self, faulty):
        for _ in range(20):
            torch.exp(self.x if faulty else self.half)


class SlowKernelsBehindTheHost(SlowKernels):
    """The same kernels, but Python takes longer than they do: faster ones save nothing."""

    def step(self, faulty):
        super().step(faulty)
        busy(5)


class InlineLoader(Pair):
    """Batches are made between the steps, on the thread that launches."""

    change = ["--no-host", "next_batch"]

    def __init__(self):
        super().__init__()
        self.model = layers(2048, 40)
        self.batches = [torch.randn(512, 2048).pin_memory() for _ in range(4)]
        self.at = 0

    def step(self, faulty):
        self.begin("next_batch")
        if faulty:
            busy(1.5)
        self.at = (self.at + 1) % 4
        self.end()
        x = self.batches[self.at].to("cuda", non_blocking=True)
        with torch.no_grad():
            loss = self.model(x).mean()
        self.total += loss


PAIRS = {pair.__name__: pair for pair in (ItemEachStep, MaskInTheMiddle, SynchronizeEachStep, PythonBetween, PythonBehindTheGpu,
                                          BlockingCopy, SlowKernels, SlowKernelsBehindTheHost, InlineLoader)}


def run(pair, faulty, steps):
    """The time of a step in µs. Marks the steps for a profiler."""
    torch.cuda.synchronize()
    start = time.perf_counter()
    for i in range(steps):
        torch.cuda.nvtx.range_push(f"step {i}")
        pair.step(faulty)
        torch.cuda.nvtx.range_pop()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / steps * 1e6


def main(name, what):
    pair = PAIRS[name]()
    run(pair, True, WARMUP)
    if what == "faulty":
        torch.cuda.cudart().cudaProfilerStart()
        print(json.dumps({"faulty": [run(pair, True, STEPS)]}))
        torch.cuda.cudart().cudaProfilerStop()
        return
    run(pair, False, WARMUP)
    times = {"faulty": [], "fixed": []}
    for _ in range(ROUNDS):
        times["faulty"].append(run(pair, True, STEPS))
        times["fixed"].append(run(pair, False, STEPS))
    print(json.dumps(times))


if __name__ == "__main__":
    main(*sys.argv[1:])
