#!/usr/bin/env python3
"""How long an answer takes that comes from a long capture: summary (the same lines end `tacho profile`) and analyze, of 2,000 steps and of 44,480.

    bench/any_size.py [--json FILE] [--times N] [--small]

bench/report/make_loop.c repeats the steps that a stored capture of tests/golden/pairs has, with calls to libc, NVTX ranges and CPU samples among them: 4.5 M events, and 100 M
(2 GB of memory and a minute to make; --small leaves it out). Three kinds of steps: those that repeat in the launches, calls of Optimizer.step, and those that the agent timed.
Takes Tacho from the variable TACHO or from build/bin/tacho, make_loop from PROGRAMS or build/bench (`cmake --build build --target all bench`). Each figure is the median of N
runs in turn, the start of the program included; CPU time counts all cores, and on a busy machine it is the one that tells.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
BUILD = os.path.join(ROOT, "build")
TACHO = os.environ.get("TACHO", os.path.join(BUILD, "bin", "tacho"))
MAKE_LOOP = os.path.join(os.environ.get("PROGRAMS", os.path.join(BUILD, "bench")), "make_loop")
PAIRS = os.path.join(ROOT, "tests", "golden", "pairs")

# name: capture, times, part of it that is repeated (eight steps), options; aims of summary and analyze, s; aim of memory, bytes
INPUTS = {
    "4.5 M events, steps that repeat": ("SmallNetwork-faulty", 250, 9376754037, 9418593973, ("more",), 1, 2, None),
    "4.5 M events, timed steps": ("SmallNetwork-faulty", 250, 9376754037, 9418593973, ("more", "marks"), 1, 2, None),
    "3.4 M events, Optimizer.step": ("LossItem-faulty", 250, 19663802875, 19726513033, ("more",), 1, 2, None),
    "100 M events, steps that repeat": ("SmallNetwork-faulty", 5560, 9376754037, 9418593973, ("more",), 3, 3, 1 << 30),
}


def measure(command, path):
    """Wall time, CPU time and peak memory of a run."""
    begun = time.monotonic()
    process = subprocess.Popen([TACHO, *command, path], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"any_size.py: tacho {' '.join(command)} {path} failed")
    return time.monotonic() - begun, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", metavar="FILE", help="keep the figures")
    parser.add_argument("--times", type=int, default=7, help="runs of each (7)")
    parser.add_argument("--small", action="store_true", help="without the 100 M events")
    options = parser.parse_args()
    for program in (TACHO, MAKE_LOOP):
        if not os.path.exists(program):
            sys.exit(f"any_size.py: there is no {program}; build with --target all bench")
    result = {"cores": len(os.sched_getaffinity(0)), "load": os.getloadavg()[0], "work": {}}
    print(f"{result['cores']} cores, load {result['load']:.1f}\n\n| capture | command | wall | CPU | memory | aim |\n|---|---|---|---|---|---|")
    for what, (pair, times, first, last, more, of_summary, of_analyze, most) in INPUTS.items():
        if options.small and most:
            continue
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "long.tacho")
            subprocess.run([MAKE_LOOP, os.path.join(PAIRS, pair + ".tacho"), path, *map(str, (times, first, last)), *more], check=True)
            runs = {"summary": [], "analyze": []}
            for _ in range(options.times):
                for command, list_of in runs.items():
                    list_of.append(measure([command], path))
            for command, aim in (("summary", of_summary), ("analyze", of_analyze)):
                wall, cpu, memory = (statistics.median(column) for column in zip(*runs[command]))
                result["work"][f"{what}: {command}"] = {"wall_s": wall, "cpu_s": cpu, "memory_bytes": memory, "runs": [list(run) for run in runs[command]]}
                met = wall <= aim and (not most or memory <= most)
                print(f"| {what} | {command} | {wall:.2f} s | {cpu:.2f} s | {memory / 1e6:.0f} MB | ≤ {aim} s{', ≤ 1 GB' if most else ''}: {'yes' if met else 'no'} |", flush=True)
    if options.json:
        with open(options.json, "w") as out:
            json.dump(result, out, indent=1)
            out.write("\n")


main()
