"""Loops on a GPU for bench/step_cost.py: gpu_loops.py NAME STEPS. Prints the median and the mean time of a step, after the first third of them, and the
least mean of 72 steps in a row of the last third: as many as a turn of the windows of operators has, and the quietest moment of a noisy host.

- train: the host sets the pace: a small transformer with Adam, some 230 kernels and 1,700 operators a step
- images: the GPU sets the pace: convolutions on large batches
- ahead: the same, and the host never waits for it
- decode: one token after the other, each read by the host
- loader: a DataLoader with two workers feeds a small model
"""
import statistics
import sys
import time

import torch
from torch import nn

TURN = 72


def train():
    layer = nn.TransformerEncoderLayer(128, 4, 256, dropout=0.0, batch_first=True)
    model = nn.Sequential(nn.TransformerEncoder(layer, 5, enable_nested_tensor=False), nn.Linear(128, 128)).cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    x, y = torch.randn(8, 32, 128, device="cuda"), torch.randn(8, 32, 128, device="cuda")
    while True:
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        loss.item()
        yield


def images(waits=True):
    def block(before, after):
        return nn.Sequential(nn.Conv2d(before, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU())
    model = nn.Sequential(block(3, 64), block(64, 128), nn.MaxPool2d(2), block(128, 256), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(256, 10)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    x, y = torch.randn(192, 3, 96, 96, device="cuda"), torch.randint(0, 10, (192,), device="cuda")
    while True:
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        if waits:
            loss.item()
        yield


@torch.no_grad()
def decode():
    layers = [nn.TransformerEncoderLayer(256, 8, 512, dropout=0.0, batch_first=True).cuda().eval() for _ in range(6)]
    words, out = nn.Embedding(1000, 256).cuda(), nn.Linear(256, 1000).cuda()
    tokens = torch.zeros(1, 16, dtype=torch.long, device="cuda")
    while True:
        x = words(tokens)
        for layer in layers:
            x = layer(x)
        token = out(x[:, -1]).argmax(-1)
        tokens = torch.cat((tokens[:, 1:], token[:, None]), 1)
        if int(token) < 0:
            return
        yield


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 1 << 30

    def __getitem__(self, index):
        return torch.full((3, 64, 64), float(index % 7)).sin()


def loader():
    model = nn.Sequential(nn.Conv2d(3, 32, 3), nn.ReLU(), nn.Flatten(), nn.LazyLinear(10)).cuda()
    batches = torch.utils.data.DataLoader(Rows(), batch_size=64, num_workers=2, pin_memory=True)
    optimizer = None
    for batch in batches:
        loss = model(batch.cuda(non_blocking=True)).square().mean()
        optimizer = optimizer or torch.optim.Adam(model.parameters())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()
        yield


def main():
    name, steps = sys.argv[1], int(sys.argv[2])
    torch.manual_seed(0)
    loop, times = {"train": train, "images": images, "ahead": lambda: images(False), "decode": decode, "loader": loader}[name](), []
    for step in range(steps):
        if step == steps // 3:
            torch.cuda.synchronize()
            start = time.perf_counter()
        next(loop)
        times.append(time.perf_counter())
    torch.cuda.synchronize()
    mean = (time.perf_counter() - start) / (steps - steps // 3)
    spans = [after - before for before, after in zip(times, times[1:])][steps // 3:]
    late = times[-(steps // 3 + 1):]
    turn = min(TURN, len(late) - 1)
    quiet = min((after - before) / turn for before, after in zip(late, late[turn:]))
    print(f"step_ms={1e3 * statistics.median(spans):.4f} mean_ms={1e3 * mean:.4f} quiet_ms={1e3 * quiet:.4f} cpu_s={time.process_time():.3f}", flush=True)


if __name__ == "__main__":
    main()
