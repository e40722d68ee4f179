"""Trains a small GPT on random tokens, as nanoGPT does."""

import time

import torch
import torch.nn.functional as F
from torch import nn

import programs

STEPS, WARM_UP = 60, 10
VOCABULARY, PADDED = 50257, 50304
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
    def __init__(self, vocabulary):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.layers = nn.Sequential(*(Layer() for _ in range(LAYERS)))
        self.ln, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, vocabulary, bias=False)

    def forward(self, tokens, targets):
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1], device=tokens.device))
        logits = self.head(self.ln(self.layers(x)))
        return F.cross_entropy(logits.flatten(0, 1), targets.view(-1))


def main(follow):
    data = torch.randint(VOCABULARY, (1 << 20,))
    with torch.device("cuda"):
        model = Gpt(PADDED if follow == "pad_vocabulary" else VOCABULARY)
    if follow == "compile":
        for layer in model.layers:
            layer.compile()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.95), fused=True if follow == "fused" else None)
    start = 0.0
    for step in range(STEPS):
        places = torch.randint(len(data) - LENGTH - 1, (BATCH,))
        x = torch.stack([data[i:i + LENGTH] for i in places])
        y = torch.stack([data[i + 1:i + LENGTH + 1] for i in places])
        if follow == "pinned":
            x, y = x.pin_memory().to("cuda", non_blocking=True), y.pin_memory().to("cuda", non_blocking=True)
        else:
            x, y = x.to("cuda"), y.to("cuda")
        with torch.autocast("cuda", torch.bfloat16):
            loss = model(x, y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if follow != "wait_rarely" or step % 50 == 0:
            print(f"step {step}: loss {loss.item():.4f}")
        if step == WARM_UP - 1:
            torch.cuda.synchronize()
            start = time.perf_counter()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / (STEPS - WARM_UP)


if __name__ == "__main__":
    programs.time_in_turn(main)
