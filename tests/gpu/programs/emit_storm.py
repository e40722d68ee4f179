"""launch_storm.py with PyTorch's own NVTX annotation on: emit_storm.py [OPERATORS]"""
import sys
import time

import torch

count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
x = torch.zeros(16, device="cuda")
for _ in range(2000):
    x.add_(1)
torch.cuda.synchronize()
with torch.autograd.profiler.emit_nvtx():
    for _ in range(1000):
        x.add_(1)
    start = time.perf_counter()
    for _ in range(count):
        x.add_(1)
    host = time.perf_counter() - start
torch.cuda.synchronize()
print(f"emit_storm n={count} host_us_per_op={host / count * 1e6:.3f}", flush=True)
