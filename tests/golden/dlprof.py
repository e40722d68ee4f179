"""tacho dlprof: the reports of a capture as DLProf read them, cell by cell, worked out by hand after the rules that DLProf 1.8.0 follows; a small training run;
the options; the events for TensorBoard, read by a reader of their format."""

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

REPORTS = ("summary", "detailed", "kernel", "iteration", "tensor_core", "op_type", "group_op", "expert_systems")
PROCESS = (7 << 24) | (1 << 48)
THREAD = PROCESS | 7


def cells(path):
    with open(path, newline="") as file:
        return list(csv.reader(file))


def as_json(rows):
    """The rows of a csv report below its title as the objects that json has."""
    return [dict(zip(rows[1], row)) for row in rows[2:]]


# ---- DLProf's reports of lib.OldCapture ----

FORWARD = "/module/Net::_call_impl/Net::forward/"
CONV, LINEAR_NAME, RELU_NAMES = FORWARD + "Conv2d::_call_impl/conv2d", FORWARD + "Linear::_call_impl[2]/linear", (FORWARD + "relu", FORWARD + "relu[2]")
CUDA, UNIFORM = "/module/Net::cuda/Conv2d::_apply/lambda/cuda", "/module/Net::__init__/Conv2d::__init__/uniform_"
SYNC = "cudaDeviceSynchronize_v3020"
TIMES = [f"{part} {time} (ns)" for time in ("CPU Time", "GPU Time", "CPU Overhead", "GPU Idle") for part in ("Total", "Avg.", "Min", "Max")]
TIMES_OF_KERNELS = [f"{part} {time} Time (ns)" for time in ("GPU", "API") for part in ("Total", "Avg", "Min", "Max")]


def figures(*times):
    """Total, average, minimum and maximum of each list of times."""
    return [cell for each in times for cell in (str(sum(each)), f"{sum(each) / len(each):.1f}", str(min(each)), str(max(each)))]


def one(*times):
    """The same of single times."""
    return figures(*([time] for time in times))


# The four times of each operator: its length; the union of its work; its length less the union of its CUDA calls; from its first to its last work less the union.
CONV_NS = 2990 - 2010, 100 + 4 + (2480 - 2400), 980 - (10 + 5 + 20 + 10), 2480 - 2200 - 184  # 980, 184, 935, 96: two of its kernels overlap
LINEAR_NS = 3690 - 3510, 40 + 10, 180 - (10 + 6), 3705 - 3600 - 50                            # 180, 50, 164, 55
RELU_NS = (3190 - 3110, 20, 80 - 6, 0), (3400 - 3310, 12, 90 - 8, 0)                          # 80, 20, 74; 90, 12, 82: the operators inside count as part of them
CUDA_NS = (1310 - 310, 20, 1000 - (600 + 50 + 200), 0), (1510 - 1410, 10, 100 - (30 + 40), 0)  # 1000, 20, 150; 100, 10, 30
UNIFORM_NS = 190 - 110, 0, 80, 0
SYNC_NS = (7, 0, 0, 0), (5, 0, 0, 0)  # a CUDA call outside of all operators is one of its own

DETAILED = [
    ["CONV2D_1", CONV, "fprop", "conv2d", "1", "yes", "no", *one(*CONV_NS), "float32", "run.py:12\nconv.py:44"],
    ["CUDADEVICESYNCHRONIZE_V3020_1", "unassociated_" + SYNC, "", SYNC, "1", "no", "no", *one(*SYNC_NS[0]), "", ""],
    ["CUDADEVICESYNCHRONIZE_V3020_2", "unassociated_" + SYNC, "", SYNC, "1", "no", "no", *one(*SYNC_NS[1]), "", ""],
    ["CUDA_1", CUDA, "fprop", "cuda", "1", "no", "no", *one(*CUDA_NS[0]), "float32", "run.py:9"],
    ["CUDA_2", CUDA, "fprop", "cuda", "1", "no", "no", *one(*CUDA_NS[1]), "float32", "run.py:9"],  # the second of the name in its iteration
    ["LINEAR_1", LINEAR_NAME, "fprop", "linear", "1", "yes", "no", *one(*LINEAR_NS), "float32", "run.py:14"],
    ["RELU_1", RELU_NAMES[0], "fprop", "relu", "1", "no", "no", *one(*RELU_NS[0]), "float32", "run.py:13"],
    ["RELU_2", RELU_NAMES[1], "fprop", "relu", "1", "no", "no", *one(*RELU_NS[1]), "float32", "run.py:13"],
    ["UNIFORM__1", UNIFORM, "fprop", "uniform_", "1", "no", "no", *one(*UNIFORM_NS), "float32", "run.py:9\nconv.py:20"],
]
OP_TYPES = [
    ["conv2d", "1", "1", *one(*CONV_NS)],
    ["cuda", "2", "2", *figures(*zip(*CUDA_NS))],
    [SYNC, "2", "2", *figures(*zip(*SYNC_NS))],
    ["linear", "1", "1", *one(*LINEAR_NS)],
    ["relu", "2", "2", *figures(*zip(*RELU_NS))],
    ["uniform_", "1", "1", *one(*UNIFORM_NS)],
]
# Beginnings of names up to a slash; figures are of iterations, of which there is one. All without the calls outside: 980 + 1100 + 180 + 170 + 80 ns on the CPU,
# 184 + 30 + 50 + 32 on the GPU, 935 + 180 + 164 + 156 + 80 overhead, 96 + 55 idle; the forward pass: the same less cuda and uniform_.
GROUPS = [
    *([name, "7", "2", "0", *one(2510, 296, 1515, 151)] for name in ("/", "/module/")),
    *([name, "1", "0", "0", *one(*UNIFORM_NS)] for name in ("/module/Net::__init__/", "/module/Net::__init__/Conv2d::__init__/")),
    *([name, "4", "2", "0", *one(1330, 266, 1255, 151)] for name in ("/module/Net::_call_impl/", FORWARD)),
    [FORWARD + "Conv2d::_call_impl/", "1", "1", "0", *one(*CONV_NS)],
    [FORWARD + "Linear::_call_impl[2]/", "1", "1", "0", *one(*LINEAR_NS)],
    *([name, "2", "0", "0", *one(1100, 30, 180, 0)] for name in ("/module/Net::cuda/", "/module/Net::cuda/Conv2d::_apply/", "/module/Net::cuda/Conv2d::_apply/lambda/")),
    ["_CompleteModel_", "9", "2", "0", *one(2522, 296, 1515, 151)],
]
KERNELS = [  # by name of the operator, then of the kernel: its time on the GPU, and that of its launch
    ["computeOffsetsKernel", "CONV2D_1", CONV, "fprop", "no", *one(30, 10)],
    ["implicit_convolve_sgemm", "CONV2D_1", CONV, "fprop", "no", *figures((100, 60), (10, 20))],
    ["splitKreduce_kernel", "LINEAR_1", LINEAR_NAME, "fprop", "no", *one(10, 6)],
    ["volta_sgemm_32x32_sliced1x4_tn", "LINEAR_1", LINEAR_NAME, "fprop", "no", *one(40, 10)],
    ["vectorized_elementwise_kernel", "RELU_1", RELU_NAMES[0], "fprop", "no", *one(20, 6)],
    ["vectorized_elementwise_kernel", "RELU_2", RELU_NAMES[1], "fprop", "no", *one(12, 8)],
]
TENSOR_CORES = [  # kernels alone, each with its whole time; names are counted once
    ["CONV2D_1", CONV, "fprop", "conv2d", "no", "190", "0", "190", "0.0", "2", "0", "", "2", "computeOffsetsKernel, implicit_convolve_sgemm"],
    ["LINEAR_1", LINEAR_NAME, "fprop", "linear", "no", "50", "0", "50", "0.0", "2", "0", "", "2", "splitKreduce_kernel, volta_sgemm_32x32_sliced1x4_tn"],
]


def launched(op, name, kind, kernel, start, time, call, call_time, grid, shapes, output_shape, long_name):
    return ["0", op, name, "fprop", kind, kernel, "0", str(start), str(time), str(call), str(call_time), "no", *map(str, grid), "32", "2", "1", "float32", shapes, "", output_shape, long_name]


CONV_SHAPES = "<N:4, C:3, H:8, W:8>; <K:2, C:3, R:3, S:3>; <2>", "<N:4, K:2, P:6, Q:6>"  # 8 - 3 + 1 is 6
LINEAR_SHAPES = "<N:4, K:72>; <M:5, K:72>; <5>", "<N:4, M:5>"
RELU_SHAPES = "<4, 2, 6, 6>", ""
LAST_NAME = lib.OldCapture.CONV_LONG_NAMES[1]  # that of the last kernel of a short name stands for all
ELEMENTWISE = "void at::native::vectorized_elementwise_kernel<4>(int)"
ITERATIONS = [
    launched("CONV2D_1", CONV, "conv2d", "computeOffsetsKernel", 2450, 30, 2160, 10, (2, 3, 4), *CONV_SHAPES, "cudnn::computeOffsetsKernel(Params)"),
    launched("CONV2D_1", CONV, "conv2d", "implicit_convolve_sgemm", 2200, 100, 2100, 10, (9, 1, 1), *CONV_SHAPES, LAST_NAME),
    launched("CONV2D_1", CONV, "conv2d", "implicit_convolve_sgemm", 2400, 60, 2130, 20, (18, 1, 1), *CONV_SHAPES, LAST_NAME),
    launched("LINEAR_1", LINEAR_NAME, "linear", "splitKreduce_kernel", 3695, 10, 3560, 6, (1, 1, 1), *LINEAR_SHAPES, "void splitKreduce_kernel<float>(int)"),
    launched("LINEAR_1", LINEAR_NAME, "linear", "volta_sgemm_32x32_sliced1x4_tn", 3600, 40, 3540, 10, (4, 1, 5), *LINEAR_SHAPES, "volta_sgemm_32x32_sliced1x4_tn"),
    launched("RELU_1", RELU_NAMES[0], "relu", "vectorized_elementwise_kernel", 3150, 20, 3140, 6, (5, 1, 1), *RELU_SHAPES, ELEMENTWISE),
    launched("RELU_2", RELU_NAMES[1], "relu", "vectorized_elementwise_kernel", 3360, 12, 3340, 8, (5, 1, 1), *RELU_SHAPES, ELEMENTWISE),
]
# Of 3805 ns, the end of the last call: kernels 100 + 80 + 20 + 12 + 40 + 10 = 262, copies and the fill 20 + 10 + 4 = 34, operators without work of the GPU
# 2522 - (184 + 30 + 32 + 40) = 2236 (the last kernel of linear runs after it), and the rest 1273.
SHARES = [["Tensor Core Kernel Duration %", "0.0"], ["Non-Tensor Core Kernel Duration %", "6.9"], ["Memory Duration %", "0.9"], ["Dataloader Duration %", "0.0"],
          ["IO Duration %", "0.0"], ["CPU Duration %", "58.8"], ["Other Duration %", "33.5"]]
SUMMARY = [
    ["System Config"], ["GPU Count", "1"], ["GPU Name(s)", "A GPU"], ["CPU Model", "A CPU"], ["GPU Driver Version", "520.61.05"], ["Framework", "PyTorch 1.13.1"],
    ["CUDA Version", "11.8"], ["NSys Version", "2022.4.2.1"], [],
    ["Summary Report"], ["Wall Clock Time (ns)", "3805"], ["Tensor Core Kernel Utilization %", "0.0"], ["GPU Utilization %", "6.9"], *SHARES, [],
    ["Iterations"], ["Total Iterations", "1"], ["Aggregated Iterations", "1"], ["Start Iteration", "0"], ["Stop Iteration", "0"], ["Average Iteration Time (ns)", "3805.0"],
    ["Iteration Time Standard Deviation", "0.0"], [],
    ["All Ops"], ["", "GPU Time (ns)", "CPU Time (ns)", "# Ops"], ["All ops", "296", "2522", "9"], ["Ops using TC", "0", "0", "0"],
    ["Ops eligible for TC but not using", "234", "1160", "2"], ["All other ops", "62", "1362", "7"], [],  # conv2d and linear: 184 + 50, 980 + 180
    # Kernels by their names, with their launches 10 + 20 + 10 + 6 + 8 + 10 + 6; copies and fills by the names of their calls, 50 + 30 and 5.
    ["All Kernels"], ["", "GPU Time (ns)", "CPU Time (ns)", "# Kernels"], ["All kernels", "306", "155", "7"], ["Kernels using TC", "0", "0", "0"], ["Memory", "34", "85", "2"],
    ["All other kernels", "272", "70", "5"],
]
EXPERT_SYSTEMS = [
    ["2 ops were eligible to use tensor cores but none are using FP16",
     "Try enabling AMP (Automatic Mixed Precision). For more information: https://developer.nvidia.com/automatic-mixed-precision"],
    ["The GPU is underutilized: Only 6.9% of the profiled time is spent on GPU kernel operations",
     "CPU has the highest (non-GPU) usage at 58.8%. Consider swapping ops that are running on the CPU for equivalent GPU ops"],
    ["No DALI ops detected", "Consider using NVIDIA DALI, a library that is a high performance alternative to built-in data loaders and data iterators. "
                             "Learn more here: https://developer.nvidia.com/DALI"],
    ["Unable to split profile into training iterations: key op  not found", "Specify key op by setting the --key_op argument"],
]
WANTED = {  # title, columns, rows
    "detailed": ("All Iterations", ["Op ID", "Op Name", "Direction", "Op Type", "No. Calls", "TC Eligible", "Using TC", *TIMES, "Data Type", "Stack Trace"], DETAILED),
    "kernel": ("Kernel Report", ["Kernel Name", "Op ID", "Op Name", "Direction", "Uses TC", *TIMES_OF_KERNELS], KERNELS),
    "iteration": ("Iteration Report", ["Iteration", "Op ID", "Op Name", "Direction", "Op Type", "Kernel Name", "Device ID", "GPU Start Time (ns)", "GPU Duration (ns)",
                                       "API Call Start (ns)", "API Call Time (ns)", "Uses TC", "Grid X", "Grid Y", "Grid Z", "Block X", "Block Y", "Block Z", "Data Types",
                                       "Input Shapes", "Parameters", "Output Shapes", "Long Kernel Name"], ITERATIONS),
    "tensor_core": ("Tensor Core Report", ["Op ID", "Op Name", "Direction", "Op Type", "Uses TC", "Total GPU Time (ns)", "TC GPU Time (ns)", "Non-TC GPU Time (ns)",
                                           "TC Utilization (%)", "Total Kernel Count", "TC Kernel Count", "TC Kernel Names", "Non-TC Kernel Count", "Non-TC Kernel Names"],
                    TENSOR_CORES),
    "op_type": ("Op Type Summary Report", ["Op Type", "# Ops", "# Calls", *TIMES], OP_TYPES),
    "group_op": ("Group Op Report", ["Name", "Num Calls Aggregated", "Num TC Eligible Ops", "Num Ops Using TC", *TIMES], GROUPS),
    "expert_systems": ("Expert Systems Feedback", ["Problem", "Recommendation"], EXPERT_SYSTEMS),
}


def every_report():
    output("dlprof", "--nsys_database", lib.OldCapture("old.sqlite").write(), "--reports=all", "--formats=csv,json", "--output_path=old", "-b", "-v", "quiet")
    check("files", sorted(f"dlprof_{name}.{kind}" for name in REPORTS for kind in ("csv", "json")), sorted(os.listdir("old")))
    for name, (title, columns, rows) in WANTED.items():
        expected, got = [[title], columns, *rows], cells(f"old/dlprof_{name}.csv")
        check(f"rows of {name}", len(expected), len(got))
        for number, (left, right) in enumerate(zip(expected, got), 1):
            check(f"{name}, row {number}", left, right)
        [(named, objects)] = json.load(open(f"old/dlprof_{name}.json")).items()
        check(f"title of {name}", title, named)
        text = [{key: f"{value:.1f}" if isinstance(value, float) else str(value) for key, value in row.items()} for row in objects]
        check(f"json of {name}", as_json(expected), text)
    summary = cells("old/dlprof_summary.csv")
    check("the program that made the summary", ["DLProf Version", "DLProf Build"], [row[0] for row in summary[8:10]])
    check("rows of the summary", len(SUMMARY) + 2, len(summary))
    for expected, got in zip(SUMMARY, summary[:8] + summary[10:]):
        check("summary", expected, got)
    summary = json.load(open("old/dlprof_summary.json"))
    check("summary as json", [3805, 58.8, 9, 7],
          [summary["Summary Report"]["Wall Clock Time (ns)"], round(summary["Summary Report"]["CPU Duration %"], 1),
           summary["All Ops"][0]["# Ops"], summary["All Kernels"][0]["# Kernels"]])
    begin = f'"CONV2D_1","{CONV}",fprop,"conv2d",1,yes,no,980,980.0,'
    check("quotes: texts have them, words do not", begin, open("old/dlprof_detailed.csv").read().splitlines()[2][:len(begin)])


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
    check("kernels that use them, 60 + 60 and 40 + 40 ns, and splitKreduce, 40 + 40 ns, which does not",
          [["LINEAR_1", "yes", "120", "120", "0", "100.0", "volta_h884gemm_64x64_tn", ""], ["LINEAR_2", "yes", "160", "80", "80", "50.0", "volta_h884gemm_64x64_nt", "splitKreduce"]],
          [[row[name] for name in ("Op ID", "Uses TC", "Total GPU Time (ns)", "TC GPU Time (ns)", "Non-TC GPU Time (ns)", "TC Utilization (%)", "TC Kernel Names",
                                   "Non-TC Kernel Names")] for row in as_json(cells("training/dlprof_tensor_core.csv"))])
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
    output("dlprof", "--nsys_database", os.path.join(lib.KINETO, "train.json.gz"), "--reports=detail,iteration", "--output_path=kineto", "-b")
    rows = as_json(cells("kineto/dlprof_detailed.csv"))
    check("directions", {"fprop", "bprop"}, {row["Direction"] for row in rows} - {""})


def steps_that_were_only_timed():
    """DLProf knows no time without a recording, so its figures of such a capture are no figures of the program."""
    report = os.path.join(lib.HERE, "pairs", "LossItem-faulty.tacho")
    done = run("dlprof", f"--nsys_database={report}", "--reports=summary", "--output_path=timed", "-b")
    check("a capture with --advise: it says so", (0, True), (done[0], "some steps were only timed" in done[1]))
    done = run("dlprof", "--nsys_database=training.sqlite", "--reports=summary", "--output_path=whole", "-b")
    check("a capture without: it does not", (0, False), (done[0], "--advise" in done[1]))


def capture_ranges():
    """Of a run of ten seconds, 4.000 to 4.200 s and 6.000 to 6.100 s were recorded. A step of 100 ms ends at 4.100, 4.200 and 6.100 s; in each, a kernel runs for 20 ms,
    and the last one ends 4 ms after the recording. What lies between the ranges is in no iteration."""
    ms = 1_000_000
    made = lib.Made("ranges.sqlite")
    made.add("ANALYSIS_DETAILS", globalVid=1 << 48, duration=10_000 * ms, startTime=0, stopTime=10_000 * ms)
    for start, end in ((4000, 4200), (6000, 6100)):
        made.add("TACHO_RANGE", start=start * ms, end=end * ms, cause=made.text("cudaProfilerApi"))
    for number, start in enumerate((4000, 4100, 6000)):
        at = start * ms
        made.add("NVTX_EVENTS", start=at, end=at + 100 * ms, eventType=59, globalTid=THREAD, text=f"step {number}")
        made.add("CUPTI_ACTIVITY_KIND_RUNTIME", start=at + 10 * ms, end=at + 11 * ms, globalTid=THREAD, correlationId=number + 1, nameId=made.text("cudaLaunchKernel_v7000"), returnValue=0)
        begin = at + (84 if number == 2 else 20) * ms
        made.add("CUPTI_ACTIVITY_KIND_KERNEL", start=begin, end=begin + 20 * ms, deviceId=0, contextId=1, streamId=7, correlationId=number + 1, globalPid=PROCESS,
                 shortName=made.text("add"), demangledName=made.text("add()"), gridX=1, gridY=1, gridZ=1, blockX=1, blockY=1, blockZ=1)
    made.write()
    output("dlprof", "--nsys_database=ranges.sqlite", "--reports=summary", "--profile_name=ranges", "--verbosity=quiet")
    got = dict(row[:2] for row in cells("ranges_summary.csv") if len(row) == 2)
    expected = {"Wall Clock Time (ns)": "304000000", "GPU Utilization %": "19.7", "Total Iterations": "4", "Average Iteration Time (ns)": "76000000.0"}  # 60 of 304 ms
    check("recorded time alone", expected, {name: got[name] for name in expected})
    check("run_sum", {"Recorded time": 300 * ms, "GPU busy time": 60 * ms}, {row["Name"]: row["Time (ns)"] for row in lib.table("run_sum", "ranges.sqlite")})
    check("run_sum of a part", {"Recorded time": 150 * ms, "GPU busy time": 16 * ms},
          {row["Name"]: row["Time (ns)"] for row in lib.table("run_sum", "ranges.sqlite", "--filter-time=4.15s/6.1s")})
    output("export", "-q", "-t", "tacho", "--filter-time=4.15s/7s", "-o", "ranges-part.tacho", "ranges.sqlite")
    check("run_sum of a cut", 150 * ms, {row["Name"]: row["Time (ns)"] for row in lib.table("run_sum", "ranges-part.tacho")}["Recorded time"])
    output("dlprof", "--nsys_database=ranges-part.tacho", "--reports=summary", "--profile_name=part", "--verbosity=quiet")
    part = dict(row[:2] for row in cells("part_summary.csv") if len(row) == 2)
    check("DLProf of a cut: 50 + 104 ms", "154000000", part["Wall Clock Time (ns)"])


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


folder = tempfile.mkdtemp()
os.chdir(folder)
try:
    every_report()
    training()
    part_of_the_iterations()
    events()
    options()
    every_option()
    hostile()
    operators_without_markers()
    capture_ranges()
    steps_that_were_only_timed()
finally:
    shutil.rmtree(folder)
sys.exit(lib.status())
