"""Trains a small network until it is killed; notes in the file named by the argument how many steps the GPU has finished."""
import mmap
import struct
import sys

import torch

with open(sys.argv[1], "wb") as file:
    file.write(bytes(8))
with open(sys.argv[1], "r+b") as file:
    steps = mmap.mmap(file.fileno(), 8)
model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(64, 256, device="cuda"), torch.randint(0, 10, (64,), device="cuda")
for step in range(1, 1 << 40):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        torch.cuda.synchronize()
        steps[:] = struct.pack("Q", step)
