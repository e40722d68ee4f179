"""`tacho analyze --measure` on a trace that is made up here, with stand-ins for torch and for Python: products of matrices without tensor cores, of which
the alternative takes a quarter of the time. What was measured takes the place of the model, in tables and in findings."""

import json
import os
import subprocess
import sys
import tempfile

import lib
from lib import TACHO, check, output, refusal

KERNELS, KERNEL_US, LAUNCH_US = 40, 1000, 10

# The shape of torch as _measure.py sees it. A product takes 4 units of time, with TF32 1, and half a unit more for a size that is no multiple of 8.
TORCH = '''
import types
float32, float16, bfloat16 = "float32", "float16", "bfloat16"
backends = types.SimpleNamespace(cuda=types.SimpleNamespace(matmul=types.SimpleNamespace(allow_tf32=False)), cudnn=types.SimpleNamespace(allow_tf32=False))
class Event:
    now = 0
    def __init__(self, enable_timing): pass
    def record(self): self.at = Event.now
    def elapsed_time(self, end): return end.at - self.at
class no_grad:
    def __enter__(self): pass
    def __exit__(self, *what): pass
cuda = types.SimpleNamespace(is_available=lambda: AVAILABLE, get_device_name=lambda: "Stand-in", Event=Event, synchronize=lambda: None)
def randn(shape, device, dtype):
    if shape == [13, 13]: raise RuntimeError("too unlucky\\nfor a line")
    return shape
def mm(a, b):
    if a[1] != b[0]: raise RuntimeError("sizes differ")
    Event.now += (1 if backends.cuda.matmul.allow_tf32 else 4) + (0.5 if any(size % 8 for size in a + b) else 0)
'''


def make_trace(path, shapes):
    """Products one after another on a GPU that is always busy: what kernels take less, the run takes less."""
    events = [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 7, "tid": 7, "ts": 20 * i, "dur": 18,
               "args": {"External id": i + 1, "Input Dims": shapes[i % len(shapes)], "Input type": ["float", "float"], "Input Strides": [[1, 1], [1, 1]],
                        "Concrete Inputs": ["", ""]}} for i in range(KERNELS)]
    for i in range(KERNELS):
        events += [{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 7, "tid": 7, "ts": 20 * i + 2, "dur": LAUNCH_US,
                    "args": {"External id": i + 1, "correlation": i + 1}},
                   {"ph": "X", "cat": "kernel", "name": "ampere_sgemm_128x64_nn", "pid": 0, "tid": 7, "ts": 100 + (KERNEL_US + 1) * i, "dur": KERNEL_US,
                    "args": {"External id": i + 1, "correlation": i + 1, "device": 0, "context": 1, "stream": 7, "grid": [64, 64, 1], "block": [128, 1, 1]}}]
    with open(path, "w") as file:
        json.dump({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H200", "computeMajor": 9, "computeMinor": 0, "numSms": 132,
                                                             "totalGlobalMem": 150000000000}], "traceEvents": events}, file)
    return path


def make_python(name, torch, available=True):
    """A Python that finds this torch."""
    folder = os.path.abspath(name + "-torch")
    os.mkdir(folder)
    if torch:
        with open(os.path.join(folder, "torch.py"), "w") as file:
            file.write(f"AVAILABLE = {available}\n" + torch)
    else:
        with open(os.path.join(folder, "torch.py"), "w") as file:
            file.write("raise ImportError('none')\n")
    return make_program(name, f'PYTHONPATH={folder} exec {sys.executable} "$@"\n')


def make_program(name, script):
    with open(name, "w") as file:
        file.write("#!/bin/sh\n" + script)
    os.chmod(name, 0o755)
    return os.path.abspath(name)


def measured(trace, python, *options):
    return json.loads(output("analyze", "--measure", "--python", python, "--json", *options, trace))


def check_measured(trace, python):
    modelled = lib.table("advice_sum", trace)[0]
    check("the finding is modelled at first", ("tensor_cores", "modelled"), (modelled["Rule"], modelled["Confidence"]))
    document = measured(trace, python)
    row, = [row for row in document["advice_sum"] if row["Rule"] == "tensor_cores"]
    saved = 0.75 * KERNELS * KERNEL_US * 1000
    print(f"modelled {modelled['Saves per Step (ns)']} ns, measured {row['Saves per Step (ns)']} ns, expected {saved:.0f} ns")
    check("then it is measured", "measured", row["Confidence"])
    check("three quarters of the kernels' time are saved, to 2 %", True, abs(row["Saves per Step (ns)"] - saved) <= 0.02 * saved)
    check("the range holds it", True, row["From (ns)"] < row["Saves per Step (ns)"] < row["To (ns)"])
    check("the finding names the GPU", True, "timed on Stand-in" in row["Finding"])
    one, = document["measured"]
    check("one experiment", ("aten::mm", KERNELS, KERNEL_US * 1000, 25.0), tuple(one[name] for name in ("Operator", "Kernels", "Recorded (ns)", "Of Now (%)")))
    run, = json.loads(output("analyze", "--measure", "--python", python, "-f", "sarif", trace))["runs"]
    result = next(result for result in run["results"] if result["ruleId"] == "tensor_cores")
    check("sarif has what was measured", ("measured", row["Saves per Step (ns)"]), tuple(result["properties"][name] for name in ("confidence", "estimate_ns")))
    limit = f"saving>{row['Saves per Step (ns)'] - 1}ns"
    done = subprocess.run([TACHO, "analyze", "--measure", "--python", python, "-f", "github", "--fail-if", limit, trace], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    check("--fail-if sees it", 1, done.returncode)


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        trace, python = make_trace("even.json", [[[4096, 4096], [4096, 4096]]]), make_python("python", TORCH)
        check_measured(trace, python)

        odd = measured(make_trace("odd.json", [[[4001, 4001], [4001, 4001]]]), python)["measured"]
        check("odd sizes: 4.5 units now, 1 with padded sizes", [round(100 / 4.5, 1)], [row["Of Now (%)"] for row in odd])

        rows = measured(make_trace("some.json", [[[512, 512], [512, 512]], [[13, 13], [13, 13]], [[8, 16], [8, 16]]]), python)
        notes = {row["Shapes"]: row["Note"] for row in rows["measured"]}
        check("what cannot be timed says why, in a line", {"[[512, 512], [512, 512]]": None, "[[13, 13], [13, 13]]": "too unlucky", "[[8, 16], [8, 16]]": "sizes differ"}, notes)
        confidence = [row["Confidence"] for row in rows["advice_sum"] if row["Rule"] == "tensor_cores"]
        check("a third of the time is too little to be called measured", ["modelled"], confidence)

        slower = make_program("slower", "echo GPU\nwhile read -r line; do echo 100 150; done\n")
        check("an alternative that is slower is no advice", [], [row for row in measured(trace, slower)["advice_sum"] if row["Rule"] == "tensor_cores"])

        for name, program, says in (("no torch", make_python("none", ""), "has no torch: name one that has with --python"),
                                    ("no GPU", make_python("cpu", TORCH, False), "torch finds no GPU here"),
                                    ("no Python", "/nowhere/python", "cannot run '/nowhere/python'"),
                                    ("a program that fails", make_program("fails", "exit 3\n"), "ended with status 3"),
                                    ("a program that stops early", make_program("stops", "echo GPU\n"), "timed 0 of 1")):
            check(name, True, says in refusal("analyze", "--measure", "--python", program, trace))
        plain = lib.run("analyze", "--measure", "--python", "/nowhere/python", "--json", "-r", "launch_bound", os.path.join(lib.KINETO, "infer.json.gz"))
        check("without a modelled finding nothing is run", (0, False), (plain[0], "measured" in json.loads(plain[2])))
        os.chdir("/")
    return lib.status()


sys.exit(main())
