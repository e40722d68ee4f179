#!/usr/bin/env python3
"""What tacho profile -t openmp adds to a construct of OpenMP: bench/openmp.py [--pairs N] [--count N] [--threads N] [--json FILE]

A program (openmp/openmp_pace.c) makes parallel regions, barriers in a region, or critical sections, with clang's libomp (OMPT) and with gcc's libgomp
(interposed). It has one thread unless --threads says more; then the machine must be idle. It runs bare and profiled in turn; a run counts with the least of its ten parts. The figures are
medians of the differences of pairs, with 95 % intervals, in nanoseconds a construct.
"""
import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile

import figures

SOURCES = os.path.join(figures.HERE, "openmp")


def pace(program, name, options, prefix):
    done = subprocess.run([*prefix, program, name, str(options.count), str(options.threads)], capture_output=True, text=True, timeout=300, env={**os.environ, "OMP_WAIT_POLICY": "active"})
    if done.returncode != 0:
        sys.exit(f"{' '.join(prefix)} {program} {name} failed: {done.stderr}")
    return float(done.stdout.split()[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--count", type=int, default=100000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json")
    options = parser.parse_args()
    tacho, rows, times, kept = figures.find_tacho(), [], [], {}
    with tempfile.TemporaryDirectory() as folder:
        ways = {"bare": [], "tacho": [tacho, "profile", "-q", "-f", "true", "-t", "openmp", "-s", "none", "-o", folder + "/report.tacho"]}
        for compiler in filter(shutil.which, ("clang", "gcc")):
            program = os.path.join(folder, compiler)
            if subprocess.run([compiler, "-O2", "-fopenmp", "-o", program, os.path.join(SOURCES, "openmp_pace.c")]).returncode != 0:
                continue
            for name in ("region", "barrier", "critical"):
                rounds = [{way: pace(program, name, options, ways[way]) for way in random.sample(list(ways), len(ways))} for _ in range(options.pairs)]
                bare, *_ = figures.median_interval([one["bare"] for one in rounds])
                added, low, high = figures.median_interval([one["tacho"] - one["bare"] for one in rounds])
                rows.append([compiler, name, f"{bare:.0f}", f"{added:.0f} ({low:.0f} … {high:.0f})"])
                kept[f"{compiler} {name}"] = rounds
                print(*rows[-1], flush=True)
            told = pace(program, "time", argparse.Namespace(count=200, threads=options.threads), ways["tacho"])
            query = "SELECT sum(end - start) AS time FROM OPENMP_EVENT_KIND_PARALLEL"
            seen = float(subprocess.run([tacho, "sql", "--format", "csv", folder + "/report.tacho", query], capture_output=True, text=True, check=True).stdout.split()[-1])
            times.append([compiler, f"{told / 1e6:.3f}", f"{seen / 1e6:.3f}", f"{100 * (seen / told - 1):.3f} %"])
    figures.table("Time of 200 regions, ms", ["compiler", "omp_get_wtime()", "report", "difference"], times)
    figures.table("Added by -t openmp, ns a construct", ["compiler", "construct", "bare", "added (95 %)"], rows)
    figures.keep_figures(options.json, tacho=figures.version(tacho), count=options.count, threads=options.threads, rounds=kept)


if __name__ == "__main__":
    main()
