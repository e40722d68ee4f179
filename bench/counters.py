#!/usr/bin/env python3
"""What hardware counters do to a program and to its trace, on a GPU host: the measurements that the design of GPU counters follows.

    bench/counters.py [VARIANT ...] [--iterations N] [--held MB] [--graph] [--cupti FILE] [--budget SECONDS] [--json FILE]

The program is bench/cupti/steps.cu: four kernels an iteration, one of which changes memory in place, and a checksum. Each variant runs
in a process of its own with a client of CUPTI that does nothing else (bench/cupti/counters.c), in rounds of random order beside bare
runs. For each: time of an iteration, whether all kernels were recorded, counted or sampled, whether the checksum is the bare one, SM clocks
while it ran. "beside" runs the sampling client in a second process with a context of its own.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
import time

from figures import HERE, chosen, keep_figures, median_interval, run_rounds, table

sys.path.insert(0, os.path.join(HERE, "..", "tests", "gpu"))
import tools  # noqa: E402

LIGHT = ("gpu__time_duration.sum,sm__cycles_active.avg,sm__warps_active.avg.pct_of_peak_sustained_active,sm__inst_executed.sum,"
         "dram__bytes_read.sum,dram__bytes_write.sum,lts__t_sectors.sum,sm__inst_executed_pipe_tensor.sum,sm__cycles_elapsed.max")
SEVERAL = LIGHT + ",smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio,l1tex__t_sector_hit_rate.pct," \
    "sm__throughput.avg.pct_of_peak_sustained_elapsed,gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"
SAMPLED = ("sm__cycles_active.avg.pct_of_peak_sustained_elapsed,sm__inst_executed_realtime.avg.pct_of_peak_sustained_elapsed,"
           "dramc__read_throughput.avg.pct_of_peak_sustained_elapsed,dramc__write_throughput.avg.pct_of_peak_sustained_elapsed")
TIMEOUT = 15  # seconds of a run: one that hangs costs little
VARIANTS = {  # what the client is told, its metrics, and what a second process samples
    "bare": (None, "", None),
    "trace": ("trace", "", None),
    "one pass": ("range,application", LIGHT, None),
    "one pass, traced": ("range,application,trace", LIGHT, None),
    "one pass, Start and Stop at each launch": ("launch,application", LIGHT, None),
    "one pass by kernel replay": ("range", LIGHT, None),
    "the same, Start and Stop at each launch": ("launch", LIGHT, None),
    "several passes": ("range", SEVERAL, None),
    "several passes, caches flushed": ("range,cache", SEVERAL, None),
    "several passes, traced": ("range,trace", SEVERAL, None),
    "sampled at 10 kHz": ("sample=100000", SAMPLED, None),
    "sampled at 10 kHz, traced": ("sample=100000,trace", SAMPLED, None),
    "sampled at 50 kHz": ("sample=20000", SAMPLED, None),
    "beside, 10 kHz": (None, "", "sample=100000"),
    "beside, 10 kHz, traced": ("trace", "", "sample=100000"),
    "beside, 50 kHz, traced": ("trace", "", "sample=20000"),
}


def build(folder):
    client, steps, idle = (os.path.join(folder, name) for name in ("counters.so", "steps", "idle"))
    source = os.path.join(HERE, "..", "src")
    subprocess.run(["gcc", "-O2", "-D_GNU_SOURCE", "-shared", "-fPIC", "-iquote", source, "-o", client, os.path.join(HERE, "cupti", "counters.c"),
                    os.path.join(source, "abi", "cupti_profiler.c"), "-ldl", "-lpthread"], check=True)
    subprocess.run([tools.nvcc(), "-O2", "-arch=native", "-o", steps, os.path.join(HERE, "cupti", "steps.cu"), "-lcuda"], check=True)
    with open(idle + ".cu", "w") as file:  # has CUDA, and waits for the end of its input
        file.write("#include <cstdio>\nint main() { cudaFree(0); puts(\"ready\"); fflush(stdout); getchar(); }\n")
    subprocess.run([tools.nvcc(), "-o", idle, idle + ".cu"], check=True)
    return client, steps, idle


def environment(client, words, metrics, out, cupti):
    env = dict(os.environ)
    if words:
        env |= {"CUDA_INJECTION64_PATH": client, "COUNTERS": words, "COUNTERS_METRICS": metrics, "COUNTERS_OUT": out, "COUNTERS_CUPTI": cupti}
    return env


def read(path):
    with open(path) as file:
        return dict(line.strip().split("=", 1) for line in file)


def clocks():
    got = subprocess.run(["nvidia-smi", "--query-gpu=clocks.sm,clocks_event_reasons.active", "--format=csv,noheader,nounits"], capture_output=True, text=True).stdout
    return got.strip()


def run(variant, client, steps, idle, folder, options):
    words, metrics, beside = VARIANTS[variant]
    out, second = os.path.join(folder, "out"), os.path.join(folder, "second")
    for path in (out, second):
        if os.path.exists(path):
            os.remove(path)
    other = None
    if beside:
        other = subprocess.Popen([idle], env=environment(client, beside, SAMPLED, second, options.cupti), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        other.stdout.readline()
    command = [steps, str(options.iterations), str(options.held), *(["graph"] if options.graph else [])]
    program = subprocess.Popen(command, env=environment(client, words, metrics, out, options.cupti), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(0.4)
    seen = clocks() if program.poll() is None else ""
    try:
        text, said = program.communicate(timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        program.kill()
        text, said = program.communicate()
    if other:
        try:
            other.communicate(b"\n", timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            other.kill()
            other.communicate()
    found = dict(re.findall(r"(\w+)=(\S+)", text))
    return {"status": program.returncode, "said": said[-300:], "clocks": seen, "program": found, "client": read(out) if os.path.exists(out) else {},
            "second": read(second) if os.path.exists(second) else {}}


def refused(run):
    """The first call that was refused, or in which a process crashed."""
    return ", ".join(f"{part['failed']}: {part['result']}" for part in (run["client"], run["second"]) if part.get("result", "0") != "0")


def print_table(rounds, names):
    rows = []
    for name in names:
        runs = [(one[name], one["bare"]) for one in rounds if name in one and "bare" in one]
        ends = [(float(got["program"]["ns_per_iteration"]), float(bare["program"]["ns_per_iteration"])) for got, bare in runs
                if "ns_per_iteration" in got["program"] and "ns_per_iteration" in bare["program"]]
        if not ends:
            rows.append([name, "did not end", *[""] * 8, refused(runs[-1][0]) or runs[-1][0]["said"] if runs else ""])
            continue
        middle, low, high = median_interval([got / bare for got, bare in ends])
        last = runs[-1][0]
        seen = {**last["client"], **({"samples": last["second"].get("samples")} if last["second"] else {})}
        rows.append([name, f"{min(got for got, _ in ends) / 1000:.1f}", f"{middle:.3f} ({low:.3f} … {high:.3f})", last["program"]["kernels"], seen.get("kernels", ""),
                     seen.get("ranges", ""), seen.get("samples", ""), seen.get("passes", ""), last["clocks"],
                     "yes" if all(got["program"].get("checksum") == bare["program"].get("checksum") for got, bare in runs) else "NO", refused(last)])
    table("Counters", ["variant", "lowest µs an iteration", "times bare", "kernels", "recorded", "ranges", "samples", "passes", "SM clock, reasons", "result as bare", "refused"], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="VARIANT", help="; ".join(VARIANTS) + " (default: all)")
    parser.add_argument("--iterations", type=int, default=100, help="four kernels each; an image has room for 4096 (100)")
    parser.add_argument("--held", type=int, default=0, metavar="MB", help="memory that the program holds and does not use (0)")
    parser.add_argument("--graph", action="store_true", help="launch the kernels as a CUDA graph")
    parser.add_argument("--cupti", default="libcupti.so", metavar="FILE", help="the CUPTI to load")
    parser.add_argument("--budget", type=float, default=120, metavar="SECONDS", help="begin no run after this time (120)")
    parser.add_argument("--json", metavar="FILE", help="keep the figures")
    options = parser.parse_args()
    names = chosen(parser, options.names, VARIANTS)
    if not tools.gpu() or not tools.nvcc():
        sys.exit("counters.py: it needs a GPU and nvcc")
    with tempfile.TemporaryDirectory(prefix="tacho-counters-") as folder:
        built = build(folder)
        rounds = run_rounds(names, options.budget, lambda name: run(name, *built, folder, options),
                            lambda rounds: keep_figures(options.json, gpu=tools.gpu(), options=vars(options), rounds=rounds))
    print_table(rounds, names)


if __name__ == "__main__":
    main()
