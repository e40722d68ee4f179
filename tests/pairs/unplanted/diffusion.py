"""Makes images with a small U-Net: the denoising steps of a diffusion model."""

import time

import torch
import torch.nn.functional as F
from torch import nn

import programs

STEPS, WARM_UP = 60, 10


class ResBlock(nn.Module):
    def __init__(self, before, after, time_width):
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(32, before), nn.Conv2d(before, after, 3, padding=1)
        self.time = nn.Linear(time_width, after)
        self.norm2, self.conv2 = nn.GroupNorm(32, after), nn.Conv2d(after, after, 3, padding=1)
        self.skip = nn.Conv2d(before, after, 1) if before != after else nn.Identity()

    def forward(self, x, t):
        y = self.conv1(F.silu(self.norm1(x))) + self.time(F.silu(t))[:, :, None, None]
        return self.conv2(F.silu(self.norm2(y))) + self.skip(x)


class Attention(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm, self.qkv, self.out = nn.GroupNorm(32, channels), nn.Conv2d(channels, 3 * channels, 1), nn.Conv2d(channels, channels, 1)

    def forward(self, x):
        b, c, h, w = x.shape
        q, k, v = self.qkv(self.norm(x)).view(b, 3, 8, c // 8, h * w).transpose(-1, -2).unbind(1)
        y = F.scaled_dot_product_attention(q, k, v).transpose(-1, -2).reshape(b, c, h, w)
        return x + self.out(y)


class UNet(nn.Module):
    def __init__(self, width=128):
        super().__init__()
        self.width = width
        self.time = nn.Sequential(nn.Linear(width, 4 * width), nn.SiLU(), nn.Linear(4 * width, 4 * width))
        self.start = nn.Conv2d(4, width, 3, padding=1)
        self.down1, self.half1 = ResBlock(width, width, 4 * width), nn.Conv2d(width, width, 3, 2, 1)
        self.down2, self.half2 = ResBlock(width, 2 * width, 4 * width), nn.Conv2d(2 * width, 2 * width, 3, 2, 1)
        self.middle1, self.attention, self.middle2 = ResBlock(2 * width, 2 * width, 4 * width), Attention(2 * width), ResBlock(2 * width, 2 * width, 4 * width)
        self.up2, self.up1 = ResBlock(4 * width, width, 4 * width), ResBlock(2 * width, width, 4 * width)
        self.end = nn.Sequential(nn.GroupNorm(32, width), nn.SiLU(), nn.Conv2d(width, 4, 3, padding=1))

    def forward(self, x, t):
        angles = t[:, None] * torch.exp(-9.2 * torch.arange(self.width // 2, device=x.device) / (self.width // 2))
        t = self.time(torch.cat((angles.sin(), angles.cos()), dim=1))
        a = self.down1(self.start(x), t)
        b = self.down2(self.half1(a), t)
        y = self.middle2(self.attention(self.middle1(self.half2(b), t)), t)
        y = self.up2(torch.cat((F.interpolate(y, scale_factor=2.0), b), dim=1), t)
        return self.end(self.up1(torch.cat((F.interpolate(y, scale_factor=2.0), a), dim=1), t))


@torch.no_grad()
def main(follow):
    torch.set_float32_matmul_precision("high" if follow == "tf32" else "highest")
    model = UNet().cuda().eval()
    x = torch.randn(16, 4, 64, 64, device="cuda")
    if follow == "channels_last":
        model, x = model.to(memory_format=torch.channels_last), x.contiguous(memory_format=torch.channels_last)
    noise_left = torch.linspace(0.999, 0.01, STEPS + 1, device="cuda")
    if follow == "compile":
        model.compile()
    if follow == "graph":
        model = torch.cuda.make_graphed_callables(model, (x, torch.zeros(16, device="cuda")))
    start = 0.0
    for step in range(STEPS):
        t = torch.full((16,), float(STEPS - step), device="cuda")
        with torch.autocast("cuda", torch.bfloat16, enabled=follow == "amp"):
            predicted = model(x, t)
        now, then = noise_left[step], noise_left[step + 1]
        clean = (x - now.sqrt() * predicted) / (1 - now).sqrt()
        x = (1 - then).sqrt() * clean + then.sqrt() * predicted
        if step == WARM_UP - 1:
            torch.cuda.synchronize()
            start = time.perf_counter()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / (STEPS - WARM_UP)


if __name__ == "__main__":
    programs.time_in_turn(main)
