#!/usr/bin/env python3
"""What GPU metrics cost a program, on a GPU host: programs under tacho without metrics, with the readings that every capture of CUDA has,
with GPM, and with counters at 10 kHz, in rounds of random order.

    bench/metrics.py --program "COMMAND" [--program …] [VARIANT ...] [--frequency HZ] [--budget SECONDS] [--json FILE]

A program prints the time of an iteration (ms/iter, ms_per_iteration=, total_us_per_op=, …); of one that does not, the time of its longest process
counts. Each figure is divided by that of "none" in the same round: the table has the median of these ratios with its 95 % interval, and
what was sampled. "bare" is the program without tacho. Takes Tacho from the variable TACHO or from build/bin/tacho.
"""
import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

from figures import HERE, find_tacho, keep_figures, median_interval, run_rounds, table, version

sys.path.insert(0, os.path.join(HERE, "..", "tests", "gpu"))
import tools  # noqa: E402

VARIANTS = {  # options of tacho profile; None: without it
    "bare": None,
    "none": ["--gpu-metrics-devices=none"],
    "default": [],
    "gpm": ["--gpu-metrics-source=gpm"],
    "counters": ["--gpu-metrics-source=counters", "--gpu-metrics-frequency={hz}"],
}
FIGURES = (r"\bms/iter\b[^\d\n]*([0-9.]+)", r"\bms_per_iteration=([0-9.]+)", r"\btotal_\w+=([0-9.]+)", r"\b\w+_per_\w+=([0-9.]+)")
LONGEST = "SELECT max(end - start) AS value FROM TACHO_PROCESS WHERE end IS NOT NULL"
SAMPLED = "SELECT source, sum(samples) AS samples, sum(lost) AS lost FROM TACHO_GPU_SAMPLING GROUP BY source"


def ask(report, query):
    """Rows of a report, as dictionaries; none if it has no such table."""
    done = subprocess.run([find_tacho(), "sql", "-f", "json", report, query], capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 and done.stdout.strip() else []


def run(variant, program, hz, seconds, folder):
    """{figure, sampled} of one run."""
    report = os.path.join(folder, "report.tacho")
    command = [os.path.abspath(word) if os.path.exists(word) else word for word in program]  # it runs in another folder
    if VARIANTS[variant] is not None:
        own = [option.format(hz=hz) for option in VARIANTS[variant]]
        command = [find_tacho(), "profile", "-t", "cuda", "-s", "none", "--cpuctxsw=none", "-f", "true", "-o", report, *own, *command]
    done = tools.run(command, seconds, None, folder)
    found = next((match for figure in FIGURES for match in [re.search(figure, done.stdout)] if match), None)
    if done.status != 0:
        sys.exit(f"{variant}: {done}")
    if variant == "bare":
        return {"figure": float(found.group(1)) if found else None, "sampled": []}
    rows = ask(report, LONGEST)
    longest = rows[0]["value"] / 1e6 if rows and rows[0]["value"] is not None else None
    return {"figure": float(found.group(1)) if found else longest, "sampled": ask(report, SAMPLED), "said": re.findall(r"GPU metrics are .*", done.stderr)}


def print_table(program, rounds, names):
    rows = []
    for name in names:
        pairs = [(one[name]["figure"], one["none"]["figure"]) for one in rounds
                 if all((one.get(which) or {}).get("figure") for which in (name, "none"))]
        if not pairs:
            continue
        middle, low, high = median_interval([value / without for value, without in pairs])
        last = next(one[name] for one in reversed(rounds) if one.get(name))
        sampled = ", ".join(f"{row['source']} {row['samples']:,} ({row['lost']:,} lost)" for row in last["sampled"])
        rows.append([name, f"{median_interval([value for value, _ in pairs])[0]:.3f}", f"{middle:.4f} ({low:.4f} … {high:.4f})", len(pairs),
                     "; ".join([sampled or "–", *last.get("said", [])])])
    table(f"`{shlex.join(program)}`", ["metrics", "figure, median", "of none: median and interval", "rounds", "samples of the last run"], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="VARIANT", help=", ".join(VARIANTS) + " (default: all)")
    parser.add_argument("--program", action="append", required=True, metavar="COMMAND", help="a program with its arguments, in one word; may be repeated")
    parser.add_argument("--frequency", type=int, default=10_000, metavar="HZ", help="samples of counters per second (10000)")
    parser.add_argument("--budget", type=float, default=120, metavar="SECONDS", help="begin no run after this time, for each program (120)")
    parser.add_argument("--seconds", type=float, default=60, help="the longest that a run may take (60)")
    parser.add_argument("--json", metavar="FILE", help="keep the figures")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in VARIANTS]
    if unknown:
        parser.error(f"there is no variant '{unknown[0]}'")
    names = list(dict.fromkeys(["none", *(options.names or VARIANTS)]))
    kept = {}
    with tempfile.TemporaryDirectory(prefix="tacho-metrics-") as folder:
        for program in map(shlex.split, options.program):
            def keep(rounds, program=program):
                kept[shlex.join(program)] = rounds
                keep_figures(options.json, gpu=tools.gpu(), tacho=version(find_tacho()), hz=options.frequency, programs=kept)
            rounds = run_rounds(names, options.budget, lambda name, program=program: run(name, program, options.frequency, options.seconds, folder), keep)
            print_table(program, rounds, [name for name in VARIANTS if name in names])


if __name__ == "__main__":
    main()
