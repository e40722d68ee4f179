"""`tacho ops` against what torch itself printed and counted for the same captures: every number of key_averages(), every line of
its tables, from the trace, from its import and from the import's SQLite export; and operators out of NVTX ranges."""

import csv
import gzip
import io
import json
import os
import sqlite3
import sys
import tempfile

import lib
from lib import HERE, KINETO, check, output


def key_averages(name, file):
    """Counts and memory exactly, times to 0.01 µs, rows in torch's order."""
    expected = json.load(open(f"{KINETO}/{name}.key_averages.json"))
    got = json.loads(output("ops", "--format", "json", "--sort-by", "none", file))
    check(f"{file}: keys", [row["key"] for row in expected], [row["key"] for row in got])
    kinds = {("ProfilerStep*" if event["name"].startswith("ProfilerStep#") else event["name"], int(event["cat"].startswith(("gpu_", "kernel"))),
              int(event["cat"].endswith("user_annotation"))) for event in lib.trace_events(f"{KINETO}/{name}.json.gz") if event["ph"] == "X"}
    check(f"{file}: where each is", set(), {(row["key"], row["on_device"], row["is_user_annotation"]) for row in got if row["key"] != "[memory]"} - kinds)
    for want, have in zip(expected, got):
        check(f"{file}: members of {want['key']}", sorted([*want, "on_device", "is_user_annotation"]), sorted(have))
        for member, value in want.items():
            if member.endswith("_us"):
                check(f"{file}: {want['key']}: {member} near {value}, not {have[member]}", True, abs(have[member] - value) <= 0.01)
            else:
                check(f"{file}: {want['key']}: {member}", value, have[member])
    return got


def tables(name, file):
    """Each table of *.tables.txt, with the options that made it."""
    sections = gzip.open(f"{KINETO}/{name}.tables.txt.gz", "rt").read().split("## ")[1:]
    check("sections", 8, len(sections))
    for section in sections:
        title, _, expected = section.partition("\n")
        options = ["--row-limit", "25", "--max-name-column-width", "80"]
        if title.startswith("key_averages"):
            options += ["--sort-by", title.split("sort_by=")[1]]
        elif title == "group_by_input_shape":
            options += ["--group-by-input-shape", "--sort-by", "cuda_time_total"]
        else:
            options = ["--group-by-stack", "5", "--sort-by", "self_cuda_time_total", "--row-limit", "5"]
        got = output("ops", *options, file) + "\n"  # the file has an empty line behind each table
        for number, (want, have) in enumerate(zip(expected.splitlines(), got.splitlines()), 1):
            check(f"{file}: {title}: line {number}", want, have)
        check(f"{file}: {title}: lines", expected.count("\n"), got.count("\n"))


def other_formats(file, rows):
    table = list(csv.DictReader(io.StringIO(output("ops", "-f", "csv", "--sort-by=none", file))))
    check("csv has the rows of json", [(row["key"], str(row["count"]), row["cpu_mem"]) for row in rows],
          [(row["key"], row["count"], int(row["cpu_mem"])) for row in table])
    check("a limit", rows[:3], json.loads(output("ops", "-f", "json", "--sort-by", "none", "--row-limit", "3", file)))
    top = json.loads(output("ops", "-f", "json", "--top-level-events-only", file))
    check("only a part is at the top", True, 0 < len(top) < len(rows) and "ProfilerStep*" in [row["key"] for row in top])
    check("sorted", sorted((row["count"] for row in rows), reverse=True),
          [row["count"] for row in json.loads(output("ops", "-f", "json", "--sort-by", "count", file))])
    own = [row["self_device_us"] for row in json.loads(output("ops", "-f", "json", file))]
    check("by self device time, unless told otherwise", (sorted(own, reverse=True), True), (own, own[0] > 0))
    expected = [(row["key"], row["count"], round(row["self_device_us"] * 1000), round(row["self_cpu_us"] * 1000))
                for row in json.loads(output("ops", "-f", "json", file)) if not row["on_device"]]
    got = [(row["Name"], row["Calls"], row["Self CUDA (ns)"], row["Self CPU (ns)"]) for row in lib.table("torch_op_sum", file)]
    check("torch_op_sum has the same operators", expected, got)
    shares = [row["Time (%)"] for row in lib.table("torch_op_sum", file)]
    kernels = sum(row["self_device_us"] for row in rows if row["on_device"] and not row["is_user_annotation"])
    check("and their shares", [f"{expected[0][2] / kernels / 10:.1f}"], [f"{shares[0]:.1f}"])
    check("torch says it too", "This report only display top-level ops statistics", output("ops", "--top-level-events-only", file).splitlines()[1])


def flops(file):
    """Of two forward passes of resnet18 with five images, against a count by hand from the network's layers."""
    rows = {row["key"]: row for row in json.loads(output("ops", "-f", "json", "--with-flops", file))}
    layers = [(3, 64, 7, 112, 1)]  # inputs, outputs, kernel, output size, how many
    layers += [(64, 64, 3, 56, 4), (64, 128, 3, 28, 1), (128, 128, 3, 28, 3), (64, 128, 1, 28, 1), (128, 256, 3, 14, 1), (256, 256, 3, 14, 3)]
    layers += [(128, 256, 1, 14, 1), (256, 512, 3, 7, 1), (512, 512, 3, 7, 3), (256, 512, 1, 7, 1)]
    expected = 2 * 5 * sum(2 * ins * outs * kernel * kernel * size * size * times for ins, outs, kernel, size, times in layers)
    check("FLOPs of aten::conv2d", expected, rows["aten::conv2d"]["flops"])
    check("FLOPs of aten::addmm", 2 * 2 * 5 * 512 * 1000, rows["aten::addmm"]["flops"])
    check("FLOPs of what torch does not count", 0, rows["aten::relu_"]["flops"])
    table = output("ops", "--with-flops", file).splitlines()
    check("the unit is that of the smallest", "Total MFLOPs", table[1].rstrip()[-12:])
    check("and the value stands under it", f"{expected / 1e6:.3f}", next(line for line in table if " aten::conv2d " in line).split()[-1])


def event(category, name, start, duration, thread=1, **args):
    return {"ph": "X", "cat": category, "name": name, "pid": 9, "tid": thread, "ts": start, "dur": duration, "args": args}


def made_trace():
    """Cases that the captures lack, with figures worked out by hand."""
    stack = "model.py(7): forward;torch/nn/modules/module.py(1): _call_impl;main.py(3): <module>"
    events = [
        event("cpu_op", "aten::a", 0, 100, **{"External id": 1, "Sequence number": 5, "Fwd thread id": 0, "Call stack": stack}),
        event("cpu_op", "aten::a", 10, 80, **{"External id": 2}),     # the only child of the same name: they are one
        event("cpu_op", "aten::is_leaf", 20, 5, **{"External id": 3}),  # never shown
        event("cpu_op", "aten::b", 30, 20, **{"External id": 4}),
        event("cuda_runtime", "cudaLaunchKernel", 35, 5, **{"External id": 4, "correlation": 70}),
        event("kernel", "k", 200, 40, 7, **{"External id": 4, "correlation": 70, "device": 0, "stream": 7}),
        event("cuda_runtime", "aten::is_leaf", 500, 1, **{"correlation": 71}),  # a call of that name is
        event("cpu_op", "AddBackward0", 300, 50, 2, **{"External id": 5, "Sequence number": 5, "Fwd thread id": 1}),
        event("cpu_op", "aten::b", 310, 10, 2, **{"External id": 6, "Call stack": "elsewhere.py(1): f"}),
        {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 9, "tid": 1, "ts": 40,
         "args": {"Device Type": 0, "Device Id": -1, "Addr": 1, "Bytes": 512}},
        {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 9, "tid": 1, "ts": 400,
         "args": {"Device Type": 1, "Device Id": 0, "Addr": 2, "Bytes": -64}},
    ]
    with open("made.json", "w") as out:
        json.dump({"schemaVersion": 1, "traceEvents": events}, out)
    rows = {row["key"]: row for row in json.loads(output("ops", "-f", "json", "made.json"))}
    check("made: keys", ["AddBackward0", "[memory]", "aten::a", "aten::b", "aten::is_leaf", "cudaLaunchKernel", "k"], sorted(rows))
    a, b = rows["aten::a"], rows["aten::b"]
    check("collapsed: count, total, self", (1, 100, 80), (a["count"], a["cpu_total_us"], a["self_cpu_us"]))
    check("device time goes up", (40, 0), (a["device_total_us"], a["self_device_us"]))
    check("and is the caller's own", (2, 40, 40), (b["count"], b["device_total_us"], b["self_device_us"]))
    check("memory", (512, 0, 512), (a["cpu_mem"], a["self_cpu_mem"], b["self_cpu_mem"] + rows["cudaLaunchKernel"]["cpu_mem"]))
    check("memory outside of all", -64, rows["[memory]"]["self_device_mem"])
    stacks = {(row["key"], row["stack"]) for row in json.loads(output("ops", "-f", "json", "--group-by-stack", "1", "made.json"))}
    first = stack.split(";")[0]
    check("backward has the stack of forward", True, ("AddBackward0", first) in stacks and ("aten::b", first) in stacks)
    check("what was called elsewhere is another row", True, ("aten::b", "") in stacks)
    check("no column for shapes without any", False, "Input Shapes" in output("ops", "--group-by-input-shape", "made.json"))
    for options, told in ((["--group-by-input-shape"], "without shapes"), (["--with-flops"], "without shapes"), (["--group-by-stack", "2"], "")):
        _, said, _ = lib.run("ops", *options, "made.json")
        check(f"what {options} needs", (1 if told else 0, True), (said.count("\n"), told in said))
    lines = output("ops", "--group-by-stack", "2", "made.json").splitlines()
    check("a column for it", True, "Source Location" in lines[1])
    at = lines[0].rstrip().rindex(" ") + 1
    row = next(i for i, line in enumerate(lines) if line.lstrip().startswith("aten::a "))
    check("frames one below the other", stack.split(";")[:2] + [""], [line[at:].rstrip() for line in lines[row:row + 3]])


def python_functions():
    """Self time is without Python functions where torch lists them (a trace of 2.15 that it printed itself), and with them in older traces."""
    trace = f"{KINETO}/listed.json.gz"
    for section in gzip.open(f"{KINETO}/listed.tables.txt.gz", "rt").read().split("## ")[1:]:
        title, _, expected = section.partition("\n")
        options = ["--group-by-stack", "3"] if title == "stack" else []
        got = output("ops", "--sort-by", "self_cpu_time_total", "--row-limit", "-1", *options, trace)
        check(f"listed: {title}", expected.splitlines(), got.splitlines())
    for args, self_time in (({"CallFrom": "main.py:3"}, 60), ({}, 100)):
        events = [event("user_annotation", "a", 0, 100), event("python_function", "main.py(3): f", 10, 40, **args)]
        with open("python.json", "w") as out:
            json.dump({"traceEvents": events}, out)
        check(f"Python functions with {args}", [("a", self_time)],
              [(row["key"], row["self_cpu_us"]) for row in json.loads(output("ops", "-f", "json", "--sort-by", "none", "python.json"))])
        own = [row["self_cpu_us"] for row in json.loads(output("ops", "-f", "json", "python.json"))]
        check("without a GPU by self CPU time", sorted(own, reverse=True), own)


def made_flops():
    """The operators that the captures lack, counted by hand: 2·batch·m·n·k, elements, and a convolution in groups."""
    conv = {"Input Dims": [[1, 4, 5, 5], [6, 2, 3, 3], [], [], [], [], []], "Concrete Inputs": ["", "", "", "[1, 1]", "[1, 1]", "[1, 1]", "2"]}
    cases = {"aten::bmm": ({"Input Dims": [[4, 2, 3], [4, 3, 5]]}, 240), "aten::baddbmm": ({"Input Dims": [[4, 2, 5], [4, 2, 3], [4, 3, 5]]}, 240),
             "aten::mm": ({"Input Dims": [[2, 3], [3, 5]]}, 60), "aten::mul": ({"Input Dims": [[2, 3], []]}, 6), "aten::add": ({"Input Dims": [[7]]}, 7),
             "aten::conv2d": (conv, 2 * 25 * 9 * 4 * 6 // 2), "aten::div": ({"Input Dims": [[2, 3]]}, 0), "aten::addmm": ({}, 0)}
    events = [event("cpu_op", name, 10 * i, 5, **args) for i, (name, (args, _)) in enumerate(cases.items())]
    with open("flops.json", "w") as out:
        json.dump({"with_flops": 1, "traceEvents": events}, out)
    got = {row["key"]: row["flops"] for row in json.loads(output("ops", "-f", "json", "flops.json"))}
    check("FLOPs by hand", {name: flops for name, (_, flops) in cases.items()}, got)


def made_nvtx():
    """Names as old and new versions of torch write them, in a file that nsys could have made."""
    database = sqlite3.connect("made.sqlite")
    database.execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)")
    database.executemany("INSERT INTO StringIds VALUES (?, ?)", [(1, "cudaLaunchKernel_v7000"), (2, "k"), (3, "mine")])
    database.execute("CREATE TABLE NVTX_EVENTS (start, end, eventType, text, globalTid, textId, domainId)")
    thread = 1 << 48 | 5 << 24 | 5
    ranges = [(0, 1000, "aten::conv2d, seq = 0"), (100, 900, "aten::empty"), (2000, 4000, "train"), (2100, 3900, "AddmmBackward0, seq = 789, op_id = 375"),
              (2200, 3000, "aten::mm, op_id = 376, sizes = [[2, 3], [3, 4]], input_op_ids = [(1,0), (2,0)]"),
              (3100, 3200, "aten::mm, op_id = 377, sizes = [[2, 3], [3, 8]]"), (3300, 3400, "aten::is_leaf, op_id = 378")]
    database.executemany("INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, ?, ?, NULL, 0)", [(*r, thread) for r in ranges])
    database.execute("INSERT INTO NVTX_EVENTS VALUES (0, NULL, 75, NULL, ?, 3, 1)", (thread,))
    database.execute("INSERT INTO NVTX_EVENTS VALUES (50, 60, 59, 'of another domain', ?, NULL, 1)", (thread,))
    database.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, eventClass, globalTid, correlationId, nameId, returnValue)")
    database.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 0, ?, ?, 1, 0)", [(2300, 2400, thread, 1), (5000, 5100, thread, 2)])
    database.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, correlationId, globalPid, demangledName, shortName)")
    database.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 1, 7, ?, ?, 2, 2)", [(6000, 6500, 1, 1 << 48 | 5 << 24), (7000, 7250, 2, 1 << 48 | 5 << 24)])
    database.commit()
    database.close()
    rows = json.loads(output("ops", "-f", "json", "--sort-by", "none", "--group-by-input-shape", "made.sqlite"))
    got = [(row["key"], row["input_shapes"], row["count"], row["cpu_total_us"], row["self_cpu_us"], row["device_total_us"], row["self_device_us"]) for row in rows]
    expected = [("aten::conv2d", "[]", 1, 1, 0.2, 0, 0), ("aten::empty", "[]", 1, 0.8, 0.8, 0, 0), ("train", "[]", 1, 2, 0.2, 0.5, 0),
                ("AddmmBackward0", "[]", 1, 1.8, 0.9, 0.5, 0), ("aten::mm", "[[2, 3], [3, 4]]", 1, 0.8, 0.7, 0.5, 0.5),
                ("cudaLaunchKernel", "[]", 2, 0.2, 0.2, 0, 0), ("aten::mm", "[[2, 3], [3, 8]]", 1, 0.1, 0.1, 0, 0), ("k", "[]", 2, 0, 0, 0.75, 0.75)]
    check("operators out of ranges", expected, got)


def made_kernels():
    """Kernels of our own captures: torch demangles as c++filt does, demangledName is nsys's way. A report without torch's names has the latter."""
    mangled, theirs, torchs = "_ZN12_GLOBAL__N_16kernelILi10EEEvPf", "void <unnamed>::kernel<(int)10>(T1 *)", "void (anonymous namespace)::kernel<10>(float*)"
    for has_names in (False, True):
        made = lib.Made("kernels.sqlite")
        thread = 1 << 48 | 5 << 24 | 5
        made.add("NVTX_EVENTS", start=0, end=1000, eventType=59, text="aten::relu, seq = 1", globalTid=thread, domainId=0)
        made.add("CUPTI_ACTIVITY_KIND_RUNTIME", start=100, end=200, eventClass=0, globalTid=thread, correlationId=1, nameId=made.text("cudaLaunchKernel_v7000"))
        made.add("CUPTI_ACTIVITY_KIND_KERNEL", start=2000, end=2500, deviceId=0, contextId=1, streamId=7, correlationId=1, globalPid=1 << 48 | 5 << 24,
                 demangledName=made.text(theirs), shortName=made.text("kernel"), mangledName=made.text(mangled), gridX=1, gridY=1, gridZ=1, blockX=1, blockY=1, blockZ=1)
        if has_names:
            made.add("TACHO_TORCH_KERNEL", mangledName=made.text(mangled), nameId=made.text(torchs))
        made.write()
        name = torchs if has_names else theirs
        check(f"ops, {has_names}", [name], [row["key"] for row in json.loads(output("ops", "-f", "json", "kernels.sqlite")) if "kernel<" in row["key"]])
        output("export", "-q", "-f", "true", "-t", "chrome", "-o", "kernels.json", "kernels.sqlite")
        check(f"the trace, {has_names}", [name], [event["name"] for event in lib.trace_events("kernels.json") if event.get("cat") == "kernel"])
        check(f"stats stay nsys's, {has_names}", [theirs], [row["Name"] for row in lib.table("cuda_gpu_kern_sum", "kernels.sqlite")])


def nvtx():
    """An emit_nvtx capture by nsys: names without their numbers; device time against a join in SQL."""
    with gzip.open(f"{HERE}/nsys/resnet18.sqlite.gz") as packed, open("resnet18.sqlite", "wb") as out:
        out.write(packed.read())
    rows = json.loads(output("ops", "-f", "json", "resnet18.sqlite"))
    ops = {row["key"]: row for row in rows}
    database = sqlite3.connect("resnet18.sqlite")
    ranges = database.execute("SELECT start, end, coalesce(text, value) FROM NVTX_EVENTS LEFT JOIN StringIds ON id = textId "
                              "WHERE eventType = 59 AND coalesce(domainId, 0) = 0").fetchall()
    names = [name.split(", seq = ")[0].split(", op_id = ")[0].split(", sizes = ")[0] for _, _, name in ranges]
    check("the capture has operators", True, "aten::conv2d" in names)
    for name in ("aten::conv2d", "aten::cudnn_convolution", "aten::batch_norm", "aten::relu_"):
        durations = [end - start for (start, end, _), got in zip(ranges, names) if got == name]
        check(f"{name}: count and time", (len(durations), round(sum(durations) / 1000, 3)),
              (ops[name]["count"], round(ops[name]["cpu_total_us"], 3)) if name in ops else None)
    kernels = database.execute(" UNION ALL ".join(
        f"SELECT r.start, r.end, r.globalTid, k.end - k.start FROM CUPTI_ACTIVITY_KIND_{kind} k "
        "JOIN CUPTI_ACTIVITY_KIND_RUNTIME r USING (correlationId)" for kind in ("KERNEL", "MEMCPY", "MEMSET")
        if database.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (f"CUPTI_ACTIVITY_KIND_{kind}",)).fetchone())).fetchall()
    convolutions = database.execute("SELECT start, end, globalTid FROM NVTX_EVENTS LEFT JOIN StringIds ON id = textId "
                                    "WHERE eventType = 59 AND coalesce(text, value) LIKE 'aten::conv2d%'").fetchall()
    inside = sum(took for start, end, thread, took in kernels
                 if any(s <= start and end <= e and t == thread for s, e, t in convolutions))
    check("device time of aten::conv2d", round(inside / 1000, 3), round(ops["aten::conv2d"]["device_total_us"], 3))
    check("calls are shown without their versions", True, "cudaLaunchKernel" in ops)
    database.execute("DELETE FROM NVTX_EVENTS")
    database.commit()
    check("no operators is no table", "", output("ops", "resnet18.sqlite", status=1))


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name in ("infer", "train"):
            trace = f"{KINETO}/{name}.json.gz"
            rows = key_averages(name, trace)
            tables(name, trace)
            output("import", "-q", "-o", f"{name}.tacho", trace)
            check(f"{name}: the import gives the same", rows, json.loads(output("ops", "-f", "json", "--sort-by", "none", f"{name}.tacho")))
            output("export", "-q", "-o", f"{name}.sqlite", f"{name}.tacho")
            check(f"{name}: its SQLite export too", rows, json.loads(output("ops", "-f", "json", "--sort-by", "none", f"{name}.sqlite")))
            other_formats(f"{name}.tacho", rows)
        flops("infer.tacho")
        made_trace()
        python_functions()
        made_flops()
        made_nvtx()
        made_kernels()
        nvtx()
        for arguments, words in ((["--filter-pid", "99", "infer.tacho"], "selected part of the report"),
                                 (["resnet18.sqlite"], "tacho profile --pytorch=auto")):
            check(f"why there is no table: {arguments}", True, words in lib.refusal("ops", *arguments))
        output("ops", status=2)
        output("ops", "--sort-by", "cpu_tim", "infer.tacho", status=2)
        output("ops", "--row-limit", "x", "infer.tacho", status=2)
    return lib.status()


sys.exit(main())
