"""Compares what Tacho promised with what a repair saved: the criteria of tests/pairs/run.py and of golden/pairs."""

import json
import os
import re
import statistics
import subprocess

WITHIN = {"measured": 0.20, "modelled": 0.35}  # of what was saved: how far an estimate may be off
OF_STEP = 0.03                                 # of the step: an estimate this close is right; the repaired program has no larger finding
OF_REPLAY = 0.02                               # of what was recorded: how far a replay without changes may be off


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


def replayed(tacho, report):
    """How long the replay of a capture without changes takes, as a multiple of the time from its first CUDA call or work to its last."""
    def ask(*words):
        done = subprocess.run([tacho, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
        if done.returncode != 0:
            raise ValueError(done.stderr.strip())
        return json.loads(done.stdout)
    tables = [row["name"] for row in ask("sql", report, "-f", "json", "SELECT name FROM sqlite_master")]
    spans = " UNION ALL ".join(f"SELECT min(start) AS start, max(end) AS end FROM CUPTI_ACTIVITY_KIND_{kind}"
                               for kind in ("RUNTIME", "KERNEL", "MEMCPY", "MEMSET") if f"CUPTI_ACTIVITY_KIND_{kind}" in tables)
    recorded = ask("sql", report, "-f", "json", f"SELECT max(end) - min(start) AS ns FROM ({spans})")[0]["ns"]
    rows = ask("what-if", "-f", "json", "--no-wait", "all", report)
    return next(row["Run (ns)"] for row in rows if row["What If"] == "unchanged") / recorded


UNITS = {"ns": 1e-3, "µs": 1.0, "ms": 1e3, "s": 1e6}
TIME = r"([\d.,]+) (ns|µs|ms|s)\b"


def in_summary(tacho, report, pattern):
    """Where the summary has this, and the times in it, in µs: ("step 18.4 ms over 40 steps", 18400.0); None: it has not."""
    done = subprocess.run([tacho, "summary", report], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=60,
                          env={**os.environ, "COLUMNS": "10000"})
    match = re.search(pattern, done.stdout)
    return match and (match[0], *(float(number.replace(",", "")) * UNITS[unit] for number, unit in re.findall(TIME, match[0])))


def together(tacho, report):
    """What the first findings promise together, (estimate, from, to) in µs per step, as the summary prints it; None: it has fewer than two."""
    found = in_summary(tacho, report, f"(?:both|all three): about {TIME} \\(([\\d.,]+)(?: (ns|µs|ms|s))? to {TIME}\\)")
    if not found:
        return None
    number, unit = re.search(r"\(([\d.,]+)(?: (ns|µs|ms|s))? to [\d.,]+ (?:ns|µs|ms|s)\)", found[0]).groups()
    unit = unit or found[0].rstrip(")").split()[-1]
    return found[1], float(number.replace(",", "")) * UNITS[unit], found[-1]


def step(tacho, report):
    """The step that savings are of, in µs, and what the summary says of it: (µs, "step 18.4 ms over 40 steps by …"); None: there are no steps."""
    found = in_summary(tacho, report, f"step {TIME} (?:over|from) [^;\n]*")
    return found and (found[1], found[0])


def causes(rows):
    """The findings with a saving, in the order of the table, in µs per step."""
    found = []
    for row in rows or []:
        if isinstance(row.get("Saves per Step (ns)"), int):
            place = re.search(r"([^\s/(]+):(\d+)", row.get("Where") or "")
            found.append({"rule": row["Rule"], "low": row["From (ns)"] / 1000, "high": row["To (ns)"] / 1000, "estimate": row["Saves per Step (ns)"] / 1000,
                          "confidence": row["Confidence"], "file": place and place[1], "line": place and int(place[2]), "finding": row["Finding"]})
    return found


def is_on_line(cause, pair):
    return cause["file"] == pair["file"] and cause["line"] in pair["fault"] + pair["seen"]


def chosen(pair):
    """The finding about the fault and its rank; without one, the first finding. Of two faults: what is promised for both, and the rank of the second."""
    found = causes(pair["advice_faulty"])
    ranks = [rank for rank, cause in enumerate(found, 1) if is_on_line(cause, pair)]
    if pair["faults"] == 1:
        return (found[ranks[0] - 1], ranks[0]) if ranks else (found[0] if found else None, None)
    lines = {found[rank - 1]["line"] for rank in ranks if rank <= 3} & set(pair["fault"])
    if not pair["together"]:
        return None, None
    confidence = "modelled" if any(cause["confidence"] == "modelled" for cause in found[:3]) else "measured"
    promised = {"rule": "together", **dict(zip(("estimate", "low", "high"), pair["together"])), "confidence": confidence}
    return promised, (1 if len(lines) == pair["faults"] else None)


def judge(pair):
    """Whether each criterion holds. first: the fault is the first finding, on its line. range: the repair saved no less and no more. estimate: it saved about that.
    clean: nothing is left to advise on the repaired program; None: it was not profiled."""
    cause, rank = chosen(pair)
    left = None if pair["advice_fixed"] is None else max((left["high"] for left in causes(pair["advice_fixed"])), default=0.0)
    verdict = {"first": rank == 1, "range": False, "estimate": False, "clean": None if left is None else left <= OF_STEP * pair["fixed"]}
    if cause:
        error = abs(cause["estimate"] - pair["saved"])
        verdict["range"] = pair["low"] <= cause["high"] and pair["high"] >= cause["low"]
        verdict["estimate"] = error <= WITHIN.get(cause["confidence"], 0) * pair["saved"] or error <= OF_STEP * pair["step"]
    return {"cause": cause, "rank": rank, "left": left, "verdict": verdict}


def show(pairs):
    """A table of all pairs, and how many satisfy each criterion."""
    print(f"{'pair':22}{'bare µs':>9}{'traced':>9}{'saved':>9} {'(95 % interval)':18}{'from':>9}{'about':>9}{'to':>9} {'confidence':11}{'rule':24}"
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
        print(f"{pair['name']:22}{pair['step']:9.0f}{pair.get('traced_faulty') or 0:9.0f}{pair['saved']:9.0f} {between:18}"
              f"{cause.get('low', 0):9.0f}{cause.get('estimate', 0):9.0f}{cause.get('high', 0):9.0f} {cause.get('confidence') or '-':11}{cause.get('rule') or '-':24}"
              f"{cause.get('line') or '-':>5}{judged['rank'] or '-':>5}{left}  {'missed: ' + ', '.join(missed) if missed else 'all right'}")
        for rank, other in enumerate(causes(pair["advice_faulty"])[:3], 1):
            if "first" in missed:
                print(f"{'':22}{rank}. about {other['estimate']:.0f} ({other['low']:.0f} to {other['high']:.0f}): {other['rule']}, {other['file']}:{other['line']}: {other['finding'][:110]}")
    for name, values in totals.items():
        print(f"{name}: {sum(bool(value) for value in values)} of {len(values)}")
    shares = {f"{pair['name']} {what}": share for pair in pairs for what, share in (pair.get("replay") or {}).items()}
    if shares:
        worst = max(shares, key=lambda name: abs(shares[name] - 1))
        print(f"replay within {100 * OF_REPLAY:.0f} % of the recorded time: {sum(abs(share - 1) <= OF_REPLAY for share in shares.values())} of {len(shares)}; "
              f"worst: {worst}, {100 * (shares[worst] - 1):+.2f} %")


def show_unplanted(name, known):
    """What the first findings on a program promised, and what the variants that follow their advice saved."""
    times = known["unplanted_times"]
    written = times.get("as_written", [])
    print(f"{name}: bare {statistics.median(written or [0]):.0f} µs, recorded: {known.get('unplanted_step')}")
    for rank, cause in enumerate(known.get("unplanted_found", [])[:3], 1):
        saved = [before - after for before, after in zip(written, times.get(cause.get("follow"), []))]
        result = f"saved {statistics.median(saved):.0f} µs ({min(saved):.0f} to {max(saved):.0f})" if saved else "not tried"
        print(f"  {rank}. about {cause['estimate']:.0f} µs ({cause['low']:.0f} to {cause['high']:.0f}), {cause['confidence']}: {cause['rule']}, {cause['file']}:{cause['line']}: "
              f"{cause['finding'][:100]}\n     {cause.get('follow') or 'no variant follows it'}: {result}", flush=True)


def markdown(pairs):
    """The table of the docs, from results that were kept; times are ms."""
    lines = ["| program | step | saved by the repair | about | from | to | rule | first, on its line | misses |", "|---|---|---|---|---|---|---|---|---|"]
    for pair in pairs:
        cause, verdict = pair["promised"]["cause"] or {}, pair["promised"]["verdict"]
        missed = ", ".join(name for name, value in verdict.items() if value is False)
        step, saved, low, high, estimate, least, most = (f"{value / 1000:.2f}" for value in (pair["step"], pair["saved"], pair["low"], pair["high"],
                                                                                      *(cause.get(name, 0) for name in ("estimate", "low", "high"))))
        lines.append(f"| {pair['name']} | {step} | {saved} ({low} to {high}) | {estimate} | {least} | {most} | {cause.get('rule', 'none')} | "
                     f"{'yes' if verdict['first'] else 'no'} | {missed} |")
    return "\n".join(lines)
