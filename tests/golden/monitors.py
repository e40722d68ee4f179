"""tacho dmon and pmon beside what nvidia-smi prints, byte by byte.

The expected texts are outputs of nvidia-smi that people have published, with the blanks at the ends of lines; the script of the stand-in of NVML
(tests/fake/nvml.c) gives the values in them. None is copied from tacho:
- dmon: github.com/NVIDIA/DCGM/issues/232, an A10 in May 2025; -s pcut: two of eight GPUs in a log of 2026
- -s pucvmet -o DT, pmon -s um -o DT: notes of August 2026, whose editor has cut the blanks at the ends of lines
- dmon --gpm-metrics 1,2,13: leimao.github.io/blog/NVIDIA-NVML-GPU-Statistics, December 2025
- pmon: output of driver 595.84 in the tests of a parser; -s um: the same columns, and a name of 15 characters, in another one's
- smi/: printed on one H200 by driver 580.159.04, under load and all at once; the heading in a pipe was at the lines 0 and 46
- --format csv: the heading `#gpu, rxpci, txpci`, `#Idx, MB/s, MB/s` and the row ` 0, 12, 34` in the tests of a parser
Drivers before 550 have narrower columns for the date, the time (535) and all others (525)."""

import fcntl
import json
import os
import pty
import re
import shutil
import signal
import sqlite3
import statistics
import struct
import subprocess
import sys
import termios
import time

import lib
from lib import TACHO, check, output, refusal, run
from nvml_host import printed_by_nvidia_smi

KEEP = []


def nvml(*lines):
    """The stand-in answers so from now on."""
    with open("script.nvml", "w") as file:
        file.write("\n".join(lines) + "\n")
    os.environ["FAKE_NVML"] = os.path.abspath("script.nvml")


def gpu(number, power, temperature, sm, memory, memory_clock, clock, *more):
    """Lines of a GPU whose engines for video are idle."""
    return [f"DeviceGetUUID {number} GPU-{number}", f"DeviceGetPowerUsage {number} {power}", f"DeviceGetTemperature[0] {number} {temperature}",
            f"DeviceGetUtilizationRates {number} {sm}:{memory}", f"DeviceGetClockInfo[2] {number} {memory_clock}",
            f"DeviceGetClockInfo[1] {number} {clock}", *(f"DeviceGet{engine}Utilization {number} 0" for engine in ("Encoder", "Decoder", "Jpg", "Ofa")), *more]


def process(name):
    """A process of that name; its id."""
    path = os.path.abspath(name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    shutil.copy(shutil.which("sleep"), path)
    KEEP.append(subprocess.Popen([path, "600"]))
    return KEEP[-1].pid


# ---- dmon ----

def dmon_is_that_of_nvidia_smi():
    rates = "30:27 30:27 100:95 100:95 85:80 85:80 98:93"  # asked for twice in each round
    nvml("DeviceGetCount_v2 - 1", f"DeviceGetUtilizationRates 0 {rates}", *gpu(0, "86123 267500 280999 284000", "33 39 41 42", 0, 0, 6250, 1710))
    check("dmon", """\
# gpu    pwr  gtemp  mtemp     sm    mem    enc    dec    jpg    ofa   mclk   pclk 
# Idx      W      C      C      %      %      %      %      %      %    MHz    MHz 
    0     86     33      -     30     27      0      0      0      0   6250   1710 
    0    267     39      -    100     95      0      0      0      0   6250   1710 
    0    280     41      -     85     80      0      0      0      0   6250   1710 
    0    284     42      -     98     93      0      0      0      0   6250   1710 
""", output("dmon", "-d", "0.01", "-c", "4"))


def letters_order_the_columns():
    rates = [f"DeviceGetPcieThroughput[{which}] {number} {value}" for number, which, value in ((0, 1, 21846000), (0, 0, 6849000), (1, 1, 19397000), (1, 0, 11676000))]
    nvml("DeviceGetCount_v2 - 2", *gpu(0, 365000, 55, 99, 58, 12481, 2415), *gpu(1, 372000, 53, 100, 58, 12481, 2407), *rates)
    check("-s pcut of two GPUs", """\
# gpu    pwr  gtemp  mtemp   mclk   pclk     sm    mem    enc    dec    jpg    ofa  rxpci  txpci 
# Idx      W      C      C    MHz    MHz      %      %      %      %      %      %   MB/s   MB/s 
    0    365     55      -  12481   2415     99     58      0      0      0      0  21846   6849 
    1    372     53      -  12481   2407    100     58      0      0      0      0  19397  11676 
""", output("dmon", "-s", "pcut", "-c", "1"))
    check("-i chooses", ["    1  19397  11676 "], output("dmon", "-i", "1", "-s", "t", "-c1").splitlines()[2:])


def times(text):
    """Without the blanks at the ends of lines, dates and times as in the expected text if they are near to now."""
    now = time.time()
    near = {time.strftime(form, time.localtime(now - back)) for back in range(60) for form in ("%Y%m%d", "%H:%M:%S")}
    text = re.sub(r"\b\d{8}\b", lambda found: "20260816" if found.group() in near else found.group(), text)
    text = re.sub(r"\b\d\d:\d\d:\d\d\b", lambda found: "09:22:34" if found.group() in near else found.group(), text)
    return [line.rstrip() for line in text.splitlines()]


EVERYTHING = ["DeviceGetViolationStatus[0] 0 1:500 1:500 1:1000000000000", "DeviceGetViolationStatus[1] 0 1:7 1:7 1:8", f"DeviceGetMemoryInfo 0 {8 << 30}:0:{2 << 20}",
              f"DeviceGetBAR1MemoryInfo 0 {8 << 30}:{2 << 20}", f"DeviceGetConfComputeProtectedMemoryUsage 0 {8 << 30}:0",
              "DeviceGetPcieReplayCounter 0 0", "DeviceGetPcieThroughput[1] 0 0", "DeviceGetPcieThroughput[0] 0 2100"]


def everything_with_times():
    nvml("DeviceGetCount_v2 - 1", *gpu(0, 6400, 38, 0, 0, 405, 180, *EVERYTHING))
    check("-s p -o D, as nvidia-smi 580 prints it", "#Date         gpu    pwr  gtemp  mtemp ", output("dmon", "--select=p", "--options=D", "--count=1").splitlines()[0])
    check("-s pucvmet -o DT", """\
#Date        Time         gpu    pwr  gtemp  mtemp     sm    mem    enc    dec    jpg    ofa   mclk   pclk  pviol  tviol     fb   bar1   ccpm  sbecc  dbecc    pci  rxpci  txpci
#YYYYMMDD    HH:MM:SS     Idx      W      C      C      %      %      %      %      %      %    MHz    MHz      %   bool     MB     MB     MB   errs   errs   errs   MB/s   MB/s
 20260816    09:22:34       0      6     38      -      0      0      0      0      0      0    405    180      0      0      2      2      0      -      -      0      0      2
""".splitlines(), times(output("dmon", "--select=pucvmet", "--options=DT", "--count=1")))
    check("violations are changes", [["0", "0", "0"], ["0", "0", "0"], ["0", "100", "1"]], [line.split() for line in output("dmon", "-s", "v", "-d", "0.01", "-c", "3").splitlines()[2:]])
    check("-o T", ["#Time         gpu    pwr  gtemp  mtemp", "#HH:MM:SS     Idx      W      C      C", " 09:22:34       0      6     38      -"],
          times(output("dmon", "-s", "p", "-o", "T", "-c", "1")))


def gpm():
    nvml("DeviceGetCount_v2 - 1", *gpu(0, "12000 11000", 43, 0, 1, 7001, 682), "GpmQueryDeviceSupport 0 1", "GpmMetricsGet[1] 0 1", "GpmMetricsGet[2] 0 1", "GpmMetricsGet[13] 0 0")
    check("--gpm-metrics", """\
# gpu    pwr  gtemp  mtemp     sm    mem    enc    dec    jpg    ofa   mclk   pclk      gract     smutil       fp16 
# Idx      W      C      C      %      %      %      %      %      %    MHz    MHz      GPM:%      GPM:%      GPM:% 
    0     12     43      -      0      1      0      0      0      0   7001    682          -          -          - 
    0     11     43      -      0      1      0      0      0      0   7001    682          1          1          0 
""", output("dmon", "--gpm-metrics", "1,2,13", "--gpm-options", "d", "-d", "0.01", "-c", "2"))
    nvml("DeviceGetCount_v2 - 1", "GpmQueryDeviceSupport 0 1", *(f"GpmMetricsGet[{number}] 0 {number}" for number in (30, 47, 50, 62, 97, 166)))
    check("single engines and links", ["# gpu     nvdec0     nvjpg7     nvofa0     nvl0rx    nvl17tx     nvenc0 ", "# Idx      GPM:%      GPM:%      GPM:%  GPM:MiB/s  GPM:MiB/s      GPM:% ",
                                       "    0          -          -          -          -          -          - ", "    0         30         47         50         62         97        166 "],
          output("dmon", "-s", "", "--gpm-metrics", "30,47,50,62,97,166", "-d", "0.01", "-c", "2").splitlines())
    nvml("DeviceGetCount_v2 - 1", *gpu(0, "12000 11000", 43, 0, 1, 7001, 682), "GpmQueryDeviceSupport 0 1", "GpmMetricsGet[21] 0 1234.5")
    check("rates of GPM, by name", ["#gpu, pwr, gtemp, mtemp, pcirx", "#Idx, W, C, C, GPM:MiB/s", " 0, 12, 43, -, -", " 0, 11, 43, -, 1234"],
          output("dmon", "-s", "p", "--gpm-metrics=pcirx", "--format=csv", "-d", "0.01", "-c", "2").splitlines())


def csv():
    nvml("DeviceGetCount_v2 - 2", "DeviceGetPcieThroughput[1] - 12000", "DeviceGetPcieThroughput[0] - 34000")
    names, units, rows = "#gpu, rxpci, txpci\n", "#Idx, MB/s, MB/s\n", " 0, 12, 34\n 1, 12, 34\n"
    check("csv", names + units + rows, output("dmon", "-s", "t", "-c", "1", "--format", "csv"))
    check("csv,nounit", names + rows, output("dmon", "-s", "t", "-c", "1", "--format", "csv,nounit"))
    check("csv,nounit,noheader", rows, output("dmon", "-s=t", "-c=1", "--format=csv,nounit,noheader"))
    check("nothing on stdout", "", output("dmon", "-s", "t", "-c", "1", "--format", "csv", "-f", "out.csv"))
    check("-f", names + units + rows, open("out.csv").read())


def json_lines():
    nvml("DeviceGetCount_v2 - 1", *gpu(0, 6999, 38, 50, 7, 405, 180, *EVERYTHING))
    began = time.time()
    lines = [json.loads(line) for line in output("dmon", "--json", "-s", "pucvmet", "-d", "0.01", "-c", "2").splitlines()]
    check("lines", 2, len(lines))
    check("base units", (0, "GPU-0", 6.999, None, 405e6, 2 << 20, 2.1e6, None), tuple(lines[0][name] for name in ("gpu", "uuid", "pwr", "mtemp", "mclk", "fb", "txpci", "sbecc")))
    stamp = lines[1]["time"]
    check(f"time {stamp}", True, bool(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", stamp)) and time.strftime("%Y-%m-%d", time.gmtime(began)) <= stamp)
    check("times grow", True, lines[0]["time"] < stamp)


# ---- one H200 ----

METRICS = "1,2,3,4,5,6,7,9,10,11,12,13,20,21"
ONE_H200 = {"dmon": "-c 5", "dmon-DT": "-o DT -c 2", "dmon-T": "-o T -c 2", "dmon-csv": "--format csv -c 2", "dmon-csv-n": "--format csv,nounit,noheader -c 2",
            "dmon-gpm": f"--gpm-metrics {METRICS} -c 2", "dmon-gpm-d": "--gpm-metrics 1,2 --gpm-options d -c 2", **{f"dmon-{letters}": f"-s {letters} -c 2" for letters in ("p", "u", "c", "v", "m", "e", "t", "pucvmet")}}


def rows(text):
    """[{column: text}] of a table that nvidia-smi printed."""
    lines = text.replace("#", " ").splitlines()
    return [dict(zip(lines[0].split(), line.split())) for line in lines[2:]]


def answers(text, column, scale=1):
    return " ".join(str(int(row[column]) * scale) for row in rows(text))


def readings(everything):
    """The script of the readings in a table with all columns; utilization is asked for twice in each round."""
    rates = " ".join(f"{row['sm']}:{row['mem']} " * 2 for row in rows(everything))
    memory = " ".join(f"{141 << 30}:0:{int(row['fb']) << 20}" for row in rows(everything))
    bar1 = " ".join(f"{256 << 30}:{int(row['bar1']) << 20}" for row in rows(everything))
    lost = " ".join(f"1:{at * 10**15 * (row['pviol'] == '100')}" for at, row in enumerate(rows(everything)))
    single = {"DeviceGetPowerUsage": ("pwr", 1000), "DeviceGetTemperature[0]": ("gtemp", 1), "DeviceGetFieldValues[82]": ("mtemp", 1), "DeviceGetClockInfo[2]": ("mclk", 1),
              "DeviceGetClockInfo[1]": ("pclk", 1), "DeviceGetEncoderUtilization": ("enc", 1), "DeviceGetDecoderUtilization": ("dec", 1), "DeviceGetJpgUtilization": ("jpg", 1),
              "DeviceGetOfaUtilization": ("ofa", 1), "DeviceGetPcieReplayCounter": ("pci", 1), "DeviceGetPcieThroughput[1]": ("rxpci", 1000), "DeviceGetPcieThroughput[0]": ("txpci", 1000)}
    return ["DeviceGetCount_v2 - 1", "DeviceGetName - NVIDIA_H200", "GpmQueryDeviceSupport 0 1", f"DeviceGetUtilizationRates 0 {rates}", f"DeviceGetMemoryInfo 0 {memory}",
            f"DeviceGetBAR1MemoryInfo 0 {bar1}", f"DeviceGetConfComputeProtectedMemoryUsage 0 {141 << 30}:0", f"DeviceGetViolationStatus[0] 0 {lost}", "DeviceGetViolationStatus[1] 0 1:0",
            "DeviceGetTotalEccErrors[1] 0 0", "DeviceGetTotalEccErrors[3] 0 0", *(f"{call} 0 {answers(everything, *column)}" for call, column in single.items() if column[0] in everything)]


def one_h200():
    """Every file of nvidia-smi, from the readings that its files have. GPM had none on that host, in nvidia-smi's first two lines."""
    script = readings(printed_by_nvidia_smi("dmon-pucvmet.txt"))
    for name, options in ONE_H200.items():
        expected = printed_by_nvidia_smi(f"{name}.txt")
        lines = list(script)
        if name == "dmon":
            every = {"pwr": ("DeviceGetPowerUsage", 1000), "gtemp": ("DeviceGetTemperature[0]", 1), "mtemp": ("DeviceGetFieldValues[82]", 1), "pclk": ("DeviceGetClockInfo[1]", 1)}
            rates = " ".join(f"{row['sm']}:{row['mem']} " * 2 for row in rows(expected))
            lines = [f"{call} 0 {answers(expected, column, scale)}" for column, (call, scale) in every.items()] + [f"DeviceGetUtilizationRates 0 {rates}"] + lines
        if name == "dmon-t":
            lines = [f"DeviceGetPcieThroughput[{which}] 0 {answers(expected, column, 1000)}" for which, column in ((1, "rxpci"), (0, "txpci"))] + lines
        nvml(*lines)
        got = output("dmon", *options.split(), "-d", "0.01")
        if "T" in options:
            expected, got = (re.sub(r" 20\d{6} ", " 20260816 ", re.sub(r"\d\d:\d\d:\d\d", "09:22:34", text)) for text in (expected, got))
        check(name, expected, got)


def processes_of_one_h200():
    pids = [process(os.path.join(folder, "python3")) for folder in ("first", "second")]
    for name, options in {"pmon": "-c 2", "pmon-u": "-s u -c 2", "pmon-m": "-s m -c 2", "pmon-um": "-s um -c 2", "pmon-DT": "-o DT -c 1"}.items():
        used = [[f"{at}:{pid}:{sm}:{memory}:0:0:0:0" for pid, sm, memory in zip(pids, *values)] for at, values in ((1, ((88, 11), (11, 1))), (2, ((44, 55), (5, 7))))]
        nvml("DeviceGetCount_v2 - 1", f"DeviceGetComputeRunningProcesses_v3 0 {';'.join(f'{pid}:{1130 << 20}:{ALL}:{ALL}' for pid in pids)}",
             f"DeviceGetProcessesUtilizationInfo 0 {';'.join(used[0])} {';'.join(used[1])}", "DeviceGetConfComputeProtectedMemoryUsage 0 1:0")
        expected, got = printed_by_nvidia_smi(f"{name}.txt"), output("pmon", *options.split(), "-d", "0.01")
        for there, here in zip((1593, 1629), pids):
            expected = expected.replace(f"{there:>10}", f"{here:>10}")
        if "T" in options:
            expected, got = (re.sub(r" 20\d{6} ", " 20260816 ", re.sub(r"\d\d:\d\d:\d\d", "09:22:34", text)) for text in (expected, got))
        check(name, expected, got)


def a_pipe_repeats_the_heading():
    nvml("DeviceGetCount_v2 - 1", *gpu(0, 6400, 38, 0, 0, 405, 180))
    check("headings", [0, 46], [at for at, line in enumerate(output("dmon", "-s", "p", "-c", "60", "-d", "0.01").splitlines()) if line.startswith("# gpu")])


# ---- a report ----

def a_report():
    """What is printed is in the report, and the timeline shows it."""
    watts = [[86.123, 267.5, 280.999, 284], [75.25, 75.25, 80, 80]]
    nvml("DeviceGetCount_v2 - 2", "DeviceGetName - NVIDIA_H200", *gpu(0, "86123 267500 280999 284000", 33, 30, 27, 6250, 1710), *gpu(1, "75250 75250 80000", 34, 0, 0, 6250, 345),
         "GpmQueryDeviceSupport 0 1", "GpmMetricsGet[2] 0 10.5 20.25 30", f"DeviceGetMemoryInfo - {8 << 30}:0:{3 << 20}")
    for stale in ("rec.tacho", "rec.sqlite"):
        if os.path.exists(stale):
            os.unlink(stale)
    began = time.time()
    got, said, out = run("dmon", "-o", "rec.tacho", "-o", "T", "-s", "pcm", "--gpm-metrics", "smutil", "-d", "0.02", "-c", "4")
    check("status", 0, got)
    check("what has no GPM, and where the report is", "tacho dmon: GPU 1 (NVIDIA H200) has no GPM, which needs Hopper or later and driver 520 or later\n"
          "tacho dmon: wrote rec.tacho; tacho stats prints it, tacho view shows it\n", said)
    check("lines beside the report", (2 + 8, "#Time"), (len(out.splitlines()), out[:5]))
    output("export", "-q", "-o", "rec.sqlite", "rec.tacho")
    database = sqlite3.connect("rec.sqlite")
    rows = database.execute("""SELECT typeId & 255, metricName, exact, timestamp FROM GPU_METRICS JOIN TARGET_INFO_GPU_METRICS USING (typeId, metricId)
                               ORDER BY timestamp""").fetchall()
    series = {}
    for number, name, value, at in rows:
        series.setdefault((number, name), []).append((value, at))
    values = {key: [value for value, _ in samples] for key, samples in series.items()}
    for number in (0, 1):
        check(f"power of GPU {number}", watts[number], values.get((number, "Power [W]")))
        check(f"memory of GPU {number}", [3 << 20] * 4, values.get((number, "Memory Used [bytes]")))
        times = [at for _, at in series[number, "Power [W]"]]
        check(f"times of GPU {number} grow and begin with the report", True, times == sorted(set(times)) and 0 <= times[0] < 60e9)
    check("clocks", ([1710e6] * 4, [345e6] * 4), tuple(values.get((number, "SM Clock [Hz]")) for number in (0, 1)))
    check("GPM", [10.5, 20.25, 30], values.get((0, "SMs Active [Throughput %]")))
    check("GPUs", [(0, "NVIDIA H200", "0"), (1, "NVIDIA H200", "1")], database.execute("SELECT id, name, uuid FROM TARGET_INFO_GPU ORDER BY id").fetchall())
    start, = database.execute("SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME").fetchone()
    check("the start in UTC", True, began - 1 <= start / 1e9 <= time.time())
    database.close()
    check("info", True, "Made by Tacho" in output("info", "rec.tacho"))
    power = [row for row in lib.table("gpu_metrics_sum", "rec.tacho") if row["Metric"] == "Power [W]"]
    check("its table", [(4, min(list_), max(list_)) for list_ in watts], [(row["Samples"], row["Min"], row["Max"]) for row in power])
    check("the default tables", True, "GPU Metrics Summary (gpu_metrics_sum)" in output("stats", "rec.tacho"))
    energy(series)
    with lib.Timeline("rec.tacho") as timeline:
        labels = [row["label"] for row in timeline.ask("rows")["rows"]]
        check("rows of the timeline", True, all(any(name in label for label in labels) for name in ("Power", "SM Clock", "SMs Active", "Memory Used")))


def energy(series):
    """Energy is that of the time between the first reading and the last: four readings have three intervals. A reading that came late, as
    on a busy machine, stands for the usual time and not for all since the one before it: late is more than 1.5 times the median."""
    joules = 0
    for number in (0, 1):
        samples = series[number, "Power [W]"]
        intervals = [at - before for (_, before), (_, at) in zip(samples, samples[1:])]
        usual = statistics.median(intervals)
        joules += sum(value * (usual if length > 1.5 * usual else length) / 1e9 for (value, _), length in zip(samples[1:], intervals))
    told = float(re.search(r"([\d.]+) J", lib.summary("rec.tacho")).group(1))
    check("energy, to its three digits", told, told if abs(told - joules) <= 0.006 * joules else joules)


def reports_that_cannot_be():
    with open("taken.tacho", "w") as file:
        file.write("mine")
    check("a file that exists", "tacho dmon: 'taken.tacho' exists already: choose another name\n", refusal("dmon", "-c", "1", "-o", "taken.tacho"))
    check("it is left alone", "mine", open("taken.tacho").read())
    refusal("dmon", "-c", "1", "-o", "nowhere/x.tacho")
    check("no report", True, "NAME.tacho" in refusal("dmon", "-o", "DTX"))
    check("pmon has none", "tacho pmon: --options must be D (date), T (time) or DT, not 'x.tacho'\n", refusal("pmon", "-o", "x.tacho"))
    library = os.environ["TACHO_NVML"]
    os.environ["TACHO_NVML"] = "/nowhere/libnvidia-ml.so.1"
    refusal("dmon", "-o", "none.tacho")
    check("a report without readings is removed", False, os.path.exists("none.tacho"))
    os.environ["TACHO_NVML"] = library


# ---- pmon ----

ALL = 0xffffffff


def pmon_is_that_of_nvidia_smi():
    shell, python, server = process("gnome-shell"), process("python"), process("gnome-remote-desktop")
    nvml("DeviceGetCount_v2 - 2", f"DeviceGetGraphicsRunningProcesses_v3 0 {shell}:4194304:{ALL}:{ALL};{server}:117440512:{ALL}:{ALL}",
         f"DeviceGetComputeRunningProcesses_v3 0 {python}:1000:{ALL}:{ALL};{server}:117440512:{ALL}:{ALL}",
         f"DeviceGetProcessesUtilizationInfo 0 100:{python}:45:12:0:0:0:0", "DeviceGetConfComputeProtectedMemoryUsage 0 1:0")
    got = output("pmon", "-c", "1").split("\n")
    check("headings", ["# gpu         pid   type     sm    mem    enc    dec    jpg    ofa    command ", "# Idx           #    C/G      %      %      %      %      %      %    name "], got[:2])
    check("lines", sorted([f"    0 {python:>10}     C     45     12      -      -      -      -    python         ",
                           f"    0 {shell:>10}     G      -      -      -      -      -      -    gnome-shell    ",
                           f"    0 {server:>10}   C+G      -      -      -      -      -      -    gnome-remote-de"]), sorted(got[2:5]))
    check("a GPU without processes", ["    1          -     -      -      -      -      -      -      -    -              ", ""], got[5:])
    got = output("pmon", "-s", "um", "-c", "1", "-i", "0").split("\n")
    check("headings with memory", ["# gpu         pid   type     sm    mem    enc    dec    jpg    ofa     fb   ccpm    command ",
                                   "# Idx           #    C/G      %      %      %      %      %      %     MB     MB    name "], got[:2])
    check("memory", True, f"    0 {shell:>10}     G      -      -      -      -      -      -      4      0    gnome-shell    " in got)
    check("memory of two kinds, once", True, f"    0 {server:>10}   C+G      -      -      -      -      -      -    112      0    gnome-remote-de" in got)
    check("-o DT", ["#Date        Time         gpu         pid   type     sm    mem    enc    dec    jpg    ofa     fb   ccpm    command",
                    "#YYYYMMDD    HH:MM:SS     Idx           #    C/G      %      %      %      %      %      %     MB     MB    name",
                    " 20260816    09:22:34       1          -     -      -      -      -      -      -      -      -      -    -"],
          times(output("pmon", "--select=um", "--options=DT", "--count=1", "-i", "1")))
    check("csv", ["#gpu, pid, type, sm, mem, enc, dec, jpg, ofa, command", "#Idx, #, C/G, %, %, %, %, %, %, name", " 1, -, -, -, -, -, -, -, -, -"],
          output("pmon", "-c", "1", "-i", "1", "--format", "csv").splitlines())
    rows = {row["pid"]: row for row in map(json.loads, output("pmon", "-c", "1", "-s", "um", "--json").splitlines())}
    check("JSON has processes only", {shell, python, server}, set(rows))
    check("JSON", (0, "C", 45, None, 1000, "python"), tuple(rows[python][name] for name in ("gpu", "type", "sm", "enc", "fb", "command")))


def a_report_without_stdout():
    """The report does not get the number of the stream that is closed, and the table with it."""
    nvml("DeviceGetCount_v2 - 1", *gpu(0, 6400, 38, 0, 0, 405, 180))
    if os.path.exists("closed.tacho"):
        os.remove("closed.tacho")
    done = subprocess.run([TACHO, "dmon", "-c", "2", "-d", "0.01", "-o", "closed.tacho"], stderr=subprocess.PIPE, text=True, preexec_fn=lambda: os.close(1))
    check("said", (1, "tacho dmon: cannot write the output: Bad file descriptor\n"), (done.returncode, done.stderr))
    check("the report is one", True, "nvml" in output("info", "closed.tacho"))


def a_gpu_has_any_number_of_processes():
    """NVML is asked again with room for them."""
    pids = range(1, 1500)
    nvml("DeviceGetCount_v2 - 1", "DeviceGetComputeRunningProcesses_v3 0 " + ";".join(f"{pid}:1000:{ALL}:{ALL}" for pid in pids),
         "DeviceGetProcessesUtilizationInfo 0 " + ";".join(f"100:{pid}:{pid % 100}:12:0:0:0:0" for pid in pids))
    rows = {row["pid"]: row["sm"] for row in map(json.loads, output("pmon", "-c", "1", "--json").splitlines())}
    check("all of them", {pid: pid % 100 for pid in pids}, rows)


# ---- how it ends ----

def start(*arguments):
    return subprocess.Popen([TACHO, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def it_ends_well():
    nvml("DeviceGetCount_v2 - 1", *gpu(0, 6400, 38, 0, 0, 405, 180))
    for end in (signal.SIGINT, signal.SIGTERM):
        running = start("dmon", "-d", "600")
        first = [running.stdout.readline() for _ in range(3)]  # they are out although the next reading is minutes away
        check("lines in a pipe", b"    0      6", first[2][:12])
        running.send_signal(end)
        rest, said = running.communicate(timeout=lib.PATIENCE)
        check(f"after {end.name}", (0, b"", b""), (running.returncode, rest, said))
    running = start("dmon", "-d", "600")
    running.stdout.readline()
    running.stdout.close()
    check("nobody reads", True, running.wait(timeout=lib.PATIENCE) in (0, -signal.SIGPIPE))
    check("without a word", b"", running.stderr.read())
    running.stderr.close()


def a_terminal_keeps_the_heading():
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 12, 200, 0, 0))
    nvml("DeviceGetCount_v2 - 1", *gpu(0, 6400, 38, 0, 0, 405, 180))
    running = subprocess.Popen([TACHO, "dmon", "-c", "20", "-d", "0.01"], stdout=follower)
    os.close(follower)
    lines = lib.read_terminal(leader).decode().splitlines()
    running.wait()
    check("headings", [0, 10, 20], [at for at, line in enumerate(lines) if line.startswith("# gpu")])
    check("lines", 20 + 3 * 2, len(lines))


def bad_options():
    check("letter", (255, "tacho dmon: --select cannot have 'x'; its letters are p u c v m e t\n", ""), run("dmon", "-s", "px"))
    check("letter of pmon", (255, "tacho pmon: --select cannot have 'p'; its letters are u m\n", ""), run("pmon", "-s", "p"))
    for words in (["-d", "0"], ["-d", "soon"], ["-c", "0"], ["-c", "-1"], ["-c", "2x"], ["-o", "DTX"], ["--gpm-options", "x"], ["--gpm-metrics", "8"], ["more"]):
        check(f"status of {words}", 2, run("dmon", *words)[0])
        refusal("dmon", *words)
    check("format", True, "did you mean 'nounit'?" in refusal("dmon", "--format", "csv,nounits"))
    check("metric", True, "did you mean smutil (2)?" in refusal("dmon", "--gpm-metrics", "smutl"))
    check("option", True, "did you mean --delay?" in refusal("dmon", "--dely", "2"))
    only = len(output("dmon", "-c", "1", "--format", "csv,noheader,nounit").splitlines()) - 1
    check("GPU", (6, f"tacho dmon: there is no GPU '7' here, only {f'0 to {only}' if only else 0}; nvidia-smi -L lists them\n", ""), run("dmon", "-i", "7"))
    check("a metric of GPM without a column", "tacho dmon: --gpm-metrics: metric 100 is not supported; 'tacho help dmon' lists numbers and names\n",
          refusal("dmon", "--gpm-metrics", "100"))


def without_nvml():
    library = os.environ["TACHO_NVML"]
    os.environ["TACHO_NVML"] = "/nowhere/libnvidia-ml.so.1"
    for command in ("dmon", "pmon"):
        check("no NVML", True, refusal(command, "-c", "1").startswith(f"tacho {command}: cannot load NVML: /nowhere/libnvidia-ml.so.1"))
        check("its status", 1, run(command, "-c", "1")[0])
    os.environ["TACHO_NVML"] = library
    with open("helper", "w") as file:
        file.write("#!/bin/sh\nexit 9\n")
    os.chmod("helper", 0o700)
    os.environ["TACHO_GPU_HELPER"] = os.path.abspath("helper")
    check("a helper that dies", "tacho dmon: tacho-gpu, which reads the GPUs, ended with status 9 after 0 readings\n", refusal("dmon", "-c", "1"))
    del os.environ["TACHO_GPU_HELPER"]


os.environ["TACHO_NVML"] = os.path.join(os.environ["FAKE"], "lib", "libnvidia-ml.so.1")
try:
    for test in (dmon_is_that_of_nvidia_smi, letters_order_the_columns, everything_with_times, gpm, csv, json_lines, one_h200, processes_of_one_h200,
                 a_pipe_repeats_the_heading, a_report, a_report_without_stdout, reports_that_cannot_be, pmon_is_that_of_nvidia_smi, a_gpu_has_any_number_of_processes, it_ends_well,
                 a_terminal_keeps_the_heading, bad_options, without_nvml):
        test()
finally:
    for child in KEEP:
        child.kill()
        child.wait()
sys.exit(lib.status())
