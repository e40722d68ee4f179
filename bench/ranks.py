#!/usr/bin/env python3
"""How long a job of many ranks takes to read: bench/ranks.py [--ranks N] [--kernels N] [--times N] [--only WORDS] [--folder FOLDER] [--json FILE]

Makes a report for each rank (bench/report/make_events.c: as many calls as kernels; eight ranks a host) and runs commands over the folder. For each: seconds,
CPU seconds and peak memory, medians, with the files in memory. Then the reports get partial results (bench/analyze/add_partials.c), and what uses these is run again.
With --folder the reports are kept, and made only where they are missing: of a folder that was used before, the first figures have partials, too. Takes Tacho from the variable
TACHO or from build/bin/tacho, make_events and add_partials from PROGRAMS or build/bench (`cmake --build build --target bench`).
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from figures import HERE, find_tacho, keep_figures, table, version

PROGRAMS = os.environ.get("PROGRAMS", os.path.join(HERE, "..", "build", "bench"))
MAKER, ADDER = (os.path.join(PROGRAMS, name) for name in ("make_events", "add_partials"))
KERNEL = "CUPTI_ACTIVITY_KIND_KERNEL"
WORK = (  # what, command without the folder, aim: seconds, MB
    ("info", ("info",), 1, None),
    ("two summaries", ("stats", "-r", "cuda_api_sum,cuda_gpu_kern_sum"), 15, 2000),
    ("two summaries of each rank", ("stats", "-r", "cuda_api_sum,cuda_gpu_kern_sum", "--by", "rank"), None, None),
    ("rank_sum", ("stats", "-r", "rank_sum"), None, None),
    ("sql: kernels by rank", ("sql", f"SELECT rank, count(*), sum(end - start) FROM {KERNEL} GROUP BY rank"), None, None),
    ("sql: ranks of a host", ("sql", "SELECT DISTINCT rank FROM TACHO_PROCESS WHERE host = 'node0000'"), None, None),
)
WITH_PARTIALS = (  # what, with partial results in the tails of the reports
    ("two summaries from partials", ("stats", "-r", "cuda_api_sum,cuda_gpu_kern_sum"), 2, None),
    ("default reports from partials", ("stats", "-f", "csv"), 2, None),
    ("info with partials", ("info",), 1, None),
)


def make(folder, ranks, kernels):
    def one(rank):
        path = os.path.join(folder, f"rank{rank:04}.tacho")
        if not os.path.exists(path):
            subprocess.run([MAKER, path, str(kernels), "0", str(rank + 1), "400", str(rank), str(ranks)], check=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(one, range(ranks)))


def measure(work, folder, tacho, times, rows, kept):
    for what, command, aim, most in work:
        runs = [timed([tacho, command[0], *command[1:], folder] if command[0] != "sql" else [tacho, "sql", folder, *command[1:]]) for _ in range(times)]
        seconds, cpu, memory = (statistics.median(column) for column in zip(*runs))
        rows.append([what, f"{seconds:.2f}", f"{cpu:.2f}", f"{memory:.0f}", " and ".join([f"{aim} s"] * bool(aim) + [f"{most} MB"] * bool(most)) or "–"])
        kept[what] = runs
        print(*rows[-1], flush=True)


def chosen(work, only):
    return [row for row in work if any(word in row[0] for word in only.split(","))]


def size_of(folder):
    return sum(entry.stat().st_size for entry in os.scandir(folder))


def timed(command):
    """(seconds, CPU seconds, MB at most) of a command that succeeds."""
    begin = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    error = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{' '.join(command)}: {error.decode()}")
    return time.monotonic() - begin, used.ru_utime + used.ru_stime, used.ru_maxrss / 1000


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=1024)
    parser.add_argument("--kernels", type=int, default=100_000, help="of each rank, with as many calls (100000)")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--only", default="", help="only what has this in its name: info, partials")
    parser.add_argument("--folder")
    parser.add_argument("--json")
    options = parser.parse_args()
    tacho, rows, kept = find_tacho(), [], {}
    with tempfile.TemporaryDirectory() as own:
        folder = options.folder or own
        os.makedirs(folder, exist_ok=True)
        make(folder, options.ranks, options.kernels)
        size = size_of(folder)
        measure(chosen(WORK, options.only), folder, tacho, options.times, rows, kept)
        reports = sorted(entry.path for entry in os.scandir(folder))
        kept["adding partials"] = [timed([ADDER, *reports])]
        partials = size_of(folder) - size
        measure(chosen(WITH_PARTIALS, options.only), folder, tacho, options.times, rows, kept)
    events = 2 * options.ranks * options.kernels
    table(f"{options.ranks:,} reports, {events / 1e6:.0f} M events, {size / 1e9:.2f} GB", ["what", "seconds", "CPU seconds", "MB at most", "aim"], rows)
    print(f"partials: {partials / options.ranks / 1000:.1f} kB a report, {kept['adding partials'][0][1] / options.ranks * 1000:.1f} ms of CPU time")
    keep_figures(options.json, tacho=version(tacho), ranks=options.ranks, events=events, bytes=size, partial_bytes=partials, runs=kept)


if __name__ == "__main__":
    main()
