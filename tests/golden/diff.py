"""`tacho diff` on runs made up here, so that what changed is known: figures, noise, conditions and ranges."""

import csv
import io
import json
import os
import pty
import random
import sqlite3
import subprocess
import sys
import tempfile

import lib

TACHO = os.environ["TACHO"]
failures = 0


def check(what, truth, *shown):
    global failures
    if not truth:
        failures += 1
        print("wrong:", what, *shown)


def run(*arguments):
    done = subprocess.run([TACHO, "diff", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def rows(*arguments):
    status, out, err = run("-q", "-f", "csv", "-r", "osrt_sum", *arguments)
    if status != 0:
        sys.exit(f"tacho diff {' '.join(arguments)}: {err}")
    return list(csv.DictReader(io.StringIO(out)))


def make(path, calls, ranges=()):
    """A capture with these calls: name → durations, one after another in time; and NVTX ranges (name, start, end)."""
    if os.path.exists(path):
        os.remove(path)
    database = sqlite3.connect(path)
    database.executescript(
        "CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);"
        "CREATE TABLE OSRT_API(start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, nameId INTEGER, returnValue INTEGER, nestingLevel INTEGER, callchainId INTEGER);"
        "CREATE TABLE NVTX_EVENTS(start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER, domainId INTEGER);")
    now = 0
    for number, (name, durations) in enumerate(calls.items(), 1):
        database.execute("INSERT INTO StringIds VALUES (?, ?)", (number, name))
        for duration in durations:
            database.execute("INSERT INTO OSRT_API VALUES (?, ?, 27, 1, ?, 0, 0, 0)", (now, now + duration, number))
            now += duration + 10
    for name, start, end in ranges:
        database.execute("INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, ?, 1, 0)", (start, end, name))
    database.commit()
    database.close()
    return path


def check_pair():
    make("a.sqlite", {"read": [100, 200], "write": [1000], "old": [50]})
    make("b.sqlite", {"write": [1500], "read": [100, 290], "fresh": [7]})
    expected = [
        {"Name": "write", "Before (ns)": "1000", "After (ns)": "1500", "Change (ns)": "500", "Relative (%)": "50.0", "Note": ""},
        {"Name": "read", "Before (ns)": "300", "After (ns)": "390", "Change (ns)": "90", "Relative (%)": "30.0", "Note": ""},
        {"Name": "old", "Before (ns)": "50", "After (ns)": "", "Change (ns)": "-50", "Relative (%)": "-100.0", "Note": "gone"},
        {"Name": "fresh", "Before (ns)": "", "After (ns)": "7", "Change (ns)": "7", "Relative (%)": "", "Note": "new"},
    ]
    got = rows("a.sqlite", "b.sqlite")
    check("two runs", [dict(row) for row in got] == [{key: row[key] for key in got[0]} for row in expected], got)
    check("by count", sorted((row["Name"], row["Change"]) for row in rows("-c", "count", "a.sqlite", "b.sqlite")) == [("fresh", "1"), ("old", "-1")])
    every = rows("--all", "-c", "count", "a.sqlite", "b.sqlite")
    check("by count, all rows", sorted((row["Name"], row["Change"]) for row in every) == [("fresh", "1"), ("old", "-1"), ("read", "0"), ("write", "0")], every)
    check("by the longest", {row["Name"]: row["After (ns)"] for row in rows("-c", "max", "a.sqlite", "b.sqlite")}["read"] == "290")
    check("by a column's own name", rows("-c", "Max", "a.sqlite", "b.sqlite") == rows("-c", "max", "a.sqlite", "b.sqlite"))
    check("a run beside itself", rows("a.sqlite", "a.sqlite") == [])
    check("all of a run beside itself", [(row["Change (ns)"], row["Note"]) for row in rows("--all", "a.sqlite", "a.sqlite")] == [("0", "")] * 3)
    status, out, err = run("-r", "osrt_sum", "a.sqlite", "b.sqlite")
    check("all rows together", "Total Time of all rows: 1,350 ns before, 1,897 ns after: +40.5 %" in out, out)
    check("json", json.loads(run("-q", "-f", "json", "-r", "osrt_sum", "a.sqlite", "b.sqlite")[1])[0]["Change (ns)"] == 500)
    status, out, err = run("a.sqlite", "b.sqlite")
    check("without -r: what has data", status == 0 and "(osrt_sum)" in out and "(cuda_api_sum)" not in out, out, err)
    check("in other units", rows("--timeunit", "us", "a.sqlite", "b.sqlite")[0]["Change (us)"] == "0.500")


def condition(text, *files):
    status, out, err = run("-q", "-r", "osrt_sum", "--fail-if", text, *files)
    if status not in (0, 1) or (status == 1) != bool(err) or err.count("\n") > 1:
        sys.exit(f"--fail-if '{text}': status {status}, {err}")
    return status == 1


def check_conditions():
    for text, truth in (("total>+5%", True), ("total>+41%", False), ("total>500", True), ("total>0.6us", False), ("total<-1%", False), ("count<0", False),
                        ("any total>+45%", True), ("any total>+55%", False), ("any total<-99%", True), ("max>+30%", True), ("max > +60 %", False), ("any count>0", True)):
        check(f"{text} is {truth}", condition(text, "a.sqlite", "b.sqlite") == truth)
    for text, line in (("total>+5%", "total 1.35 µs → 1.90 µs (+40.5 %), limit +5 %"), ("total>0.5us", "total 1.35 µs → 1.90 µs (+40.5 %), limit +500 ns"),
                       ("any total>+10%", "total of write 1.00 µs → 1.50 µs (+50.0 %), limit +10 %; 1 more row exceeds it"),
                       ("any total<-99%", "total of old 50 ns → 0 ns (-100.0 %), limit -99 %"), ("any count>0", "count of fresh 0 → 1, limit +0")):
        status, out, err = run("-q", "-r", "osrt_sum", "--fail-if", text, "a.sqlite", "b.sqlite")
        check(f"{text} fails with the figures", (status, err) == (1, f"FAILED osrt_sum: {line}\n"), status, err)
    for wrong in ("count>+5us", "share>+5us", "total", "total>", ">5%", "total>x", "colour>5%", "total=5%", "total>5apples", ""):
        status, out, err = run("-q", "-r", "osrt_sum", "--fail-if", wrong, "a.sqlite", "b.sqlite")
        check(f"--fail-if '{wrong}' is refused", status == 2 and err.count("\n") == 1, status, err)


def make_samples(path, folder, functions, frequency=1000, event="cpu-clock"):
    """A capture of samples: main calls each function, which has so many; a library sorts, in a version of its own."""
    made = lib.Made(path)
    number = 0
    for name, count in functions.items():
        module = f"{folder}/lib/libsort.so.1.{len(folder)}" if name == "sort" else f"{folder}/bin/program"
        for _ in range(count):
            number += 1
            weight = 10**9 // frequency * (1 if event.endswith("clock") else 3)
            made.add("COMPOSITE_EVENTS", id=number, start=number * 10**9 // frequency, cpu=0, threadState=1, globalTid=7, cpuCycles=weight)
            for depth, (function, where) in enumerate(((name, module), ("main", f"{folder}/bin/program"), ("_start", f"{folder}/bin/program"))):
                made.add("SAMPLING_CALLCHAINS", id=number, symbol=made.text(function), module=made.text(where), kernelMode=0, unresolved=0, stackDepth=depth)
    made.add("TACHO_SAMPLING", timestamp=0, method="perf", event=event, frequency=frequency, switches="none")
    return made.write()


def check_samples():
    """Two builds in two folders: work takes three times as long in the second, and all else the same."""
    make_samples("fast.sqlite", "/home/me/fast", {"work": 500, "other": 400, "sort": 300})
    make_samples("slow.sqlite", "/home/me/slow-er", {"work": 1500, "other": 402, "sort": 300})
    for one, two, line in (("fast", "slow", "total 1.20 s → 2.20 s (+83.5 %), limit +1 %"), ("slow", "fast", "")):
        status, out, err = run("-r", "cpu_sample_sum", "--fail-if", "total>+1%", f"{one}.sqlite", f"{two}.sqlite")
        check(f"from {one} to {two}", (status, err) == ((1, f"FAILED cpu_sample_sum: {line}\n") if line else (0, "")), status, err)
        check("rows that did not change", "4 rows did not change by more than the sampling error and are not listed" in out and "other" not in out, out)
        status, out, err = run("-q", "--fail-if", "any total>+1%", f"{one}.sqlite", f"{two}.sqlite")
        check(f"rows from {one} to {two}", (status, "total of work, program 500 ms → 1.50 s (+200.0 %, 95 % interval +182.5 … +217.5 %), limit" in err) == ((1, True) if line else (0, False)), status, err)
    status, out, err = run("-q", "-f", "json", "-r", "cpu_sample_sum", "fast.sqlite", "slow.sqlite")
    row = {"Before (ns)": 500000000, "After (ns)": 1500000000, "Change (ns)": 10**9, "Relative (%)": 200.0, "Note": "", "Function": "work", "Module": "program"}
    check("functions of two folders are the same", json.loads(out) == [row], out)
    make_samples("often.sqlite", "/home/me/fast", {"work": 2000, "other": 1600, "sort": 1200}, frequency=4000, event="cycles")
    check("time, not samples", json.loads(run("-q", "-f", "json", "-r", "cpu_sample_sum", "fast.sqlite", "often.sqlite")[1]) == [])
    for report, text, word in (("cpu_topdown", "total>+1%", "callers contain"), ("cpu_sample_sum", "avg>+1%", "no column 'avg'"), ("cpu_sample_sum", "count>+1ms", "not a time")):
        status, out, err = run("-q", "-r", report, "--fail-if", text, "fast.sqlite", "slow.sqlite")
        check(f"{text} of {report} is refused", status == 2 and word in err and err.count("\n") == 1, status, err)
    status, out, err = run("-q", "-r", "cpu_topdown", "--fail-if", "any total>+1%", "fast.sqlite", "slow.sqlite")
    check("a tree, row by row", status == 1 and err.startswith("FAILED cpu_topdown: total of _start, program 1.20 s → 2.20 s"), status, err)


def make_run(path, program, wall, cpu, kernels, hash_samples):
    """A capture of Tacho: a program that ran from 10 to 10 + wall, with kernels (start, end) and samples in hash(), ns."""
    made = lib.Made(path)
    process = {"globalPid": 5 << 24, "image": 0, "exe": f"/bin/{program}", "origin": "launch"}
    made.add("TACHO_PROCESS", start=10, **process)
    made.add("TACHO_PROCESS", start=15, globalPid=6 << 24, image=0, exe="/bin/child", origin="fork", end=20)
    made.add("TACHO_PROCESS", start=10, end=10 + wall, ending="exit", exitStatus=0, **process)
    made.add("TACHO_CAPTURE", timestamp=10 + wall, over="exit", cpuNs=cpu, costNs=0, startCostNs=0, cutStacks=0, throttled=0)
    for i, (start, end) in enumerate(kernels):
        made.add("CUPTI_ACTIVITY_KIND_KERNEL", start=start, end=end, deviceId=0, contextId=1, streamId=7 + i, correlationId=i, globalPid=5 << 24, shortName=made.text("k"), demangledName=made.text("k"), mangledName=made.text("k"))
    for number in range(hash_samples):
        made.add("COMPOSITE_EVENTS", id=number, start=20 + number, cpu=0, threadState=1, globalTid=5 << 24 | 5, cpuCycles=10**6)
        made.add("SAMPLING_CALLCHAINS", id=number, symbol=made.text("hash"), module=made.text(f"/bin/{program}"), kernelMode=0, unresolved=0, stackDepth=0)
    made.add("TACHO_SAMPLING", timestamp=0, method="perf", event="cpu-clock", frequency=1000, switches="none")
    return made.write()


def check_run():
    """The times of the run come first and have conditions of their own; the program may have another name in the other run."""
    slow = make_run("slow_run.sqlite", "mtx", 2000, 1500, [(100, 300), (200, 400)], 400)  # the kernels overlap: 300 ns
    fast = make_run("fast_run.sqlite", "mtxfast", 1000, 1800, [(100, 250)], 600)
    status, out, err = run("-f", "json", slow, fast)
    tables = json.loads(out)
    # without ranges, recording was on from the first row with a time to the last: from 0 to 2010 ns, and to 1010 ns
    expected = [["Process time", 2000, 1000, -1000, -50.0], ["Recorded time", 2010, 1010, -1000, -49.8], ["CPU time", 1500, 1800, 300, 20.0], ["GPU busy time", 300, 150, -150, -50.0]]
    check("the run", list(tables)[:2] == ["run_sum", "cuda_gpu_kern_sum"] and expected ==
          [[row[name] for name in ("Name", "Before (ns)", "After (ns)", "Change (ns)", "Relative (%)")] for row in tables["run_sum"]], tables)
    check("one program of two names", [(row["Function"], row["Module"], row["Note"]) for row in tables["cpu_sample_sum"]] == [("hash", "mtxfast", "")], tables)
    out = run(slow, fast)[1]
    check("which is told once", out.count("\nRows of the program, mtx before and mtxfast after, are compared with each other.\n") == 1, out)
    check("not of one name", "Rows of the program" not in run(slow, slow)[1])
    for text, line in (("wall>+5%", ""), ("wall<-10%", "wall 2.00 µs → 1.00 µs (-50.0 %), limit -10 %"), ("recorded<-10%", "recorded 2.01 µs → 1.01 µs (-49.8 %), limit -10 %"), ("cpu>+5%", "cpu 1.50 µs → 1.80 µs (+20.0 %), limit +5 %"),
                       ("gpu<-100ns", "gpu 300 ns → 150 ns (-50.0 %), limit -100 ns")):
        for words in ([], ["-r", "cpu_sample_sum"]):
            status, out, err = run("-q", *words, "--fail-if", text, slow, fast)
            check(f"{text} {words}", (status, err) == ((1, f"FAILED run_sum: {line}\n") if line else (0, "")), status, err)
    status, out, err = run("-q", "--fail-if", "gpu>+5%", "a.sqlite", "b.sqlite")
    check("a condition on GPUs without any", status == 2 and "no GPU busy time" in err, status, err)
    rows_of_part = lib.table("run_sum", slow, "--filter-time=150ns/350ns")
    check("of a part", rows_of_part == [{"Time (ns)": 200, "Name": "Recorded time"}, {"Time (ns)": 200, "Name": "GPU busy time"}], rows_of_part)
    check("of two ranges", {row["Name"]: row["After (ns)"] for row in json.loads(run("-f", "json", "-r", "run_sum", "--range", "step", "--range", "inner", "n1.sqlite")[1])} == {"Recorded time": 40})
    check("what is missing is null", json.loads(run("-f", "json", "-r", "osrt_sum", "a.sqlite", "b.sqlite")[1])[3]["Before (ns)"] is None)


def on_terminal(columns, *arguments):
    leader, follower = pty.openpty()
    subprocess.run(["stty", "cols", str(columns)], stdin=follower, check=True)
    done = subprocess.Popen([TACHO, "diff", *arguments], stdout=follower, env=dict(os.environ, TERM="dumb"))
    os.close(follower)
    text = lib.read_terminal(leader).decode()
    check(f"a terminal of {columns} columns", done.wait() == 0, done.returncode)
    return text.replace("\r\n", "\n").split("\n")


def check_output():
    """For scripts one document and nothing else; on a terminal lines that fit."""
    status, out, err = run("-f", "json", "-r", "osrt_sum,nvtx_sum", "n1.sqlite", "n2.sqlite")
    check("several reports are one object", (status, err) == (0, "") and {name: len(rows) for name, rows in json.loads(out).items()} == {"osrt_sum": 1, "nvtx_sum": 2}, out, err)
    status, out, err = run("-f", "json", "n1.sqlite", "n2.sqlite")
    check("so are the default ones", status == 0 and {"osrt_sum", "nvtx_sum"} <= set(json.loads(out)), out)
    status, out, err = run("-f", "json", "-r", "osrt_sum,osrt_sum", "n1.sqlite", "n2.sqlite")
    check("a report that is named twice is there once", status == 0 and json.loads(out, object_pairs_hook=list)[0][0] == "osrt_sum" and out.count("osrt_sum") == 1, out)
    status, out, err = run("-f", "csv", "-r", "osrt_sum", "n1.sqlite", "n2.sqlite")
    check("csv is the table alone", out.startswith("Before (ns),") and out.count("\n") == 2, out)
    for columns in 80, 120, 200:
        lines = on_terminal(columns, "-r", "cpu_sample_sum", "fast.sqlite", "slow.sqlite")
        check("no line is wider than the terminal", max(map(len, lines)) <= columns, columns, lines)
        check("the name comes first", any(line.split()[:3] == ["work", "500.0", "ms"] for line in lines), lines)
        check("changes have a sign", any(line.split()[5:9] == ["+1.000", "s", "+200.0", "%"] for line in lines), lines)
        check("all rows together", "Self Time of all rows: 1.20 s before, 2.20 s after: +83.5 %" in lines, lines)


def check_nested():
    """Ranges contain each other: their sum is refused where it was asked for, and left out where it was not."""
    for path, factor in ("n1.sqlite", 1), ("n2.sqlite", 2):
        make(path, {"read": [100 * factor]}, [("step", 0, 100 * factor), ("inner", 10, 50 * factor)])
    status, out, err = run("-q", "-r", "nvtx_sum", "--fail-if", "total>+5%", "n1.sqlite", "n2.sqlite")
    check("the sum of ranges", status == 2 and "ranges contain each other; use 'any total>+5%'" in err, status, err)
    status, out, err = run("-q", "--fail-if", "total>+5%", "n1.sqlite", "n2.sqlite")
    check("reports that can be summed", (status, err) == (1, "FAILED osrt_sum: total 100 ns → 200 ns (+100.0 %), limit +5 %\n"), status, err)
    status, out, err = run("-q", "--fail-if", "colour>+5%", "n1.sqlite", "n2.sqlite")
    check("a condition that suits none", status == 2 and "no column 'colour'" in err and err.count("\n") == 1, status, err)


def check_nothing():
    """Where no run has anything to compare, nothing was checked, and a build must not pass for that."""
    for path in "nothing1.sqlite", "nothing2.sqlite":
        make(path, {})
    for arguments in (), ("-r", "osrt_sum"), ("--fail-if", "total>+5%"), ("-f", "json"):
        status, out, err = run(*arguments, "nothing1.sqlite", "nothing2.sqlite")
        check("nothing to compare", status == 1 and err.startswith("tacho diff: no run has data for ") and err.count("\n") == 1, arguments, status, out, err)


def check_noise():
    """Ten runs a side with 10 % noise. A change of 30 % is found; none is not. Of many comparisons of equal things with 95 %
    intervals about one in twenty may seem to differ."""
    chance = random.Random(7)

    def runs(side, factor):
        return [make(f"{side}{i}.sqlite", {"work": [int(100000 * factor * chance.gauss(1, 0.1)) for _ in range(3)]}) for i in range(10)]

    before, after, same = runs("before", 1), runs("after", 1.3), runs("same", 1)
    check("a real change", condition("total>+5%", *before, "--", *after))
    check("is not beyond all bounds", not condition("total>+60%", *before, "--", *after))
    check("noise is none", not condition("total>+5%", *before, "--", *same))
    row = rows(*before, "--", *after)[0]
    check("the interval holds the truth", float(row["Low (%)"]) <= 30 <= float(row["High (%)"]) and float(row["Low (%)"]) <= float(row["Relative (%)"]) <= float(row["High (%)"]), row)
    false_alarms = 0
    for _ in range(10):
        pool = [make(f"x{i}.sqlite", {"work": [int(100000 * chance.gauss(1, 0.1))]}) for i in range(10)]
        false_alarms += condition("total>0", *pool[:5], "--", *pool[5:]) or condition("total<0", *pool[:5], "--", *pool[5:])
    check("few false alarms", false_alarms <= 2, false_alarms)
    status, out, err = run("-r", "osrt_sum", *before[:3], "--", *after[:3])
    check("three runs say what they allow", "Medians of 3 and 3 runs" in out and "90 % confidence, the most that so few runs allow" in out, out)
    status, out, err = run("-r", "osrt_sum", *before, "--", *after)
    check("ten runs say it", "96 % confidence." in out or "95 % confidence." in out, out)


def check_shift():
    """Of several runs the change is the median of the differences, and a line says so where it is not After - Before."""
    def runs(side, durations):
        return [make(f"{side}{i}.sqlite", {"work": [duration]}) for i, duration in enumerate(durations)]

    row = rows(*runs("v", (100, 110, 190)), "--", *runs("w", (1, 2, 3)))[0]
    check("no time falls by more than all of it", row["Low (%)"] == "-100.0", row)
    before, after = runs("s", (100, 110, 190)), runs("t", (300, 305, 420))
    row = rows(*before, "--", *after)[0]  # differences: 110 115 190 195 200 205 230 310 320
    check("the median of the differences", (row["Before (ns)"], row["After (ns)"], row["Change (ns)"]) == ("110.0", "305.0", "200.0"), row)
    for files, is_said in ((after, True), (runs("u", (200, 210, 290)), False)):
        out = run("-r", "osrt_sum", *before, "--", *files)[1]
        check(f"what Change is, is said: {is_said}", ("\nChange is the median of the differences" in out) == is_said, out)
    status, out, err = run("-q", "-r", "osrt_sum", "--fail-if", "total>+50%", *before, "--", *after)
    check("the failure has the interval", (status, err) == (1, "FAILED osrt_sum: total 110 ns → 305 ns (+181.8 %, 90 % interval +100.0 … +290.9 %), limit +50 %\n"), err)
    status, out, err = run("-r", "osrt_sum", "--fail-if", "total>150ns", *before, "--", *after)
    check("what may be noise passes, and is told", (status, err) ==
          (0, "PASSED osrt_sum: total 110 ns → 305 ns (+181.8 %, 90 % interval +110 ns … +320 ns), limit +150 ns: may be noise\n"), status, err)


def check_shares():
    """A share of few samples varies by chance. The intervals are those of Agresti and Caffo, worked out by hand."""
    for path, unit, work in (("few1", 1, 4), ("few2", 1, 6), ("many1", 100, 4), ("many2", 100, 6)):
        make_samples(f"{path}.sqlite", "/home/me", {"work": work * unit, "other": (10 - work) * unit})
    for name, expected in (("few", (0, "PASSED cpu_sample_sum: share of work, program 40.0 % → 60.0 % (+50.0 %, 95 % interval -57.0 … +140.3 %), limit +5 %: may be noise\n")),
                           ("many", (1, "FAILED cpu_sample_sum: share of work, program 40.0 % → 60.0 % (+50.0 %, 95 % interval +39.2 … +60.6 %), limit +5 %\n"))):
        status, out, err = run("-r", "cpu_sample_sum", "--fail-if", "share>+5%", f"{name}1.sqlite", f"{name}2.sqlite")
        check(f"a share of {name} samples", (status, err) == expected, status, err)
    check("with -q, only a failure is told", run("-q", "-r", "cpu_sample_sum", "--fail-if", "share>+5%", "few1.sqlite", "few2.sqlite")[::2] == (0, ""))
    check("a share of one sample that is gone", condition_of_share("one", {"work": 1}, {"other": 1}) == 0)
    check("a share of a hundred that is gone", condition_of_share("all", {"work": 100}, {"other": 100}) == 1)


def condition_of_share(name, before, after):
    """The status of a condition that fails if a function took less of the time by more than half."""
    files = [make_samples(f"{name}{i}.sqlite", "/home/me", functions) for i, functions in enumerate((before, after))]
    return run("-q", "-r", "cpu_sample_sum", "--fail-if", "share<-50%", *files)[0]


def check_sizes():
    """Sizes have their unit in the table, in the sum and in a failure, and changes their sign."""
    for path, sizes in (("m1.sqlite", (1000000, 2000000)), ("m2.sqlite", (2000000, 4500000))):
        made = lib.Made(path)
        for i, size in enumerate(sizes):
            made.add("CUPTI_ACTIVITY_KIND_MEMCPY", start=i * 100, end=i * 100 + 10, deviceId=0, contextId=1, streamId=7, bytes=size, copyKind=1 + i, correlationId=i, globalPid=1 << 24)
        made.write()
    words = ["-r", "cuda_gpu_mem_size_sum", "--fail-if", "total>+5%", "m1.sqlite", "m2.sqlite"]
    status, out, err = run("-f", "human", *words)
    check("sizes for people", "+2.500 MB" in out and "+125.0 %" in out and "Total of all rows: 3.00 MB before, 6.50 MB after: +116.7 %" in out, out)
    check("sizes in a failure", (status, err) == (1, "FAILED cuda_gpu_mem_size_sum: total 3.00 MB → 6.50 MB (+116.7 %), limit +5 %\n"), status, err)
    check("sizes in columns", "Total of all rows: 3.000 MB before, 6.500 MB after: +116.7 %" in run("-f", "column", *words)[1])


def check_ranges():
    make("r.sqlite", {"square": [100, 100], "multiply": [130, 160]}, [("first", 0, 205), ("second", 215, 600)])
    got = {row["Name"]: (row["Before (ns)"], row["After (ns)"], row["Note"]) for row in rows("--range", "first", "--range", "second", "r.sqlite")}
    check("two ranges of one report", got == {"square": ("200", "", "gone"), "multiply": ("", "290", "new")}, got)
    for wrong in (["--range", "first", "r.sqlite"], ["--range", "first", "--range", "nobody", "r.sqlite"], ["--range", "a", "--range", "b", "r.sqlite", "r.sqlite"],
                  ["a.sqlite"], [], ["a.sqlite", "b.sqlite", "r.sqlite"], ["a.sqlite", "--"], ["--", "a.sqlite"], ["a.sqlite", "gone.sqlite"], ["-r", "nothing", "a.sqlite", "b.sqlite"],
                  ["-c", "colour", "-r", "osrt_sum", "a.sqlite", "b.sqlite"], ["-r", "vulkan_api_sum", "a.sqlite", "b.sqlite"]):
        status, out, err = run("-q", *wrong)
        check(f"{wrong} is one sentence", status in (1, 2) and err.count("\n") == 1, status, err)


def check_names():
    """A report of another name: a word that is in many names suggests none of them, and the list is that of stats."""
    status, out, err = run("-r", "summary", "a.sqlite", "b.sqlite")
    check("no suggestion", (status, err) == (2, "tacho diff: unknown report 'summary'; tacho stats --help-reports lists the names\n"), status, err)


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        check_pair()
        check_conditions()
        check_samples()
        check_nested()
        check_nothing()
        check_output()
        check_run()
        check_names()
        check_noise()
        check_shift()
        check_shares()
        check_sizes()
        check_ranges()
    sys.exit(failures != 0)


main()
