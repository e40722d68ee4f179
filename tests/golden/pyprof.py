"""tacho pyprof: a small capture with PyProf's markers, by hand; a trace of PyTorch against its own events; the capture whose kernels golden/dlprof.py lists."""

import collections
import csv
import io
import os
import sys

import lib
from lib import check, output, refusal

COLUMNS = {"idx": "Idx", "seq": "SeqId", "altseq": "AltSeqId", "tid": "TId", "layer": "Layer", "trace": "Trace", "dir": "Direction", "sub": "Sub", "mod": "Module", "op": "Op",
           "kernel": "Kernel", "params": "Params", "sil": "Sil(ns)", "tc": "TC", "device": "Device", "stream": "Stream", "grid": "Grid", "block": "Block", "flops": "FLOPs",
           "bytes": "Bytes"}
PROCESS = (7 << 24) | (1 << 48)
FORWARD, BACKWARD = PROCESS | 7, PROCESS | 9


def rows(file):
    text = output("pyprof", "--csv", "-c", "all", file)
    return list(csv.DictReader(io.StringIO(text)))


# ---- markers ----

def tensor(*shape, dtype="float16"):
    return {"name": "", "type": "tensor", "shape": shape, "dtype": dtype}


CONV = {"mod": "torch.nn.functional", "op": "conv2d", "args": [tensor(4, 8, 10, 10), tensor(16, 8, 3, 3), {"name": "bias", "type": "NoneType", "value": None},
                                                               {"name": "", "type": "tuple", "value": (2, 2)}, {"name": "", "type": "tuple", "value": (1, 1)},
                                                               {"name": "", "type": "tuple", "value": (1, 1)}, {"name": "", "type": "int", "value": 1}]}
LINEAR = {"mod": "torch.nn.functional", "op": "linear", "args": [tensor(4, 8), tensor(2, 8)]}
RELU = {"mod": "torch", "op": "relu", "args": [tensor(4, 2)]}


class Capture(lib.Made):
    def range(self, start, end, text, thread=FORWARD):
        self.add("NVTX_EVENTS", start=start, end=end, eventType=59, text=str(text), globalTid=thread)

    def kernel(self, call, start, end, name, thread=FORWARD):
        number = len(self.rows.get("CUPTI_ACTIVITY_KIND_KERNEL", [])) + 1
        self.add("CUPTI_ACTIVITY_KIND_RUNTIME", start=call, end=call + 5, globalTid=thread, correlationId=number, nameId=self.text("cudaLaunchKernel_v7000"))
        self.add("CUPTI_ACTIVITY_KIND_KERNEL", start=start, end=end, deviceId=1, streamId=13, correlationId=number, globalPid=PROCESS, shortName=self.text(name.split("<")[0]),
                 demangledName=self.text(name), gridX=number, gridY=2, gridZ=3, blockX=32, blockY=1, blockZ=1)


def markers():
    made = Capture("pyprof.sqlite")
    made.range(50, 900, "layer:Encoder")
    made.range(100, 300, {"traceMarker": ["run.py:9", "it's.py:3"]})
    made.range(110, 290, CONV)
    made.range(120, 280, "aten::conv2d, seq = 5, op_id = 1")
    made.range(125, 270, "aten::_convolution, seq = 6, op_id = 2")
    made.kernel(130, 200, 210, "nchwToNhwc<float>(int)")
    made.kernel(140, 210, 250, "volta_fp16_s884cudnn_fp16_128x64_nn")
    made.range(310, 450, "layer:Head")
    made.range(320, 440, {"traceMarker": ["it's.py:4"]})
    made.range(330, 430, LINEAR)
    made.range(335, 425, "aten::linear, seq = 7")
    made.kernel(340, 350, 390, "volta_h884gemm_64x64_tn")
    made.range(500, 600, RELU)
    made.kernel(510, 520, 530, "void at::native::<unnamed>::relu_kernel<float>(float*)")
    made.range(600, 700, "LinearBackward0, seq = 7", BACKWARD)
    made.kernel(610, 620, 660, "volta_h884gemm_64x64_nt", BACKWARD)
    made.kernel(620, 660, 680, "volta_h884gemm_64x64_nn", BACKWARD)
    made.kernel(630, 690, 695, "splitKreduce_kernel", BACKWARD)
    made.kernel(950, 960, 970, "alone")
    made.write()
    got = rows("pyprof.sqlite")
    check("header", list(COLUMNS.values()), list(got[0]))
    conv = 2 * 4 * 16 * 5 * 5 * 8 * 3 * 3       # 2 × images × outputs × points × inputs × window
    conv_bytes = 2 * (4 * 8 * 100 + 16 * 8 * 9 + 4 * 16 * 25)
    linear, linear_bytes = 2 * 4 * 2 * 8, 2 * (4 * 8 + 2 * 8 + 4 * 2)
    conv_params = "[4,8,10,10];[16,8,3,3];fp16;stride=(2,2);padding=(1,1);dilation=(1,1);groups=1"
    expected = [  # seq, altseq, tid, layer, trace, dir, sub, mod, op, kernel, params, sil, tc, flops, bytes
        ["5", "6", "7", "Encoder", "run.py:9,it's.py:3", "fprop", "0", "torch.nn.functional", "conv2d", "nchwToNhwc", conv_params, "10", "-", "0", "0"],
        ["5", "6", "7", "Encoder", "run.py:9,it's.py:3", "fprop", "1", "torch.nn.functional", "conv2d", "volta_fp16_s884cudnn_fp16_128x64_nn", conv_params, "40", "1", str(conv),
         str(conv_bytes)],
        ["7", "-", "7", "Encoder:Head", "it's.py:4", "fprop", "0", "torch.nn.functional", "linear", "volta_h884gemm_64x64_tn", "[4,8];[2,8];fp16", "40", "1", str(linear),
         str(linear_bytes)],
        ["-", "-", "7", "Encoder", "-", "fprop", "0", "torch", "relu", "relu_kernel", "[4,2];fp16", "10", "-", "8", "32"],
        ["7", "-", "9", "-", "it's.py:4", "bprop", "0", "torch.nn.functional", "linear", "volta_h884gemm_64x64_nt", "[4,8];[2,8];fp16", "40", "1", str(linear), str(linear_bytes)],
        ["7", "-", "9", "-", "it's.py:4", "bprop", "1", "torch.nn.functional", "linear", "volta_h884gemm_64x64_nn", "[4,8];[2,8];fp16", "20", "1", str(linear), str(linear_bytes)],
        ["7", "-", "9", "-", "it's.py:4", "bprop", "2", "torch.nn.functional", "linear", "splitKreduce_kernel", "[4,8];[2,8];fp16", "5", "-", "0", "0"],
        ["-", "-", "7", "-", "-", "na", "0", "na", "na", "alone", "na", "10", "-", "-", "-"]]
    names = [name for name in COLUMNS if name not in ("idx", "device", "stream", "grid", "block")]
    for number, (wanted, row) in enumerate(zip(expected, got), 1):
        check(f"kernel {number}", wanted, [row[COLUMNS[name]] for name in names])
        check(f"launch {number}", [str(number), "1", "13", f"{number},2,3", "32,1,1"], [row[COLUMNS[name]] for name in ("idx", "device", "stream", "grid", "block")])
    check("kernels", len(expected), len(got))


# ---- shapes alone ----

def outermost(operators, thread, time):
    around = [op for op in operators[thread] if op[0] <= time <= op[1]]
    return min(around)[2] if around else None


def trace():
    path = os.path.join(lib.KINETO, "train.json.gz")
    events = [event for event in lib.trace_events(path) if event.get("ph") == "X"]
    kernels = sorted((event for event in events if event["cat"] == "kernel"), key=lambda event: event["ts"])
    calls = {event["args"]["correlation"]: event for event in events if event["cat"] in ("cuda_runtime", "cuda_driver") and "correlation" in event["args"]}
    operators = collections.defaultdict(list)
    for event in events:
        if event["cat"] == "cpu_op":
            operators[event["tid"]].append((*lib.trace_span(event), event["name"]))
    got = rows(path)
    check("kernels of the trace", len(kernels), len(got))
    directions = collections.Counter()
    for kernel, row in zip(kernels, got):
        call, arguments = calls[kernel["args"]["correlation"]], kernel["args"]
        begin, end = lib.trace_span(kernel)
        check(f"{row['Idx']}: the kernel", [str(end - begin), str(arguments["device"]), str(arguments["stream"]), ",".join(map(str, arguments["grid"])),
                                            ",".join(map(str, arguments["block"])), str(call["tid"])],
              [row[name] for name in ("Sil(ns)", "Device", "Stream", "Grid", "Block", "TId")])
        check(f"{row['Idx']}: the name", True, row["Kernel"].replace("_", " ").split("::")[-1] in kernel["name"].replace("_", " "))
        operator = outermost(operators, call["tid"], lib.trace_span(call)[0])
        is_backward = operator is not None and operator.startswith("autograd::engine")
        directions[row["Direction"]] += 1
        if operator:
            check(f"{row['Idx']}: direction in {operator}", "bprop" if is_backward else "fprop", row["Direction"])
            if not is_backward:
                check(f"{row['Idx']}: the operator", operator, f"{row['Module']}::{row['Op']}")
    check("both directions", True, directions["fprop"] > 100 and directions["bprop"] > 100)
    # Each operator counts once: the rows have all that torch_flops_sum has.
    sums = lib.table("torch_flops_sum", path)
    for name, column, tolerance in (("FLOPs", "FLOPs", len(got)), ("Bytes", "Bytes (B)", len(got))):
        unknown = sum(1 for row in got if row[name] == "-")
        whole, listed = sum(row[column] or 0 for row in sums), sum(int(row[name]) for row in got if row[name] != "-")
        check(f"{name}: {listed} of {whole} in the rows of {unknown} unknown ones at most", True, listed <= whole + tolerance and listed >= 0.95 * whole)
    convolutions = sum(row["FLOPs"] for row in sums if "convolution" in row["Name"])
    products = sum(int(row["FLOPs"]) for row in got if row["Op"] == "conv2d" and row["TC"] != "-")
    check(f"FLOPs of convolutions, {products} of {convolutions}, in the rows of kernels that multiply", True, abs(products - convolutions) <= len(got))
    check("the forward call of a norm, which counts its batches before with the same number", {"batch_norm"}, {row["Op"] for row in got if "bn_bw" in row["Kernel"]})


# ---- the kernels that DLProf lists ----

def same_kernels():
    """Of lib.OldCapture, as golden/dlprof.py has them in the report on iterations."""
    wanted = (  # operator, time, sizes of the launch, FLOPs, name; the FLOPs of a convolution are not known without its stride, which DLProf's patches leave out
        ("conv2d", "100", "9,1,1", "-", "implicit_convolve_sgemm"),
        ("conv2d", "60", "18,1,1", "-", "implicit_convolve_sgemm"),
        ("conv2d", "30", "2,3,4", "0", "computeOffsetsKernel"),
        ("relu", "20", "5,1,1", str(4 * 2 * 6 * 6), "vectorized_elementwise_kernel"),
        ("relu", "12", "5,1,1", str(4 * 2 * 6 * 6), "vectorized_elementwise_kernel"),
        ("linear", "40", "4,1,5", str(2 * 4 * 5 * 72), "volta_sgemm_32x32_sliced1x4_tn"),
        ("linear", "10", "1,1,1", "0", "splitKreduce_kernel"))
    got = rows(lib.OldCapture("old.sqlite").write())
    check("kernels of DLProf", len(wanted), len(got))
    for (*left, name), right in zip(wanted, got):
        check(f"a kernel of {left[0]}", left, [right[column] for column in ("Op", "Sil(ns)", "Grid", "FLOPs")])
        check(f"{name}: direction, device, block", ["fprop", "0", "32,2,1"], [right[column] for column in ("Direction", "Device", "Block")])
        check(f"name of {name}", True, right["Kernel"].endswith(name))


# ---- options ----

def options():
    lines = output("pyprof", "pyprof.sqlite").splitlines()
    check("default columns", "Idx Direction Sub Module Op Kernel Params Sil(ns)", lines[0])
    check("cells with a space between them", "4 fprop 0 torch relu relu_kernel [4,2];fp16 10", lines[4])
    check("chosen columns in their order", '"Sil(ns)","Idx"\n"10","1"', "\n".join(output("pyprof", "--csv", "-c", "sil,idx", "pyprof.sqlite").splitlines()[:2]))
    wide = output("pyprof", "-w", "60", "-c", "idx,trace,kernel,sil", "pyprof.sqlite").splitlines()
    check("widths", {7 + 25 + 18 + 10 + 4}, {len(line) for line in wide})
    check("a line in columns", "      1 it's.py:3                 nchwToNhwc                 10 ", wide[1])
    check("too narrow", True, "at least 61" in refusal("pyprof", "-w", "20", "-c", "idx,tid,trace,dir,flops", "pyprof.sqlite"))
    check("an unknown column", True, "did you mean kernel" in refusal("pyprof", "-c", "kernels", "pyprof.sqlite"))
    check("csv and widths", True, "exclude" in refusal("pyprof", "--csv", "-w", "200", "pyprof.sqlite"))
    check("a column twice", True, "twice" in refusal("pyprof", "-c", "idx,idx", "pyprof.sqlite"))
    check("no file", True, "a file" in refusal("pyprof"))
    made = lib.Made("empty.sqlite")
    made.add("OSRT_API", start=0, end=5, eventClass=27, globalTid=FORWARD, nameId=made.text("poll"), returnValue=0)
    made.write()
    check("no kernels", True, "tacho profile" in refusal("pyprof", "empty.sqlite"))
    made = Capture("hostile.sqlite")
    for number, text in enumerate(("{'mod': 'a\"b', 'op': '\x1b[31m', 'args': [{'shape': (1,", "{'mod'", "{'mod': {}, 'op': [], 'args': 7}", "{'traceMarker': 3}", "layer:")):
        made.range(100 * number, 100 * number + 90, text)
        made.kernel(100 * number + 10, 100 * number + 20, 100 * number + 30, "(anonymous namespace)::")
    made.write()
    check("hostile markers", (5, False), (len(rows("hostile.sqlite")), "\x1b" in output("pyprof", "hostile.sqlite")))


markers()
trace()
options()
same_kernels()
sys.exit(lib.status())
