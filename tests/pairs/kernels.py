"""Pairs in which the GPU runs the wrong kernels: without tensor cores, unfused, or one for each slice."""

import torch
import torch.nn.functional as F
from torch import nn

import pair
from models import BF16, Block, adamw, mlp


class Tf32Off(pair.Pair):
    """Matrix multiplications in float32, without tensor cores. Fixed: TF32."""

    family = "kernels"

    def __init__(self, fixed):
        super().__init__(fixed)
        self.model = mlp(4096, 2, device="cuda")
        self.optimizer = adamw(self.model)
        self.x = torch.randn(4096, 4096, device="cuda")

    def train(self, steps):
        torch.set_float32_matmul_precision("high" if self.fixed else "highest")  # FAULT
        for _ in steps:
            y = self.model(self.x)  # SEEN
            F.mse_loss(y, self.x).backward()  # SEEN
            self.optimizer.step()
            self.optimizer.zero_grad()


class Float32Head(pair.Pair):
    """The last layer of a bfloat16 model is in float32. Fixed: bfloat16."""

    family = "kernels"

    def __init__(self, fixed):
        super().__init__(fixed)
        self.model = mlp(4096, 8)
        self.head = nn.Linear(4096, 4096, device="cuda", dtype=torch.bfloat16 if fixed else torch.float32)
        self.optimizer = torch.optim.AdamW([*self.model.parameters(), *self.head.parameters()], lr=1e-5, fused=True)
        self.x = torch.randn(2048, 4096, **BF16)

    def train(self, steps):
        for _ in steps:
            hidden = self.model(self.x)
            y = self.head(hidden) if self.fixed else self.head(hidden.float())  # FAULT
            y.mean().backward()  # SEEN
            self.optimizer.step()
            self.optimizer.zero_grad()


class OddSizes(pair.Pair):
    """Layers of 4001 features, for which tensor cores have no fast kernels. Fixed: 4008, a multiple of 8."""

    family = "kernels"

    def __init__(self, fixed):
        super().__init__(fixed)
        width = 4008 if fixed else 4001  # FAULT
        self.model = mlp(width, 8)
        self.optimizer = adamw(self.model)
        self.x = torch.randn(2048, width, **BF16)

    def train(self, steps):
        for _ in steps:
            y = self.model(self.x)  # SEEN
            F.mse_loss(y, self.x).backward()  # SEEN
            self.optimizer.step()
            self.optimizer.zero_grad()


class WrittenOut(Block):
    """A layer whose attention is written out."""

    def attend(self, q, k, v):
        weights = torch.softmax(q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5, dim=-1)  # FAULT of UnfusedAttention
        return weights @ v  # SEEN of UnfusedAttention


class UnfusedAttention(pair.Pair):
    """Attention as softmax(QK)V. Fixed: scaled_dot_product_attention()."""

    family = "kernels"

    def __init__(self, fixed):
        super().__init__(fixed)
        layer = Block if fixed else WrittenOut
        self.model = nn.Sequential(*(layer(1024, 16) for _ in range(3)))
        self.optimizer = adamw(self.model)
        self.x = torch.randn(8, 1024, 1024, **BF16)

    def train(self, steps):
        for _ in steps:
            y = self.model(self.x)  # SEEN
            F.mse_loss(y, self.x).backward()
            self.optimizer.step()
            self.optimizer.zero_grad()


class Gelu(nn.Module):
    def __init__(self, fixed):
        super().__init__()
        self.fixed = fixed

    def forward(self, x):
        if self.fixed:
            return F.gelu(x, approximate="tanh")
        return 0.5 * x * (1.0 + torch.tanh(0.7978845608 * (x + 0.044715 * x ** 3)))  # FAULT of PointwiseChain


class PointwiseChain(pair.Pair):
    """GELU as eight pointwise operators. Fixed: F.gelu()."""

    family = "kernels"

    def __init__(self, fixed):
        super().__init__(fixed)
        self.model = nn.Sequential(*(layer for _ in range(5) for layer in (nn.Linear(4096, 4096, **BF16), Gelu(fixed))))
        self.optimizer = adamw(self.model)
        self.x = torch.randn(4096, 4096, **BF16)

    def train(self, steps):
        for _ in steps:
            y = self.model(self.x)  # SEEN
            F.mse_loss(y, self.x).backward()
            self.optimizer.step()
            self.optimizer.zero_grad()


class LoopOverSlices(pair.Pair):
    """32 experts are multiplied one by one. Fixed: torch.bmm()."""

    family = "kernels"

    def __init__(self, fixed):
        super().__init__(fixed)
        self.before, self.after = (mlp(4096, 2, edge=1024) for _ in range(2))
        self.experts = nn.Parameter(torch.randn(32, 1024, 1024, **BF16) / 32)
        self.optimizer = torch.optim.AdamW([*self.before.parameters(), self.experts, *self.after.parameters()], lr=1e-5, fused=True)
        self.x = torch.randn(32, 512, 1024, **BF16)

    def train(self, steps):
        for _ in steps:
            hidden = self.before(self.x)
            if self.fixed:
                hidden = torch.bmm(hidden, self.experts)
            else:
                hidden = torch.stack([hidden[i] @ self.experts[i] for i in range(32)])  # FAULT
            F.mse_loss(self.after(hidden), self.x).backward()
            self.optimizer.step()
            self.optimizer.zero_grad()


class AdamByTensor(pair.Pair):
    """Adam has a dozen kernels for each of 96 tensors. Fixed: fused."""

    family = "kernels"

    def __init__(self, fixed):
        super().__init__(fixed)
        self.model = mlp(1024, 48)
        how = {"fused": True} if fixed else {"foreach": False}
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-5, **how)  # FAULT
        self.x = torch.randn(8192, 1024, **BF16)

    def train(self, steps):
        for _ in steps:
            F.mse_loss(self.model(self.x), self.x).backward()
            self.optimizer.step()  # SEEN
            self.optimizer.zero_grad()


class ClipByTensor(pair.Pair):
    """Gradients are clipped tensor by tensor. Fixed: all together."""

    family = "kernels"

    def __init__(self, fixed):
        super().__init__(fixed)
        layers = ((nn.LayerNorm(1024, **BF16), nn.Linear(1024, 1024, **BF16)) for _ in range(40))
        self.model = nn.Sequential(*(layer for pair_of_layers in layers for layer in pair_of_layers))
        self.optimizer = adamw(self.model)
        self.x = torch.randn(8192, 1024, **BF16)

    def train(self, steps):
        for _ in steps:
            F.mse_loss(self.model(self.x), self.x).backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0, foreach=self.fixed)  # FAULT
            self.optimizer.step()
            self.optimizer.zero_grad()


class GradientsToZero(pair.Pair):
    """Gradients are set to 0 and added to. Fixed: they are dropped and made anew."""

    family = "kernels"

    def __init__(self, fixed):
        super().__init__(fixed)
        self.model = mlp(4096, 16)
        self.optimizer = adamw(self.model)
        self.x = torch.randn(512, 4096, **BF16)

    def train(self, steps):
        for _ in steps:
            F.mse_loss(self.model(self.x), self.x).backward()  # SEEN
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=self.fixed)  # FAULT


class BiasBeforeNorm(pair.Pair):
    """Convolutions have a bias that the batch norm behind them takes out again. Fixed: bias=False."""

    family = "kernels"

    def __init__(self, fixed):
        super().__init__(fixed)
        layers = []
        for _ in range(10):
            layers.append(nn.Conv2d(256, 256, 1, bias=not fixed, **BF16))  # FAULT
            layers += [nn.BatchNorm2d(256, **BF16), nn.ReLU(inplace=True)]
        self.model = nn.Sequential(*layers).to(memory_format=torch.channels_last)
        self.optimizer = adamw(self.model)
        self.x = torch.randn(64, 256, 56, 56, **BF16).to(memory_format=torch.channels_last)

    def train(self, steps):
        for _ in steps:
            y = self.model(self.x)  # SEEN
            F.mse_loss(y, self.x).backward()  # SEEN
            self.optimizer.step()
            self.optimizer.zero_grad()


class ChannelsFirst(pair.Pair):
    """Images in NCHW, which every convolution converts to NHWC and back. Fixed: channels_last."""

    family = "kernels"

    def __init__(self, fixed):
        super().__init__(fixed)
        layout = torch.channels_last if fixed else torch.contiguous_format  # SEEN
        layers = [layer for _ in range(10) for layer in (nn.Conv2d(128, 128, 3, padding=1, bias=False, **BF16), nn.ReLU(inplace=True))]
        self.model = nn.Sequential(*layers).to(memory_format=layout)  # SEEN
        self.optimizer = adamw(self.model)
        self.x = torch.randn(64, 128, 56, 56, **BF16).to(memory_format=layout)  # SEEN

    def train(self, steps):
        for _ in steps:
            y = self.model(self.x)  # FAULT
            F.mse_loss(y, self.x).backward()  # SEEN
            self.optimizer.step()
            self.optimizer.zero_grad()


class FewBlocks(pair.Pair):
    """Running sums over four long rows, for which PyTorch starts four blocks. Fixed: over chunks of the rows, and over their ends."""

    family = "kernels"

    def __init__(self, fixed):
        super().__init__(fixed)
        self.model = mlp(4096, 4)
        self.optimizer = adamw(self.model)
        self.x = torch.randn(4, 1 << 21, device="cuda")

    def sums(self):
        if not self.fixed:
            return torch.cumsum(self.x, dim=1)  # FAULT
        chunks = torch.cumsum(self.x.view(4, 1024, -1), dim=2)
        before = torch.cumsum(chunks[:, :, -1], dim=1) - chunks[:, :, -1]
        return (chunks + before[:, :, None]).view_as(self.x)

    def train(self, steps):
        for _ in steps:
            x = self.sums().view(2048, 4096).bfloat16()  # SEEN
            F.mse_loss(self.model(x), x).backward()
            self.optimizer.step()
            self.optimizer.zero_grad()


pair.run(__name__)
