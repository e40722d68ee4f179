"""Writes a text with a small GPT, token by token, with a KV cache."""

import time

import torch
import torch.nn.functional as F
from torch import nn

import programs

STEPS, WARM_UP, PROMPT = 120, 20, 128
VOCABULARY, WIDTH, HEADS, LAYERS = 50257, 1024, 16, 24
LONGEST = PROMPT + STEPS + 1


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def attend(self, q, k, v, cache, place):
        if place is not None:  # room for all tokens from the start
            cache[0].index_copy_(2, place, k)
            cache[1].index_copy_(2, place, v)
            mask = (torch.arange(LONGEST, device=q.device) <= place)[None, :]
            return F.scaled_dot_product_attention(q, cache[0], cache[1], attn_mask=mask)
        if cache:
            k, v = torch.cat((cache[0], k), dim=2), torch.cat((cache[1], v), dim=2)
        cache[:] = k, v
        return F.scaled_dot_product_attention(q, k, v, is_causal=q.shape[2] > 1)

    def forward(self, x, cache, place):
        b, t, c = x.shape
        q, k, v = (part.view(b, t, HEADS, c // HEADS).transpose(1, 2) for part in self.qkv(self.ln1(x)).split(c, dim=2))
        x = x + self.proj(self.attend(q, k, v, cache, place).transpose(1, 2).reshape(b, t, c))
        return x + self.down(F.gelu(self.up(self.ln2(x))))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LONGEST, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.ln, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens, positions, caches, place=None):
        x = self.tokens(tokens) + self.positions(positions)
        for layer, cache in zip(self.layers, caches):
            x = layer(x, cache, place)
        return self.head(self.ln(x[:, -1])).argmax(dim=-1, keepdim=True)


def static_caches(caches):
    roomy = []
    for cache in caches:
        roomy.append([torch.zeros(1, HEADS, LONGEST, WIDTH // HEADS, device="cuda", dtype=torch.bfloat16) for _ in range(2)])
        for whole, part in zip(roomy[-1], cache):
            whole[:, :, :PROMPT] = part
    return roomy


def graphed(model, token, place, caches):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            model(token, place, caches, place)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = model(token, place, caches, place)
    return graph, out


@torch.inference_mode()
def main(follow):
    with torch.device("cuda"):
        model = Gpt().to(torch.bfloat16).eval()
    prompt = torch.randint(VOCABULARY, (1, PROMPT), device="cuda")
    caches = [[] for _ in range(LAYERS)]
    token = model(prompt, torch.arange(PROMPT, device="cuda"), caches)
    place = torch.full((1,), PROMPT, device="cuda")
    is_static = follow in ("static_cache", "graph")
    if is_static:
        caches = static_caches(caches)
    graph, out = graphed(model, token, place, caches) if follow == "graph" else (None, None)
    positions = torch.arange(LONGEST, device="cuda") if follow == "positions_on_gpu" else None
    text, start = [], 0.0
    for step in range(STEPS):
        if graph:
            graph.replay()
            token.copy_(out)
            place += 1
        elif is_static:
            token = model(token, place, caches, place)
            place += 1
        else:
            position = torch.tensor([PROMPT + step], device="cuda") if positions is None else positions[PROMPT + step:PROMPT + step + 1]
            token = model(token, position, caches)
        text.append(token.clone() if follow == "wait_rarely" else token.item())
        if step == WARM_UP - 1:
            torch.cuda.synchronize()
            start = time.perf_counter()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / (STEPS - WARM_UP)


if __name__ == "__main__":
    programs.time_in_turn(main)
