"""A small convolutional network: pinned copies to the GPU and an .item() every step. mnist_like.py [STEPS]"""
import sys

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 32, 3), nn.Conv2d(32, 64, 3)
        self.drop1, self.drop2 = nn.Dropout(0.25), nn.Dropout(0.5)
        self.full1, self.full2 = nn.Linear(9216, 128), nn.Linear(128, 10)

    def forward(self, x):
        x = F.relu(self.conv2(F.relu(self.conv1(x))))
        x = torch.flatten(self.drop1(F.max_pool2d(x, 2)), 1)
        return F.log_softmax(self.full2(self.drop2(F.relu(self.full1(x)))), 1)


steps = int(sys.argv[1]) if len(sys.argv) > 1 else 30
torch.manual_seed(0)
model = Net().cuda()
optimizer = torch.optim.Adadelta(model.parameters())
images = torch.randn(64, 1, 28, 28).pin_memory()
labels = torch.randint(0, 10, (64,)).pin_memory()
for _ in range(steps):
    x, y = images.to("cuda", non_blocking=True), labels.to("cuda", non_blocking=True)
    optimizer.zero_grad()
    loss = F.nll_loss(model(x), y)
    loss.backward()
    optimizer.step()
    value = loss.item()
print("loss", value)
