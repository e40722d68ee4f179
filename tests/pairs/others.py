"""Pairs that were written when the rules were done, with other models and other ways to make the same faults. No rule was
changed after looking at their captures; docs/advice.md has the figures."""

import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import pair
from models import BF16, Block, adamw, mlp


def convolutions(width, depth, **options):
    layers = [nn.Conv2d(3, width, 3, padding=1, **options)]
    for _ in range(depth):
        layers += [nn.Conv2d(width, width, 3, padding=1, bias=False, **options), nn.BatchNorm2d(width, **options), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 100, **options))


class AccuracyItem(pair.Pair):
    """A convolution network counts its hits with .item() in every step. Fixed: on the GPU."""

    family = "host"

    def __init__(self, fixed):
        super().__init__(fixed)
        self.model = convolutions(128, 12, **BF16).to(memory_format=torch.channels_last)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-4, momentum=0.9, fused=True)
        self.images = torch.randn(128, 3, 64, 64, **BF16).to(memory_format=torch.channels_last)
        self.labels = torch.randint(100, (128,), device="cuda")

    def train(self, steps):
        hits = torch.zeros((), device="cuda", dtype=torch.long)
        for _ in steps:
            scores = self.model(self.images)
            loss = F.cross_entropy(scores, self.labels)
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
            right = (scores.argmax(1) == self.labels).sum()
            if self.fixed:
                hits += right
            else:
                hits += right.item()  # FAULT


class GradientNorms(pair.Pair):
    """The norm of each parameter's gradient is read for a log. Fixed: all norms in one tensor, read every fiftieth step."""

    family = "host"

    def __init__(self, fixed):
        super().__init__(fixed)
        self.model = nn.Sequential(*[Block(2048, 16) for _ in range(4)])
        self.optimizer = adamw(self.model)
        self.x = torch.randn(8, 512, 2048, **BF16)

    def train(self, steps):
        norms = []
        for step in steps:
            loss = self.model(self.x).square().mean()
            loss.backward()
            if not self.fixed:
                norms = [p.grad.norm().item() for p in self.model.parameters()]  # FAULT
            elif step % 50 == 49:
                norms = torch.stack(torch._foreach_norm([p.grad for p in self.model.parameters()])).tolist()
            self.optimizer.step()
            self.optimizer.zero_grad()
        return norms


class SynchronizedHooks(pair.Pair):
    """Hooks that time layers synchronize the GPU around each. Fixed: without them."""

    family = "host"

    def __init__(self, fixed):
        super().__init__(fixed)
        self.model = nn.Sequential(*[Block(1024, 16) for _ in range(8)])
        self.optimizer = adamw(self.model)
        self.x = torch.randn(16, 1024, 1024, **BF16)
        self.times = []
        if not fixed:
            for layer in self.model:
                layer.register_forward_hook(self.note_time)

    def note_time(self, _module, _inputs, _output):
        torch.cuda.synchronize()  # FAULT
        self.times.append(time.perf_counter())

    def train(self, steps):
        for _ in steps:
            self.times.clear()
            loss = self.model(self.x).square().mean()  # SEEN
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()


class LengthsToCpu(pair.Pair):
    """A recurrent network packs sequences whose lengths lie on the GPU. Fixed: they lie on the CPU."""

    family = "host"

    def __init__(self, fixed):
        super().__init__(fixed)
        self.rnn = nn.LSTM(512, 512, num_layers=2, batch_first=True, device="cuda")
        self.head = mlp(4096, 8, edge=512)
        self.optimizer = torch.optim.AdamW([*self.rnn.parameters(), *self.head.parameters()], lr=1e-5, fused=True)
        self.x = torch.randn(256, 24, 512, device="cuda")
        self.on_cpu = torch.randint(8, 25, (256,))
        self.lengths = self.on_cpu.cuda()

    def train(self, steps):
        for _ in steps:
            lengths = self.on_cpu if self.fixed else self.lengths.cpu()  # FAULT
            packed = nn.utils.rnn.pack_padded_sequence(self.x, lengths, batch_first=True, enforce_sorted=False)
            out, _ = self.rnn(packed)
            loss = self.head(out.data.bfloat16()).square().mean()
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()


class SmallNetwork(pair.Pair):
    """A small convolution network answers one image at a time. Fixed: as a CUDA graph."""

    family = "host"

    def __init__(self, fixed):
        super().__init__(fixed)
        self.model = convolutions(32, 40, **BF16).eval()
        self.image = torch.randn(1, 3, 32, 32, **BF16)
        if fixed:
            stream = torch.cuda.Stream()
            with torch.no_grad(), torch.cuda.stream(stream):
                for _ in range(3):
                    self.model(self.image)
            stream.synchronize()
            self.graph = torch.cuda.CUDAGraph()
            with torch.no_grad(), torch.cuda.graph(self.graph):
                self.scores = self.model(self.image)

    def train(self, steps):
        with torch.no_grad():
            for _ in steps:
                if self.fixed:
                    self.graph.replay()
                else:
                    self.scores = self.model(self.image)  # FAULT


class HostEnvironment(pair.Pair):
    """A game is played by Python for each of many players before the network learns. Fixed: NumPy plays for all at once."""

    family = "host"
    players = 4096

    def __init__(self, fixed):
        super().__init__(fixed)
        self.model = mlp(4096, 8, edge=64)
        self.optimizer = adamw(self.model)
        self.state = np.random.default_rng(0).standard_normal((self.players, 64), dtype=np.float32)
        self.place = torch.empty(self.players, 64).pin_memory()

    def play(self):
        """The new state of each player: turned by one, less one hundredth."""
        if self.fixed:
            self.state = np.roll(self.state, 1, axis=1) * np.float32(0.99)
        else:
            for player in range(self.players):  # FAULT
                row = self.state[player]  # FAULT
                self.state[player] = np.concatenate((row[-1:], row[:-1])) * np.float32(0.99)  # FAULT

    def train(self, steps):
        for _ in steps:
            self.play()  # SEEN
            self.place.copy_(torch.from_numpy(self.state))
            x = self.place.to("cuda", torch.bfloat16, non_blocking=True)
            loss = F.mse_loss(self.model(x), x)
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()


class PageableImages(pair.Pair):
    """A discriminator's images come from pageable memory. Fixed: pinned, and not waited for."""

    family = "copies"

    def __init__(self, fixed):
        super().__init__(fixed)
        self.model = convolutions(64, 6, **BF16).to(memory_format=torch.channels_last)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-5, fused=True)
        images = torch.randn(4, 128, 3, 128, 128)
        self.batches = [batch.pin_memory() if fixed else batch.clone() for batch in images]

    def train(self, steps):
        for step in steps:
            images = self.batches[step % 4].to("cuda", non_blocking=self.fixed)  # FAULT
            scores = self.model(images.to(torch.bfloat16, memory_format=torch.channels_last))
            loss = F.softplus(scores).mean()
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()


class ConvolutionTf32Off(pair.Pair):
    """An autoencoder of float32 convolutions without TF32. Fixed: with it."""

    family = "kernels"

    def __init__(self, fixed):
        super().__init__(fixed)
        down = [nn.Sequential(nn.Conv2d(a, b, 4, 2, 1), nn.SiLU()) for a, b in ((3, 128), (128, 256), (256, 512))]
        up = [nn.Sequential(nn.ConvTranspose2d(a, b, 4, 2, 1), nn.SiLU()) for a, b in ((512, 256), (256, 128))]
        self.model = nn.Sequential(*down, *up, nn.ConvTranspose2d(128, 3, 4, 2, 1)).to("cuda", memory_format=torch.channels_last)
        self.optimizer = adamw(self.model)
        self.x = torch.rand(32, 3, 128, 128, device="cuda").to(memory_format=torch.channels_last)

    def train(self, steps):
        torch.backends.cudnn.allow_tf32 = self.fixed
        for _ in steps:
            loss = F.l1_loss(self.model(self.x), self.x)  # FAULT
            loss.backward()  # SEEN
            self.optimizer.step()
            self.optimizer.zero_grad()


class CausalBlock(Block):
    def attend(self, q, k, v):
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5  # FAULT of CausalAttention
        hidden = torch.ones(scores.shape[-2:], device="cuda", dtype=torch.bool).triu(1)
        return scores.masked_fill(hidden, float("-inf")).softmax(-1) @ v  # FAULT of CausalAttention


class FusedBlock(Block):
    def attend(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)


class CausalAttention(pair.Pair):
    """A decoder writes its masked attention out. Fixed: scaled_dot_product_attention."""

    family = "kernels"

    def __init__(self, fixed):
        super().__init__(fixed)
        self.model = nn.Sequential(*[(FusedBlock if fixed else CausalBlock)(1024, 16) for _ in range(4)])
        self.optimizer = adamw(self.model)
        self.x = torch.randn(4, 2048, 1024, **BF16)

    def train(self, steps):
        for _ in steps:
            loss = self.model(self.x).square().mean()  # SEEN
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()


class WrittenNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width, **BF16))

    def forward(self, x):
        scale = torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-6)  # FAULT of RootMeanSquare
        return (x.float() * scale).to(x.dtype) * self.weight  # FAULT of RootMeanSquare


class RootMeanSquare(pair.Pair):
    """A norm is written out in pointwise operators. Fixed: nn.RMSNorm."""

    family = "kernels"

    def __init__(self, fixed):
        super().__init__(fixed)
        norm = (lambda: nn.RMSNorm(2048, **BF16)) if fixed else (lambda: WrittenNorm(2048))
        self.model = nn.Sequential(*[layer for _ in range(8) for layer in (norm(), nn.Linear(2048, 2048, **BF16))])
        self.x = torch.randn(16384, 2048, **BF16)

    def train(self, steps):
        with torch.no_grad():
            for _ in steps:
                self.model(self.x)  # SEEN


class AveragedWeights(pair.Pair):
    """The running mean of the weights is updated tensor by tensor. Fixed: torch._foreach_lerp_."""

    family = "kernels"

    def __init__(self, fixed):
        super().__init__(fixed)
        self.model = nn.Sequential(*[Block(512, 8) for _ in range(16)])
        self.optimizer = adamw(self.model)
        self.means = [p.detach().clone() for p in self.model.parameters()]
        self.x = torch.randn(128, 512, 512, **BF16)

    def train(self, steps):
        parameters = [p.detach() for p in self.model.parameters()]
        for _ in steps:
            loss = self.model(self.x).square().mean()
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
            if self.fixed:
                torch._foreach_lerp_(self.means, parameters, 0.01)
            else:
                for mean, parameter in zip(self.means, parameters):  # FAULT
                    mean.mul_(0.99).add_(parameter, alpha=0.01)  # FAULT


class Float64Data(pair.Pair):
    """The data came from NumPy as float64, and so the model. Fixed: float32, with TF32."""

    family = "kernels"

    def __init__(self, fixed):
        super().__init__(fixed)
        kind = torch.float32 if fixed else torch.float64
        self.model = mlp(4096, 6, device="cuda", dtype=kind)
        self.optimizer = adamw(self.model)
        self.x = torch.from_numpy(np.random.default_rng(0).standard_normal((4096, 4096))).to("cuda", kind)

    def train(self, steps):
        torch.set_float32_matmul_precision("high")
        for _ in steps:
            loss = F.mse_loss(self.model(self.x), self.x)  # FAULT
            loss.backward()  # SEEN
            self.optimizer.step()
            self.optimizer.zero_grad()


pair.run(__name__)
