"""Pairs in which the model does more than it must."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

import pair
from models import BF16, adamw, mlp


class SmallBatches(pair.Pair):
    """Sixteen batches of 64 rows for a step, although the GPU has room for all. Fixed: one of 1024."""

    family = "model"

    def __init__(self, fixed):
        super().__init__(fixed)
        self.model = mlp(8192, 4)
        self.optimizer = adamw(self.model)
        self.x = torch.randn(1024, 8192, **BF16)

    def train(self, steps):
        size = 1024 if self.fixed else 64
        for _ in steps:
            for x in self.x.split(size):  # FAULT
                loss = F.mse_loss(self.model(x), x)  # SEEN
                (loss * (size / 1024)).backward()  # SEEN
            self.optimizer.step()
            self.optimizer.zero_grad()


class Checkpointing(pair.Pair):
    """Activations are computed twice, although the GPU has room for them. Fixed: they are kept."""

    family = "model"

    def __init__(self, fixed):
        super().__init__(fixed)
        self.blocks = nn.ModuleList(mlp(4096, 4) for _ in range(4))
        self.optimizer = adamw(self.blocks)
        self.x = torch.randn(2048, 4096, **BF16)

    def train(self, steps):
        for _ in steps:
            y = self.x
            for block in self.blocks:
                y = block(y) if self.fixed else checkpoint(block, y, use_reentrant=False)  # FAULT
            F.mse_loss(y, self.x).backward()  # SEEN
            self.optimizer.step()
            self.optimizer.zero_grad()


class AnomalyDetection(pair.Pair):
    """Autograd checks every gradient for NaN. Fixed: it does not."""

    family = "model"

    def __init__(self, fixed):
        super().__init__(fixed)
        self.model = mlp(4096, 8)
        self.optimizer = adamw(self.model)
        self.x = torch.randn(4096, 4096, **BF16)

    def train(self, steps):
        torch.autograd.set_detect_anomaly(not self.fixed)  # FAULT
        for _ in steps:
            loss = F.mse_loss(self.model(self.x), self.x)  # SEEN
            loss.backward()  # SEEN
            self.optimizer.step()
            self.optimizer.zero_grad()
        torch.autograd.set_detect_anomaly(False)


class FrozenBackbone(pair.Pair):
    """Autograd computes gradients of layers that are not trained. Fixed: these run under no_grad()."""

    family = "model"

    def __init__(self, fixed):
        super().__init__(fixed)
        self.backbone, self.head = mlp(4096, 10), mlp(4096, 2)
        self.optimizer = adamw(self.head)
        self.x = torch.randn(2048, 4096, **BF16)

    def train(self, steps):
        for _ in steps:
            with torch.set_grad_enabled(not self.fixed):
                features = self.backbone(self.x)  # FAULT
            F.mse_loss(self.head(features), self.x).backward()  # SEEN
            self.optimizer.step()
            self.optimizer.zero_grad()
            self.backbone.zero_grad()


pair.run(__name__)
