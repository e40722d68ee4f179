"""Pairs in which the host is too slow: it launches too many short kernels, computes in Python, collects garbage, allocates."""

import gc
import threading

import torch
import torch.nn.functional as F

import pair
from models import BF16, Block, adamw, mlp


class ManyLaunches(pair.Pair):
    """A deep model of short kernels. Fixed: the whole step is a CUDA graph."""

    family = "host"

    def __init__(self, fixed):
        super().__init__(fixed)
        self.model = mlp(512, 64)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-5, fused=True, capturable=True)
        self.x = torch.randn(256, 512, **BF16)
        self.graph = self.capture() if fixed else None

    def step(self):
        loss = F.mse_loss(self.model(self.x), self.x)  # FAULT
        loss.backward()  # SEEN
        self.optimizer.step()  # SEEN
        self.optimizer.zero_grad()

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.step()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.step()
        return graph

    def train(self, steps):
        for _ in steps:
            if self.fixed:
                self.graph.replay()
            else:
                self.step()


class ManyLaunchesInference(pair.Pair):
    """A transformer that answers one short request at a time. Fixed: its forward pass is a CUDA graph."""

    family = "host"

    def __init__(self, fixed):
        super().__init__(fixed)
        self.model = torch.nn.Sequential(*(Block(512, 8) for _ in range(24)))
        self.x = torch.randn(1, 64, 512, **BF16)
        self.graph = self.capture() if fixed else None

    @torch.no_grad()
    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.model(self.x)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.y = self.model(self.x)
        return graph

    @torch.no_grad()
    def train(self, steps):
        for _ in steps:
            if self.fixed:
                self.graph.replay()
            else:
                self.y = self.model(self.x)  # FAULT


class PythonBetween(pair.Pair):
    """Python computes the weights of the rows anew in every step, for longer than the GPU has work. Fixed: once."""

    family = "host"

    def __init__(self, fixed):
        super().__init__(fixed)
        self.model = mlp(4096, 8)
        self.optimizer = adamw(self.model)
        self.x = torch.randn(2048, 4096, **BF16)
        self.weights = self.on_gpu([1.0] * 2048)

    def on_gpu(self, values):
        return torch.tensor(values, dtype=torch.bfloat16).pin_memory().to("cuda", non_blocking=True)

    def train(self, steps):
        weights = self.weights
        for _ in steps:
            if not self.fixed:
                values = [sum(0.5 ** age for age in range(row % 64)) for row in range(2048)]  # FAULT
                weights = self.on_gpu(values)
            losses = F.mse_loss(self.model(self.x), self.x, reduction="none").mean(dim=1)
            (losses @ weights).backward()
            self.optimizer.step()
            self.optimizer.zero_grad()


class GarbageCollection(pair.Pair):
    """gc.collect() in every step looks at 300,000 lists. Fixed: without."""

    family = "host"
    records = None  # one list for both programs: a collection looks at the objects of all that live

    def __init__(self, fixed):
        super().__init__(fixed)
        if not GarbageCollection.records:
            gc.freeze()  # not at the objects of torch, which would take ten times as long
            GarbageCollection.records = [[number] for number in range(300000)]
        self.model = mlp(4096, 12)
        self.optimizer = adamw(self.model)
        self.x = torch.randn(2048, 4096, **BF16)

    def train(self, steps):
        for _ in steps:
            loss = F.mse_loss(self.model(self.x), self.x)
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
            if not self.fixed:
                gc.collect()  # FAULT


class EmptyCache(pair.Pair):
    """torch.cuda.empty_cache() in every step: it frees what the next step allocates again. Fixed: without."""

    family = "host"

    def __init__(self, fixed):
        super().__init__(fixed)
        self.model = mlp(4096, 12)
        self.optimizer = adamw(self.model)
        self.x = torch.randn(2048, 4096, **BF16)

    def train(self, steps):
        for _ in steps:
            loss = F.mse_loss(self.model(self.x), self.x)
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
            if not self.fixed:
                torch.cuda.empty_cache()  # FAULT


class Monitor(threading.Thread):
    """Watches a training from a thread of its own."""

    def __init__(self):
        super().__init__(daemon=True)
        self.ended = threading.Event()
        self.values = [float(number) for number in range(200000)]

    def run(self):
        while not self.ended.wait(0.001):
            sum(value * value for value in self.values)  # FAULT of BusyThread


class BusyThread(pair.Pair):
    """A thread computes in Python, and the thread that launches waits for the GIL. Fixed: without the thread."""

    family = "host"

    def __init__(self, fixed):
        super().__init__(fixed)
        self.model = mlp(4096, 8)
        self.optimizer = adamw(self.model)
        self.x = torch.randn(2048, 4096, **BF16)

    def train(self, steps):
        monitor = Monitor()
        if not self.fixed:
            monitor.start()
        for _ in steps:
            loss = F.mse_loss(self.model(self.x), self.x)
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
        if not self.fixed:
            monitor.ended.set()
            monitor.join()


class TunedEachStep(pair.Pair):
    """cuDNN times its kernels for images that have another size in each step. Fixed: it chooses without."""

    family = "host"

    def __init__(self, fixed):
        super().__init__(fixed)
        self.model = torch.nn.Conv2d(64, 64, 3, padding=1, **BF16)  # each size takes cuDNN some 0.2 s
        self.optimizer = adamw(self.model)
        self.count = 0

    def images(self):
        """Of a size that was not there before, for 4096 steps."""
        self.count += 1
        return torch.randn(16, 64, 64 + self.count % 64, 64 + self.count // 64 % 64, **BF16)

    def train(self, steps):
        torch.backends.cudnn.benchmark = not self.fixed  # FAULT
        for _ in steps:
            x = self.images()
            y = self.model(x)  # SEEN
            F.mse_loss(y, x).backward()  # SEEN
            self.optimizer.step()
            self.optimizer.zero_grad()


pair.run(__name__)
