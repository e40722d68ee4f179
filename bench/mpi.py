#!/usr/bin/env python3
"""What tacho profile -t mpi adds to a call of MPI: bench/mpi.py [--pairs N] [--calls N] [--json FILE]

Two programs (mpi/mpi_pace.c): 8 bytes back and forth between two ranks, and MPI_Test() of a request that is never complete, in one rank. Each runs
bare and profiled in turn, under every MPI that is found: Debian's Open MPI and MPICH, and those of PyPI under the folder TACHO_TEST_MPI
(scripts/lib.sh). A run counts with the 5th percentile of its hundred parts. The figures are medians of the differences of pairs, with 95 % intervals, in
nanoseconds a call; a round of ping-pong is four calls, of which each rank makes two. TACHO_NSYS=PROGRAM runs nsys -t mpi in the same rounds.
"""
import argparse
import os
import random
import re
import subprocess
import sys
import tempfile

import figures

os.environ.update({"SOURCE": os.path.join(figures.HERE, ".."), "AGENT": "", "PROGRAMS": "", "TACHO": os.environ.get("TACHO", "")})
sys.path.insert(0, os.path.join(figures.HERE, "..", "tests", "trace", "mpi"))
import mpilib  # noqa: E402

# name: ranks, aim in ns a call
PROGRAMS = {"pingpong": (2, 150), "test": (1, 40)}


def pace(mpi, program, name, calls, prefix):
    ranks, _ = PROGRAMS[name]
    implementation = "openmpi" if mpi.name.startswith("openmpi") else "mpich"
    prefix = [word.format(implementation=implementation) for word in prefix]
    done = subprocess.run([*mpi.run, "-n", str(ranks), *prefix, program, name, str(calls)], capture_output=True, text=True, timeout=120,
                          env={**os.environ, **mpi.environment})
    if done.returncode != 0:
        sys.exit(f"{mpi.name}: {' '.join(prefix)} {name} failed: {done.stderr}")
    return float(re.search(r"^([\d.]+) [\d.]+$", done.stdout, re.M).group(1))  # nsys prints lines of its own


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--calls", type=int, default=200000)
    parser.add_argument("--json")
    options = parser.parse_args()
    tacho, rows, kept = figures.find_tacho(), [], {}
    with tempfile.TemporaryDirectory() as folder:
        ways = {"bare": [], "tacho": [tacho, "profile", "-q", "-f", "true", "-t", "mpi", "-s", "none", "-o", folder + "/report-%p.tacho"]}
        if os.environ.get("TACHO_NSYS"):
            ways["nsys"] = [os.environ["TACHO_NSYS"], "profile", "-t", "mpi", "-s", "none", "--cpuctxsw=none", "-f", "true", "-o", folder + "/report-%p",
                            "--mpi-impl={implementation}"]
        for mpi in mpilib.installed():
            program = os.path.join(folder, "mpi_pace-" + mpi.name)
            subprocess.run([*mpi.cc, "-O2", "-o", program, os.path.join(figures.HERE, "mpi", "mpi_pace.c")], check=True, env={**os.environ, **mpi.environment})
            for name, (_, aim) in PROGRAMS.items():
                rounds = [{way: pace(mpi, program, name, options.calls, ways[way]) for way in random.sample(list(ways), len(ways))}
                          for _ in range(options.pairs)]
                bare, *_ = figures.median_interval([one["bare"] for one in rounds])
                for way in list(ways)[1:]:
                    added, low, high = figures.median_interval([one[way] - one["bare"] for one in rounds])
                    rows.append([mpi.name, name, way, f"{bare:.0f}", f"{added:.0f} ({low:.0f} … {high:.0f})", aim])
                    print(*rows[-1], flush=True)
                kept[f"{mpi.name} {name}"] = rounds
    figures.table("Added by -t mpi, ns a call", ["MPI", "program", "profiler", "bare", "added (95 %)", "aim"], rows)
    figures.keep_figures(options.json, tacho=figures.version(tacho), calls=options.calls, rounds=kept)


if __name__ == "__main__":
    main()
