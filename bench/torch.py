#!/usr/bin/env python3
"""How fast a trace of torch.profiler is imported and written again, in how much memory, and how long the table of its operators takes.

    bench/torch.py [--megabytes N] [--times N] [--json FILE]

The trace is a real one (tests/golden/kineto/train.json.gz: resnet18, two steps, with shapes, stacks and memory) repeated with times,
ids and addresses moved on, until it has N megabytes (default 320, which is 200,000 operators). Beside it stand Python's own JSON parser
and writer on the same file, and the bare reading of it. MB are those of the trace that was made, for what is written too. Takes Tacho from the variable TACHO or from build/bin/tacho.
"""
import argparse
import gzip
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TRACE = os.path.join(HERE, "..", "tests", "golden", "kineto", "train.json.gz")
MOVED = re.compile(r'("External id": |"correlation": |"Ev Idx": |"Python id": |"Python parent id": |"id": |"Sequence number": |"ts": )(\d+)')
STEP_US = 50000  # how far apart the copies are
IDS = 100000     # more than a copy has


def make_trace(path, megabytes):
    text = gzip.open(TRACE, "rt").read()
    start = text.index("[", text.index('"traceEvents"')) + 1
    end = text.rindex("]")
    head, events, tail = text[:start], text[start:end].rstrip().rstrip(","), text[end:]
    operators = copies = 0
    with open(path, "w") as out:
        out.write(head)
        while out.tell() < megabytes * 1e6:
            def move(match, copy=copies):
                return match[1] + str(int(match[2]) + copy * (STEP_US if match[1] == '"ts": ' else IDS))
            out.write("," if copies else "")
            out.write(MOVED.sub(move, events))
            operators += events.count('"cpu_op"')
            copies += 1
        out.write(tail)
    return operators


def run(*command):
    """Wall and CPU seconds, and the most memory that it held, in megabytes."""
    wall = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        sys.exit(f"torch.py: {' '.join(command)} failed")
    return time.monotonic() - wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def median(times, *command):
    runs = [run(*command) for _ in range(times)]
    return [statistics.median(column) for column in zip(*runs)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--megabytes", type=int, default=320)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--json")
    options = parser.parse_args()
    tacho = os.environ.get("TACHO", os.path.join(HERE, "..", "build", "bin", "tacho"))
    figures = {}
    with tempfile.TemporaryDirectory() as folder:
        trace, report, out = (os.path.join(folder, name) for name in ("t.json", "t.tacho", "out"))
        export = (tacho, "export", "-q", "-f", "true", "-o", out)
        operators = make_trace(trace, options.megabytes)
        size = os.path.getsize(trace) / 1e6
        rows = [("reading (cat)", median(options.times, "cat", trace)),
                ("tacho import", median(options.times, tacho, "import", "-q", "-f", "true", "-o", report, trace)),
                ("tacho ops, of the report", median(options.times, tacho, "ops", "--sort-by", "self_cuda_time_total", report)),
                ("tacho ops --steps 3", median(options.times, tacho, "ops", "--steps", "3", report)),
                *((f"stats -r {name}", median(options.times, tacho, "stats", "-r", name, report))
                  for name in ("step_sum", "torch_memory_sum", "torch_memory_peak", "torch_module_sum", "torch_kern_sum")),
                ("tacho ops, of the trace", median(options.times, tacho, "ops", "--sort-by", "self_cuda_time_total", trace))]
        for kind in ("chrome", "chrome --gzip", "perfetto", "stacks"):
            rows.append((f"tacho export -t {kind}", median(options.times, *export, "-t", *kind.split(), report)))
            print(f"{kind}: {os.path.getsize(out) / 1e6:.1f} MB")
        if size < 600:
            load, dump = "import json, sys; t = json.load(open(sys.argv[1]))", "; json.dump(t, open(sys.argv[2], 'w'))"
            rows.append(("json.load of Python", median(1, sys.executable, "-c", load, trace)))
            rows.append(("json.load and json.dump", median(1, sys.executable, "-c", load + dump, trace, out)))
        print(f"{size:.0f} MB, {operators} operators; the report has {os.path.getsize(report) / 1e6:.1f} MB")
        print(f"{'':30}{'wall s':>8}{'CPU s':>8}{'MB/s':>8}{'MB/s a core':>13}{'memory MB':>11}")
        for name, (wall, cpu, memory) in rows:
            print(f"{name:30}{wall:8.2f}{cpu:8.2f}{size / wall:8.0f}{size / max(cpu, 0.001):13.0f}{memory:11.0f}")
            figures[name] = {"wall_s": wall, "cpu_s": cpu, "memory_mb": memory}
    if options.json:
        with open(options.json, "w") as out:
            json.dump({"trace_mb": size, "operators": operators, "figures": figures}, out, indent=1)


if __name__ == "__main__":
    main()
