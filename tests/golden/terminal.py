"""Tables on a terminal: at 80, 120 and 200 columns no line is wider than it, no name is wrapped, no figure differs from the
one in csv, and what is left out is counted. Formats and --nsys-output=true keep nsys's layout, and so do pipes, but for analyze and
summary: these print to a pipe what a terminal of 120 columns shows.

The captures: those of nsys in nsys/, two traces of torch.profiler in kineto/, one of threads that wait for a lock, recorded
here."""

import csv
import fcntl
import functools
import json
import os
import pty
import re
import sqlite3
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import unicodedata

import lib
from lib import HERE, KINETO, TACHO, check, output, read_terminal, run, unpack

SOURCE = os.environ["SOURCE"]
WIDTHS = (80, 120, 200)
LISTS = ("cuda_memcpy_async", "cuda_memcpy_sync", "cuda_memset_sync", "cuda_api_sync", "gpu_gaps", "gpu_time_util")  # as nsys has them
MOST_ROWS, LEAST_ROWS, MOST_LINES = 20, 5, 120
LACKING = {"CUDA": "cuda_api_sum", "CPU samples": "cpu_sample_sum", "OS calls": "osrt_sum", "NVTX": "nvtx_sum"}
UNITS = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9, "B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "%": 1, "": 1}
IN_CSV = {"ns": 1, "%": 1, "MB": 1e6, "B": 1, "": 1}
BLOCKS = "▏▎▍▌▋▊▉█"
WAITING = """
import threading, time
lock = threading.Lock()
def work():
    for _ in range(20):
        with lock:
            time.sleep(0.002)
threads = [threading.Thread(target=work, name=f"worker{number}") for number in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


# ---- a terminal ----

def on_terminal(width, *arguments, **environment):
    """What a command prints to a terminal of this width."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    done = subprocess.Popen([TACHO, *arguments], stdout=follower, stderr=subprocess.PIPE, env={**os.environ, "TERM": "dumb", **environment})
    os.close(follower)
    text = read_terminal(leader).decode().replace("\r\n", "\n")
    said = done.stderr.read().decode()
    check(f"status of {' '.join(arguments)} on a terminal: {said}", 0, done.wait())
    return text


@functools.lru_cache(maxsize=None)
def cells_of_character(character):
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return ()
    return (character, "") if unicodedata.east_asian_width(character) in "WF" else (character,)


def cells_of(line):
    """The line as a terminal shows it: one entry for each column, the second of a wide character empty."""
    return [cell for character in line for cell in cells_of_character(character)]


def check_widths(what, width, text):
    widest = max((len(cells_of(line)), line) for line in text.split("\n"))
    check(f"{what}: a line wider than {width}: {widest[1]!r}", True, widest[0] <= width)
    check(f"{what}: control characters", [], [line for line in text.split("\n") if re.search(r"[\x00-\x1f\x7f]", line)])


# ---- tables ----

def roles():
    """{column: (heading, role)} of column_roles.def; every name in it must be that of a column."""
    path = os.path.join(SOURCE, "src", "cmd", "print", "column_roles.def")
    listed = re.findall(r'^COLUMN\("([^"]+)", "([^"]*)", \d+, (\w+)\)', open(path).read(), re.M)
    code = "".join(open(os.path.join(folder, file)).read() for top in ("analyze", "cmd") for folder, _, files in os.walk(os.path.join(SOURCE, "src", top))
                   for file in files if file.endswith(".c"))
    for name, _, _ in listed:
        check(f"column_roles.def: a column {name!r}", True, f'"{name}"' in code)
    return {name: (heading or name, role) for name, heading, role in listed}


def split(text):
    """[(report, lines of its table, line of what is left out)] of what was printed."""
    blocks = []
    for block in text.split("\n\n"):
        lines = block.split("\n")
        title = re.fullmatch(r".* \((\w+)\)", lines[0])
        if not title or not lines[1:] or not lines[1].startswith("  "):
            continue
        rows = [line for line in lines[1:] if line.startswith("  ")]
        more = rows.pop() if rows[-1].startswith("  … ") else ""
        blocks.append((title[1], rows, more))
    return blocks


def headings(line):
    """[(heading, first column, column behind the last)]"""
    return [(match[0], match.start(), match.end()) for match in re.finditer(r"\S+(?: \S+)*", line)]


def number_before(cells, end):
    """(value, half of its last digit) of the number that ends at a column; None if there is none."""
    text = "".join((cells + [" "] * end)[:end])
    match = re.search(r"(-?[\d,]+)(\.\d+)?(?: (ns|µs|ms|s|B|kB|MB|GB|%))?( ?)$", text)
    if not match:
        return None
    scale = UNITS[match[3] or ""]
    return float((match[1] + (match[2] or "")).replace(",", "")) * scale, 0.5 * scale * 10.0 ** -max(len(match[2] or "") - 1, 0), match[3] or ""


@functools.lru_cache(maxsize=None)
def printed(*arguments):
    """What a command printed: it is the same at every width."""
    return output(*arguments)


class Table:
    """The csv of a report."""

    def __init__(self, report, file, known):
        options = ":fold=true" if report in ("nvtx_sum", "nvtx_pushpop_sum", "nvtx_gpu_proj_sum", "nvtx_kern_sum", "thread_wait_sum") else ""
        options = ":short=true" if report == "gpu_metrics_sum" else options
        command = "analyze" if report in RULES else "stats"
        header, *self.rows = csv.reader(printed(command, "-q", "-f", "csv", "-r", report + options, "--rows=all", file).splitlines())
        parts = [re.fullmatch(r"(.*?)(?: \((ns|%|MB|B)\))?", name) for name in header]
        self.names, self.units = [part[1] for part in parts], [part[2] or "" for part in parts]
        self.known = known

    def keep_group(self, heading):
        """Of advice_sum, savings per step and findings of the whole run are two tables."""
        judged, of_step = self.names.index("Confidence"), "Impact" not in heading
        self.rows = [row for row in self.rows if bool(row[judged]) == of_step]
        kept = [column for column, name in enumerate(self.names) if name not in (("Impact",) if of_step else ("Saves per Step", "From", "To", "Confidence"))]
        self.names, self.units = [self.names[column] for column in kept], [self.units[column] for column in kept]
        self.rows = [[row[column] for column in kept] for row in self.rows]

    def role(self, column):
        role = self.known.get(self.names[column], ("", "PLAIN"))[1]
        return "PLAIN" if role == "SHARE" and self.units[column] != "%" else role

    def heading(self, column):
        """A short one, unless another column has it: "Total" and "Total Time", "Running (%)" and "Running"."""
        headings = [self.known.get(name, (name,))[0] for name in self.names]
        if headings.count(headings[column]) == 1:
            return headings[column]
        return self.names[column] + (" (%)" if self.names.count(self.names[column]) > 1 and self.units[column] == "%" else "")

    def kept(self):
        """How many rows are more than 0.0 %; all, if none is."""
        shares = [column for column in range(len(self.names)) if self.role(column) == "SHARE"]
        kept = len(self.rows)
        while kept and shares and all(float(self.rows[kept - 1][column] or 0) < 0.05 for column in shares):
            kept -= 1
        return kept or len(self.rows)


def check_row(what, table, row, line, columns):
    """Every figure of a row; `columns`: [(column of the csv, first, end)], the lead first."""
    cells = cells_of(line)
    for column, first, end in columns[1:]:
        if table.rows[row][column] == "" or not re.fullmatch(r"-?[\d.]+", table.rows[row][column]):
            continue
        got = number_before(cells, end)
        expected = float(table.rows[row][column]) * IN_CSV[table.units[column]]
        slack = 0.051 if table.units[column] in ("ns", "%") and "." in table.rows[row][column] else 501 if table.units[column] == "MB" else 1e-6
        check(f"{what}, row {row}, {table.names[column]}: {line!r}", (expected, True), (expected, bool(got) and abs(got[0] - expected) <= got[1] + slack))
    lead = columns[0]
    shown = "".join(cells[lead[1]:columns[1][1] if len(columns) > 1 else None]) if len(columns) < 2 else re.split(r"  +", line[lead[1]:])[0]
    name = iter(table.rows[row][lead[0]].replace("\n", "\\n"))
    check(f"{what}, row {row}: a name that is not {table.rows[row][lead[0]]!r}: {shown!r}", True,
          table.rows[row][lead[0]] == "" or all(any(c == other for other in name) for c in shown.replace("…", "").rstrip()))


def place_columns(what, table, header, rows):
    """The columns of the csv that a header shows, with their places. Of two with one name the cells tell which it is."""
    placed, left = [], list(range(len(table.names)))
    for heading, first, end in headings(header):
        shares = any((number_before(cells_of(line), end) or ["", "", ""])[2] == "%" for line in rows)
        column = next((column for column in left if table.heading(column).strip() == heading and (table.units[column] == "%") == shares), None)
        if column is None:
            check(f"{what}: a heading of no column, or in another order", "", heading)
            return []
        placed.append((column, first, end))
        left = [other for other in left if other != column and (len(placed) == 1 or other > column)]
    return placed


def check_table(what, file, known, report, lines, more, least):
    table = Table(report, file, known)
    if report == "advice_sum":
        table.keep_group(lines[0])
    sentences = any(table.role(column) == "SENTENCE" for column in range(len(table.names)))
    rows = [line for line in lines[1:] if not (sentences and line.startswith("    "))]
    check(f"{what}: at least {least} rows, at most {MOST_ROWS}: {len(rows)} of {table.kept()}", True,
          min(table.kept(), least) <= len(rows) <= min(table.kept(), MOST_ROWS))
    hidden = len(table.rows) - len(rows)
    check(f"{what}: rows that are not shown are counted", f"{hidden:,}" if hidden else "", (re.match(r"  … ([\d,]+) more row", more) or ["", ""])[1])
    check(f"{what}: every row begins with its name", [], [line for line in rows if not re.match(r"  \S|   ", line)])
    columns = place_columns(what, table, lines[0], rows)
    if report == "cuda_gpu_kern_sum":
        check(f"{what}: kernels that look equal", len({row[-1] for row in table.rows[:len(rows)]}), len({re.split("  +", line[2:])[0] for line in rows}))
    if columns:
        for row, line in enumerate(rows[:len(table.rows)]):
            check_row(what, table, row, line, columns)


# ---- what is tested ----

def check_defaults(name, file, known):
    """stats and analyze without options."""
    for width in WIDTHS:
        text = on_terminal(width, "stats", file)
        what = f"{name} at {width}"
        check_widths(what, width, text)
        blocks = split(text)
        check(f"{what}: tables", True, len(blocks) >= 2)
        check(f"{what}: nsys's words", [], re.findall(r"SKIPPED|Processing \[", text))
        lacking = [data for data, report in LACKING.items() if report not in {report for report, _, _ in blocks} and f"No rows in: {report}" not in text]
        check(f"{what}: what is missing is said once", [", ".join(lacking)] if lacking else [], re.findall(r"No data for: (.*?) \(", " ".join(text.split())))
        are_few = len(blocks) * (MOST_ROWS + 4) < MOST_LINES
        for place, (report, lines, more) in enumerate(blocks):
            check_table(f"{what}: {report}", file, known, report, lines, more, MOST_ROWS if are_few or place == 0 else LEAST_ROWS)
        check(f"{what}: {text.count(chr(10))} lines", True, text.count("\n") <= MOST_LINES)
        check_analyze(f"{name}, analyze, at {width}", file, known, on_terminal(width, "analyze", file), width)
    check_widths(f"{name} on a very narrow terminal", 20, on_terminal(20, "stats", file))


def check_analyze(what, file, known, text, width):
    """Lists of events share one line; other findings have tables, in the order of the first one."""
    advice = json.loads(printed("stats", "-q", "-f", "json", "-r", "advice_sum", file))
    impacts = {row["Rule"]: row["Impact (ns)"] for row in advice if not row["Confidence"]}  # causes of a replay have no other table
    listed = {rule: len(json.loads(printed("analyze", "-q", "-f", "json", "-r", f"{rule}:rows=-1", file) or "[]") or ()) for rule in LISTS}
    check_widths(what, width, text)
    blocks = split(text)
    for report, lines, more in blocks:
        check_table(f"{what}: {report}", file, known, report, lines, more, LEAST_ROWS)
    check(f"{what}: tables of rules, in the order of the first table", list(impacts),
          [report for report, _, _ in blocks if report in impacts])
    check(f"{what}: tables without findings", set(), {report for report, _, _ in blocks} - set(impacts) - {"advice_sum"})
    line = re.search(r"Lists of events, with their rows: (.*?) \(tacho analyze -r NAME shows one\)", " ".join(text.split()))
    shown = dict(part.split() for part in re.split(r", (?=[a-z])", line[1])) if line else {}
    check(f"{what}: lists of events", {rule: f"{rows:,}" for rule, rows in listed.items() if rows}, shown)


def check_outside(known):
    """A cause outside of the program stands last, and has its table all the same."""
    second, thread = 10**9, 1 << 24 | 1
    made = lib.Made("outside.sqlite")
    made.add("ANALYSIS_DETAILS", globalVid=1, duration=10 * second, startTime=0, stopTime=10 * second)
    made.add("TACHO_PROCESS", start=0, end=10 * second, globalPid=1 << 24, image=0, exe="/bin/program", command="program")
    made.add("TACHO_THREAD", start=0, end=10 * second, globalTid=thread)
    made.add("ThreadNames", nameId=made.text("worker"), priority=0, globalTid=thread)
    made.add("OSRT_API", start=0, end=3 * second, eventClass=27, globalTid=thread, nameId=made.text("dlopen"), returnValue=0, nestingLevel=0, callchainId=0)
    made.add("CUPTI_ACTIVITY_KIND_RUNTIME", start=4 * second, end=4 * second + 2000000, eventClass=0, globalTid=thread, correlationId=1,
             nameId=made.text("cudaDeviceSynchronize_v3020"), returnValue=0)
    made.add("CUPTI_ACTIVITY_KIND_KERNEL", start=4 * second, end=4 * second + 1000000, deviceId=0, contextId=1, streamId=7, correlationId=2, globalPid=1 << 24,
             demangledName=made.text("work"), shortName=made.text("work"), gridX=1, gridY=1, gridZ=1, blockX=1, blockY=1, blockZ=1)
    made.add("TACHO_THREAD_SCHED", globalTid=thread, runNs=second, queueNs=3 * second, slices=10)
    for time in (0, 10 * second):
        made.add("TACHO_CPU_TIME", timestamp=time, cpu=0, busyNs=time, idleNs=0)
    made.write()
    check("a cause outside of the program is last", ["result_waits", "slow_start", "cpu_oversubscription"], [row["Rule"] for row in lib.table("advice_sum", "outside.sqlite")])
    check_analyze("a cause outside of the program", "outside.sqlite", known, on_terminal(120, "analyze", "outside.sqlite"), 120)


def check_texts(name, file):
    """summary and info; the lines of the summary that are to be copied are whole."""
    for width in WIDTHS:
        text = on_terminal(width, "summary", file, NO_COLOR="1")
        check_widths(f"{name}, summary, at {width}", width, "\n".join(line for line in text.split("\n") if not line.startswith(("  report:", "  next:"))))
        check_widths(f"{name}, info, at {width}", width, on_terminal(width, "info", file))
        check_widths(f"{name}, info --all, at {width}", width, on_terminal(width, "info", "--all", file))


def check_order():
    """What matters first: kernels on a GPU capture, the chain that set the wall time on one of threads."""
    order = [report for report, _, _ in split(on_terminal(120, "stats", "resnet18.tacho"))]
    check("the order of a GPU capture", ["cuda_gpu_kern_sum", "cuda_gpu_mem_time_sum", "cuda_gpu_mem_size_sum", "cuda_api_sum", "gpu_idle_sum"], order[:5])
    order = [report for report, _, _ in split(on_terminal(120, "stats", "waiting.tacho"))]
    check("the order of a CPU capture", (["wall_sum", "thread_wait_sum"], True), (order[:2], "osrt_sum" in order))


def check_nsys_bytes(name):
    """Pipes, formats and --nsys-output=true are as before."""
    piped = output("stats", f"{name}.tacho")
    check(f"{name}: a pipe has nsys's layout", True, piped.startswith(f"Processing [{name}.tacho] with [nvtx_sum]... \n"))
    check(f"{name}: --nsys-output=true on a terminal", piped, on_terminal(100, "stats", "--nsys-output=true", f"{name}.tacho"))
    check(f"{name}: csv on a terminal", output("stats", "-f", "csv", f"{name}.tacho"), on_terminal(100, "stats", "-f", "csv", f"{name}.tacho"))
    piped = output("analyze", "--nsys-output=true", f"{name}.tacho")
    check(f"{name}: analyze has nsys's layout", True, piped.startswith(f"Processing [{name}.tacho] with [advice_sum]... \n"))
    for option in (("--nsys-output=true",), ("--format=nsys",)):
        for form, text in (("a terminal", on_terminal(100, "analyze", *option, f"{name}.tacho")), ("a pipe", output("analyze", *option, f"{name}.tacho"))):
            check(f"{name}: analyze {option[0]} on {form}", piped, text)
    check(f"{name}: stats --format=nsys", output("stats", f"{name}.tacho"), on_terminal(100, "stats", "-f", "nsys", f"{name}.tacho"))


def check_for_people_everywhere(name, file):
    """A pipe has the text of a terminal of 120 columns, or as many as COLUMNS says, and never a colour."""
    for words in (["analyze"], ["summary"], []):
        for columns, width in (("", 120), ("x", 120), ("90", 90)):
            what = f"{name}: {' '.join(words) or 'the file alone'} in a pipe, COLUMNS={columns}"
            piped = output(*words, file, COLUMNS=columns, TERM="xterm")
            check(what, on_terminal(width, *words, file, NO_COLOR="1"), piped)
            has_titles = words != ["analyze"] or "(advice_sum)" in piped  # what is found in a capture of now depends on the machine
            check(f"{what}: the terminal has bold text, the pipe has none", (has_titles, False),
                  ("\x1b[1m" in on_terminal(width, *words, file, TERM="xterm"), "\x1b" in piped))


def check_options():
    file = "resnet18.tacho"
    rows = [line for line in on_terminal(120, "stats", "-r", "cuda_gpu_kern_sum", "--rows=3", file).split("\n") if line.startswith("  ")]
    check("--rows=3: a header, three rows, one line", (5, f"  … 62 more rows: tacho stats -r cuda_gpu_kern_sum --rows=all {file}"), (len(rows), rows[-1]))
    every = on_terminal(120, "stats", "-r", "cuda_gpu_kern_sum", "--rows=all", file)
    check("--rows=all", (66, False), (len([line for line in every.split("\n") if line.startswith("  ")]), "more row" in every))
    check("--rows and csv", 4, output("stats", "-q", "-f", "csv", "-r", "cuda_gpu_kern_sum", "--rows=3", file).count("\n"))
    own = on_terminal(120, "stats", "-r", "cuda_gpu_kern_sum:rows=30", file)
    check("rows of the report", 31, len([line for line in own.split("\n") if line.startswith("  ")]))
    part = on_terminal(150, "stats", "-r", "nvtx_sum", "--filter-nvtx=iteration11", file)
    check("the command keeps the filter", True, f"tacho stats -r nvtx_sum --filter-nvtx=iteration11 --rows=all {file}" in part)
    quiet = on_terminal(120, "stats", "-q", "-r", "cuda_gpu_kern_sum,um_sum", file)
    check("-q: the table alone, with all rows", (66, []), (quiet.count("\n"), [line for line in quiet.split("\n") if line and not line.startswith("  ")]))
    check("a report without data", f"um_sum: {file} does not contain CUDA memory transfers data.\n", on_terminal(120, "stats", "-r", "um_sum", file))
    check("nothing in this part", True, on_terminal(120, "stats", "--filter-time=0/1ns", file).startswith("No rows in: cuda_gpu_kern_sum, "))
    check_units(file)
    both = on_terminal(120, "stats", "--each", "-r", "osrt_sum", file, "mix.tacho")
    check("--each: several files are named", [f"==> {file} <==", "==> mix.tacho <=="], re.findall(r"^==> .* <==$", both, re.M))
    both = on_terminal(150, "stats", "--by", "host", "-r", "cuda_gpu_kern_sum", file, "mix.tacho")
    check("the command names all files of a set", True, f"tacho stats -r cuda_gpu_kern_sum --by host --rows=all {file} mix.tacho" in both)
    units = on_terminal(120, "stats", "-r", "osrt_sum", "--timeunit=msec", file)
    check("--timeunit=msec", True, "Total (ms)" in units and re.search(r"100\.\d{3} ", units) is not None and "µs" not in units)
    for arguments in (("--rows=x",), ("--rows=-1",), ("--rows=",), ("--timeunit=weeks",)):
        check(f"{arguments} is refused", 2, run("stats", *arguments, file)[0])
    on_terminal(120, "stats", "-r", "osrt_sum", "-o", "calls", file)
    check("-o writes csv", output("stats", "-q", "-f", "csv", "-r", "osrt_sum", file), open("calls_osrt_sum.csv").read())


def check_units(file):
    """--filter-time is in ns: a part that is likely to be meant in seconds is told of on stderr, and stdout is as ever."""
    database = sqlite3.connect("resnet18.sqlite")
    columns = database.execute("SELECT m.name, p.name FROM sqlite_master m, pragma_table_info(m.name) p "
                               "WHERE p.name IN ('start', 'end', 'timestamp') AND m.name <> 'DIAGNOSTIC_EVENT'").fetchall()
    times = [time for table, column in columns for time, in database.execute(f'SELECT "{column}" FROM "{table}" WHERE "{column}" IS NOT NULL')]
    first, last = min(times), max(times)
    for asked, is_told in (("0.5/1.0", True), ("/2.", True), ("1/2", True), ("3/", True), (f"{last + 1}/", True), ("100s/200s", True), ("-9s/-8s", True),
                           ("0.05s/0.1s", False), ("0/", False), ("/", False), (f"{last // 2}/{last // 2 + 5}", False), ("0/1ms", False)):
        status, said, out = run("stats", "-r", "osrt_sum", f"--filter-time={asked}", file)
        why = "is outside the report, which spans" if asked.endswith("s") else "is in ns unless it has a unit (1.5s/2s); the report spans"
        expected = f"tacho: --filter-time={asked} {why} {first:,} to {last:,} ns\n"
        check(f"--filter-time={asked}", (0, expected if is_told else ""), (status, said))
        check(f"--filter-time={asked}: nsys's bytes", True, out.startswith(f"Processing [{file}] with [osrt_sum]... \n"))


def check_ops(name):
    """`tacho ops`: the rows of its json, in the same order, fitted to the terminal."""
    file = f"{name}.tacho"
    rows = json.loads(output("ops", "-f", "json", file))
    for width in WIDTHS:
        what = f"ops of {name} at {width}"
        text = on_terminal(width, "ops", file)
        check_widths(what, width, text)
        header, *lines = [line for line in text.split("\n") if line.startswith("  ")]
        check(f"{what}: rows", (MOST_ROWS, f"  … {len(rows) - MOST_ROWS} more rows: --rows=all"), (len(lines) - 1, lines[-1]))
        places = {heading: end for heading, _, end in headings(header)}
        check(f"{what}: columns", {"Name", "Time", "Self CUDA", "Calls"}, {"Name", "Time", "Self CUDA", "Calls"} & set(places))
        for row, line in zip(rows, lines[:-1]):
            got = number_before(cells_of(line), places["Self CUDA"])
            check(f"{what}, self CUDA of {row['key']}: {line!r}", True, abs(got[0] - row["self_device_us"] * 1000) <= got[1] + 1)
            check(f"{what}, calls of {row['key']}", row["count"], int(number_before(cells_of(line), places["Calls"])[0]))
    for option, count in (("--rows=3", 3), ("--row-limit=3", 3), ("--rows=all", len(rows)), ("--row-limit=-1", len(rows))):
        lines = [line for line in on_terminal(120, "ops", option, file).split("\n") if line.startswith("  ")]
        check(f"ops {option}", 1 + count + (count < len(rows)), len(lines))
        check(f"ops {option}: mangled names", [], [line for line in lines if line.startswith("  _Z")])
    check("ops --rows=-1", 2, run("ops", "--rows=-1", file)[0])
    check("a pipe has torch's layout", True, output("ops", file).startswith("-----"))
    check("and so has --format table", output("ops", file), on_terminal(120, "ops", "-f", "table", file))


def check_completed_names():
    """Beside X.tacho, X may be the program that was recorded: every command reads the report."""
    with open("resnet18", "wb") as program:
        program.write(b"\x7fELF" + bytes(500))
    for words in (["stats", "-q", "-r", "cuda_api_sum"], ["summary"], ["info"], ["diff", "mix.tacho"], ["export", "-q", "-t", "text", "-o", "-"]):
        completed, whole = output(*words, "resnet18"), output(*words, "resnet18.tacho")
        check(f"tacho {words[0]} of a name without an ending", whole.replace("resnet18.tacho", "resnet18"), completed.replace("resnet18.tacho", "resnet18"))
    os.remove("resnet18")


def check_counters():
    """Counters of kernels without a trace of CUDA, as ncu's files have them: their tables need nothing else."""
    output("import", "-q", "-o", "counters.tacho", os.path.join(HERE, "ncu", "full-raw.csv"))
    for width in WIDTHS:
        text = on_terminal(width, "stats", "counters.tacho")
        check_widths(f"counters at {width}", width, text)
        check(f"tables of counters at {width}", ["kernel_speed_of_light"], [report for report, _, _ in split(text)])


def check_pipes():
    """-f human where there is no terminal: COLUMNS, or 120."""
    for columns, width in (("90", 90), ("", 120), ("x", 120)):
        done = subprocess.run([TACHO, "stats", "-f", "human", "resnet18.tacho"], stdout=subprocess.PIPE, env={**os.environ, "COLUMNS": columns}, check=False)
        text = done.stdout.decode()
        check_widths(f"COLUMNS={columns}", width, text)
        check(f"COLUMNS={columns}: the width is used", True, max(len(cells_of(line)) for line in text.split("\n")) > width - 20)


def check_sentences():
    """In a pipe findings and advice are whole: their ends say who, where and what to do."""
    text = output("stats", "-q", "-r", "advice_sum", "outside.sqlite")
    rows = list(csv.DictReader(output("stats", "-q", "-f", "csv", "-r", "advice_sum", "outside.sqlite").splitlines()))
    check("a long sentence", True, any(len(row["Advice"]) > 100 for row in rows))
    for row in rows:
        check(f"{row['Rule']}: a whole finding and advice", (True, True), (row["Finding"] in text, row["Advice"] in text))
    stacks = {row["Stack"] for row in csv.DictReader(output("stats", "-q", "-f", "csv", "-r", "thread_wait_sum:stack", "waiting.tacho").splitlines())}
    piped = output("stats", "-q", "-r", "thread_wait_sum:stack", "waiting.tacho")
    shown = " ".join(on_terminal(80, "stats", "-r", "thread_wait_sum:stack", "--rows=all", "waiting.tacho").split())
    check("a long call stack", True, max(map(len, stacks)) > 100)
    check("call stacks that are cut in a pipe", [], [stack for stack in stacks if stack not in piped])
    check("call stacks that are cut on a terminal", [], [stack for stack in stacks if stack not in shown])


def check_diff():
    """diff has the same tables on a terminal."""
    for width in WIDTHS:
        text = on_terminal(width, "diff", "mix.tacho", "resnet18.tacho")
        check_widths(f"diff at {width}", width, text)
        calls = next((lines, more) for report, lines, more in split(text) if report == "cuda_api_sum")
        rows = list(csv.DictReader(output("diff", "-q", "-f", "csv", "-r", "cuda_api_sum", "mix.tacho", "resnet18.tacho").splitlines()))
        check(f"diff at {width}: rows", (MOST_ROWS, f"  … {len(rows) - MOST_ROWS} more rows: --rows=all"), (len(calls[0]) - 1, calls[1]))
        ends = {heading: end for heading, _, end in headings(calls[0][0])}
        for row, line in zip(rows, calls[0][1:]):
            for heading in ("Before", "After", "Change"):
                got = number_before(cells_of(line), ends[heading]) if row[f"{heading} (ns)"] else None
                check(f"diff at {width}, {heading} of {row['Name']}: {line!r}", True,
                      not row[f"{heading} (ns)"] or abs(got[0] - float(row[f"{heading} (ns)"])) <= got[1] + 0.1)
    names = {row["Range"] for row in csv.DictReader(output("diff", "-q", "-f", "csv", "--all", "-r", "nvtx_sum", "resnet18.tacho", "resnet18.tacho").splitlines())}
    check("diff folds operators", (True, []), ("aten::conv2d" in names, [name for name in names if "op_id" in name]))
    check("diff --rows", 3, output("diff", "-q", "-f", "csv", "--rows=2", "-r", "cuda_api_sum", "mix.tacho", "resnet18.tacho").count("\n"))
    check("diff --nsys-output=true", output("diff", "mix.tacho", "resnet18.tacho"),
          on_terminal(100, "diff", "--nsys-output=true", "mix.tacho", "resnet18.tacho"))


def check_profile():
    """The tables of profile --stats=true are those of stats."""
    text = on_terminal(100, "profile", "--stats=true", "-o", "again.tacho", sys.executable, "-c", WAITING)
    check("profile --stats=true", on_terminal(100, "stats", "again.tacho"), text)
    piped = subprocess.run([TACHO, "profile", "--stats=true", "-f", "true", "-o", "again.tacho", sys.executable, "-c", WAITING],
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout.decode()
    check("profile --stats=true in a pipe", output("stats", "again.tacho"), piped)


def check_colour():
    for environment, expected in (({"TERM": "xterm"}, True), ({"TERM": "xterm", "NO_COLOR": "1"}, False), ({"TERM": "xterm", "NO_COLOR": ""}, True),
                                  ({"TERM": "dumb"}, False)):
        text = on_terminal(120, "stats", "-r", "osrt_sum", "mix.tacho", **environment)
        check(f"bold text with {environment}", expected, "\x1b[1m" in text)
    plain = re.sub(r"\x1b\[\d+m", "", on_terminal(120, "stats", "-r", "osrt_sum", "mix.tacho", TERM="xterm"))
    check("colours change nothing else", on_terminal(120, "stats", "-r", "osrt_sum", "mix.tacho"), plain)


def check_strange_names():
    """Names that are wide, that combine, or that would reach the terminal."""
    made = lib.Made("strange.sqlite")
    for number, name in enumerate(("\x1b[31m" + "long name " * 30, "日本語の長い名前" * 12, "e\u0301" * 120, "\u202eevil", "void a::b<c<d>>(e)" * 9)):
        made.add("OSRT_API", start=1, end=1000 - number, eventClass=27, globalTid=1, nameId=made.text(name), returnValue=0, nestingLevel=0, callchainId=0)
    made.write()
    for width in WIDTHS:
        text = on_terminal(width, "stats", "-r", "osrt_sum", "strange.sqlite")
        check_widths(f"strange names at {width}", width, text)
        check(f"strange names at {width}: a line for each", 6, len([line for line in text.split("\n") if line.startswith("  ")]))


def operator(text):
    return re.split(r", (?:seq|op_id) = |, (?:sizes|input_op_ids) = \[", text)[0]


def check_folding():
    """Folded ranges, from the rows of the capture itself."""
    groups = {}
    for text, length, kind in sqlite3.connect("resnet18.sqlite").execute(
            "SELECT coalesce(text, value), end - start, eventType FROM NVTX_EVENTS LEFT JOIN StringIds ON id = textId WHERE end IS NOT NULL AND eventType IN (59, 60)"):
        groups.setdefault((operator(text), kind), []).append(length)
    expected = sorted((name, len(times), sum(times), min(times), max(times), f"{statistics.median(times):.1f}") for (name, _), times in groups.items())
    rows = csv.DictReader(output("stats", "-q", "-f", "csv", "-r", "nvtx_sum:fold=true", "resnet18.tacho").splitlines())
    got = sorted((row["Range"], int(row["Instances"]), int(row["Total Time (ns)"]), int(row["Min (ns)"]), int(row["Max (ns)"]), row["Med (ns)"]) for row in rows)
    check("nvtx_sum:fold=true", expected, got)
    check("there is something to fold", True, len(got) < 200 and any(row[1] > 100 for row in got))
    for report, name, count, total in (("nvtx_pushpop_sum", "Range", "Instances", "Total Time (ns)"),
                                       ("nvtx_gpu_proj_sum", "Range", "Range Instances", "Total Proj Time (ns)"),
                                       ("nvtx_kern_sum", "NVTX Range", "Total Time (ns)", "Total Time (ns)")):
        sums = []
        for option in ("", ":fold=true", ":fold=false"):
            rows = {}
            for row in csv.DictReader(output("stats", "-q", "-f", "csv", "-r", report + option, "resnet18.tacho").splitlines()):
                key = operator(row[name]).lstrip(":"), row.get("Kernel Name")
                rows[key] = tuple(old + new for old, new in zip(rows.get(key, (0, 0)), (int(row[count]), int(row[total]))))
            sums.append(rows)
        check(f"{report}: folded or not, the sums by operator are the same", sums[0], sums[1])
        check(f"{report}: fold=false", sums[0], sums[2])
    check("a wrong value", 2, run("stats", "-r", "nvtx_sum:fold=maybe", "resnet18.tacho")[0])


def make_captures():
    """The name and file of each."""
    for name in ("resnet18", "mix", "wait_stream"):
        unpack(os.path.join(HERE, "nsys", f"{name}.sqlite.gz"), f"{name}.sqlite")
    lib.unpack_mnist_like("mnist_like.sqlite")
    sources = {name: f"{name}.sqlite" for name in ("resnet18", "mix", "wait_stream", "mnist_like")}
    sources.update({name: os.path.join(KINETO, f"{name}.json.gz") for name in ("train", "infer")})
    for name, source in sources.items():
        output("import", "-q", "-o", f"{name}.tacho", source)
    done = subprocess.run([TACHO, "profile", "-o", "waiting.tacho", sys.executable, "-c", WAITING], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    check(f"a capture of waiting threads: {done.stderr.decode()}", 0, done.returncode)
    return {name: f"{name}.tacho" for name in (*sources, "waiting")}


RULES = set()


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        RULES.update(re.findall(r"^(\w+)\S* -- ", output("analyze", "--help-rules"), re.M))
        known = roles()
        for name, file in make_captures().items():
            check_defaults(name, file, known)
            check_texts(name, file)
            check_for_people_everywhere(name, file)
        for width in WIDTHS:
            check_widths(f"doctor at {width}", width, re.sub("\033\\[[0-9]*m", "", on_terminal(width, "doctor")))
        check_outside(known)
        check_order()
        check_nsys_bytes("resnet18")
        check_nsys_bytes("mix")
        check_options()
        for name in ("resnet18", "train"):
            check_ops(name)
        check_completed_names()
        check_counters()
        check_pipes()
        check_sentences()
        check_profile()
        check_diff()
        check_colour()
        check_strange_names()
        check_folding()
    return lib.status()


if __name__ == "__main__":
    sys.exit(main())
