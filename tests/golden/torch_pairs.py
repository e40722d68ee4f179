"""torch_fwd_bwd_sum against pairs of forward and backward operators that are found here in the raw events of a trace."""

import collections
import json
import os
import sys
import tempfile

import lib
from lib import check, table


def operators(events):
    """What has a sequence number, in order of time: name, ns, number, whether it is of backward, ns of what it and those within launched."""
    launched = collections.Counter()
    for event in events:
        if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
            launched[event["args"]["External id"]] += lib.ns(event["dur"])
    everything = [(event, *lib.trace_span(event)) for event in events if event.get("cat") == "cpu_op"]
    for event, start, end in sorted(everything, key=lambda each: (each[1], -each[2])):
        if "Sequence number" not in event["args"] or event["name"].startswith("autograd::engine::"):
            continue
        within = {other["args"]["External id"] for other, begin, stop in everything if other["tid"] == event["tid"] and begin >= start and stop <= end}
        yield event["name"], end - start, event["args"]["Sequence number"], event["args"].get("Fwd thread id", 0) > 0, sum(launched[each] for each in within)


def expected(events):
    last, pairs = {}, collections.defaultdict(lambda: [0, 0, 0, 0, 0])
    for name, duration, number, is_backward, work in operators(events):
        if not is_backward:
            last[number] = name, duration, work
        elif number in last:
            row = pairs[last[number][0], name]
            row[:] = [a + b for a, b in zip(row, (1, last[number][1], duration, last[number][2], work))]
    return dict(pairs)


FIGURES = "Pairs", "Forward CPU (ns)", "Backward CPU (ns)", "Forward GPU (ns)", "Backward GPU (ns)"


trace = f"{lib.KINETO}/train.json.gz"
rows = table("torch_fwd_bwd_sum", trace)
pairs = expected(lib.trace_events(trace))
check("there are pairs", True, len(pairs) > 5)
check("pairs", pairs, {(row["Forward"], row["Backward"]): [row[name] for name in FIGURES] for row in rows})
shares = [row["Time (%)"] for row in rows]
check("the most expensive first", sorted(shares, reverse=True), shares)
check("shares add up", True, abs(sum(shares) - 100) < 1)


def two_ranks():
    """Both ranks count from the same number: a backward operator belongs to the forward one of its own process."""
    def event(name, pid, tid, time, **arguments):
        return {"ph": "X", "cat": "cpu_op", "name": name, "pid": pid, "tid": tid, "ts": time, "dur": 10, "args": {"Sequence number": 7, **arguments}}

    events = []
    for rank, pid in enumerate((5, 6)):
        events += [event(f"aten::forward{rank}", pid, pid, 1000 + rank, **{"External id": 10 + rank, "Fwd thread id": 0, "Call stack": f"rank{rank}.py(1): f"}),
                   event(f"Rank{rank}Backward0", pid, pid + 100, 2000 + rank, **{"External id": 20 + rank, "Fwd thread id": 1})]
    with open("two.json", "w") as file:
        json.dump({"traceEvents": events}, file)
    stacks = {row["key"]: row["stack"] for row in json.loads(lib.output("ops", "-f", "json", "--group-by-stack", "1", "two.json"))}
    check("stacks of two ranks", {name: f"rank{rank}.py(1): f" for rank in range(2) for name in (f"aten::forward{rank}", f"Rank{rank}Backward0")}, stacks)
    check("pairs of two ranks", {(f"aten::forward{rank}", f"Rank{rank}Backward0") for rank in range(2)},
          {(row["Forward"], row["Backward"]) for row in table("torch_fwd_bwd_sum", "two.json")})


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    two_ranks()
sys.exit(lib.status())
