"""tacho dlprof: the reports of a capture of which DLProf 1.8.0 made reports too, cell by cell; a small training run, by hand; the options; the events
for TensorBoard, read by a reader of their format."""

import csv
import json
import os
import shlex
import shutil
import struct
import sys
import tempfile

import lib
from lib import check, output, refusal, run

DLPROF = os.path.join(os.environ["SOURCE"], "..", "shared", "fixtures", "dlprof")
REPORTS = ("summary", "detailed", "kernel", "iteration", "tensor_core", "op_type", "group_op", "expert_systems")
OURS = {("summary", "DLProf Version"), ("summary", "DLProf Build")}  # cells that name the program
PROCESS = (7 << 24) | (1 << 48)
THREAD = PROCESS | 7


def cells(path):
    with open(path, newline="") as file:
        return list(csv.reader(file))


# ---- DLProf's own reports ----

def as_json(rows):
    """The rows of a csv report below its title as the objects that json has."""
    return [dict(zip(rows[1], row)) for row in rows[2:]]


def same_reports():
    output("dlprof", "--nsys_database", f"{DLPROF}/nsys_profile.sqlite", "--reports=all", "--formats=csv,json", "--output_path=same", "-b", "-v",
           "quiet")
    check("files", sorted(f"dlprof_{name}.{kind}" for name in REPORTS for kind in ("csv", "json")), sorted(os.listdir("same")))
    for name in REPORTS:
        expected, got = cells(f"{DLPROF}/dlprof_{name}.csv"), cells(f"same/dlprof_{name}.csv")
        check(f"rows of {name}", len(expected), len(got))
        for number, (left, right) in enumerate(zip(expected, got), 1):
            if left and (name, left[0]) not in OURS:
                check(f"{name}, row {number}", left, right)
        if name != "summary":
            [(title, rows)] = json.load(open(f"same/dlprof_{name}.json")).items()
            check(f"title of {name}", expected[0], [title])
            text = [{key: f"{value:.1f}" if isinstance(value, float) else str(value) for key, value in row.items()} for row in rows]
            check(f"json of {name}", as_json(expected), text)
    summary = json.load(open("same/dlprof_summary.json"))
    check("summary as json", [2840562182, 79.1, 36, 30],
          [summary["Summary Report"]["Wall Clock Time (ns)"], round(summary["Summary Report"]["CPU Duration %"], 1),
           summary["All Ops"][0]["# Ops"], summary["All Kernels"][0]["# Kernels"]])


# ---- a small capture with markers: two iterations of linear, relu and the backward of linear ----

LINEAR = ("{'mod': 'torch.nn.functional', 'op': 'linear', 'args': [{'name': '', 'type': 'tensor', 'shape': (4, 8), 'dtype': 'float16'}, "
          "{'name': '', 'type': 'tensor', 'shape': (2, 8), 'dtype': 'float16'}]}")
RELU = "{'mod': 'torch', 'op': 'relu', 'args': [{'name': '', 'type': 'tensor', 'shape': (4, 2), 'dtype': 'float16'}]}"
TRACE = "{'traceMarker': ['it\\'s.py:3'], 'funcStack': '/<module>/Net::forward/%s'}"


class Capture(lib.Made):
    def range(self, start, end, text):
        self.add("NVTX_EVENTS", start=start, end=end, eventType=59, text=text, globalTid=THREAD)

    def kernel(self, call, start, end, name):
        correlation = len(self.rows.get("CUPTI_ACTIVITY_KIND_KERNEL", [])) + 1
        self.add("CUPTI_ACTIVITY_KIND_RUNTIME", start=call, end=min(call + 10, 2**63 - 1), globalTid=THREAD, correlationId=correlation,
                 nameId=self.text("cudaLaunchKernel_v7000"))
        self.add("CUPTI_ACTIVITY_KIND_KERNEL", start=start, end=end, deviceId=0, streamId=7, correlationId=correlation, globalPid=PROCESS,
                 shortName=self.text(name), demangledName=self.text(name + "<float>"), gridX=1, gridY=2, gridZ=3, blockX=32, blockY=1, blockZ=1)


def write_training(path):
    capture = Capture(path)
    for start in (0, 1000):
        capture.range(start + 100, start + 300, TRACE % "linear")
        capture.range(start + 110, start + 290, LINEAR)
        capture.range(start + 120, start + 280, "aten::linear, seq = 5")
        capture.kernel(start + 130, start + 200, start + 260, "volta_h884gemm_64x64_tn")
        capture.range(start + 310, start + 420, TRACE % "relu(2)")
        capture.range(start + 320, start + 400, RELU)
        capture.kernel(start + 330, start + 350, start + 370, "relu_kernel")
        capture.range(start + 500, start + 700, "LinearBackward0, seq = 5")
        capture.kernel(start + 510, start + 600, start + 640, "volta_h884gemm_64x64_nt")
        capture.kernel(start + 530, start + 650, start + 690, "splitKreduce")
    capture.write()


def training():
    write_training("training.sqlite")
    output("dlprof", "--nsys_database=training.sqlite", "--reports=all", "--key_op=LINEAR_2", "--output_path=training", "--dump_model_data")
    rows = {row["Op ID"]: row for row in as_json(cells("training/dlprof_detailed.csv"))}
    check("operators", ["LINEAR_1", "LINEAR_2", "RELU_1"], list(rows))
    check("forward", ["/module/Net::forward/linear", "fprop", "2", "yes", "yes", "360", "180.0", "120", "340", "float16", "it's.py:3"],
          [rows["LINEAR_1"][name] for name in ("Op Name", "Direction", "No. Calls", "TC Eligible", "Using TC", "Total CPU Time (ns)",
                                               "Avg. CPU Time (ns)", "Total GPU Time (ns)", "Total CPU Overhead (ns)", "Data Type", "Stack Trace")])
    check("backward", ["/module/Net::forward/linear", "bprop", "400", "160", "20"],
          [rows["LINEAR_2"][name] for name in ("Op Name", "Direction", "Total CPU Time (ns)", "Total GPU Time (ns)", "Total GPU Idle (ns)")])
    check("a name that is counted", "/module/Net::forward/relu[2]", rows["RELU_1"]["Op Name"])
    kernels = as_json(cells("training/dlprof_iteration.csv"))
    check("shapes", ("<N:4, K:8>; <M:2, K:8>", "<N:4, M:2>"), (kernels[0]["Input Shapes"], kernels[0]["Output Shapes"]))
    summary = dict(row for row in cells("training/dlprof_summary.csv") if len(row) == 2)
    # The key is every call of that name, forward and backward: iterations end at 290, 700, 1290, and with the last event, 1700.
    check("iterations", ["4", "1700", "425.0"],
          [summary[name] for name in ("Total Iterations", "Wall Clock Time (ns)", "Average Iteration Time (ns)")])
    # 200 of the 280 ns of kernels in operators that can use tensor cores.
    check("tensor cores", "71.4", summary["Tensor Core Kernel Utilization %"])
    check("calls", 6, len(json.load(open("training/dlprof_model_data.json"))))
    check("no advice on FP16 or the key", ["The GPU is underutilized: Only 18.8% of the profiled time is spent on GPU kernel operations",
                                           "No DALI ops detected"], [row[0] for row in cells("training/dlprof_expert_systems.csv")[2:]])


def part_of_the_iterations():
    output("dlprof", "--nsys_database=training.sqlite", "--reports=summary,detail", "--key_node=relu", "--iter_start=1", "--iter_stop=1",
           "--output_path=part", "--profile_name=one", "-b")
    summary = dict(row for row in cells("part/one_summary.csv") if len(row) == 2)
    check("the second of three iterations", ["3", "1", "1000"],
          [summary[name] for name in ("Total Iterations", "Aggregated Iterations", "Wall Clock Time (ns)")])
    check("its operators", [("LINEAR_1", "1"), ("LINEAR_2", "1"), ("RELU_1", "1")],
          [(row["Op ID"], row["No. Calls"]) for row in as_json(cells("part/one_detailed.csv"))])


# ---- TensorBoard ----

def checksum(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    crc ^= 0xffffffff
    return ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff


def records(data):
    while data:
        length, mask = struct.unpack_from("<QI", data)
        body, (own,) = data[12:12 + length], struct.unpack_from("<I", data, 12 + length)
        check("checksums of a record", (checksum(data[:8]), checksum(body)), (mask, own))
        yield body
        data = data[16 + length:]


def fields(message):
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value
    while at < len(message):
        key = varint()
        if key & 7 == 0:
            value = varint()
        else:
            length = {1: 8, 5: 4}.get(key & 7) or varint()
            value, at = message[at:at + length], at + length
        yield key >> 3, value


def events():
    [name] = os.listdir("training/event_files")
    check("TensorBoard knows the name", True, name.startswith("events.out.tfevents.") and name.endswith(".dlprof"))
    first, *iterations = [dict(fields(body)) for body in records(open(f"training/event_files/{name}", "rb").read())]
    check("version", b"brain.Event:2", first[3])
    check("steps", [0, 1, 2, 3], [event[2] for event in iterations])
    times = []
    for event in iterations:
        values = {}
        for _, value in fields(event[5]):
            scalar = dict(fields(value))
            values[scalar[1].decode()] = struct.unpack("<f", scalar[2])[0]
        times.append(values["dlprof/Iteration Time (ns)"])
        shares = [value for tag, value in values.items() if tag.endswith("Duration %")]
        check("shares add up", 100, round(sum(shares), 3))
    check("times", [290, 410, 590, 410], times)


# ---- options, other files ----

# The options that DLProf prints, with a value that it accepts; those of a run of a program follow below.
OPTIONS = ("--force=true", "-f=true", "-f true", "--verbosity=quiet", "-v minimal", "-v=diagnostic", "--mode=pytorch", "-m simple", "--nsys_base_name=base",
           "--nsys_opts='-t cuda,nvtx -s none'", "--delay=0", "-y 0", "--duration=0", "-d=0", "--key_node=global_step", "--key_op=linear", "--key_op=", "--iter_start=0",
           "--iter_stop=0", "--profile_name=name", "--reports=all,summary,detail,kernel,iteration,tensor,op_type,group_node,expert_systems", "--formats=csv,json",
           "--domains=default", "--dump_model_data=true", "--tb_dir=events", "--suppress_tb_files=true", "-b true", "-b=false")


def every_option():
    """Each option alone, and each report once, however often it is named."""
    for number, option in enumerate(OPTIONS):
        output("dlprof", "--nsys_database=training.sqlite", f"--output_path=option{number}", *shlex.split(option))
    number = next(number for number, option in enumerate(OPTIONS) if option.startswith("--reports"))
    check("each report once", sorted(f"dlprof_{name}.csv" for name in REPORTS), sorted(name for name in os.listdir(f"option{number}") if name.endswith(".csv")))
    check("events by default", 1, len(os.listdir(f"option{number}/event_files")))
    number = OPTIONS.index("--tb_dir=events")
    check("events elsewhere", 1, len(os.listdir(f"option{number}/events")))
    check("no events", [], os.listdir(f"option{OPTIONS.index('-b true')}"))
    check("version and help", (True, True), ("DLProf 1.8.0" in output("dlprof", "-V"), "--nsys_database" in output("dlprof", "-h")))


def options():
    check("a sentence about the database", True, "--nsys_database" in refusal("dlprof", "--database=x"))
    for bad in (["--reports=nothing"], ["--formats=xml"], ["--mode=tensorflow2"], ["--iter_start=x"], ["--iter_start=7"], ["--domains=none"]):
        refusal("dlprof", "--nsys_database=training.sqlite", "--output_path=bad", "-b", *bad)
    refusal("dlprof")
    again = ("dlprof", "--nsys_database=training.sqlite", "--reports=summary", "--output_path=training", "-b")
    check("--force", True, "--force" in refusal(*again))
    output(*again, "--force=true")
    output("dlprof", "--nsys_database=training.sqlite", "--reports=detail,group_node", "--mode=simple", "--output_path=simple", "-b")
    check("one operator", [["simple_mode_global_node_name", "1", "320"]],
          [[row["Op Name"], row["No. Calls"], row["Total GPU Time (ns)"]] for row in as_json(cells("simple/dlprof_detailed.csv"))])
    output("dlprof", "--nsys_database=training.sqlite", "--reports=op_type", "--domains=default", "--output_path=domain", "-b")
    check("ranges of a domain", True, os.path.exists("domain/dlprof_default_op_type.csv"))


def operators_without_markers():
    """A trace of torch.profiler: operators with shapes, backward ones with the names of forward ones."""
    output("dlprof", "--nsys_database", os.path.join(lib.KINETO, TRACE_FILE), "--reports=detail,iteration", "--output_path=kineto", "-b")
    rows = as_json(cells("kineto/dlprof_detailed.csv"))
    check("directions", {"fprop", "bprop"}, {row["Direction"] for row in rows} - {""})


def steps_that_were_only_timed():
    """DLProf knows no time without a recording, so its figures of such a capture are no figures of the program."""
    report = os.path.join(lib.HERE, "pairs", "LossItem-faulty.tacho")
    done = run("dlprof", f"--nsys_database={report}", "--reports=summary", "--output_path=timed", "-b")
    check("a capture with --advise: it says so", (0, True), (done[0], "recorded with --advise" in done[1]))
    done = run("dlprof", "--nsys_database=training.sqlite", "--reports=summary", "--output_path=whole", "-b")
    check("a capture without: it does not", (0, False), (done[0], "--advise" in done[1]))


def hostile():
    """Any bytes in a marker: a report or a sentence, never a crash."""
    for number, text in enumerate(("{'", "{'mod': 'a', 'op': 'conv2d', 'args': [{'shape': (1, 2, 3, 99999999999999999999), 'type': 'tensor'}]}",
                                   "{'mod': '', 'op': '', 'args': [[[[[[[[", "{'traceMarker': [", "{'mod': 'm', 'op': 'conv2d', 'args': "
                                   "[{'shape': (1, 9223372036854775807, -5, 7)}, {'shape': (0, 0, 9223372036854775807, 1)}, {'shape': ()}, "
                                   "{'name': 'stride', 'value': (0, 0)}, {'name': 'padding', 'value': 9223372036854775807}]}")):
        capture = Capture(f"hostile{number}.sqlite")
        capture.range(-2**63, 2**63 - 1, text)
        capture.range(5, 1, text)
        capture.kernel(2**63 - 100, -2**63, 2**63 - 1, "k\"'\n")
        capture.write()
        status, said, _ = run("dlprof", f"--nsys_database=hostile{number}.sqlite", "--reports=all", "--formats=csv,json", f"--output_path=h{number}")
        check(f"hostile {number}: {said}", True, status in (0, 1, 2))


TRACE_FILE = next((name for name in sorted(os.listdir(lib.KINETO)) if name.endswith((".json", ".json.gz")) and "train" in name), None)

folder = tempfile.mkdtemp()
os.chdir(folder)
try:
    training()
    part_of_the_iterations()
    events()
    options()
    every_option()
    hostile()
    if TRACE_FILE:
        operators_without_markers()
        steps_that_were_only_timed()
    if os.path.isdir(DLPROF):
        same_reports()
    elif not lib.failures:
        print(f"skipped: {DLPROF} is not here; all but the comparison with DLProf's own reports passed")
        sys.exit(77)
finally:
    shutil.rmtree(folder)
sys.exit(lib.status())
