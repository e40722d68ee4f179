"""`tacho ncu --import`: what is printed is what ncu would print. A table in ncu's form goes in, and comes out with equal names, units and
values in every column; Python's csv module reads both. Figures of summaries are worked out here from the values that went in."""

import csv
import os
import sys
import tempfile

import lib
from lib import check, output, refusal

LEADING = ["ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size", "Grid Size", "Device", "CC"]
METRICS = {  # base unit, values of three launches
    "dram__bytes_read.sum": ("byte", ["2,500,000", "4,096", "0"]),
    "gpu__time_duration.sum": ("ns", ["1,536,000", "3,200", "1,599.50"]),
    "dram__bytes.sum.per_second": ("byte/s", ["1,627,604,166,666.67", "1,280,000,000", "n/a"]),
    "gpc__cycles_elapsed.avg.per_second": ("hz", ["1,239,496,049.13", "1,400,000,000", "1,410,000,000"]),
    "launch__func_cache_config": ("", ["CachePreferNone", "CachePreferShared", "CachePreferNone"]),
    "launch__registers_per_thread": ("register/thread", ["168", "32", "16"]),
    "launch__shared_mem_per_block_dynamic": ("byte/block", ["205,696", "0", "0"]),
    "sass__inst_executed_per_opcode": ("inst", ["1,024 (512; 256; 256)", "3 (3)", ""]),
    "sm__warps_active.avg.pct_of_peak_sustained_active": ("%", ["51.40", "99.99", "100"]),
    "smsp__inst_executed.sum": ("inst", ["187,500", "12", "12"]),
}
GEMM = 'void gemm<float, "q">(float const*, int)\n::[lambda(int)]'
KERNELS = [[0, 4711, "train", "127.0.0.1", GEMM, 1, 7, "(256, 1, 1)", "(32, 8, 2)", 0, "9.0"],
           [1, 4711, "train", "127.0.0.1", "copy(char*)", 1, 14, "(64, 2, 1)", "(7, 1, 1)", 0, "9.0"],
           [0, 4712, "train", "127.0.0.1", "copy(char*)", 2, 7, "(64, 2, 1)", "(7, 1, 1)", 1, "10.0"]]


def write(path, rows):
    with open(path, "w", newline="") as out:
        csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
    return path


def printed(*options, file="raw.csv"):
    return list(csv.reader(output("ncu", "--import", file, "--csv", *options).splitlines(keepends=True)))


def raw_page():
    rows = [LEADING + list(METRICS), [""] * 11 + [unit for unit, _ in METRICS.values()]]
    rows += [[str(cell) for cell in kernel] + [values[number] for _, values in METRICS.values()] for number, kernel in enumerate(KERNELS)]
    write("raw.csv", rows)
    check("base units: byte for byte what went in", open("raw.csv", newline="").read(), output("ncu", "--import", "raw.csv", "--csv", "--page", "raw", "--print-units", "base"))
    output("import", "-q", "-o", "raw.tacho", "raw.csv")
    check("the same through a report", rows, printed("--page=raw", "--print-units=base", file="raw.tacho"))
    got = printed("--page", "raw")
    check("scaled: the same names", rows[0], got[0])
    by_name = dict(zip(got[0], zip(*got[1:])))
    for name, expected in (("dram__bytes_read.sum", ("Mbyte", "2.500000", "0.004096", "0.000000")), ("gpu__time_duration.sum", ("ms", "1.536000", "0.003200", "0.001600")),
                           ("dram__bytes.sum.per_second", ("Tbyte/s", "1.627604", "0.001280", "n/a")), ("gpc__cycles_elapsed.avg.per_second", ("Ghz", "1.239496", "1.400000", "1.410000")),
                           ("launch__shared_mem_per_block_dynamic", ("Kbyte/block", "205.696000", "0.000000", "0.000000")), ("smsp__inst_executed.sum", ("inst", "187500.000000", "12.000000", "12.000000"))):
        check(f"scaled: {name}", expected, by_name[name])


def details_page():
    rows = printed("--print-units", "base")
    check("details: columns", LEADING + ["Section Name", "Metric Name", "Metric Unit", "Metric Value", "Rule Name", "Rule Type", "Rule Description", "Estimated Speedup Type", "Estimated Speedup"], rows[0])
    own = [row[11:15] for row in rows[1:] if row[:2] == ["0", "4711"]]
    check("details: sections and labels", [
        ["GPU Speed Of Light Throughput", "SM Frequency", "hz", "1,239,496,049.13"], ["GPU Speed Of Light Throughput", "Duration", "ns", "1,536,000"],
        ["Memory Workload Analysis", "Memory Throughput", "byte/s", "1,627,604,166,666.67"], ["Instruction Statistics", "Executed Instructions", "inst", "187,500"], ["Launch Statistics", "Function Cache Configuration", "", "CachePreferNone"],
        ["Launch Statistics", "Registers Per Thread", "register/thread", "168"], ["Launch Statistics", "Dynamic Shared Memory Per Block", "byte/block", "205,696"],
        ["Occupancy", "Achieved Occupancy", "%", "51.40"]], own)
    write("named.csv", [LEADING + ["dram__bytes_read.sum"], [""] * 11 + ["byte"], KERNELS[0] + ["2,500,000"]])
    check("details: metrics without a section", [["Command line profiler metrics", "dram__bytes_read.sum", "Mbyte", "2.50"]], [row[11:15] for row in printed(file="named.csv")[1:]])
    check("each value in a unit of its size", ["3.20", "us"], [row[14:12:-1] for row in printed() if row[0] == "1" and row[12] == "Duration"][0])
    with open("details.csv", "w", newline="") as out:
        csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
    check("the details page, imported and printed", rows, printed("--print-units", "base", file="details.csv"))


def summaries():
    columns = ["Section Name", "Metric Name", "Metric Unit", "Minimum", "Maximum", "Average"]
    rows = printed("--print-summary", "per-kernel", "--print-units", "base")
    check("per kernel: columns", ["Process ID", "Process Name", "Host Name", "Kernel Name", "Block Size", "Grid Size", "Device", "CC", "Invocations"] + columns, rows[0])
    check("per kernel", [["4711", GEMM, "1", "187,500.00", "187,500.00", "187,500.00"], ["4711", "copy(char*)", "1", "12.00", "12.00", "12.00"], ["4712", "copy(char*)", "1", "12.00", "12.00", "12.00"]],
          [[row[0], row[3], row[8], *row[12:]] for row in rows if row[10] == "Executed Instructions"])
    rows = printed("--print-summary", "per-gpu", "--print-units", "base")
    check("per GPU", [["Device", "CC", "Invocations"] + columns, ["0", "9.0", "2", "GPU Speed Of Light Throughput", "Duration", "ns", "3,200.00", "1,536,000.00", "769,600.00"],
                      ["1", "10.0", "1", "GPU Speed Of Light Throughput", "Duration", "ns", "1,599.50", "1,599.50", "1,599.50"]],
          [rows[0]] + [row for row in rows if row[4] == "Duration"])
    rows = printed("--print-summary", "per-nvtx", "--page", "raw", "--print-units", "base")
    check("per NVTX range: of both copies", [["", "copy(char*)", "2", "launch__registers_per_thread", "register/thread", "16.00", "32.00", "24.00"]],
          [row for row in rows if row[1] == "copy(char*)" and row[3] == "launch__registers_per_thread"])


def filters():
    """The filters of launches choose those of the report, in its order; --set, --section and --metrics what is printed of them."""
    def launches(*options, page="raw"):
        rows = printed("--page", page, *options)
        return [(row[0], row[1]) for row in rows[2:]]

    gemm, copy, other = [(str(kernel[0]), str(kernel[1])) for kernel in KERNELS]
    for options, expected in ((["-k", "gemm"], [gemm]), (["-k", "regex:cop"], [copy, other]), (["-k", "regex:o", "-s", "1"], [other]), (["-c", "1"], [gemm]),
                              (["-s", "1", "-c", "1"], [copy]), (["--devices", "1"], [other]), (["--devices", "0,1", "-k", "copy"], [copy, other]),
                              (["--kernel-id", "2:::"], [other]), (["--kernel-id", ":7::"], [gemm, other]), (["--kernel-id", "::copy:2"], [other]),
                              (["--kernel-id", "::regex:c.py:1|2"], [copy, other]), (["--launch-skip-before-match", "1", "-c", "1"], [copy]),
                              (["--filter-mode", "per-gpu", "-c", "1"], [gemm, other]), (["--filter-mode", "per-launch-config", "-c", "1"], [gemm, copy])):
        check(f"launches with {options}", expected, launches(*options))
    rows = printed("-k", "copy", "--devices", "1", "--print-units", "base", "--page", "raw")
    check("values stay with their kernel", [str(cell) for cell in KERNELS[2]] + [values[2] for _, values in METRICS.values()], rows[2])
    check("columns of metrics", LEADING + ["gpu__time_duration.sum", "smsp__inst_executed.sum"], printed("--page", "raw", "--metrics", "gpu__time_duration,regex:^smsp__inst")[0])
    check("columns of a section", LEADING + ["launch__registers_per_thread", "sm__warps_active.avg.pct_of_peak_sustained_active"], printed("--page", "raw", "--section", "Occupancy")[0])
    check("rows of metrics", [["Command line profiler metrics", "gpu__time_duration.sum", "ns", value] for value in METRICS["gpu__time_duration.sum"][1]],
          [row[11:15] for row in printed("--metrics", "gpu__time_duration.sum", "--print-units", "base")[1:]])
    sections = lambda *options: list(dict.fromkeys(row[11] for row in printed(*options)[1:]))
    check("a section", ["Occupancy"], sections("--section", "Occupancy"))
    check("sections by an expression", ["Launch Statistics", "Occupancy"], sections("--section", "regex:^(Occ|Launch)"))
    check("a set", ["GPU Speed Of Light Throughput", "Launch Statistics", "Occupancy"], sections("--set", "basic"))
    check("a section and a metric", ["Occupancy", "Command line profiler metrics"], sections("--section", "Occupancy", "--metrics", "dram__bytes_read.sum"))
    check("a GPU has no name", ["  Device 0, CC 9.0, Invocations 2", "  Device 1, CC 10.0, Invocations 1"],
          [line for line in output("ncu", "--import", "raw.csv", "--print-summary", "per-gpu").splitlines() if "Device" in line])


def refusals():
    for options, says in ((["--devices", "7"], "none of the 3 kernels of 'raw.csv' passes the filters"), (["--metrics", "l1tex__t_bytes.sum"], "'raw.csv' has none of these sections and metrics"),
                          (["--nvtx-include", "a/"], "--nvtx-include is for a program that is run, not for --import"), (["-o", "x"], "--export is for a program that is run, not for --import"),
                          (["--kernel-name-base", "mangled"], "--kernel-name-base mangled is for a program that is run"), (["-c", "0"], "--launch-count must be a whole number from 1 on, not '0'"),
                          (["--section", "regex:none"], "no section matches 'regex:none' (--list-sections)"), (["--section", "regex:("], "cannot use --section 'regex:(': a '(' has no ')'")):
        said = refusal("ncu", "--import", "raw.csv", *options)
        check(f"refused: {options}", True, said.startswith("tacho ncu: " + says) or said)
    check("no file", True, "--import FILE" in refusal("ncu", "--csv"))
    with open("none.json", "w") as out:
        out.write('{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 1, "dur": 2}]}')
    check("no counters", True, "'none.json' has no counters of kernels" in refusal("ncu", "--import", "none.json", "--csv"))


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for part in (raw_page, details_page, summaries, filters, refusals):
            part()
    sys.exit(lib.status())


main()
