"""launch_storm.py with PyTorch's own NVTX annotation on: emit_storm.py [OPERATORS]"""
import statistics
import sys
import time

import torch

BLOCKS = 12
count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
x = torch.zeros(16, device="cuda")
for _ in range(2000):
    x.add_(1)
torch.cuda.synchronize()
with torch.autograd.profiler.emit_nvtx():
    for _ in range(1000):
        x.add_(1)
    blocks = []
    for _ in range(BLOCKS):
        began = time.perf_counter()
        for _ in range(count // BLOCKS):
            x.add_(1)
        blocks.append((time.perf_counter() - began) / (count // BLOCKS) * 1e6)
torch.cuda.synchronize()
print(f"emit_storm n={count} host_us_per_op={statistics.median(blocks):.3f}", flush=True)
