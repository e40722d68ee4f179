"""Programs of the judgement set that perceive: clouds of points, streets, rooms and bands of sound."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import program
from program import size


def point_layers(widths, bias):
    """What PointNet does with each point by itself."""
    layers = []
    for before, after in zip(widths, widths[1:]):
        layers += [nn.Conv1d(before, after, 1, bias=bias), nn.BatchNorm1d(after), nn.ReLU()]  # FAULT of PointCloud
    return nn.Sequential(*layers[:-1])


class PointCloud(program.Program):
    """A PointNet says what clouds of points are of. Its layers have a bias, which the norm after each of them takes out again."""

    family = "judgement"
    CLOUDS, POINTS, WIDTHS, CLASSES = size(32, 2), size(4096, 16), size((3, 64, 64, 128, 1024), (3, 8, 16)), 40

    def __init__(self, fixed):
        super().__init__(fixed)
        self.points = point_layers(self.WIDTHS, bias=not fixed).cuda()
        self.head = nn.Sequential(nn.Linear(self.WIDTHS[-1], 256), nn.ReLU(), nn.Linear(256, self.CLASSES)).cuda()
        self.optimizer = torch.optim.Adam([*self.points.parameters(), *self.head.parameters()], lr=1e-3, fused=True)
        self.clouds = torch.randn(self.CLOUDS, 3, self.POINTS, device="cuda")
        self.labels = torch.randint(self.CLASSES, (self.CLOUDS,), device="cuda")

    def train(self, steps):
        for _ in steps:
            turned = self.clouds + 0.01 * torch.randn_like(self.clouds)
            loss = F.cross_entropy(self.head(self.points(turned).amax(2)), self.labels)  # SEEN
            loss.backward()  # SEEN
            self.optimizer.step()
            self.optimizer.zero_grad()


class StreetScenes(program.Program):
    """Streets are segmented by an FCN of torchvision in mixed precision. Somebody meant to change the layout of the pictures, but to() returns
    a new tensor, and the model was forgotten."""

    family, needs = "judgement", ("torchvision",)
    BATCH, EDGE, CLASSES = size(12, 2), size(256, 32), 19

    def __init__(self, fixed):
        super().__init__(fixed)
        from torchvision import models
        self.model = models.segmentation.fcn_resnet50(weights=None, weights_backbone=None, num_classes=self.CLASSES).cuda()
        self.images = torch.randn(self.BATCH, 3, self.EDGE, self.EDGE, device="cuda")
        self.images.to(memory_format=torch.channels_last)  # FAULT
        if fixed:
            self.model, self.images = self.model.to(memory_format=torch.channels_last), self.images.to(memory_format=torch.channels_last)
        self.labels = torch.randint(self.CLASSES, (self.BATCH, self.EDGE, self.EDGE), device="cuda")
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4, fused=True)

    def train(self, steps):
        for _ in steps:
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = F.cross_entropy(self.model(self.images)["out"], self.labels)  # SEEN
            loss.backward()  # SEEN
            self.optimizer.step()
            self.optimizer.zero_grad()


class Progress:
    """The line at the end of the terminal that a loop updates."""

    def __init__(self, every):
        self.every, self.text = every, ""

    def update(self, step, loss):
        if step % self.every == 0:
            value = loss.item()  # FAULT 3 of RadianceField
            self.text = f"step {step}: loss {value:.4f}, {-10 * np.log10(value + 1e-9):.1f} dB"


class RadianceField(program.Program):
    """A small radiance field. Rays come from NumPy's poses in double precision, and all that is computed with them, too; NumPy draws the pixels of
    a step, in that it shuffles all; and the line of progress has the loss of each step."""

    family, faults = "judgement", 3
    EDGE, RAYS, SAMPLES, WAVES, WIDTH = size(400, 16), size(16384, 16), 64, 16, size(128, 8)

    def __init__(self, fixed):
        super().__init__(fixed)
        x, y = np.meshgrid(np.linspace(-0.5, 0.5, self.EDGE), np.linspace(-0.5, 0.5, self.EDGE))
        rays = torch.from_numpy(np.stack((x, y, np.ones_like(x)), -1).reshape(-1, 3) @ np.linalg.qr(np.random.randn(3, 3))[0])  # FAULT 1
        self.rays = rays.to("cuda", torch.float32) if self.repaired(1) else rays.cuda()
        self.pixels = torch.rand(len(rays), 3, device="cuda", dtype=self.rays.dtype)
        self.depths = torch.linspace(2.0, 6.0, self.SAMPLES, device="cuda", dtype=self.rays.dtype)
        self.waves = 2.0 ** torch.arange(self.WAVES, device="cuda", dtype=self.rays.dtype)
        width = self.WIDTH
        self.body = nn.Sequential(nn.Linear(6 * self.WAVES, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 4)).cuda()
        self.optimizer = torch.optim.Adam(self.body.parameters(), lr=5e-4, fused=True)
        self.progress = Progress(50 if self.repaired(3) else 1)

    def draw(self):
        if self.repaired(2):
            return torch.randperm(len(self.rays), device="cuda")[:self.RAYS]
        return torch.from_numpy(np.random.choice(len(self.rays), size=self.RAYS, replace=False)).cuda()  # FAULT 2

    def features(self, places):
        angles = (places[..., None] * self.waves).flatten(2)  # SEEN 1
        return torch.cat((angles.sin(), angles.cos()), 2)  # SEEN 1

    def render(self, rays):
        depths = self.depths + torch.rand(len(rays), 1, device="cuda", dtype=rays.dtype) * 4 / self.SAMPLES
        features = self.features(rays[:, None] * depths[..., None])  # SEEN 1
        with torch.autocast("cuda", dtype=torch.bfloat16):
            out = self.body(features.float())
        solid = 1 - torch.exp(-F.relu(out[..., 3]) * (4 / self.SAMPLES) * rays.norm(dim=1, keepdim=True))  # SEEN 1
        passed = torch.cumprod(1 - solid + 1e-10, 1)  # SEEN 1
        weights = solid * torch.cat((torch.ones_like(passed[:, :1]), passed[:, :-1]), 1)  # SEEN 1
        return (weights[..., None] * out[..., :3].sigmoid()).sum(1)  # SEEN 1

    def train(self, steps):
        for step in steps:
            chosen = self.draw()  # SEEN 2
            loss = F.mse_loss(self.render(self.rays[chosen]), self.pixels[chosen])  # SEEN 1
            loss.backward()  # SEEN 1
            self.optimizer.step()
            self.optimizer.zero_grad()
            self.progress.update(step, loss)  # SEEN 3


class BandLayers(nn.Module):
    """A layer of its own for each band of a spectrum. A loop visits the bands."""

    def __init__(self, bands, before, after):
        super().__init__()
        self.weights = nn.Parameter(torch.randn(bands, before, after) / before ** 0.5)
        self.biases = nn.Parameter(torch.zeros(bands, 1, after))

    def forward(self, x):
        bands = []
        for number in range(len(self.weights)):
            bands.append(x[:, :, number] @ self.weights[number])  # FAULT of BandSplit
        return torch.stack(bands, 2) + self.biases.transpose(0, 1)  # SEEN of BandSplit


class BandProduct(BandLayers):
    def forward(self, x):
        y = torch.baddbmm(self.biases, x.permute(2, 0, 1, 3).flatten(1, 2), self.weights)
        return y.unflatten(1, x.shape[:2]).permute(1, 2, 0, 3)


class BandSplit(program.Program):
    """Voices are taken out of music. The spectrum is split into bands, each with a layer of its own, and a loop visits the bands."""

    family = "judgement"
    SONGS, MOMENTS, BANDS, BINS, WIDTH = size(16, 1), size(200, 8), size(48, 8), size(32, 4), size(128, 8)

    def __init__(self, fixed):
        super().__init__(fixed)
        kind = BandProduct if fixed else BandLayers
        self.mix = nn.Linear(self.BINS, self.BINS).cuda()
        self.split, self.join = kind(self.BANDS, self.BINS, self.WIDTH).cuda(), kind(self.BANDS, self.WIDTH, self.BINS).cuda()
        self.over_time = nn.GRU(self.WIDTH, self.WIDTH, batch_first=True).cuda()
        self.parameters = [parameter for part in (self.mix, self.split, self.join, self.over_time) for parameter in part.parameters()]
        self.optimizer = torch.optim.AdamW(self.parameters, lr=1e-4, fused=True)
        self.spectra = torch.randn(self.SONGS, self.MOMENTS, self.BANDS, self.BINS, device="cuda")

    def train(self, steps):
        torch.backends.cuda.matmul.allow_tf32 = True
        for _ in steps:
            x = self.split(self.mix(self.spectra))  # SEEN
            x = x + self.over_time(x.mean(2))[0][:, :, None]
            mask = self.join(x).sigmoid()  # SEEN
            loss = F.l1_loss(mask * self.spectra, self.spectra)
            loss.backward()  # SEEN
            self.optimizer.step()
            self.optimizer.zero_grad()


program.run(__name__)
