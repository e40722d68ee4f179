"""Programs with two faults: what both cost together is not the sum of what each does."""

import torch
import torch.nn.functional as F
from torch import nn

import pair
from models import Replay, adamw, mlp


class ItemAndFloat32(pair.Pair):
    """loss.item() in every step, and a last layer in float32."""

    family = "host, kernels"
    faults = 2

    def __init__(self, fixed):
        super().__init__(fixed)
        self.model = mlp(4096, 8)
        self.head = nn.Linear(4096, 4096, device="cuda", dtype=torch.bfloat16 if fixed else torch.float32)
        self.optimizer = torch.optim.AdamW([*self.model.parameters(), *self.head.parameters()], lr=1e-5, fused=True)
        self.replay = Replay(4096, 2048)

    def train(self, steps):
        total = torch.zeros((), device="cuda")
        for _ in steps:
            hidden = self.model(self.replay.draw())
            y = self.head(hidden) if self.fixed else self.head(hidden.float())  # FAULT
            loss = y.mean()
            loss.backward()  # SEEN
            self.optimizer.step()
            self.optimizer.zero_grad()
            if self.fixed:
                total += loss.detach()
            else:
                total += loss.item()  # FAULT
        return total


class PageableAndPython(pair.Pair):
    """A copy of pageable memory, and Python that computes beside it: without the copy, the GPU hides most of the Python."""

    family = "host, copies"
    faults = 2

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
            if not self.fixed:
                sum(0.5 ** (row % 64) for row in range(40000))  # FAULT
            F.mse_loss(self.model(x), x).backward()
            self.optimizer.step()
            self.optimizer.zero_grad()


pair.run(__name__)
