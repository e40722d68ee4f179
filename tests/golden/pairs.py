"""Advice against programs that were repaired. tests/pairs has programs with a fault and without it; the captures of both come from a GPU host, and the
results say how long their steps took there, bare. Here the advice on the captures is judged again: it must hold where it held when the captures were
kept, and miss where it missed (the results list the misses). A prediction of 0 must be wrong for every pair. A replay of each capture without changes
takes as long as the capture."""

import copy
import glob
import json
import os
import sys

from lib import HERE, TACHO, check, status

SOURCE = os.environ["SOURCE"]
sys.path.insert(0, os.path.join(SOURCE, "tests", "pairs"))
import compare  # noqa: E402
import judge  # noqa: E402


def made(high, about, confidence="measured", where="train.py:57 (train)", low=0):
    return {"Rule": "rule", "Saves per Step (ns)": about, "From (ns)": low, "To (ns)": high, "Confidence": confidence, "Where": where, "Finding": "finding"}


def check_criteria():
    """The criteria themselves: a repair that saved 2,000 µs of a step of 8,000."""
    pair = {"faults": 1, "file": "train.py", "fault": [57], "seen": [60], "step": 8000.0, "fixed": 6000.0, "saved": 2000.0, "low": 1950.0, "high": 2050.0,
            "together": None, "advice_fixed": []}
    good = {"first": True, "range": True, "estimate": True, "clean": True}
    other = made(9000000, 9000000, where="train.py:12 (load)")
    text = {**made("", "", "try it"), "Where": "train.py:57 (train)"}  # a finding without a figure
    for what, rows, wrong in (
            ("right", [made(2100000, 1900000)], ()),
            ("on a line that shows the fault", [made(2100000, 1900000, where="/home/train.py:60 (step)")], ()),
            ("another finding is first", [other, made(2100000, 1900000)], ("first",)),
            ("another line", [made(2100000, 1900000, where="train.py:58 (train)")], ("first",)),
            ("another file", [made(2100000, 1900000, where="model.py:57 (train)")], ("first",)),
            ("more was saved than the range has", [made(1900000, 1900000)], ("range",)),
            ("less was saved than the range has", [made(2400000, 2200000, low=2100000)], ("range",)),
            ("a quarter too high", [made(2600000, 2500000)], ("estimate",)),
            ("a quarter too high, modelled", [made(2600000, 2500000, "modelled")], ()),
            ("half too high, modelled", [made(3600000, 3000000, "modelled")], ("estimate",)),
            ("a prediction of 0", [made(2100000, 0)], ("estimate",)),
            ("without a figure", [text], ("first", "range", "estimate")),
            ("nothing", [], ("first", "range", "estimate"))):
        check(f"criteria: {what}", {**good, **{name: False for name in wrong}}, compare.judge({**pair, "advice_faulty": rows})["verdict"])
    rows = [made(2100000, 1900000)]
    left = compare.judge({**pair, "advice_faulty": rows, "advice_fixed": [made(181000, 100000)]})
    check("criteria: more than 3 % are left in the repaired program", {**good, "clean": False}, left["verdict"])
    two = {**pair, "faults": 2, "fault": [57, 70], "advice_faulty": [*rows, made(1000000, 900000, where="train.py:70 (train)")], "together": [2050.0, 1400.0, 2200.0]}
    check("criteria: two faults", good, compare.judge(two)["verdict"])
    check("criteria: one of two faults", {**good, "first": False}, compare.judge({**two, "advice_faulty": rows})["verdict"])


def check_judge():
    """A repair that saved 1,500 of 6,000 µs. A finding of the program's own step, one of an iteration of which its recorded step has sixty, and one of a
    step that took a little longer."""
    facts = {"file": "solver.cu", "faults": [{"causes": ["result_waits"], "lines": [88]}]}
    for what, step, estimate, found in (("its own step", 6400, 1650, True), ("an iteration", 107, 27.5, True), ("the saving of an iteration", 6400, 27.5, False),
                                        ("a slower step", 7000, 1650, True), ("recording took long", 4200, 1650, True), ("without a step", None, 1650, True)):
        known = {"times": {"faulty": [6000.0] * 7, "fixed": [4500.0] * 7}, "traced": 6420.0, "tacho_step": step,
                 "found": [{"rule": "result_waits", "file": "solver.cu", "line": 88, "low": 0.8 * estimate, "high": 1.2 * estimate, "estimate": estimate}]}
        verdict = judge.verdict_of(facts, known)
        check(f"judge: {what}", (True, found, found), tuple(verdict[key] for key in ("first", "range", "estimate")))
    # Two steps of 4 ms are one of the program, and recording makes each of them 1.3 ms longer.
    known = {"times": {"faulty": [7000.0] * 7}, "traced": 2 * 5300.0, "tacho_step": 4000.0, "recording": 1300.0}
    check("judge: two steps that take longer when they are recorded", 2, judge.steps_in(known))


# The host was slower in these captures than in the bare runs: their steps that were only timed took half as long again. So savings are
# compared as shares of the step.
SLOWER = ("SmallNetwork",)


def with_slower_host(pair, report):
    """The pair as if its bare runs had been as slow as the timed steps of the capture."""
    slower = compare.step(TACHO, report)[0] / pair["step"]
    return {**pair, **{name: slower * pair[name] for name in ("step", "fixed", "saved", "low", "high")}}


def without_estimates(pair):
    pair = copy.deepcopy(pair)
    for row in pair["advice_faulty"]:
        if isinstance(row.get("Saves per Step (ns)"), int):
            row["Saves per Step (ns)"] = 0
    pair["together"] = pair["together"] and (0, *pair["together"][1:])
    return pair


def check_pair(pair):
    faulty, fixed = (os.path.join(HERE, "pairs", f"{pair['name']}-{what}.tacho") for what in ("faulty", "fixed"))
    pair |= {"advice_faulty": compare.advice(TACHO, faulty), "advice_fixed": compare.advice(TACHO, fixed), "together": compare.together(TACHO, faulty)}
    pair["replay"] = {"faulty": compare.replayed(TACHO, faulty), "fixed": compare.replayed(TACHO, fixed)}
    for what, share in pair["replay"].items():
        check(f"{pair['name']} {what}: the replay takes {share:.4f} of the recorded time, to 2 %", True, abs(share - 1) <= compare.OF_REPLAY)
    if pair["name"] in SLOWER:
        pair = with_slower_host(pair, faulty)
    expected = {name: pair["promised"]["verdict"][name] for name in ("first", "estimate", "clean")}
    check(f"{pair['name']}: the advice, and the range of the saving", {**expected, "range": True}, compare.judge(pair)["verdict"])
    check(f"{pair['name']}: a prediction of 0 is right", False, compare.judge(without_estimates(pair))["verdict"]["estimate"])
    return pair


def main():
    check_criteria()
    check_judge()
    results = sorted(glob.glob(os.path.join(SOURCE, "bench", "results", "advice-pairs-h200-*.json")))
    if not results:
        if status() == 0:
            print("skipped: the criteria hold, but no captures of tests/pairs were kept yet (tests/pairs/run.py --parts keep)")
            sys.exit(77)
        return status()
    with open(results[-1]) as file:
        compare.show([check_pair(pair) for pair in json.load(file) if pair["kept"]])
    return status()


sys.exit(main())
