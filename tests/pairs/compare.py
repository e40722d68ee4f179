"""Compares what Tacho promised with what a repair saved: the criteria of tests/pairs/run.py and of golden/pairs."""

import json
import re
import statistics
import subprocess

WITHIN = {"measured": 0.20, "modelled": 0.35}  # of what was saved: how far an estimate may be off
OF_STEP = 0.03                                 # of the step: an estimate this close is right; the repaired program has no larger finding


def interval(values):
    """The median, and its 95 % interval by order statistics."""
    values = sorted(values)
    count = len(values)
    margin = int(0.98 * count ** 0.5 + 0.5)
    return statistics.median(values), values[max(0, count // 2 - margin)], values[min(count - 1, count // 2 + margin)]


def bare(times):
    """µs per step of the faulty and of the repaired program, and what the repair saved, with its interval."""
    saved, low, high = interval([faulty - fixed for faulty, fixed in zip(times["faulty"], times["fixed"])])
    return {"step": statistics.median(times["faulty"]), "fixed": statistics.median(times["fixed"]), "saved": saved, "low": low, "high": high}


def advice(tacho, report):
    """The rows of advice_sum."""
    done = subprocess.run([tacho, "stats", "-q", "-f", "json", "-r", "advice_sum", report], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
    if done.returncode != 0:
        raise ValueError(done.stderr.strip())
    return json.loads(done.stdout or "[]")


def causes(rows):
    """The findings with a saving, in the order of the table, in µs per step."""
    found = []
    for row in rows or []:
        if row.get("Saves per Step (ns)") is not None:
            place = re.search(r"([^\s/]+):(\d+)", row.get("Where") or "")
            found.append({"rule": row["Rule"], "bound": row["Saves per Step (ns)"] / 1000, "estimate": row["About (ns)"] / 1000,
                          "confidence": row["Confidence"], "file": place and place[1], "line": place and int(place[2]), "finding": row["Finding"]})
    return found


def is_on_line(cause, pair):
    return cause["file"] == pair["file"] and cause["line"] in pair["fault"] + pair["seen"]


def judge(pair):
    """Whether each criterion holds; None: it could not be checked."""
    found = causes(pair["advice_faulty"])
    rank = next((place for place, cause in enumerate(found, 1) if is_on_line(cause, pair)), None)
    cause = found[rank - 1] if rank else (found[0] if found else None)
    left = max((cause["bound"] for cause in causes(pair["advice_fixed"])), default=0.0) if pair["advice_fixed"] is not None else None
    verdict = {"first": rank == 1, "bound": False, "estimate": False, "clean": None if left is None else left <= OF_STEP * pair["fixed"]}
    if cause:
        error = abs(cause["estimate"] - pair["saved"])
        verdict["bound"] = pair["low"] <= cause["bound"]
        verdict["estimate"] = error <= WITHIN.get(cause["confidence"], 0) * pair["saved"] or error <= OF_STEP * pair["step"]
    return {"cause": cause, "rank": rank, "left": left, "verdict": verdict}


def show(pairs):
    """A table of all pairs, and how many satisfy each criterion."""
    print(f"{'pair':22}{'bare µs':>9}{'traced':>9}{'saved':>9} {'(95 % interval)':18}{'bound':>9}{'about':>9} {'confidence':11}{'rule':24}"
          f"{'line':>5}{'rank':>5}{'left %':>7}  verdict")
    totals = {}
    for pair in pairs:
        judged = judge(pair)
        cause, verdict = judged["cause"] or {}, judged["verdict"]
        for name, value in verdict.items():
            totals.setdefault(name, []).append(value)
        missed = [name for name, value in verdict.items() if not value]
        left = f"{100 * judged['left'] / pair['fixed']:7.1f}" if judged["left"] is not None else f"{'?':>7}"
        between = f"({pair['low']:.0f} to {pair['high']:.0f})"
        print(f"{pair['name']:22}{pair['step']:9.0f}{pair['traced_faulty'] or 0:9.0f}{pair['saved']:9.0f} {between:18}"
              f"{cause.get('bound', 0):9.0f}{cause.get('estimate', 0):9.0f} {cause.get('confidence') or '-':11}{cause.get('rule') or '-':24}"
              f"{cause.get('line') or '-':>5}{judged['rank'] or '-':>5}{left}  {'missed: ' + ', '.join(missed) if missed else 'all right'}")
    for name, values in totals.items():
        print(f"{name}: {sum(bool(value) for value in values)} of {len(values)}")
