"""Samples and their stacks: cpu_sample_sum, cpu_topdown and cpu_bottomup against sums over the raw rows, made and of nsys."""

import collections
import os
import random
import sqlite3
import sys
import tempfile

import lib
from lib import check, table

PROCESS = (7 << 24) | (1 << 48)
FUNCTIONS = ["main", "solve", "step", "norm", "std::vector<int, std::allocator<int> >::push_back(int const&)", "a;b c", "<script>&\"'", "é\u2028x"]
MODULES = ["/usr/lib/libm.so.6", "/opt/program", "[vdso]"]


def make(path, shuffled=False, is_ours=False):
    """Samples of three threads; some functions recurse, some have no name, and some stacks are empty."""
    made, dice = lib.Made(path), random.Random(4)
    chains = []
    for number in range(1, 1201):
        tid = PROCESS | 7 + number % 3
        made.add("COMPOSITE_EVENTS", id=number, start=number * 1000, cpu=0, threadState=1, globalTid=tid, cpuCycles=dice.choice((1, 5)))
        depth = dice.choice((0, 1, 4, 12, 30))
        for place in range(depth):
            function = 0 if place == depth - 1 else dice.randrange(len(FUNCTIONS))
            has_name = dice.random() > 0.1
            chains.append(dict(id=number, symbol=made.text(FUNCTIONS[function] if has_name else hex(0x1000 + number)),
                               module=made.text(MODULES[function % 3]), kernelMode=0, unresolved=int(not has_name), originalIP=number * 16,
                               stackDepth=place))
    named = ((PROCESS | 7, "sh"), (PROCESS | 7, "env"), (PROCESS | 8, "worker"), (PROCESS | 7, "main thread"), (PROCESS | 9, "worker"))
    for thread, name in named: # one that became other programs is called after the last
        made.add("ThreadNames", nameId=made.text(name), priority=0, globalTid=thread)
    for step in range(3):
        made.add("NVTX_EVENTS", start=step * 200000, end=(step + 1) * 200000, eventType=59, text=f"step {step}", globalTid=PROCESS | 7, domainId=0)
    lines = {"load": 3, "train": 17, "<module>": 40}
    for number in range(900):
        made.add("TACHO_PYTHON_SAMPLE", start=number * 5000, globalTid=PROCESS | 7, threadState=7 if number % 9 == 0 else 1, gil=0,
                 callchainId=1 + number % 2)
    for chain, stack in ((1, ("load", "train", "<module>")), (2, ("train", "<module>"))):
        for place, function in enumerate(stack):
            made.add("TACHO_PYTHON_CALLCHAINS", id=chain, symbol=made.text(function), module=made.text("/home/me/train.py"), stackDepth=place,
                     line=lines[function] + chain)
    if is_ours:
        made.add("TACHO_SAMPLING", timestamp=0, method="perf", switches="none")
        for number in range(2000, 2030):
            made.add("COMPOSITE_EVENTS", id=number, start=number * 1000, cpu=0, threadState=1, globalTid=PROCESS | 7, cpuCycles=1)
            chains.append(dict(id=number, symbol=made.text(f"rare {number}"), module=made.text(MODULES[1]), kernelMode=0, unresolved=0,
                               originalIP=number, stackDepth=0))
    if shuffled:
        dice.shuffle(chains)
    for chain in chains:
        made.add("SAMPLING_CALLCHAINS", **chain)
    return made.write()


def file_name(path):
    return path if path.startswith("[") else f"[{path.rsplit('/', 1)[-1]}]"


def read(path, samples="COMPOSITE_EVENTS", chains="SAMPLING_CALLCHAINS"):
    """(time, thread, weight, frames from the outermost on) of each sample; a frame is its name and its module."""
    database = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    texts = dict(database.execute("SELECT id, value FROM StringIds"))
    stacks = collections.defaultdict(list)
    for chain, symbol, module, unresolved in database.execute(f"SELECT id, symbol, module, unresolved FROM {chains} ORDER BY id, stackDepth DESC"):
        stacks[chain].append((file_name(texts[module]) if unresolved or not texts[symbol] else texts[symbol], texts[module]))
    return [(time, thread, weight, stacks.get(chain) or [("[no stack]", "")])
            for time, thread, weight, chain in database.execute(f"SELECT start, globalTid, cpuCycles, id FROM {samples}")]


# ---- the tables ----

def flat(samples, unit):
    own, total, whole = collections.defaultdict(lambda: [0, 0]), collections.defaultdict(lambda: [0, 0]), 0
    for _, thread, weight, stack in samples:
        names = [unit(frame) for frame in stack]
        whole += weight
        for figure in [own[names[-1]]] + [total[name] for name in set(names)]:
            figure[0] += 1
            figure[1] += weight
    return {name: (own[name][0], total[name][0], round(100 * own[name][1] / whole, 1), round(100 * total[name][1] / whole, 1)) for name in total}


def check_flat(path, samples, names):
    rows = table("cpu_sample_sum", path)
    check("flat by function", flat(samples, lambda frame: frame),
          {(row["Function"], row["Module"]): (row["Self Samples"], row["Total Samples"], round(row["Self (%)"], 1), round(row["Total (%)"], 1))
           for row in rows})
    check("most self first", sorted((row["Self (%)"] for row in rows), reverse=True), [row["Self (%)"] for row in rows])
    rows = table("cpu_sample_sum:module", path)
    check("flat by module", {name: figures[:2] for name, figures in flat(samples, lambda frame: frame[1]).items()},
          {row["Module"]: (row["Self Samples"], row["Total Samples"]) for row in rows})
    rows = table("cpu_sample_sum:thread", path)
    by_thread = collections.Counter(names.get(thread, f"thread {thread & 0xffffff}") for _, thread, _, _ in samples)
    check("by thread", dict(by_thread), {row["Thread"]: row["Self Samples"] for row in rows})


def paths(rows, column):
    """What the rows of a tree say, as paths."""
    out, path = {}, []
    for row in rows:
        path = path[:row["Level"] - 1] + [(row["Function"].lstrip(" "), row["Module"])]
        check("levels grow by one", row["Level"], len(path))
        out[tuple(path)] = row[column]
    return out


def check_trees(path, samples):
    called, ending, callers = collections.Counter(), collections.Counter(), collections.Counter()
    for _, _, _, stack in samples:
        for depth in range(1, len(stack) + 1):
            called[tuple(stack[:depth])] += 1
            callers[tuple(reversed(stack[-depth:]))] += 1
        ending[tuple(stack)] += 1
    rows = table("cpu_topdown:min=0", path)
    check("top-down", dict(called), paths(rows, "Samples"))
    check("top-down, self", dict(ending),
          {place: count for place, count in paths(rows, "Self Samples").items() if count})
    check("bottom-up", dict(callers), paths(table("cpu_bottomup:min=0", path), "Samples"))
    for row in table("cpu_topdown:min=10:depth=3", path):
        check("only what is asked for", True, row["Level"] <= 3 and row["Total (%)"] >= 10)


def check_filters(path, samples):
    part = [sample for sample in samples if 500000 <= sample[0] <= 900000 and sample[1] & 0xffffff == 8]
    rows = table("cpu_sample_sum", path, "--filter-time", "500000/900000", "--filter-tid", "8")
    check("a part of it", {name: figures[:2] for name, figures in flat(part, lambda frame: frame).items()},
          {(row["Function"], row["Module"]): (row["Self Samples"], row["Total Samples"]) for row in rows})


def check_python(path):
    """450 samples of each of two stacks; of the first, the even ones, every 18th waits, and as many of the second."""
    rows = {row["Function"]: (row["Self Samples"], row["Total Samples"]) for row in table("cpu_sample_sum:python", path)}
    check("Python, running", {"load": (400, 400), "train": (400, 800), "<module>": (0, 800)}, rows)
    times = {row["Function"]: row["Self Time (ns)"] for row in table("python_sample_sum", path)}
    check("Python, times: a sample each 5 µs", {"load": 400 * 5000, "train": 400 * 5000, "<module>": 0}, times)
    rows = {row["Function"]: (row["Self Samples"], row["Total Samples"]) for row in table("cpu_sample_sum:python:waiting", path)}
    check("Python, all", {"load": (450, 450), "train": (450, 900), "<module>": (0, 900)}, rows)
    rows = {row["Function"]: row["Self Samples"] for row in table("cpu_sample_sum:python:lines", path)}
    check("Python, lines", {"load (train.py:4)": 400, "train (train.py:18)": 0, "train (train.py:19)": 400, "<module> (train.py:41)": 0,
                            "<module> (train.py:42)": 0}, rows)


def check_default(nsys, ours):
    """Of our own captures samples are among what is shown unasked, the first rows of them."""
    check("nsys's list is nsys's", False, "cpu_sample_sum" in lib.output("stats", nsys))
    shown, all_rows = lib.output("stats", ours), len(table("cpu_sample_sum", ours))
    check("the rest is counted", True, all_rows > 20 and f"… {all_rows - 20} more rows: -r cpu_sample_sum\n" in shown)
    first = shown.partition("(cpu_sample_sum):")[2].partition("more rows")[0]
    check("the first rows", [row["Function"] for row in table("cpu_sample_sum:rows=20", ours) if row["Function"] in FUNCTIONS[:4]],
          [line.split()[4] for line in first.splitlines() if len(line.split()) > 4 and line.split()[4] in FUNCTIONS[:4]])


def check_all(path, names):
    samples = read(path)
    check_flat(path, samples, names)
    check_trees(path, samples)
    return samples


def main():
    with tempfile.TemporaryDirectory() as folder:
        names = {PROCESS | 7: "main thread", PROCESS | 8: "worker", PROCESS | 9: "worker"}
        made = make(os.path.join(folder, "made.sqlite"))
        check_filters(made, check_all(made, names))
        check_python(made)
        check_default(made, make(os.path.join(folder, "ours.sqlite"), is_ours=True))
        check_all(make(os.path.join(folder, "shuffled.sqlite"), shuffled=True), names)
        capture = os.path.join(folder, "mnist_like.sqlite")
        lib.unpack_mnist_like(capture)
        check_all(capture, dict(sqlite3.connect(capture).execute("SELECT globalTid, value FROM ThreadNames JOIN StringIds ON nameId = id")))
    return lib.status()


if __name__ == "__main__":
    sys.exit(main())
