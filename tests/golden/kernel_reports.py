"""The reports on counters of kernels, of tables in ncu's form that are written here. Expected figures are worked out below from the
formulas of docs/counters.md, with numbers that make them easy to check by hand."""

import json
import os
import sqlite3
import sys
import tempfile

import lib
from lib import check, output, run, table

LEADING = ["ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size", "Grid Size", "Device", "CC"]
SASS = "smsp__sass_thread_inst_executed_op_"
STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"

# name: (unit, value of kernel 0, value of kernel 1); "" is a cell without a value
COUNTERS = {
    "gpu__time_duration.sum": ("ns", 2_000_000, 1_000_000),
    "sm__throughput.avg.pct_of_peak_sustained_elapsed": ("%", 51.25, 10),
    "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed": ("%", 80, 90.5),
    "l1tex__throughput.avg.pct_of_peak_sustained_active": ("%", 33, 20),
    "lts__throughput.avg.pct_of_peak_sustained_elapsed": ("%", 44, 30),
    "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed": ("%", 79, 90.5),
    "sm__warps_active.avg.pct_of_peak_sustained_active": ("%", 48.75, ""),
    "sm__maximum_warps_per_active_cycle_pct": ("%", 50, 100),
    "launch__occupancy_limit_blocks": ("block", 32, 32),
    "launch__occupancy_limit_registers": ("block", 4, 8),
    "launch__occupancy_limit_shared_mem": ("block", 4, 16),
    "launch__occupancy_limit_warps": ("block", 8, 8),
    "launch__registers_per_thread": ("register/thread", 64, 32),
    "launch__waves_per_multiprocessor": ("", 1.89, 0.25),
    "dram__bytes_read.sum": ("byte", 3_000_000_000, 1_500_000_000),
    "dram__bytes_write.sum": ("byte", 1_000_000_000, 500_000_000),
    "dram__bytes.sum.peak_sustained": ("byte/cycle", 1000, 1000),
    "dram__cycles_elapsed.avg.per_second": ("hz", 3_000_000_000, 3_000_000_000),
    "sm__cycles_elapsed.avg.per_second": ("hz", 1_500_000_000, 1_500_000_000),
    "sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained": ("inst/cycle", 16000, 16000),
    "sm__sass_thread_inst_executed_op_hfma_pred_on.sum.peak_sustained": ("inst/cycle", 8000, 8000),
    SASS + "fadd_pred_on.sum": ("inst", 2_000_000_000, 0),
    SASS + "fmul_pred_on.sum": ("inst", 4_000_000_000, 0),
    SASS + "ffma_pred_on.sum": ("inst", 13_000_000_000, 0),
    SASS + "hadd_pred_on.sum": ("inst", 0, 1000),
    SASS + "hmul_pred_on.sum": ("inst", 0, 0),
    SASS + "hfma_pred_on.sum": ("inst", 0, 500),
    STALL.format("long_scoreboard"): ("", 6, 1.5),
    STALL.format("barrier"): ("", 3, ""),
    STALL.format("selected"): ("", 1, 0.5),
    "smsp__average_warps_issue_stalled_barrier_not_issued_per_issue_active.ratio": ("", 2.5, 1),
}


def line(*fields):
    return ",".join('"' + str(field).replace('"', '""') + '"' for field in fields) + "\n"


def write(path, *kernels, metrics=COUNTERS):
    """A raw page with these kernels: name and place in the table above."""
    with open(path, "w") as out:
        out.write(line(*LEADING, *metrics) + line(*[""] * 11, *(unit for unit, *_ in metrics.values())))
        for number, (name, place) in enumerate(kernels):
            out.write(line(number, 77, "app", "h", name, 1, 7, "(128, 1, 1)", "(64, 1, 1)", 0, "9.0", *(row[1 + place] for row in metrics.values())))


def close(expected, got):
    return {key: round(value, 6) if isinstance(value, float) else value for key, value in got.items() if key in expected}


def compare(what, expected, rows):
    check(f"{what}: rows", len(expected), len(rows))
    for number, (wanted, row) in enumerate(zip(expected, rows)):
        check(f"{what}, row {number}", wanted, close(wanted, row))


def speed_of_light():
    compare("speed of light", [
        {"ID": 0, "Duration (ns)": 2000000, "SM (%)": 51.3, "Memory (%)": 80.0, "L1 (%)": 33.0, "L2 (%)": 44.0, "DRAM (%)": 79.0,
         "Occupancy (%)": 48.8, "Theoretical (%)": 50.0, "Limited By": "registers, shared memory", "Registers": 64, "Waves": 1.89, "Not Collected": "", "Name": "gemm(float*)"},
        {"ID": 1, "Duration (ns)": 1000000, "Occupancy (%)": "", "Theoretical (%)": 100.0, "Limited By": "registers, warps", "Waves": 0.25,
         "Not Collected": "sm__warps_active.avg.pct_of_peak_sustained_active", "Name": "copy"}], table("kernel_speed_of_light", "two.csv"))
    check("it is in the default list", True, "Kernel Speed of Light" in output("stats", "two.csv"))


def roofline():
    # fp32: 2e9 + 4e9 + 2 * 13e9 = 32e9 FLOP; 4e9 bytes: 8 FLOP/byte; 32e9 / 2 ms = 16,000 GFLOP/s. Memory 1000 * 3e9 = 3e12 byte/s, so 24,000
    # GFLOP/s at 8 FLOP/byte; arithmetic 16000 * 2 * 1.5e9 = 48,000 GFLOP/s. 16,000 of 24,000 is 66.7 %.
    # fp16: 1000 additions of two values and 500 fused multiply-adds of two: 2,000 + 2,000 = 4,000 FLOP in 1 ms: 0.004 GFLOP/s.
    compare("roofline", [
        {"ID": 0, "Type": "fp32", "FLOP": 32000000000, "DRAM (B)": 4000000000, "FLOP/Byte": 8.0, "GFLOP/s": 16000.0, "Ceiling GFLOP/s": 24000.0, "Of Ceiling (%)": 66.7,
         "Bound By": "memory", "Peak From": "counters", "Name": "gemm(float*)"},
        {"ID": 1, "Type": "fp16", "FLOP": 4000, "DRAM (B)": 2000000000, "GFLOP/s": 0.0, "Bound By": "memory", "Name": "copy"}], table("kernel_roofline", "two.csv"))
    few = {name: COUNTERS[name] for name in ("gpu__time_duration.sum", "dram__bytes_read.sum")}
    write("few.csv", ("gemm", 0), metrics=few)
    compare("without counters of instructions", [{"FLOP": "", "DRAM (B)": "", "Not Collected": "dram__bytes.sum, " + SASS + "{d,f,h}{add,mul,fma}_pred_on.sum"}], table("kernel_roofline", "few.csv"))
    # The rates of ncu's roofline section: 1e6 operations a cycle, 2 of them for each fused multiply-add; 1e9 cycles a second for 1 ms.
    rates = {"gpu__time_duration.sum": ("ms", 1), "smsp__cycles_elapsed.avg.per_second": ("Ghz", 1), "dram__bytes.sum.per_second": ("Gbyte/s", 250),
             SASS + "fadd_pred_on.sum.per_cycle_elapsed": ("inst/cycle", 1000), SASS + "fmul_pred_on.sum.per_cycle_elapsed": ("inst/cycle", 0),
             "derived__" + SASS + "ffma_pred_on_x2": ("", 4000), "derived__sm__sass_thread_inst_executed_op_ffma_pred_on_x2": ("", 32000),
             "sm__ops_path_tensor_src_bf16_dst_fp32.sum.per_cycle_elapsed": ("", 500)}
    write("rates.csv", ("gemm", 0), metrics=rates)
    compare("from rates", [{"Type": "fp32", "FLOP": 5000000000, "DRAM (B)": 250000000, "FLOP/Byte": 20.0, "GFLOP/s": 5000.0, "Ceiling GFLOP/s": ""},
                           {"Type": "bf16 tensor", "FLOP": 500000000, "FLOP/Byte": 2.0, "GFLOP/s": 500.0}], table("kernel_roofline", "rates.csv"))
    write("named.csv", ("gemm", 0), metrics=dict(COUNTERS, **{"dram__bytes.sum.peak_sustained": ("", ""), "sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained": ("", ""),
                                                              "device__attribute_display_name": ("", "NVIDIA H200")}))
    # H200: 4,814 GB/s, so 38,512 GFLOP/s at 8 FLOP/byte, below its 66.9 TFLOP/s of fp32.
    compare("peaks of the data sheet", [{"Type": "fp32", "Ceiling GFLOP/s": 38512.0, "Bound By": "memory", "Peak From": "data sheet"}], table("kernel_roofline", "named.csv"))


# All reasons that every chip has: docs/counters.md, WarpStateStats.
REASONS = ["barrier", "branch_resolving", "dispatch_stall", "drain", "lg_throttle", "long_scoreboard", "math_pipe_throttle", "membar", "mio_throttle", "misc",
           "no_instruction", "not_selected", "selected", "short_scoreboard", "sleeping", "tex_throttle", "wait"]


def stalls():
    """Shares need all reasons: of some of them, 100 % would be of an unknown part."""
    rows = table("kernel_stalls", "two.csv")
    compare("stalls: not all reasons", [
        {"ID": 0, "Reason": "long_scoreboard", "Share (%)": "", "Value": 6.0}, {"ID": 0, "Reason": "barrier", "Share (%)": "", "Value": 3.0},
        {"ID": 0, "Reason": "selected", "Share (%)": "", "Value": 1.0},
        {"ID": 1, "Reason": "long_scoreboard", "Share (%)": "", "Value": 1.5}, {"ID": 1, "Reason": "selected", "Share (%)": "", "Value": 0.5}], rows)
    lacks = [sorted(set(REASONS) - have) for have in ({"long_scoreboard", "barrier", "selected"}, {"long_scoreboard", "selected"})]
    check("those that are missing", [lacks[0]] * 3 + [lacks[1]] * 2, [sorted(row["Not Collected"].split(", ")) for row in rows])
    write("all.csv", ("k", 0), metrics={STALL.format(reason): ("", number) for number, reason in enumerate(REASONS)})
    whole = sum(range(len(REASONS)))
    compare("all reasons", [{"Reason": reason, "Share (%)": round(100 * number / whole, 1), "Value": float(number), "Not Collected": ""}
                            for number, reason in reversed(list(enumerate(REASONS)))], table("kernel_stalls", "all.csv"))
    sampled = "smsp__pcsamp_warps_issue_stalled_"
    samples = {sampled + reason + "s" * (reason == "no_instruction"): ("", 10 * number) for number, reason in enumerate(REASONS)}
    write("samples.csv", ("k", 0), metrics={**samples, sampled + "wait_not_issued": ("", 20)})
    rows = table("kernel_stalls", "samples.csv")
    check("from samples", ("wait", round(1600 / whole, 1), len(REASONS)), (rows[0]["Reason"], round(rows[0]["Share (%)"], 1), len(rows)))
    compare("without", [{"Reason": "", "Not Collected": STALL.format("*")}], table("kernel_stalls", "few.csv"))


def values():
    write("three.csv", ("gemm(float*)", 0), ("copy", 1), ("gemm(float*)", 1))
    rows = [row for row in table("kernel_counters_sum", "three.csv") if row["Metric"] == "gpu__time_duration.sum"]
    compare("by name", [{"Launches": 2, "Unit": "ns", "Min": 1000000.0, "Avg": 1500000.0, "Max": 2000000.0, "Name": "gemm(float*)"},
                        {"Launches": 1, "Min": 1000000.0, "Max": 1000000.0, "Name": "copy"}], rows)
    check("a selection", {"dram__bytes_read.sum", "dram__bytes_write.sum", "dram__bytes.sum.peak_sustained"},
          {row["Metric"] for row in table("kernel_counters_sum:metric=dram__bytes", "three.csv")})
    rows = table("kernel_counters:metric=registers_per", "three.csv")
    compare("each launch", [{"ID": number, "Metric": "launch__registers_per_thread", "Unit": "register/thread", "Value": value, "Text": ""} for number, value in ((0, 64.0), (1, 32.0), (2, 32.0))], rows)
    changed = json.loads(output("diff", "-f", "json", "-r", "kernel_counters_sum", "two.csv", "three.csv"))
    rows = {row["Metric"]: row for row in changed if row["Name"] == "gemm(float*)"}
    check("diff compares means", (2000000.0, 1500000.0), tuple(rows["gpu__time_duration.sum"][side] for side in ("Before", "After")))
    with open("empty.csv", "w") as out:
        out.write(line("ID", "Kernel Name", "Metric Name") + line(0, "k", "gpu__time_duration.sum"))
    for name in ("speed_of_light", "stalls", "roofline"):
        compare(f"{name} of a kernel without values", [{"ID": 0, "Name": "k"}], table(f"kernel_{name}", "empty.csv"))
    with open("none.json", "w") as out:
        out.write('{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 1, "dur": 2}]}')
    check("a report without counters", True, "hardware counters of kernels" in "".join(run("stats", "-r", "kernel_stalls", "none.json")[1:]))


def origins():
    """Counters put beside a capture of nsys; where its kernels come from is worked out here."""
    lib.unpack(os.path.join(lib.HERE, "nsys", "resnet18.sqlite.gz"), "resnet18.sqlite")
    database = sqlite3.connect("resnet18.sqlite")
    kernels = database.execute("""SELECT k.correlationId, k.globalPid, k.demangledName, k.shortName, r.start, r.end, r.globalTid, k.end - k.start
                                  FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.correlationId = k.correlationId ORDER BY k.start""").fetchall()
    ranges = database.execute("""SELECT start, end, globalTid, coalesce(text, value) FROM NVTX_EVENTS LEFT JOIN StringIds ON id = textId
                                 WHERE eventType = 59 AND end IS NOT NULL ORDER BY end - start""").fetchall()
    database.executescript("""CREATE TABLE TACHO_KERNEL_COUNTERS (id INTEGER, launchId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER, source TEXT);
                              CREATE TABLE TACHO_KERNEL_COUNTER_VALUES (kernelId INTEGER, metricId INTEGER, value REAL);
                              CREATE TABLE TACHO_METRICS (id INTEGER, name TEXT, unit TEXT);
                              INSERT INTO TACHO_METRICS VALUES (0, 'gpu__time_duration.sum', 'ns')""")
    expected = []
    for number, (correlation, process, name, short, start, end, thread, took) in enumerate(kernels):
        database.execute("INSERT INTO TACHO_KERNEL_COUNTERS VALUES (?, ?, ?, ?, ?, ?, 'tacho')", (number, number, correlation, process, name, short))
        database.execute("INSERT INTO TACHO_KERNEL_COUNTER_VALUES VALUES (?, 0, ?)", (number, took))
        around = [text for begin, until, of, text in ranges if of == thread and begin <= start and end <= until]  # the shortest first
        operators = [text.split(", seq = ")[0].split(", op_id")[0] for text in around if ", op_id = " in text or ", seq = " in text]
        expected.append((number, took, around[0] if around else "", operators[0] if operators else ""))
    database.commit()
    rows = table("kernel_origins", "resnet18.sqlite")
    got = [(row["ID"], row["Duration (ns)"], row["Range"] or "", row["Operator"] or "") for row in rows]
    check("origins of the kernels of a training", expected, got)
    check("most have an operator and a step", (True, True), tuple(sum(bool(row[column]) for row in rows) > len(rows) / 2 for column in ("Operator", "Step")))
    check("kernels whose launch is not known", [("", "", "")] * 2, [tuple(row[column] or "" for column in ("Operator", "Range", "Step")) for row in table("kernel_origins", "two.csv")])


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        write("two.csv", ("gemm(float*)", 0), ("copy", 1))
        for part in (speed_of_light, roofline, stalls, values, origins):
            part()
    sys.exit(lib.status())


main()
