#!/usr/bin/env python3
"""How long a report takes to become SQLite and back, beside what SQLite itself needs to copy and to read the same rows; and to become
a trace of Perfetto, beside what it takes to write as many bytes.

    bench/exchange.py [--kernels N] [--times N] [--json FILE]

N kernels (default 2 M) and as many calls, made by bench/report/make_events.c with a fixed seed. Takes Tacho from the variable
TACHO or from build/bin/tacho, make_events from PROGRAMS or build/bench (`cmake --build build --target bench`).
"""
import argparse
import json
import os
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.join(HERE, "..", "build")
TABLES = ("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME")


def measure(work):
    """Wall and CPU seconds of a function that runs children or works here."""
    def cpu():
        return sum(u.ru_utime + u.ru_stime for u in map(resource.getrusage, (resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF)))
    wall, used = time.monotonic(), cpu()
    work()
    return time.monotonic() - wall, cpu() - used


def sqlite_copies(path):
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA synchronous = OFF")
        database.execute(f"VACUUM INTO '{path}.copy'")
    os.unlink(f"{path}.copy")


def sqlite_reads(path):
    with sqlite3.connect(path) as database:
        for table in TABLES:
            columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
            database.execute(f"SELECT {', '.join(f'max({c})' for c in columns)} FROM {table}").fetchall()


def write_as_many(path):
    piece, size = bytes(range(256)) * 4096, os.path.getsize(path)
    with open(f"{path}.floor", "wb", buffering=0) as out:
        for at in range(0, size, len(piece)):
            out.write(piece[:size - at])
    os.unlink(f"{path}.floor")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kernels", type=int, default=2000000)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--json")
    options = parser.parse_args()
    tacho = os.environ.get("TACHO", os.path.join(BUILD, "bin", "tacho"))
    maker = os.path.join(os.environ.get("PROGRAMS", os.path.join(BUILD, "bench")), "make_events")
    for program in (tacho, maker):
        if not os.path.exists(program):
            sys.exit(f"exchange.py: there is no {program}; build with --target all bench")
    with tempfile.TemporaryDirectory() as folder:
        made, database, trace, again = (os.path.join(folder, name) for name in ("made.tacho", "made.sqlite", "made.pftrace", "again.tacho"))
        subprocess.run([maker, made, str(options.kernels)], check=True)
        steps = {
            "export --type sqlite": lambda: subprocess.run([tacho, "export", "-q", "-f", "true", "-o", database, made], check=True),
            "export --type perfetto": lambda: subprocess.run([tacho, "export", "-q", "-f", "true", "-t", "perfetto", "-o", trace, made], check=True),
            "as many bytes": lambda: write_as_many(trace),
            "SQLite copies it": lambda: sqlite_copies(database),
            "import": lambda: subprocess.run([tacho, "import", "-q", "-f", "true", "-o", again, database], check=True),
            "SQLite reads it": lambda: sqlite_reads(database),
        }
        figures = {name: [] for name in steps}
        for _ in range(options.times):
            for name, work in steps.items():
                figures[name].append(measure(work))
        sizes = {name: os.path.getsize(path) for name, path in (("report", made), ("SQLite", database), ("Perfetto", trace))}
    result = {"events": options.kernels * 2, "bytes": sizes,
              "seconds": {name: {"wall": statistics.median(w for w, _ in runs), "cpu": statistics.median(c for _, c in runs)}
                          for name, runs in figures.items()}}
    print(f"{result['events']} events, {sizes['report'] / 1e6:.0f} MB as a report, {sizes['SQLite'] / 1e6:.0f} MB as SQLite, "
          f"{sizes['Perfetto'] / 1e6:.0f} MB as a trace of Perfetto")
    for name, seconds in result["seconds"].items():
        print(f"{name:22} {seconds['wall']:7.2f} s wall {seconds['cpu']:7.2f} s CPU")
    if options.json:
        with open(options.json, "w") as out:
            json.dump(result, out, indent=2)


main()
