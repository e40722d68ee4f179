"""Reports on GPU metrics: their figures must be those that plain loops over the rows give, for a real capture of nsys 2025.3
and for files made here with several GPUs, gaps, lost samples and damaged rows.

What a sample is about is checked, too: SM activity in the capture must go with the kernels of the interval that begins at the
timestamp, not of the one that ends there."""

import json
import math
import os
import random
import sqlite3
import statistics
import sys

from lib import HERE, Made, check, output, run, status, table, unpack

UNITS = {"Throughput %": ("%", 1), "MHz": ("MHz", 1e-6), "Avg": ("", 1), "Avg Warps per Cycle": ("warps/cycle", 1)}
READINGS = ("NVML", "GPM")


# ---- plain loops over the rows ----

def unit_of(name):
    if not name.endswith("]") or " [" not in name:
        return "", 1
    bracket = name[name.rindex("[") + 1:-1]
    return UNITS.get(bracket, (bracket, 1))


def is_number(value):
    return isinstance(value, (int, float)) and math.isfinite(value)


def read_metrics(database):
    """{(gpu, type, metric): {"name", "unit", "samples": [(start, end, value)]}}, in the order of the reports."""
    names = {(row[0], row[1]): (row[2], row[3]) for row in database.execute("SELECT typeId, metricId, metricName, typeName FROM TARGET_INFO_GPU_METRICS")}
    values = {}
    columns = {row[1] for row in database.execute("PRAGMA table_info(GPU_METRICS)")}
    value = "ifnull(exact, value)" if "exact" in columns else "value"
    for time, kind, metric, value in database.execute(f"SELECT timestamp, typeId, metricId, {value} FROM GPU_METRICS ORDER BY rowid"):
        if None not in (time, kind, metric, value):
            values.setdefault((kind & 255, kind, metric), {})[time] = value
    found = {}
    for key in sorted(values):
        name, source = names.get(key[1:], (None, ""))
        unit, scale = unit_of(name or "")
        times = sorted(values[key])
        steps = [after - before for before, after in zip(times, times[1:])]
        period = int(statistics.median(steps)) if steps else 0
        steps = [step if step <= 1.5 * period else period for step in steps]
        lengths = [period] + steps if source in READINGS else steps + [period]
        found[key] = {"name": name or f"metric {key[2]}", "unit": unit, "period": period, "samples": [
            ((time - length, time) if source in READINGS else (time, time + length)) + (values[key][time] * scale,) for time, length in zip(times, lengths)]}
    return found


def summary(metric):
    samples = metric["samples"]
    values = sorted(value for _, _, value in samples)
    time = sum(end - start for start, end, _ in samples)
    mean = sum((end - start) * value for start, end, value in samples) / time if time else statistics.mean(values)
    return [mean, values[0], statistics.median(values), values[math.ceil(0.95 * len(values)) - 1], values[-1],
            statistics.stdev(values) if len(values) > 1 else 0.0]


def near(what, expected, got, most=1e-3):
    """Reports have three decimals; an empty cell is no figure."""
    got = [None if cell == "" else cell for cell in got]
    same = len(expected) == len(got) and all((a is None) == (b is None) and (a is None or abs(a - b) <= most * max(1, abs(a) * 1e-6))
                                             for a, b in zip(expected, got))
    check(what, (expected, True), (expected if same else got, same))


def check_summary(file, database):
    found = read_metrics(database)
    rows = table("gpu_metrics_sum", file)
    check(f"metrics of {file}", [(key[0], metric["name"], metric["unit"] or None, len(metric["samples"]), metric["period"] or None) for key, metric in found.items()],
          [(row["GPU"], row["Metric"], row["Unit"] or None, row["Samples"], row["Period (ns)"] or None) for row in rows])
    for metric, row in zip(found.values(), rows):
        near(f"{metric['name']} of {file}", summary(metric), [row[name] for name in ("Avg", "Min", "Med", "P95", "Max", "StdDev")])


def joined(metric, stretches, percent=50):
    """Sampled time, samples, mean, least, greatest of the samples that stretches cover; each sample is held against each stretch."""
    sampled = []
    for start, end, value in metric["samples"]:
        inside = sorted((max(start, since), min(end, until)) for since, until in stretches if since < end and until > start)
        covered, reached = 0, start
        for since, until in inside:
            covered += max(0, until - max(since, reached))
            reached = max(reached, until)
        if covered and 100 * covered >= percent * (end - start):
            sampled.append((covered, value))
    time = sum(covered for covered, _ in sampled)
    if not sampled:
        return [0, 0, None, None, None]
    return [time, len(sampled), sum(covered * value for covered, value in sampled) / time, min(value for _, value in sampled), max(value for _, value in sampled)]


def union(stretches):
    time, reached = 0, -1
    for since, until in sorted(stretches):
        time += max(0, until - max(since, reached))
        reached = max(reached, until)
    return time


def check_joined(report, file, groups, percent=50):
    """groups: {(name, gpu): [(start, end)]}"""
    metrics = read_metrics(sqlite3.connect(file))
    expected = {(name, gpu, metric["name"]): [union(stretches)] + joined(metric, stretches, percent)
                for (name, gpu), stretches in groups.items() for key, metric in metrics.items() if key[0] == gpu}
    rows = {(row["Name"], row["GPU"], row["Metric"]): row for row in table(report, file)}
    check(f"rows of {report}", sorted(expected), sorted(rows))
    check(f"{report} has sampled and unsampled groups", {True, False}, {figures[2] > 0 for figures in expected.values()})
    for key in expected.keys() & rows.keys():
        near(f"{report} of {file}, {key}", expected[key], [rows[key][name] for name in ("GPU Time (ns)", "Sampled (ns)", "Samples", "Avg", "Min", "Max")])


# ---- files ----

def gpu_type(gpu, source):
    """A type as in files of nsys, whose last byte is the GPU."""
    return 1 << 48 | source << 32 | gpu


def add_metric(made, gpu, source, metric, name, samples, source_name=""):
    made.add("TARGET_INFO_GPU_METRICS", typeId=gpu_type(gpu, source), sourceId=gpu_type(gpu, source), typeName=source_name, metricId=metric, metricName=name)
    for time, value in samples:
        exact = {} if isinstance(value, int) else {"exact": value}
        made.add("GPU_METRICS", rawTimestamp=time, timestamp=time, typeId=gpu_type(gpu, source), metricId=metric, value=int(value), **exact)


def make_gpus():
    """Two GPUs; counters whose samples come in turn, with a gap; readings of NVML, whose values are exact and end at their times."""
    made = Made("gpus.sqlite")
    times = [1000 + 100 * i for i in range(40) if i not in (20, 21, 22)]
    for gpu in (0, 1):
        for metric, name in enumerate(("SMs Active [Throughput %]", "Tensor Active [Throughput %]", "GPC Clock Frequency [MHz]")):
            add_metric(made, gpu, 1, metric, name, [(time, (time * (metric + 3 + gpu)) % 97 * (10**7 if metric == 2 else 1)) for time in times])
        add_metric(made, gpu, 4, 0, "SM Issue [Throughput %]", [(time, time % 89) for time in times])
        add_metric(made, gpu, 2, 0, "Power [W]", [(950 + 1000 * i, 300.375 + 7 * i) for i in range(5)], "NVML")
    return made.write()


THREAD = 1 << 48 | 77 << 24 | 5
DEVICES = {0: 1, 1: 0}  # GPUs, by the program's own numbers


def make_work():
    """Kernels and copies on two streams of two GPUs, launched in steps and in operators of emit_nvtx; samples of 100 ns with a gap, and of 1000 ns.
    Returns the stretches of kernels, ranges, steps and operators by name and GPU."""
    dice = random.Random(16)
    made = Made("work.sqlite")
    for device, gpu in DEVICES.items():
        made.add("TARGET_INFO_CUDA_DEVICE", gpuId=gpu, cudaId=device, pid=77)
        for metric, name in enumerate(("SMs Active [Throughput %]", "Tensor Active [Throughput %]")):
            add_metric(made, gpu, 1, metric, name, [(10 + 100 * i, dice.randrange(101)) for i in range(300) if not 120 <= i < 140])
        add_metric(made, gpu, 3, 0, "DRAM Bandwidth [%]", [(1000 * i + 10 * gpu, dice.randrange(101)) for i in range(31)], "GPM")
    kernels, ranges, steps, operators = {}, {}, {}, {}
    free = {(device, stream): 0 for device in DEVICES for stream in (7, 8)}
    for number in range(250):
        called = 100 * number
        step, operator, kernel = number // 25, dice.choice(("aten::mm", "aten::add", "aten::copy_")), dice.choice(("gemm", "relu", "softmax", "scan"))
        place = dice.choice(sorted(free))
        start = max(called + dice.randrange(20, 60), free[place])
        end = free[place] = start + dice.choice((7, 30, 90, 260))
        made.add("CUPTI_ACTIVITY_KIND_RUNTIME", start=called + 5, end=called + 15, eventClass=0, globalTid=THREAD, correlationId=number, nameId=made.text("cudaLaunchKernel"), returnValue=0)
        work = {"start": start, "end": end, "deviceId": place[0], "contextId": 1, "streamId": place[1], "correlationId": number, "globalPid": THREAD & ~0xffffff}
        stretch, gpu = (start, end), DEVICES[place[0]]
        if operator == "aten::copy_":
            made.add("CUPTI_ACTIVITY_KIND_MEMCPY", **work, bytes=64, copyKind=1)
        else:
            made.add("CUPTI_ACTIVITY_KIND_KERNEL", **work, demangledName=made.text(kernel + "()"), shortName=made.text(kernel))
            kernels.setdefault((kernel + "()", gpu), []).append(stretch)
        made.add("NVTX_EVENTS", start=called + 1, end=called + 20, eventType=59, text=f"{operator}, seq = {number}, op_id = {number}", globalTid=THREAD, domainId=0)
        operators.setdefault((operator, gpu), []).append(stretch)
        steps.setdefault((f"step {step}", gpu), []).append(stretch)
        ranges.setdefault((f":step {step}", gpu), []).append(stretch)
        ranges.setdefault((f":{operator}, seq = {number}, op_id = {number}", gpu), []).append(stretch)
    for step in range(10):
        made.add("NVTX_EVENTS", start=2500 * step, end=2500 * step + 2500, eventType=59, text=f"step {step}", globalTid=THREAD, domainId=0)
    made.write()
    return kernels, ranges, steps, operators


def check_work():
    kernels, ranges, steps, operators = make_work()
    for report, groups in (("kern", kernels), ("nvtx", ranges), ("step", steps), ("op", operators)):
        check_joined(f"gpu_metrics_{report}_sum", "work.sqlite", groups)
    check_joined("gpu_metrics_kern_sum:base:covered=90", "work.sqlite", {(name[:-2], gpu): stretches for (name, gpu), stretches in kernels.items()}, 90)
    rows = table("gpu_metrics_step_sum:metric=Tensor", "work.sqlite")
    check("one metric, steps in their order", [("Tensor Active [Throughput %]", f"step {step}", gpu) for step in range(10) for gpu in (0, 1)],
          [(row["Metric"], row["Name"], row["GPU"]) for row in rows])
    times = [row["GPU Time (ns)"] for row in table("gpu_metrics_kern_sum", "work.sqlite")]
    check("kernels with most GPU time first", sorted(times, reverse=True), times)
    folded = {row["Name"] for row in table("gpu_metrics_nvtx_sum:fold=true", "work.sqlite")}
    check("folded ranges", True, {"aten::mm", "step 3"} <= folded and len(folded) == 13)


# ---- rules ----

MS = 10**6
GEMM = "ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x3_tn"


def make_machine(without=(), kernel_ms=40, reasons=True, link=90, stop_ms=100, works=True):
    """100 ms: a product for 40 ms, an elementwise kernel for 40 ms at half the clock, and a copy without kernels for 20 ms. Counters at 1 kHz, NVML at 100 Hz.
    Kernels of less than 40 ms leave a pause behind them."""
    made = Made("machine.sqlite")
    made.add("ANALYSIS_DETAILS", globalVid=1, duration=stop_ms * MS, startTime=0, stopTime=stop_ms * MS)
    for number, name in enumerate((GEMM, "relu") if works else ()):
        for start in range(40 * number, 40 * number + 40, min(kernel_ms, 40) if kernel_ms >= 1 else 2):
            made.add("CUPTI_ACTIVITY_KIND_KERNEL", start=start * MS, end=int((start + kernel_ms) * MS), deviceId=0, contextId=1, streamId=7, correlationId=number, globalPid=THREAD & ~0xffffff,
                     demangledName=made.text(name), shortName=made.text(name))
    counters = {"SMs Active [Throughput %]": (20, 40, 0), "Tensor Active [Throughput %]": (10, 0, 0), "DRAM Read Bandwidth [Throughput %]": (50, 40, 5),
                "DRAM Write Bandwidth [Throughput %]": (30, 30, 5), "PCIe RX Throughput [Throughput %]": (1, 2, link), "PCIe TX Throughput [Throughput %]": (1, 1, 30)}
    for metric, (name, values) in enumerate(counters.items()):
        if not any(word in name for word in without):
            add_metric(made, 0, 1, metric, name, [(i * MS, values[i // 40]) for i in range(100)])
    if "Clock" not in without:
        ends = [10 * (i + 1) for i in range(10)]
        add_metric(made, 0, 2, 0, "SM Clock [Hz]", [(end * MS, 990 * 10**6 if 40 < end <= 80 else 1980 * 10**6) for end in ends], "NVML")
        if reasons:
            add_metric(made, 0, 2, 1, "Throttled by Power [%]", [(end * MS, 100 if 40 < end <= 80 else 0) for end in ends], "NVML")
            add_metric(made, 0, 2, 2, "Throttled by Temperature [%]", [(end * MS, 0) for end in ends], "NVML")
    return made.write()


def answers(file):
    return {row["Rule"]: (row["Answer"], row["Missing Data"] or None, row["Recorded By"] or None) for row in table("rule_sum", file)}


def found(file):
    return {row["Rule"]: (row["Impact (ns)"], row["Finding"]) for row in table("advice_sum", file)}


def check_rules():
    make_machine()
    expected = {
        # 20 % for 40 ms and 40 % for 40 ms: 70 % of 80 ms were idle
        "low_sm_activity": (56 * MS, f"GPU 0: SMs active 30 % on average while kernels ran, in 80.0 ms (80 samples of counters, 1 kHz); 20 % for 40.0 ms in {GEMM}, at 0.0000 s"),
        "idle_tensor_cores": (36 * MS, f"GPU 0: tensor cores active 10 % on average while products of matrices ran, in 40.0 ms (40 samples of counters, 1 kHz); 10 % for 40.0 ms in {GEMM}, at 0.0000 s"),
        "pcie_bound": (20 * MS, "GPU 0: PCIe link 90 % full (to the GPU) for 20.0 ms, without kernels for 20.0 ms of it (20 samples of counters, 1 kHz), at 0.0800 s"),
        # half of the clock for 40 ms
        "gpu_throttling": (20 * MS, "GPU 0: power limit: on average 990 MHz instead of 1980 MHz for 40.0 ms of 80.0 ms with kernels (4 samples of NVML, 100 Hz), lowest 990 MHz, at 0.0400 s"),
    }
    got = found("machine.sqlite")
    for rule, (impact, sentence) in expected.items():
        check(f"impact of {rule}", impact, got.get(rule, (None,))[0])
        check(f"finding of {rule}", sentence, got.get(rule, (0, ""))[1].replace("outside of the program (listed last): ", ""))
    rows = json.loads(output("analyze", "-q", "-f", "json", "-r", "dram_bound", "machine.sqlite"))
    check("dram_bound", [(75.0, 80 * MS, 80, 80.0, GEMM)], [(row["Avg (%)"], row["Sampled (ns)"], row["Samples"], row["Kernel Avg (%)"], row["Kernel"]) for row in rows])
    make_machine(stop_ms=90)
    check("a link that is full beyond the end of the capture", 10 * MS, found("machine.sqlite").get("pcie_bound", (None,))[0])
    make_machine(link=120)
    check("no link is fuller than full", "no problem", answers("machine.sqlite")["pcie_bound"][0])
    make_machine(works=False)
    check("a program without work on GPUs", ("not checked", "CUDA work on GPUs"), answers("machine.sqlite")["pcie_bound"][:2])
    make_machine(reasons=False)
    check("a lower clock without a reason", True, "GPU 0: lower clock, reason not recorded: on average 990 MHz" in found("machine.sqlite")["gpu_throttling"][1])


def check_diff():
    """Two runs are compared by the means of their metrics, not by the number of samples."""
    for path, values in (("before.sqlite", (20, 40)), ("after.sqlite", (20, 30))):
        made = Made(path)
        for metric, value in enumerate(values):
            add_metric(made, 0, 1, metric, f"Metric {metric} [Throughput %]", [(100 * i, value) for i in range(10)])
        made.write()
    rows = json.loads(output("diff", "-q", "-f", "json", "--all", "-r", "gpu_metrics_sum", "before.sqlite", "after.sqlite"))
    rows = rows if isinstance(rows, list) else rows["gpu_metrics_sum"]
    check("diff of means", {("Metric 0", "%", 20.0, 20.0), ("Metric 1", "%", 40.0, 30.0)}, {(row["Metric"], row["Unit"], row["Before"], row["After"]) for row in rows})


def check_short():
    """For people: units of their own, out of the names."""
    made = Made("short.sqlite")
    for metric, (name, value) in enumerate((("SM Clock [Hz]", 1980000000), ("Memory Used [bytes]", 12345678901), ("PCIe TX [bytes/s]", 25000000), ("Power [W]", 75),
                                            ("GPC Clock Frequency [MHz]", 1500000000))):
        add_metric(made, 0, 1, metric, name, [(100 * i, value) for i in range(10)])
    made.write()
    expected = [("SM Clock", "MHz", 1980.0), ("Memory Used", "GB", 12.346), ("PCIe TX", "MB/s", 25.0), ("Power", "W", 75.0), ("GPC Clock Frequency", "MHz", 1500.0)]
    rows = table("gpu_metrics_sum:short=true", "short.sqlite")
    check("short", expected, [(row["Metric"], row["Unit"], round(row["Avg"], 3)) for row in rows])
    check("least and greatest", [row["Avg"] for row in rows] * 2, [row["Min"] for row in rows] + [row["Max"] for row in rows])
    check("in a pipe all is as it was stored", (1980000000.0, "SM Clock [Hz]"), tuple(table("gpu_metrics_sum", "short.sqlite")[0][name] for name in ("Avg", "Metric")))


def check_unchecked():
    """A rule without its metric, or without a sample in the time of kernels, says that it could not check, and what records it."""
    option = "--gpu-metrics-devices=all"
    for rule, word, data in (("low_sm_activity", "SMs", "samples of SM activity while kernels ran"), ("gpu_throttling", "Clock", "samples of the GPU's clock while kernels ran"),
                             ("idle_tensor_cores", "Tensor", "samples of tensor core activity while products of matrices ran"),
                             ("pcie_bound", "PCIe", "samples of PCIe traffic and the rate of the link")):
        make_machine(without=(word,))
        got = answers("machine.sqlite")
        check(f"{rule} without {word}", ("not checked", data, option), got[rule])
        check(f"others without {word}", True, all(got[other][0] == "problem" for other in ("low_sm_activity", "pcie_bound", "gpu_throttling") if other != rule))
    make_machine(kernel_ms=0.4)
    got = answers("machine.sqlite")
    check("kernels too short to be sampled", ["not checked"] * 3, [got[rule][0] for rule in ("low_sm_activity", "idle_tensor_cores", "gpu_throttling")])
    check("a file without metrics", ("not checked", option), answers("resnet18.sqlite")["low_sm_activity"][::2])


def check_fuzz():
    """Random rows, NULLs among them, in all tables: reports and rules end with a table or a sentence."""
    dice = random.Random(2)
    tables = {
        "GPU_METRICS": "timestamp typeId metricId value", "TARGET_INFO_GPU_METRICS": "typeId metricId metricName typeName", "NVTX_EVENTS": "start end eventType textId globalTid",
        "CUPTI_ACTIVITY_KIND_KERNEL": "start end deviceId streamId correlationId globalPid demangledName shortName",
        "CUPTI_ACTIVITY_KIND_RUNTIME": "start end globalTid correlationId nameId", "TACHO_TORCH_OP": "start end globalTid nameId",
    }
    numbers = (0, 1, 2, 3, 7, 59, 100, -1, 256, 1 << 40, (1 << 63) - 1, -(1 << 63))
    for number in range(4):
        made = Made(f"fuzz{number}.sqlite")
        names = [made.text(text) for text in ("k", "step 1", "aten::mm")]
        words = ("SMs Active [Throughput %]", "Clock [MHz]", "]", "[", " [", "", "NVML", "SM Clock [Hz]")
        for name, columns in tables.items():
            for _ in range(200):
                row = {column: dice.choice(words if column in ("metricName", "typeName") else names if column in ("nameId", "textId", "demangledName", "shortName") else numbers)
                       for column in columns.split()}
                made.add(name, **{column: dice.choice((value, value, value, None)) for column, value in row.items()})
        made.write()
        for report in ("gpu_metrics_sum", "gpu_metrics_kern_sum:covered=0", "gpu_metrics_nvtx_sum", "gpu_metrics_step_sum", "gpu_metrics_op_sum"):
            got, said, _ = run("stats", "-q", "-f", "json", "-r", report, made.path)
            check(f"{report} of {made.path}: {said}", True, got == 0 or (got in (1, 2) and said.count("\n") <= 1))
        for rule in ("low_sm_activity", "idle_tensor_cores", "dram_bound", "gpu_throttling", "pcie_bound"):
            got, said, _ = run("analyze", "-q", "-f", "json", "-r", rule, made.path)
            check(f"{rule} of {made.path}: {said}", True, got == 0 or (got in (1, 2) and said.count("\n") <= 1))


def make_damaged():
    """Rows without times, types, metrics or values, samples out of order and twice, a metric without a name, one with one sample."""
    made = Made("damaged.sqlite")
    kind = gpu_type(3, 1)
    add_metric(made, 3, 1, 0, "SMs Active [Throughput %]", [(500, 5), (300, 3), (400, 4), (300, 33), (700, 7)])
    add_metric(made, 3, 1, 1, "[", [(300, 1), (400, -4), (500, 0)])
    add_metric(made, 3, 1, 2, "", [(300, 9)])
    made.add("GPU_METRICS", rawTimestamp=1, timestamp=600, typeId=kind, metricId=9, value=11)
    made.add("GPU_METRICS", rawTimestamp=1, timestamp=None, typeId=kind, metricId=0, value=1000)
    made.add("GPU_METRICS", rawTimestamp=1, timestamp=600, typeId=None, metricId=0, value=1000)
    made.add("GPU_METRICS", rawTimestamp=1, timestamp=600, typeId=kind, metricId=None, value=1000)
    made.add("GPU_METRICS", rawTimestamp=1, timestamp=600, typeId=kind, metricId=0, value=None)
    made.add("TARGET_INFO_GPU_METRICS", typeId=None, sourceId=None, typeName=None, metricId=None, metricName=None)
    made.add("TARGET_INFO_GPU_METRICS", typeId=7, sourceId=7, typeName="", metricId=7, metricName="Of no sample")
    return made.write()


def check_part():
    """A part of the time, and one GPU."""
    rows = table("gpu_metrics_sum", "gpus.sqlite", "--filter-time", "1550ns/1850ns")
    found = read_metrics(sqlite3.connect("gpus.sqlite"))
    for row, metric in zip(rows, (metric for metric in found.values() if any(end >= 1550 and start <= 1850 for start, end, _ in metric["samples"]))):
        inside = [(max(start, 1550), min(end, 1850), value) for start, end, value in metric["samples"] if end >= 1550 and start <= 1850]
        near(f"{metric['name']} in a part", [len(inside), summary({"samples": inside})[0]], [row["Samples"], row["Avg"]])
    check("GPUs of a filter", {1}, {row["GPU"] for row in table("gpu_metrics_sum", "gpus.sqlite", "--filter-device", "1")})


def check_time(database):
    """In the capture of nsys, SM activity goes with the kernels of [t, t + period), and clearly less with those before t."""
    kernels = database.execute("SELECT start, end FROM CUPTI_ACTIVITY_KIND_KERNEL").fetchall()
    samples = next(metric for metric in read_metrics(database).values() if metric["name"].startswith("SMs Active"))["samples"]

    def correlation(shift):
        busy = [sum(max(0, min(end + shift, until) - max(start + shift, since)) for since, until in kernels) for start, end, _ in samples]
        return statistics.correlation(busy, [value for _, _, value in samples])
    after, before = correlation(0), correlation(samples[0][0] - samples[0][1])
    check(f"a sample is about what follows it: correlation with kernels {after:.3f} after, {before:.3f} before", True, after > 0.9 > before)


unpack(os.path.join(HERE, "nsys", "mix.sqlite.gz"), "mix.sqlite")
for path in ("mix.sqlite", make_gpus(), make_damaged()):
    check_summary(path, sqlite3.connect(path))
check_part()
check_work()
unpack(os.path.join(HERE, "nsys", "resnet18.sqlite.gz"), "resnet18.sqlite")
check_rules()
check_diff()
check_short()
check_unchecked()
check_fuzz()
check_time(sqlite3.connect("mix.sqlite"))
check("a file without samples says so", True, "does not contain GPU metrics" in "".join(run("stats", "-r", "gpu_metrics_sum", os.path.join(HERE, "kineto", "train.json.gz"))[1:]))
sys.exit(status())
