#!/usr/bin/env python3
"""What HolisticTraceAnalysis and Tacho say of the same traces: bench/stragglers_hta.py [--ranks 8,64] [--steps N] [--kernels N]

Makes traces of torch.profiler's format, one of each rank, in which one rank comes late to the allreduce of each step, because its kernels are slower or because
its GPU is idle, or none does; with the names of NCCL's kernels before 2.19 (ncclKernel_…) and since (ncclDevKernel_…). Asks HTA for its candidate (the late start of
communication kernels) and Tacho for straggler_sum, and times both. TACHO_TEST_HTA names a Python that has HTA. Takes Tacho from the variable TACHO or build/bin/tacho.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

from figures import find_tacho, table

AT, STEP, LATE, WORK = 2, 10000, 2500, 6000  # µs
HTA = """
import sys, time
begin = time.monotonic()
try:
    from hta.trace_analysis import TraceAnalysis
    analysis = TraceAnalysis(trace_dir=sys.argv[1])
    answer = list(analysis.get_potential_stragglers(num_candidates=1))
except Exception as error:
    answer = type(error).__name__
print(f"HTA {answer} {time.monotonic() - begin:.2f}")
"""


def events(rank, ranks, steps, kernels, fault, name):
    """Kernels, an allreduce at the end of each step that all leave together, and what launches them."""
    number = 0
    for step in range(steps):
        at, late = step * (STEP + LATE), LATE if fault != "none" else 0
        yield {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 100 + rank, "tid": 100 + rank, "ts": at, "dur": STEP + late - 100}
        one = WORK / kernels * (1 + (late / WORK if fault == "slower" and rank == AT else 0))
        begin = at + 500 + (late if fault == "idle" and rank == AT else 0)
        for i in range(kernels + 1):
            number += 1
            start = begin + i * one + 7 * rank % 5
            end = at + 500 + WORK + late + 1000 if i == kernels else start + one * 0.95
            yield {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 100 + rank, "tid": 100 + rank, "ts": start - 50, "dur": min(5, one / 3), "args": {"correlation": number}}
            yield {"ph": "X", "cat": "kernel", "name": name if i == kernels else "gemm", "pid": 0, "tid": 20 if i == kernels else 7, "ts": start, "dur": end - start,
                   "args": {"device": 0, "context": 1, "stream": 20 if i == kernels else 7, "correlation": number}}


def make(folder, ranks, steps, kernels, fault, name):
    for rank in range(ranks):
        with open(os.path.join(folder, f"rank{rank}.pt.trace.json"), "w") as file:
            json.dump({"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": ranks},
                       "traceEvents": list(events(rank, ranks, steps, kernels, fault, name))}, file)


def ask(tacho, folder):
    begin = time.monotonic()
    done = subprocess.run([tacho, "stats", "-q", "-f", "json", "-r", "straggler_sum", folder], capture_output=True, text=True, check=True)
    rows = json.loads(done.stdout or "[]") or []
    said = "; ".join(f"rank {row['Rank']}: {row['Cause']}" for row in rows) or "nobody"
    return said, f"{time.monotonic() - begin:.2f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", default="8,64")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--kernels", type=int, default=100, help="of each step")
    options = parser.parse_args()
    tacho, python, rows = find_tacho(), os.environ.get("TACHO_TEST_HTA", sys.executable), []
    for ranks in map(int, options.ranks.split(",")):
        for name in ("ncclKernel_AllReduce_RING_LL_Sum_float", "ncclDevKernel_AllReduce_Sum_f32_RING_LL"):
            for fault in ("slower", "idle", "none"):
                with tempfile.TemporaryDirectory() as folder:
                    make(folder, ranks, options.steps, options.kernels, fault, name)
                    done = subprocess.run([python, "-c", HTA, folder], capture_output=True, text=True, cwd="/")
                    words = next((line.split() for line in done.stdout.splitlines() if line.startswith("HTA ")), ["HTA", "failed", "-"])
                    rows.append((ranks, name.split("_")[0], fault, " ".join(words[1:-1]), words[-1], *ask(tacho, folder)))
    table("One rank of several is late", ("ranks", "kernels", f"fault of rank {AT}", "HTA", "seconds", "Tacho", "seconds"), rows)


if __name__ == "__main__":
    main()
