"""FLOPs against those that PyTorch counts itself: torch.utils.flop_counter by case, with_flops by operator and shapes. kineto/make_flops.py
makes the trace and the counts. docs/flops.md explains the differences."""

import json
import os
import sys

from lib import KINETO, check, output, status, table

TRACE = os.path.join(KINETO, "flops.json.gz")
MATRIX = ("mm", "mv", "conv", "attention")
# Cases in which flop_counter is wrong, with the right figure.
DIFFERENT = {
    "mm of a vector": 2 * 10 * 20,  # has no formula there
    "convolution in groups, backward": 3 * 2 * 2 * 12 * 12 * 16 * 2 * 9,  # multiplies the gradient of the weights by the groups
    "attention, causal": 2 * 4 * (32 * 33 // 2) * 2 * 16 * (2 + 5),  # counts the pairs that the mask excludes
    "checkpoint": 221184,  # the trace has an addmm more in each block, the last to be computed again: what the trace holds, not a truth
}
# The operators that with_flops counts where Tacho does: it counts conv2d around the operator that computes.
SAME_OPERATORS = {"aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm"}


def is_matrix(row):
    return any(word in row["Name"] for word in MATRIX)


with open(os.path.join(KINETO, "flops.counted.json")) as file:
    counted = json.load(file)

# ---- flop_counter, case by case ----
names = list(counted["flop_counter"])
output("import", "-q", "-f", "true", "-o", "flops.tacho", TRACE)
for number, name in enumerate(names):
    rows = [row for row in table("torch_flops_sum", "flops.tacho", "--steps", str(number)) if is_matrix(row)]
    by_torch = sum(counted["flop_counter"][name].values())
    expected = DIFFERENT.get(name, by_torch)
    check(f"{name}: {rows}", expected, sum(row["FLOPs"] for row in rows))
    if name in DIFFERENT:
        check(f"{name} differs from flop_counter", True, expected != by_torch)

# ---- with_flops, by operator and shapes ----
ours = {(row["Name"], row["Input Shapes"]): row["FLOPs"] for row in table("torch_flops_sum", "flops.tacho")}
compared = 0
for name, shapes, flops in counted["with_flops"]:
    if name in SAME_OPERATORS:
        compared += 1
        check(f"{name} {shapes}", flops, ours.get((name, json.dumps(shapes))))
check("operators that with_flops counts", True, compared >= 20)

# ---- recomputation counts in HFU alone ----
steps = {row["Name"]: row for row in table("step_flops:peak=fp32=1", "flops.tacho")}
model = sum(counted["flop_counter"]["no checkpoint"].values())
for name in ("checkpoint", "checkpoint, reentrant", "no checkpoint"):
    row = steps[f"step {names.index(name)}"]
    check(f"model FLOPs, {name}", model, row["Model FLOPs"])
    check(f"MFU, {name}", round(100 * model / (1e12 * row["Time (ns)"] / 1e9), 2), round(row["MFU (%)"], 2))
    check(f"hardware FLOPs, {name}", 221184 if name != "no checkpoint" else model, row["Hardware FLOPs"])
row = steps[f"step {names.index('attention')}"]
check("attention computes its scores again", 2 * 4 * 32 * 32 * 2 * 16, row["Hardware FLOPs"] - row["Model FLOPs"])

# ---- a real capture: ResNet-18 with 16 images, 2 steps. A forward pass has 1.814 × 10⁹ multiply-adds for each image ----
rows = {(row["Class"], row["Peak Type"]): row for row in table("roofline", os.path.join(KINETO, "train.json.gz"))}
LAYERS = [(64, 64, 56, 4), (128, 128, 28, 3), (256, 256, 14, 3), (512, 512, 7, 3)]  # channels, size, how many convolutions of 3 × 3
DOWN = [(64, 128, 28), (128, 256, 14), (256, 512, 7)]  # one of 3 × 3 and one of 1 × 1 each
first = 2 * 16 * 112 * 112 * 64 * 3 * 49
others = sum(2 * 16 * size * size * a * b * 9 * count for a, b, size, count in LAYERS)
others += sum(2 * 16 * size * size * a * b * (9 + 1) for a, b, size in DOWN)
check("FLOPs of ResNet-18's convolutions: three times each, the first without a gradient of the image", 2 * (3 * others + 2 * first),
      sum(row["FLOPs"] for (name, _), row in rows.items() if name == "convolution"))
check("and of its last layer", 2 * 3 * 2 * 16 * 512 * 1000, rows["matmul", "fp32"]["FLOPs"])
check("the ceiling of tf32 on an H200: 132 × 1.83 GHz × 2048", 494.715, round(rows["convolution", "tf32"]["Ceiling TFLOP/s"], 3))

sys.exit(status())
