"""Occupancy and SM efficiency of kernels against torch.profiler's own estimate of each kernel, which its traces hold, weighted by time."""

import os
import sys

from lib import KINETO, check, status, table, trace_events, trace_span

TORCH_SHARED = 48 * 1024  # torch gives 0 to kernels with more shared memory than a block has without asking for it

for name in ("train.json.gz", "infer.json.gz"):
    path = os.path.join(KINETO, name)
    sums = {}
    for event in trace_events(path):
        if event.get("cat") != "kernel":
            continue
        start, end = trace_span(event)
        own = sums.setdefault(event["name"], [0, 0, 0, 0, True])
        own[4] = own[4] and event["args"]["shared memory"] <= TORCH_SHARED
        own[0] += 1
        own[1] += end - start
        own[2] += float(event["args"]["est. achieved occupancy %"]) * (end - start)
        own[3] += 100 * min(float(event["args"]["blocks per SM"]), 1) * (end - start)
    rows = {row["Name"]: row for row in table("cuda_kern_occupancy", path)}
    check(f"kernels of {name}", set(sums), set(rows))
    check(f"kernels of {name} that torch estimates", True, sum(own[4] for own in sums.values()) >= 5)
    for kernel, (count, ns, occupancy, efficiency, is_estimated) in sums.items():
        row = rows.get(kernel, {})
        check(f"instances and time of {kernel}", (count, ns), (row.get("Instances"), row.get("Total Time (ns)")))
        if not is_estimated:
            check(f"{kernel}: more than {occupancy / ns}", True, row.get("Occupancy (%)", 0) > occupancy / ns)
        elif abs(row.get("Occupancy (%)", 0) - occupancy / ns) > 0.51:  # torch rounds each to a whole percent
            check(f"occupancy of {kernel}", occupancy / ns, row.get("Occupancy (%)"))
        if abs(row.get("SM Efficiency (%)", 0) - efficiency / ns) > 0.1:
            check(f"SM efficiency of {kernel}", efficiency / ns, row.get("SM Efficiency (%)"))
sys.exit(status())
