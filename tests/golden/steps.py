"""Steps: what step_sum and step_stats say against sets of time worked out here from the raw events; --steps of stats, ops and analyze against
counts by hand; and the ways in which steps are found."""

import gzip
import json
import os
import sqlite3
import statistics
import sys
import tempfile

import lib
from lib import check, output, refusal, table

QUANTITIES = ("Time", "GPU Busy", "GPU Idle", "Kernel", "Copy", "Communication", "Overlap", "Data Loading", "Optimizer", "CPU Only")


# ---- sets of time ----

def union(spans):
    merged = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    return merged


def both(a, b):
    return [[max(x[0], y[0]), min(x[1], y[1])] for x in union(a) for y in union(b) if max(x[0], y[0]) < min(x[1], y[1])]


def length(spans):
    return sum(end - start for start, end in union(spans))


def expected_rows(events, steps):
    """steps: number to (start, end). All in one process, and ns."""
    calls = {event["args"]["correlation"]: lib.trace_span(event)[0] for event in events
             if event.get("cat") in ("cuda_runtime", "cuda_driver") and "correlation" in event.get("args", {})}
    work = [(event["cat"], event["name"], lib.trace_span(event), calls[event["args"]["correlation"]]) for event in events
            if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]

    def named(category, test):
        return [lib.trace_span(event) for event in events if event.get("cat") == category and test(event["name"])]

    operators = named("cpu_op", lambda name: True)
    loading = named("user_annotation", lambda name: name.startswith("enumerate(DataLoader)"))
    loading += named("python_function", lambda name: "torch/utils/data/dataloader.py" in name and name.endswith(": __next__"))
    optimizer = named("user_annotation", lambda name: name.startswith("Optimizer."))
    everything = [span for _, _, span, _ in work]
    rows = []
    for number, (start, end) in sorted(steps.items()):
        own = [(category, name, span) for category, name, span, launched in work if start <= launched < end]
        nccl = [span for category, name, span in own if "nccl" in name]
        kernels = [span for category, name, span in own if category == "kernel" and "nccl" not in name]
        time, busy = [(start, end)], both([(start, end)], everything)
        rows.append({"Step": number, "Time": end - start, "GPU Busy": length(span for _, _, span in own), "GPU Idle": end - start - length(busy),
                     "Kernel": length(kernels), "Copy": length(span for category, _, span in own if category != "kernel"),
                     "Communication": length(nccl), "Overlap": length(both(nccl, kernels)), "Data Loading": length(both(time, loading)),
                     "Optimizer": length(both(time, optimizer)),
                     "CPU Only": length(both(time, operators)) - length(both(both(time, operators), everything)),
                     "Kernels": len(nccl) + len(kernels)})
    return rows


def steps_in(events):
    return {int(event["name"].split("#")[1]): lib.trace_span(event) for event in events
            if event.get("cat") == "user_annotation" and event["name"].startswith("ProfilerStep#")}


def compare(name, file, events, steps):
    expected = expected_rows(events, steps)
    got = table("step_sum", file)
    check(f"{name}: rows", expected, [{key: row[key if key in ("Step", "Kernels") else f"{key} (ns)"] for key in expected[0]} for row in got])
    figures = {row["Quantity"]: row for row in table("step_stats", file)}
    check(f"{name}: quantities", list(QUANTITIES), list(figures))
    for quantity in QUANTITIES:
        values = [row[quantity] for row in expected]
        row = figures[quantity]
        check(f"{name}: {quantity}", (len(values), sum(values), min(values), max(values), statistics.median(values), round(statistics.mean(values), 1)),
              (row["Steps"], row["Total (ns)"], row["Min (ns)"], row["Max (ns)"], row["Med (ns)"], round(row["Avg (ns)"], 1)))
    return got


def captures():
    for name in ("train", "infer"):
        trace = f"{lib.KINETO}/{name}.json.gz"
        events = lib.trace_events(trace)
        rows = compare(name, trace, events, steps_in(events))
        check(f"{name}: names", ["ProfilerStep#2", "ProfilerStep#3"], [row["Name"] for row in rows])
    check("one step", [3], [row["Step"] for row in table("step_sum", trace, "--steps", "3")])


# ---- a made trace ----

def event(category, name, start, duration, thread=9, **args):
    return {"ph": "X", "cat": category, "name": name, "pid": 9, "tid": thread, "ts": start, "dur": duration, "args": args}


def launch(correlation, at, category, name, start, duration, stream=7, thread=9):
    return [event("cuda_runtime", "cudaLaunchKernel", at, 2, thread, correlation=correlation),
            {**event(category, name, start, duration, stream, correlation=correlation, device=0, stream=stream), "pid": 0}]


def made():
    """What the captures lack: work that runs in a later step than it was launched in, collectives, a DataLoader, two threads."""
    events = [event("user_annotation", f"ProfilerStep#{n}", 1000 * n, 900) for n in range(3)]
    events += [event("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 1000, 100),
               event("python_function", "/lib/torch/utils/data/dataloader.py(700): __next__", 990, 50),
               event("user_annotation", "Optimizer.step#SGD.step", 1700, 300), event("cpu_op", "aten::mm", 1100, 200),
               event("cpu_op", "aten::add", 1150, 300, 10)]
    events += launch(1, 1110, "kernel", "gemm", 1200, 400) + launch(2, 1120, "kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 1500, 200, 8)
    events += launch(3, 1850, "kernel", "late", 2100, 100) + launch(4, 1160, "gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 1150, 100, 9, 10)
    events += launch(5, 2950, "kernel", "of no step", 2960, 10)
    with open("made.json", "w") as out:
        json.dump({"schemaVersion": 1, "traceEvents": events}, out)
    rows = compare("made", "made.json", events, steps_in(events))
    check("by hand", (450 + 100 + 100, 350, 500 + 0, 100, 200, 100, 140 - 40, 200, 50),
          tuple(rows[1][f"{key} (ns)"] // 1000 for key in ("GPU Busy", "GPU Idle", "Kernel", "Copy", "Communication", "Overlap", "Data Loading", "Optimizer", "CPU Only")))
    names = [[row["Name"] for row in table("cuda_gpu_kern_sum", "made.json", "--steps", steps)] for steps in ("1", "0-2", "2")]
    check("kernels of the step that launched them", (["gemm", "late", "ncclDevKernel_AllReduce_Sum_f32_RING_LL"],) * 2 + ([],),
          tuple(sorted(found) for found in names))
    check("operators of a step", (["Optimizer.step#SGD.step", "ProfilerStep*", "aten::add", "aten::mm"], ["ProfilerStep*"]),
          tuple(sorted(row["key"] for row in json.loads(output("ops", "-f", "json", "--steps", steps, "made.json"))
                       if row["cpu_total_us"] and not row["key"].startswith(("cuda", "enumerate"))) for steps in ("1", "2")))
    check("calls of a rule", 1, output("analyze", "-r", "gpu_gaps", "--steps", "1", "made.json").count("Counting 1 of 3 steps by ProfilerStep."))
    check("by a pattern", [("0", 1)], [(str(row["Step"]), row["Kernels"]) for row in table("step_sum", "made.json", "--step-range", "^optimizer")])
    rows = table("step_sum", "made.json", "--step-op", "aten::mm")
    check("by an operator: to the end", [(0, 1100000, 1852000, "aten::mm")], [(row["Step"], row["Start (ns)"], row["Time (ns)"], row["Name"]) for row in rows])


# ---- NVTX ranges of two processes ----

def make_ranks(path, emitted=False):
    """Two ranks with the same steps, and a child of the second that has none."""
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)")
    database.executemany("INSERT INTO StringIds VALUES (?, ?)", [(1, "cudaLaunchKernel_v7000"), (2, "k"), (3, "read")])
    database.execute("CREATE TABLE NVTX_EVENTS (start, end, eventType, text, globalTid, textId, domainId)")
    database.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, eventClass, globalTid, correlationId, nameId, returnValue)")
    database.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, correlationId, globalPid, demangledName, shortName)")
    database.execute("CREATE TABLE OSRT_API (start, end, eventClass, globalTid, nameId, returnValue, nestingLevel, callchainId)")
    database.execute("CREATE TABLE TACHO_PROCESS (start, end, globalPid, parentGlobalPid, image, rank)")
    for rank, pid in enumerate((5, 6)):
        process, late = pid << 24, 400 * rank
        database.execute("INSERT INTO TACHO_PROCESS VALUES (0, NULL, ?, NULL, 0, ?)", (process, rank))
        for step in range(3):
            start = 1000 * step + late
            ranges = [(start, start + 1000, f"Step {step}"), (start + 10, start + 90, f"step_{step}"), (start + 200, start + 300, "aten::mm, seq = 1, op_id = 2"),
                      (start, start + 1000, f"ProfilerStep#{step + 7}, op_id = 3")][:4 if emitted else 3]
            database.executemany("INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, ?, ?, NULL, 0)", [(*r, process | pid) for r in ranges])
            database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 0, ?, ?, 1, 0)", (start + 210, start + 220, process | pid, step))
            database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 1, 7, ?, ?, 2, 2)", (start + 250, start + 550 + 10 * step, step, process))
    database.execute("INSERT INTO TACHO_PROCESS VALUES (0, NULL, ?, ?, 0, NULL)", (7 << 24, 6 << 24))
    database.executemany("INSERT INTO OSRT_API VALUES (?, ?, 27, ?, 3, 0, 0, 0)", [(500, 600, 7 << 24 | 7), (1500, 1600, 7 << 24 | 7)])
    database.commit()
    database.close()


def ranks():
    make_ranks("ranks.sqlite")
    rows = table("step_sum", "ranks.sqlite")
    got = [(row["PID"], row["Rank"], row["Step"], row["Start (ns)"], row["Time (ns)"], row["GPU Busy (ns)"], row["CPU Only (ns)"], row["Name"]) for row in rows]
    check("each rank has its steps, the outer ones", [(pid, rank, step, 1000 * step + 400 * rank, 1000, 300 + 10 * step, 50, f"Step {step}")
                                                      for rank, pid in enumerate((5, 6)) for step in range(3)], got)
    make_ranks("emitted.sqlite", emitted=True)
    check("names as emit_nvtx writes them; the step is no operator", [(7 + step, 50) for step in (0, 1, 2) * 2],
          [(row["Step"], row["CPU Only (ns)"]) for row in table("step_sum", "emitted.sqlite")])
    kernels = table("cuda_gpu_kern_sum", "ranks.sqlite", "--steps", "1-2")
    check("steps of both", [(4, 2 * 310 + 2 * 320)], [(row["Instances"], row["Total Time (ns)"]) for row in kernels])
    check("and of one", [(2, 310 + 320)], [(row["Instances"], row["Total Time (ns)"])
                                           for row in table("cuda_gpu_kern_sum", "ranks.sqlite", "--steps", "1,2", "--filter-pid", "6")])
    calls = [sum(row["Num Calls"] for row in table("osrt_sum", "ranks.sqlite", "--steps", steps)) for steps in ("0", "1", "0-", "-1")]
    check("a child is in its parent's steps", [1, 1, 2, 2], calls)


def exports():
    """An export of some steps has what the tables of these steps count, and all that says what it means."""
    train = f"{lib.KINETO}/train.json.gz"
    row = table("step_sum", train, "--steps", "3")[0]
    output("export", "-q", "-o", "one.sqlite", "--steps", "3", train)
    database = sqlite3.connect("one.sqlite")
    check("kernels of the step", row["Kernels"], next(database.execute("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL"))[0])
    check("the step itself", [3], [number for (number,) in database.execute("SELECT number FROM TACHO_TORCH_STEP")])
    check("and the process", 1, next(database.execute("SELECT count(*) FROM TACHO_PROCESS"))[0])
    output("export", "-q", "-t", "chrome", "-o", "one.json", "--steps", "3", train)
    events = json.load(open("one.json"))["traceEvents"]
    check("kernels in a timeline", row["Kernels"], sum(event.get("cat") == "kernel" for event in events))
    ends = [{(event["cat"], event["id"]) for event in events if event.get("ph") == end} for end in "sf"]
    check("every arrow arrives", set(), ends[0] - ends[1])
    check("and there are arrows of both kinds", {"ac2g", "fwdbwd"}, {category for category, _ in ends[0]})
    check("no such step", True, "no step 9" in refusal("export", "-q", "-o", "no.sqlite", "--steps", "9", train))


def refusals():
    train = f"{lib.KINETO}/train.json.gz"
    for steps, words in (("4", "numbered 2 to 3"), ("2,7-", "no step 7-"), ("x", "3,5,9-"), ("3-2", "3,5,9-"), ("", "3,5,9-"), ("-", "3,5,9-"), ("2,", "3,5,9-")):
        said = refusal("stats", "-q", "-r", "cuda_gpu_kern_sum", "--steps", steps, train)
        check(f"--steps '{steps}' says why: {said}", True, words in said)
    check("no such ranges", True, "matches 'nobody'" in refusal("stats", "-q", "-r", "step_sum", "--step-range", "nobody", train))
    check("no pattern", True, "invalid pattern" in refusal("stats", "-q", "-r", "step_sum", "--step-range", "[", train))
    check("no such operator", True, "'aten::nobody'" in refusal("ops", "--step-op", "aten::nobody", train))
    check("one way at a time", True, "cannot be used together" in refusal("ops", "--step-op", "a", "--step-range", "b", train))
    lib.unpack(f"{lib.HERE}/nsys/wait_stream.sqlite.gz", "once.sqlite")
    check("no steps", True, "has no steps" in refusal("stats", "-q", "-r", "osrt_sum", "--steps", "1", "once.sqlite"))
    check("what is no list is wrong all the same", True, "not 'garbage'" in refusal("ops", "--steps", "garbage", "once.sqlite"))
    check("and no table of them", True, "SKIPPED: once.sqlite: the report has no steps" in output("stats", "-r", "step_sum", "once.sqlite"))
    lib.unpack(f"{lib.HERE}/nsys/resnet18.sqlite.gz", "resnet18.sqlite")
    check("iteration10 is a step", [10, 11], [row["Step"] for row in table("step_sum", "resnet18.sqlite")])


# ---- steps that nobody named ----

def first_launches(file, rows):
    """When the first launch of each step was called."""
    starts = sorted(row["start"] for row in json.loads(output("sql", "-f", "json", file, "SELECT start FROM CUPTI_ACTIVITY_KIND_RUNTIME "
                                                              "WHERE correlationId IN (SELECT correlationId FROM CUPTI_ACTIVITY_KIND_KERNEL)")))
    return [next(start for start in starts if start >= row["Start (ns)"]) for row in rows]


def hide_names(path, categories=("user_annotation", "python_function")):
    """The same report without the names of its steps, and without what the program says about itself, or without the steps alone."""
    if path.endswith(".json.gz"):
        with gzip.open(path) as trace, open("hidden.json", "w") as out:
            events = [event for event in json.load(trace)["traceEvents"] if event.get("cat") not in categories
                      and not str(event.get("name")).startswith("ProfilerStep#")]
            json.dump({"schemaVersion": 1, "traceEvents": events}, out)
        return "hidden.json"
    if os.path.exists("hidden.sqlite"):
        os.unlink("hidden.sqlite")
    output("export", "-q", "-t", "sqlite", "-o", "hidden.sqlite", path)
    database = sqlite3.connect("hidden.sqlite")
    names = "(SELECT id FROM StringIds WHERE value LIKE 'step %' OR value LIKE 'iteration%')"
    database.execute(f"DELETE FROM NVTX_EVENTS WHERE text LIKE 'step %' OR text LIKE 'iteration%' OR textId IN {names}")
    database.commit()
    database.close()
    return "hidden.sqlite"


def marked(name, marks, steps, words):
    """A trace of 6 rounds of 1 ms: annotations (name, place in the round, µs, rounds in which it comes), and launches at 110 and 600 µs of each."""
    events = launch(1, 40, "kernel", "setup", 50, 10)
    for i in range(6):
        for at, kernel in ((110, "forward"), (600, "backward")):
            events += launch(10 * i + at, 1000 * i + at, "kernel", kernel, 1000 * i + at + 20, 100)
        events += [event(category, text, 1000 * i + at, 50) for category, text, at, rounds in marks if i in rounds]
    with open("marked.json", "w") as out:
        json.dump({"schemaVersion": 1, "traceEvents": events}, out)
    rows = table("step_sum", "marked.json")
    check(name, steps, [(row["Start (ns)"] // 1000, row["Start (ns)"] // 1000 + row["Time (ns)"] // 1000) for row in rows])
    check(f"{name}: source", True, f"steps by {words}." in output("stats", "-r", "step_sum", "--steps", "0-", "marked.json"))


def marks():
    """What PyTorch calls once a step. The first step begins as long before its first launch as the second does, but not in a launch."""
    note, every, adam, sgd = "user_annotation", range(6), "Optimizer.step#Adam.step", "Optimizer.step#SGD.step"
    ends = [(1000 * i - 150, 1000 * i + 850) for i in range(6)]
    ends[0] = (42, 850)
    marked("an optimizer", [(note, adam, 800, every)], ends, "calls of Optimizer.step")
    marked("two of them", [(note, sgd, 400, every), (note, adam, 800, every)], ends, "calls of Optimizer.step")
    marked("gradients of two rounds", [(note, adam, 800, (1, 3, 5))], [(42, 1850), (1850, 3850), (3850, 5850)], "calls of Optimizer.step")
    marked("one of them every second time", [(note, sgd, 400, every), (note, adam, 800, (1, 3, 5))],
           [(42, 1850), (1850, 3850), (3850, 5850)], "calls of Optimizer.step")
    begins = [(1000 * i + 10, 1000 * i + 1010) for i in range(5)] + [(5010, 5602)]
    marked("a DataLoader", [(note, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 10, every)], begins, "batches of a DataLoader")
    marked("modules", [("python_function", "nn.Module: Net_0", 10, every), ("python_function", "nn.Module: Linear_0", 20, every),
                       ("python_function", "nn.Module: Loss_0", 500, every)], begins, "calls of the outermost module")


def rhythm():
    """A rollout of 20 launches and an update, then three updates; two updates before the first rollout and one after the last are in no step."""
    events, at, ends = [], 0, []
    for i in range(2 + 8 * 4 + 1):
        launches = 20 if i >= 2 and (i - 2) % 4 == 0 else 0
        for k in range(launches + 2):
            events += launch(100 * i + k, at + 20 + 50 * k, "kernel", "act" if k < launches else "update", at + 30 + 50 * k, 20)
        at += 50 * (launches + 2) + 50
        events += [event("user_annotation", "Optimizer.step#Adam.step", at - 40, 40)]
        ends.append(at)
    with open("rhythm.json", "w") as out:
        json.dump({"schemaVersion": 1, "traceEvents": events}, out)
    rows = table("step_sum", "rhythm.json")
    check("rounds of four updates", [(ends[1 + 4 * i], ends[5 + 4 * i], 28) for i in range(8)],
          [(row["Start (ns)"] // 1000, (row["Start (ns)"] + row["Time (ns)"]) // 1000, row["Kernels"]) for row in rows])
    check("rounds of four updates: source", True,
          "Counting 8 of 8 steps by 4 calls of Optimizer.step." in output("stats", "-r", "step_sum", "--steps", "0-", "rhythm.json"))


def make_same_kernels(path, between):
    """20 steps of 1 ms with 5 launches of the same kernel, each 100 µs after the other; only what lies between two steps tells them apart."""
    if os.path.exists(path):
        os.unlink(path)
    thread, calls, kernels, ranges = 5 << 24 | 5, [], [], []
    for step in range(20):
        apart = 30000 if between == "pause" else 190000 if between == "nothing" else 100000
        for i in range(5):
            start = 1000000 * (step + 1) + i * apart if between != "nothing" else 1000000 + (5 * step + i) * apart
            calls.append((start, start + 5000, 0, thread, 5 * step + i, 1, 0))
            kernels.append((start + 6000, start + 9000, 0, 1, 7, 5 * step + i, 5 << 24, 2, 2))
        if between == "wait":
            calls.append((start + 10000, start + 20000, 0, thread, 1000 + step, 3, 0))
        if between == "range":
            ranges.append((start + 10000, start + 20000, 59, f"load {step}", thread, None, 0))
    database = sqlite3.connect(path)
    for name, columns, rows in (("StringIds", "id INTEGER PRIMARY KEY, value TEXT", [(1, "cudaLaunchKernel_v7000"), (2, "k"), (3, "cudaDeviceSynchronize_v3020")]),
                                ("NVTX_EVENTS", "start, end, eventType, text, globalTid, textId, domainId", ranges),
                                ("CUPTI_ACTIVITY_KIND_RUNTIME", "start, end, eventClass, globalTid, correlationId, nameId, returnValue", calls),
                                ("CUPTI_ACTIVITY_KIND_KERNEL", "start, end, deviceId, contextId, streamId, correlationId, globalPid, demangledName, shortName", kernels)):
        database.execute(f"CREATE TABLE {name} ({columns})")
        database.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(columns.split(',')))})", rows)
    database.commit()
    database.close()


def guesses():
    """A guess has as many steps as the program named, each with the same kernels."""
    lib.unpack(f"{lib.HERE}/nsys/resnet18.sqlite.gz", "resnet18.sqlite")
    pairs = sorted(f"{lib.HERE}/what_if_pairs/{name}" for name in os.listdir(f"{lib.HERE}/what_if_pairs") if name != "SlowKernels.tacho")
    check("there are captures of pairs", True, len(pairs) >= 8)
    traces = [f"{lib.KINETO}/{name}.json.gz" for name in ("train", "infer")]
    for path, categories in [(path, ("user_annotation", "python_function")) for path in traces + ["resnet18.sqlite"] + pairs] + [(path, ()) for path in traces]:
        truth, hidden = table("step_sum", path), hide_names(path, categories)
        guess = table("step_sum", hidden)
        name = f"{os.path.basename(path)} without {categories}"
        check(f"{name}: steps", len(truth), len(guess))
        check(f"{name}: kernels", [row["Kernels"] for row in truth], [row["Kernels"] for row in guess])
        check(f"{name}: first launches", first_launches(path, truth), first_launches(hidden, guess))
    for between in ("wait", "range", "pause", "nothing"):
        make_same_kernels("same.sqlite", between)
        if between == "nothing":
            check("the same kernel again and again", True, "has no steps" in output("stats", "-r", "step_sum", "same.sqlite"))
            continue
        rows = table("step_sum", "same.sqlite")
        check(f"the same kernels with a {between} in between", [(5, 1000000 * step) for step in range(20)],
              [(row["Kernels"], row["Start (ns)"] - rows[0]["Start (ns)"]) for row in rows])
    lib.unpack(f"{lib.HERE}/nsys/mix.sqlite.gz", "mix.sqlite")
    check("a program without PyTorch", 20, len(table("step_sum", "mix.sqlite")))
    check("says where they come from", True, "Counting 19 of 20 steps by a sequence of 2 kernels that repeats."
          in output("stats", "-r", "step_sum", "--steps", "1-", "mix.sqlite"))


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        captures()
        made()
        ranks()
        exports()
        refusals()
        guesses()
        marks()
        rhythm()
    return lib.status()


sys.exit(main())
