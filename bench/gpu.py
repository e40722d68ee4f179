#!/usr/bin/env python3
"""What CUDA tracing costs on a GPU host: each program bare, under tacho and under nsys, in interleaved rounds.

    bench/gpu.py [CASE ...] [--json FILE] [--rounds N] [--budget SECONDS] [--workloads FOLDER]

A round runs every variant once, in an order that rotates, each alone on the machine. Every figure is kept in FILE as soon as it
is there. At the end, and at any time from such files, bench/gpu_table.py makes the table; it puts several runs together. Takes Tacho from the variable TACHO or from build/bin/tacho; tests/gpu/tools.py says what else can be chosen. Needs
Python and, for the C++ programs, nvcc.
"""
import argparse
import hashlib
import json
import os
import re
import shutil
import sys
import tempfile
import time
from collections import namedtuple

from figures import HERE, find_tacho, host, version

sys.path.insert(0, os.path.join(HERE, "..", "tests", "gpu"))
import tools  # noqa: E402
import gpu_table  # noqa: E402

# A case: program and arguments, options of the profilers, what its line calls the figure (None: seconds of the whole command).
Case = namedtuple("Case", "name program arguments options figure")
CUDA = ("-t", "cuda", "-s", "none", "--cpuctxsw=none")
RANGE = ("-c", "cudaProfilerApi", "--capture-range-end=stop")
SAMPLING = ("-t", "none", *CUDA[2:], "--gpu-metrics-devices=all", "--gpu-metrics-frequency=10000")
LAUNCHES, OPERATORS = "{launches}", "{operators}"
CASES = (
    Case("storm-1", "storm", (LAUNCHES, "1"), CUDA, "host_ns_per_launch"),
    Case("storm-4", "storm", (LAUNCHES, "4"), CUDA, "host_ns_per_launch"),
    Case("launch_storm", "launch_storm.py", (OPERATORS,), CUDA, "host_us_per_op"),
    Case("resnet18", "resnet18_time.py", ("bare",), CUDA, "ms_per_iteration"),
    Case("emit_storm", "emit_storm.py", (OPERATORS,), ("-t", "cuda,nvtx", *CUDA[2:]), "host_us_per_op"),
    Case("operators", "resnet18_time.py", ("bare",), ("-t", "cuda,nvtx", "--pytorch=autograd-nvtx", *CUDA[2:]), "ms_per_iteration"),
    Case("before-range", "storm", (LAUNCHES, "1"), CUDA + RANGE, "host_ns_per_launch"),
    Case("after-range", "storm", (LAUNCHES, "1", "range"), CUDA + RANGE, "host_ns_per_launch"),
    Case("sampled", "resnet18_time.py", ("bare",), SAMPLING, "ms_per_iteration"),
    Case("sampled-256", "resnet18_time.py", ("bare", "256"), SAMPLING, "ms_per_iteration"),
    Case("start", "storm", ("1", "1"), CUDA, None),
)
TORCH_PROFILER = {"resnet18": ("torch",), "operators": ("torch",)}  # cases that can run under PyTorch's own profiler, and how
RUN_SECONDS = 60  # the longest that one run may take
GIVE_UP = 2  # a variant that fails so often in a row is left out of its case


def measure(bench, case, variant, folder):
    """One program under one variant: (figure, None) or (None, why not)."""
    # Only where the end counts must nsys have what it needs to make a report.
    env = tools.nsys_environment() if variant == "nsys" and not case.figure else {}
    done = tools.run(bench.command(case, variant, folder), RUN_SECONDS, env, folder)
    shutil.rmtree(folder, ignore_errors=True)
    if not case.figure:
        return (done.seconds, None) if done.status == 0 else (None, str(done))
    found = re.search(rf"\b{case.figure}=([0-9.]+)", done.stdout)
    # What nsys makes of its records afterwards does not matter here.
    if found and (done.status == 0 or variant == "nsys"):
        return float(found.group(1)), None
    return None, str(done)


def build(tacho):
    """Tells builds of one version apart: rounds of different ones must not be put together."""
    digest = hashlib.sha256()
    for path in (tacho, os.path.join(os.path.dirname(tacho), "..", "lib", "tacho", "libtacho-agent.so")):
        with open(path, "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()[:16]


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.deadline = time.monotonic() + options.budget
        self.tacho, self.nsys = find_tacho(), None if options.no_nsys else tools.nsys()
        self.failed, self.took, self.count = {}, {}, 0
        self.result = {"host": host(), "gpu": tools.gpu(), "tacho": version(self.tacho), "build": build(self.tacho),
                       "nsys": tools.run([self.nsys, "--version"], 30).stdout.strip() if self.nsys else None,
                       "launches": options.launches, "operators": options.operators, "cases": {}, "errors": []}
        if options.workloads:
            tools.SOURCES = os.path.abspath(options.workloads)

    def keep(self):
        """The file is whole at any time."""
        if self.options.json:
            os.makedirs(os.path.dirname(os.path.abspath(self.options.json)), exist_ok=True)
            with open(self.options.json + ".new", "w") as file:
                json.dump(self.result, file, indent=1)
                file.write("\n")
            os.replace(self.options.json + ".new", self.options.json)

    def left(self):
        return self.deadline - time.monotonic()

    def error(self, what, why):
        print(f"{what}: {why}", file=sys.stderr, flush=True)
        self.result["errors"].append({"what": what, "why": why})
        self.keep()

    # ---- Commands -------------------------------------------------------------------------------------------------------

    def program(self, case, arguments=None):
        values = {"launches": self.options.launches, "operators": self.options.operators}
        arguments = [argument.format(**values) for argument in (arguments or case.arguments)]
        if case.program.endswith(".py"):
            return [tools.PYTHON, tools.source(case.program), *arguments]
        return [tools.compiled(case.program), *arguments]

    def command(self, case, variant, folder):
        if variant == "torch":
            return self.program(case, TORCH_PROFILER[case.name])
        program, output = self.program(case), os.path.join(folder, "report")
        if variant == "tacho":
            return [self.tacho, "profile", *case.options, "-f", "true", "-o", output, *program]
        if variant == "nsys":
            return [self.nsys, "profile", *case.options, "-f", "true", "-o", output, *program]
        return program

    def variants(self, case, number):
        names = ["bare", "tacho"] + ["nsys"] * bool(self.nsys)
        names = names[number % len(names):] + names[:number % len(names)]
        if number >= self.options.nsys_rounds and "nsys" in names:
            names.remove("nsys")
        if case.name in TORCH_PROFILER and number < self.options.torch_rounds:
            names.append("torch")
        return [name for name in names if self.failed.get((case.name, name), 0) < GIVE_UP]

    def fresh_folder(self):
        self.count += 1
        path = os.path.join(self.folder, f"run{self.count}")
        os.mkdir(path)
        return path

    # ---- Rounds ---------------------------------------------------------------------------------------------------------

    def round(self, case):
        """One more round of a case: every variant, one after another."""
        kept, number = {}, len(self.result["cases"].setdefault(case.name, []))
        self.result["cases"][case.name].append(kept)
        began = time.monotonic()
        for variant in self.variants(case, number):
            value, why = measure(self, case, variant, self.fresh_folder())
            key = case.name, variant
            self.failed[key] = 0 if why is None else self.failed.get(key, 0) + 1
            if why is None:
                kept[variant] = value
            else:
                self.error(f"{case.name} {variant}", why)
            self.keep()
        self.took[case.name] = time.monotonic() - began
        print(f"{case.name}: {number + 1} rounds, {self.took[case.name]:.1f} s each, last {kept}", flush=True)

    def cases(self, wanted):
        """Round after round of all cases, so that whatever ends the run leaves each with about the same."""
        def done(case):
            return len(self.result["cases"].get(case.name, []))

        def fits(case):
            return self.took.get(case.name, 0) < self.left()

        while True:
            lacking = [case for case in wanted if done(case) < self.options.rounds]
            if not any(fits(case) for case in lacking) or self.left() <= 0:
                return not lacking
            for case in filter(fits, lacking):
                self.round(case)

    # ---- One long run ---------------------------------------------------------------------------------------------------

    def timed(self, command, env=None):
        """Seconds of a command that must succeed; None after an error, which is kept."""
        done = tools.run(command, max(self.left(), 10), env)
        if done.status != 0:
            self.error(" ".join(command), str(done))
            return None
        return done.seconds

    def storm(self, prefix, env=None):
        """A storm of the full number; seconds from the end of its work to the end of the command."""
        command = [*prefix, tools.compiled("storm"), str(self.options.full_launches), "1"]
        done = tools.run(command, max(self.left(), 10), env)
        ended = re.search(r"end_monotonic_ns=(\d+)", done.stdout)
        if done.status != 0 or not ended:
            self.error(" ".join(command), str(done))
            return None, done
        return (done.end_ns - int(ended.group(1))) / 1e9, done

    def full(self):
        """All launches in one run: from the program's end to a report, its size, SQLite, two summaries; then nsys's same."""
        kept = self.result["full"] = {"launches": self.options.full_launches}
        folder = self.fresh_folder()
        kept["bare"] = {"finish_s": self.storm([])[0]}
        report = os.path.join(folder, "full.tacho")
        seconds, done = self.storm([self.tacho, "profile", *CUDA, "-f", "true", "-o", report])
        if seconds is not None:
            kept["tacho"] = {"finish_s": seconds, "bytes": os.path.getsize(report)}
            self.keep()
            self.tables(kept["tacho"], [self.tacho], report, report)
            counted = tools.run([self.tacho, "sql", "-f", "csv", report, "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL"], 60)
            kept["tacho"]["kernels"] = int((re.findall(r"^(\d+)", counted.stdout, re.M) or [0])[-1])
        self.keep()
        if self.nsys and self.left() > 0:
            made = os.path.join(folder, "full")
            seconds, done = self.storm([self.nsys, "profile", *CUDA, "-f", "true", "-o", made], tools.nsys_environment())
            if seconds is not None and os.path.exists(made + ".nsys-rep"):
                kept["nsys"] = {"finish_s": seconds, "bytes": os.path.getsize(made + ".nsys-rep")}
                self.keep()
                self.tables(kept["nsys"], [self.nsys], made + ".nsys-rep", made + ".sqlite", tools.nsys_environment())
        self.keep()
        shutil.rmtree(folder, ignore_errors=True)

    def tables(self, kept, tool, report, read, env=None):
        """nsys makes its tables from the SQLite file, tacho from the report."""
        exported = os.path.splitext(report)[0] + ".sqlite"
        kept["export_s"] = self.timed([*tool, "export", "--type", "sqlite", "--force-overwrite", "true", "-o", exported, report], env)
        kept["export_bytes"] = os.path.getsize(exported) if os.path.exists(exported) else None
        kept["summaries_s"] = self.timed([*tool, "stats", "-r", "cuda_api_sum,cuda_gpu_kern_sum", read], env)
        self.keep()


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [case.name for case in CASES] + ["full"]
    parser.add_argument("names", nargs="*", metavar="CASE", help=", ".join(names) + " (default: all)")
    parser.add_argument("--json", metavar="FILE", help="keep the figures")
    parser.add_argument("--rounds", type=int, default=15, help="rounds of each case (15)")
    parser.add_argument("--budget", type=float, default=3600, metavar="SECONDS", help="begin nothing that would not end in this time")
    parser.add_argument("--launches", type=int, default=300_000, help="of storm, in a round (300000)")
    parser.add_argument("--operators", type=int, default=100_000, help="of launch_storm.py and emit_storm.py (100000)")
    parser.add_argument("--full-launches", type=int, default=2_000_000, help="of the case full (2000000)")
    parser.add_argument("--nsys-rounds", type=int, default=1 << 30, help="rounds that have nsys too (all)")
    parser.add_argument("--torch-rounds", type=int, default=3, help="rounds that have torch.profiler too (3)")
    parser.add_argument("--no-nsys", action="store_true", help="leave nsys out")
    parser.add_argument("--workloads", metavar="FOLDER", help="where the programs' sources are (tests/gpu/programs)")
    chosen = parser.parse_args()
    unknown = [name for name in chosen.names if name not in names]
    if unknown:
        parser.error(f"no case is called {unknown[0]}; there are: {', '.join(names)}")
    chosen.names = chosen.names or names
    return chosen


def main():
    chosen = options()
    if not tools.gpu():
        sys.exit("gpu.py: there is no GPU here that nvidia-smi knows")
    folder = tempfile.mkdtemp(prefix="tacho-gpu-")
    try:
        bench = Bench(chosen, folder)
        wanted = [case for case in CASES if case.name in chosen.names]
        print(f"{bench.result['tacho']}, nsys: {bench.result['nsys']}, {bench.result['gpu']}, {bench.result['host']['cores']} cores", flush=True)
        if any(case.program.endswith(".py") for case in wanted):
            tools.has_torch()  # its libraries are read from the disk once, before anything is measured
        if "full" in chosen.names:
            bench.full()
        if wanted and not bench.cases(wanted):
            print(f"The time of {chosen.budget:.0f} s was over before {chosen.rounds} rounds of all.")
        print(gpu_table.markdown(bench.result))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
