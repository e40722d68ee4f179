"""Reports on PyTorch's memory, modules and kernels, against torch's own memory columns and against what loops over the raw trace find."""

import json
import os
import sqlite3
import sys
import tempfile
from collections import Counter, defaultdict

import lib
from lib import check, output, table


class Trace:
    """A trace as it was written, with the simplest possible way to ask what ran in a thread at a time."""

    def __init__(self, path):
        self.events = lib.trace_events(path)
        self.origin = min(lib.ns(event["ts"]) for event in self.events if event.get("ph") == "X") // 10**9 * 10**9
        self.threads = defaultdict(list)
        for event in self.events:
            if event.get("ph") == "X":
                event["span"] = lib.trace_span(event)
                self.threads[event["cat"], event["tid"]].append(event)
        self.memory = sorted((event for event in self.events if event["name"] == "[memory]"), key=lambda event: lib.ns(event["ts"]))
        self.calls = {event["args"]["External id"]: event for event in self.events if event.get("cat") in ("cpu_op", "user_annotation")}

    def around(self, categories, thread, time, test=lambda name: True):
        """What runs then, innermost first."""
        found = [event for category in categories for event in self.threads[category, thread]
                 if event["span"][0] <= time <= event["span"][1] and test(event["name"])]
        return sorted(found, key=lambda event: (event["span"][0], -event["span"][1]), reverse=True)

    def operator(self, thread, time):
        return next(iter(self.around(("cpu_op", "user_annotation"), thread, time)), None)

    def forward(self, operator):
        """The operator that it, or the backward operator around it, belongs to."""
        for event in self.around(("cpu_op",), operator["tid"], operator["span"][0]):
            if event["args"].get("Fwd thread id", 0) > 0:
                return next((other for other in self.operators_in_order if other["args"].get("Sequence number") == event["args"]["Sequence number"]
                             and other["args"].get("Fwd thread id", 0) == 0), None)
        return operator

    @property
    def operators_in_order(self):
        if not hasattr(self, "_operators"):
            self._operators = sorted((event for event in self.events if event.get("cat") == "cpu_op"), key=lambda event: (event["span"][0], -event["span"][1]))
        return self._operators


def shown(name):
    return "ProfilerStep*" if name.startswith("ProfilerStep#") else name


def device(event):
    return "CPU" if event["args"]["Device Type"] == 0 else f"CUDA {event['args']['Device Id']}"


# ---- memory ----

def alive_at_peak(events):
    """Those of one device that took what was in use when it was most, and how much that was."""
    peak = max(range(len(events)), key=lambda i: (events[i]["args"]["Total Allocated"], -i))
    alive = {}
    for event in events[:peak + 1]:
        if event["args"]["Bytes"] > 0:
            alive[event["args"]["Addr"]] = event
        else:
            alive.pop(event["args"]["Addr"], None)
    return list(alive.values()), events[peak]["args"]["Total Allocated"]


def memory_sum(name, file, trace):
    expected = defaultdict(lambda: [0, 0, 0, 0])  # taken, given back, allocations, at the peak
    for event in trace.memory:
        operator = trace.operator(event["tid"], lib.ns(event["ts"]))
        row = expected[shown(operator["name"]) if operator else "", device(event)]
        size = event["args"]["Bytes"]
        row[0] += max(size, 0)
        row[1] += max(-size, 0)
        row[2] += size > 0
    for place in {device(event) for event in trace.memory}:
        for event in alive_at_peak([event for event in trace.memory if device(event) == place])[0]:
            operator = trace.operator(event["tid"], lib.ns(event["ts"]))
            expected[shown(operator["name"]), place][3] += event["args"]["Bytes"]
    rows = table("torch_memory_sum", file)
    got = {(row["Operator"], row["Device"]): [row["Allocated Self (B)"], row["Freed Self (B)"], row["Allocations Self"], row["At Peak (B)"]] for row in rows}
    check(f"{name}: operators' own memory", dict(expected), {key: value for key, value in got.items() if any(value)})
    check(f"{name}: net is the difference", True, all(row["Net Self (B)"] == row["Allocated Self (B)"] - row["Freed Self (B)"] for row in rows))
    check(f"{name}: sorted by what was in use at the peak", sorted((row["At Peak (B)"] for row in rows), reverse=True), [row["At Peak (B)"] for row in rows])
    torch_columns(name, rows)


def torch_columns(name, rows):
    """torch counts memory of other threads for an annotation as well; operators are the same."""
    own = defaultdict(lambda: [0, 0, 0, 0])
    for row in rows:
        at = 0 if row["Device"] == "CPU" else 2
        own[row["Operator"]][at:at + 2] = row["Net Total (B)"], row["Net Self (B)"]
    compared = 0
    for want in json.load(open(f"{lib.KINETO}/{name}.key_averages.json")):
        if "::" not in want["key"] or want["key"].startswith("void "):
            continue
        compared += any(own[want["key"]])
        check(f"{name}: torch's columns of {want['key']}", [want["cpu_mem"], want["self_cpu_mem"], want["device_mem"], want["self_device_mem"]], own[want["key"]])
    check(f"{name}: operators with memory", True, compared > 10)


def memory_peak(name, file, trace):
    rows = table("torch_memory_peak", file)
    for place in {device(event) for event in trace.memory}:
        alive, peak = alive_at_peak([event for event in trace.memory if device(event) == place])
        of_place = [row for row in rows if row["Device"] == place]
        check(f"{name}: all of the peak of {place}", peak, sum(row["Bytes (B)"] for row in of_place))
        expected = Counter()
        for event in alive:
            inner = trace.operator(event["tid"], lib.ns(event["ts"]))
            stack = trace.around(("cpu_op",), event["tid"], lib.ns(event["ts"])) or [inner]
            dims = next((json.dumps(outer["args"]["Input Dims"]) for outer in reversed(stack) if outer["args"].get("Input Dims")), "")
            expected[shown(stack[-1]["name"]), shown(inner["name"]), dims] += event["args"]["Bytes"]
        got = Counter()
        for row in of_place:
            if row["Operator"] != "[before the capture]":
                got[row["Operator"], row["Allocated In"], row["Shapes"] and json.dumps(json.loads(row["Shapes"]))] += row["Bytes (B)"]
        check(f"{name}: what was in use on {place}", expected, got)
        older = [row["Bytes (B)"] for row in of_place if row["Operator"] == "[before the capture]"]
        check(f"{name}: and what was there before", [peak - sum(expected.values())] if peak > sum(expected.values()) else [], older)


def memory_trace(name, file, trace):
    rows = table("torch_memory_trace", file)
    expected = sorted((lib.ns(event["ts"]) - trace.origin, *(event["args"][key] for key in ("Bytes", "Total Allocated", "Total Reserved", "Addr")), device(event)) for event in trace.memory)
    check(f"{name}: every event", expected, sorted((row["Time (ns)"], row["Bytes (B)"], row["Allocated (B)"], row["Reserved (B)"], row["Address"], row["Device"]) for row in rows))
    taken = {}
    lifetimes = []
    for event in trace.memory:
        key = device(event), event["args"]["Addr"]
        if event["args"]["Bytes"] > 0:
            taken[key] = lib.ns(event["ts"])
        elif key in taken:
            lifetimes.append(lib.ns(event["ts"]) - taken.pop(key))
    check(f"{name}: lifetimes", sorted(lifetimes), sorted(row["Lifetime (ns)"] for row in rows if row["Lifetime (ns)"] != ""))


# ---- modules and kernels ----

def is_module(name):
    return name.startswith("nn.Module: ")


def is_users(name):
    return name.startswith(("kineto_cap.py(", "torchvision/"))  # the files of these programs that are not PyTorch's and not Python's


def modules_and_kernels(name, file, trace):
    expected, kernels = defaultdict(Counter), defaultdict(list)
    for event in trace.events:
        if event.get("cat") == "python_function" and is_module(event["name"]):
            row = expected[event["name"][len("nn.Module: "):]]
            row["calls"] += 1
            row["cpu"] += event["span"][1] - event["span"][0]
    for event in trace.events:
        if event.get("cat") not in ("kernel", "gpu_memcpy", "gpu_memset"):
            continue
        operator = trace.calls.get(event["args"].get("External id"))
        caller = trace.forward(operator) if operator else None
        stack = trace.around(("python_function",), caller["tid"], caller["span"][0]) if caller else []
        modules = [frame["name"][len("nn.Module: "):] for frame in stack if is_module(frame["name"])]
        took = event["span"][1] - event["span"][0]
        for module in modules:
            expected[module]["backward" if caller is not operator else "gpu"] += took
        if modules:
            expected[modules[0]]["self"] += took if caller is operator else 0
        line = next((frame["name"] for frame in stack if is_users(frame["name"])), "")
        kernels[event["name"], operator["name"] if operator else "", modules[0] if modules else "", line].append(took)
    got = {row["Module"]: Counter(calls=row["Calls"], cpu=row["CPU Total (ns)"], gpu=row["GPU Total (ns)"], self=row["GPU Self (ns)"], backward=row["Backward GPU (ns)"])
           for row in table("torch_module_sum", file)}
    check(f"{name}: modules", {module: +row for module, row in expected.items()}, {module: +row for module, row in got.items()})
    rows = table("torch_kern_sum", file)
    check(f"{name}: kernels", {key: (len(times), sum(times), min(times), max(times)) for key, times in kernels.items()},
          {(row["Name"], row["Operator"], row["Module"], row["Line"]): (row["Instances"], row["Total Time (ns)"], row["Min (ns)"], row["Max (ns)"]) for row in rows})


# ---- what the captures lack ----

def lines():
    """Which frame of a stack, innermost first, is the program's."""
    packages = "/opt/venv/lib/python3.11/site-packages"
    stacks = [
        ("a library", [f"{packages}/torch/nn/modules/linear.py(1): forward", f"{packages}/transformers/bert.py(10): forward", "train.py(9): main"], 1),
        ("a package of the system", ["/usr/lib/python3/dist-packages/torch/x.py(1): f", "/usr/lib/python3/dist-packages/numpy/y.py(2): g"], 1),
        ("a folder called torch", ["torch/_ops.py(1): f", "/home/me/torch/train.py(3): step", "train.py(9): main"], 1),
        ("Python itself", ["/usr/lib/python3.11/contextlib.py(1): f", "threading.py(2): run", "<frozen runpy>(3): g", "<string>(1): h", "train.py(9): main"], 4),
        ("a call that is told of", [f"{packages}/torch/nn/modules/module.py(1): _call_impl", "/opt/lib/tacho/python/tacho/_modules.py(40): __call__", "train.py(9): main"], 2),
        ("one from a wheel", ["torch/nn/modules/module.py(1): _call_impl", f"{packages}/tacho/_modules.py(40): __call__", f"{packages}/timm/vit.py(3): forward"], 2),
        ("torch alone", ["torch/a.py(1): f", f"{packages}/torch/b.py(1): g"], None),
    ]
    events = []
    for i, (name, frames, _) in enumerate(stacks):
        spot = {"ph": "X", "pid": 5, "tid": 5, "ts": 1000 + 100 * i}
        events += [{**spot, "cat": "cpu_op", "name": f"aten::{i}", "dur": 50, "args": {"External id": i + 1, "Call stack": ";".join(frames)}},
                   {**spot, "cat": "cuda_runtime", "name": "cudaLaunchKernel", "dur": 5, "args": {"External id": i + 1, "correlation": i + 1}},
                   {**spot, "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "dur": 5, "args": {"External id": i + 1, "correlation": i + 1, "device": 0, "stream": 7}}]
    with open("lines.json", "w") as file:
        json.dump({"traceEvents": events}, file)
    got = {row["Operator"]: row["Line"] for row in table("torch_kern_sum", "lines.json")}
    for i, (name, frames, place) in enumerate(stacks):
        check(f"the line of {name}", "" if place is None else frames[place], got.get(f"aten::{i}"))
    got = {row["Name"]: row["Stack"] for row in table("torch_events", "lines.json")}
    for i, (name, frames, _) in enumerate(stacks):
        check(f"the stack of {name}", ";".join(frame for frame in frames if "/tacho/" not in frame), got.get(f"aten::{i}"))


def other_processes():
    """Memory of one process is no other's, though their operators run at the same time; CUDA's own records have operators too."""
    database = sqlite3.connect("two.sqlite")
    database.execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)")
    database.executemany("INSERT INTO StringIds VALUES (?, ?)", [(1, "aten::a"), (2, "aten::b"), (3, "cudaMalloc_v3020")])
    database.execute("CREATE TABLE TACHO_TORCH_OP (start, end, globalTid, nameId, category)")
    database.executemany("INSERT INTO TACHO_TORCH_OP VALUES (?, ?, ?, ?, 'cpu_op')", [(0, 1000, 5 << 24 | 5, 1), (0, 1000, 6 << 24 | 6, 2)])
    database.execute("CREATE TABLE TACHO_TORCH_MEMORY (timestamp, globalTid, event, deviceType, deviceId, address, bytes)")
    database.executemany("INSERT INTO TACHO_TORCH_MEMORY VALUES (?, ?, '[memory]', 1, 0, 64, ?)", [(100, 5 << 24 | 5, 512), (200, 6 << 24 | 6, 1024), (300, 5 << 24 | 5, -512)])
    database.commit()
    got = {row["key"]: row["device_mem"] for row in json.loads(output("ops", "-f", "json", "two.sqlite"))}
    check("each process has its own memory", {"aten::a": 0, "aten::b": 1024}, got)
    check("and its own rows", [(6, "aten::b", 1024), (5, "aten::a", 512)],
          [(row["PID"], row["Operator"], row["At Peak (B)"]) for row in table("torch_memory_sum", "two.sqlite")])
    check("and of one alone", ["aten::a"], [row["key"] for row in json.loads(output("ops", "-f", "json", "--filter-pid", "5", "two.sqlite"))])
    database.execute("DROP TABLE TACHO_TORCH_MEMORY")
    database.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, eventClass, globalTid, correlationId, nameId, returnValue)")
    database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (400, 500, 0, ?, 9, 3, 0)", (6 << 24 | 6,))
    database.execute("CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start, globalPid, deviceId, contextId, address, pc, bytes, memKind, memoryOperationType, correlationId)")
    database.executemany("INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (?, ?, 0, 1, 4096, 0, 2048, 2, ?, ?)", [(450, 6 << 24, 0, 9), (2000, 6 << 24, 1, None)])
    database.commit()
    database.close()
    check("memory of CUDA", [("aten::b", 2048, 0, 2048), ("", 0, 2048, 0)], [(row["Operator"], row["Allocated Self (B)"], row["Freed Self (B)"], row["At Peak (B)"])
                                                                            for row in table("torch_memory_sum", "two.sqlite")])


def nothing():
    for report in ("torch_memory_sum", "torch_memory_peak", "torch_memory_trace", "torch_module_sum"):
        check(f"{report} of a capture without", True, "SKIPPED: " in output("stats", "-r", report, "resnet18.sqlite"))
    kernels = table("torch_kern_sum", "resnet18.sqlite")
    check("kernels of NVTX ranges have operators", True, "aten::cudnn_convolution" in {row["Operator"] for row in kernels})
    check("and none is left out", sum(row["Instances"] for row in table("cuda_gpu_sum", "resnet18.sqlite")), sum(row["Instances"] for row in kernels))


def too_much():
    """More bytes than a number holds: the sum stays at the largest, and a sanitizer has nothing to say."""
    much = 2**62
    events = [{"ph": "X", "cat": "cpu_op", "name": "aten::a", "pid": 9, "tid": 9, "ts": 0, "dur": 100, "args": {}}]
    events += [{"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 9, "tid": 9, "ts": 10 + number,
                "args": {"Device Type": 0, "Device Id": -1, "Addr": 1 + number, "Bytes": much}} for number in range(2)]
    with open("much.json", "w") as out:
        json.dump({"traceEvents": events}, out)
    check("too much", [("aten::a", 2**63 - 1)], [(row["Operator"], row["Allocated Self (B)"]) for row in table("torch_memory_sum", "much.json")])


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name in ("infer", "train"):
            file = f"{name}.tacho"
            trace = Trace(f"{lib.KINETO}/{name}.json.gz")
            output("import", "-q", "-o", file, f"{lib.KINETO}/{name}.json.gz")
            for compare in (memory_sum, memory_peak, memory_trace, modules_and_kernels):
                compare(name, file, trace)
        lines()
        too_much()
        other_processes()
        lib.unpack(f"{lib.HERE}/nsys/resnet18.sqlite.gz", "resnet18.sqlite")
        nothing()
    return lib.status()


sys.exit(main())
