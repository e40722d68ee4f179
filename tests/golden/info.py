"""`tacho info` of other profilers' files and of many processes, against the same files read with sqlite3 and json, and against sums made here."""

import gzip
import json
import os
import random
import re
import sqlite3
import subprocess
import sys

import lib

SEED = 20261116
PROCESSES, SHOWN = 90, 40
VM = 1 << 48


def section(text, heading):
    """The lines under a heading."""
    return next((part.splitlines()[1:] for part in text.split("\n\n") if part.splitlines()[0].startswith(heading)), None)


def nsys_files():
    for name in "mix", "resnet18":
        file = f"{name}.sqlite"
        lib.unpack(os.path.join(lib.HERE, "nsys", f"{file}.gz"), file)
        text = lib.output("info", file)
        document = json.loads(lib.output("info", "-f", "json", file))[0]
        database = sqlite3.connect(file)
        processes = database.execute("SELECT pid, name FROM PROCESSES ORDER BY pid").fetchall()
        lib.check(f"{name}: who recorded it", ("Nsight Systems", True), (document["recorded_by"], "Made by           Nsight Systems; imported\n" in text))
        lib.check(f"{name}: processes", [f"  {pid}  {process}" for pid, process in processes], section(text, "Processes"))
        lib.check(f"{name}: processes in JSON", [{"pid": pid, "name": process} for pid, process in processes], document["process_names"])
        driver = int(database.execute("SELECT value FROM TARGET_INFO_SYSTEM_ENV WHERE name = 'CudaDriverVersion'").fetchone()[0])
        lib.check(f"{name}: driver", True, f"CUDA driver       {driver // 1000}.{driver % 1000 // 10}" in section(text, "Machine"))
        for key, table in (("contexts", "CONTEXT_INFO"), ("streams", "STREAM")):
            lib.check(f"{name}: {key}", database.execute(f"SELECT count(*) FROM TARGET_INFO_CUDA_{table}").fetchone()[0], len(document[key]))
        database.close()


def traces():
    for name in "train", "infer":
        path = os.path.join(lib.KINETO, f"{name}.json.gz")
        text = lib.output("info", path)
        document = json.loads(lib.output("info", "-f", "json", path))[0]
        with gzip.open(path, "rt") as file:
            trace = json.load(file)
        pid = next(event["pid"] for event in trace["traceEvents"] if event.get("cat") == "cpu_op")
        process = next(event["args"]["name"] for event in trace["traceEvents"] if event["name"] == "process_name" and event["pid"] == pid)
        lib.check(f"{name}: who recorded it", ("PyTorch's profiler", True),
                  (document["recorded_by"], "Made by           PyTorch's profiler; imported\n" in text))
        lib.check(f"{name}: no machine is known", None, section(text, "Machine"))
        lines = section(text, "Processes")
        lib.check(f"{name}: one process", True, len(lines) == 1 and re.fullmatch(rf"  {pid}  {process}  \[[\d.]+ m?s\]", lines[0]) is not None)
        given = ", ".join(option for option in ("record_shapes", "profile_memory", "with_stack", "with_modules") if trace.get(option)) or "none"
        lib.check(f"{name}: options", True, f"Options           {given}" in section(text, "PyTorch"))
        lib.check(f"{name}: trace", True, f"Trace             {trace['traceName']}" in section(text, "PyTorch"))
        values = {row["name"]: row["value"] for row in document["pytorch"]}
        lib.check(f"{name}: metadata in JSON", json.dumps(trace["traceName"]), values["traceName"])


def foreign_trace():
    """A trace of some other program has neither PyTorch's marks nor its settings."""
    with open("foreign.json", "w") as file:
        json.dump({"displayTimeUnit": "ms", "traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "work", "pid": 7, "tid": 7, "ts": 1, "dur": 2}]}, file)
    text = lib.output("info", "foreign.json")
    lib.check("a foreign trace", (True, None), ("Made by           another profiler; imported\n" in text, section(text, "PyTorch")))


def many_processes():
    """Each process is behind those that took more CPU time with all that they started."""
    chance = random.Random(SEED)
    made = lib.Made("made.sqlite")
    made.add("META_DATA_CAPTURE", name="TACHO_VERSION", value="1")
    made.add("TARGET_INFO_SYSTEM_ENV", name="MemoryLimit", value="137438953472")
    parents, cpu = {}, {}
    for pid in chance.sample(range(100, 10000), PROCESSES):
        parents[pid] = chance.choice([None, *list(parents)[:20]])
        cpu[pid] = chance.randrange(1, 10**9)
        made.add("TACHO_PROCESS", start=len(cpu), end=len(cpu) + 10, globalPid=VM | pid << 24, image=0, ending="exit", exitStatus=0,
                 parentGlobalPid=VM | parents[pid] << 24 if parents[pid] else None, command=f"program{pid}", cpuNs=cpu[pid])
    name = "-many processes.tacho"
    lib.output("import", "-q", "-f", "true", "-o", name, made.write())

    def total(pid):
        return cpu[pid] + sum(total(child) for child in parents if parents[child] == pid)

    def lines(parent, depth):
        for pid in sorted((pid for pid in parents if parents[pid] == parent), key=total, reverse=True):
            yield " " * (2 + 2 * depth) + f"{pid}  program{pid}"
            yield from lines(pid, depth + 1)

    expected = list(lines(None, 0))
    lib.check("all processes", PROCESSES, len(expected))
    shown = section(lib.output("info", "--", name), "Processes")
    lib.check("the first processes", expected[:SHOWN], [line.partition("  [")[0] for line in shown[:SHOWN]])
    count, command = re.fullmatch(r"  … (\d+) more: (.*)", shown[SHOWN]).groups()
    lib.check("those left out", (PROCESSES - SHOWN, SHOWN + 1), (int(count), len(shown)))
    again = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=lib.PATIENCE)
    lib.check(f"{command}: {again.stderr}", expected, [line.partition("  [")[0] for line in section(again.stdout, "Processes")])
    document = json.loads(lib.output("info", "-f", "json", "--", name))[0]
    lib.check("all of them in JSON", cpu, {process["pid"]: process["cpu_ns"] for process in document["processes"]})
    lib.check("the memory limit", ["Memory limit      137 GB"], section(again.stdout, "Machine"))


def times():
    """The program ran for 9 s, 2 s of which are in capture ranges; of a program that still runs the recorded time is known."""
    seconds = 10**9
    for end, expected in ((9 * seconds, ["Process time      9.00 s", "Recorded time     2.00 s"]), (None, ["Recorded time     2.00 s"])):
        made = lib.Made("made.sqlite")
        made.add("META_DATA_CAPTURE", name="TACHO_VERSION", value="1")
        made.add("TACHO_PROCESS", start=0, end=end, globalPid=VM, image=0, origin="launch", ending=end and "exit", exitStatus=end and 0)
        for start in (1, 4):
            made.add("TACHO_RANGE", start=start * seconds, end=(start + 1) * seconds, cause="nvtx")
        lib.check(f"times, end {end}", expected, [line for line in lib.output("info", made.write()).splitlines() if re.match("Process time|Recorded time|Duration", line)])


def truncated_stacks():
    """A loss without a cause in JSON; and of a few samples no share is told."""
    for samples, cut, expected in ((200, 3, [("samples", 3, 200, {})]), (200, 2, []), (99, 9, []), (6, 1, [])):
        made = lib.Made("made.sqlite")
        made.add("META_DATA_CAPTURE", name="TACHO_VERSION", value="1")
        made.add("TACHO_COUNT", globalPid=VM, source="samples", fate="recorded", count=samples)
        made.add("TACHO_CAPTURE", timestamp=1, over="exit", cpuNs=1, costNs=0, startCostNs=0, cutStacks=cut, throttled=0)
        losses = json.loads(lib.output("info", "-f", "json", made.write()))[0]["losses"]
        lib.check(f"{cut} of {samples} stacks are truncated", expected, [(loss["source"], loss["lost"], loss["total"], loss["causes"]) for loss in losses])


nsys_files()
traces()
foreign_trace()
many_processes()
times()
truncated_stacks()
sys.exit(lib.status())
