"""Forty iterations of training of resnet18, batch 16: resnet18_ops.py bare, in a capture range, or resnet18_ops.py torch FILE.json,
under torch.profiler, which writes [CPU or GPU, name, count, self device µs, device µs] of every row of its table."""
import json
import sys

import torch
import torchvision

WARM_UP, ITERATIONS = 5, 40
model = torchvision.models.resnet18().cuda()
images = torch.randn(16, 3, 224, 224, device="cuda")
labels = torch.randint(0, 1000, (16,), device="cuda")
optimizer = torch.optim.Adam(model.parameters())
criterion = torch.nn.CrossEntropyLoss()


def train(times):
    for _ in range(times):
        optimizer.zero_grad()
        criterion(model(images), labels).backward()
        optimizer.step()
    torch.cuda.synchronize()


train(WARM_UP)
if sys.argv[1] == "torch":
    with torch.profiler.profile() as profiler:
        train(ITERATIONS)
    # What an annotation spans on a stream is no work of its own, and in a trace of torch's alone.
    on_cpu = torch.autograd.DeviceType.CPU
    rows = [["CPU" if row.device_type == on_cpu else "GPU", row.key, row.count, row.self_device_time_total, row.device_time_total]
            for row in profiler.key_averages() if row.device_type == on_cpu or not getattr(row, "is_user_annotation", False)]
    with open(sys.argv[2], "w") as file:
        json.dump(rows, file)
else:
    torch.cuda.profiler.start()
    train(ITERATIONS)
    torch.cuda.profiler.stop()
