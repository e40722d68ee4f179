"""Predictions of `tacho what-if` against programs that were repaired: captures of nine faulty programs from a GPU host, and how long a step of
the faulty and of the repaired one took there, bare. A saving is predicted to a fifth of what the repair saved, or within the interval of that; three
miss it, and are within 3 % of the step."""

import json
import os
import sys

from lib import HERE, check, output, status

STEPS = 60  # in each capture
MISSES = ("ItemEachStep", "PythonBetween", "BlockingCopy")  # docs/commands/what-if.md says why
RESULTS = os.path.join(os.environ["SOURCE"], "bench", "results", "pairs-h200-2026-11-16.json")


def main():
    with open(RESULTS) as file:
        pairs = json.load(file)
    check("pairs", 9, len(pairs))
    for pair in pairs:
        rows = json.loads(output("what-if", "-f", "json", *pair["change"], os.path.join(HERE, "what_if_pairs", f"{pair['name']}.tacho")))
        predicted = rows[-1]["Saves (ns)"] / STEPS / 1000
        error = abs(predicted - pair["saved"])
        print(f"{pair['name']}: a step of {pair['step']:.0f} µs, saved {pair['saved']:.0f} ({pair['low']:.0f} to {pair['high']:.0f}) µs, "
              f"predicted {predicted:.0f} µs")
        is_right = error <= 0.2 * abs(pair["saved"]) or pair["low"] <= predicted <= pair["high"]
        check(f"{pair['name']}: predicted", pair["name"] not in MISSES, is_right)
        check(f"{pair['name']}: predicted to 3 % of the step", True, error <= 0.03 * pair["step"])
    return status()


sys.exit(main())
