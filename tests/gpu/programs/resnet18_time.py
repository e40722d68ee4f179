"""Training of resnet18: milliseconds an iteration. resnet18_time.py bare|torch [BATCH]; torch: under torch.profiler. With a batch of 16 the GPU
waits for the CPU, with one of 256 it does not."""
import contextlib
import sys
import time

import torch
import torchvision

WARM_UP, ITERATIONS = 10, 60
batch = int(sys.argv[2]) if len(sys.argv) > 2 else 16
model = torchvision.models.resnet18().cuda()
images = torch.randn(batch, 3, 224, 224, device="cuda")
labels = torch.randint(0, 1000, (batch,), device="cuda")
optimizer = torch.optim.Adam(model.parameters())
criterion = torch.nn.CrossEntropyLoss()


def step():
    optimizer.zero_grad()
    criterion(model(images), labels).backward()
    optimizer.step()


for _ in range(WARM_UP):
    step()
torch.cuda.synchronize()
mode = sys.argv[1]
profiler = torch.profiler.profile() if mode == "torch" else contextlib.nullcontext()
with profiler:
    start = time.perf_counter()
    for _ in range(ITERATIONS):
        step()
    torch.cuda.synchronize()
    took = time.perf_counter() - start
print(f"resnet18 {mode} ms_per_iteration={took / ITERATIONS * 1e3:.3f}", flush=True)
