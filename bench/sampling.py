#!/usr/bin/env python3
"""What CPU sampling costs the program: bare, under `perf record` at the same rate where perf is installed, and under Tacho.

    bench/sampling.py [--pairs N] [--frequency HZ] [--seconds S] [--json FILE]

The program (compiled here) burns a fixed amount of work in two threads; the figure is its own CPU time (CLOCK_PROCESS_CPUTIME_ID), which
interrupts, copies of stacks and signals add to. Runs are interleaved, each beside a bare one; differences are medians with their
95 % interval. Samples lost and stacks cut are printed too. Takes Tacho from the variable TACHO or from build/bin/tacho.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from figures import find_tacho, median_interval

PROGRAM = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static long rounds;
static unsigned long sink[2][16];
__attribute__((noinline)) static unsigned long leaf(unsigned long x, long n) { for (long i = 0; i < n; i++) x = x * 6364136223846793005ul + 1; return x; }
__attribute__((noinline)) static unsigned long deep(unsigned long x, int depth) { return depth ? deep(x, depth - 1) + 1 : leaf(x, 2000); }
static void *burn(void *place) { unsigned long x = 1; for (long i = 0; i < rounds; i++) x = deep(x, 20); *(unsigned long *)place = x; return 0; }
int main(int argc, char **argv)
{
    pthread_t threads[2];
    struct timespec used;
    rounds = atol(argv[1]);
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, burn, sink[i]);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    printf("%.6f\n", used.tv_sec + used.tv_nsec * 1e-9);
}
"""


def cpu_seconds(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"sampling.py: {' '.join(command)} failed: {done.stderr}")
    return float(done.stdout.split()[0]), done.stderr


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--frequency", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--json")
    options = parser.parse_args()
    tacho = find_tacho()
    figures = {"frequency": options.frequency}
    with tempfile.TemporaryDirectory() as folder:
        source, program, report = (os.path.join(folder, name) for name in ("burn.c", "burn", "burn.tacho"))
        with open(source, "w") as file:
            file.write(PROGRAM)
        subprocess.run(["cc", "-O2", "-g", "-fno-optimize-sibling-calls", "-pthread", "-o", program, source], check=True)
        trial, _ = cpu_seconds(program, "2000")
        rounds = str(int(2000 * 2 * options.seconds / trial))
        profile = [tacho, "profile", "-f", "true", "-o", report, "-t", "none", f"--sampling-frequency={options.frequency}"]
        ways = {"tacho -b dwarf": [*profile, "-b", "dwarf"], "tacho -b fp": [*profile, "-b", "fp"], "tacho, nothing": [*profile, "-s", "none"]}
        if shutil.which("perf"):
            record = ["perf", "record", "-q", "-o", os.path.join(folder, "perf.data"), "-F", str(options.frequency)]
            ways.update({"perf record --call-graph dwarf,16384": [*record, "--call-graph", "dwarf,16384"], "perf record -g": [*record, "-g"]})
        added, notes = {way: [] for way in ways}, {}
        for _ in range(options.pairs):
            for way, command in ways.items():
                bare, _ = cpu_seconds(program, rounds)
                used, said = cpu_seconds(*command, program, rounds)
                added[way].append(100 * (used - bare) / bare)
                notes[way] = " ".join(re.findall(r"samples [\d,]+[^;]*|; LOST [^\n]*|none lost", said))
        print(f"{options.frequency} Hz, two threads, {options.seconds:g} s each, {options.pairs} pairs: CPU time of the program, added")
        for way, values in added.items():
            middle, low, high = median_interval(values)
            figures[way] = {"percent": middle, "low": low, "high": high}
            print(f"  {way:40} {middle:6.2f} % ({low:.2f} … {high:.2f})  {notes[way]}")
    if options.json:
        with open(options.json, "w") as file:
            json.dump(figures, file, indent=1)


if __name__ == "__main__":
    main()
