"""Imports of torch.profiler's traces: every event of real ones is found again, exactly; plain, gzip and zstd are the same; what is
malformed is taken as it is meant or left out and counted, and nothing crashes. KINETO_MUTATIONS=N asks for more mutated files."""

import gzip
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from decimal import Decimal

import lib
from lib import KINETO, check, run, take_over

MUTATIONS = int(os.environ.get("KINETO_MUTATIONS", "60"))


def rows(database, table, columns):
    if not database.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table.split()[0],)).fetchone():
        return []
    return database.execute(f"SELECT {columns} FROM {table}").fetchall()


def notes(database):
    return sorted(rows(database, "TACHO_IMPORT", "columnName, reason, count"), key=str)


def text(column):
    return f"(SELECT value FROM StringIds WHERE id = {column})"


def in_ns(number):
    return int(Decimal(number) * 1000)


def as_json(value):
    return None if value is None else json.dumps(value)


def real_trace(name):
    """All that the trace says, read by another parser and with decimals instead of doubles."""
    trace = json.loads(gzip.open(f"{KINETO}/{name}.json.gz", "rt").read(), parse_float=str)
    database = take_over(f"{KINETO}/{name}.json.gz")
    origin = int(rows(database, "TACHO_TORCH_METADATA WHERE name = 'tacho.originNanoseconds'", "value")[0][0])
    events = trace["traceEvents"]
    of = lambda *categories: [e for e in events if e["ph"] == "X" and e["cat"] in categories]
    start = lambda e: in_ns(e["ts"]) - origin
    end = lambda e: start(e) + in_ns(e["dur"])
    arg = lambda e, key: e["args"].get(key)
    pid = next(e["pid"] for e in of("cpu_op"))
    tid = lambda e: 1 << 48 | pid << 24 | e["tid"]

    got = rows(database, "TACHO_TORCH_OP WHERE category IN ('cpu_op', 'user_annotation')",
               f"start, end, globalTid, {text('nameId')}, category, externalId, sequenceNumber, forwardThread, {text('inputDimsId')}, "
               f"{text('inputTypesId')}, {text('inputStridesId')}, {text('concreteInputsId')}, eventIndex, argsId")
    expected = [(start(e), end(e), tid(e), e["name"], e["cat"], arg(e, "External id"), arg(e, "Sequence number"), arg(e, "Fwd thread id"),
                 as_json(arg(e, "Input Dims")), as_json(arg(e, "Input type")), as_json(arg(e, "Input Strides")),
                 as_json(arg(e, "Concrete Inputs")), arg(e, "Ev Idx"), None) for e in of("cpu_op", "user_annotation")]
    check(f"{name}: operators", sorted(expected, key=str), sorted(got, key=str))
    check(f"{name}: there are some", True, len(expected) > 600)

    got = rows(database, "TACHO_TORCH_PYTHON", f"start, end, globalTid, {text('nameId')}, pythonId, parentId, moduleId, eventIndex")
    check(f"{name}: Python functions", sorted(((start(e), end(e), tid(e), e["name"], arg(e, "Python id"), arg(e, "Python parent id"),
          arg(e, "Python module id"), arg(e, "Ev Idx")) for e in of("python_function")), key=str), sorted(got, key=str))

    got = rows(database, "CUPTI_ACTIVITY_KIND_KERNEL", f"start, end, {text('demangledName')}, deviceId, contextId, streamId, correlationId, "
               "registersPerThread, dynamicSharedMemory, gridX, gridY, gridZ, blockX, blockY, blockZ, globalPid")
    check(f"{name}: kernels", sorted((start(e), end(e), e["name"], arg(e, "device"), arg(e, "context"), arg(e, "stream"), arg(e, "correlation"),
          arg(e, "registers per thread"), arg(e, "shared memory"), *arg(e, "grid"), *arg(e, "block"), 1 << 48 | pid << 24) for e in of("kernel")), sorted(got))
    check(f"{name}: short names", True, ("nchwToNhwcKernel",) in rows(database, "CUPTI_ACTIVITY_KIND_KERNEL", text("shortName")))
    check(f"{name}: fills", sorted((start(e), end(e), arg(e, "bytes"), arg(e, "correlation"), 2) for e in of("gpu_memset")),
          sorted(rows(database, "CUPTI_ACTIVITY_KIND_MEMSET", "start, end, bytes, correlationId, memKind")))
    check(f"{name}: calls", sorted((start(e), end(e), tid(e), e["name"], arg(e, "correlation")) for e in of("cuda_runtime", "cuda_driver")),
          sorted(rows(database, "CUPTI_ACTIVITY_KIND_RUNTIME", f"start, end, globalTid, {text('nameId')}, correlationId")))
    check(f"{name}: whose they are", Counter((arg(e, "correlation"), arg(e, "External id"), e["cat"]) for e in
          of("cuda_runtime", "cuda_driver", "kernel", "gpu_memset")), Counter(rows(database, "TACHO_TORCH_LINK", "correlationId, externalId, category")))
    occupancies = Counter(json.loads("{" + args + "}")["est. achieved occupancy %"] for args, in
                          rows(database, "TACHO_TORCH_LINK WHERE category = 'kernel'", text("argsId")))
    check(f"{name}: what has no column", Counter(arg(e, "est. achieved occupancy %") for e in of("kernel")), occupancies)

    memory = [e for e in events if e["name"] == "[memory]"]
    check(f"{name}: memory", sorted((start(e), tid(e), *(arg(e, k) for k in ("Device Type", "Device Id", "Addr", "Bytes", "Total Allocated",
          "Total Reserved", "Ev Idx"))) for e in memory), sorted(rows(database, "TACHO_TORCH_MEMORY",
          "timestamp, globalTid, deviceType, deviceId, address, bytes, totalAllocated, totalReserved, eventIndex")))
    flows = [e for e in events if e["ph"] in "sf"]
    check(f"{name}: flows", Counter((start(e), e["cat"], e["ph"], e["id"]) for e in flows),
          Counter(rows(database, "TACHO_TORCH_FLOW", "timestamp, category, phase, flowId")))
    check(f"{name}: flows to the GPU", sum(e["pid"] == 0 for e in flows), rows(database, "TACHO_TORCH_FLOW WHERE deviceId = 0", "count(*)")[0][0])
    check(f"{name}: steps", [2, 3], [n for n, in rows(database, "TACHO_TORCH_STEP ORDER BY start", "number")])
    metadata = dict(rows(database, "TACHO_TORCH_METADATA", "name, value"))
    check(f"{name}: metadata", ("1", "13000", json.dumps(trace["trace_id"]), "132"),
          tuple(metadata[key] for key in ("schemaVersion", "cuda_driver_version", "trace_id", "deviceProperties[0].numSms")))
    check(f"{name}: the GPU", [("NVIDIA H200", 132, 9, 0, 150109880320)],
          rows(database, "TARGET_INFO_GPU", "name, smCount, computeMajor, computeMinor, totalMemory"))
    check(f"{name}: the start", trace["baseTimeNanoseconds"] + origin, rows(database, "TARGET_INFO_SESSION_START_TIME", "utcEpochNs")[0][0])
    threads = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name" and e["pid"] == pid}
    check(f"{name}: names of threads", threads, {t & 0xFFFFFF: n for t, n in rows(database, "ThreadNames", f"globalTid, {text('nameId')}")})
    check(f"{name}: nothing was left out", [], notes(database))


def packed():
    plain = gzip.open(f"{KINETO}/infer.json.gz").read()
    with open("plain.json", "wb") as out:
        out.write(plain)
    with open("two.json.gz", "wb") as out:  # parts put together are one
        out.write(gzip.compress(plain[:300000]) + gzip.compress(plain[300000:]))
    kinds = ["plain.json", "two.json.gz"]
    if shutil.which("zstd"):
        subprocess.run(["zstd", "-q", "plain.json", "-o", "plain.json.zst"], check=True)
        kinds.append("plain.json.zst")
    expected = run("ops", "-f", "json", f"{KINETO}/infer.json.gz")[2]
    for kind in kinds:
        check(f"{kind} is the same", expected, run("ops", "-f", "json", kind)[2])
    check("other reports work on it", True, "nchwToNhwcKernel" in run("stats", "-r", "cuda_gpu_kern_sum:base", "plain.json")[2])


OP = '{"ph": "X", "cat": "cpu_op", "name": "%s", "pid": 7, "tid": 8, "ts": %s, "dur": 1, "args": {"External id": 1}}'


def made(content, **options):
    with open("made.json", "wb") as out:
        out.write(content if isinstance(content, bytes) else content.encode())
    database = take_over("made.json")
    return rows(database, "TACHO_TORCH_OP", f"{text('nameId')}, start"), notes(database), database


def malformed():
    wrap = lambda *events: '{"traceEvents": [' + ",\n".join(events) + "]}"
    a, b = OP % ("a", "1000000.001"), OP % ("b", "1000002")
    whole = [("a", 1), ("b", 2000)]
    check("as it should be", (whole, []), made(wrap(a, b))[:2])
    check("a list without a trace around it", whole, made(f"[{a}, {b}]")[0])
    check("a byte order mark", (whole, []), made(b"\xef\xbb\xbf" + wrap(a, b).encode())[:2])
    check("a byte order mark in a packed trace", (whole, []), made(gzip.compress(b"\xef\xbb\xbf" + wrap(a, b).encode()))[:2])
    check("a comma too many", (whole, []), made(wrap(a, b) .replace("]}", ",]}"))[:2])
    check("quotes inside", [('f("x", 1)', 1), ("b", 2000)], made(wrap(OP % ('f("x", 1)', "1000000.001"), b))[0])
    check("quotes inside are counted", [(None, "repaired", 2)], made(wrap(OP % ('f("x", 1)', "1000000.001"), b))[1])
    check("escapes", [('q"\\/\n\u00e9\U0001f600', 1)], made(wrap(OP % ('q\\"\\\\\\/\\n\\u00e9\\ud83d\\ude00', "1000000.001")))[0])
    check("control characters", [("x\ty\x01\nz", 1)], made(wrap(OP % ("x\ty\x01\nz", "1000000.001")))[0])
    nan = b.replace('"External id": 1', '"flops": NaN, "rate": -Infinity, "n": nan, "External id": 1')
    check("NaN and Infinity", (whole, []), made(wrap(a, nan))[:2])
    check("they are kept", '"flops": NaN, "rate": -Infinity, "n": nan', made(wrap(nan))[2].execute(f"SELECT {text('argsId')} FROM TACHO_TORCH_OP").fetchone()[0])
    for cut in (len(a) + 40, len(a) + len(b) - 5, len(a) + len(b) + 12):
        check(f"cut off at {cut}", (whole[:1], [(None, "truncated", 1)]), made(wrap(a, b)[:cut])[:2])
    check("cut off behind the last event", (whole, [(None, "truncated", 1)]), made(wrap(a, b)[:-2])[:2])
    broken = a.replace('"pid": 7', '"pid": 7: 8')
    check("an event that is none", (whole[1:], [(None, "damaged", 1)]), made(wrap(broken, b).replace("1000002", "1000002"))[:2])
    check("a string without an end", whole[1:], made(wrap('{"ph": "X", "name": "a', b))[0][-1:])
    check("no time", ([("b", 2000)], [("ts", "wrong-type", 1)]), made(wrap(OP % ("a", '"soon"'), b))[:2])
    check("zeros for times", ([("b", 2000)], [("ts", "wrong-type", 1)]), made(wrap((OP % ("a", "0")).replace('"dur": 1', '"dur": 0'), b))[:2])
    check("a negative duration", ([("a", 1)], [("dur", "wrong-type", 1)], [(0,)]),
          (lambda found, notes, database: (found, notes, database.execute("SELECT end - start FROM TACHO_TORCH_OP").fetchall()))(*made(wrap(a.replace('"dur": ', '"dur": -')))))
    check("a phase that we do not know", (whole, [("ph", "unknown-column", 1)]), made(wrap(a, '{"ph": "C", "name": "c", "ts": 1}', b))[:2])
    numbers = made(wrap(OP % ("a", "1000000"), OP % ("b", "1000000.5"), OP % ("c", "1000000.12"), OP % ("d", "1000000.1239"), OP % ("e", "1.0000001e6")))[0]
    check("decimals", [("a", 0), ("b", 500), ("c", 120), ("d", 123), ("e", 100)], numbers)
    old = wrap('{"ph": "X", "cat": "Operator", "name": "aten::old", "pid": 7, "tid": "8", "ts": 1000000, "dur": 5, "args": {"External id": 3, "Input dims": [[2]]}}',
               '{"ph": "X", "cat": "Kernel", "name": "void k<1>(int)", "pid": 0, "tid": "stream 7 ", "ts": 1000009, "dur": 4, "args": {"external id": 3, "device": 0, "stream": 7, "correlation": 5}}')
    database = made(old)[2]
    check("names of old versions", ([("cpu_op", "[[2]]")], [(7, "k")]), (rows(database, "TACHO_TORCH_OP", f"category, {text('inputDimsId')}"),
          rows(database, "CUPTI_ACTIVITY_KIND_KERNEL", f"streamId, {text('shortName')}")))
    copy = wrap(a, '{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pinned -> Device)", "pid": 0, "tid": 7, "ts": 1000001, "dur": 1, '
                '"args": {"device": 0, "context": 1, "stream": 7, "correlation": 9, "bytes": 64, "memory bandwidth (GB/s)": 0.064}}')
    check("copies", [(1, 1, 2, 64)], rows(made(copy)[2], "CUPTI_ACTIVITY_KIND_MEMCPY", "copyKind, srcKind, dstKind, bytes"))
    check("and their names again", True, "Memcpy HtoD (Pinned -> Device)" in run("ops", "made.json")[2])
    ranked = '{"distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8, "pg_config": [{"pg_name": "0"}]}, "traceEvents": [' + a + "]}"
    database = made(ranked)[2]
    check("a rank", [(3, 8)], rows(database, "TACHO_PROCESS", "rank, worldSize"))
    check("of what job", '"0"', dict(rows(database, "TACHO_TORCH_METADATA", "name, value"))["distributedInfo.pg_config[0].pg_name"])
    said = run("ops", "made.json")[1]
    check("all is well", "", said)
    made(wrap(a, b)[:-40])
    check("what is missing is said", True, "was imported only in part" in run("ops", "made.json")[1])


def no_traces():
    for name, content in {"empty.json": b"{}", "other.json": b'{"a": [1, 2]}', "list.json": b'["a"]', "open.json": b"{", "half.json.gz": gzip.compress(b"{")[:12],
                          "deep.json": b"[" * 100000, "text.json.gz": gzip.compress(b"hello")}.items():
        with open(name, "wb") as out:
            out.write(content)
        status, said, _ = run("import", "-o", "none.tacho", name)
        check(f"{name}: status, one sentence, no file", (1, 1, False), (status, said.count("\n"), os.path.exists("none.tacho")))


def mutations():
    plain = gzip.open(f"{KINETO}/infer.json.gz").read()
    random.seed(5)
    starts = [at for at in range(len(plain)) if plain.startswith(b'\n  {\n    "ph"', at)]
    for number in range(MUTATIONS):
        first = random.randrange(len(starts) - 60)
        content = bytearray(b'{"traceEvents": [' + plain[starts[first]:starts[first + 50]].rstrip().rstrip(b",") + b"]}")
        for _ in range(random.randrange(1, 12)):
            at = random.randrange(len(content))
            action = random.randrange(4)
            if action == 0:
                content[at] = random.choice(b'"{}[],:\\\x00\xff0e-')
            elif action == 1:
                del content[at:at + random.randrange(1, 40)]
            elif action == 2:
                content[at:at] = random.choice([b'"', b'"}', b"{", b"\\", b"\\u12", b"1e999", bytes(9)])
            else:
                content = content[:max(at, 60)]
        with open("mutated.json", "wb") as out:
            out.write(content)
        status, said, _ = run("ops", "mutated.json")
        if status not in (0, 1) or (status == 1 and said.count("\n") > 2):
            check(f"mutation {number}", "0 or 1 and a sentence", (status, said))
            print(f"  the file: {bytes(content)!r}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name in ("infer", "train"):
            real_trace(name)
        packed()
        malformed()
        no_traces()
        mutations()
    return lib.status()


sys.exit(main())
