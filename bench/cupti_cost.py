#!/usr/bin/env python3
"""What each thing that one can ask of CUPTI costs, on a GPU host: bare, by a client that does nothing else (bench/cupti/client.c),
and under Tacho, every variant in a process of its own, in rounds of random order.

    bench/cupti_cost.py [VARIANT ...] [--program calls|PROGRAM.py] [--count N] [--budget SECONDS] [--json FILE]

The program is bench/cupti/calls.cu, the runtime calls of a PyTorch operator in a loop, or one of tests/gpu/programs that prints
host_us_per_op=, such as launch_storm.py. Needs nvcc, gcc and CUPTI's headers; Tacho from the variable TACHO or build/bin/tacho.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

from figures import HERE, chosen, find_tacho, keep_figures, median_interval, run_rounds, table, version

sys.path.insert(0, os.path.join(HERE, "..", "tests", "gpu"))
import tools  # noqa: E402

USUAL = "clock,kernels,copies,small"
VARIANTS = {  # what CUPTI_COST says; None: no client
    "bare": None,
    "kernels": "kernels",
    "usual kinds": USUAL,
    "calls by name": f"{USUAL},names",
    "calls by name, late": f"{USUAL}/names",
    "calls by name, off and on": f"{USUAL},names/names-off,names",
    "calls by name, kinds before": f"{USUAL},names,kinds/kinds-off,names",
    "callbacks": f"{USUAL},callbacks",
    "callbacks, driver too": f"{USUAL},callbacks,driver-callbacks",
    "callbacks, all before": f"{USUAL},domains/domains-off,callbacks",
    "whole kinds": f"{USUAL},kinds",
    "whole kinds, others left out": f"{USUAL},kinds,leave-out",
    "system's thread ids": f"system-ids,{USUAL},names",
    "zeroed buffers": f"zeroed,{USUAL},names",
    "callbacks on waits": f"{USUAL},names,waits",
    "callbacks on resources": f"{USUAL},names,resources",
    "as the agent": f"system-ids,zeroed,{USUAL},names,waits,resources",
    "tacho": None,
}
FIGURES = (("ns_per_operator", 1), ("ns_per_launch", 1), ("host_us_per_op", 1000))  # what programs print, and ns in one


def build(folder):
    """The client; CUPTI and its headers are the toolkit's."""
    home = os.path.realpath(os.path.join(os.path.dirname(tools.nvcc()), ".."))
    places = [place for place in (home, os.path.join(home, "extras", "CUPTI")) if os.path.isdir(place)]
    client = os.path.join(folder, "client.so")
    flags = [f"-I{place}/include" for place in places]
    flags += [f"{flag}{place}/lib64" for place in places for flag in ("-L", "-Wl,-rpath,")]
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", client, os.path.join(HERE, "cupti", "client.c"), *flags, "-lcupti"], check=True)
    program = os.path.join(folder, "calls")
    subprocess.run([tools.nvcc(), "-O2", "-arch=native", "-o", program, os.path.join(HERE, "cupti", "calls.cu"), "-lcuda", "-ldl"], check=True)
    return client, program


def run(variant, client, program, folder):
    """{figure: ns} and what was recorded, or None."""
    env, command = {}, program
    if variant == "tacho":
        command = [find_tacho(), "profile", "-t", "cuda", "-s", "none", "-f", "true", "-o", os.path.join(folder, "report"), *program]
    elif VARIANTS[variant]:
        env = {"CUPTI_COST": VARIANTS[variant], "CUDA_INJECTION64_PATH": client}
    done = tools.run(command, 60, env, folder)
    found = {name: float(match.group(1)) * scale for name, scale in FIGURES
             for match in [re.search(rf"\b{name}=([0-9.]+)", done.stdout)] if match}
    if not found:
        print(f"{variant}: {done}", file=sys.stderr, flush=True)
        return None
    recorded = re.search(r"kernels=.*", done.stdout)
    return {**found, "recorded": recorded.group(0) if recorded else ""}


def print_tables(rounds, names):
    for figure, _ in FIGURES:
        rows = []
        for name in names:
            pairs = [(one[name][figure], one["bare"][figure]) for one in rounds if figure in (one.get(name) or {}) and figure in (one.get("bare") or {})]
            if not pairs:
                continue
            middle, low, high = median_interval([value - bare for value, bare in pairs])
            recorded = next((one[name]["recorded"] for one in rounds if one.get(name)), "")
            rows.append([name, f"{min(value for value, _ in pairs):.0f}", f"{middle:+.0f} ({low:.0f} … {high:.0f})", str(len(pairs)), recorded])
        if rows:
            table(f"{figure}, in ns", ["enabled", "lowest", "added: median and interval", "rounds", "recorded"], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="VARIANT", help=", ".join(VARIANTS) + " (default: all)")
    parser.add_argument("--program", default="calls", help="calls, or a program of tests/gpu/programs (calls)")
    parser.add_argument("--count", type=int, default=50_000, help="operators in a run (50000)")
    parser.add_argument("--budget", type=float, default=300, metavar="SECONDS", help="begin no run after this time (300)")
    parser.add_argument("--json", metavar="FILE", help="keep the figures")
    options = parser.parse_args()
    names = chosen(parser, options.names, VARIANTS)
    if not tools.gpu() or not tools.nvcc():
        sys.exit("cupti_cost.py: it needs a GPU and nvcc")
    with tempfile.TemporaryDirectory(prefix="tacho-cupti-") as folder:
        client, calls = build(folder)
        program = [calls] if options.program == "calls" else [tools.PYTHON, tools.source(options.program)]
        program.append(str(options.count))
        rounds = run_rounds(names, options.budget, lambda name: run(name, client, program, folder),
                            lambda rounds: keep_figures(options.json, gpu=tools.gpu(), tacho=version(find_tacho()), program=program[1:], rounds=rounds))
    print_tables(rounds, names)


if __name__ == "__main__":
    main()
