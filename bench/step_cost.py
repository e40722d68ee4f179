#!/usr/bin/env python3
"""What recording costs a step, on a GPU host, and what the closing line says about it:

    bench/step_cost.py [VARIANT ...] [--loops train,images,ahead,decode,loader] [--budget SECONDS] [--json FILE]

The loops are those of bench/cost/gpu_loops.py. Each runs bare, with a CUPTI client that records kernels, copies and fills
(bench/cupti/client.c), under Tacho with one source, some and all, and under nsys, every run in a process of its own, in rounds of random
order. A program times its own steps. Rounds that differ by more than 15 % from each other are not a result, and are marked so. Needs
PyTorch, nvcc and CUPTI's headers; Tacho from the variable TACHO or build/bin/tacho.
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
from figures import HERE, chosen, find_tacho, keep_figures, run_rounds, table, version

sys.path.insert(0, os.path.join(HERE, "..", "tests", "gpu"))
import tools  # noqa: E402

LOOPS = {"train": 200, "images": 60, "ahead": 60, "decode": 500, "loader": 120}  # steps
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
    "limited": ("--cost-limit=5",),
    "nsys": None,
}
SPREAD = 1.15


def command(variant, loop, client, folder):
    """The command line of a run, and the variables for it."""
    words = [tools.PYTHON, os.path.join(HERE, "cost", "gpu_loops.py"), loop, str(LOOPS[loop])]
    if variant == "client":
        return words, {"CUDA_INJECTION64_PATH": client, "CUPTI_COST": USUAL}
    if variant == "nsys":
        return [tools.nsys(), "profile", "-f", "true", "-o", os.path.join(folder, "nsys"), *words], tools.nsys_environment()
    if VARIANTS[variant] is None:
        return words, {}
    return [find_tacho(), "profile", "-f", "true", "-o", os.path.join(folder, "report"), *VARIANTS[variant], *words], {}


def run(variant, loop, client, folder):
    """What a run printed: ms of a step, CPU seconds of the program and of everything, and the line about the cost."""
    words, variables = command(variant, loop, client, folder)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(words, env={**os.environ, **variables}, capture_output=True, text=True, timeout=120)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = {name: float(value) for name, value in re.findall(r"(\w+)=([\d.]+)", done.stdout)}
    if "mean_ms" not in found:
        print(f"{loop}, {variant}: {done.stderr[-300:]}", file=sys.stderr)
        return None
    line = re.search(r"^ +(recording (?:made|took).*)$", done.stderr, re.M)
    return {**found, "all_cpu_s": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, "line": line[1] if line else ""}


def show(rounds, loops, variants):
    for loop in loops:
        rows, steps = [], {}
        for variant in variants:
            runs = [found for one in rounds if (found := one.get(f"{loop} {variant}"))]
            if runs:
                steps[variant] = statistics.median(found["mean_ms"] for found in runs)
                least, most = (pick(found["mean_ms"] for found in runs) for pick in (min, max))
                rows.append((variant, len(runs), f"{steps[variant]:.3f}", f"{least:.3f} … {most:.3f}{'' if most <= SPREAD * least else ' (no result)'}",
                             f"{100 * (steps[variant] / steps['bare'] - 1):+.1f} %" if "bare" in steps else "",
                             f"{statistics.median(found['all_cpu_s'] - found['cpu_s'] for found in runs):.2f}", runs[-1]["line"][:120]))
        table(loop, ("variant", "runs", "ms a step", "least … most", "beside bare", "CPU s beside the program", "what Tacho said last"), rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("variants", nargs="*", help=", ".join(VARIANTS))
    parser.add_argument("--loops", default="train")
    parser.add_argument("--budget", type=int, default=240, help="seconds; no run begins later")
    parser.add_argument("--json")
    options = parser.parse_args()
    variants, loops = chosen(parser, options.variants, VARIANTS), options.loops.split(",")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PYTHONPYCACHEPREFIX"] = os.path.join(folder, "bytecode")  # a system that cannot write it imports for ten seconds
        client, _ = build(folder)
        names = [f"{loop} {variant}" for loop in loops for variant in variants]
        runs = run_rounds(names, options.budget, lambda name: run(name.split(" ", 1)[1], name.split(" ", 1)[0], client, folder),
                          lambda rounds: keep_figures(options.json, tacho=version(find_tacho()), rounds=rounds))
    show(runs, loops, variants)


if __name__ == "__main__":
    main()
