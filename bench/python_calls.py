#!/usr/bin/env python3
"""What the stacks of a call cost the thread that makes it: none, native, and native with Python's (--python-backtrace=cuda).

    bench/python_calls.py [--rounds N] [--python COMMAND]

The program is this file: reads of one byte, so many Python calls deep, by the CPU time of the thread; of each round the best of ten parts, of
all rounds the median. All thresholds are 0, so that every call has its stacks; usually those over 80 µs have. Takes Tacho from the
variable TACHO or from build/bin/tacho.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

CALLS, PARTS, DEPTHS = 3000, 10, (5, 20, 60)


def work(depth):
    if depth:
        return work(depth - 1)
    descriptor, best = os.open("/dev/zero", os.O_RDONLY), float("inf")
    for _ in range(PARTS):
        begin = time.thread_time_ns()
        for _ in range(CALLS // PARTS):
            os.read(descriptor, 1)
        best = min(best, (time.thread_time_ns() - begin) / (CALLS // PARTS))
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--python", default=os.path.realpath(sys.executable))
    parser.add_argument("--depth", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.depth:
        print(work(options.depth))
        return
    tacho = os.environ.get("TACHO", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "build", "bin", "tacho"))
    with tempfile.TemporaryDirectory() as folder:
        traced = [tacho, "profile", "-q", "-f", "true", "-o", os.path.join(folder, "report.tacho"), "-t", "osrt", "-s", "none",
                  "--osrt-threshold=0", "--osrt-backtrace-threshold=0"]
        ways = {"bare": [], "native": traced, "native and Python": [*traced, "--python-backtrace=cuda"]}
        for depth in DEPTHS:
            for way, prefix in ways.items():
                command = [*prefix, options.python, os.path.abspath(__file__), "--depth", str(depth)]
                costs = [float(subprocess.run(command, capture_output=True, text=True, check=True).stdout) for _ in range(options.rounds)]
                print(f"{depth:3} frames deep, {way:18} {statistics.median(costs) / 1000:7.2f} µs a call", flush=True)


if __name__ == "__main__":
    main()
