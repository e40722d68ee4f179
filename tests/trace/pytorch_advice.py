"""What a plain capture of a PyTorch program says about garbage collections, compilations and graph breaks: nothing in the program reports them. PyTorch
is real and computes on the CPU; CUDA is the stand-in, whose GPU waits for the loop. TACHO_TEST_TORCH names a Python that has torch."""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests", "fake"))
import fakelib

LOOP = """
import ctypes, gc, os, sys
import torch

class Size(ctypes.Structure):
    _fields_ = [("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint)]

folder = os.environ["FAKE"] + "/lib/"  # PyTorch brings libraries of these names
driver, cuda = (ctypes.CDLL(folder + name, ctypes.RTLD_GLOBAL) for name in ("libcuda.so.1", "libcudart.so.13"))
driver.fake_kernel.restype = ctypes.c_void_p
kernel = ctypes.c_void_p(driver.fake_kernel(b"work"))

def launch():
    assert cuda.cudaLaunchKernel(kernel, Size(1, 1, 1), Size(1, 1, 1), None, ctypes.c_size_t(0), None) == 0

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(16, 16)

    def forward(self, x):
        x = torch.relu(self.inner(x))
        print("a print breaks the graph", file=sys.stderr)
        return self.inner(x).sin()

torch.set_num_threads(1)
torch._dynamo.config.recompile_limit = torch._dynamo.config.cache_size_limit = 1000
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
model = torch.compile(net, backend="eager", dynamic=False) if sys.argv[1] != "collect" else net
keep = [[number] for number in range(60000)]
for step in range(40):
    launch()
    model(torch.randn(8 + (step if sys.argv[1] == "compile" else 0), 16)).sum().backward()
    if sys.argv[1] == "collect":
        gc.collect()
    optimizer.step()
    optimizer.zero_grad()
    launch()
    cuda.cudaDeviceSynchronize()
assert not gc.callbacks or sys.argv[1] != "collect"
"""


class Advice(fakelib.Case):
    samples = None

    def advice(self, what):
        self.need_torch()
        program = self.path("loop.py")
        with open(program, "w", encoding="utf-8") as file:
            file.write(LOOP)
        folder = os.path.join(fakelib.FAKE, "lib")
        environment = self.environment(LD_LIBRARY_PATH=folder, TACHO_CUPTI=fakelib.cupti("13.0"))
        report = self.profile(fakelib.lib.TORCH_PYTHON, program, what, env=environment)
        said = subprocess.run([os.environ["TACHO"], "summary", report.path], stdout=subprocess.PIPE, text=True, check=True,
                              env={**os.environ, "COLUMNS": "10000"}).stdout
        self.assertIn("by Optimizer.step", said)
        self.assertNotIn("--python-events", re.sub("--python-events=true says", "", said))
        self.assertNotIn("Not checked", said)
        return subprocess.run([os.environ["TACHO"], "stats", "-q", "-r", "advice_sum", "-f", "csv", report.path],
                              stdout=subprocess.PIPE, text=True, check=True).stdout

    def line_of(self, text):
        return next(number for number, line in enumerate(LOOP.splitlines(), 1) if text in line)

    def test_collections(self):
        said = self.advice("collect")
        self.assertRegex(said, rf"garbage_collection,.*loop\.py:{self.line_of('        gc.collect()')}\b")

    def test_compilations_and_breaks(self):
        said = self.advice("compile")
        self.assertRegex(said, rf"recompilations,.*torch\.compile compiles in the loop.*loop\.py:{self.line_of('model(torch.randn')}\b")
        self.assertRegex(said, rf"graph_breaks,.*loop\.py:{self.line_of('a print breaks the graph')} forward")


fakelib.main()
