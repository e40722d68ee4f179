"""torch_events against the raw events of traces: each is there once, with its time, under torch's name for it; parents are found here again by
looking at what lies around each event, and work on a GPU by the external id that joins it with its operator."""

import json
import os
import sys
import tempfile
from collections import Counter

import lib
from lib import KINETO, check, trace_events, trace_span

KINDS = {"cpu_op": "operator", "user_annotation": "annotation", "cuda_runtime": "call", "cuda_driver": "call", "kernel": "gpu", "gpu_memcpy": "gpu",
         "gpu_memset": "gpu", "gpu_user_annotation": "gpu annotation"}
HIDDEN = ("aten::is_leaf", "aten::output_nr", "aten::_version", "profiler::_record_function_enter_new", "profiler::_record_function_enter",
          "profiler::_record_function_exit")


def name_of(event):
    return "ProfilerStep*" if event["name"].startswith("ProfilerStep#") else event["name"]


class Row:
    def __init__(self, event):
        self.kind, self.name, self.span = KINDS[event["cat"]], name_of(event), trace_span(event)
        self.thread, self.external = event["tid"], event.get("args", {}).get("External id")
        self.parent, self.children = None, []

    def key(self):
        return self.kind, self.name, self.span


def nested(rows):
    """Finds what is around each; then one that is the only child of its own name is taken for its parent, and left out."""
    for row in rows:
        around = [o for o in rows if o is not row and o.thread == row.thread and o.span[0] <= row.span[0] and o.span[1] >= row.span[1] and
                  (o.span != row.span or rows.index(o) < rows.index(row)) and o.kind != "call"]
        row.parent = min(around, key=lambda o: o.span[1] - o.span[0], default=None)
        if row.parent:
            row.parent.children.append(row)
    same = {id(r) for r in rows if r.parent and r.parent.name == r.name and len(r.parent.children) == 1}
    for row in rows:
        while row.parent and id(row.parent) in same:
            row.parent = row.parent.parent
    return [row for row in rows if id(row) not in same]


def real_trace(name):
    path = f"{KINETO}/{name}.json.gz"
    events = [e for e in trace_events(path) if e["ph"] == "X" and e.get("cat") in KINDS and e["name"] not in HIDDEN]
    got = lib.table("torch_events", path)
    origin = min(trace_span(e)[0] for e in events) - min(row["Start (ns)"] for row in got)
    span = lambda row: (row["Start (ns)"] + origin, row["Start (ns)"] + origin + row["Duration (ns)"])
    key = lambda row: (row["Kind"], row["Name"], span(row))
    got = [row for row in got if row["Kind"] != "memory"]
    everything = lib.table("torch_events", path)
    cpu = [Row(e) for e in events if not KINDS[e["cat"]].startswith("gpu")]
    owners = {row.external: row.name for row in cpu if row.kind in ("operator", "annotation") and row.external is not None}
    cpu = nested(cpu)
    gpu = [Row(e) for e in events if KINDS[e["cat"]].startswith("gpu")]
    expected = Counter(row.key() for row in cpu + gpu)
    check(f"{name}: events that are missing", [], list((expected - Counter(map(key, got))).items())[:3])
    check(f"{name}: events too many", [], list((Counter(map(key, got)) - expected).items())[:3])
    check(f"{name}: in order of time", True, [row["Start (ns)"] for row in everything] == sorted(row["Start (ns)"] for row in everything))
    above = lambda row, column: key(everything[row[column] - 1]) if row[column] != "" else None
    check(f"{name}: parents", Counter((row.key(), row.parent.key() if row.parent else None) for row in cpu if row.kind == "operator"),
          Counter((key(row), above(row, "Parent")) for row in got if row["Kind"] == "operator"))
    check(f"{name}: whose work it is", Counter((row.key(), owners.get(row.external)) for row in gpu if row.kind == "gpu"),
          Counter((key(row), (above(row, "Launched By") or (0, None))[1]) for row in got if row["Kind"] == "gpu"))
    launched = Counter()
    for row in gpu:
        if row.kind == "gpu":
            launched[owners.get(row.external)] += row.span[1] - row.span[0]
    ours = Counter()
    for row in got:
        ours[row["Name"]] += row["GPU Launched (ns)"] or 0
    check(f"{name}: time on the GPU", {k: v for k, v in launched.items() if k}, {k: v for k, v in ours.items() if v})


def made_trace():
    """One operator within another of the same name is one event, and what is within that one has the outer for its parent."""
    spans = [("outer", 0, 100), ("same", 10, 50), ("same", 15, 40), ("inner", 20, 30)]
    with open("made.json", "w") as out:
        json.dump({"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": n, "pid": 7, "tid": 8, "ts": s, "dur": d, "args": {}} for n, s, d in spans]}, out)
    check("made", [("outer", ""), ("same", 1), ("inner", 2)], [(row["Name"], row["Parent"]) for row in lib.table("torch_events", "made.json")])


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name in ("infer", "train"):
            real_trace(name)
        made_trace()
    return lib.status()


sys.exit(main())
