"""A pair is a program with one fault, and the same program without it. The modules beside this one hold the pairs:

    python3 waits.py LossItem               run the faulty program, for a profiler
    python3 waits.py LossItem fixed         run the repaired one
    python3 waits.py LossItem both          time both in turn, and print µs per step as JSON

In the source, `# FAULT` ends the line that is at fault. `# SEEN` ends the lines that show it: the call of a model whose
layers have the wrong type, the loop over a slow DataLoader. An advice may name any of these."""

import fcntl
import json
import os
import re
import sys
import time

import torch
import torch._dynamo  # an optimizer imports it, for seconds: do so before the GPU is taken

STEPS, LEAD = 70, 10                        # of a profiled run; the first steps compile and allocate
ROUND_SECONDS, ROUNDS, FEWEST = 0.2, 9, 6  # of bare runs: length of a round, rounds, fewest steps in a round


class Steps:
    """The numbers of steps, as a range. Times those behind the first: from when the GPU is done with what came before them
    to when it is done with all."""

    def __init__(self, count, lead):
        self.count, self.lead = count, lead
        self.start, self.end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def __iter__(self):
        for step in range(self.count):
            if step == self.lead:
                self.start.record()
            yield step
        self.end.record()

    def step_us(self):
        torch.cuda.synchronize()
        return self.start.elapsed_time(self.end) * 1000 / (self.count - self.lead)


class Pair:
    """A pair. Its subclasses build model and data in __init__() and have the loop in train(). family: of the fault. faults:
    how many; only the pairs of two.py have more than one."""

    family = None
    faults = 1

    def __init__(self, fixed):
        self.fixed = fixed

    def train(self, steps):
        raise NotImplementedError


def pairs_of(module):
    """The pairs of a module, by name."""
    return {name: kind for name, kind in vars(module).items()
            if isinstance(kind, type) and issubclass(kind, Pair) and kind.family and kind.__module__ == module.__name__}


def marked_lines(kind):
    """The lines of a pair that are at fault, and those that show it."""
    lines = {"FAULT": [], "SEEN": []}
    path = sys.modules[kind.__module__].__file__
    with open(path) as file:
        owner = None
        for number, line in enumerate(file, 1):
            if match := re.match(r"(?:class|def) (\w+)", line):
                owner = match[1]
            if (mark := re.search(r"# (FAULT|SEEN)(?: of (.+))?$", line)) and kind.__name__ in (mark[2] or owner).split(", "):
                lines[mark[1]].append(number)
    return os.path.basename(path), lines["FAULT"], lines["SEEN"]


def timed(pair, count, lead):
    steps = Steps(count, lead)
    pair.train(steps)
    return steps.step_us()


def time_both(kind):
    """µs per step of both programs, in rounds that take turns."""
    programs = {"faulty": kind(False), "fixed": kind(True)}
    counts, times = {}, {"faulty": [], "fixed": []}
    for name, program in programs.items():
        timed(program, LEAD, 2)
        counts[name] = max(FEWEST, min(STEPS, int(ROUND_SECONDS * 1e6 / timed(program, FEWEST, 2))))
    for _ in range(ROUNDS):
        for name, program in programs.items():
            times[name].append(timed(program, counts[name] + 3, 3))
    return times


def cores():
    """Two halves of the host's cores: for the program that runs, and for those that start meanwhile."""
    def place(cpu):
        folder = f"/sys/devices/system/cpu/cpu{cpu}/topology/"
        with open(folder + "physical_package_id") as package, open(folder + "core_id") as core:
            return int(package.read()), int(core.read()), cpu
    cpus = sorted(range(os.cpu_count()), key=place)
    return cpus[:len(cpus) // 2], cpus[len(cpus) // 2:]


def take_turn():
    """Waits for the GPU: run.py starts several programs at once, and the file PAIRS_TURN is locked by the one that runs."""
    path = os.environ.get("PAIRS_TURN")
    if path:
        fcntl.flock(os.open(path, os.O_RDWR | os.O_CREAT), fcntl.LOCK_EX)
        os.sched_setaffinity(0, cores()[0])


def main(module, name, what="faulty"):
    kind = pairs_of(module)[name]
    take_turn()
    if what == "both":
        print(json.dumps(time_both(kind)))
        return
    start = time.perf_counter()
    step_us = timed(kind(what == "fixed"), STEPS, LEAD)
    print(json.dumps({"step": step_us, "seconds": time.perf_counter() - start}))


def run(module_name):
    if module_name == "__main__":
        main(sys.modules["__main__"], *sys.argv[1:])
