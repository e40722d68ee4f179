"""Breakdowns, overlap, idle classes, launch delays and queues against HolisticTraceAnalysis, whose own output is kineto/hta.json (made by
kineto/make_hta.py, which names the version and the command). with_hta.py makes it anew where HTA is installed."""

import json
import math
import os
import sys
import tempfile

import lib
from lib import check, table

sys.path.insert(0, lib.KINETO)
import make_hta

# HTA adds up times as floating-point µs, and shows some rounded to 0.01; Tacho has whole ns.
ROUNDING_US = 0.02


def near(what, expected, got, tolerance=ROUNDING_US):
    check(f"{what}: {expected} is near {got}", True, abs(expected - got) <= tolerance)


def total(rows, column):
    return sum(row[f"{column} (ns)"] for row in rows) / 1000


def check_breakdown(name, expected, trace):
    times, (busy,), steps = expected["temporal_breakdown"], table("cuda_gpu_busy", trace), table("step_breakdown", trace)
    near(f"{name}: span", times["kernel_time(us)"], busy["Span (ns)"] / 1000)
    near(f"{name}: idle", times["idle_time(us)"], (busy["Span (ns)"] - busy["Busy Time (ns)"]) / 1000)
    near(f"{name}: idle by cause", times["idle_time(us)"], total(table("gpu_idle_sum", trace), "Total Time"))
    near(f"{name}: compute", times["compute_time(us)"], total(steps, "Compute"))
    near(f"{name}: other work", times["non_compute_time(us)"], total(steps, "Exposed Communication") + total(steps, "Exposed Copies"))
    communication = total(steps, "Communication")
    overlap = 100 * (1 - total(steps, "Exposed Communication") / communication) if communication else None
    if expected["comm_comp_overlap_pctg"] is None or overlap is None:
        check(f"{name}: no communication", expected["comm_comp_overlap_pctg"], overlap)
    else:
        near(f"{name}: overlap in %", expected["comm_comp_overlap_pctg"], overlap, 0.01)


def check_queues(name, expected, rows):
    for row in rows:
        stream, queue = row["Stream"], expected["queue_length"][str(row["Stream"])]
        near(f"{name}: changes of queue {stream}", queue["count"], 2 * row["Launches"], 0)
        near(f"{name}: depth of queue {stream}", queue["mean"], row["Queue Avg"], 0.005)
        near(f"{name}: deviation of queue {stream}", queue["std"], row["Queue StdDev"], 0.005)
        near(f"{name}: deepest queue {stream}", queue["max"], row["Queue Max"], 0)
        for category, column in (("host_wait", "Host Wait"), ("kernel_wait", "Kernel Wait"), ("other", "Other Wait")):
            near(f"{name}: {category} of {stream}", expected["idle_time"].get(f"{stream} {category}", 0), row[f"{column} (ns)"] / 1000)


def check_launches(name, expected, rows, trace):
    """HTA's launch statistics do not know cuLaunchKernel: its launches are taken out of ours."""
    unknown = [row for row in table("cuda_kern_exec_trace", trace) if row["API Function"] == "cuLaunchKernel"]
    stats, launches = expected["launch_stats"], sum(row["Launches"] for row in rows)
    check(f"{name}: launches", stats["launch_delay"]["count"], launches - len(unknown))
    for column, of_row, ours in (
            ("launch_delay", lambda row: max(0, row["Kernel Start (ns)"] - row["API Start (ns)"] - row["API Dur (ns)"]), "Delay Avg (ns)"),
            ("cpu_duration", lambda row: row["API Dur (ns)"], "Call Avg (ns)"),
            ("gpu_duration", lambda row: row["Kernel Dur (ns)"], "GPU Avg (ns)")):
        ours_us = (sum(row[ours] * row["Launches"] for row in rows) - sum(of_row(row) for row in unknown)) / 1000
        near(f"{name}: mean {column}", stats[column]["mean"], ours_us / stats[column]["count"], 0.001)
    near(f"{name}: longest delay", stats["launch_delay"]["max"], max(row["Delay Max (ns)"] for row in rows) / 1000)
    if len(rows) == 1 and not unknown:
        near(f"{name}: median delay", stats["launch_delay"]["50%"], rows[0]["Delay Med (ns)"] / 1000)


def compare(expected):
    with tempfile.TemporaryDirectory() as folder:
        for name in make_hta.TRACES:
            trace = make_hta.write_trace(name, folder)
            rows = table("cuda_queue_sum", trace)
            check(f"{name}: streams", sorted(expected[name]["queue_length"]), sorted(str(row["Stream"]) for row in rows))
            check_breakdown(name, expected[name], trace)
            check_queues(name, expected[name], rows)
            check_launches(name, expected[name], rows, trace)


def main():
    with open(os.path.join(lib.KINETO, "hta.json")) as file:
        expected = json.load(file)
    check("all figures are numbers", [], [key for name in make_hta.TRACES for key, value in expected[name]["temporal_breakdown"].items()
                                          if math.isnan(value)])
    compare(expected)
    return lib.status()


if __name__ == "__main__":
    sys.exit(main())
