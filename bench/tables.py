#!/usr/bin/env python3
"""How fast reports are turned into tables: summaries, joins and SQL, from a file that is not in memory.

    bench/tables.py [--json FILE] [--times N]

Inputs are made by bench/report/make_events.c and make_samples.c with a fixed seed: 2 M kernels and as many calls, once in no order and once as 5,000 steps; 1 M kernels in 2 M
nested NVTX ranges; and 1 M samples with 21 M frames. make_calls.c makes 4 M OS calls, a quarter of them waits for locks; make_metrics.c 12 M samples of GPU metrics and 1 M kernels. Takes Tacho from the variable TACHO or from build/bin/tacho, the others from PROGRAMS or build/bench
(`cmake --build build --target all bench`). Each figure is the median, the start of the program included; CPU time counts all
cores, and on a busy machine it is the one that tells.
"""
import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

BUILD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "build")
TACHO = os.environ.get("TACHO", os.path.join(BUILD, "bin", "tacho"))
PROGRAMS = os.environ.get("PROGRAMS", os.path.join(BUILD, "bench"))
MAKE_EVENTS, MAKE_SAMPLES, MAKE_CALLS, MAKE_METRICS = (os.path.join(PROGRAMS, name) for name in ("make_events", "make_samples", "make_calls", "make_metrics"))

INPUTS = {"events": (MAKE_EVENTS, 2_000_000, 0, 1), "steps": (MAKE_EVENTS, 2_000_000, 0, 1, 400), "answer": (MAKE_EVENTS, 50_000, 0, 1), "ranges": (MAKE_EVENTS, 1_000_000, 2_000_000, 1),  # kernels, ranges, seed
          "samples": (MAKE_SAMPLES, 1_000_000, 1), "calls": (MAKE_CALLS, 4_000_000), "metrics": (MAKE_METRICS, 60)}
KERNEL, CALL = "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME"
WORK = (  # what, input, command, aim in seconds (or None), rows for a rate (or None)
    ("two summaries, 4 M events", "events", ("stats", "-r", "cuda_api_sum,cuda_gpu_kern_sum"), 0.3, None),
    ("cuda_kern_exec_sum, 1 M kernels in 2 M ranges", "ranges", ("stats", "-r", "cuda_kern_exec_sum"), 1.0, None),
    ("nvtx_gpu_proj_sum, the same", "ranges", ("stats", "-r", "nvtx_gpu_proj_sum"), 1.0, None),
    ("gpu_idle_sum, 4 M events", "events", ("stats", "-r", "gpu_idle_sum:gap=1"), None, None),
    ("what-if: the critical path, 4 M events", "events", ("what-if",), 2.0, None),
    ("what-if: the same as 5,000 steps", "steps", ("what-if",), 2.0, None),
    ("advice_sum, 4 M events", "events", ("stats", "-r", "advice_sum"), 2.0, None),
    ("advice_sum, the same as 5,000 steps", "steps", ("stats", "-r", "advice_sum"), 2.0, None),
    ("summary with advice, 100,000 events", "answer", ("summary",), 0.5, None),
    ("cpu_sample_sum, 1 M samples with 21 M frames", "samples", ("stats", "-r", "cpu_sample_sum"), 1.0, None),
    ("thread_wait_sum, 4 M OS calls", "calls", ("stats", "-r", "thread_wait_sum"), 1.0, None),
    ("lock_contention, 1 M waits among these", "calls", ("analyze", "-r", "lock_contention"), 1.0, None),
    ("gpu_metrics_sum, 12 M samples", "metrics", ("stats", "-r", "gpu_metrics_sum"), 2.0, None),
    ("gpu_metrics_kern_sum, these and 1 M kernels", "metrics", ("stats", "-r", "gpu_metrics_kern_sum"), 2.0, None),
    ("gpu_metrics_step_sum, the same in 1,000 steps", "metrics", ("stats", "-r", "gpu_metrics_step_sum"), 2.0, None),
    ("sql: sum over two columns, kernels", "events", ("sql", f"SELECT sum(start), sum(end) FROM {KERNEL}"), 0.2, 2_000_000),
    ("sql: sum over two columns, calls", "events", ("sql", f"SELECT sum(start), sum(end) FROM {CALL}"), 0.2, 2_000_000),
    ("sql: one moment", "events", ("sql", f"SELECT start FROM {KERNEL} WHERE start BETWEEN 1000000000 AND 1000001000"), None, None),
    ("sql: totals by name", "events",
     ("sql", f"SELECT value, sum(end - start) FROM {KERNEL} JOIN StringIds ON id = demangledName GROUP BY demangledName"), None, 2_000_000),
    ("sql: join of kernels and calls", "events",
     ("sql", f"SELECT count(*) FROM {KERNEL} k JOIN {CALL} r ON r.correlationId = k.correlationId"), None, 2_000_000),
)


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def forget(path):
    """Takes a file out of the page cache, as far as the system allows."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def measure(path, command, times):
    verb, *rest = command
    arguments = [TACHO, verb, path, *rest] if verb == "sql" else [TACHO, verb, *rest, path]
    wall, cpu = [], []
    for _ in range(times):
        forget(path)
        start, used = time.monotonic(), cpu_seconds()
        subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL)
        wall.append(time.monotonic() - start)
        cpu.append(cpu_seconds() - used)
    return statistics.median(wall), statistics.median(cpu)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", metavar="FILE", help="keep the figures")
    parser.add_argument("--times", type=int, default=7, help="runs of each (7)")
    options = parser.parse_args()
    for program in (TACHO, MAKE_EVENTS, MAKE_SAMPLES, MAKE_CALLS):
        if not os.path.exists(program):
            sys.exit(f"tables.py: there is no {program}; build with --target all bench")
    result = {"cores": len(os.sched_getaffinity(0)), "load": os.getloadavg()[0], "work": {}}
    print(f"{result['cores']} cores, load {result['load']:.1f}\n\n| | wall | CPU | rate | aim |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: os.path.join(folder, name + ".tacho") for name in INPUTS}
        for name, (program, *numbers) in INPUTS.items():
            subprocess.run([program, paths[name], *map(str, numbers)], check=True)
        for what, source, command, aim, rows in WORK:
            wall, cpu = measure(paths[source], command, options.times)
            result["work"][what] = {"wall_s": wall, "cpu_s": cpu}
            rate = f"{rows / wall / 1e6:.1f} M rows/s" if rows else ""
            verdict = f"≤ {aim:g} s: {'yes' if wall <= aim else 'no'}" if aim else ""
            print(f"| {what} | {wall:.3f} s | {cpu:.3f} s | {rate} | {verdict} |", flush=True)
    if options.json:
        with open(options.json, "w") as out:
            json.dump(result, out, indent=1)
            out.write("\n")


main()
