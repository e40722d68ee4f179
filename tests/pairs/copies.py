"""Pairs in which copies between host and GPU cost too much."""

import torch
import torch.nn.functional as F

import pair
from models import BF16, Replay, adamw, mlp


class PageableCopy(pair.Pair):
    """Batches of 8 MB lie in pageable memory: non_blocking=True has no effect. Fixed: in pinned memory."""

    family = "copies"

    def __init__(self, fixed):
        super().__init__(fixed)
        self.model = mlp(4096, 12, edge=2048)
        self.optimizer = adamw(self.model)
        self.batches = [torch.randn(2048, 2048, dtype=torch.bfloat16) for _ in range(4)]
        if fixed:
            self.batches = [batch.pin_memory() for batch in self.batches]

    def train(self, steps):
        for step in steps:
            x = self.batches[step % 4].to("cuda", non_blocking=True)  # FAULT
            F.mse_loss(self.model(x), x).backward()
            self.optimizer.step()
            self.optimizer.zero_grad()


class BlockingCopy(pair.Pair):
    """The host waits for a copy of pinned memory, although nothing needs it to. Fixed: non_blocking=True."""

    family = "copies"

    def __init__(self, fixed):
        super().__init__(fixed)
        self.model = mlp(4096, 12, edge=2048)
        self.optimizer = adamw(self.model)
        self.replay = Replay(2048, 2048)
        self.targets = [torch.randn(2048, 2048, dtype=torch.bfloat16).pin_memory() for _ in range(4)]

    def train(self, steps):
        for step in steps:
            y = self.targets[step % 4].to("cuda", non_blocking=self.fixed)  # FAULT
            x = self.replay.draw()
            F.mse_loss(self.model(x), y).backward()
            self.optimizer.step()
            self.optimizer.zero_grad()


class SmallCopies(pair.Pair):
    """The 512 samples of a batch are copied one by one. Fixed: the batch is put together first."""

    family = "copies"

    def __init__(self, fixed):
        super().__init__(fixed)
        self.model = mlp(4096, 16, edge=2048)
        self.optimizer = adamw(self.model)
        self.samples = list(torch.randn(512, 2048, dtype=torch.bfloat16).pin_memory())

    def train(self, steps):
        for _ in steps:
            if self.fixed:
                x = torch.stack(self.samples).pin_memory().to("cuda", non_blocking=True)
            else:
                x = torch.stack([sample.to("cuda", non_blocking=True) for sample in self.samples])  # FAULT
            F.mse_loss(self.model(x), x).backward()
            self.optimizer.step()
            self.optimizer.zero_grad()


class MadeOnCpu(pair.Pair):
    """Noise is made on the CPU and then moved. Fixed: made on the GPU."""

    family = "copies"

    def __init__(self, fixed):
        super().__init__(fixed)
        self.model = mlp(4096, 12, edge=256)
        self.optimizer = adamw(self.model)

    def train(self, steps):
        for _ in steps:
            if self.fixed:
                noise = torch.randn(2048, 256, device="cuda")
            else:
                noise = torch.randn(2048, 256).to("cuda")  # FAULT
            x = noise.bfloat16()
            F.mse_loss(self.model(x), x).backward()
            self.optimizer.step()
            self.optimizer.zero_grad()


class SameBytes(pair.Pair):
    """The same table of 16 MB is copied in every step. Fixed: once."""

    family = "copies"

    def __init__(self, fixed):
        super().__init__(fixed)
        self.model = mlp(4096, 12)
        self.optimizer = adamw(self.model)
        self.x = torch.randn(2048, 4096, **BF16)
        self.positions = torch.randn(2048, 4096, dtype=torch.bfloat16)
        if fixed:
            self.positions = self.positions.to("cuda")

    def train(self, steps):
        for _ in steps:
            x = self.x + self.positions.to("cuda")  # FAULT
            F.mse_loss(self.model(x), self.x).backward()
            self.optimizer.step()
            self.optimizer.zero_grad()


pair.run(__name__)
