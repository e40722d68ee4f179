"""Imports of ncu's CSV: raw page, details page and summary, in the forms of several versions of ncu, between lines of ncu and of the
program. The inputs are written here; the values expected of them are worked out by hand from the units they are printed in."""

import os
import random
import stat
import subprocess
import sys
import tempfile

import lib
from lib import TACHO, check, output, refusal, run, take_over

MUTATIONS = int(os.environ.get("IMPORT_MUTATIONS", "40"))
LEADING = ["ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size", "Grid Size", "Device", "CC"]
LONG = LEADING + ["Section Name", "Metric Name", "Metric Unit", "Metric Value"]
GEMM = 'void gemm<float, 4, "q">(float const*, int)\n::[lambda(int)]'  # commas, quotes and a newline


def line(*fields):
    return ",".join('"' + str(field).replace('"', '""') + '"' for field in fields) + "\n"


def kernel(number, name=GEMM, process=4711, block="(256, 1, 1)", grid="(32, 8, 2)"):
    return [number, process, "train", "127.0.0.1", name, 1, 7, block, grid, 0, "9.0"]


def write(path, *lines):
    with open(path, "w", newline="") as out:
        out.write("".join(lines))
    return path


def values(database, metric=None):
    """(kernel, metric, unit, value, text) of all values."""
    rows = database.execute("SELECT kernelId, name, unit, value, textValue FROM TACHO_KERNEL_COUNTER_VALUES v JOIN TACHO_METRICS m ON m.id = metricId"
                            " ORDER BY v.rowid").fetchall()
    return [row for row in rows if metric in (None, row[1])]


METRICS = ["gpu__time_duration.sum", "dram__bytes_read.sum", "dram__bytes.sum.per_second", "smsp__cycles_elapsed.avg.per_second", "sm__throughput.avg.pct_of_peak_sustained_elapsed",
           "launch__func_cache_config", "smsp__inst_executed.sum", "launch__shared_mem_per_block_static"]
NOISE = ["==PROF== Connected to process 4711 (/usr/bin/train)\n", "epoch 1, loss 0.25\n", '==PROF== Profiling "gemm" - 0: 0%....50%....100% - 9 passes\n']


def raw_page():
    base = write("base.csv", *NOISE, line(*LEADING, *METRICS), line(*[""] * 11, "ns", "byte", "byte/s", "hz", "%", "", "inst", "byte/block"),
                 line(*kernel(0), "1,536,000", "2500000", "1627604166666.67", "1,239,500,000", "51.4", "PreferNone", "187,500", "1024"),
                 "==PROF== Disconnected from process 4711\n",
                 line(*kernel(1, "copy(char*)", 4712, "(64, 2, 1)", "(7, 1, 1)"), "3,200", "n/a", "nan", "", "0", "PreferNone", "12", "0"))
    got = take_over(base)
    check("a kernel per row", [(0, 0, 4711, "train", "127.0.0.1", 0, 9, 0, 1, 7, GEMM, "gemm", 32, 8, 2, 256, 1, 1, "ncu-raw"),
                               (1, 1, 4712, "train", "127.0.0.1", 0, 9, 0, 1, 7, "copy(char*)", "copy", 7, 1, 1, 64, 2, 1, "ncu-raw")],
          got.execute("SELECT k.id, launchId, globalPid >> 24 & 0xffffff, processName, hostName, deviceId, computeMajor, computeMinor, contextId, streamId, d.value, s.value,"
                      " gridX, gridY, gridZ, blockX, blockY, blockZ, source FROM TACHO_KERNEL_COUNTERS k JOIN StringIds d ON d.id = demangledName"
                      " JOIN StringIds s ON s.id = shortName ORDER BY k.id").fetchall())
    expected = [(0, METRICS[0], "ns", 1536000.0, None), (0, METRICS[1], "byte", 2.5e6, None), (0, METRICS[2], "byte/s", 1627604166666.67, None),
                (0, METRICS[3], "hz", 1239500000.0, None), (0, METRICS[4], "%", 51.4, None), (0, METRICS[5], None, None, "PreferNone"),
                (0, METRICS[6], "inst", 187500.0, None), (0, METRICS[7], "byte/block", 1024.0, None),
                (1, METRICS[0], "ns", 3200.0, None), (1, METRICS[1], "byte", None, None), (1, METRICS[2], "byte/s", None, "nan"),
                (1, METRICS[4], "%", 0.0, None), (1, METRICS[5], None, None, "PreferNone"), (1, METRICS[6], "inst", 12.0, None), (1, METRICS[7], "byte/block", 0.0, None)]
    check("a value per cell: n/a has no number, an empty cell no row", expected, values(got))
    for name, units, first in (("new", ["us", "Mbyte", "Tbyte/s", "Ghz", "%", "", "inst", "Kbyte/block"], ["1,536.00", "2.5", "1.62760416666667", "1.2395", "51.4", "PreferNone", "187500", "1.024"]),
                               ("old", ["usecond", "Mbyte", "Gbyte/second", "cycle/nsecond", "%", "", "inst", "Kbyte/block"],
                                ["1536.00", "2.5", "1,627.60416666667", "1.2395", "51.4", "PreferNone", "187,500", "1.024"])):
        scaled = take_over(write(f"{name}.csv", line(*LEADING, *METRICS), line(*[""] * 11, *units), line(*kernel(0), *first)))
        check(f"scaled units, {name} spelling: the same numbers", [(*row[:3], row[3] and round(row[3], 1), row[4]) for row in expected[:8]],
              [(*row[:3], row[3] and round(row[3], 1), row[4]) for row in values(scaled)])


def older_columns():
    got = take_over(write("older.csv", line("ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Kernel Time", "Context", "Stream", "Section Name", "Metric Name", "Metric Unit", "Metric Value"),
                          line(0, 21524, "cfd", "127.0.0.1", "step", "2020-Apr-07 17:01:05", 1, 7, "GPU Speed Of Light", "Memory Frequency", "cycle/second", "772656250"),
                          line(0, 21524, "cfd", "127.0.0.1", "step", "2020-Apr-07 17:01:05", 1, 7, "GPU Speed Of Light", "Elapsed Cycles", "cycle", "11733")))
    check("a table of 2020, without sizes and device", [(0, None, None, 1)], got.execute("SELECT launchId, gridX, deviceId, contextId FROM TACHO_KERNEL_COUNTERS").fetchall())
    check("its values", [(0, "Memory Frequency", "hz", 772656250.0, None), (0, "gpc__cycles_elapsed.max", "cycle", 11733.0, None)], values(got))


def details_page():
    rule = "a vendor's sentence, with a comma"
    rows = [line(*LONG, "Rule Name", "Rule Type", "Rule Description", "Estimated Speedup Type", "Estimated Speedup")]
    for number, duration in ((0, "406.24"), (1, "1,000.50")):
        start = kernel(number)
        rows += [line(*start, "GPU Speed Of Light Throughput", "Duration", "us", duration).rstrip("\n") + ",\n",
                 line(*start, "GPU Speed Of Light Throughput", "Memory Throughput", "%", "21.68").rstrip("\n") + ",\n",
                 line(*start, "SpeedOfLight", "", "", "", "SOLBottleneck", "OPT", rule, "global", "50"),
                 line(*start, "Launch Statistics", "# SMs", "SM", "152"), NOISE[2],
                 line(*start, "Memory Workload Analysis", "Memory Throughput", "Gbyte/s", "12.5")]
    got = take_over(write("details.csv", *NOISE, *rows))
    check("details: labels become metrics, by their unit",
          [(0, "gpu__time_duration.sum", "ns", 406240.0, None), (0, "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", "%", 21.68, None),
           (0, "launch__sm_count", "SM", 152.0, None), (0, "dram__bytes.sum.per_second", "byte/s", 12.5e9, None),
           (1, "gpu__time_duration.sum", "ns", 1000500.0, None)], [(*row[:3], row[3] and round(row[3], 3), row[4]) for row in values(got)][:5])
    check("two kernels", 2, got.execute("SELECT count(*) FROM TACHO_KERNEL_COUNTERS").fetchone()[0])
    check("no text of rules", 0, got.execute("SELECT count(*) FROM StringIds WHERE value LIKE '%vendor%' OR value LIKE '%SOLBottleneck%'").fetchone()[0])
    check("nothing is noted", 0, got.execute("SELECT count(*) FROM sqlite_master WHERE name = 'TACHO_IMPORT'").fetchone()[0])


def summary():
    got = take_over(write("summary.csv", line("Process ID", "Process Name", "Host Name", "Kernel Name", "Block Size", "Grid Size", "Device", "CC", "Invocations", "Section Name", "Metric Name", "Metric Unit", "Minimum", "Maximum", "Average"),
                          line(5, "bench", "h", "saxpy(float)", "(256, 1, 1)", "(4096, 1, 1)", 0, "11.0", 14, "Occupancy", "Achieved Occupancy", "%", "73.56", "79.38", "74.92"),
                          line(5, "bench", "h", "saxpy(float)", "(256, 1, 1)", "(4096, 1, 1)", 0, "11.0", 14, "GPU Speed Of Light Throughput", "Duration", "us", "2.00", "4.50", "3.25"),
                          line(5, "bench", "h", "saxpy(float)", "(1, 1, 1)", "(8, 1, 1)", 0, "11.0", 2, "Occupancy", "Achieved Occupancy", "%", "1", "1", "1")))
    check("a summary: launches, least, most and mean", [(None, 14, "sm__warps_active.avg.pct_of_peak_sustained_active", 73.56, 79.38, 74.92), (None, 14, "gpu__time_duration.sum", 2000.0, 4500.0, 3250.0),
                                                        (None, 2, "sm__warps_active.avg.pct_of_peak_sustained_active", 1.0, 1.0, 1.0)],
          got.execute("SELECT launchId, invocations, name, minimum, maximum, value FROM TACHO_KERNEL_COUNTER_VALUES v JOIN TACHO_METRICS m ON m.id = metricId"
                      " JOIN TACHO_KERNEL_COUNTERS k ON k.id = kernelId ORDER BY v.rowid").fetchall())


def ranges_and_instances():
    got = take_over(write("nvtx.csv", line(*LEADING, "thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg", "sass__inst_executed_per_opcode"), line(*[""] * 12, "inst"),
                          line(*kernel(0), '140 "<default domain>:step:none"', "1,024 (512; 256; 256)")))
    check("NVTX ranges", ('140 "<default domain>:step:none"',), got.execute("SELECT nvtxRange FROM TACHO_KERNEL_COUNTERS").fetchone())
    check("instances", [(0, "sass__inst_executed_per_opcode", "inst", 1024.0, "(512; 256; 256)")], values(got))


def several_tables():
    text = [line(*LEADING, METRICS[0]), line(*[""] * 11, "us"), line(*kernel(0), "1.5")]
    got = take_over(write("twice.csv", *text, *NOISE, *text))
    check("two tables in a file", [(0, METRICS[0], "ns", 1500.0, None), (1, METRICS[0], "ns", 1500.0, None)], values(got))


def damage():
    good = line(*kernel(0), "1.5")
    got = take_over(write("damaged.csv", line(*LEADING, METRICS[0]), line(*[""] * 11, "us"), good, 'he said "well\n', '"an open quote\n', good, '"3","4711","cut'))
    check("lines of the program between rows", 2, len(values(got)))
    check("what was skipped is counted", [("damaged", 2), ("truncated", 1)], got.execute("SELECT reason, count FROM TACHO_IMPORT ORDER BY 1").fetchall())
    check("text without a table", True, "ncu --import REPORT.ncu-rep --page raw --csv" in refusal("import", "-o", "no.tacho", write("text.txt", *NOISE)))
    check("a CSV of others", True, "neither an SQLite export of nsys, a CSV of ncu nor" in refusal("import", write("other.csv", "a,b\n1,2\n")))
    source = open("base.csv", "rb").read()
    chance = random.Random(7)
    for _ in range(MUTATIONS):
        bytes_ = bytearray(source[:chance.randrange(len(source))])
        for _ in range(chance.randrange(8)):
            bytes_[chance.randrange(len(bytes_))] = chance.choice(b'",\n=\0x9')
        with open("mutated.csv", "wb") as out:
            out.write(b"==PROF==\n" + bytes_)
        status, said, _ = run("import", "-f", "true", "-o", "mutated.tacho", "mutated.csv")
        check(f"a mutated file: {said}", True, status in (0, 1) and "Sanitizer" not in said)


def commands():
    """All commands read it, as they read other formats."""
    check("info", True, "Kernel counters" in output("info", "base.csv") or "kernel counters" in output("info", "base.csv"))
    check("sql", True, "1536000" in output("sql", "base.csv", "SELECT max(value) FROM TACHO_KERNEL_COUNTER_VALUES WHERE metricId = 0"))
    for kind in ("sqlite", "arrow", "json", "jsonlines"):
        output("export", "-q", "-f", "true", "-t", kind, "-o", f"out.{kind}", "base.csv")
        check(f"exported to {kind}", True, b"TACHO_KERNEL_COUNTER_VALUES" in open(f"out.{kind}", "rb").read())


def through_ncu():
    """A .ncu-rep goes through the user's own ncu; the stand-in prints what it was asked with."""
    write("k.ncu-rep", "protobuf")
    os.mkdir("bin")
    table = open("new.csv").read()
    script = write("bin/ncu", "#!/bin/sh\n[ \"$*\" = \"--import $FILE --page raw --csv --print-units base\" ] || { echo \"asked: $*\" >&2; exit 3; }\n",
                   "cat <<'END'\n==PROF== from ncu\n", table, "END\n")
    os.chmod(script, os.stat(script).st_mode | stat.S_IXUSR)

    def ask(path, *words):
        return subprocess.run([TACHO, *words], env=dict(os.environ, PATH=path, FILE="k.ncu-rep"), capture_output=True, text=True)

    for words in (["import", "k.ncu-rep"], ["stats", "k.ncu-rep"], ["info", "k.ncu-rep"]):
        done = ask("/nowhere", *words)
        check(f"{words} without ncu", (1, 1, True), (done.returncode, done.stderr.count("\n"), "ncu --import FILE --page raw --csv --print-units base" in done.stderr))
    check("nothing is left", False, os.path.exists("k.ncu.csv"))
    path = f"{os.path.abspath('bin')}:{os.environ['PATH']}"
    done = ask(path, "sql", "k.ncu-rep", "SELECT count(*) FROM TACHO_KERNEL_COUNTER_VALUES")
    check("with ncu", (0, True), (done.returncode, "8" in done.stdout))
    done = ask("/nowhere", "import", "k.ncu-rep")
    check("its export beside it is imported", (0, "k.tacho\n"), (done.returncode, done.stdout))
    write("bin/ncu", "#!/bin/sh\necho no such chip >&2; exit 1\n")
    write("l.ncu-rep", "")
    done = ask(path, "stats", "l.ncu-rep")
    check("ncu fails", (1, True, False), (done.returncode, "its message is above" in done.stderr, os.path.exists("l.ncu.csv")))
    write("bin/ncu", "#!/bin/sh\necho half of a table\nkill -9 $PPID\n")
    done = ask(path, "stats", "l.ncu-rep")
    check("half an export is not taken for one", (-9, False), (done.returncode, os.path.exists("l.ncu.csv")))
    write("mine", "mine")
    os.remove("l.ncu.csv.part")
    os.symlink("mine", "l.ncu.csv.part")
    ask(path, "stats", "l.ncu-rep")
    check("no link is followed", "mine", open("mine").read())


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for part in (raw_page, older_columns, details_page, summary, ranges_and_instances, several_tables, damage, commands, through_ncu):
            part()
    sys.exit(lib.status())


main()
