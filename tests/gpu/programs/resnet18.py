"""Training of resnet18 with NVTX on every operator; the last two of twelve iterations lie in the capture range.

resnet18.py [ITERATIONS [WARM_UP]]: another number of them, and of those before the range."""
import sys

import torch
import torchvision

iterations = int(sys.argv[1]) if len(sys.argv) > 1 else 12
warm_up = int(sys.argv[2]) if len(sys.argv) > 2 else iterations - 2
torch.manual_seed(0)
model = torchvision.models.resnet18().cuda()
images = torch.randn(64, 3, 224, 224, device="cuda")
labels = torch.randint(0, 1000, (64,), device="cuda")
criterion = torch.nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
nvtx = torch.cuda.nvtx


def step():
    with nvtx.range("forward"):
        output = model(images)
    loss = criterion(output, labels)
    with nvtx.range("backward"):
        loss.backward()
    with nvtx.range("opt.step()"):
        optimizer.step()
    return loss


for _ in range(warm_up):
    optimizer.zero_grad()
    step()
optimizer.zero_grad()
torch.cuda.synchronize()
torch.cuda.profiler.start()
with torch.autograd.profiler.emit_nvtx():
    for i in range(warm_up, iterations):
        if i > warm_up:
            optimizer.zero_grad()
        with nvtx.range(f"iteration{i}"):
            loss = step()
    torch.cuda.synchronize()
torch.cuda.profiler.stop()
print("loss", loss.item())
