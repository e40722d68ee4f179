"""Trains a small GPT on random tokens, as nanoGPT does."""

import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

follow = sys.argv[1] if len(sys.argv) > 1 else None
STEPS, WARM_UP = 60, 10
VOCABULARY = 50304 if follow == "pad_vocabulary" else 50257
WIDTH, HEADS, LAYERS, LENGTH, BATCH = 768, 12, 12, 1024, 8


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (part.view(b, t, HEADS, c // HEADS).transpose(1, 2) for part in self.qkv(self.ln1(x)).split(c, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).contiguous().view(b, t, c))
        return x + self.mlp(self.ln2(x))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.layers = nn.Sequential(*(Layer() for _ in range(LAYERS)))
        self.ln, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens, targets):
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1], device=tokens.device))
        logits = self.head(self.ln(self.layers(x)))
        return F.cross_entropy(logits.view(-1, VOCABULARY), targets.view(-1))


def main():
    data = torch.randint(50257, (1 << 20,))
    model = Gpt().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.95), fused=True if follow == "fused" else None)
    start = 0.0
    for step in range(STEPS):
        places = torch.randint(len(data) - LENGTH - 1, (BATCH,))
        x = torch.stack([data[i:i + LENGTH] for i in places]).to("cuda")
        y = torch.stack([data[i + 1:i + LENGTH + 1] for i in places]).to("cuda")
        with torch.autocast("cuda", torch.bfloat16):
            loss = model(x, y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if follow != "no_item" or step % 50 == 0:
            print(f"step {step}: loss {loss.item():.4f}")
        if step == WARM_UP - 1:
            torch.cuda.synchronize()
            start = time.perf_counter()
    torch.cuda.synchronize()
    print(f"{(time.perf_counter() - start) / (STEPS - WARM_UP) * 1e6:.1f} us per step")


if __name__ == "__main__":
    main()
