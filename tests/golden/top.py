"""`tacho top` on a terminal, and without one: the screens, keys, a new size of the window, and the terminal after every way to end.

The GPUs are the stand-in of NVML (nvml_host.py). A screen is what a terminal would show of the bytes: Screen below knows the few
sequences that top may use, and fails on any other."""

import codecs
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
import unicodedata

from lib import PATIENCE, TACHO, check, status
from nvml_host import Host, gpus

ALL = 4294967295  # NVML's "no instance"
LIMIT = 120  # seconds until something that must come has not come
CAPTURES = re.compile(r"capture |\d+ captures:")
WHOLE = "\x1b[H"  # ends each drawing: a terminal gets it in pieces, and half of one is no screen


class Screen:
    """What a terminal shows: the cells of rows and columns."""

    def __init__(self, rows, columns):
        self.next_size = rows, columns
        self.clear()
        self.is_other = self.has_cursor = None
        self.changed, self.needless, self.before = 0, [], None

    def clear(self):
        """A window of another size gets readings of the old one until the first that begins with a clear screen."""
        self.rows, self.columns = self.next_size
        self.cells, self.row, self.column = [[" "] * self.columns for _ in range(self.rows)], 0, 0

    def feed(self, text):
        for sequence, character in re.findall(r"(\x1b\[[0-9;?]*[A-Za-z])|(.)", text, re.S):
            if sequence:
                self.command(sequence)
            elif character in "\r\n":
                self.row, self.column = self.row + (character == "\n"), 0
            elif not unicodedata.combining(character):  # in the name of a capture that runs beside the test
                if self.row >= self.rows or self.column >= self.columns:
                    check(f"written within {self.rows} × {self.columns}", "", f"{character!r} at {self.row}, {self.column}")
                else:
                    self.cells[self.row][self.column] = character
                self.column += 1

    def command(self, sequence):
        numbers, end = sequence[2:-1], sequence[-1]
        if end == "H":
            self.row, self.column = ([int(number) - 1 for number in numbers.split(";")] if numbers else (0, 0))
            self.before = list(self.cells[self.row])
        elif sequence == "\x1b[2J":
            self.clear()
        elif sequence == "\x1b[K":
            self.cells[self.row][self.column:] = [" "] * (self.columns - self.column)
            if self.cells[self.row] == self.before:
                self.needless.append("".join(self.before).rstrip())
            self.changed += self.cells[self.row] != self.before
        elif sequence in ("\x1b[?1049h", "\x1b[?1049l"):
            self.is_other = end == "h"
        elif sequence in ("\x1b[?25h", "\x1b[?25l"):
            self.has_cursor = end == "h"
        elif end != "m":
            check("a sequence that every terminal knows", "", sequence)

    def lines(self):
        """Without captures: others may run on this machine."""
        lines = ["".join(row).rstrip() for row in self.cells]
        return [line for line in lines if not CAPTURES.match(line)]


class Top:
    """A run on a pseudo-terminal."""

    def __init__(self, host, rows=24, columns=80, options=(), **environment):
        self.leader, self.follower = pty.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(self.follower)
        self.screen, self.bytes, self.pending = Screen(rows, columns), b"", ""
        self.decoder = codecs.getincrementaldecoder("utf-8")()
        self.process = subprocess.Popen([TACHO, "top", "-d", "0.1", *options], stdin=self.follower, stdout=self.follower, stderr=subprocess.PIPE,
                                        env={**host.environment, "TERM": "xterm", "LC_ALL": "C.UTF-8", **environment}, start_new_session=True)

    def resize(self, rows, columns):
        fcntl.ioctl(self.follower, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds):
        if not select.select([self.leader], [], [], seconds)[0]:
            return False
        piece = os.read(self.leader, 65536)
        self.bytes += piece
        whole, end, self.pending = (self.pending + self.decoder.decode(piece)).rpartition(WHOLE)
        self.screen.feed(whole + end)
        return True

    def read_rest(self):
        while self.read(0):
            pass
        self.screen.feed(self.pending)
        self.pending = ""

    def until(self, what, condition):
        """Reads until the screen is so; fails with the screen if it never is."""
        end = time.monotonic() + LIMIT
        while not condition(self.screen.lines()):
            if time.monotonic() > end:
                check(what, "on the screen", "\n" + "\n".join(self.screen.lines()))
                return
            self.read(0.2)

    def shows(self, text):
        self.until(f"{text!r}", lambda lines: any(text in line for line in lines))

    def type(self, keys):
        os.write(self.leader, keys.encode())

    def wait(self):
        """Its status. It is read meanwhile, for a terminal that is full holds up whoever writes to it."""
        end = time.monotonic() + LIMIT
        while self.process.poll() is None:
            if time.monotonic() > end:
                self.process.kill()
                return "still running"
            self.read(0.01)
        return self.process.returncode

    def end(self, what, expected=0):
        """Waits for the end; the terminal must be as it was."""
        got = self.wait()
        self.read_rest()
        check(f"{what}: status", expected, got)
        check(f"{what}: the terminal's settings", self.before, termios.tcgetattr(self.follower))
        check(f"{what}: the shell's screen, with a cursor", (False, True), (self.screen.is_other, self.screen.has_cursor))
        said = self.process.stderr.read().decode()
        os.close(self.leader)
        os.close(self.follower)
        return said


# ---- made hosts ----

def activity(pid_lists, **more):
    """Two H200 with GPM. pid_lists: for each GPU (pid, bytes, SM %)."""
    lines = gpus(2, "580.95.05", ["0-63", "64-127"], ["0", "1"])
    lines += ["DeviceGetMemoryInfo 0 150000000000:500000000:12300000000", "DeviceGetMemoryInfo 1 150000000000:500000000:1000000000",
              "DeviceGetPowerUsage 0 351000", "DeviceGetPowerUsage 1 75250", "DeviceGetEnforcedPowerLimit - 700000", "DeviceGetTemperature[0] 0 55",
              "DeviceGetTemperature[0] 1 31", "DeviceGetClockInfo[1] 0 1980", "DeviceGetClockInfo[1] 1 345", "DeviceGetClockInfo[2] - 3201",
              "DeviceGetCurrentClocksEventReasons 0 68", "DeviceGetCurrentClocksEventReasons 1 1", "DeviceGetUtilizationRates - 99:7",
              "GpmQueryDeviceSupport - 1", "GpmMetricsGet[2] 0 87.5", "GpmMetricsGet[2] 1 0", "GpmMetricsGet[5] 0 41", "GpmMetricsGet[5] 1 0", "GpmMetricsGet[10] 0 60",
              "GpmMetricsGet[10] 1 0", "GpmMetricsGet[20] 0 3", "GpmMetricsGet[21] 0 1200", "GpmMetricsGet[60] 0 100", "GpmMetricsGet[61] 0 200"]
    for gpu, processes in enumerate(pid_lists):
        if processes:
            lines.append(f"DeviceGetComputeRunningProcesses_v3 {gpu} " + ";".join(f"{pid}:{size}:{ALL}:{ALL}" for pid, size, _ in processes))
            lines.append(f"DeviceGetProcessesUtilizationInfo {gpu} " + " ".join(  # a newer sample each round
                ";".join(f"{time_us}:{pid}:{sm}:1:0:0:0:0" for pid, _, sm in processes) for time_us in range(1000, 250000, 1000)))
    return Host(lines)


OWN = os.getpid()  # a process with a user and a command
SMALL = activity([[(OWN, 11_000_000_000, 55), (99999998, 2_000_000_000, 7)], [(99999999, 3_000_000_000, 20)]])


def processes_of(lines):
    """The rows below the head of processes."""
    at = next((i for i, line in enumerate(lines) if line.lstrip().startswith("PID USER")), len(lines))
    return [line.split() for line in lines[at + 1:] if line.strip()]


# ---- screens ----

def narrow():
    top = Top(SMALL)
    top.shows("SM    87.5 %")
    top.until("processes", lambda lines: len(processes_of(lines)) == 3)
    lines = top.screen.lines()
    check("title", True, re.fullmatch(r"tacho top  \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC  2 GPUs  every 0.1 s  q quit  \? keys", lines[0]) is not None)
    check("GPU 0, its name and activity", "GPU 0  NVIDIA H200             SM    87.5 % ██████████▌", lines[1][:55].rstrip())
    check("GPU 0, history: a small bar for each round, the highest from 7/8 on", {"█"}, set(lines[1][56:].strip()))
    check("GPU 0, facts, wrapped", ["       memory 12.3/150.0 GB  power 351/700 W  55 C  tensor 41.0 %  DRAM 60.0 %",
                                        "       SM clock 1980 MHz  memory clock 3201 MHz",
                                        "       PCIe 1.26 GB/s in, 3.15 MB/s out  NVLink 105 MB/s in, 210 MB/s out",
                                        "       clocks: power cap, temperature (hardware)"], lines[2:6])
    check("GPU 1", ["       memory 1.0/150.0 GB  power 75/700 W  31 C  tensor 0.0 %  DRAM 0.0 %", "       SM clock 345 MHz  memory clock 3201 MHz  clocks: idle", ""], lines[7:10])
    check("head", "     PID USER       GPU   MIG TYPE     SM    MEMORY  COMMAND, by SM", lines[10])
    mine = processes_of(lines)[0]
    check("own process", [str(OWN), "0", "-", "C", "55", "%", "11.0", "GB"], [mine[0]] + mine[2:9])
    with open("/proc/self/cmdline") as file:
        check("its command", file.read().split("\0")[0][:10], mine[9][:10])
    check("one that is not here", ["99999999", "-", "1", "-", "C", "20", "%", "3.00", "GB", "-"], processes_of(lines)[1])
    top.screen.changed, top.screen.needless = 0, []
    bars = lines[1].count("█")
    top.until("a longer history", lambda found: found[1].count("█") >= bars + 2)
    check("a line that has not changed is not written again", (True, []), (top.screen.changed >= 2, top.screen.needless))
    check("bold", True, b"\x1b[1mtacho top\x1b[0m" in top.bytes)
    top.type("q")
    top.end("q")


def wide():
    top = Top(SMALL, 50, 200)
    top.shows("SM    87.5 %")
    top.until("processes", lambda lines: len(processes_of(lines)) == 3)
    lines = top.screen.lines()
    check("wide: facts in one line", "       memory 12.3/150.0 GB  power 351/700 W  55 C  tensor 41.0 %  DRAM 60.0 %  SM clock 1980 MHz  memory clock 3201 MHz  "
          "PCIe 1.26 GB/s in, 3.15 MB/s out  NVLink 105 MB/s in, 210 MB/s out", lines[2])
    check("wide: the rest below", "       clocks: power cap, temperature (hardware)", lines[3])
    # A smaller window: everything is drawn again, within its columns (Screen checks that).
    top.screen.next_size = 24, 80
    top.resize(24, 80)
    top.process.send_signal(signal.SIGWINCH)
    top.until("narrow again", lambda found: any(line.endswith("DRAM 60.0 %") for line in found))
    check("narrow again: all of it", True, any("clocks: power cap" in line for line in top.screen.lines()))
    top.type("\x03")
    top.end("Ctrl-C")


def keys():
    many = [(1000000 + number, (number + 1) * 100_000_000, number % 50) for number in range(60)]
    top = Top(activity([many, []]))
    top.until("sorted by SM", lambda lines: [row[5] for row in processes_of(lines)[:2]] == ["49", "48"])
    top.type("m")
    top.until("sorted by memory", lambda lines: [row[0] for row in processes_of(lines)[:3]] == ["1000059", "1000058", "1000057"])
    top.type("p")
    top.until("sorted by pid", lambda lines: [row[0] for row in processes_of(lines)[:3]] == ["1000000", "1000001", "1000002"])
    top.type("\x1b[B\x1b[B")
    top.until("scrolled down twice", lambda lines: processes_of(lines)[0][0] == "1000002")
    top.type("\x1bOA")
    top.until("scrolled up once", lambda lines: processes_of(lines)[0][0] == "1000001")
    top.type("\x1b[F")
    top.until("the end", lambda lines: processes_of(lines)[-1][0] == "1000059")
    top.type("\x1b[H")
    top.until("the begin", lambda lines: processes_of(lines)[0][0] == "1000000")
    top.type("?")
    top.shows("sort processes by SM, memory or pid")
    top.type("?")
    top.shows("COMMAND, by pid")
    top.type("+")
    top.shows("every 0.2 s")
    top.shows("SM    87.5 %")
    top.type("-")
    top.shows("every 0.1 s")
    top.process.send_signal(signal.SIGTERM)
    top.end("kill")


def endings():
    for number, expected in ((signal.SIGINT, 0), (signal.SIGHUP, 0), (signal.SIGQUIT, 0), (signal.SIGSEGV, -signal.SIGSEGV), (signal.SIGABRT, -signal.SIGABRT)):
        top = Top(SMALL)
        top.shows("SM    87.5 %")
        check("raw meanwhile", 0, termios.tcgetattr(top.follower)[3] & (termios.ICANON | termios.ECHO))
        top.process.send_signal(number)
        top.end(f"signal {number}", expected)
    top = Top(SMALL, options=("-n", "3"))
    top.end("-n 3")


def eight():
    lines = gpus(8, "580.95.05", ["0-63"] * 8, ["0"] * 8, name="NVIDIA_A100-SXM4-80GB")
    lines += ["DeviceGetMemoryInfo - 80000000000:500000000:12300000000", "DeviceGetPowerUsage - 251000", "DeviceGetEnforcedPowerLimit - 400000",
              "DeviceGetTemperature[0] - 41", "DeviceGetUtilizationRates - 42:7", "DeviceGetPcieThroughput[1] - 2000"]
    top = Top(Host(lines))
    top.shows("GPU 7")
    lines = top.screen.lines()
    check("eight GPUs have a line each in 24 rows", [f"GPU {i}  A100-SXM4-8…  util  42.0 % ██▌     memory 12.3/80.0 GB  power 251/400 W" for i in range(8)], lines[1:9])
    top.type("q")
    top.end("eight GPUs")


# ---- without a screen ----

def plain(host, *options, **environment):
    done = subprocess.run([TACHO, "top", "-d", "0.05", *options], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env={**host.environment, "LC_ALL": "C", **environment}, timeout=PATIENCE)
    return done.returncode, [line for line in done.stdout.decode().split("\n") if not CAPTURES.match(line)], done.stderr.decode()


def in_a_pipe():
    code, lines, said = plain(SMALL)
    check("one reading", (0, 1, ""), (code, sum(line.startswith("tacho top") for line in lines), said))
    check("ASCII", "GPU 0  NVIDIA H200             SM    87.5 % ###########.", lines[1][:56])
    check("no sequences", False, "\x1b" in "\n".join(lines))
    check("120 columns, or COLUMNS", (True, True), (max(map(len, lines)) <= 120, 60 < max(map(len, plain(SMALL, COLUMNS="80")[1])) <= 80))
    code, lines, _ = plain(SMALL, "-b", "-n", "2")
    check("-b -n 2", (0, 2), (code, sum(line.startswith("tacho top") for line in lines)))
    dumb = Top(SMALL, 200, 200, TERM="dumb")
    check("a dumb terminal gets text", 0, dumb.wait())
    dumb.read_rest()
    check("… without sequences", (False, True), (b"\x1b" in dumb.bytes, b"GPU 1  NVIDIA H200" in dumb.bytes))
    colourless = Top(SMALL, NO_COLOR="1", LC_ALL="C")
    colourless.shows("SM    87.5 %")
    colourless.type("q")
    colourless.end("NO_COLOR")
    check("NO_COLOR", [], re.findall(rb"\x1b\[[1-9][0-9;]*m", colourless.bytes))
    check("a locale without UTF-8", True, colourless.bytes.isascii())
    whole = json.loads("".join(plain(SMALL, "--json")[1]))
    check("json", (2, 87.5, 41, 351, 3, OWN), (len(whole["gpus"]), whole["gpus"][0]["sm_percent"], whole["gpus"][0]["tensor_percent"], whole["gpus"][0]["power_w"],
                                                 len(whole["processes"]), whole["processes"][0]["pid"]))


def instances():
    """MIG on: instance i of GPU 0 is device 100 + i of the script; GPM's values are those of the GPU instance. The list of processes
    of the whole GPU is for root: users ask the instances."""
    lines = gpus(1, "580.95.05", ["0-63"], ["0"])
    lines += ["DeviceGetMigMode 0 1", "DeviceGetMaxMigDeviceCount 0 7", "DeviceGetGpuInstanceId 100 1", "DeviceGetComputeInstanceId 100 0", "DeviceGetGpuInstanceId 101 2",
              "DeviceGetComputeInstanceId 101 0", "DeviceGetMemoryInfo 100 18000000000:0:4200000000", "DeviceGetMemoryInfo 101 35000000000:0:0", "GpmQueryDeviceSupport 0 1",
              "GpmMetricsGet[2] 101 12.5", "GpmMetricsGet[5] 101 3", "DeviceGetComputeRunningProcesses_v3 0 !4",
              f"DeviceGetComputeRunningProcesses_v3 100 {OWN}:4200000000:{ALL}:{ALL}"]
    lines[1:2] = ["DeviceGetName 0 NVIDIA_H200", "DeviceGetName 100 NVIDIA_H200_MIG_1g.18gb", "DeviceGetName 101 NVIDIA_H200_MIG_2g.35gb"]
    code, found, said = plain(Host(lines))
    check("MIG", (0, ""), (code, said))
    check("an instance with GPM", True, "       MIG 1/0  1g.18gb  SM 12.5 %  tensor 3.0 %  memory 4.2/18.0 GB  1 process" in found)
    check("one without: not known is not 0 %", True, "       MIG 2/0  2g.35gb  SM n/a  tensor n/a  memory 0.0/35.0 GB  0 processes" in found)
    check("its process", ["1/0", "C", "n/a"], next(row for row in processes_of(found) if row[0] == str(OWN))[3:6])


def captures():
    report = os.path.abspath("live.tacho")
    capture = subprocess.Popen([TACHO, "profile", "-f", "true", "-o", report, "-s", "none", "sleep", "60"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               start_new_session=True)
    end = time.monotonic() + LIMIT
    found = []
    while not found and time.monotonic() < end:
        whole = json.loads(subprocess.run([TACHO, "top", "-d", "0.05", "--json"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=SMALL.environment).stdout)
        found = [row for row in whole["captures"] if row["report"] == report]
    check("the running capture, once", [capture.pid], [row["pid"] for row in found])
    done = subprocess.run([TACHO, "top", "-d", "0.05"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env={**SMALL.environment, "COLUMNS": "1000"})
    lines = done.stdout.decode().split("\n")
    at = [number for number, line in enumerate(lines) if CAPTURES.match(line)]
    check("one line for all captures, below the GPUs", True, len(at) == 1 and at[0] > max(number for number, line in enumerate(lines) if line.startswith("GPU ")))
    alone = rf"capture  {re.escape(report)}  for \S+ \S+  pid {capture.pid}: "
    check(f"… and what it says: {lines[at[0]] if at else None}", True, bool(at) and re.match(rf"{alone}|\d+ captures: .*live\.tacho", lines[at[0]]) is not None)
    os.killpg(capture.pid, signal.SIGINT)
    capture.wait(LIMIT)


def refusals():
    check("-n 0", "tacho top: --iterations must be a number from 1, not '0'\n", plain(SMALL, "-n", "0")[2])
    check("no GPU", (1, [""], "tacho top: there is no GPU on this machine\n"), plain(Host(["DeviceGetCount_v2 - 0"])))
    top = Top(Host(["DeviceGetCount_v2 - 0"]))
    check("no GPU on a terminal", 1, top.wait())
    top.read_rest()
    check("… one sentence, and nothing was drawn", ("tacho top: there is no GPU on this machine\n", b""), (top.process.stderr.read().decode(), top.bytes))
    check("a GPU that is not there", "tacho top: there is no GPU '9' here, only 0 to 1; nvidia-smi -L lists them\n", plain(SMALL, "-i", "9")[2])


narrow()
wide()
keys()
endings()
eight()
in_a_pipe()
instances()
captures()
refusals()
sys.exit(status())
