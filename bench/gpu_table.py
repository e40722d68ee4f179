#!/usr/bin/env python3
"""The table of bench/gpu.py's figures, from the JSON that it keeps: bench/gpu_table.py FILE.json … [--json OUT.json]

Several files, of one build on one kind of host, are put together, and kept in OUT.json. Aims are rows of data here.
scripts/gpu-page writes the same table into docs/cuda.md."""
import argparse
import json
import statistics
import sys

from figures import median_interval

# Cases of interleaved rounds: name, what it is, unit, scale of the figure to it, the aim in words, and whether it is reached
# given (added by tacho, added by nsys or None, bare, added by torch.profiler or None): None where that cannot be told.
COSTS = (
    ("storm-1", "kernel launch, one thread", "µs", 1e-3, "≤ nsys's + 0.2 µs", lambda a, n, b, t: None if n is None else a <= n + 0.2),
    ("storm-4", "kernel launch, four threads", "µs", 1e-3, "≤ nsys's + 0.2 µs", lambda a, n, b, t: None if n is None else a <= n + 0.2),
    ("launch_storm", "PyTorch operator", "µs", 1, "≤ 1.5 µs, ≤ a third of nsys's", lambda a, n, b, t: a <= 1.5 and (n is None or a <= n / 3)),
    ("emit_storm", "PyTorch operator with its NVTX on", "µs", 1, "≤ 1 µs", lambda a, n, b, t: a <= 1),
    ("resnet18", "resnet18, an iteration of training", "ms", 1, "≤ 20 %, ≤ half of nsys's",
     lambda a, n, b, t: a <= 0.2 * b and (n is None or a <= n / 2)),
    ("operators", "resnet18 with PyTorch's operators, an iteration", "ms", 1, "≤ a third of torch.profiler's", lambda a, n, b, t: None if t is None else a <= t / 3),
    ("sampled", "resnet18, batch 16, counters of the GPU sampled at 10 kHz, an iteration", "ms", 1, "≤ 1 %, ≤ nsys's", lambda a, n, b, t: a <= 0.01 * b and (n is None or a <= n)),
    ("sampled-256", "resnet18, batch 256, counters of the GPU sampled at 10 kHz, an iteration", "ms", 1, "≤ 1 %, ≤ nsys's", lambda a, n, b, t: a <= 0.01 * b and (n is None or a <= n)),
    ("before-range", "kernel launch before a capture range", "µs", 1e-3, "near zero: ≤ 0.1 µs", lambda a, n, b, t: a <= 0.1),
    ("after-range", "kernel launch after a capture range", "µs", 1e-3, "", None),
    ("start", "a program's start and end, report included", "s", 1, "", None),
)
# The one long run: key, what it is, unit, scale, aim.
FULL = (
    ("finish_s", "program's end → report", "s", 1, 1.0),
    ("bytes", "report", "MB", 1e-6, 40),
    ("export_s", "… to SQLite", "s", 1, 5.0),
    ("summaries_s", "… two summaries", "s", 1, 0.3),
)


def pairs(rounds, variant, scale):
    return [(r[variant] - r["bare"]) * scale for r in rounds if r.get("bare") is not None and r.get(variant) is not None]


def interval(values):
    if not values:
        return "–"
    middle, low, high = median_interval(values)
    return f"{middle:+.2f} ({low:.2f} … {high:.2f})"


def middle(values):
    return statistics.median(values) if values else None


def word(reached):
    return "" if reached is None else "yes" if reached else "no"


def cost_row(row, rounds):
    name, what, unit, scale, aim, reached = row
    bare = middle([r["bare"] * scale for r in rounds if r.get("bare") is not None])
    added = {variant: pairs(rounds, variant, scale) for variant in ("tacho", "nsys", "torch")}
    ours = middle(added["tacho"])
    verdict = None if reached is None or ours is None else reached(ours, middle(added["nsys"]), bare, middle(added["torch"]))
    return (what, "–" if bare is None else f"{bare:.2f} {unit}", aim, interval(added["tacho"]), interval(added["nsys"]),
            interval(added["torch"]), word(verdict), len(added["tacho"]))


def full_row(row, full):
    key, what, unit, scale, aim = row

    def value(tool):
        found = full.get(tool, {}).get(key)
        return None if found is None else found * scale

    ours, theirs = value("tacho"), value("nsys")
    shown = ["–" if number is None else f"{number:.2f} {unit}" for number in (ours, theirs)]
    return (what, f"≤ {aim:g} {unit}", *shown, word(None if ours is None else ours <= aim))


def lines(header, rows):
    yield "| " + " | ".join(header) + " |"
    yield "|" + "---|" * len(header)
    for row in rows:
        yield "| " + " | ".join(str(cell) for cell in row) + " |"


def markdown(result):
    """Both tables, and what they were made on."""
    host = result["host"]
    out = [f"{result['gpu']}; {host['cpu']}, {host['cores']} cores, Linux {host['kernel']}; {host['date']}.",
           f"{result['tacho']}, {result['nsys'] or 'no nsys'}.", "",
           "Added time, the median over interleaved rounds and its 95 % interval (least and greatest where", "rounds are fewer than six):", ""]
    rows = [cost_row(row, result["cases"][row[0]]) for row in COSTS if result["cases"].get(row[0])]
    out += lines(("", "bare", "tacho adds", "nsys adds", "torch.profiler adds"), [(what, bare, *adds) for what, bare, _, *adds, _, _ in rows])
    out += ["", *lines(("", "aim", "reached", "rounds"), [(row[0], row[2], *row[-2:]) for row in rows])]
    full = result.get("full")
    if full:
        out += ["", f"{full['launches']:,} launches in one run:", ""]
        out += lines(("", "aim", "tacho", "nsys", "reached"), [full_row(row, full) for row in FULL])
        kernels = full.get("tacho", {}).get("kernels")
        if kernels is not None:  # storm launches 1000 more to warm up
            out += ["", f"Kernels in the report: {kernels:,} of {full['launches'] + 1000:,}. Without a profiler the program ends "
                        f"{full['bare']['finish_s'] or 0:.2f} s after its work."]
    if result["errors"]:
        out += ["", f"{len(result['errors'])} runs failed: " + ", ".join(sorted({error["what"] for error in result["errors"]}))]
    return "\n".join(out)


def merge(results):
    """One result with the rounds of all. The long run is the last one's that has it."""
    merged = {**results[-1], "cases": {}, "errors": []}
    for result in results:
        merged["nsys"] = merged["nsys"] or result["nsys"]  # a run may leave it out
        if any(result[key] != merged[key] for key in ("build", "gpu", "launches", "operators")) or result["nsys"] not in (None, merged["nsys"]):
            sys.exit("gpu_table.py: these figures are of different builds, hosts or sizes; they do not belong into one table")
        for name, rounds in result["cases"].items():
            merged["cases"].setdefault(name, []).extend(rounds)
        merged["errors"] += result["errors"]
        merged["full"] = result.get("full") or merged.get("full")
    return merged


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--json", metavar="OUT", help="keep all together")
    options = parser.parse_args()
    results = []
    for path in options.files:
        with open(path) as file:
            results.append(json.load(file))
    merged = merge(results)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(merged, file, indent=1)
            file.write("\n")
    print(markdown(merged))


if __name__ == "__main__":
    main()
