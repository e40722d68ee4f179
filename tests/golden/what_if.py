"""tacho what-if: captures of nsys and PyTorch replay to the time that their events took; and programs that are simulated here, once as they are
and once changed: what the replay of the first predicts is what the second takes."""

import glob
import json
import os
import random
import re
import shutil
import sqlite3
import sys
import tempfile

import lib
from lib import check, output, refusal

PROCESS = (7 << 24) | (1 << 48)
THREAD = PROCESS | 7


def what_if(path, *changes):
    """Rows by their names."""
    return {row["What If"]: row for row in json.loads(output("what-if", "-f", "json", *changes, path))}


def run_ns(path, *changes):
    """Unchanged, and with all changes."""
    rows = what_if(path, *changes)
    return rows["unchanged"]["Run (ns)"], list(rows.values())[-1]["Run (ns)"]


# ---- captures ----

def nsys_span(path):
    database = sqlite3.connect(path)
    tables = {name for name, in database.execute("SELECT name FROM sqlite_master")}
    spans = [database.execute(f"SELECT min(start), max(end) FROM CUPTI_ACTIVITY_KIND_{kind}").fetchone()
             for kind in ("RUNTIME", "KERNEL", "MEMCPY", "MEMSET") if f"CUPTI_ACTIVITY_KIND_{kind}" in tables]
    spans = [span for span in spans if span[0] is not None]
    return max(end for _, end in spans) - min(start for start, _ in spans)


def trace_span(path):
    kinds = ("cuda_runtime", "cuda_driver", "kernel", "gpu_memcpy", "gpu_memset")
    spans = [lib.trace_span(event) for event in lib.trace_events(path) if event.get("cat") in kinds]
    return max(end for _, end in spans) - min(start for start, _ in spans)


def path_ns(path):
    return sum(row["Total Time (ns)"] for row in json.loads(output("what-if", "-f", "json", path)))


def check_capture(name, path, span, most_waits=None):
    unchanged, without_waits = run_ns(path, "--no-wait", "all")
    saves = (unchanged - without_waits) / unchanged
    print(f"{name}: {span / 1e6:.3f} ms, replayed {unchanged / 1e6:.3f} ms ({100 * (unchanged - span) / span:+.3f} %), waits {100 * saves:.2f} %")
    check(f"{name}: the replay takes as long as the run, to 2 %", True, abs(unchanged - span) <= 0.02 * span)
    check(f"{name}: a run without waits is not longer", True, without_waits <= unchanged)
    if most_waits is not None:
        check(f"{name}: the waits cost nothing", True, saves < most_waits)
    check(f"{name}: the critical path is as long as the run", unchanged, path_ns(path))


def check_captures(folder):
    for name, most_waits in (("mix", None), ("resnet18", 0.01), ("wait_stream", 0.01)):
        path = os.path.join(folder, name + ".sqlite")
        lib.unpack(os.path.join(lib.HERE, "nsys", name + ".sqlite.gz"), path)
        check_capture(name, path, nsys_span(path), most_waits)
    for name in ("train", "infer"):
        path = os.path.join(lib.KINETO, name + ".json.gz")
        check_capture(name, path, trace_span(path))
    path = os.path.join(folder, "mnist_like.sqlite")
    lib.unpack_mnist_like(path)
    check_capture("mnist_like", path, nsys_span(path))
    path = lib.OldCapture(os.path.join(folder, "old.sqlite")).write()
    check_capture("an nsys of 2022", path, nsys_span(path))


def check_launch_bound():
    """The GPU waits for the CPU all the time: faster kernels save nothing, and without the Python code it would be done in half the time."""
    path = os.path.join(lib.KINETO, "train.json.gz")
    rows = what_if(path, "--kernel", ".=0.5x", "--no-host", "all", "--no-host", "forward")
    check("faster kernels save nothing", 0, rows["--kernel .=0.5x"]["Saves (ns)"])
    check("less time on the CPU saves most of it", True, rows["--no-host all"]["Part of Run (%)"] > 50)
    check("forward is a part of that", True, 0 < rows["--no-host forward"]["Saves (ns)"] < rows["--no-host all"]["Saves (ns)"])
    check("both together save at least as much", True, rows["all of these"]["Saves (ns)"] >= rows["--no-host all"]["Saves (ns)"])
    steps = [lib.trace_span(event) for event in lib.trace_events(path)
             if event.get("cat") == "user_annotation" and event["name"].startswith("ProfilerStep#")]
    ends = sorted(end for _, end in steps)
    measured = (ends[-1] - ends[0]) / (len(ends) - 1)
    check("steps, to 2 %", True, abs(rows["unchanged"]["Step (ns)"] - measured) <= 0.02 * measured)


# ---- simulated programs ----

CALL, LATENCY, GAP, RETURN = 4000, 9000, 1000, 5000  # ns: a call, launch to start, work to work, end of work to return


def make_program(seed):
    """A list of (what, stream, time on the CPU before it, time on the GPU)."""
    chance = random.Random(seed)
    program = []
    for _ in range(400):
        what = chance.choices(("small", "large", "wait", "query"), (60, 20, 8, 12))[0]
        program.append((what, chance.choice((7, 8)), chance.randrange(1000, 40000),
                        {"small": chance.randrange(2000, 20000), "large": chance.randrange(20000, 300000)}.get(what, 0)))
    return program


def simulate(program, waits=True, large=1.0, host=1.0):
    """Runs it; the events, and how long it took."""
    now, free, events = 0, {7: 0, 8: 0}, []
    for what, stream, before, time in program:
        now += int(before * host) if events else 0
        start, now = now, now + CALL
        if what == "wait":
            now = max(start + 3000, free[stream] + RETURN if waits else 0)
        events.append((what, stream, start, now, 0, 0))
        if time:
            begin = max(start + LATENCY, free[stream] + GAP)
            free[stream] = begin + int(time * large) if what == "large" else begin + time
            events[-1] = (what, stream, start, now, begin, free[stream])
    return events, max(now, *free.values())


def write_program(path, events):
    made = lib.Made(path)
    names = {"wait": "cudaStreamSynchronize", "query": "cudaEventQuery"}
    made.add("TARGET_INFO_GPU", id=0, name=made.text("GPU"), smCount=100)
    for number, (what, stream, start, end, begin, done) in enumerate(events, 1):
        made.add("CUPTI_ACTIVITY_KIND_RUNTIME", start=start, end=end, eventClass=0, globalTid=THREAD, correlationId=number,
                 nameId=made.text(names.get(what, "cudaLaunchKernel")), returnValue=0)
        if what == "wait":
            made.add("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", start=start, end=end, deviceId=0, contextId=1, streamId=stream,
                     correlationId=number, globalPid=PROCESS, syncType=3, eventId=0)
        if done:
            made.add("CUPTI_ACTIVITY_KIND_KERNEL", start=begin, end=done, deviceId=0, contextId=1, streamId=stream, correlationId=number,
                     globalPid=PROCESS, shortName=made.text(what), demangledName=made.text(what + "<float>(int)"), gridX=1, gridY=1, gridZ=1)
    return made.write()


def check_predictions(folder):
    """The latencies of the simulation are constant, so that the typical ones, which the replay uses, are right."""
    changes = (("no waits", ("--no-wait", "all"), {"waits": False}),
               ("no calls of that name wait", ("--no-wait", "StreamSynchronize"), {"waits": False}),
               ("large kernels", ("--kernel", "^large=0.25x"), {"large": 0.25}),
               ("no time on the CPU", ("--no-host", "all"), {"host": 0}),
               ("all", ("--no-wait", "all", "--kernel", "large<float>=0x", "--no-host", "all"), {"waits": False, "large": 0, "host": 0}))
    for seed in range(4):
        program = make_program(seed)
        events, time = simulate(program)
        path = write_program(os.path.join(folder, f"program{seed}.sqlite"), events)
        *single, (_, together, _) = changes
        rows = what_if(path, *(word for _, options, _ in single for word in options))  # each has a row of its own
        rows[" ".join(together)] = what_if(path, *together)["all of these"]
        for what, options, changed in changes:
            got = rows[" ".join(options)]["Run (ns)"]
            expected = simulate(program, **changed)[1]
            print(f"program {seed}, {what}: {time / 1e6:.3f} ms, changed {expected / 1e6:.3f} ms, predicted {got / 1e6:.3f} ms")
            check(f"program {seed}, unchanged", time, rows["unchanged"]["Run (ns)"])
            check(f"program {seed}, {what}: the prediction is right to 0.5 %", True, abs(got - expected) <= 0.005 * expected)


def check_processes(folder):
    """Two processes that know nothing of each other: the path of the later one begins with its first call, and not with the run."""
    made = lib.Made(os.path.join(folder, "processes.sqlite"))
    for process, start, end in ((PROCESS, 1000, 5000), ((8 << 24) | (1 << 48), 3000, 9000)):
        made.add("CUPTI_ACTIVITY_KIND_RUNTIME", start=start, end=end, eventClass=0, globalTid=process | 7, correlationId=1,
                 nameId=made.text("cudaMalloc"), returnValue=0)
    rows = {row["Critical Path"]: row for row in json.loads(output("what-if", "-f", "json", made.write()))}
    check("processes: the call of the second one", 6000, rows["CUDA calls"]["Total Time (ns)"])
    check("processes: the time before it", 2000, rows["before its first event"]["Total Time (ns)"])
    check("processes: shares", 100.0, sum(row["Share (%)"] for row in rows.values()))


# ---- words ----

def check_words(folder):
    path = os.path.join(folder, "mix.sqlite")
    check("a place that is not there", True, "has the name 'nowhere'" in refusal("what-if", "--no-wait", "nowhere", path))
    check("a kernel that is not there", True, "no kernel has such a name" in refusal("what-if", "--kernel", "nowhere=2x", path))
    for text in ("gemm", "gemm=", "=0.5x", "gemm=-1x", "gemm=0.5y", "gemm=nan", "ge(mm=1x"):
        check(f"not a change: {text}", True, "--kernel" in refusal("what-if", "--kernel", text, path))
    trace = os.path.join(lib.KINETO, "train.json.gz")
    check("a file and its line", True, "conv.py:552" in output("what-if", "--no-host", "conv.py:552", trace))
    for text in ("conv.py:55", "onv.py:552"):
        check(f"part of a file or line: {text}", True, f"has the name '{text}'" in refusal("what-if", "--no-host", text, trace))
    made = lib.Made(os.path.join(folder, "empty.sqlite"))
    made.add("OSRT_API", start=1, end=2, eventClass=27, globalTid=THREAD, nameId=made.text("read"), returnValue=0)
    check("without CUDA", True, "has no CUDA calls" in refusal("what-if", made.write()))
    check("a terminal gets units", True, re.search(r"unchanged +0 ns +0\.0 % +179\.7 ms", output("what-if", "--no-wait", "all", path)) is not None)


def check_lines(folder):
    """A line as a place: without its waits, a step of a captured program takes less by exactly what the rule on waits estimates, also where only some
    steps have stacks. Changes of all kinds go together."""
    captures = sorted(glob.glob(os.path.join(folder, "*-faulty.tacho")))
    compared = 0
    for path in captures:
        rows = json.loads(output("analyze", "-q", "--json", "-r", "result_waits", path))
        # the rule does more than drop waits if a line waits several times in a step, or copies much: the copy goes to pinned memory
        if not rows or rows[0]["Confidence"] != "measured" or "in each step" in rows[0]["Finding"]:
            continue
        line, about = rows[0]["Where"].split()[0], rows[0]["Saves per Step (ns)"]
        changed = what_if(path, "--no-wait", line)
        without, one = changed["without the profiler"], changed[f"--no-wait {line}"]
        print(f"{os.path.basename(path)}: {line}: about {about} ns of {without['Step (ns)']} ns, without its waits {one['Saves per Step (ns)']} ns")
        check(f"{path}: --no-wait {line}", about, one["Saves per Step (ns)"])
        check(f"{path}: a step without it", without["Step (ns)"] - about, one["Step (ns)"])
        all_of_these = what_if(path, "--kernel", ".*=0.5x", "--no-wait", line, "--no-host", "forward")
        check(f"{path}: three changes", 6, len(all_of_these))
        check(f"{path}: all save no less than the wait", True, all_of_these["all of these"]["Step (ns)"] <= one["Step (ns)"])
        compared += 1
    if captures:
        check(f"{folder} has programs that wait", True, compared > 0)
    else:
        print(f"skipped: no captures in {folder}")


def main():
    folder = tempfile.mkdtemp()
    try:
        check_captures(folder)
        check_launch_bound()
        check_predictions(folder)
        check_processes(folder)
        check_words(folder)
        check_lines(os.environ.get("PAIRS", os.path.join(lib.HERE, "pairs")))
    finally:
        shutil.rmtree(folder)
    return lib.status()


sys.exit(main())
