"""torch_fwd_bwd_sum against pairs of forward and backward operators that are found here in the raw events of a trace."""

import collections
import sys

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
sys.exit(lib.status())
