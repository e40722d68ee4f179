"""The programs of this folder, how to start them, and their variants that follow an advice. No fault was planted in them: they are
written as such programs often are. Each takes names of variants, runs them in turn, and prints the time of a step:

    python3 convolution.py as_written graph as_written graph"""

import os
import re
import shutil
import subprocess
import sys
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
ROUNDS = 3
AS_WRITTEN = "as_written"

# What a finding says (rule: finding), and the variant that follows the advice; the first that matches and that the program has counts.
FOLLOW = (
    (r"^slow_operators: .*attention", "static_cache"),
    (r"pageable|non_blocking|copied|copies|copy", "pinned"),
    (r"on the CPU|same bytes", "positions_on_gpu"),
    (r"^result_waits", "wait_rarely"),
    (r"^data_loader", "workers"),
    (r"optimizer|Adam|not fused", "fused"),
    (r"layout|channels_last", "channels_last"),
    (r"TF32|tf32", "tf32"),
    (r"multiple|odd|padd|size", "pad_vocabulary"),
    (r"^tensor_cores|fp32|float32", "amp"),
    (r"^loop_calls|torch\.cat", "static_cache"),
    (r"^launch_bound|^python_between", "graph"),
    (r"^launch_bound|pointwise|chain|fuse", "compile"),
)


class PythonProgram:
    def __init__(self, file, *variants):
        self.file, self.variants = file, variants

    def build(self, _):
        return [sys.executable, os.path.join(HERE, self.file)]


class CudaProgram:
    def __init__(self, file, *variants):
        self.file, self.variants = file, variants

    def build(self, folder):
        program = os.path.join(folder, os.path.splitext(os.path.basename(self.file))[0])
        nvcc = os.environ.get("NVCC") or shutil.which("nvcc") or os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin", "nvcc")
        subprocess.run([nvcc, "-O2", "-std=c++17", "-arch=native", "-g", "-lineinfo", "-o", program, os.path.join(HERE, self.file)], check=True)
        return [program]


PROGRAMS = {
    "Convolution": PythonProgram("convolution.py", "amp", "channels_last", "graph", "wait_rarely", "fused", "workers"),
    "Transformer": PythonProgram("transformer.py", "pad_vocabulary", "wait_rarely", "fused", "pinned", "compile"),
    "Diffusion": PythonProgram("diffusion.py", "tf32", "amp", "channels_last", "graph", "compile"),
    "Decoding": PythonProgram("decoding.py", "wait_rarely", "static_cache", "graph", "positions_on_gpu"),
    "Jacobi": CudaProgram("jacobi.cu", "wait_rarely", "graph"),
}


def variant_of(program, cause):
    """The variant that follows the advice of a finding (compare.causes()), or None."""
    text = f"{cause['rule']}: {cause['finding']}"
    return next((variant for pattern, variant in FOLLOW if variant in program.variants and re.search(pattern, text)), None)


def steps_of(text):
    """{variant: µs per step of each of its runs}, of what a program printed."""
    times = {}
    for variant, step in re.findall(r"^(\w+): ([\d.]+) us per step$", text, re.M):
        times.setdefault(variant, []).append(float(step))
    return times


def time_once(measure, variant):
    """Returns whether it was timed."""
    try:
        print(f"{variant}: {measure(variant) * 1e6:.1f} us per step", flush=True)
    except Exception:
        traceback.print_exc()
        return False
    return True


def time_in_turn(measure):
    """For the programs in Python: measure(variant) returns the seconds of a step. Of several variants each runs in a process of its own, as it would
    for a user: plans that cuDNN made, and graphs, would otherwise be there for the next one. Python and PyTorch are loaded once."""
    variants = sys.argv[1:] or [AS_WRITTEN]
    if len(variants) == 1:
        sys.exit(0 if time_once(measure, variants[0]) else 1)
    for variant in variants:
        process = os.fork()  # before CUDA is used
        if not process:
            is_timed = time_once(measure, variant)
            sys.stdout.flush()
            os._exit(0 if is_timed else 1)
        os.waitpid(process, 0)
