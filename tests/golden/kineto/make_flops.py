"""Makes flops.json.gz, a trace of operators of many classes on the CPU, a step for each case, and flops.counted.json, what PyTorch itself
counts in them: torch.utils.flop_counter by case, and with_flops by operator and shapes. FLOPs depend on shapes alone, so no GPU is needed.

    python3 make_flops.py FOLDER        # torch 2.15
"""

import gzip
import json
import os
import sys

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.profiler import ProfilerActivity, profile, record_function
from torch.utils.checkpoint import checkpoint
from torch.utils.flop_counter import FlopCounterMode

torch.manual_seed(0)
torch.set_num_threads(1)


def tensor(*shape, **options):
    return torch.randn(*shape, requires_grad=True, **options)


def train(model, *inputs):
    model(*inputs).sum().backward()


def attention(backend, *, queries=32, keys=32, heads=4, kv_heads=4, is_causal=False, backward=True):
    q, k, v = tensor(2, heads, queries, 16), tensor(2, kv_heads, keys, 16), tensor(2, kv_heads, keys, 16)
    with sdpa_kernel(backend):
        out = F.scaled_dot_product_attention(q, k, v, is_causal=is_causal, enable_gqa=heads != kv_heads)
    if backward:
        out.sum().backward()


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(24, 48), nn.ReLU(), nn.Linear(48, 24))

    def forward(self, x):
        return x + self.layers(x)


class Checkpointed(nn.Module):
    def __init__(self, use_reentrant):
        super().__init__()
        self.blocks = nn.ModuleList([Block(), Block()])
        self.use_reentrant = use_reentrant

    def forward(self, x):
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=self.use_reentrant)
        return x


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
                                    nn.Conv2d(8, 16, 3, stride=2), nn.GroupNorm(4, 16), nn.SiLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                                    nn.Linear(16, 10))

    def forward(self, x):
        return F.cross_entropy(self.layers(x), torch.arange(4))


CASES = {
    "mm": lambda: torch.mm(tensor(10, 20), tensor(20, 30)),
    "mm of a vector": lambda: torch.mv(tensor(10, 20), tensor(20)),
    "addmm": lambda: torch.addmm(tensor(30), tensor(10, 20), tensor(20, 30)).sum().backward(),
    "bmm": lambda: torch.bmm(tensor(3, 10, 20), tensor(3, 20, 30)).sum().backward(),
    "baddbmm": lambda: torch.baddbmm(tensor(3, 10, 30), tensor(3, 10, 20), tensor(3, 20, 30)),
    "matmul of four dimensions": lambda: torch.matmul(tensor(2, 3, 10, 20), tensor(2, 3, 20, 30)).sum().backward(),
    "linear": lambda: F.linear(tensor(2, 5, 20), tensor(30, 20), tensor(30)).sum().backward(),
    "linear without bias": lambda: F.linear(tensor(2, 5, 20), tensor(30, 20)).sum().backward(),
    "einsum": lambda: torch.einsum("bhqd,bhkd->bhqk", tensor(2, 3, 8, 16), tensor(2, 3, 9, 16)).sum().backward(),
    "convolution": lambda: F.conv2d(tensor(2, 8, 14, 14), tensor(16, 8, 3, 3), tensor(16), stride=2, padding=1).sum().backward(),
    "convolution of an image": lambda: F.conv2d(torch.randn(2, 3, 28, 28), tensor(16, 3, 5, 5)).sum().backward(),
    "convolution, dilated": lambda: F.conv2d(tensor(2, 8, 14, 14), tensor(16, 8, 3, 3), dilation=2).sum().backward(),
    "convolution in groups": lambda: F.conv2d(tensor(2, 8, 14, 14), tensor(16, 2, 3, 3), groups=4),
    "convolution in groups, backward": lambda: F.conv2d(tensor(2, 8, 14, 14), tensor(16, 2, 3, 3), groups=4).sum().backward(),
    "convolution, depthwise": lambda: F.conv2d(tensor(2, 8, 14, 14), tensor(8, 1, 3, 3), groups=8),
    "convolution of one dimension": lambda: F.conv1d(tensor(2, 8, 30), tensor(16, 8, 5), padding=2).sum().backward(),
    "convolution of three dimensions": lambda: F.conv3d(tensor(1, 4, 6, 8, 8), tensor(8, 4, 3, 3, 3)).sum().backward(),
    "convolution, transposed": lambda: F.conv_transpose2d(tensor(2, 8, 7, 7), tensor(8, 6, 3, 3), stride=2).sum().backward(),
    "attention": lambda: attention(SDPBackend.FLASH_ATTENTION),
    "attention, forward": lambda: attention(SDPBackend.FLASH_ATTENTION, backward=False),
    "attention over other keys": lambda: attention(SDPBackend.FLASH_ATTENTION, queries=8, keys=40),
    "attention, causal": lambda: attention(SDPBackend.FLASH_ATTENTION, is_causal=True),
    "attention by its formula": lambda: attention(SDPBackend.MATH),
    "transformer layer": lambda: train(nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, dropout=0), tensor(2, 12, 32)),
    "network": lambda: Net()(torch.randn(4, 3, 16, 16)).backward(),
    "checkpoint": lambda: train(Checkpointed(use_reentrant=False), tensor(6, 24)),
    "checkpoint, reentrant": lambda: train(Checkpointed(use_reentrant=True), tensor(6, 24)),
    "no checkpoint": lambda: train(nn.Sequential(Block(), Block()), tensor(6, 24)),
}


def main(folder):
    counted, trace = {}, os.path.join(folder, "flops.json")
    for name, case in CASES.items():
        with FlopCounterMode(display=False) as counter:
            case()
        counted[name] = {str(op): flops for op, flops in counter.get_flop_counts().get("Global", {}).items()}
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True, with_flops=True) as profiler:
        for number, case in enumerate(CASES.values()):
            with record_function(f"step {number}"):
                case()
    profiler.export_chrome_trace(trace)
    with_flops = [[row.key, row.input_shapes, row.flops] for row in profiler.key_averages(group_by_input_shape=True) if row.flops]
    with open(trace) as plain, gzip.GzipFile(trace + ".gz", "wb", mtime=0) as packed:
        packed.write(plain.read().encode())
    os.unlink(trace)
    with open(os.path.join(folder, "flops.counted.json"), "w") as out:
        json.dump({"torch": torch.__version__, "flop_counter": counted, "with_flops": with_flops}, out, indent=1)
        out.write("\n")


main(sys.argv[1])
