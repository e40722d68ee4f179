"""What a tiny PyTorch operator costs the thread that calls it: launch_storm.py [OPERATORS]

The figure is the median over blocks, each long enough for a buffer of records to fill: another program on the machine that
disturbs a few of them does not count."""
import statistics
import sys
import time

import torch

BLOCKS = 12
count = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
x = torch.zeros(16, device="cuda")
for _ in range(2000):
    x.add_(1)
torch.cuda.synchronize()
blocks, start = [], time.perf_counter()
for _ in range(BLOCKS):
    began = time.perf_counter()
    for _ in range(count // BLOCKS):
        x.add_(1)
    blocks.append((time.perf_counter() - began) / (count // BLOCKS) * 1e6)
mean = (time.perf_counter() - start) / count * 1e6
torch.cuda.synchronize()
print(f"launch_storm n={count} host_us_per_op={statistics.median(blocks):.3f} mean_us_per_op={mean:.3f}", flush=True)
