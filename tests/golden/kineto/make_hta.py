"""Prints hta.json: what HolisticTraceAnalysis says of the traces here, and of train.json.gz with some kernels as communication.

    python3 -m venv hta && hta/bin/pip install HolisticTraceAnalysis==0.5.0
    hta/bin/python make_hta.py > hta.json

HTA rounds times to µs and leaves out the last step, unless it is told otherwise."""

import gzip
import json
import logging
import os
import shutil
import sys
import tempfile
import warnings
from importlib.metadata import version

HERE = os.path.dirname(os.path.abspath(__file__))
TRACES = ("train", "infer", "communication")


def write_trace(name, folder):
    """Puts a trace into a folder. communication: every seventh kernel of train.json.gz is one of NCCL, later and on a stream of its own."""
    path = os.path.join(folder, f"{name}.json.gz")
    if name != "communication":
        shutil.copy(os.path.join(HERE, f"{name}.json.gz"), path)
        return path
    with gzip.open(os.path.join(HERE, "train.json.gz"), "rt") as file:
        trace = json.load(file)
    kernels = [event for event in trace["traceEvents"] if event.get("cat") == "kernel"]
    for event in kernels[::7]:
        event.update(name="ncclDevKernel_AllReduce_Sum_f32_RING_LL", tid=20, ts=event["ts"] + 8)
        event["args"]["stream"] = 20
    with gzip.open(path, "wt") as file:
        json.dump(trace, file)
    return path


def figures(folder):
    from hta.trace_analysis import TraceAnalysis

    analysis = TraceAnalysis(trace_dir=folder, include_last_profiler_step=True)
    breakdown = analysis.get_temporal_breakdown(visualize=False).iloc[0]
    idle = analysis.get_idle_time_breakdown(ranks=[0], streams=[7, 20] if "communication" in folder else [7], visualize=False)[0]
    launches = analysis.get_cuda_kernel_launch_stats(ranks=[0], visualize=False)[0]
    overlap = analysis.get_comm_comp_overlap(visualize=False).iloc[0]["comp_comm_overlap_pctg"]
    return {
        "temporal_breakdown": {key: float(value) for key, value in breakdown.items()},
        "comm_comp_overlap_pctg": None if overlap != overlap else float(overlap),
        "idle_time": {f"{row.stream} {row.idle_category}": float(row.idle_time) for row in idle.itertuples()},
        "launch_stats": {column: {key: float(value) for key, value in launches[column].describe().items()}
                         for column in ("cpu_duration", "gpu_duration", "launch_delay")},
        "queue_length": {str(stream): {key: float(value) for key, value in row["queue_length"].items()}
                         for (_, stream), row in analysis.get_queue_length_summary().iterrows()},
    }


def main():
    warnings.filterwarnings("ignore")
    logging.disable(logging.CRITICAL)
    os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
    out = {"HolisticTraceAnalysis": version("HolisticTraceAnalysis")}
    with tempfile.TemporaryDirectory() as folder:
        for name in TRACES:
            place = os.path.join(folder, name)
            os.mkdir(place)
            write_trace(name, place)
            out[name] = figures(place)
    json.dump(out, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
