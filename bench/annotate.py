#!/usr/bin/env python3
"""The lines of `tacho annotate` beside those of `perf annotate`:

    bench/annotate.py [--rounds 12] [--json FILE]

The functions of bench/annotate/lines.c are recorded by both in turn; shares are of the samples in the function, of all rounds together. Lines
above 5 % must agree within 3 points. Needs gcc, objdump, perf, and Tacho from the variable TACHO or build/bin/tacho.
"""
import argparse
import collections
import json
import os
import re
import subprocess
import tempfile

from figures import HERE, find_tacho, keep_figures, table, version

FUNCTIONS = "multiply", "mix", "sort"
FREQUENCY, LEAST, WITHIN = 1000, 5, 3


def by_perf(program, folder):
    """Samples of each line: perf prints shares of a function."""
    data = os.path.join(folder, "perf.data")
    subprocess.run(["perf", "record", "-q", "-F", str(FREQUENCY), "-o", data, program], check=True, stdout=subprocess.DEVNULL)
    counts = {}
    for function in FUNCTIONS:
        out = subprocess.run(["perf", "annotate", "--stdio", "-l", "-i", data, function], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
        samples = int(re.search(r"\((\d+) samples", out)[1])
        summary = out[:out.index("Percent |")]
        counts[function] = {int(line): float(share) * samples / 100 for share, line in re.findall(r"^\s*([\d.]+)\s+lines\.c:(\d+)", summary, re.M)}
    return counts


def by_tacho(tacho, program, folder):
    """The same twice: by source, and by instruction with the line that objdump names."""
    report = os.path.join(folder, "report.tacho")
    subprocess.run([tacho, "profile", "-q", "-f", "true", f"--sampling-frequency={FREQUENCY}", "-o", report, program], check=True, stdout=subprocess.DEVNULL)
    source, code = {}, {}
    for function in FUNCTIONS:
        for counts, options in ((source, []), (code, ["--instructions"])):
            rows = json.loads(subprocess.run([tacho, "annotate", "-f", "json", *options, function, report], check=True, stdout=subprocess.PIPE).stdout)
            own = counts[function] = collections.Counter()
            for row in rows:
                own[row["Line"]] += row["Self Samples"]
    return source, code


def add(sums, counts):
    for function, lines in counts.items():
        for line, samples in lines.items():
            sums[function][line] += samples


def shares(sums, function):
    whole = sum(sums[function].values())
    return {line: 100 * samples / whole for line, samples in sums[function].items()}


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rounds", type=int, default=12)
    arguments.add_argument("--json", metavar="FILE")
    options = arguments.parse_args()
    tacho = find_tacho()
    sums = [collections.defaultdict(collections.Counter) for _ in range(3)]
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "lines")
        subprocess.run(["gcc", "-g", "-O2", "-o", program, os.path.join(HERE, "annotate", "lines.c")], check=True)
        for _ in range(options.rounds):
            add(sums[0], by_perf(program, folder))
            for into, counts in zip(sums[1:], by_tacho(tacho, program, folder)):
                add(into, counts)
    rows = []
    for function in FUNCTIONS:
        perf, source, code = (shares(one, function) for one in sums)
        for line in sorted(set(perf) | set(source) | set(code)):
            got = [one.get(line, 0) for one in (perf, source, code)]
            if max(got) >= LEAST:
                rows.append([function, line, *(round(share, 1) for share in got), "yes" if max(got) - min(got) <= WITHIN else "no"])
    table("Samples of a function, %", ("function", "line", "perf annotate", "tacho annotate", "its instructions", f"within {WITHIN} points"), rows)
    keep_figures(options.json, rounds=options.rounds, version=version(tacho), rows=rows)


if __name__ == "__main__":
    main()
