"""Traces as torch.profiler writes them (export --type chrome): a trace that went through a report comes out with the same events,
and imported again it makes the same report; nsys's captures and captures of our own become such traces; whatever bytes a report
holds, the trace is valid JSON."""

import gzip
import json
import os
import random
import re
import shutil
import sqlite3
import sys
import tempfile
from collections import Counter
from decimal import Decimal

import lib
from lib import HERE, KINETO, check, ns, trace_span

# Columns that hold ids of strings.
STRINGS = {"nameId", "argsId", "inputDimsId", "inputTypesId", "inputStridesId", "concreteInputsId", "callStackId", "demangledName", "shortName",
           ("TACHO_TORCH_OP", "moduleId")}


def no_constant(name):
    raise ValueError(f"{name} is no JSON")


def strict(path):
    """The trace as a parser reads it that takes nothing but JSON in UTF-8; numbers with decimals as they stand there."""
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
        return json.loads(file.read().decode("utf-8", "strict"), strict=True, parse_constant=no_constant, parse_float=str)


def export(source, path, *options):
    lib.output("export", "-q", "-f", "true", "--type", "chrome", *options, "-o", path, source)
    return strict(path)


def database(source, name):
    """A report or trace as SQLite, and what its import said."""
    said = ""
    if not source.endswith(".tacho"):
        status, said, _ = lib.run("import", "-f", "true", "-o", f"{name}.tacho", source)
        check(f"status of the import of {source}: {said}", 0, status)
        source = f"{name}.tacho"
    lib.output("export", "-q", "-f", "true", "-o", f"{name}.sqlite", source)
    return sqlite3.connect(f"{name}.sqlite"), said


def table_rows(connection, table):
    """All rows with texts in place of the ids of strings, which an import gives out anew."""
    columns = [c[1] for c in connection.execute(f'PRAGMA table_info("{table}")')]
    parts = [f'(SELECT value FROM StringIds WHERE id = "{c}")' if (table, c) in STRINGS or c in STRINGS else f'"{c}"' for c in columns]
    return connection.execute(f'SELECT {", ".join(parts)} FROM "{table}" ORDER BY rowid').fetchall()


def tables(connection):
    return sorted(name for name, in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'"))


def same_report(what, first, second, without=()):
    check(f"{what}: tables", [t for t in tables(first) if t not in without], [t for t in tables(second) if t not in without])
    count = 0
    for table in set(tables(first)) & set(tables(second)) - {"StringIds", "META_DATA_EXPORT", *without}:
        theirs, ours = table_rows(first, table), table_rows(second, table)
        count += len(theirs)
        if theirs != ours:
            check(f"{what}: rows of {table}", len(theirs), len(ours))
            differing = next(((a, b) for a, b in zip(theirs, ours) if a != b), (None, None))
            check(f"{what}: a row of {table}", *differing)
    return count


def event_key(event):
    """An event to be compared: times to the nanosecond, and none where nothing happens; that a function has no parent is said or not."""
    event = {k: f"{Decimal(v):.3f}" if k in ("ts", "dur") else v for k, v in event.items() if not (k == "ts" and event["ph"] == "M")}
    if "args" in event:
        event["args"] = {k: v for k, v in event["args"].items() if v is not None}
    return json.dumps(event, sort_keys=True)


def real_trace(name):
    """Of a real trace every event is there again, with all its arguments; and a second import finds nothing changed."""
    path = f"{KINETO}/{name}.json.gz"
    theirs, ours = strict(path), export(path, "out.json")
    spare = lambda e: e["ph"] == "M" and e["pid"] in range(1, 16)  # names of GPUs on which nothing happened
    expected, got = Counter(event_key(e) for e in theirs["traceEvents"] if not spare(e)), Counter(map(event_key, ours["traceEvents"]))
    check(f"{name}: events that are missing", [], list((expected - got).items())[:3])
    check(f"{name}: events too many", [], list((got - expected).items())[:3])
    header = lambda trace: {k: v for k, v in trace.items() if k not in ("traceEvents", "tacho.originNanoseconds")}
    check(f"{name}: what it says of itself", header(theirs), header(ours))
    check(f"{name}: in this order", list(header(theirs)), list(header(ours)))
    first, _ = database(path, "first")
    second, said = database("out.json", "second")
    check(f"{name}: what the second import says", "", said)
    check(f"{name}: rows that are the same", True, same_report(name, first, second) > 500)
    lib.output("export", "-q", "-f", "true", "-t", "chrome", "--gzip", "-o", "out.json.gz", path)
    with open("out.json", "rb") as plain:
        check(f"{name}: packed", plain.read(), gzip.open("out.json.gz").read())


def made_trace():
    """What the two real traces do not have."""
    events = [
        '{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 7, "tid": 8, "ts": 1999999.999, "dur": 1, "args": {"External id": 1, "Call stack": "f;g", "Module Hierarchy": "m.n", "flops": 12}}',
        '{"ph": "X", "cat": "overhead", "name": "Buffer Flush", "pid": -1, "tid": 0, "ts": 3000000, "dur": 4.5}',
        '{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pinned -> Device)", "pid": 0, "tid": 7, "ts": 3000001, "dur": 3, "args": {"External id": 1, "device": 0, "context": 1, "stream": 7, "correlation": 9, "bytes": 64, "memory bandwidth (GB/s)": 0.021333333333333333}}',
        '{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy DtoD", "pid": 1, "tid": 9, "ts": 3000002, "dur": 0, "args": {"device": 1, "context": 2, "stream": 9, "correlation": 10, "bytes": 64}}',
        '{"ph": "X", "cat": "gpu_memset", "name": "Memset", "pid": 0, "tid": 7, "ts": 3000003, "dur": 1, "args": {"device": 0, "context": 1, "stream": 7, "correlation": 11, "bytes": 4}}',
        '{"ph": "X", "cat": "cuda_driver", "name": "cuMemMap", "pid": 7, "tid": 8, "ts": 3000003, "dur": 1, "args": {"cbid": 5, "correlation": 12}}',
        '{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce<x>(a)", "pid": 0, "tid": 20, "ts": 3000004, "dur": 9, "args": {"External id": 1, "device": 0, "context": 1, "stream": 20, "correlation": 13, "registers per thread": 96, "shared memory": 7, "grid": [1, 2, 3], "block": [4, 5, 6], "graph node id": 4294967298, "graph id": 3, "Collective name": "allreduce", "Group size": 2, "Rank": 1, "channel": -1}}',
        '{"ph": "X", "cat": "cuda_sync", "name": "Stream Wait Event", "pid": 0, "tid": 7, "ts": 3000004, "dur": 2, "args": {"cuda_sync_kind": "Stream Wait Event", "wait_on_stream": 20, "stream": 7, "correlation": 14, "device": 0, "context": 1}}',
        '{"ph": "X", "cat": "gpu_user_annotation", "name": "nccl:all_reduce", "pid": 0, "tid": 20, "ts": 3000003.999, "dur": 9.002, "args": {"External id": 1, "Ev Idx": 4}}',
        '{"ph": "i", "s": "t", "name": "[OutOfMemory]", "cat": "cpu_instant_event", "pid": 7, "tid": 8, "ts": 3000005, "args": {"Device Type": 1, "Bytes": -5}}',
        '{"ph": "i", "s": "t", "name": "a mark", "cat": "cpu_instant_event", "pid": 7, "tid": 8, "ts": 3000006, "args": {"External id": 4, "Ev Idx": 5, "why": [1, {"a": "b"}]}}',
        '{"ph": "s", "id": 13, "pid": 7, "tid": 8, "ts": 3000003, "cat": "ac2g", "name": "ac2g"}',
        '{"ph": "t", "id": 13, "pid": 0, "tid": 20, "ts": 3000003.5, "cat": "ac2g", "name": "ac2g"}',
        '{"name": "process_name", "ph": "M", "ts": 0, "pid": 7, "tid": 0, "args": {"name": "py\\u00e9 \\"x\\""}}',
        '{"name": "thread_name", "ph": "M", "ts": 0, "pid": 7, "tid": 9, "args": {"name": "unused"}}',
    ]
    header = ('{"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8, "pg_config": [{"pg_name": "0", "ranks": [0, 1]}, {}, '
              '{"pg_name": "1"}], "nccl_version": "2.21"}, "with.dots": {"a.b": [1, {"c": 2}], "q\\"\\u00e9": null}, "x[0]": 5, "mixed": [{"a": 1}, 2], "empty": [], '
              '"displayTimeUnit": "ms", "baseTimeNanoseconds": 1712000000000000000, "traceEvents": [')
    with open("made.json", "w") as out:
        out.write(header + ",\n".join(events) + '], "traceName": "made"}')
    first, _ = database("made.json", "first")
    trace = export("made.json", "out.json")
    second, said = database("out.json", "second")
    check("made: what the second import says", "", said)
    same_report("made", first, second)
    expected, got = strict("made.json"), trace
    without = lambda e: e["ph"] != "M" and not e["name"].startswith("Memset")
    check("made: events", sorted(event_key(e) for e in expected["traceEvents"] if without(e) and e["name"] != "Buffer Flush"),
          sorted(event_key(e) for e in got["traceEvents"] if without(e) and e["name"] != "Buffer Flush"))
    check("made: the job", expected["distributedInfo"], got["distributedInfo"])
    with open("out.json") as file:
        check("HolisticTraceAnalysis finds the rank", "3", re.search(r'"rank":\s+(\d+)', file.read()).group(1))


TABLES_OF_CUDA = {
    "CUPTI_ACTIVITY_KIND_KERNEL": "start, end, (SELECT value FROM StringIds WHERE id = demangledName), deviceId, contextId, streamId, correlationId, "
                                  "registersPerThread, gridX, gridY, gridZ, blockX, blockY, blockZ, staticSharedMemory + dynamicSharedMemory, globalPid",
    "CUPTI_ACTIVITY_KIND_MEMCPY": "start, end, deviceId, streamId, correlationId, bytes, copyKind, srcKind, dstKind, globalPid",
    "CUPTI_ACTIVITY_KIND_MEMSET": "start, end, deviceId, streamId, correlationId, bytes, memKind, globalPid",
}


def all_of(connection, table, columns):
    return connection.execute(f"SELECT {columns} FROM {table} ORDER BY rowid").fetchall() if table in tables(connection) else []


TEXT = "(SELECT value FROM StringIds WHERE id = nameId)"


def nsys_capture(name):
    """A capture of nsys as a trace: kernels, copies, calls and ranges with the same names and times; each kernel's arrow begins at
    its call, and its operator is the range around that call. The trace, and how much work has an operator."""
    lib.unpack(f"{HERE}/nsys/{name}.sqlite.gz", f"{name}.sqlite")
    trace = export(f"{name}.sqlite", "out.json")
    original, (again, said) = sqlite3.connect(f"{name}.sqlite"), database("out.json", "again")
    skipped = "tacho import: 1 columns skipped: this version does not know them (table TACHO_IMPORT)\n" if "GPU_METRICS" in tables(original) else ""  # counters
    check(f"{name}: what import says", skipped, said)
    same_tables(name, original, again)
    same_ranges(name, original, again)
    events = trace["traceEvents"]
    calls = {e["args"]["correlation"]: e for e in reversed(events) if e.get("cat") in ("cuda_runtime", "cuda_driver")}  # the first of each
    launched = [e for e in events if e["ph"] == "X" and e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset") and e["args"].get("correlation") in calls]
    arrows_begin_at_calls(name, events, calls, len(launched))
    return trace, whose_work(name, events, calls, launched)


def same_tables(name, original, again):
    for table, columns in TABLES_OF_CUDA.items():
        check(f"{name}: {table}", all_of(original, table, columns), all_of(again, table, columns))
    version = re.compile(r"_v\d{4,}$")
    columns = f"start, end, globalTid, correlationId, {TEXT}"
    check(f"{name}: calls", [(*c[:4], version.sub("", c[4])) for c in all_of(original, "CUPTI_ACTIVITY_KIND_RUNTIME", columns)],
          all_of(again, "CUPTI_ACTIVITY_KIND_RUNTIME", columns))
    calls = Counter(all_of(original, "OSRT_API", f"start, end, globalTid, {TEXT}"))
    check(f"{name}: calls of the OS", calls,
          Counter(all_of(again, "TACHO_TORCH_OP", f"start, end, globalTid, CASE category WHEN 'os_runtime' THEN {TEXT} END")) & calls)


def same_ranges(name, original, again):
    ranges = [] if "NVTX_EVENTS" not in tables(original) else original.execute(
        "SELECT start, end, globalTid, coalesce(text, (SELECT value FROM StringIds WHERE id = textId)) FROM NVTX_EVENTS WHERE eventType IN (59, 60) ORDER BY rowid").fetchall()
    marks = re.compile(r"(, seq = \d+)?(, op_id = \d+)?(, sizes = .*)?$")
    check(f"{name}: ranges", sorted((s, e, t, marks.sub("", n, 1)) for s, e, t, n in ranges), sorted(
        again.execute(f"SELECT start, end, globalTid, {TEXT} FROM TACHO_TORCH_OP WHERE category IN ('cpu_op', 'user_annotation')").fetchall()))


def arrows_begin_at_calls(name, events, calls, launched_count):
    begins = {e["id"]: e for e in events if e["ph"] == "s" and e["cat"] == "ac2g"}
    ends = [e for e in events if e["ph"] == "f" and e["cat"] == "ac2g"]
    for end in ends:
        call, begin = calls[end["id"]], begins[end["id"]]
        check(f"{name}: where arrow {end['id']} begins", (call["pid"], call["tid"], call["ts"]), (begin["pid"], begin["tid"], begin["ts"]))
    check(f"{name}: arrows", launched_count, len(ends))


def whose_work(name, events, calls, launched):
    """Work is that of the innermost range around its call; annotations around it span it on its stream. How much has an owner."""
    numbered = [e for e in events if e["ph"] == "X" and e["cat"] in ("cpu_op", "user_annotation") and "External id" in e.get("args", ())]
    spans = [(e["tid"], *trace_span(e), e["args"]["External id"]) for e in numbered]
    annotations = {e["args"]["External id"] for e in numbered if e["cat"] == "user_annotation"}
    seen, owned = {}, 0  # what annotations span on streams
    for event in launched:
        call = calls[event["args"]["correlation"]]
        start, end = trace_span(call)
        around = [s for s in spans if s[0] == call["tid"] and s[1] <= start and s[2] >= end]
        expected = max(around, key=lambda s: (s[1], -s[2]))[3] if around else None
        owned += expected is not None
        begin, done = trace_span(event)
        for annotation in {s[3] for s in around} & annotations:
            first, last = seen.get((annotation, event["pid"], event["tid"]), (1 << 63, 0))
            seen[annotation, event["pid"], event["tid"]] = (min(first, begin), max(last, done))
        check(f"{name}: whose {event['args']['correlation']} is", expected, event["args"].get("External id"))
    check(f"{name}: annotations on streams", sorted((*where, first - 1, last + 1) for where, (first, last) in seen.items()),
          sorted((e["args"]["External id"], e["pid"], e["tid"], *trace_span(e)) for e in events if e.get("cat") == "gpu_user_annotation"))
    return owned


def nsys_captures():
    nsys_capture("mix")
    nsys_capture("wait_stream")
    trace, owned = nsys_capture("resnet18")
    events = trace["traceEvents"]
    check("resnet18: work that has an operator", True, owned > 800)
    check("resnet18: annotations on streams", 8, sum(e.get("cat") == "gpu_user_annotation" for e in events))
    conv = next(e for e in events if e["name"] == "aten::conv2d")
    check("resnet18: an operator of emit_nvtx", ("cpu_op", 720, 0), (conv["cat"], conv["args"]["Sequence number"], conv["args"]["Fwd thread id"]))
    at = {}
    for e in events:
        if e["ph"] == "X" and e["cat"] == "cpu_op" and "Sequence number" in e["args"]:
            at.setdefault((e["tid"], e["ts"]), []).append(e)
    arrows = {}
    for e in events:
        if e["ph"] in "sf" and e["cat"] == "fwdbwd":
            arrows.setdefault(e["id"], {})[e["ph"]] = at[e["tid"], e["ts"]]
    check("resnet18: every arrow has two ends", True, len(arrows) > 100 and all(set(a) == {"s", "f"} for a in arrows.values()))
    for ends in arrows.values():
        numbers = [{e["args"]["Sequence number"] for e in ends[end]} for end in "sf"]
        check("resnet18: a backward operator has its forward's number", True, bool(numbers[0] & numbers[1]))
        check("resnet18: it is a backward operator", True, any(re.search(r"Backward\d*$", e["name"]) for e in ends["f"]))
    gpu = trace["deviceProperties"][0]
    check("the GPU", ("NVIDIA H200", 132, 9, 2048, 65536), tuple(gpu[k] for k in ("name", "numSms", "computeMajor", "maxThreadsPerMultiprocessor", "regsPerMultiprocessor")))
    check("version", (1, "ms"), (trace["schemaVersion"], trace["displayTimeUnit"]))
    kernel = next(e for e in events if e.get("cat") == "kernel")
    check("what HolisticTraceAnalysis and TensorBoard read of a kernel", set(), {"device", "context", "stream", "correlation", "registers per thread",
          "shared memory", "blocks per SM", "warps per SM", "grid", "block", "est. achieved occupancy %", "External id"} - set(kernel["args"]))
    check("a kernel is under its device and stream", (kernel["args"]["device"], kernel["args"]["stream"]), (kernel["pid"], kernel["tid"]))
    named = {(e["name"], e["pid"], e["tid"]): e["args"] for e in events if e["ph"] == "M"}
    check("names", ("python3", "CPU", "GPU 0", 5000000, "stream 7 "), (named["process_name", 954, 0]["name"], named["process_labels", 954, 0]["labels"],
          named["process_labels", 0, 0]["labels"], named["process_sort_index", 0, 0]["sort_index"], named["thread_name", 0, 7]["name"]))
    check("names of threads", True, all(re.fullmatch(rf"thread {tid} \(.*\)", a["name"]) for (n, pid, tid), a in named.items() if n == "thread_name" and pid == 954))


def occupancy():
    """torch's own estimates, made again from what CUDA's tables hold alone. It gives up above 48 KB of shared memory, and says 0."""
    original = strict(f"{KINETO}/train.json.gz")
    connection, _ = database(f"{KINETO}/train.json.gz", "cuda")
    for table in tables(connection):
        if table.startswith("TACHO_TORCH"):
            connection.execute(f"DROP TABLE {table}")
    connection.commit()
    connection.close()
    expected = {e["args"]["correlation"]: e["args"] for e in original["traceEvents"] if e.get("cat") == "kernel"}
    kernels = [e for e in export("cuda.sqlite", "out.json")["traceEvents"] if e.get("cat") == "kernel"]
    check("kernels", len(expected), len(kernels))
    keys = ("blocks per SM", "warps per SM", "est. achieved occupancy %")
    for kernel in kernels:
        theirs, ours = expected[kernel["args"]["correlation"]], kernel["args"]
        known = len(keys) if theirs["shared memory"] <= 49152 else 2
        check(f"{kernel['name']}, {theirs}", [theirs[k] for k in keys[:known]], [ours.get(k) for k in keys[:known]])
        check(f"{kernel['name']}: it ran", True, 0 < ours["est. achieved occupancy %"] <= 100 or theirs[keys[2]] == ours[keys[2]])


def options():
    path = f"{KINETO}/infer.json.gz"
    whole = export(path, "out.json")["traceEvents"]
    spans = [e for e in whole if e["ph"] == "X"]
    origin = strict("out.json")["tacho.originNanoseconds"]
    steps = {e["name"]: e for e in spans if e["name"].startswith("ProfilerStep") and e["cat"] == "user_annotation"}
    first, last = ns(steps["ProfilerStep#3"]["ts"]), ns(steps["ProfilerStep#3"]["ts"]) + ns(steps["ProfilerStep#3"]["dur"])
    part = export(path, "part.json", f"--times={first - origin}/{last - origin}")["traceEvents"]
    expected = [e for e in spans if ns(e["ts"]) <= last and ns(e["ts"]) + ns(e["dur"]) >= first]
    check("--times", sorted(map(event_key, expected)), sorted(event_key(e) for e in part if e["ph"] == "X"))
    check("--tables", {"kernel"}, {e["cat"] for e in export(path, "part.json", "--tables=KIND_KERNEL")["traceEvents"] if e["ph"] == "X"})
    check("--tables keeps whose they are", True, all("External id" in e["args"] for e in strict("part.json")["traceEvents"] if e["ph"] == "X"))
    shifted = export(path, "part.json", "--ts-shift=1.5us")["traceEvents"]
    check("--ts-shift", [ns(e["ts"]) + 1500 for e in spans], [ns(e["ts"]) for e in shifted if e["ph"] == "X"])
    normal = export(path, "part.json", "--ts-normalize=true")
    check("--ts-normalize", (0, [ns(e["ts"]) + 1790857026000000000 for e in spans]), (normal["baseTimeNanoseconds"], [ns(e["ts"]) for e in normal["traceEvents"] if e["ph"] == "X"]))
    status, said, _ = lib.run("export", "--gzip", "-o", "none.sqlite", path)
    check("--gzip is not for all types", (2, True), (status, "--gzip" in said))
    given = export(path, "part.json", '--metadata={"hyper": {"lr": [0.5, "\\"}"]}, "schemaVersion": 9}')
    check("--metadata", ({"lr": ["0.5", '"}']}, 9, len(whole)), (given["hyper"], given["schemaVersion"], len(given["traceEvents"])))
    check("--metadata without members", len(whole), len(export(path, "part.json", "--metadata={ }")["traceEvents"]))
    for wrong in ("", "[1]", "{", '{"a"}', '{"a": 1} {"b": 2}', '{"a": 1}, "b": {}'):
        check(f"--metadata={wrong}", True, "JSON object" in lib.refusal("export", "-t", "chrome", "-f", "true", "-o", "none.json", f"--metadata={wrong}", path))
    shutil.copy(path, "named.json.gz")
    lib.output("export", "-q", "-t", "chrome", "--gzip", "named.json.gz")
    check("a name that TensorBoard finds", True, os.path.exists("named.pt.trace.json.gz"))


def hostile():
    """Reports whose texts are anything: what comes out is JSON, and stays the same from the second time on."""
    random.seed(11)
    nasty = ["a\"b", "back\\slash\\", "new\nline\t\x00\x01\x1f", "\ufffd\u2028", "NaN", "", "{", "[1, 2", "]]]", '"', "'", '{"a": NaN}', '[1e999, -Infinity]', "\\u12", "\\ud800",
             "<script>", "x" * 5000, '"a": 1, "b"', '"a": nan', "\u00e9\U0001f600", "-", "01", "1.", "tru"]
    connection, _ = database(f"{KINETO}/infer.json.gz", "hostile")
    columns = {"TACHO_TORCH_OP": ["category"], "TACHO_TORCH_METADATA": ["name", "value"], "TACHO_TORCH_MEMORY": ["event"], "TACHO_TORCH_FLOW": ["category", "phase"],
               "PROCESSES": ["name"], "TARGET_INFO_GPU": ["name"]}
    strings = [i for i, in connection.execute("SELECT id FROM StringIds")]
    for i in random.sample(strings, len(strings) // 2):
        raw = random.choice(nasty).encode("utf-8", "surrogatepass")
        if random.random() < 0.3:
            raw += bytes(random.randrange(256) for _ in range(6))
        connection.execute("UPDATE StringIds SET value = CAST(? AS TEXT) WHERE id = ?", (raw, i))
    for table, names in columns.items():
        for name in names:
            for row, in connection.execute(f"SELECT rowid FROM {table}").fetchall():
                value = connection.execute(f"SELECT {name} FROM {table} WHERE rowid = ?", (row,)).fetchone()[0]
                if random.random() < 0.3 and value != "tacho.originNanoseconds":
                    text = random.choice(nasty) + random.choice(["", ".x", "[3].y", "[0]", "[99999999999].z", "..", "traceEvents"])
                    connection.execute(f"UPDATE {table} SET {name} = ? WHERE rowid = ?", (text, row))
    connection.execute("UPDATE TACHO_TORCH_OP SET start = 9223372036854775807 WHERE rowid % 97 = 0")
    connection.execute("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET gridX = -9223372036854775808, streamId = -1 WHERE rowid % 7 = 0")
    connection.commit()
    connection.close()
    for what in ("as a trace", "as a capture"):
        first = export("hostile.sqlite", "out.json")
        check(f"{what}: events", True, len(first["traceEvents"]) > 3000)
        again, _ = database("out.json", "again")
        export("again.tacho", "third.json")
        last, _ = database("third.json", "third")
        same_report(f"{what}, the second time", again, last, without=("TACHO_IMPORT",))
        connection = sqlite3.connect("hostile.sqlite")
        for table in ("TACHO_TORCH_METADATA", "TACHO_TORCH_LINK", "TACHO_TORCH_FLOW"):
            connection.execute(f"DROP TABLE IF EXISTS {table}")
        connection.commit()
        connection.close()


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name in ("infer", "train", "stacks"):
            real_trace(name)
        made_trace()
        nsys_captures()
        occupancy()
        options()
        hostile()
    return lib.status()


sys.exit(main())
