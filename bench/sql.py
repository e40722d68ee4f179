"""How fast `tacho sql` is: sums over two columns of a report with four million events, half of them kernels and half calls.

    bench/sql.py [BUILD-FOLDER]

Needs the targets tacho and bench. Rates are rows of the table over time, the start of the program included; each is the
median of seven runs. CPU time counts all cores; on a busy machine it is the one that tells."""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

BUILD = sys.argv[1] if len(sys.argv) > 1 else "build"
TACHO, MAKE = f"{BUILD}/bin/tacho", f"{BUILD}/bench/make_events"
KERNELS = 2000000
QUERIES = {
    "sum over two columns, kernels": ("SELECT sum(start), sum(end) FROM CUPTI_ACTIVITY_KIND_KERNEL", KERNELS),
    "sum over two columns, calls": ("SELECT sum(start), sum(end) FROM CUPTI_ACTIVITY_KIND_RUNTIME", KERNELS),
    "both tables": ("SELECT sum(start), sum(end) FROM CUPTI_ACTIVITY_KIND_KERNEL; SELECT sum(start), sum(end) FROM CUPTI_ACTIVITY_KIND_RUNTIME", 2 * KERNELS),
    "one row by time": ("SELECT start FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE start BETWEEN 1000000000 AND 1000001000", KERNELS),
    "totals by name": ("SELECT value, sum(end - start) FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON id = demangledName GROUP BY demangledName", KERNELS),
    "join of kernels and calls": ("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.correlationId = k.correlationId", KERNELS),
}


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(path, query):
    wall, cpu = [], []
    for _ in range(7):
        start, used = time.monotonic(), cpu_seconds()
        subprocess.run([TACHO, "sql", path, query], check=True, stdout=subprocess.DEVNULL)
        wall.append(time.monotonic() - start)
        cpu.append(cpu_seconds() - used)
    return statistics.median(wall), statistics.median(cpu)


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "events.tacho")
        subprocess.run([MAKE, path, str(KERNELS), "0", "1"], check=True)
        for name, (query, rows) in QUERIES.items():
            wall, cpu = measure(path, query)
            print(f"{name:32} wall {wall:6.3f} s {rows / wall / 1e6:6.1f} M rows/s    CPU {cpu:6.3f} s {rows / cpu / 1e6:6.1f} M rows/s")


main()
