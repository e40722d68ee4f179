#!/usr/bin/env python3
"""What CPU sampling costs the program: bare, under `perf record` at the same rate where perf is installed, and under Tacho.

    bench/sampling.py [--pairs N] [--frequency HZ] [--seconds S] [--deep KIB] [--copies BYTES,BYTES…] [--json FILE]

The program (compiled here) burns a fixed amount of work in two threads, whose stacks are --deep KiB deep; the figure is its own CPU time
(CLOCK_PROCESS_CPUTIME_ID), which interrupts, copies of stacks and signals add to, and what all other processes used beside it. --copies:
how much of a stack is copied, instead of Tacho's own choice. Runs are interleaved, each beside a bare one; differences are medians with
their 95 % interval. Samples lost and stacks cut are printed too. Takes Tacho from the variable TACHO or from build/bin/tacho.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from figures import cpu_ns, find_tacho, median_interval

PROGRAM = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static long rounds;
static int frame_bytes;
static unsigned long sink[2][16];
__attribute__((noinline)) static unsigned long leaf(unsigned long x, long n) { for (long i = 0; i < n; i++) x = x * 6364136223846793005ul + 1; return x; }
__attribute__((noinline)) static unsigned long deep(unsigned long x, int depth)
{
    volatile char *room = __builtin_alloca((size_t)frame_bytes);
    room[0] = 1;
    return depth ? deep(x, depth - 1) + (unsigned long)room[0] : leaf(x, 2000);
}
static void *burn(void *place) { unsigned long x = 1; for (long i = 0; i < rounds; i++) x = deep(x, 20); *(unsigned long *)place = x; return 0; }
int main(int argc, char **argv)
{
    pthread_t threads[2];
    struct timespec used;
    rounds = atol(argv[1]);
    frame_bytes = atoi(argv[2]);
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, burn, sink[i]);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    printf("%.6f\n", used.tv_sec + used.tv_nsec * 1e-9);
}
"""


def cpu_seconds(*command):
    """What the program itself used, what all others did, and what was said."""
    before = cpu_ns()
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"sampling.py: {' '.join(command)} failed: {done.stderr}")
    own = float(done.stdout.split()[0])
    return own, (cpu_ns() - before) * 1e-9 - own, done.stderr


def commands(options, folder):
    profile = [find_tacho(), "profile", "-f", "true", "-o", os.path.join(folder, "burn.tacho"), "-t", "none",
               f"--sampling-frequency={options.frequency}"]
    ways = {"tacho -b dwarf": [*profile, "-b", "dwarf"], "tacho -b fp": [*profile, "-b", "fp"], "tacho, nothing": [*profile, "-s", "none"]}
    for size in options.copies:
        ways[f"tacho -b dwarf, {size} bytes"] = [*profile, "-b", "dwarf", f"--backtrace-stack-size={size}"]
    if shutil.which("perf"):
        record = ["perf", "record", "-q", "-o", os.path.join(folder, "perf.data"), "-F", str(options.frequency)]
        for size in options.copies or ["16384"]:
            ways[f"perf record --call-graph dwarf,{size}"] = [*record, "--call-graph", f"dwarf,{size}"]
        ways["perf record -g"] = [*record, "-g"]
    return ways


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--frequency", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--deep", type=float, default=1)
    parser.add_argument("--copies", type=lambda text: text.split(","), default=[])
    parser.add_argument("--json")
    options = parser.parse_args()
    figures = {"frequency": options.frequency}
    with tempfile.TemporaryDirectory() as folder:
        source, program = (os.path.join(folder, name) for name in ("burn.c", "burn"))
        with open(source, "w") as file:
            file.write(PROGRAM)
        subprocess.run(["cc", "-O2", "-g", "-fno-optimize-sibling-calls", "-pthread", "-o", program, source], check=True)
        frame = str(int(options.deep * 1024 / 20))
        trial, _, _ = cpu_seconds(program, "2000", frame)
        work = [program, str(int(2000 * 2 * options.seconds / trial)), frame]
        ways = commands(options, folder)
        added, notes = {way: [] for way in ways}, {}
        for _ in range(options.pairs):
            for way, command in ways.items():
                bare, start, _ = cpu_seconds(*work)
                used, beside, said = cpu_seconds(*command, *work)
                added[way].append((100 * (used - bare) / bare, 100 * (beside - start) / bare))
                notes[way] = " ".join(re.findall(r"samples [\d,]+[^;]*|(?i:incomplete): [^\n]*|none lost", said))
        print(f"{options.frequency} Hz, two threads, {options.seconds:g} s each, stacks of {options.deep:g} KiB, {options.pairs} pairs: "
              "CPU time added to the program's, and used beside it")
        for way, values in added.items():
            middle, low, high = median_interval([own for own, _ in values])
            beside = median_interval([beside for _, beside in values])[0]
            figures[way] = {"percent": middle, "low": low, "high": high, "beside": beside}
            print(f"  {way:40} {middle:6.2f} % ({low:.2f} … {high:.2f}), {beside:6.2f} %  {notes[way]}")
    if options.json:
        with open(options.json, "w") as file:
            json.dump(figures, file, indent=1)


if __name__ == "__main__":
    main()
