"""Pairs in which the host waits for the GPU, which then has nothing to do until the next step is launched."""

import time

import torch
import torch.nn.functional as F

import pair
from models import Replay, adamw, mlp


class Training(pair.Pair):
    """A step is 5 ms on the GPU; Python draws its batch meanwhile."""

    def __init__(self, fixed):
        super().__init__(fixed)
        self.model = mlp(4096, 12)
        self.optimizer = adamw(self.model)
        self.replay = Replay(4096, 2048)


class Inference(pair.Pair):
    def __init__(self, fixed):
        super().__init__(fixed)
        self.model = mlp(4096, 36)
        self.replay = Replay(4096, 2048)


class LossItem(Training):
    """loss.item() in every step. Fixed: summed on the GPU."""

    family = "host"

    def train(self, steps):
        total = torch.zeros((), device="cuda")
        for _ in steps:
            x = self.replay.draw()
            loss = F.mse_loss(self.model(x), x)
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
            if self.fixed:
                total += loss.detach()
            else:
                total += loss.item()  # FAULT
        return total


class PrintedLoss(Training):
    """The loss is printed in every step. Fixed: in every fiftieth."""

    family = "host"

    def train(self, steps):
        for step in steps:
            x = self.replay.draw()
            loss = F.mse_loss(self.model(x), x)
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
            if not self.fixed or step % 50 == 49:
                print(f"step {step}: loss {loss:.4f}")  # FAULT


class NanCheck(Training):
    """`if loss.isnan()` reads the loss in every step. Fixed: in every fiftieth."""

    family = "host"

    def train(self, steps):
        for step in steps:
            x = self.replay.draw()
            loss = F.mse_loss(self.model(x), x)
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
            if not self.fixed or step % 50 == 49:
                if loss.isnan():  # FAULT
                    print("diverged")


class Synchronize(Training):
    """torch.cuda.synchronize() in every step, to time it. Fixed: without."""

    family = "host"

    def train(self, steps):
        times = []
        for _ in steps:
            start = time.perf_counter()
            x = self.replay.draw()
            loss = F.mse_loss(self.model(x), x)
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
            if not self.fixed:
                torch.cuda.synchronize()  # FAULT
            times.append(time.perf_counter() - start)
        return times


class Nonzero(Training):
    """nonzero() must know how many rows are hard to learn. Fixed: the mask itself is added up."""

    family = "host"

    def train(self, steps):
        hard = torch.zeros(2048, device="cuda")
        for _ in steps:
            x = self.replay.draw()
            losses = F.mse_loss(self.model(x), x, reduction="none").mean(dim=1)
            losses.mean().backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
            if self.fixed:
                hard += losses.detach() > 1
            else:
                hard[(losses.detach() > 1).nonzero()] += 1  # FAULT
        return hard


class BooleanMask(Inference):
    """scores[mask] must know how many rows remain. Fixed: all rows remain, the others are 0."""

    family = "host"

    @torch.inference_mode()
    def train(self, steps):
        total = torch.zeros((), device="cuda")
        for _ in steps:
            x = self.replay.draw()
            scores = self.model(x)
            mask = scores[:, 0] > 0
            if self.fixed:
                scores = torch.where(mask[:, None], scores, 0.0)
            else:
                scores = scores[mask]  # FAULT
            total += scores.sum()
        return total


class PredictionsToCpu(Inference):
    """The predictions of every step are moved to the CPU. Fixed: they stay on the GPU until the end."""

    family = "host"

    @torch.inference_mode()
    def train(self, steps):
        predictions = []
        for _ in steps:
            scores = self.model(self.replay.draw())
            if self.fixed:
                predictions.append(scores.argmax(dim=1))
            else:
                predictions.append(scores.argmax(dim=1).cpu())  # FAULT
        return torch.cat(predictions)


class ScoresToCpu(Inference):
    """All scores, 16 MB, are moved to the CPU for a metric. Fixed: the metric is computed on the GPU."""

    family = "host"

    @torch.inference_mode()
    def train(self, steps):
        highest = []
        for _ in steps:
            scores = self.model(self.replay.draw())
            if self.fixed:
                highest.append(scores[0].amax())
            else:
                highest.append(scores.cpu()[0].amax())  # FAULT
        return highest


class ItemLoop(Training):
    """A Python loop reads the losses of 128 groups one by one. Fixed: they stay on the GPU until the end."""

    family = "host"

    def train(self, steps):
        history = []
        for _ in steps:
            x = self.replay.draw()
            losses = F.mse_loss(self.model(x), x, reduction="none").view(128, -1).mean(dim=1)
            losses.mean().backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
            if self.fixed:
                history.append(losses.detach())
            else:
                history.append([group.item() for group in losses.detach()])  # FAULT
        return history


pair.run(__name__)
