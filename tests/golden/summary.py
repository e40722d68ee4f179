"""`tacho summary`, `info -f json` and `doctor -f json` on every stored capture: the figures against the tables of the file itself, read with
sqlite3 and json, and the next command against a shell."""

import json
import os
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys

import lib

NSYS = ("mix", "resnet18", "wait_stream")
TRACES = ("infer", "train", "stacks", "listed")
WORK = ("KERNEL", "MEMCPY", "MEMSET", "GRAPH_TRACE")


def busy_share(database):
    """Percent of the time from the first work on the GPU to the last in which there was any, by merging all spans."""
    spans = []
    for kind in WORK:
        try:
            spans += database.execute(f"SELECT start, end FROM CUPTI_ACTIVITY_KIND_{kind}").fetchall()
        except sqlite3.OperationalError:
            pass  # it has none of these
    busy, until = 0, None
    for start, end in sorted(spans):
        if until is None or end > until:
            busy += end - max(start, until if until is not None else start)
            until = end
    return 100 * busy / (until - min(start for start, _ in spans))


def check_answer(name, text, causes, database):
    """The step, and what to change first, with the figures of advice_sum; no more than 15 lines of 120 columns."""
    shown = re.findall(r"^   (\d) (.*?) +about ([\d.]+ [nµm]?s) \(([\d.]+(?: [nµm]?s)? to [\d.]+ [nµm]?s)\) +(\w+)$", text, re.M)
    lib.check(f"{name}: causes", [(str(i + 1), row["Confidence"]) for i, row in enumerate(causes[:3])],
              [(number, confidence) for number, _, _, _, confidence in shown])
    for row, (_, what, _, _, _) in zip(causes, shown):
        begin, _, end = what.partition("…")
        lib.check(f"{name}: {what}", True, row["Finding"].startswith(begin) and end in row["Finding"])
        rate = row["Finding"].partition(end or what)[2][2:-1]
        lib.check(f"{name}: the rate of {what}", row["Confidence"] == "modelled", rate != "" and "Rate: " in text and rate in text)
    for row, (_, _, about, both, _) in zip(causes, shown):
        low, high = both.split(" to ")
        low = low if " " in low else f"{low} {high.split()[1]}"
        for got, expected in ((about, row["Saves per Step (ns)"]), (low, row["From (ns)"]), (high, row["To (ns)"])):
            value, unit = got.split()
            lib.check(f"{name}: {got}", True, abs(float(value) * UNITS[unit] / expected - 1) < 0.006)
    lib.check(f"{name}: lines of an answer", True, not causes or sum(-(-len(line) // 120) for line in text.splitlines()) <= 15)


UNITS = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}


def check_next(name, text):
    """The last line is a command that works when it is pasted."""
    words = re.match(r"  next:   (.*?), or ", text.splitlines()[-1]).group(1)
    done = subprocess.run(["sh", "-c", words], capture_output=True, text=True, timeout=lib.PATIENCE)
    lib.check(f"the next command after {name}, {words}: {done.stderr}", 0, done.returncode)
    lib.check(f"the file in {words}", True, shlex.split(words)[-1].startswith(name))


def check_lines(name, text):
    lines = text.splitlines()
    lib.check(f"{name}: at most 18 lines", True, len(lines) <= 18)
    lib.check(f"{name}: no row of 0.0 %", [], [line for line in lines if re.match(r" +0\.0 % ", line)])
    lib.check(f"{name}: its file", True, f"  report: {name} (" in text)


def check_body(name, file, database):
    """Where there is no answer, the summary shows where the time went. Without CUDA calls there is nothing to replay."""
    shutil.copy(file, "bare.sqlite")
    bare = sqlite3.connect("bare.sqlite")
    with bare:
        bare.execute("DELETE FROM CUPTI_ACTIVITY_KIND_RUNTIME")
    bare.close()
    file = "bare.sqlite"
    text = lib.summary(file)
    lib.check(f"{name}: no answer without calls", [], [row for row in lib.table("advice_sum", file) if row["Confidence"]])
    busy = re.search(r"GPU 0 \(NVIDIA H200\) busy ([\d.]+) % of the", text).group(1)
    lib.check(f"{name}: busy", f"{busy_share(database):.1f}", busy)
    lib.check(f"{name}: the same of cuda_gpu_busy", f"{lib.table('cuda_gpu_busy', file)[0]['Busy (%)']:.1f}", busy)
    shown = re.findall(r"^ +([\d.]+) % +[\d.]+ [µm]?s +([\d,]+) ×  (.*)$", text, re.M)
    kernels = lib.table("cuda_gpu_kern_sum:base", file)
    lib.check(f"{name}: the table that it names has the kernels that it shows", [(f"{row['Time (%)']:.1f}", f"{row['Instances']:,}") for row in kernels[:len(shown)]],
              [row[:2] for row in shown])
    lib.check(f"{name}: it names that table", True, "kernels by base name: tacho stats -r cuda_gpu_kern_sum:base" in text)
    for longest in [re.search(r"longest gaps without work: (.*)", text).group(1)]:
        moments = [part.split(" at ")[1] for part in longest.split(", ")]
        lib.check(f"{name}: moments that can be told apart", len(moments), len(set(moments)))


for name in NSYS:
    file = f"{name} of 'nsys'.sqlite"  # needs quotes
    lib.unpack(os.path.join(lib.HERE, "nsys", f"{name}.sqlite.gz"), file)
    text = lib.summary(file)
    lib.check(f"tacho {file}", text, lib.output(file, COLUMNS="10000"))
    check_lines(file, text)
    check_next(file, text)
    database = sqlite3.connect(file)
    rows = lib.table("advice_sum", file)
    causes = [row for row in rows if row["Confidence"]]
    check_answer(name, text, causes, database)
    lib.check(f"{name}: the first finding leads", True, all(f"analyze -r {row['Rule']} " in text for row in rows[:1]))
    check_body(name, file, database)
    info = json.loads(lib.output("info", "-f", "json", file))
    lib.check(f"{name}: size", os.path.getsize(file), info[0]["bytes"])
    lib.check(f"{name}: health", "complete", info[0]["health"])
    duration = database.execute("SELECT duration FROM ANALYSIS_DETAILS").fetchone()[0]
    lib.check(f"{name}: duration", duration, info[0]["duration_ns"])
    rows = {source["name"]: source["recorded"] for source in info[0]["sources"]}
    for source, table in (("nvtx", "NVTX_EVENTS"), ("cuda kernels", "CUPTI_ACTIVITY_KIND_KERNEL"), ("switches", "SCHED_EVENTS")):
        lib.check(f"{name}: {source}", database.execute(f"SELECT count(*) FROM {table}").fetchone()[0], rows.get(source, 0))
    database.close()

for name in TRACES:
    file = f"{name}.json.gz"
    path = os.path.join(lib.KINETO, file)
    text = lib.summary(path)
    check_lines(path, text)
    check_next(path, text)
    lib.check(f"{name}: the profiler", True, "recorded by PyTorch's profiler" in text.splitlines()[0])

# A finding is whole, however long the names in it are.
function = f"void run<{', '.join(['Type'] * 60)}>()"
made = lib.Made("long.sqlite")
for thread in (1 << 24 | 1, 1 << 24 | 2):
    made.add("OSRT_API", start=0, end=2 * 10**9, eventClass=27, globalTid=thread, nameId=made.text("fsync"), returnValue=0, callchainId=1)
made.add("OSRT_CALLCHAINS", id=1, symbol=made.text(function), module=made.text("/bin/p"), stackDepth=0, unresolved=0)
made.write()
lib.check("a long finding", (True, True), (function in lib.table("advice_sum", "long.sqlite")[0]["Finding"], function in lib.summary("long.sqlite")))

# How busy a GPU was is said of the time that stands beside it: here 9 of 100 ms, of which the first 90 went into a call.
made = lib.Made("late.sqlite")
for number, (name, start, end) in enumerate((("cudaMalloc_v3020", 0, 90), ("cudaLaunchKernel_v7000", 90, 91))):
    made.add("CUPTI_ACTIVITY_KIND_RUNTIME", start=start * 10**6, end=end * 10**6, globalTid=1 << 24 | 1, correlationId=number, nameId=made.text(name))
made.add("CUPTI_ACTIVITY_KIND_KERNEL", start=91 * 10**6, end=100 * 10**6, deviceId=0, contextId=1, streamId=7, correlationId=1, globalPid=1 << 24,
         demangledName=made.text("k"), shortName=made.text("k"))
made.write()
lib.check("busy of the GPU's part of the run", ["the GPU's part of the run 100 ms; GPU busy 9 %"],
          re.findall("the GPU's part of the run .*? %", lib.summary("late.sqlite")))

both = json.loads(lib.output("info", "--each", "-f", "json", "mix of 'nsys'.sqlite", os.path.join(lib.KINETO, "train.json.gz")))
lib.check("one document for two files", 2, len(both))
lib.check("info names the size of the file itself", True, "mix of 'nsys'.sqlite, 1.15 MB" in lib.output("info", "mix of 'nsys'.sqlite"))
doctor = json.loads(lib.output("doctor", "-f", "json"))
lib.check("keys of doctor", {"checks", "failed", "partly"}, set(doctor))
lib.check("keys of a check", {"name", "verdict", "why", "allow"}, {key for check in doctor["checks"] for key in check})
lib.check("verdicts", doctor["failed"], sum(check["verdict"] == "fails" for check in doctor["checks"]))
human = lib.output("doctor")
lib.check("no check fails in part where all is said to work", doctor["failed"] + doctor["partly"] == 0, human.endswith("offers.\n"))
lib.check("a file that is none", "tacho: cannot open nosuch.tacho: No such file or directory\n", lib.refusal("nosuch.tacho"))
lib.check("a folder", "tacho: cannot open ./: it is not a regular file\n", lib.refusal("./"))
lib.check("a rule is no report", True, "'lock_contention' is a rule, not a report: tacho analyze -r lock_contention" in lib.refusal("stats", "-r", "lock_contention", "long.sqlite"))
lib.check("a report is no rule", True, "'osrt_sum' is a report, not a rule: tacho stats -r osrt_sum" in lib.refusal("analyze", "-r", "osrt_sum", "long.sqlite"))
lib.check("a name that is no file's", True, "unknown command 'nosuch'" in lib.refusal("nosuch"))
for length in (8, 8000):
    with open("train.py", "w") as file:
        file.write("#" * length)
    said = lib.refusal("train.py")
    lib.check(f"a program of {length} bytes", True, "cannot read train.py: it is" in said and said.endswith("to record a program: tacho profile PROGRAM\n"))
sys.exit(lib.status())
