"""The programs of this folder, how to start them, and variants that follow an advice. No fault was planted in them: they are
written as such programs often are."""

import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROUNDS = 3


class PythonProgram:
    def __init__(self, file, *follow):
        self.file, self.follow = file, follow

    def build(self, _):
        return [sys.executable, os.path.join(HERE, self.file)]


class CudaProgram:
    def __init__(self, file, *follow):
        self.file, self.follow = file, follow

    def build(self, folder):
        program = os.path.join(folder, os.path.splitext(self.file)[0])
        nvcc = os.environ.get("NVCC") or shutil.which("nvcc") or os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin", "nvcc")
        subprocess.run([nvcc, "-O2", "-std=c++17", "-arch=native", "-lineinfo", "-o", program, os.path.join(HERE, self.file)], check=True)
        return [program]


PROGRAMS = {
    "Convolution": PythonProgram("convolution.py", "amp", "channels_last", "graph", "no_item", "fused"),
    "Transformer": PythonProgram("transformer.py", "pad_vocabulary", "no_item", "fused"),
    "Diffusion": PythonProgram("diffusion.py", "tf32", "amp", "channels_last", "graph"),
    "Decoding": PythonProgram("decoding.py", "no_item", "static_cache", "graph"),
    "Jacobi": CudaProgram("jacobi.cu", "residual_every_50", "graph"),
}


def step_of(text):
    """µs per step, which each program prints last."""
    return float(re.findall(r"([\d.]+) us per step", text)[-1])
