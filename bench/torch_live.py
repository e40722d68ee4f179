"""What observing PyTorch's operators costs the thread that runs them, beside torch.profiler: torch_live.py [--rounds N] [--modules] [--python PYTHON]

One program of tiny operators on the CPU, each way in a process of its own; rounds are interleaved. Figures are microseconds of CPU
time for one operator (of blocks of 500 the tenth that took least, since others may use the machine too): the median of the rounds, and
what each way adds to the bare run of the same round, with its 95 % interval. In the ways with modules each operator is in a call of one.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile

import figures

PROGRAM = """
import sys, time, torch
torch.set_num_threads(1)
kind, operators = sys.argv[1], int(sys.argv[2])
x = torch.ones(4)
class Negative(torch.nn.Module):
    def forward(self, x):
        return x.neg_()
negative = Negative()
def work(count):
    for _ in range(count):
        x.neg_()  # one operator, whereas x.add_(1) is five
def work_in_module(count):
    for _ in range(count):
        negative(x)
if kind.startswith("module"):
    work = work_in_module
if kind == "module-hooks":  # what they would cost at the least
    from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
    register_module_forward_pre_hook(lambda module, given: None)
    register_module_forward_hook(lambda module, given, result: None)
def measure():
    work(operators // 10)
    blocks = []
    for _ in range(operators // 500):
        start = time.thread_time()
        work(500)
        blocks.append(time.thread_time() - start)
    return 1e6 * sorted(blocks)[len(blocks) // 10] / 500
if kind in ("bare", "module", "module-hooks"):
    print(measure())
else:
    from torch.profiler import profile, ProfilerActivity
    more = dict(record_shapes=True, profile_memory=True) if kind == "all" else dict(with_stack=kind == "module-stack")
    with profile(activities=[ProfilerActivity.CPU], **more):
        print(measure())
"""

# Name, what the program does itself, how it is started.
WAYS = [
    ("bare", "bare", None),
    ("torch.profiler", "plain", None),
    ("torch.profiler, shapes and memory", "all", None),
    ("tacho", "bare", ["--pytorch=auto"]),
    ("tacho, shapes", "bare", ["--pytorch-shapes=true"]),
    ("tacho, shapes and memory", "bare", ["--pytorch-shapes=true", "--pytorch-memory=true"]),
    ("in a module, bare", "module", None),
    ("in a module, torch.profiler", "module-plain", None),
    ("in a module, torch.profiler, stacks and so modules", "module-stack", None),
    ("in a module, torch's hooks that do nothing", "module-hooks", None),
    ("in a module, tacho", "module", ["--pytorch=auto"]),
    ("in a module, tacho, modules", "module", ["--pytorch-modules=true"]),
]


def bare_of(name):
    return "in a module, bare" if name.startswith("in a module") else "bare"


def run(tacho, python, script, way, operators, folder):
    name, kind, options = way
    command = [python, script, kind, str(operators)]
    if options:
        command = [tacho, "profile", "-q", "-f", "true", "-o", os.path.join(folder, "report"), "-t", "none", *options, *command]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--operators", type=int, default=200000)
    parser.add_argument("--python", default=sys.executable, help="a Python that has torch")
    parser.add_argument("--modules", action="store_true", help="the ways with modules alone")
    options = parser.parse_args()
    ways = [way for way in WAYS if not options.modules or way[0].startswith("in a module")]
    if subprocess.run([options.python, "-c", "import torch"], capture_output=True).returncode != 0:
        print(f"skipped: {options.python} has no torch")
        sys.exit(77)
    tacho = figures.find_tacho()
    taken = {way[0]: [] for way in ways}
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(folder, "operators.py")
        with open(script, "w") as file:
            file.write(PROGRAM)
        for _ in range(options.rounds):
            for way in ways:
                taken[way[0]].append(run(tacho, options.python, script, way, options.operators, folder))
    rows = []
    for name, values in taken.items():
        middle, low, high = figures.median_interval([value - bare for value, bare in zip(values, taken[bare_of(name)])])
        rows.append((name, f"{statistics.median(values):.3f}", f"{middle:+.3f} ({low:+.3f} … {high:+.3f})" if name != bare_of(name) else ""))
    figures.table(f"µs of CPU time an operator, {options.rounds} rounds, {figures.host()['cpu']}", ("", "median", "added"), rows)


main()
