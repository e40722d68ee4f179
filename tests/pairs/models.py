"""What several pairs share: models and batches without a fault. Layers are wide enough to fill a large GPU for longer than
it takes to launch them."""

import random

import torch
import torch.nn.functional as F
from torch import nn

BF16 = {"device": "cuda", "dtype": torch.bfloat16}


def mlp(width, depth, edge=None, **options):
    """Linear layers with ReLU between them. edge: features at both ends."""
    sizes = [edge or width, *[width] * (depth - 1), edge or width]
    layers = []
    for before, after in zip(sizes, sizes[1:]):
        layers += [nn.Linear(before, after, **(options or BF16)), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def adamw(model):
    return torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)


class Block(nn.Module):
    """A layer of a transformer."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width, **BF16), nn.LayerNorm(width, **BF16)
        self.qkv, self.out = nn.Linear(width, 3 * width, **BF16), nn.Linear(width, width, **BF16)
        self.up, self.down = nn.Linear(width, 4 * width, **BF16), nn.Linear(4 * width, width, **BF16)

    def attend(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2) for part in self.qkv(self.norm1(x)).chunk(3, dim=-1))
        x = x + self.out(self.attend(q, k, v).transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Replay:
    """Rows of a table on the GPU, drawn by Python: some new, some again, none too often. The draw takes Python 1 to 2 ms,
    spread over several lines, which the GPU hides unless the host waits for it."""

    def __init__(self, features, batch, rows=65536):
        self.table = torch.randn(rows, features, **BF16)
        self.rows, self.batch = rows, batch
        self.uses = [0] * rows
        self.recent = random.sample(range(rows), batch)

    def draw(self):
        fresh = random.sample(range(self.rows), self.batch // 4)
        again = random.choices(self.recent, k=self.batch)
        uses = [self.uses[row] for row in again]
        kept = [row for row, count in zip(again, uses) if count < 1000]
        chosen = (fresh + kept + again)[: self.batch]
        random.shuffle(chosen[: self.batch // 4])
        for row in chosen:
            self.uses[row] += 1
        self.recent = chosen
        rows = torch.tensor(chosen).pin_memory().to("cuda", non_blocking=True)
        return self.table[rows]
