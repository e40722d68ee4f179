"""`tacho diff --advice` on programs that are simulated here, with a fault and without it: what was delivered is the difference of the simulated steps,
and what was promised is no less than that."""

import csv
import io
import json
import os
import sqlite3
import sys
import tempfile

import lib
from lib import check, output, refusal

PROCESS = (7 << 24) | (1 << 48)
THREAD = PROCESS | 7
STEPS, LAUNCHES = 12, 20
CALL, KERNEL, PAUSE, GAP = 5000, 50000, 500000, 1000  # ns


class Capture:
    """A host and a GPU with one stream, in time order, as an export of nsys."""

    def __init__(self):
        self.now = self.free = 0
        self.calls, self.kernels, self.ranges, self.names = [], [], [], {}

    def name(self, text):
        return self.names.setdefault(text, len(self.names) + 1)

    def call(self, name, end):
        self.calls.append((self.now, end, THREAD, len(self.calls) + 1, self.name(name)))
        self.now = end

    def launch(self):
        start = max(self.now + CALL, self.free + GAP)
        self.free = start + KERNEL
        self.kernels.append((start, self.free, len(self.calls) + 1, self.name("work")))
        self.call("cudaLaunchKernel", self.now + CALL)

    def write(self, path):
        database = sqlite3.connect(path)
        database.executescript(
            "CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);"
            "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER, returnValue INTEGER);"
            "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER,"
            " globalPid INTEGER, demangledName INTEGER, shortName INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER);"
            "CREATE TABLE NVTX_EVENTS(start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER, domainId INTEGER);")
        database.executemany("INSERT INTO StringIds VALUES (?, ?)", [(number, text) for text, number in self.names.items()])
        database.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 0, ?, ?, ?, 0)", self.calls)
        database.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 1, 7, ?, ?, ?, ?, 1000, 1, 1, 256, 1, 1)",
                             [(start, end, number, PROCESS, name, name) for start, end, number, name in self.kernels])
        database.executemany("INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, ?, ?, 0)", [(start, end, text, THREAD) for start, end, text in self.ranges])
        database.commit()
        database.close()
        return path


def simulate(path, waits):
    """Each step launches its kernels and does other work for a while; a faulty one waits for its kernels in between. Returns the time of a step, from the
    completion of one to that of the next."""
    capture, ends = Capture(), []
    for step in range(STEPS):
        start = capture.now
        for _ in range(LAUNCHES):
            capture.launch()
        if waits:
            capture.call("cudaStreamSynchronize", max(capture.now, capture.free) + 2000)
        ends.append(capture.free)
        capture.now += PAUSE
        capture.ranges.append((start, capture.now, f"step {step}"))
        ends[-1] = max(ends[-1], capture.now)
    capture.write(path)
    return (ends[-1] - ends[1]) / (STEPS - 2)


def compare(*arguments):
    document = json.loads(output("diff", "--advice", "-f", "json", *arguments))
    check("two tables", ["advice_step", "advice"], list(document))
    return document["advice_step"][0], document["advice"]


def states(rows):
    return {row["Rule"]: row["State"] for row in rows}


def check_captures():
    """Captures with the times of bare steps: what several findings promise together is no less than what each of them does."""
    for name in ("LossItem", "NanCheck", "PrintedLoss"):
        step, rows = compare(*(os.path.join(lib.HERE, "pairs", f"{name}-{side}.tacho") for side in ("faulty", "fixed")))
        most = max(row["Promised (ns)"] for row in rows if row["State"] == "gone")
        check(f"{name}: times are of bare steps", "bare step", step["Times Of"])
        check(f"{name}: {step['Promised (ns)']} ns together, {most} ns at most", True, step["Promised (ns)"] >= most)
        if step["Findings Gone"] == 1:
            check(f"{name}: one finding promised all of it", most, step["Promised (ns)"])


def main():
    check_captures()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        faulty, fixed = simulate("faulty.sqlite", True), simulate("fixed.sqlite", False)
        saved = faulty - fixed
        check("the simulated repair saves a third of the step", True, saved > 0.3 * faulty)

        step, rows = compare("faulty.sqlite", "fixed.sqlite")
        delivered = step["Delivered (ns)"]
        print(f"simulated {faulty:.0f} ns and {fixed:.0f} ns, saved {saved:.0f}; compared: {step}")
        check("the wait is gone", "gone", states(rows).get("result_waits"))
        check("what was delivered, to 2 % of the step", True, abs(delivered - saved) <= 0.02 * faulty)
        check("delivered is before less after", step["Before (ns)"] - step["After (ns)"], delivered)
        check("what is gone promised no less, to 2 % of the step", True, step["Promised (ns)"] >= delivered - 0.02 * faulty)
        check("times are of recorded steps", "recorded step", step["Times Of"])
        gone = [row for row in rows if row["State"] == "gone" and row["Promised (ns)"] is not None]
        check("findings gone", step["Findings Gone"], len(gone))
        if len(gone) == 1:
            check("one finding delivered all of it", delivered, gone[0]["Delivered (ns)"])
            check("and promised all of it", step["Promised (ns)"], gone[0]["Promised (ns)"])
        check("gone is what was found before and not after", True,
              {row["Rule"] for row in lib.table("advice_sum", "faulty.sqlite")} >= {row["Rule"] for row in gone})

        back, rows = compare("fixed.sqlite", "faulty.sqlite")
        check("the wait is new", "new", states(rows).get("result_waits"))
        check("the step is longer", -delivered, back["Delivered (ns)"])

        same, rows = compare("faulty.sqlite", "faulty.sqlite")
        check("nothing changed", (0, 0, {"remains"}), (same["Delivered (ns)"], same["Findings Gone"], set(states(rows).values())))
        check("what is left is what was promised", [row["Promised (ns)"] for row in rows], [row["Left (ns)"] for row in rows])

        empty = sqlite3.connect("none.sqlite")
        empty.executescript("CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT); INSERT INTO StringIds VALUES (1, 'read');"
                            "CREATE TABLE OSRT_API(start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, nameId INTEGER, returnValue INTEGER, nestingLevel INTEGER, callchainId INTEGER);"
                            "INSERT INTO OSRT_API VALUES (0, 1000, 27, 16777217, 1, 0, 0, 0);")
        empty.close()
        lost, rows = compare("faulty.sqlite", "none.sqlite")
        check("a rule without data does not say that its finding is gone", ("not checked", 0, None), (states(rows).get("result_waits"), lost["Findings Gone"], lost["Delivered (ns)"]))

        text = output("diff", "--advice", "-f", "human", "faulty.sqlite", "fixed.sqlite")
        for words in ("The recorded step took", " less (", "promised", "\nNext: "):
            check(f"for people: {words}", True, words in text)
        parts = output("diff", "--advice", "-q", "-f", "csv", "faulty.sqlite", "fixed.sqlite")
        tables = [list(csv.DictReader(io.StringIO(part))) for part in parts.split("State,", 1)[:1]]
        check("csv: the step", str(delivered), tables[0][0]["Delivered (ns)"])
        for wrong, says in ((("-r", "osrt_sum"), "of its own"), (("--fail-if", "wall>5%"), "of its own")):
            check(f"--advice {wrong}", True, says in refusal("diff", "--advice", *wrong, "faulty.sqlite", "fixed.sqlite"))
        check("two runs", True, "two runs" in refusal("diff", "--advice", "faulty.sqlite", "faulty.sqlite", "--", "fixed.sqlite"))
        os.chdir("/")
    return lib.status()


sys.exit(main())
