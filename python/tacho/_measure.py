"""What `tacho analyze --measure` runs: times an operator as the program ran it, and as the advice has it, for the shapes of a capture.

Reads a line for each operator on stdin, fields separated by tabs: the rule, the operator, its shapes, types and values as JSON, and whether it ran on
tensor cores (1 or 0). Prints the GPU's name, and for each line the µs of one call now and then, or "? " and why there is no figure. If nothing can be
measured at all it prints "! " and a sentence, and ends with status 1."""

import json
import statistics
import sys

WARM_UP, ROUNDS, CALLS = 3, 15, 5
MULTIPLE = 8  # that sizes are padded to: 16 bytes of fp16 and bf16, and no harm to TF32
TYPES = {"float": "float32", "c10::Half": "float16", "c10::BFloat16": "bfloat16"}


def call_us(torch, call):
    """The median time of a call on the GPU."""
    for _ in range(WARM_UP):
        call()
    times = []
    for _ in range(ROUNDS):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(CALLS):
            call()
        end.record()
        torch.cuda.synchronize()
        times.append(1000 * start.elapsed_time(end) / CALLS)
    return statistics.median(times)


def padded(shape):
    return [-(-size // MULTIPLE) * MULTIPLE if size > 1 else size for size in shape]


def numbers(text):
    return json.loads(text) if text else []


def product(torch, name, shapes, values):
    """A call of the operator on operands of these shapes, the types of which the caller set; None: it is no product of matrices."""
    made = [torch.randn(shape, device="cuda", dtype=shapes.dtype) for shape in shapes.list]
    if name in ("aten::mm", "aten::bmm", "aten::addmm", "aten::baddbmm"):
        function = getattr(torch, name.split("::")[1])
        return lambda: function(*made)
    if name == "aten::cudnn_convolution":  # input, weight, padding, stride, dilation, groups
        padding, stride, dilation, groups = (numbers(value) if isinstance(value, str) else value for value in values[2:6])
        return lambda: torch.conv2d(made[0], made[1], None, stride, padding, dilation, groups)
    return None


class Shapes:
    def __init__(self, shapes, dtype):
        self.list, self.dtype = shapes, dtype


def on_tensor_cores(torch, name, shapes, types, values, is_tensor):
    """Products of matrices: with TF32 and padded sizes in place of what they were."""
    dtype = getattr(torch, TYPES.get(types[0], ""), None) if types else None
    shapes = [shape for shape in shapes if isinstance(shape, list) and shape]
    if dtype is None or len(shapes) < 2:
        raise ValueError("its shapes or types were not recorded")
    is_convolution = "conv" in name
    now, then = Shapes(shapes, dtype), Shapes(shapes if is_convolution else [padded(shape) for shape in shapes], dtype)
    times = []
    for operands, allows in ((now, is_tensor), (then, True)):
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = allows
        call = product(torch, name, operands, values)
        if call is None:
            raise ValueError(f"there is no program for {name}")
        times.append(call_us(torch, call))
    return times


RULES = {"tensor_cores": on_tensor_cores}


def measure(torch, line):
    rule, name, shapes, types, values, is_tensor = line.rstrip("\n").split("\t")
    if rule not in RULES:
        raise ValueError(f"there is no program for the rule {rule}")
    with torch.no_grad():
        return RULES[rule](torch, name, numbers(shapes), numbers(types), numbers(values), is_tensor == "1")


def main():
    try:
        import torch
    except ImportError:
        print(f"! {sys.executable} has no torch: name one that has with --python")
        return 1
    if not torch.cuda.is_available():
        print("! torch finds no GPU here: run it on the GPU host of the capture")
        return 1
    print(torch.cuda.get_device_name(), flush=True)
    for line in sys.stdin:
        try:
            now, then = measure(torch, line)
            print(f"{now:.3f} {then:.3f}", flush=True)
        except (ValueError, TypeError, IndexError, RuntimeError) as why:  # RuntimeError: an operator that refuses its operands, no memory
            print("?", str(why).partition("\n")[0], flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
