"""export --type stacks against torch's own export_stacks() for the same capture (torch 2.15, with_stack and verbose: two steps of a
small network on a CPU); and what it makes of traces for which torch writes nothing."""

import gzip
import json
import os
import re
import sys
import tempfile

import lib
from lib import KINETO, check


def stacks(path, *options):
    status, said, _ = lib.run("export", "-q", "-f", "true", "--type", "stacks", *options, "-o", "out.stacks", path)
    if status != 0:
        return status, said
    with open("out.stacks") as file:
        return [line.rsplit(" ", 1) for line in file.read().splitlines()]


def main():
    os.chdir(tempfile.mkdtemp())
    theirs = [line.rsplit(" ", 1) for line in gzip.open(f"{KINETO}/stacks.txt.gz", "rt").read().splitlines()]
    ours = stacks(f"{KINETO}/stacks.json.gz")
    check("lines", len(theirs), len(ours))
    for number, (expected, got) in enumerate(zip(theirs, ours)):
        check(f"line {number}", expected, got)

    # Without "verbose" torch knows no stacks; the functions around each operator say the same. Only annotations outlive the call that
    # begins them, which is then not around them.
    beginning = re.compile(r";torch/autograd/profiler\.py\(\d+\):___enter__;torch/_ops\.py\(\d+\):___call__;<built-in_method__record_function_enter_new_[^;]*$")
    trace = json.loads(gzip.open(f"{KINETO}/stacks.json.gz", "rt").read(), parse_float=str)
    for event in trace["traceEvents"]:
        event.get("args", {}).pop("Call stack", None)
    with open("plain.json", "w") as out:
        out.write(re.sub(r'"(ts|dur)": "([0-9.]+)"', r'"\1": \2', json.dumps(trace)))
    again = stacks("plain.json")
    check("lines from Python functions", len(theirs), len(again))
    for number, (expected, got) in enumerate(zip(theirs, again)):
        check(f"line {number} from Python functions", [beginning.sub("", expected[0]), expected[1]], got)

    # Work on the GPU is its operators': all of it, to what whole microseconds leave out.
    events = json.loads(gzip.open(f"{KINETO}/train.json.gz", "rt").read())["traceEvents"]
    expected = sum(e["dur"] for e in events if e.get("cat") in ("kernel", "gpu_memset"))
    lines = stacks(f"{KINETO}/train.json.gz", "--metric", "self_cuda_time_total")
    total = sum(int(number) for _, number in lines)
    check("time on the GPU: at most a microsecond of each is left out", True, expected - len(events) < total <= expected)
    check("all but a little of it", True, total > expected * 0.95)
    check("frames", True, all(frames.startswith("kineto_cap.py(30):_<module>;") and " " not in frames for frames, _ in lines))

    check("a metric that there is not", (2, True), (lambda r: (r[0], "--metric" in r[1]))(stacks("plain.json", "--metric", "count")))
    with open("none.json", "w") as out:
        out.write('{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 1, "args": {}}]}')
    with open("bare.json", "w") as out:
        out.write('{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::a", "pid": 1, "tid": 1, "ts": 1, "dur": 9, "args": {}}]}')
    os.remove("out.stacks")
    check("operators without stacks", (1, True), (lambda r: (r[0], "--pytorch-stacks" in r[1]))(stacks("bare.json")))
    check("and no file of nothing", False, os.path.exists("out.stacks"))
    check("a report without any", (1, True), (lambda r: (r[0], "no stacks" in r[1]))(stacks("none.json")))
    return lib.status()


sys.exit(main())
