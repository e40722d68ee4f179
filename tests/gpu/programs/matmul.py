"""A loop of bf16 matrix multiplications and nothing else. Prints the FLOPs of all of them by hand, and their time by CUDA events."""
import json
import sys

import torch

SIZE, STEPS, EACH = 8192, 10, 20
a, b, out = (torch.randn(SIZE, SIZE, device="cuda", dtype=torch.bfloat16) for _ in range(3))
for _ in range(EACH):
    torch.mm(a, b, out=out)
torch.cuda.synchronize()
seconds = []
for number in range(STEPS):
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    with torch.profiler.record_function(f"step {number}"):
        start.record()
        for _ in range(EACH):
            torch.mm(a, b, out=out)
        end.record()
        torch.cuda.synchronize()
    seconds.append(start.elapsed_time(end) / 1000)
with open(sys.argv[1], "w") as file:
    json.dump({"flops": 2 * SIZE**3 * EACH, "seconds": seconds}, file)
