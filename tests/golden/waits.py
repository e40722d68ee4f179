"""What threads waited for and why GPUs were idle: thread_wait_sum and gpu_idle_sum against sums over moments, worked out here from the rows."""

import collections
import os
import random
import re
import sys
import tempfile

import lib
from lib import check, output, table

PROCESS = (7 << 24) | (1 << 48)
MAIN, OTHER = PROCESS | 7, PROCESS | 8


# ---- made reports ----

class Report(lib.Made):
    def os_call(self, thread, start, end, name, chain=0, holder=None):
        self.add("OSRT_API", start=start, end=end, eventClass=27, globalTid=thread, nameId=self.text(name), returnValue=0, callchainId=chain,
                 lockHolder=holder)

    def cuda_call(self, thread, start, end, name, correlation):
        self.add("CUPTI_ACTIVITY_KIND_RUNTIME", start=start, end=end, eventClass=0, globalTid=thread, correlationId=correlation,
                 nameId=self.text(name), returnValue=0)

    def kernel(self, start, end, correlation, device=0):
        self.add("CUPTI_ACTIVITY_KIND_KERNEL", start=start, end=end, deviceId=device, contextId=1, streamId=7, correlationId=correlation,
                 globalPid=PROCESS, shortName=self.text("k"), demangledName=self.text("k"))

    def sample(self, thread, time, *stack):
        """Native; frames from the innermost on."""
        number = len(self.rows.get("COMPOSITE_EVENTS", [])) + 1
        self.add("COMPOSITE_EVENTS", id=number, start=time, cpu=0, threadState=1, globalTid=thread, cpuCycles=1)
        for depth, (name, module) in enumerate(stack):
            self.add("SAMPLING_CALLCHAINS", id=number, symbol=self.text(name), module=self.text(module), stackDepth=depth, unresolved=0)

    def python(self, thread, time, function, line):
        number = len(self.rows.get("TACHO_PYTHON_SAMPLE", [])) + 1
        self.add("TACHO_PYTHON_SAMPLE", start=time, globalTid=thread, threadState=1, gil=0, callchainId=number)
        self.add("TACHO_PYTHON_CALLCHAINS", id=number, symbol=self.text(function), module=self.text("/me/train.py"), stackDepth=0, line=line)

    def range(self, thread, start, end, name):
        self.add("NVTX_EVENTS", start=start, end=end, eventType=59, text=name, globalTid=thread, domainId=0)

    def switch(self, thread, out, back, state=0):
        self.add("SCHED_EVENTS", start=out, cpu=0, isSchedIn=0, globalTid=thread, threadState=state)
        self.add("SCHED_EVENTS", start=back, cpu=0, isSchedIn=1, globalTid=thread, threadState=0)


# ---- what each thread waited for ----

def check_waits(folder):
    """A lock, a sleep and a read inside another call; 60 of the read's 100 ns were off the CPU, and 30 ns outside of any call."""
    report = Report(os.path.join(folder, "waits.sqlite"))
    report.os_call(MAIN, 100, 400, "pthread_mutex_lock", chain=1, holder=OTHER)
    report.os_call(MAIN, 500, 700, "pthread_mutex_lock", chain=2)
    report.os_call(MAIN, 800, 900, "read")
    report.os_call(MAIN, 820, 840, "mmap")  # inside
    report.os_call(OTHER, 0, 900, "nanosleep", chain=1)
    report.os_call(OTHER, 900, 1000, "mtx_lock", holder=MAIN)
    report.add("OSRT_API", start=0, end=5000, eventClass=26, globalTid=MAIN, nameId=report.text("a note of nsys"), returnValue=0, callchainId=0)
    inner = {1: ("__lll_lock_wait", "/lib/libc.so.6", "/build/lock.c"), 2: ("std::mutex::lock()", "/bin/program", "/usr/include/c++/12/bits/std_mutex.h")}
    for chain, caller in ((1, "work"), (2, "other work")):
        for depth, (name, module, source) in enumerate((inner[chain], (caller, "/bin/program", "/c++/a.cpp"), ("main", "/bin/program", "/c++/a.cpp"))):
            report.add("OSRT_CALLCHAINS", id=chain, symbol=report.text(name), module=report.text(module), stackDepth=depth, unresolved=0,
                       sourceFile=report.text(source), sourceLine=9)
    report.switch(MAIN, 830, 890)
    report.switch(MAIN, 950, 980)
    report.switch(MAIN, 990, 995, state=6)
    report.add("ThreadNames", nameId=report.text("main thread"), priority=0, globalTid=MAIN)
    path = report.write()

    def rows(name, *columns):
        return [tuple(row[column] for column in columns) for row in table(name, path)]

    check("what each thread waited for",
          [(900, 1, 900, 0, 8, "nanosleep", "", "work (a.cpp:9)"), (300, 1, 300, 0, 7, "pthread_mutex_lock", "8", "work (a.cpp:9)"),
           (200, 1, 200, 0, 7, "pthread_mutex_lock", "", "other work (a.cpp:9)"), (100, 1, 100, 60, 7, "read", "", ""),
           (100, 1, 100, 0, 8, "mtx_lock", "main thread (7)", ""), (30, 1, 30, 30, 7, "[off CPU outside of recorded calls]", "", ""),
           (5, 1, 5, 5, 7, "[preempted]", "", "")],
          rows("thread_wait_sum", "Total Time (ns)", "Count", "Max (ns)", "Off CPU (ns)", "TID", "Waited For", "Held By", "Where"))
    check("names of threads", {"main thread", ""}, {row["Thread"] for row in table("thread_wait_sum", path)})
    stack = "__lll_lock_wait (lock.c:9) < work (a.cpp:9) < main (a.cpp:9)"
    check("stacks", [("nanosleep", stack), ("pthread_mutex_lock", stack)],
          rows("thread_wait_sum:stack", "Waited For", "Stack")[:2])
    check("one thread", {"nanosleep", "mtx_lock"}, {row["Waited For"] for row in table("thread_wait_sum", path, "--filter-tid", "8")})


def check_pools(folder):
    """Threads of one name share a row where they wait for the same; the main thread, another process and other names do not."""
    report, other = Report(os.path.join(folder, "pools.sqlite")), (9 << 24) | (1 << 48)
    threads = {MAIN: "pool", PROCESS | 10: "pool", PROCESS | 11: "pool", PROCESS | 12: "pool", PROCESS | 13: "reader", other | 14: "pool"}
    for thread, name in threads.items():
        report.add("ThreadNames", nameId=report.text(name), priority=0, globalTid=thread)
        report.os_call(thread, 0, 100 + (thread & 255), "sem_wait")
    report.os_call(PROCESS | 10, 500, 700, "sem_wait")
    report.os_call(PROCESS | 11, 500, 590, "read")
    for thread in (20, 21):  # without a name
        report.os_call(PROCESS | thread, 0, 50, "poll")
    path = report.write()
    columns = ("Total Time (ns)", "Count", "Avg (ns)", "Max (ns)", "PID", "TID", "Threads", "Thread", "Waited For")
    check("threads of one name",
          [(110 + 111 + 112 + 200, 4, 133.3, 200, 7, "", 3, "pool", "sem_wait"), (114, 1, 114, 114, 9, 14, 1, "pool", "sem_wait"),
           (113, 1, 113, 113, 7, 13, 1, "reader", "sem_wait"), (107, 1, 107, 107, 7, 7, 1, "pool", "sem_wait"),
           (100, 2, 50, 50, 7, "", 2, "", "poll"), (90, 1, 90, 90, 7, 11, 1, "pool", "read")],
          [tuple(row[column] for column in columns) for row in table("thread_wait_sum:fold=true", path)])
    check("each thread", 9, len(table("thread_wait_sum:fold=false", path)))
    check("as without the option", table("thread_wait_sum", path), table("thread_wait_sum:fold=false", path))
    check("no number of threads then", False, "Threads" in table("thread_wait_sum", path)[0])
    check("with stacks", 6, len(table("thread_wait_sum:fold=true:stack", path)))
    check("for people", True, "Threads" in output("stats", "-q", "-f", "human", "-r", "thread_wait_sum", path))


# ---- why a GPU was idle ----

def check_story(folder):
    """A gap of each kind, one after the other, with the figures that it was made for."""
    us = 1000
    report = Report(os.path.join(folder, "story.sqlite"))
    for number in range(9):  # a kernel at the end of each millisecond; its launch ends 10 us before it begins
        at = (number + 1) * 1000 * us
        report.kernel(at, at + 100 * us, number + 1)
        report.cuda_call(MAIN if number != 8 else OTHER, at - 15 * us, at - 10 * us, "cudaLaunchKernel_v7000", number + 1)
    report.cuda_call(MAIN, 1100 * us, 1900 * us, "cudaStreamSynchronize_v3020", 101)
    report.os_call(MAIN, 1200 * us, 1300 * us, "poll")  # inside of that call
    report.os_call(MAIN, 2100 * us, 2985 * us, "clock_nanosleep")
    for time in range(2150, 3000, 50):
        report.python(MAIN, time * us, "load", 12)
    report.cuda_call(MAIN, 3100 * us, 3985 * us, "cudaMalloc_v3020", 103)
    for time in range(4150, 5000, 50):
        report.python(MAIN, time * us, "augment", 40)
    for time in range(5150, 6000, 50):
        report.sample(MAIN, time * us, ("memcpy", "/lib/libc.so.6"), ("shuffle", "/bin/program"))
    report.range(MAIN, 6100 * us, 6985 * us, "epoch")
    report.range(MAIN, 6200 * us, 6885 * us, "shuffle")
    report.switch(MAIN, 7100 * us, 7985 * us)
    report.os_call(OTHER, 8100 * us, 8500 * us, "read")
    report.os_call(MAIN, 8100 * us, 9000 * us, "futex")  # of a thread that did not launch what came next
    path = report.write()
    rows = {}
    for row in table("gpu_idle_sum:detail", path):
        key = (row["Cause"], row["What"], row["Where"])
        check("a cause comes once", False, key in rows)
        rows[key] = row["Total Time (ns)"] // us
    check("why the GPU was idle", {
        ("launch latency", "", ""): 8 * 10,
        ("CUDA synchronization", "cudaStreamSynchronize", ""): 800,
        ("OS call", "clock_nanosleep", "load (train.py:12)"): 885,
        ("CUDA call", "cudaMalloc", ""): 885,
        ("range", "epoch", ""): 200,
        ("range", "shuffle", ""): 685,
        ("off CPU", "blocked", ""): 885,
        ("OS call", "read", ""): 400,
    }, {key: total for key, total in rows.items() if key[0] in ("launch latency", "CUDA synchronization", "range", "off CPU") or
        key[1] in ("clock_nanosleep", "cudaMalloc", "read")})
    check("Python and native code take what is left of their gaps", (True, True),
          (840 <= rows[("Python", "augment (train.py:40)", "")] <= 885, 840 <= rows[("native code", "memcpy", "shuffle")] <= 885))
    check("all of it", 8 * 900, sum(rows.values()))
    check("shares", 100, round(sum(row["Time (%)"] for row in table("gpu_idle_sum:detail", path))))
    check("longer gaps only", [], table("gpu_idle_sum:detail:gap=901", path))
    check("the range of the longest", {"shuffle"}, {row["Range"] for row in table("gpu_idle_sum:detail", path) if row["What"] == "shuffle"})
    return path


def spans_of_samples(times):
    """From half way to the sample before to half way to the next, and no further than they usually are apart."""
    apart = [b - a for a, b in zip(times, times[1:])]
    reach = sorted(apart)[len(apart) // 2] if apart else 10 ** 6
    return [(time - min(reach, (time - times[i - 1]) // 2) if i else time - reach,
             times[i + 1] - (times[i + 1] - time) // 2 if i + 1 < len(times) and times[i + 1] - time < 2 * reach else time + reach)
            for i, time in enumerate(times)]


def outermost(spans):
    """Of spans (start, end, name) the ones that none of the others holds, cut where they overlap."""
    out, end = [], -10 ** 18
    for start, stop, name in sorted(spans, key=lambda span: (span[0], -span[1])):
        if stop > end:
            out.append((max(start, end), stop, name))
            end = stop
    return out


def check_random(folder, seed):
    """Anything at any time: each moment between two bounds has the first cause that holds it."""
    dice, report = random.Random(seed), Report(os.path.join(folder, "random.sqlite"))
    layers = {kind: [] for kind in ("CUDA synchronization", "CUDA call", "OS call", "Python", "native code")}
    at, calls, gaps, last = 1000, [], [], None
    for number in range(40):
        at += dice.randrange(20000, 400000)
        length = dice.randrange(1000, 50000)
        launched = at - dice.randrange(0, 30000)
        report.kernel(at, at + length, number + 1)
        name = dice.choice(("cudaLaunchKernel_v7000", "cudaMemcpy_v3020"))
        begin = launched - dice.randrange(1, 20000)
        report.cuda_call(MAIN, begin, launched, name, number + 1)
        calls.append((begin, launched, name[:name.index("_")]))
        if last is not None and at - last >= 50000:
            gaps.append((last, at, launched))
        last = at + length
        at = last
    for start, end, name in outermost(calls):
        layers["CUDA synchronization" if name == "cudaMemcpy" else "CUDA call"].append((start, end, name))
    spans = []
    for _ in range(60):
        start = dice.randrange(0, at)
        end = start + dice.randrange(1, 200000)
        name = dice.choice(("poll", "read"))
        report.os_call(MAIN, start, end, name)
        spans.append((start, end, name))
    layers["OS call"] = outermost(spans)
    for kind, count in (("Python", 30), ("native code", 60)):
        times = sorted(dice.sample(range(0, at), count))
        names = [dice.choice(("f", "g")) for _ in times]
        for time, name in zip(times, names):
            if kind == "Python":
                report.python(MAIN, time, name, 5)
            else:
                report.sample(MAIN, time, (name, "/bin/program"))
        layers[kind] = [span + (name + (" (train.py:5)" if kind == "Python" else ""),) for span, name in zip(spans_of_samples(times), names)]
    expected, in_gaps = collections.Counter(), collections.defaultdict(collections.Counter)
    for start, end, launched in gaps:
        bounds = {start, end, min(max(launched, start), end)}
        bounds |= {bound for spans in layers.values() for span in spans for bound in span[:2] if start < bound < end}
        bounds = sorted(bounds)
        for a, b in zip(bounds, bounds[1:]):
            cause = ("launch latency", "") if a >= launched else next(
                ((kind, span[2]) for kind, spans in layers.items() for span in spans if span[0] <= a and b <= span[1]), ("unknown", ""))
            expected[cause] += b - a
            in_gaps[cause][start] += b - a
    got, rows = collections.Counter(), table("gpu_idle_sum:detail:gap=50", report.write())
    for row in rows:
        got[(row["Cause"], row["What"])] += row["Total Time (ns)"]
    check(f"causes of anything, seed {seed}", dict(expected), dict(got))
    once = collections.Counter((row["Cause"], row["What"]) for row in rows)  # several rows: of several places
    check(f"the gap with most of each, seed {seed}", {cause: (len(lengths), max(lengths.values())) for cause, lengths in in_gaps.items() if once[cause] == 1},
          {(row["Cause"], row["What"]): (row["Gaps"], row["Max (ns)"]) for row in rows if once[row["Cause"], row["What"]] == 1})


def check_threads(folder):
    report = Report(os.path.join(folder, "threads.sqlite"))
    report.os_call(MAIN, 0, 600, "sleep")
    report.range(MAIN, 600, 900, "work")
    report.os_call(OTHER, 0, 5000, "read")
    report.os_call(MAIN, 950, 1000, "write")
    report.add("ThreadNames", nameId=report.text("python3"), priority=0, globalTid=MAIN)
    path = report.write()
    expected = [("OS call", "sleep", 600, 60.0), ("range", "work", 300, 30.0), ("OS call", "write", 50, 5.0), ("unknown", "", 50, 5.0)]
    for name in ("7", "python3"):
        rows = [(row["Cause"], row["What"], row["Total Time (ns)"], row["Time (%)"]) for row in table(f"gpu_idle_sum:thread={name}", path)]
        check("what a thread did", expected, rows)
    check("without a GPU", True, "thread=" in output("stats", "-r", "gpu_idle_sum", path))
    check("a thread that is not there", True, "has no thread" in output("stats", "-r", "gpu_idle_sum:thread=99", path))


def check_hostile(folder):
    """Numbers that no capture has: every report and flame graph ends in good order, whatever it says."""
    dice = random.Random(11)
    numbers = (0, 1, -1, 7, 1000, MAIN, OTHER, 2 ** 31, 2 ** 63 - 1, -2 ** 63, 2 ** 62, -2 ** 62)
    report = lib.Made(os.path.join(folder, "hostile.sqlite"))
    texts = [report.text(text) for text in ("", "a", "\x01;\n", "b" * 5000, "poll")]
    tables = {
        "OSRT_API": "start end eventClass globalTid nameId callchainId lockHolder", "OSRT_CALLCHAINS": "id symbol module unresolved stackDepth sourceLine",
        "CUPTI_ACTIVITY_KIND_RUNTIME": "start end globalTid correlationId nameId callchainId",
        "CUPTI_ACTIVITY_KIND_KERNEL": "start end deviceId streamId correlationId globalPid", "SCHED_EVENTS": "start cpu isSchedIn globalTid threadState",
        "COMPOSITE_EVENTS": "id start threadState globalTid cpuCycles", "SAMPLING_CALLCHAINS": "id symbol module unresolved stackDepth sourceFile sourceLine",
        "TACHO_PYTHON_SAMPLE": "start globalTid threadState gil callchainId", "TACHO_PYTHON_CALLCHAINS": "id symbol module stackDepth line",
        "NVTX_EVENTS": "start end eventType textId globalTid", "TACHO_TORCH_OP": "start end globalTid nameId", "ThreadNames": "nameId globalTid",
    }
    for name, columns in tables.items():
        for _ in range(60):
            row = {column: dice.choice(texts if column in ("symbol", "module", "nameId", "textId", "sourceFile") else numbers) for column in columns.split()}
            report.add(name, **{column: dice.choice((value, value, value, None)) for column, value in row.items()})
        report.add(name, **{column: 59 if column == "eventType" else 27 if column == "eventClass" else 1 for column in columns.split()})
    path = report.write()
    for name in ("cpu_sample_sum", "cpu_sample_sum:lines:waiting", "cpu_topdown:thread:min=0", "cpu_bottomup:min=0", "cpu_sample_sum:python:module",
                 "thread_wait_sum", "thread_wait_sum:stack", "thread_wait_sum:fold=true", "gpu_idle_sum:gap=0", "gpu_idle_sum:detail", "gpu_idle_sum:thread=7", "gpu_idle_sum:thread=a"):
        output("stats", "-q", "-f", "json", "-r", name, path)
        output("stats", "-q", "-f", "json", "-r", name, "--filter-time", "-5/100", "--filter-tid", "7", path)
    for kind in ("folded", "speedscope", "pprof", "svg"):
        output("export", "-q", "-f", "true", "-t", kind, "--waiting", "-o", os.path.join(folder, "hostile.out"), path)


def check_lines(trace):
    """Python was recorded: nearly all of the idle time has a cause and a line, and the sum is what GPUs did not work."""
    rows, busy = table("gpu_idle_sum", trace), table("cuda_gpu_busy", trace)
    whole = sum(row["Total Time (ns)"] for row in rows)
    check("all idle time is in a row", sum(row["Span (ns)"] - row["Busy Time (ns)"] for row in busy), whole)
    explained = sum(row["Total Time (ns)"] for row in rows if row["Cause"] != "unknown" and re.search(r"\.py:\d+", row["Where"]))
    check("at least 90 % has a cause and a line", True, explained >= 0.9 * whole)
    check("the largest cause", "launch-bound", rows[0]["Cause"])
    check("a short table", True, len(rows) <= 15)
    check("lines without addresses", [], [row["Where"] for row in rows if " at 0x" in row["Where"]])


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_waits(folder)
        check_pools(folder)
        check_story(folder)
        for seed in range(4):
            check_random(folder, seed)
        check_threads(folder)
        check_hostile(folder)
        capture = os.path.join(folder, "mnist_like.sqlite")
        lib.unpack_mnist_like(capture)
        rows = table("gpu_idle_sum", capture)
        whole, unknown = (sum(row["Total Time (ns)"] for row in rows if row["Cause"] in causes) for causes in ({row["Cause"] for row in rows}, {"unknown"}))
        check("of nsys's capture at least 95 % has a cause", True, 0 < whole and unknown <= 0.05 * whole)
        trace = os.path.join(lib.KINETO, "train.json.gz")
        check("names without addresses", [], [row["What"] for row in table("gpu_idle_sum:detail", trace) if " at 0x" in row["What"] + row["Where"]])
        check_lines(trace)
    return lib.status()


if __name__ == "__main__":
    sys.exit(main())
