"""Trains a small ResNet on images in memory."""

import time

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import programs

STEPS, WARM_UP = 120, 20


class Block(nn.Module):
    def __init__(self, before, after, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(after)
        self.conv2 = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(after)
        self.relu = nn.ReLU(inplace=True)
        self.shortcut = nn.Identity() if before == after and stride == 1 else nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

    def forward(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        return self.relu(self.bn2(self.conv2(y)) + self.shortcut(x))


def resnet():
    layers = [nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True)]
    for before, after, stride in ((64, 64, 1), (64, 64, 1), (64, 128, 2), (128, 128, 1), (128, 256, 2), (256, 256, 1), (256, 512, 2), (512, 512, 1)):
        layers.append(Block(before, after, stride))
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 100))


def main(follow):
    device = torch.device("cuda")
    images, labels = torch.randn(8192, 3, 32, 32), torch.randint(100, (8192,))
    loader = DataLoader(TensorDataset(images, labels), batch_size=256, shuffle=True, num_workers=12 if follow == "workers" else 4, pin_memory=True, persistent_workers=True)
    model = resnet().to(device)
    if follow == "channels_last":
        model = model.to(memory_format=torch.channels_last)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True if follow == "fused" else None)
    criterion = nn.CrossEntropyLoss()
    running, step, start = 0.0, 0, 0.0
    if follow == "graph":
        model = torch.cuda.make_graphed_callables(model, (torch.randn(256, 3, 32, 32, device=device),))
    while step < STEPS:
        for x, y in loader:
            x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
            if follow == "channels_last":
                x = x.contiguous(memory_format=torch.channels_last)
            optimizer.zero_grad()
            with torch.autocast("cuda", torch.bfloat16, enabled=follow == "amp"):
                loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            running += loss.detach() if follow == "wait_rarely" else loss.item()
            step += 1
            if step == WARM_UP:
                torch.cuda.synchronize()
                start = time.perf_counter()
            if step == STEPS:
                break
    torch.cuda.synchronize()
    seconds = (time.perf_counter() - start) / (STEPS - WARM_UP)
    print(f"loss {float(running) / STEPS:.3f}")
    return seconds


if __name__ == "__main__":
    programs.time_in_turn(main)
