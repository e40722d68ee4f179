#!/usr/bin/env python3
"""What recording costs a step, on a GPU host, and what the closing line says about it:

    bench/step_cost.py [VARIANT ...] [--loops train,images,ahead,decode,loader] [--budget SECONDS] [--cpus 0-3] [--json FILE]

The loops are those of bench/cost/gpu_loops.py. Each runs bare, with a CUPTI client that records kernels, copies and fills
(bench/cupti/client.c), under Tacho with one source, some and all, and under nsys, every run in a process of its own, in rounds of random
order. A program times its own steps, after the first third of them: then windows of operators have begun. It prints their mean, and that of
the quietest 72 in a row. Rounds that differ by more than 15 % from each other are not a result, and are marked so; what a variant adds is
compared with bare and with the client in the same round, which the noise of hours is not in. --cpus keeps all processes of a run on these CPUs. Needs PyTorch, nvcc and CUPTI's headers; Tacho from
the variable TACHO or build/bin/tacho.
"""
import argparse
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile

from cupti_cost import USUAL, build
from figures import HERE, chosen, find_tacho, keep_figures, median_interval, run_rounds, table, version

sys.path.insert(0, os.path.join(HERE, "..", "tests", "gpu"))
import tools  # noqa: E402

LOOPS = {"train": 600, "images": 60, "ahead": 60, "decode": 500, "loader": 120}  # steps
ALONE = ("-s", "none", "--cpuctxsw=none", "--python-sampling=false")
VARIANTS = {  # options of tacho profile; None: without it
    "bare": None,
    "client": None,
    "cuda": ("-t", "cuda", *ALONE),
    "operators": ("-t", "none", "--pytorch=auto", *ALONE),
    "os calls": ("-t", "osrt", *ALONE),
    "samples": ("-t", "none", "--python-sampling=false"),
    "python": ("-t", "none", *ALONE[:3], "--python-sampling=true"),
    "default": (),
    "before": (),  # the same, of the Tacho that the variable TACHO_BEFORE names
    "limited": ("--cost-limit=5",),
    "nsys": None,
}
SPREAD = 1.15


def command(variant, loop, client, folder, steps):
    """The command line of a run, and the variables for it."""
    words = [tools.PYTHON, os.path.join(HERE, "cost", "gpu_loops.py"), loop, str(steps or LOOPS[loop])]
    if variant == "client":
        return words, {"CUDA_INJECTION64_PATH": client, "CUPTI_COST": USUAL}
    if variant == "nsys":
        return [tools.nsys(), "profile", "-f", "true", "-o", os.path.join(folder, "nsys"), *words], tools.nsys_environment()
    if VARIANTS[variant] is None:
        return words, {}
    tacho = os.environ["TACHO_BEFORE"] if variant == "before" else find_tacho()
    return [tacho, "profile", "-f", "true", "-o", os.path.join(folder, "report"), *VARIANTS[variant], *words], {}


def cpus_of(text):
    """{0, 1, 2, 3, 8} of "0-3,8"."""
    parts = [[int(number) for number in part.split("-")] for part in text.split(",")]
    return {cpu for part in parts for cpu in range(part[0], part[-1] + 1)}


def run(variant, loop, client, folder, steps=0):
    """What a run printed: ms of a step, CPU seconds of the program and of everything, and the line about the cost."""
    words, variables = command(variant, loop, client, folder, steps)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(words, env={**os.environ, **variables}, capture_output=True, text=True, timeout=120)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = {name: float(value) for name, value in re.findall(r"(\w+)=([\d.]+)", done.stdout)}
    if "mean_ms" not in found:
        print(f"{loop}, {variant}: {done.stderr[-300:]}", file=sys.stderr)
        return None
    line = re.search(r"^ +(recording (?:made|took).*)$", done.stderr, re.M)
    return {**found, "all_cpu_s": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, "line": line[1] if line else ""}


def show(rounds, loops, variants, figure):
    for loop in loops:
        rows, steps = [], {}
        for variant in variants:
            runs = [found for one in rounds if (found := one.get(f"{loop} {variant}"))]
            if runs:
                steps[variant] = statistics.median(found[figure] for found in runs)
                least, most = (pick(found[figure] for found in runs) for pick in (min, max))
                rows.append((variant, len(runs), f"{steps[variant]:.3f}", f"{least:.3f} … {most:.3f}{'' if most <= SPREAD * least else ' (no result)'}",
                             f"{100 * (steps[variant] / steps['bare'] - 1):+.1f} %" if "bare" in steps else "",
                             f"{statistics.median(found['all_cpu_s'] - found['cpu_s'] for found in runs):.2f}", runs[-1]["line"][:120]))
        table(f"{loop}, {figure}", ("variant", "runs", "ms a step", "least … most", "beside bare", "CPU s beside the program", "what Tacho said last"), rows)


def show_pairs(rounds, loops, variants, figure):
    """What each variant adds to bare in the same round, and how many times what the client adds. The client's is the median of all rounds: that of
    one may be next to nothing."""
    for loop in loops:
        def added(variant):
            pairs = [(one.get(f"{loop} {variant}"), one.get(f"{loop} bare")) for one in rounds]
            return [found[figure] - bare[figure] for found, bare in pairs if found and bare]

        client = added("client")
        times = statistics.median(client) if client and statistics.median(client) > 0 else None
        rows = []
        for variant in variants:
            if variant != "bare" and (more := added(variant)):
                median, least, most = median_interval(more)
                beside = [one for one in rounds if one.get(f"{loop} {variant}") and one.get(f"{loop} nsys")]
                below = sum(one[f"{loop} {variant}"][figure] <= one[f"{loop} nsys"][figure] for one in beside)
                rows.append((variant, len(more), f"{median:+.3f}", f"{least:+.3f} … {most:+.3f}",
                             f"{median / times:.1f} ({least / times:.1f} … {most / times:.1f})" if times else "", f"{below} of {len(beside)}"))
        table(f"{loop}, {figure}: added in the same round", ("variant", "rounds", "ms a step", "95 %", "times the client's", "no more than nsys"), rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("variants", nargs="*", help=", ".join(VARIANTS))
    parser.add_argument("--loops", default="train")
    parser.add_argument("--budget", type=int, default=240, help="seconds; no run begins later")
    parser.add_argument("--cpus", type=cpus_of, help="keep everything on these CPUs: 0-3,8")
    parser.add_argument("--json")
    options = parser.parse_args()
    if not os.environ.get("TACHO_BEFORE"):
        del VARIANTS["before"]
    variants, loops = chosen(parser, options.variants, VARIANTS), options.loops.split(",")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PYTHONPYCACHEPREFIX"] = os.path.join(folder, "bytecode")  # a system that cannot write it imports for ten seconds
        client, _ = build(folder)
        if options.cpus:
            os.sched_setaffinity(0, options.cpus)
        for loop in loops:
            run("bare", loop, client, folder, steps=6)  # fills the caches of files; not measured
        names = [f"{loop} {variant}" for loop in loops for variant in variants]
        runs = run_rounds(names, options.budget, lambda name: run(name.split(" ", 1)[1], name.split(" ", 1)[0], client, folder),
                          lambda rounds: keep_figures(options.json, tacho=version(find_tacho()), rounds=rounds))
    for figure in ("mean_ms", "quiet_ms"):
        show(runs, loops, variants, figure)
        show_pairs(runs, loops, variants, figure)


if __name__ == "__main__":
    main()
