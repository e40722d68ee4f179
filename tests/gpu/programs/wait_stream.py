"""A product on one stream that waits for a product on another; the capture range holds just that: wait_stream.py [TIMES]"""
import sys

import torch
from torch.cuda import nvtx

times = int(sys.argv[1]) if len(sys.argv) > 1 else 1
side = torch.cuda.Stream()
main = torch.cuda.default_stream()
a = torch.empty(4096, 4096, device="cuda").normal_(0.0, 1.0)
for _ in range(10):
    torch.matmul(a, a.T).sum()
    with torch.cuda.stream(side):
        torch.matmul(a, a + 1).sum()
    torch.cuda.synchronize()

torch.cuda.profiler.start()
nvtx.range_push("run")
for _ in range(times):
    c = torch.matmul(a, a.T)
    side.wait_stream(main)
    with torch.cuda.stream(side):
        d = torch.matmul(c, c + 1)
    torch.cuda.synchronize()
nvtx.range_pop()
torch.cuda.profiler.stop()
