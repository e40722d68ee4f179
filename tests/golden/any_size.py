"""Answers of long captures, which come from a window of typical steps: the same findings as those of all steps, in the same order, on five captures of tests/pairs whose
recorded steps are repeated (one of the five without TACHO_TEST_ALL) and on a made one. The numbers of the steps are those of the run. And captures that have no window
of steps: of one step, of steps that get longer, of two loops, of a program that forks, cut by a kill, without anything that repeats, with steps of 20 µs and of 20
minutes: an answer says what it is from."""

import json
import os
import random
import re
import sqlite3
import sys
import tempfile

import lib
from lib import HERE, check, output, refusal

LONG = ("LossItem", *(("ChannelsFirst", "PageableCopy", "SmallNetwork", "Synchronize", "NanCheck") if lib.ALL else ()))
EVENTS = 130000  # calls and GPU work that a long capture has at least: more than a window
NUMBERS = ("correlationId", "externalId", "recordFunctionId", "sequenceNumber", "gridId", "eventIndex")
ONCE = ("TACHO_", "META_", "TARGET_", "PROCESSES", "ThreadNames", "ANALYSIS_DETAILS", "StringIds", "ENUM_", "sqlite_", "DIAGNOSTIC", "EXPORT_")
REPEATED = ("TACHO_TORCH_OP", "TACHO_TORCH_LINK", "TACHO_TORCH_MEMORY", "TACHO_PYTHON_SAMPLE")
KERNEL, CALL = "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME"
WORK = (KERNEL, "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET", "CUPTI_ACTIVITY_KIND_GRAPH_TRACE")


# ---- captures of tests/pairs, made long ----

def traced_steps(pair):
    """The longest row of recorded steps of a capture: begin of the first, begin of the last, how many lie between."""
    rows = lib.table("step_sum", pair)
    runs, last = [], None
    for row in rows:
        if last is None or row["Step"] != last + 1:
            runs.append([])
        runs[-1].append(row["Start (ns)"])
        last = row["Step"]
    longest = max(runs, key=len)
    return longest[0], longest[-1], len(longest) - 1


def make_long(name, out, times=None):
    """Repeats what a capture recorded in those steps, with correlation ids of its own each time. Returns the number of steps. Work on the GPU belongs to the step that
    launched it: in a program that is ahead of the GPU, that of the last step begins after it, and without its work it would be no step."""
    pair = os.path.join(HERE, "pairs", f"{name}-faulty.tacho")
    begin, end, steps = traced_steps(pair)
    output("export", "-q", "-f", "true", "-o", "pair.sqlite", pair)
    database = sqlite3.connect("pair.sqlite")
    database.execute("DELETE FROM TACHO_STEP_TIME")
    events = sum(database.execute(f"SELECT count(*) FROM {table} WHERE start BETWEEN ? AND ?", (begin, end)).fetchone()[0] for table in (KERNEL, CALL))
    times = times or EVENTS // events + 1
    database.execute(f"CREATE TEMP TABLE launched AS SELECT correlationId FROM {CALL} WHERE start >= ? AND start < ?", (begin, end))
    for table, in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
        time = next((column for column in ("start", "timestamp") if column in columns), None)
        if time is None or (table.startswith(ONCE) and table not in REPEATED):
            continue
        if table in WORK:
            database.execute(f"DELETE FROM {table} WHERE correlationId NOT IN launched")
        else:
            database.execute(f"DELETE FROM {table} WHERE {time} < ? OR {time} >= ?", (begin, end))
        values = [f"{column} + n * {end - begin}" if column in (time, "end") else f"{column} + n * 100000000" if column in NUMBERS else column for column in columns]
        database.execute(f"INSERT INTO {table} SELECT {', '.join(values)} FROM {table}, (WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < {times - 1}) SELECT n FROM r)")
    database.commit()
    database.close()
    output("import", "-q", "-f", "true", "-o", out, "pair.sqlite")
    return steps * times


def findings(file, *options):
    """What advice_sum says: rule, place and saving of each finding."""
    rows = json.loads(output("analyze", "-q", "-f", "json", *options, file))["advice_sum"]
    return [(row["Rule"], row["Where"], row["Saves per Step (ns)"]) for row in rows]


def step_line(file):
    return next((line.strip() for line in lib.summary(file).splitlines() if line.startswith(("  step ", "  the GPU's part", "  the middle"))), None)


def check_same(file):
    window, whole = findings(file), findings(file, "--all-steps")
    check(f"{file}: findings in their order", [row[:2] for row in whole], [row[:2] for row in window])
    check(f"{file}: something is found", True, bool(whole))
    for (rule, where, about), (_, _, of_window) in zip(whole, window):
        if about and of_window:
            check(f"{file}: {rule} {where} saves {of_window}, of all steps {about}: within 15 %", True, abs(of_window - about) <= 0.15 * about)


def check_long_captures():
    for name in LONG:
        steps = make_long(name, f"{name}.tacho")
        line = step_line(f"{name}.tacho")
        numbers = re.search(r"from steps ([\d,]+) to ([\d,]+) of ([\d,]+) by ", line or "")
        check(f"{name}: {line}", True, bool(numbers))
        if numbers:
            first, last, of = (int(number.replace(",", "")) for number in numbers.groups())
            check(f"{name}: {line}: steps of the run", steps, of)
            check(f"{name}: {line}: steps that are in it", True, 0 <= first < last < steps)
        if name != "LossItem":  # two lines of it have as many launches: which of them launch_bound names depends on a few samples
            check_same(f"{name}.tacho")


# ---- made ones ----

class Loop(lib.Made):
    """Steps of a program in C++: one thread launches kernels, each a while after the other, and waits for them at the end."""

    def __init__(self, path):
        super().__init__(path)
        self.correlation = self.steps = 0
        self.now, self.random = {}, None
        self.add("TARGET_INFO_GPU", id=0, cuDevice=0, name="NVIDIA H200", chipName="GH100", smMajor=9, smMinor=0)

    def call(self, process, name, start, end):
        self.correlation += 1
        self.add(CALL, start=start, end=end, globalTid=process << 24 | process, correlationId=self.correlation, nameId=self.text(name))

    def step(self, kernels, length, names="kernel", process=1):
        start = self.now.get(process, 0)
        each = length // (kernels + 1)
        for number in range(kernels):
            at, name = start + each * number, self.text(f"{names}{self.random.randrange(2000) if self.random else number % 100}")
            self.call(process, "cudaLaunchKernel_v7000", at, at + each // 4)
            self.add(KERNEL, start=at + each // 2, end=at + each * 3 // 4, deviceId=0, contextId=1, streamId=7, correlationId=self.correlation, globalPid=process << 24,
                     demangledName=name, shortName=name, mangledName=name, gridX=1 + number // 100, gridY=1, gridZ=1, blockX=1, blockY=1, blockZ=1)
        self.call(process, "cudaStreamSynchronize_v3020", start + length - each, start + length - each // 2)
        self.now[process] = start + length
        self.steps += 1

    def step_behind(self, kernels, each, behind):
        """A step that waits for nothing: its kernels begin that long after their launches."""
        for number in range(kernels):
            at, name = self.now.get(1, 0), self.text("first" if number == 0 else "kernel")
            self.call(1, "cudaLaunchKernel_v7000", at, at + 3000)
            self.add(KERNEL, start=at + behind, end=at + behind + each - 1000, deviceId=0, contextId=1, streamId=7, correlationId=self.correlation,
                     globalPid=1 << 24, demangledName=name, shortName=name, mangledName=name, gridX=1000, gridY=1, gridZ=1, blockX=1, blockY=1, blockZ=1)
            self.now[1] = at + each

    def finish(self):
        self.write()
        made = self.path.replace(".sqlite", ".tacho")
        output("import", "-q", "-f", "true", "-o", made, self.path)
        return made


def check_line(what, file, pattern):
    line = step_line(file)
    check(f"{what}: {line}", True, bool(line and re.search(pattern, line)))


def check_made():
    loop = Loop("longer.sqlite")
    for number in range(2000):
        loop.step(40, 1000000 + 2000 * number)
    file = loop.finish()
    check_line("steps that get longer and longer: those of the middle", file, r"step [23]\.\d+ ms from steps [\d,]+ to [\d,]+ of 2,000 by")
    check_same(file)

    loop = Loop("two.sqlite")
    for epoch in range(4):
        for _ in range(300):
            loop.step(100, 2000000, "train")
        for _ in range(100):
            loop.step(20, 300000, "validate")
    check_line("two loops: the training", loop.finish(), r"step (2\.\d+|1\.9\d*) ms from steps .* by .*100 kernels")

    loop = Loop("fork.sqlite")
    for number in range(1500):
        loop.step(30, 1000000, process=1)
        loop.step(30, 1000000, process=2)
    check_line("a program that forks its loop", loop.finish(), r"step 1\.\d+ ms from steps [\d,]+ to [\d,]+ of 1,500 by")

    for what, length, pattern in (("20 µs", 20000, r"step (20|19)\.?\d* µs from steps [\d,]+ to [\d,]+ of 13,000 by"),
                                  ("20 minutes", 1200 * 10**9, r"step 20 min 00 s from steps [\d,]+ to [\d,]+ of 13,000 by")):
        loop = Loop("length.sqlite")
        for _ in range(13000):
            loop.step(5, length)
        check_line(f"steps of {what}", loop.finish(), pattern)


def check_behind():
    """The host is half a step ahead of the GPU, so that the work of the last step of a window begins after the window: it is read, too."""
    loop = Loop("behind.sqlite")
    for _ in range(60):
        loop.step_behind(2000, 50000, 50 * 10**6)
    check_line("a GPU that is behind the host", loop.finish(), r"step 100 ms from steps [\d,]+ to [\d,]+ of 60 by")


def check_without_window():
    loop = Loop("one.sqlite")
    loop.random = random.Random(1)
    loop.step(70000, 10**9)
    check_line("a run of one step with very many kernels", loop.finish(), r"^the middle of the GPU's work, \d+ ms of .*, without steps")

    loop = Loop("few.sqlite")
    for _ in range(3):
        loop.step(30000, 10**9)
    check_line("three long steps are read whole", loop.finish(), r"^step 1\.00 s over 3 steps by a sequence of 30000 kernels that repeats")

    file = os.path.join(HERE, "pairs", "LossItem-faulty.tacho")
    check("a range without a step", True, "no step 900" in refusal("analyze", "--steps", "900-", file))
    check_line("a range without a step: the run is one", file, "step ")


def check_cut():
    """A capture that a kill ended has no index and no end: its chunks are found by scanning."""
    with open("LossItem.tacho", "rb") as whole, open("cut.tacho", "wb") as cut:
        cut.write(whole.read()[:os.path.getsize("LossItem.tacho") * 6 // 10])
    check_line("a capture that was cut", "cut.tacho", r"step .* (from|over) ")


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        check_long_captures()
        check_made()
        check_behind()
        check_without_window()
        check_cut()
        os.chdir("/")
    return lib.status()


sys.exit(main())
