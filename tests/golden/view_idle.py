"""The rows "Why idle" of the timeline, and the stretch that it shows first: gaps beside the work in the captures, read here by SQLite and as JSON; causes beside gpu_idle_sum;
the use of each GPU beside `tacho summary`; and the chain of events behind a gap."""

import os
import re
import sqlite3
import struct
import sys
import tempfile
import urllib.request

import lib
from lib import ALL, HERE, KINETO, PATIENCE, SIX_STEPS, Timeline, check, ns, output, status, table, trace_events, unpack, unpack_mnist_like

TABLES = ("KERNEL", "MEMCPY", "MEMSET", "GRAPH_TRACE")
CATEGORIES = ("kernel", "gpu_memcpy", "gpu_memset")
STATES = 6  # of threads and GPUs, before those of causes


def work_of_nsys(path):
    database = sqlite3.connect(path)
    known = {name for name, in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    return sorted(span for name in TABLES if f"CUPTI_ACTIVITY_KIND_{name}" in known
                  for span in database.execute(f"SELECT start, end FROM CUPTI_ACTIVITY_KIND_{name}"))


def work_of_torch(path):
    events = [event for event in trace_events(path) if event.get("cat") in CATEGORIES]
    return sorted((ns(event["ts"]), ns(event["ts"] + event["dur"])) for event in events)


def gaps_of(work):
    """The gaps between work, and the time with work."""
    gaps, reached, busy = [], work[0][0], 0
    for start, end in work:
        if start > reached:
            gaps.append((reached, start))
        busy += max(0, end - max(start, reached))
        reached = max(reached, end)
    return gaps, busy, reached - work[0][0]


def colours(timeline, row):
    """The states of the slices of a tile over the whole report."""
    about = timeline.ask("about")
    level = 0
    while 1024 << level <= about["to"]:
        level += 1
    asked = urllib.request.Request(f"{timeline.base}api/tile?rows={row['id']}&level={level}&index=0", headers={"X-Tacho-Token": timeline.token})
    data = urllib.request.urlopen(asked, timeout=PATIENCE).read()
    _, _, count, parts = struct.unpack_from("<4I", data, 8)
    head = 24
    states = {struct.unpack_from("<ddIIHBBI", data, head + 32 * i)[5] for i in range(count)}
    return states | {struct.unpack_from("<HHIIHBB", data, head + 32 * count + 16 * i)[5] for i in range(parts)}


def check_gaps(name, timeline, row, work):
    gaps, busy, span = gaps_of(work)
    check(f"{name}: gaps of the row", len(gaps), row["events"])
    check(f"{name}: colours before the causes are known", {STATES - 1}, colours(timeline, row))
    found = [timeline.ask("event", row=row["id"], event=number) for number in range(row["events"])]
    begin, first = gaps[0][0], found[0]["from"]
    check(f"{name}: gaps where no work is", [(start - begin, end - begin) for start, end in gaps], [(event["from"] - first, event["to"] - first) for event in found])
    check(f"{name}: gaps and busy time add up to the span", span, busy + sum(end - start for start, end in gaps))
    check(f"{name}: a gap is in no table", {("", 0)}, {(event["table"], event["rowid"]) for event in found})
    return found


def check_causes(name, timeline, row, found, file):
    """By gap the causes add up to it; over all gaps they are those of gpu_idle_sum."""
    totals, lines, gaps = {}, {}, {}
    for event in found:
        parts = event["gap"]["causes"]
        if event["gap"]["more"] == 0:
            check(f"{name}: causes of the gap at {event['from']}", event["to"] - event["from"], sum(part["time"] for part in parts))
        by_cause = {}
        for part in parts:
            by_cause[part["cause"]] = by_cause.get(part["cause"], 0) + part["time"]
            lines[part["cause"], part["line"]] = lines.get((part["cause"], part["line"]), 0) + part["time"]
        check(f"{name}: a gap is named after its chief cause", max(by_cause.values()), by_cause.get(event["name"]))
        for cause, time in by_cause.items():
            totals[cause] = totals.get(cause, 0) + time
            gaps[cause] = gaps.get(cause, 0) + 1
    expected = {}
    for line in table("gpu_idle_sum", file):
        expected[line["Cause"]] = expected.get(line["Cause"], 0) + line["Total Time (ns)"]
        if "other lines" not in line["Where"]:
            check(f"{name}: {line['Cause']} at {line['Where']}", line["Total Time (ns)"], lines.get((line["Cause"], line["Where"])))
    check(f"{name}: causes, as gpu_idle_sum has them", expected, totals)
    answer = next(one for one in timeline.ask("idle")["rows"] if one["row"] == row["id"])["causes"]
    check(f"{name}: causes of the request idle", [(cause, totals[cause], gaps[cause]) for cause in sorted(totals, key=lambda cause: -totals[cause])],
          [(one["cause"], one["time"], one["gaps"]) for one in answer])
    states = {one["state"] for one in answer}
    check(f"{name}: colours of causes", (True, True), (colours(timeline, row) <= states, min(states) >= STATES))
    check(f"{name}: gaps are found by their cause", sum(event["name"] == answer[0]["cause"] for event in found),
          timeline.ask("find", text=answer[0]["cause"], mode="exact", row=row["id"])["total"])


def check_use(name, rows, file):
    """The label of the GPU has the figure of the summary, and the tooltip its span."""
    gpu, = [row for row in rows if row["type"] == "gpu"]
    text = lib.summary(file)
    said = re.search(r"GPU busy (\d+) %", text)
    label = re.fullmatch(r"GPU 0 · (\d+) % busy", gpu["label"])
    check(f"{name}: how busy the GPU was", said and said.group(1), label and label.group(1))
    has_steps = "over" in text.split("GPU busy")[0]
    check(f"{name}: the name and the span", (True, True), (gpu["detail"].startswith("NVIDIA H200 · "), gpu["detail"].endswith("the steps without their warm-up" if has_steps else "from the first CUDA call or GPU work to the last")))


def check_chain(name, timeline, rows, found):
    """Each link of the chain leads on: the work begins where the gap ends, the launch launched it, the operator is around the launch."""
    types = {row["id"]: row["type"] for row in rows}
    seen = set()
    for event in sorted(found, key=lambda event: event["from"] - event["to"])[:40]:
        chain = {link["kind"]: link.get("event", link.get("text")) for link in event["gap"]["chain"]}
        seen |= set(chain)
        check(f"{name}: the order of the chain", [kind for kind in ("work", "launch", "operator", "line", "wait") if kind in chain],
              [link["kind"] for link in event["gap"]["chain"]])
        work = chain["work"]
        check(f"{name}: the work that ended the gap", ("stream", event["to"]), (types[work["row"]], work["from"]))
        if "launch" in chain:
            launched = timeline.ask("event", row=chain["launch"]["row"], event=chain["launch"]["event"])["links"]
            check(f"{name}: the launch of {work['name']}", True, any((link["row"], link["event"]) == (work["row"], work["event"]) for link in launched))
        if "operator" in chain:
            check(f"{name}: the operator around the launch", True, chain["operator"]["from"] <= chain["launch"]["from"] and chain["launch"]["to"] <= chain["operator"]["to"])
        if "line" in chain:
            check(f"{name}: the line is the one of the largest cause with a line", next(part["line"] for part in event["gap"]["causes"] if part["line"]), chain["line"])
        if "wait" in chain:
            check(f"{name}: the wait is on a thread", True, types[chain["wait"]["row"]] in ("cuda-api", "osrt", "torch", "python", "nvtx", "library", "other"))
    return seen


def check_focus(name, timeline, rows):
    """The page opens at the steps, with all work of the last one, where they are a part of the time; else whole."""
    about = timeline.ask("about")
    steps, = [row for row in rows if row["type"] == "steps"]
    work = max(row["to"] for row in rows if row["type"] == "stream")
    focus = about["focus"]
    if name == "train":
        check(f"{name}: opens whole", (about["from"], about["to"]), (focus["from"], focus["to"]))
        return
    length = max(steps["to"], work) - steps["from"]
    check(f"{name}: opens at the steps, from {focus} in {about['to']}", (True, True),
          (steps["from"] - length / 10 < focus["from"] <= steps["from"], max(steps["to"], work) <= focus["to"] < max(steps["to"], work) + length / 10))


def capture(name, file, work, kinds):
    with Timeline(file) as timeline:
        rows = timeline.ask("rows")["rows"]
        row, = [row for row in rows if row["type"] == "idle"]
        parent = next(one for one in rows if one["id"] == row["parent"])
        check(f"{name}: the row", ("Why idle", "states", 1, "gpu", row["id"] - 1), (row["label"], row["kind"], row["lanes"], parent["type"], parent["id"]))
        found = check_gaps(name, timeline, row, work)
        check_causes(name, timeline, row, found, file)
        check_use(name, rows, file)
        check_focus(name, timeline, rows)
        seen = check_chain(name, timeline, rows, found)
        check(f"{name}: kinds of links", set(), kinds - seen)


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, kinds in (("resnet18", {"work", "launch", "line", "wait"}), ("mix", {"work", "launch", "line", "wait"})):
            unpack(os.path.join(HERE, "nsys", f"{name}.sqlite.gz"), f"{name}.sqlite")
            capture(name, f"{name}.sqlite", work_of_nsys(f"{name}.sqlite"), kinds)
        trace = os.path.join(KINETO, "train.json.gz")
        capture("train", trace, work_of_torch(trace), {"work", "launch", "operator", "line"})
        unpack_mnist_like("mnist_like.sqlite", None if ALL else SIX_STEPS)  # all of it has thousands of gaps
        capture("mnist_like", "mnist_like.sqlite", work_of_nsys("mnist_like.sqlite"), {"work", "launch", "wait"})
        os.chdir("/")
    return status()


if __name__ == "__main__":
    sys.exit(main())
