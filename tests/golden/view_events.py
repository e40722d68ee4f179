"""What the timeline answers about events, compared with the captures themselves, read here by SQLite and as JSON: links, ranges around
an event, Python lines, searches, tables, flame graphs, advice and SQL."""

import bisect
import gzip
import json
import os
import re
import sqlite3
import sys
import tempfile

from lib import HERE, KINETO, Timeline, check, output, status, table, trace_events, trace_span, unpack

WORK = ("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET")
FURTHEST = 1 << 53


class Capture:
    """A capture of nsys, and the timeline of it."""

    def __init__(self, timeline, file):
        self.timeline, self.path, self.database = timeline, file, sqlite3.connect(file)
        self.tables = {name for name, in self.database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        self.origin = int(timeline.ask("about")["origin"])
        self.rows = timeline.ask("rows")["rows"]

    def query(self, sql, *values):
        return self.database.execute(sql, values).fetchall()

    def since(self, time):
        return time - self.origin

    def event(self, event):
        return self.timeline.ask("event", row=event["row"], event=event["event"])

    def find_event(self, text, start):
        """The one with this text that begins then."""
        found = self.timeline.ask("next", text=text, mode="exact", case=1, at=self.since(start) - 1)
        check(f"there is '{text}' at {start}", (shown(text), self.since(start)), found and (found["name"], found["from"]))
        return found

    def ranges(self):
        return self.query("SELECT start, end, coalesce(text, value), globalTid FROM NVTX_EVENTS LEFT JOIN StringIds ON id = textId "
                          "WHERE eventType IN (59, 60, 70, 71) AND end IS NOT NULL ORDER BY start, end DESC")

    def work_in(self, thread, start, end):
        """Begin and end of all work that calls of a thread in this time launched."""
        found = []
        for table in WORK:
            if table in self.tables:
                found += self.query(f"SELECT w.start, w.end FROM {table} w JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.correlationId = w.correlationId "
                                    "WHERE r.globalTid = ? AND r.start BETWEEN ? AND ?", thread, start, end)
        return sorted({(self.since(a), self.since(b)) for a, b in found})


def shown(text):
    """The name on the timeline: what emit_nvtx appends to the name of an operator are fields of the event."""
    return re.sub(r", (seq|op_id|sizes|input_op_ids) = .*", "", text, flags=re.S)


def links(details, kind):
    return [link for link in details["links"] if link["kind"] == kind]


def spans(events):
    return sorted((event["from"], event["to"]) for event in events)


def sequence_of(text):
    return int(text.split(", seq = ")[1].split(",")[0]) if ", seq = " in text else None


# ---- operators ----

def check_operator(capture, ranges, place, backward_of):
    start, end, text, thread = ranges[place]
    details = capture.event(capture.find_event(text, start))
    types = {row["id"]: row["type"] for row in capture.rows}
    around = [(capture.since(a), capture.since(b), shown(other)) for a, b, other, owner in ranges if owner == thread and a <= start and b >= end and (a, b, other) != (start, end, text)]
    check(f"ranges around {text}", around, [(one["from"], one["to"], one["name"]) for one in details["around"] if types[one["row"]] in ("nvtx", "torch")])
    check(f"row of {text}", "torch" if shown(text) != text else "nvtx", types[details["row"]])
    fields = {field["name"]: field["value"] for field in details["fields"]}
    numbers = dict(re.findall(r", (seq|op_id) = (\d+)", text))
    check(f"fields of {text}", numbers, {name: fields.get(name) for name in numbers})
    check(f"work of {text}", capture.work_in(thread, start, end), spans(links(details, "kernels")))
    check(f"backward of {text}", [shown(other) for other in backward_of.get(place, [])], [link["name"] for link in links(details, "backward")])
    return details


def find_pairs(ranges):
    """Which backward operators belong to a forward one, by place, as torch ties them: see pairs.c."""
    by_number, pairs = {}, {}
    for place, (_, _, text, _) in enumerate(ranges):
        if sequence_of(text) is not None:
            by_number.setdefault(sequence_of(text), []).append(place)
    for places in by_number.values():
        for backward in places:
            if "Backward" not in ranges[backward][2].split(",")[0]:
                continue
            before = [place for place in places if "Backward" not in ranges[place][2].split(",")[0] and ranges[place][0] < ranges[backward][0]]
            last = before[-1] if before else None
            for place in before:
                if ranges[place][3] == ranges[last][3] and ranges[place][1] >= ranges[last][1]:
                    pairs.setdefault(place, []).append(ranges[backward][2])
    return pairs


def operators(capture):
    ranges = capture.ranges()
    pairs = find_pairs(ranges)
    wanted = [place for place, (_, _, text, _) in enumerate(ranges) if text.startswith("aten::conv2d, seq = 720,")]
    check("there is one conv2d with seq 720", 1, len(wanted))
    details = check_operator(capture, ranges, wanted[0], pairs)
    check("it has kernels and one backward operator", (4, ["ConvolutionBackward0"]),
          (len(links(details, "kernels")), [link["name"] for link in links(details, "backward")]))
    back = capture.event(links(details, "backward")[0])
    check("that has the way back", ["aten::conv2d", "aten::convolution"],
          [link["name"] for link in links(back, "forward")])
    check("and ranges of its own", True, any("evaluate_function: ConvolutionBackward0" in one["name"] for one in back["around"]))
    check("and kernels", True, len(links(back, "kernels")) > 0)
    numbered = [place for place, (_, _, text, _) in enumerate(ranges) if sequence_of(text) is not None]
    check("operators to compare", True, len(numbered) > 200)
    for place in numbered[::9]:
        check_operator(capture, ranges, place, pairs)


def kernels(capture):
    """Each leads to its call, and to the innermost operator around that."""
    ranges = [one for one in capture.ranges() if one[2].startswith("aten::") or ", op_id = " in one[2]]
    rows = capture.query("SELECT k.start, k.end, s.value, r.start, r.end, r.globalTid, c.value FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON s.id = demangledName "
                         "JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.correlationId = k.correlationId JOIN StringIds c ON c.id = r.nameId ORDER BY k.start")
    check("kernels to compare", True, len(rows) > 700)
    for start, end, name, call_start, call_end, thread, _ in rows[::13]:
        details = capture.event(capture.find_event(name, start))
        check(f"call of the kernel at {start}", [(capture.since(call_start), capture.since(call_end))], spans(links(details, "launched-by")))
        around = [one for one in ranges if one[3] == thread and one[0] <= call_start and one[1] >= call_end]
        innermost = max(around, key=lambda one: (one[0], -one[1]))[2] if around else None
        check(f"operator of the kernel at {start}", innermost and shown(innermost), details["operator"] and details["operator"]["name"])
        call = capture.event(links(details, "launched-by")[0])
        check("the call leads back", [(capture.since(start), capture.since(end))], spans(links(call, "launches")))
        fields = {field["name"]: field["value"] for field in details["fields"]}
        truth, = capture.query("SELECT registersPerThread, gridX, correlationId FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE start = ?", start)
        check("fields", truth, (fields["registersPerThread"], fields["gridX"], fields["correlationId"]))


def brief(capture):
    """What a tooltip asks for: the operator around the launch, as the ranges say, and all that the full answer has but links."""
    ranges = [one for one in capture.ranges() if one[2].startswith("aten::") or ", op_id = " in one[2]]
    rows = capture.query("SELECT k.start, s.value, r.start, r.end, r.globalTid FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON s.id = demangledName "
                         "JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.correlationId = k.correlationId ORDER BY k.start")
    for start, name, call_start, call_end, thread in rows[::37]:
        found = capture.find_event(name, start)
        answer = capture.timeline.ask("event", row=found["row"], event=found["event"], brief=1)
        around = [one for one in ranges if one[3] == thread and one[0] <= call_start and one[1] >= call_end]
        innermost = max(around, key=lambda one: (one[0], -one[1]))[2] if around else None
        check(f"operator of the kernel at {start}, in brief", innermost and shown(innermost), answer["operator"] and answer["operator"]["name"])
        check(f"ranges around the kernel at {start}, in brief", [shown(innermost)] if around else [], [event["name"] for event in answer["around"]])
        full = capture.event(found)
        for event in (full, answer):
            event.pop("links"), event.pop("around")
        check(f"the kernel at {start}, in full and in brief", full, answer)
    idle = next(row for row in capture.rows if row["type"] == "idle")
    gap = {"row": idle["id"], "event": 0}
    check("a gap in brief, before its causes are known", None, capture.timeline.ask("event", brief=1, **gap)["gap"])
    capture.timeline.ask("idle")
    check("a gap in brief, later", capture.event(gap)["gap"], capture.timeline.ask("event", brief=1, **gap)["gap"])


def unrecorded(capture):
    """Without a stack stands the option that records it: one that `tacho profile` has. With a stack stands none."""
    options = {option for option in re.findall(r"^ +(?:-\w, )?(--[a-z-]+)", output("help", "profile"), flags=re.M)}
    is_python = any(row["type"] == "process" and row["label"].startswith("python") for row in capture.rows)
    stacks = {"cuda-api": "SELECT start FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE callchainId IN (SELECT id FROM CUDA_CALLCHAINS)",
              "osrt": "SELECT start FROM OSRT_API WHERE callchainId IN (SELECT id FROM OSRT_CALLCHAINS)"}
    expected = {"cuda-api": "--cudabacktrace=all:0", "osrt": "--osrt-backtrace-threshold=0"}
    seen = set()
    for kind, sql in stacks.items():
        there = {capture.since(start) for start, in capture.query(sql)} if sql.split()[-1].strip(")") in capture.tables else set()
        for row in [row for row in capture.rows if row["type"] == kind]:
            for number in range(0, row["events"], max(1, row["events"] // 40)):
                event = capture.event({"row": row["id"], "event": number})
                option = (event["unrecorded"] or {}).get("option", "")
                check(f"{kind} {number} of row {row['id']}: stack, and what would record it", (event["from"] in there, not (event["from"] in there)),
                      (event["stack"] is not None, expected[kind] in option.split()))
                check(f"{option}: of a program in Python", is_python and option != "", "--python-backtrace=cuda" in option)
                seen.add(option)
    for option in seen - {""}:
        check(f"options of tacho profile: {option}", [], [word for word in option.split() if word.split("=")[0] not in options])
    check("options that were seen", True, len(seen) > 2)


def waits(capture):
    """Over the number of the recording: from the call that recorded to those that wait, and back."""
    rows = capture.query("SELECT a.start, b.start FROM CUPTI_ACTIVITY_KIND_CUDA_EVENT e JOIN CUPTI_ACTIVITY_KIND_SYNCHRONIZATION s USING (eventSyncId) "
                         "JOIN CUPTI_ACTIVITY_KIND_RUNTIME a ON a.correlationId = e.correlationId JOIN CUPTI_ACTIVITY_KIND_RUNTIME b ON b.correlationId = s.correlationId "
                         "WHERE eventSyncId IS NOT NULL AND eventSyncId != 4294967295")
    check("there are waits", True, len(rows) > 0)
    at = {}
    for row in capture.rows:
        if row["type"] == "cuda-api":
            for number in range(row["events"]):
                details = capture.timeline.ask("event", row=row["id"], event=number)
                at[details["from"]] = details
    for side, other, kind in ((0, 1, "awaited-by"), (1, 0, "waits-for")):
        for start in {row[side] for row in rows}:
            expected = sorted({capture.since(row[other]) for row in rows if row[side] == start})
            check(f"{kind} of the call at {start}", expected, sorted(link["from"] for link in links(at[capture.since(start)], kind)))


# ---- names ----

def counted(capture, found, kind):
    return sum(one["count"] for one in found["rows"] if capture.rows[one["row"]]["type"] == kind)


def search(capture):
    texts = [shown(text) for _, _, text, _ in capture.ranges()]
    patient = (("^((a?b?)*){60}c$", "^[ab]*c$"), ("(\\ba?){100}c", r"\ba?c"), ("((a|b)*a(a|b){30}){30}c", "[ab]{930}c"), ("a" + "+" * 25, "a"),
               ("(" * 20 + "a" + ")+" * 20, "a"), ("[[]{9}{999}", r"\[{999}"))  # patterns that some engines lose themselves in, and what they mean
    for mode, text, truth in (*(("regex", pattern, re.compile(meaning, re.IGNORECASE).search) for pattern, meaning in patient),
                              ("substring", "CONV", lambda name: "conv" in name.lower()), ("regex", "^aten::(add|mul)_?$", lambda name: name in
                              ("aten::add", "aten::mul", "aten::add_", "aten::mul_")),
                              ("exact", "iteration10", lambda name: name == "iteration10"), ("substring", "no such thing", lambda name: False)):
        found = capture.timeline.ask("find", text=text, mode=mode)
        check(f"{mode} {text}", sum(bool(truth(name)) for name in texts), counted(capture, found, "nvtx") + counted(capture, found, "torch"))
        check(f"{mode} {text}: the total", found["total"], sum(one["count"] for one in found["rows"]))
    check("case counts when asked", 0, capture.timeline.ask("find", text="CONV2D", case=1)["total"])
    lanes = [row["id"] for row in capture.rows if row["type"] in ("nvtx", "torch")]
    for back in (0, 1):
        for row in lanes:
            starts, last = [], None
            while True:
                step = {"after": f"{last['row']},{last['event']}"} if last else {"at": FURTHEST if back else -FURTHEST}
                last = capture.timeline.ask("next", text="aten::conv", back=back, row=row, **step)
                if not last:
                    break
                starts.append(last["from"])
            tid = capture.rows[row]["tid"]
            truth = sorted((capture.since(a) for a, _, text, thread in capture.ranges() if "aten::conv" in text and thread & 0xffffff == tid and capture.rows[row]["type"] == "torch"), reverse=bool(back))
            check(f"all instances in row {row}, {'back' if back else 'forth'}", truth, starts)


def tables(capture):
    """The kernels that touch a stretch of time, and nothing else."""
    first, last = capture.query("SELECT min(start), max(end) FROM CUPTI_ACTIVITY_KIND_KERNEL")[0]
    start, end = first + (last - first) // 3, first + (last - first) // 2
    truth = sorted(capture.query("SELECT value, count(*), sum(end - start) FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON id = demangledName "
                                 "WHERE start <= ? AND end >= ? GROUP BY 1", end, start))
    got = capture.timeline.ask("table", report="cuda_gpu_kern_sum", **{"from": capture.since(start), "to": capture.since(end)})
    columns = [column["name"] for column in got["columns"]]
    name, count, total = got["name_column"], columns.index("Instances"), columns.index("Total Time")
    check("sums of a span", truth, sorted((row[name], row[count], row[total]) for row in got["rows"]))
    check("as many as there are", len(truth), got["total"])
    for row in got["rows"][:5]:
        check("its names are found", row[name], capture.timeline.ask("next", text=row[name], mode="exact")["name"])
    check("no more rows than wanted", (1, len(truth)), (lambda few: (len(few["rows"]), few["total"]))(
        capture.timeline.ask("table", report="cuda_gpu_kern_sum", limit=1, **{"from": capture.since(start), "to": capture.since(end)})))
    trace = capture.timeline.ask("table", report="cuda_gpu_trace", limit=1)
    check("moments are since the origin", ("time", capture.since(min(first, *[a for a, in capture.query("SELECT start FROM CUPTI_ACTIVITY_KIND_MEMSET")]))),
          (trace["columns"][0]["unit"], trace["rows"][0][0]))


def flame(capture):
    """The tree of the ranges of a thread, against sums over the stacks of ranges; operators are in a row of their own."""
    for kind in ("nvtx", "torch"):
        flame_of(capture, next(row for row in capture.rows if row["type"] == kind))


def flame_of(capture, row):
    own = [(a, b, shown(text)) for a, b, text, thread in capture.ranges() if thread & 0xffffff == row["tid"]
           and (shown(text) != text) == (row["type"] == "torch")]
    truth, stack = {}, []
    for start, end, text in own:
        while stack and (start >= stack[-1][0] or end > stack[-1][0]):
            stack.pop()
        stack.append((end, (stack[-1][1] if stack else ()) + (text,)))
        truth[stack[-1][1]] = truth.get(stack[-1][1], 0) + end - start
    got = capture.timeline.ask("flame", source="events", row=row["id"])
    paths = [()]
    for parent, frame, _, total in got["nodes"][1:]:
        paths.append(paths[parent] + (got["frames"][frame]["name"],))
    check("paths and their times", truth, {path: node[3] for path, node in list(zip(paths, got["nodes"]))[1:]})
    check("events", len(own), got["samples"])
    check("what is in nothing else adds up to the whole", got["nodes"][0][3], sum(node[3] for node in got["nodes"][1:] if node[0] == 0))


def samples(capture):
    """Of a stretch of time and a thread as many as the table has."""
    times = [time for time, in capture.query("SELECT start FROM COMPOSITE_EVENTS ORDER BY start")]
    for low, high in ((0, len(times) - 1), (len(times) // 4, len(times) // 2)):
        count, = capture.query("SELECT count(*) FROM COMPOSITE_EVENTS WHERE start BETWEEN ? AND ? AND threadState IS NOT 7", times[low], times[high])[0]
        got = capture.timeline.ask("flame", source="cpu", **{"from": capture.since(times[low]), "to": capture.since(times[high])})
        check("samples of a span", (count, count), (got["samples"], got["nodes"][0][3]))
    tid, count = capture.query("SELECT globalTid & 0xffffff, count(*) FROM COMPOSITE_EVENTS WHERE threadState IS NOT 7 GROUP BY 1 ORDER BY 2 DESC LIMIT 1")[0]
    check("samples of a thread", count, capture.timeline.ask("flame", source="cpu", thread=tid)["samples"])


def advice(capture):
    parts = [capture.timeline.ask("advice", step=1)]
    while not parts[-1]["complete"]:
        parts.append(capture.timeline.ask("advice", step=1))
    got = capture.timeline.ask("advice")
    check("rule by rule it comes to the same", (True, got), (len(parts) > 2, parts[-1]))
    work = sorted(span for table in WORK if table in capture.tables for span in capture.query(f"SELECT start, end FROM {table}"))
    gaps, until = [], work[0][1]
    for start, end in work[1:]:
        if start > until:
            gaps.append((start - until, capture.since(until), capture.since(start)))
        until = max(until, end)
    shown = [(one["to"] - one["from"], one["from"], one["to"]) for one in got["advice"] if one["rule"] == "gpu_idle"]
    check("the largest gaps", sorted((gap for gap in gaps if gap[0] >= 50000), reverse=True)[:50], sorted(shown, reverse=True))
    calls = capture.query("SELECT r.start, r.end FROM CUPTI_ACTIVITY_KIND_RUNTIME r JOIN StringIds ON id = nameId WHERE value LIKE 'cudaDeviceSynchronize%' "
                          "OR value LIKE 'cudaStreamSynchronize%'")
    marks = [one for one in got["advice"] if one["rule"] == "cuda_api_sync"]
    check("calls that wait", sorted((capture.since(a), capture.since(b)) for a, b in calls), spans(marks))
    check("a list of events has no impact: what waits cost, the adviser tells", {0}, {one["impact"] for one in marks})
    check("as the commands say it, in their order", list(dict.fromkeys(row["Rule"] for row in table("advice_sum", capture.path))),
          [rule["name"] for rule in got["rules"] if rule["impact"]])
    for one in (one for one in got["advice"] if one["rule"] == "gpu_idle"):
        check("a gap has a cause", True, re.search(r"(began|\d s|ms|µs)\. [A-Za-z].*: [\d.]+ (ms|µs|ns|s)", one["text"]) is not None)
    for one in marks[:20]:
        details = capture.event(one)
        check("a mark is at its event", (one["from"], one["to"]), (details["from"], details["to"]))
        check("and says what to do", True, "Synchronize later" in one["text"])


# ---- SQL and what is refused ----

def statements(capture):
    got = capture.timeline.ask("sql", "SELECT start, end - start, demangledName, 1.5, NULL FROM CUPTI_ACTIVITY_KIND_KERNEL ORDER BY start LIMIT 20")
    truth = capture.query("SELECT start, end - start, demangledName FROM CUPTI_ACTIVITY_KIND_KERNEL ORDER BY start LIMIT 20")
    check("kinds", ["time", "duration", "int", "real", "text"], got["kinds"])
    check("times are since the origin", [[capture.since(a), b] for a, b, _ in truth], [row[:2] for row in got["rows"]])
    check("a whole time is no fraction of one", ["real"], capture.timeline.ask("sql", "SELECT start / 1e9 AS start FROM CUPTI_ACTIVITY_KIND_KERNEL LIMIT 1")["kinds"])
    truth = [[capture.since(time)] * 3 + [capture.since(end), end - time] for time, end in capture.query("SELECT start, end FROM CUPTI_ACTIVITY_KIND_KERNEL ORDER BY start LIMIT 3")]
    got = capture.timeline.ask("sql", "WITH k AS (SELECT start AS began, end FROM CUPTI_ACTIVITY_KIND_KERNEL) SELECT a.began AS called, a.began AS \"x\", "
                                      "(SELECT a.began) AS inner, a.end AS until, a.end - a.began AS start FROM k AS a ORDER BY 1 LIMIT 3")
    check("a time under another name, and what is none under its name", (["time", "time", "time", "time", "int"], truth), (got["kinds"], got["rows"]))
    many = capture.timeline.ask("sql", "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n")
    check("rows are cut", (10000, True, [10000]), (len(many["rows"]), many["cut"], many["rows"][-1]))
    check("large numbers are exact", [["9007199254740993", "9223372036854775807"]], capture.timeline.ask("sql", "SELECT 9007199254740993, 9223372036854775807")["rows"])


def refusals(capture):
    row = next(row["id"] for row in capture.rows if row["events"])
    refused = [
        ("event", {}), ("event", {"row": row}), ("event", {"row": row, "event": -1}), ("event", {"row": row, "event": 1 << 31}),
        ("event", {"row": 1 << 70, "event": 0}), ("event", {"row": len(capture.rows), "event": 0}), ("event", {"row": "x", "event": 0}),
        ("find", {}), ("find", {"text": "[", "mode": "regex"}), ("find", {"text": "(a)\\1", "mode": "regex"}), ("find", {"text": "a{1000}{1000}", "mode": "regex"}),
        ("find", {"text": "(?=a)", "mode": "regex"}), ("find", {"text": "(" * 200 + "a" + ")" * 200, "mode": "regex"}), ("find", {"text": "[[]{99}{999}", "mode": "regex"}),
        ("find", {"text": "x" * 2000, "mode": "regex"}), ("find", {"text": "x", "mode": "soundslike"}),
        ("find", {"text": "x", "row": 1 << 40}), ("next", {"text": "x", "after": "1"}), ("next", {"text": "x", "after": "99999,0"}),
        ("next", {"text": "x", "at": 1 << 60}), ("table", {}), ("table", {"report": "nonesuch"}), ("table", {"report": "nvtx_sum", "from": 9, "to": 3}),
        ("table", {"report": "nvtx_sum", "limit": -1}), ("table", {"report": "mpi_event_sum"}), ("flame", {"source": "gas"}), ("flame", {"source": "events"}),
        ("flame", {"source": "cpu", "thread": -4}), ("sql", {}),
    ]
    for request, arguments in refused:
        code, said = capture.timeline.answer(request, **arguments)
        check(f"{request} {arguments} is refused with a sentence: {said}", True, 400 <= code < 500 and len(said["error"]) > 10)
    for statement in ("DROP TABLE NVTX_EVENTS", "SELECT", "-- nothing", "ATTACH 'x' AS y", "SELECT * FROM nonesuch"):
        code, said = capture.timeline.answer("sql", statement)
        check(f"{statement} is refused: {said}", True, 400 <= code < 500 and len(said["error"]) > 10)
    check("it goes on", True, capture.timeline.ask("find", text="(a|b)*c.{2,30}x?", mode="regex")["total"] >= 0)


# ---- PyTorch's own trace ----

def python_lines(timeline, file):
    """Operators have the Python functions around them, innermost first, and what runs backward those of its forward operator."""
    events = trace_events(file)
    with gzip.open(file) as packed:
        origin = int(timeline.ask("about")["utc"]) - json.load(packed)["baseTimeNanoseconds"]
    functions, forwards = {}, {}
    for event in events:
        if event.get("cat") == "python_function":
            functions.setdefault(event["tid"], []).append((*trace_span(event), event["name"]))
    for event in sorted((event for event in events if event.get("cat") == "cpu_op"), key=lambda event: event["ts"]):
        if "Sequence number" in event["args"] and not event["args"].get("Fwd thread id"):
            forwards.setdefault(event["args"]["Sequence number"], []).append(event)
    for calls in functions.values():
        calls.sort()
    starts = {tid: [call[0] for call in calls] for tid, calls in functions.items()}

    def innermost(event):
        start, end = trace_span(event)
        calls = functions.get(event["tid"], [])
        for place in range(bisect.bisect_right(starts.get(event["tid"], []), start) - 1, -1, -1):
            if calls[place][1] >= end:
                return calls[place][2].split("): ")[-1]
        return None

    compared = 0
    for event in [event for event in events if event.get("cat") == "cpu_op"][::40]:
        start, end = trace_span(event)
        found = timeline.ask("next", text=event["name"], mode="exact", case=1, at=start - origin - 1)
        details = timeline.ask("event", row=found["row"], event=found["event"])
        if (details["from"], details["to"]) != (start - origin, end - origin):
            continue
        truth = innermost(event)
        if event["args"].get("Fwd thread id") and not event["name"].startswith("autograd::engine"):
            truth = innermost([one for one in forwards[event["args"]["Sequence number"]] if one["ts"] < event["ts"]][-1])
            check(f"{event['name']} says whose line it is", True, "of the forward operator" in details["python"]["from"])
        elif not truth:
            continue
        check(f"line of {event['name']} at {start}", truth, details["python"]["frames"][0]["name"])
        compared += 1
    check("operators with lines", True, compared > 20)


def clocks(capture):
    """The page counts from the moment that the tables of the command line count from: the same digits everywhere."""
    start, = capture.query("SELECT min(start) FROM CUPTI_ACTIVITY_KIND_KERNEL")[0]
    printed = table("cuda_gpu_trace", capture.path)[0]["Start (ns)"]
    shown = capture.timeline.ask("table", report="cuda_gpu_trace", limit=1)
    column = [column["name"] for column in shown["columns"]].index("Start")
    asked = capture.timeline.ask("sql", "SELECT min(start) AS first FROM CUPTI_ACTIVITY_KIND_KERNEL")["rows"][0][0]
    stream = next(row for row in capture.rows if row["type"] == "stream")
    event = capture.event({"row": stream["id"], "event": 0})
    field = next(field["value"] for field in event["fields"] if field["name"] == "start")
    check("the first work: in the file, printed, in the table, in SQL, on the timeline, in its fields", [start] * 6,
          [start, printed, shown["rows"][0][column], asked, event["from"], field])
    about = capture.timeline.ask("about")
    check("origin, and the first event", ("0", True), (about["origin"], about["from"] == min(row["from"] for row in capture.rows if row["kind"] != "group" and row["type"] != "other")))


def losses():
    """A capture of another tool does not say whether events were lost; half of its file is not all of it."""
    with Timeline("mix.sqlite") as timeline:
        about = timeline.ask("about")
        check("recorder and warnings of a capture of nsys", ("Nsight Systems", []), (about["recorder"], about["warnings"]))
    with open("mix.sqlite", "rb") as file, open("half.sqlite", "wb") as half:
        half.write(file.read(os.path.getsize("mix.sqlite") // 2))
    with Timeline("half.sqlite") as timeline:
        warnings = timeline.ask("about")["warnings"]
        check("half a file: warnings", ["The file was imported only in part: N damaged tables. Events are missing, and figures may be wrong."],
              [re.sub(r"\d+", "N", warning) for warning in warnings])


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        parts = {"resnet18": (brief, operators, kernels, unrecorded, search, tables, flame, advice, statements, refusals, clocks), "wait_stream": (waits,), "mix": (samples, unrecorded)}
        for name, checks in parts.items():
            unpack(os.path.join(HERE, "nsys", f"{name}.sqlite.gz"), f"{name}.sqlite")
            with Timeline(f"{name}.sqlite") as timeline:
                capture = Capture(timeline, f"{name}.sqlite")
                for part in checks:
                    part(capture)
        losses()
        with Timeline(os.path.join(KINETO, "train.json.gz")) as timeline:
            python_lines(timeline, os.path.join(KINETO, "train.json.gz"))
        os.chdir("/")
    return status()


if __name__ == "__main__":
    sys.exit(main())
