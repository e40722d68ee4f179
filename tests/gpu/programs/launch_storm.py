"""What a tiny PyTorch operator costs the thread that calls it: launch_storm.py [OPERATORS]"""
import sys
import time

import torch

count = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
x = torch.zeros(16, device="cuda")
for _ in range(2000):
    x.add_(1)
torch.cuda.synchronize()
start = time.perf_counter()
for _ in range(count):
    x.add_(1)
host = time.perf_counter() - start
torch.cuda.synchronize()
total = time.perf_counter() - start
print(f"launch_storm n={count} host_us_per_op={host / count * 1e6:.3f} total_us_per_op={total / count * 1e6:.3f}", flush=True)
