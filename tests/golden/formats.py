"""Every format, output and filter of `tacho stats`, on a capture of nsys.

csv is compared with what nsys itself printed (nsys_stats.py does that for all reports); all other formats must hold the
same figures as the csv, as parsers of Python see them."""

import csv
import gzip
import html.parser
import io
import json
import os
import pty
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile

from lib import Made, read_terminal

TACHO = os.environ["TACHO"]
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "nsys")
failures = 0


def check(what, truth, *shown):
    global failures
    if not truth:
        failures += 1
        print("wrong:", what, *shown)


def run(*arguments, **more):
    done = subprocess.run([TACHO, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def stats(*arguments):
    status, out, err = run("stats", "-q", *arguments)
    if status != 0:
        sys.exit(f"tacho stats {' '.join(arguments)}: {err}")
    return out


class Rows(html.parser.HTMLParser):
    """The cells of the one table of a document, row by row; complains of tags that are not closed."""

    def __init__(self):
        super().__init__()
        self.rows, self.open, self.title = [], [], ""

    def handle_starttag(self, tag, attributes):
        if tag in ("meta", "link"):
            return
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            sys.exit(f"</{tag}> closes nothing")

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data
        if self.open and self.open[-1] == "title":
            self.title += data


def html_rows(text):
    parser = Rows()
    parser.feed(text)
    parser.close()
    check("every tag is closed", parser.open == [], parser.open)
    return parser


def grouped(value):
    """1234567.8 as 1,234,567.8"""
    match = re.fullmatch(r"(-?\d+)(\.\d+)?", value)
    return f"{int(match.group(1)):,}{match.group(2) or ''}" if match else value


def check_formats(report):
    expected = list(csv.reader(io.StringIO(stats("-r", report, "-f", "csv", "mix.sqlite"))))
    header, rows = expected[0], expected[1:]
    if len(rows) < 2:
        sys.exit(f"{report} has too few rows to show anything")
    theirs = f"{FOLDER}/mix/{report}.csv.gz"
    check(f"{report}: csv as nsys's", expected == list(csv.reader(io.StringIO(gzip.open(theirs, "rt").read()))))

    tsv = [line.split("\t") for line in stats("-r", report, "-f", "tsv", "mix.sqlite").splitlines()]
    check(f"{report}: tsv", tsv == expected, tsv[:2])

    objects = json.loads(stats("-r", report, "-f", "json", "mix.sqlite"), parse_float=str, parse_int=str)
    check(f"{report}: json", [list(o) for o in objects] == [header] * len(rows) and [list(o.values()) for o in objects] == rows, objects[:1])

    # Ids are never grouped: only what differs by commas alone may differ.
    table = html_rows(stats("-r", report, "-f", "htable", "mix.sqlite"))
    plain = [[cell.replace(",", "") if re.fullmatch(r"-?[\d,]+(\.\d+)?", cell) else cell for cell in row] for row in table.rows]
    check(f"{report}: htable", plain == expected, table.rows[:2])
    document = html_rows(stats("-r", report, "-f", "hdoc:title=A <b> & B", "mix.sqlite"))
    check(f"{report}: hdoc", document.rows == table.rows and document.title == "A <b> & B", document.title)

    lines = stats("-r", report, "-f", "column", "mix.sqlite").splitlines()
    boxes = stats("-r", report, "-f", "table", "mix.sqlite").splitlines()
    check(f"{report}: boxes are columns with lines", [re.sub(r"^\| | \|$", "", b).replace(" | ", "  ") for b in boxes if b[0] == "|"]
          == [line[1:] for line in lines[:1] + lines[2:]], boxes[:3])
    check(f"{report}: nohdr", stats("-r", report, "-f", "column:nohdr", "mix.sqlite").count("\n") == len(rows))


def check_units():
    ns = list(csv.DictReader(io.StringIO(stats("-r", "osrt_sum", "-f", "csv", "mix.sqlite"))))
    for unit, suffix, factor, decimals in (("u", "us", 1000, 3), ("milli", "ms", 10**6, 6), ("seconds", "s", 10**9, 9)):
        other = list(csv.DictReader(io.StringIO(stats("-r", "osrt_sum", "-f", "csv", "--timeunit", unit, "mix.sqlite"))))
        same = [f"{int(a['Total Time (ns)']) // factor}.{int(a['Total Time (ns)']) % factor:0{decimals}d}" for a in ns]
        check(f"totals in {suffix}", [b[f"Total Time ({suffix})"] for b in other] == same, other[0])


def check_outputs():
    whole = stats("-r", "osrt_sum", "-f", "csv", "mix.sqlite")
    status, out, err = run("stats", "-r", "osrt_sum,nvtx_sum", "-f", "csv,json", "-o", "made", "mix.sqlite")
    check("files are named after the report", status == 0 and open("made_osrt_sum.csv").read() == whole and json.load(open("made_nvtx_sum.json")), status, err)
    check("what goes where is said", "[made_osrt_sum.csv]" in out and "Time (%)" not in out, out)
    status, out, err = run("stats", "-r", "osrt_sum", "-o", "made", "mix.sqlite")
    check("files are not written over", status == 1 and "made_osrt_sum.csv" in err and err.count("\n") == 1, status, err)
    status, out, err = run("stats", "-q", "--force-overwrite=true", "-r", "osrt_sum", "-o", "made", "mix.sqlite")
    check("unless that is asked for", status == 0 and out == "" and open("made_osrt_sum.csv").read() == whole, status, out, err)
    stats("-r", "osrt_sum", "-o", ".", "mix.sqlite")
    check(". is the input's own name", open("mix_osrt_sum.csv").read() == whole)
    stats("-r", "cuda_gpu_kern_sum:base", "--filter-nvtx", "phase@mix/2", "-o", "made", "mix.sqlite")
    check("options and filters are in the name", os.path.exists("made_cuda_gpu_kern_sum_base_nvtx=phase@mix-2.csv"), os.listdir("."))
    status, out, err = run("stats", "-q", "-r", "osrt_sum", "-o", "@wc -l", "mix.sqlite")
    check("a command reads it", status == 0 and int(out) == whole.count("\n"), out, err)
    status, out, err = run("stats", "-r", "osrt_sum", "-f", "csv,column", "-o", "@cat,-", "mix.sqlite")
    check("one report, two ways", status == 0 and whole in out and " ** OS Runtime Summary (osrt_sum):" in out, err)
    for wrong in ("@no-such-command-here", "@false", "@", "no/such/folder/x"):
        status, out, err = run("stats", "-q", "-r", "osrt_sum", "-o", wrong, "mix.sqlite")
        check(f"-o {wrong} is one sentence", status in (1, 2) and err.count("\n") == 1 and out == "", status, err)


def members(text):
    """The names in a JSON object, in their order and as often as they are there."""
    return [name for name, value in json.loads(text, object_pairs_hook=lambda pairs: pairs)]


def check_one_document(single):
    """What would make JSON on stdout more than one document, or an object with a member twice."""
    for words in (["-r", "osrt_sum,nvtx_sum", "-f", "json,csv"], ["-r", "osrt_sum,nvtx_sum", "-f", "column,json"], ["-r", "osrt_sum", "-f", "csv,json"]):
        status, out, err = run("stats", *words, "mix.sqlite")
        check(f"{words} is refused", (status, out) == (2, "") and "cannot print json and " in err and err.count("\n") == 1, status, out[:100], err)
    status, out, err = run("stats", "--nsys-output=true", "-q", "-r", "osrt_sum,nvtx_sum", "-f", "json,csv", "mix.sqlite")
    check("nsys prints one behind another", status == 0 and out.startswith("[") and out.endswith(stats("-f", "csv", "-r", "nvtx_sum", "mix.sqlite")), status, err)
    status, out, err = run("stats", "-f", "json", "-r", "osrt_sum,nvtx_sum,osrt_sum", "mix.sqlite")
    check("a report that is named twice is there once", status == 0 and members(out) == ["osrt_sum", "nvtx_sum"], out[:200])
    status, out, err = run("stats", "--each", "-f", "json", "-r", "osrt_sum,nvtx_sum", "mix.sqlite", "second.sqlite", "mix.sqlite")
    check("so is a file", status == 0 and members(out) == ["mix.sqlite", "second.sqlite"] and json.loads(out)["mix.sqlite"] == single, out[:200])
    check("csv has both", stats("-f", "csv", "-r", "osrt_sum,osrt_sum", "mix.sqlite") == 2 * stats("-f", "csv", "-r", "osrt_sum", "mix.sqlite"))
    for words in (["stats", "-r", "nosuch"], ["stats", "-r", "nosuch,none"], ["analyze", "-r", "nosuch"], ["diff", "-r", "nosuch", "mix.sqlite"]):
        status, out, err = run(*words, "-f", "json", "mix.sqlite")
        check(f"{words}: a sentence and no document", (status, out, err.count("\n")) == (2, "", 1), status, out, err)
    status, out, err = run("stats", "-f", "json", "-r", "osrt_sum,nosuch", "mix.sqlite")
    check("reports of which one is unknown", status == 2 and json.loads(out) == single["osrt_sum"] and err.count("\n") == 1, status, out[:100], err)
    answers = {command: run(command, "-f", "json", *words, "mix.sqlite") for command, words in (("ops", []), ("stats", ["-r", "torch_op_sum"]))}
    check("no operators are an empty array", {(status, out, err.count("\n")) for status, out, err in answers.values()} == {(0, "[]\n", 1)}, answers)


def check_scripts():
    """What a script reads: nothing but the tables, and JSON that is one document."""
    single = {name: json.loads(stats("-f", "json", "-r", name, "mix.sqlite")) for name in ("osrt_sum", "nvtx_sum")}
    status, out, err = run("stats", "-f", "json", "-r", "osrt_sum", "mix.sqlite")
    check("one report is an array", (status, json.loads(out), err) == (0, single["osrt_sum"], ""), status, err)
    status, out, err = run("stats", "-f", "json", "-r", "osrt_sum,vulkan_api_sum", "-r", "nvtx_sum", "mix.sqlite")
    expected = {"osrt_sum": single["osrt_sum"], "vulkan_api_sum": [], "nvtx_sum": single["nvtx_sum"]}
    check("several reports are one object, in their order", status == 0 and list(json.loads(out).items()) == list(expected.items()), out[:200])
    check("what is missing is said elsewhere", "Vulkan API data" in err and err.count("\n") == 1, err)
    check("or not at all", run("stats", "-q", "-f", "json", "-r", "osrt_sum,vulkan_api_sum,nvtx_sum", "mix.sqlite")[1:] == (out, ""))
    check("a report without data is an empty array", json.loads(stats("-f", "json", "-r", "vulkan_api_sum", "mix.sqlite")) == [])
    status, out, err = run("stats", "-f", "json", "mix.sqlite")
    default = json.loads(out)
    check("the default list has what there is", status == 0 and err == "" and default["osrt_sum"] == single["osrt_sum"] and "vulkan_api_sum" not in default, list(default), err)
    status, out, err = run("stats", "--each", "-f", "json", "-r", "osrt_sum", "mix.sqlite", "mix.nsys-rep.sqlite")
    check("files that fail leave a document", status == 1 and list(json.loads(out)) == ["mix.sqlite"] and err.count("\n") == 1, status, out, err)
    shutil.copy("mix.sqlite", "second.sqlite")
    status, out, err = run("stats", "--each", "-f", "json", "-r", "osrt_sum,nvtx_sum", "mix.sqlite", "second.sqlite")
    check("several files are one object", json.loads(out) == {"mix.sqlite": single, "second.sqlite": single}, out[:200])
    status, out, err = run("stats", "--each", "-f", "json", "-r", "osrt_sum", "mix.sqlite", "second.sqlite")
    check("one report of several files", json.loads(out) == {"mix.sqlite": single["osrt_sum"], "second.sqlite": single["osrt_sum"]}, out[:200])
    check_one_document(single)
    rules = json.loads(run("analyze", "-f", "json", "mix.sqlite")[1])
    check("rules", rules["cuda_memcpy_sync"] and rules["cuda_memcpy_async"] == [], list(rules))
    table = stats("-r", "osrt_sum", "-f", "csv", "mix.sqlite")
    for form in ("csv", "tsv", "htable"):
        whole = stats("-r", "osrt_sum", "-f", form, "mix.sqlite")
        check(f"{form} is the table alone", run("stats", "-r", "osrt_sum", "-f", form, "mix.sqlite") == (0, whole, ""))
    status, out, err = run("stats", "-f", "csv", "-r", "osrt_sum,vulkan_api_sum,nvtx_sum", "mix.sqlite")
    check("an empty line between tables", out == table + "\n" + stats("-r", "nvtx_sum", "-f", "csv", "mix.sqlite") and err.startswith("SKIPPED: "), out[:200], err)
    status, out, err = run("stats", "-r", "osrt_sum,nvtx_sum", "-f", "csv,json", "-o", "script,-", "mix.sqlite")
    check("notes on files are not beside the data", json.loads(out) == {"nvtx_sum": single["nvtx_sum"]} and "[script_osrt_sum.csv]" in err, out[:200], err)
    status, out, err = run("stats", "--nsys-output=true", "-f", "csv", "-r", "osrt_sum,vulkan_api_sum", "mix.sqlite")
    check("as nsys has it", out == f"Processing [mix.sqlite] with [osrt_sum]... \n{table}\nProcessing [mix.sqlite] with [vulkan_api_sum]... \n"
          "SKIPPED: mix.sqlite does not contain Vulkan API data.\n\n" and err == "", out, err)
    for words in (["stats", "-f", "jsn", "mix.sqlite"], ["stats", "--help-reports=cuda_kern_sum"]):
        status, out, err = run(*words)
        check(f"{words} is answered with a suggestion", status == 2 and "did you mean" in err and err.count("\n") == 1, status, err)


def overlapping(low, high):
    """Calls to libc in the capture that touch this time, from the SQLite file itself."""
    rows = sqlite3.connect("mix.sqlite").execute(
        "SELECT value, count(*), sum(end - start) FROM OSRT_API JOIN StringIds ON id = nameId WHERE eventClass = 27 AND start <= ? AND end >= ? GROUP BY 1", (high, low))
    return {name: (count, total) for name, count, total in rows}


def filtered(*arguments):
    rows = csv.DictReader(io.StringIO(stats("-r", "osrt_sum", "-f", "csv", *arguments, "mix.sqlite")))
    return {row["Name"]: (int(row["Num Calls"]), int(row["Total Time (ns)"])) for row in rows}


def check_filters():
    first, last = next(sqlite3.connect("mix.sqlite").execute("SELECT min(start), max(start) FROM OSRT_API"))
    middle = (first + last) // 2
    for low, high, text in ((first, middle, f"{first}/{middle}"), (middle, 1 << 62, f"{middle}/"), (-1 << 62, middle, f"/{middle}"),
                            (10**8, 5 * 10**8, "100ms/0.5s")):
        expected = overlapping(low, high)
        if not expected:
            sys.exit(f"nothing overlaps {text}, so it tests nothing")
        check(f"--filter-time {text}", filtered("--filter-time", text) == expected, text)
    pid, tid = next(sqlite3.connect("mix.sqlite").execute("SELECT globalTid >> 24 & 0xffffff, globalTid & 0xffffff FROM OSRT_API"))
    of_thread = dict(sqlite3.connect("mix.sqlite").execute(
        "SELECT value, count(*) FROM OSRT_API JOIN StringIds ON id = nameId WHERE globalTid & 0xffffff = ? GROUP BY 1", (tid,)))
    everything = filtered()
    check("--filter-tid", {name: count for name, (count, _) in filtered("--filter-tid", str(tid)).items()} == of_thread)
    check("--filter-pid of the only process", filtered("--filter-pid", str(pid)) == everything)
    status, out, err = run("stats", "-r", "osrt_sum", "--filter-pid", "999999", "mix.sqlite")
    check("a process that is not there", status == 0 and "poll" not in out, status, out)
    start, end = next(sqlite3.connect("mix.sqlite").execute(
        "SELECT start, end FROM NVTX_EVENTS LEFT JOIN StringIds ON id = textId WHERE eventType = 59 AND coalesce(text, value) = 'phase' ORDER BY start LIMIT 1 OFFSET 3"))
    kernels = next(sqlite3.connect("mix.sqlite").execute("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE start <= ? AND end >= ?", (end, start)))[0]
    rows = csv.DictReader(io.StringIO(stats("-r", "cuda_gpu_kern_sum", "-f", "csv", "--filter-nvtx", "phase@mix/3", "mix.sqlite")))
    check("--filter-nvtx", kernels and sum(int(row["Instances"]) for row in rows) == kernels, kernels)
    for wrong in (["--filter-time", "x/y"], ["--filter-time", "5"], ["--filter-time", "9/1"], ["--filter-nvtx", "nobody"], ["--filter-nvtx", "phase@mix/9999"],
                  ["--filter-pid", "me"], ["--filter-nvtx", ""]):
        status, out, err = run("stats", "-q", *wrong, "mix.sqlite")
        check(f"{wrong} is one sentence", status in (1, 2) and err.count("\n") == 1 and out == "", status, err)


def check_inputs():
    status, out, err = run("stats", "-q", "-r", "osrt_sum", "gone.nsys-rep")
    check("a .nsys-rep that is not there", status == 1 and err.count("\n") == 1 and "gone.tacho" in err, err)
    open("alone.nsys-rep", "w").write("no matter")
    status, out, err = run("stats", "-q", "-r", "osrt_sum", "alone.nsys-rep", env={"PATH": "/nowhere"})
    check("a .nsys-rep without nsys", status == 1 and err.count("\n") == 1 and "nsys" in err, err)
    open("mix.nsys-rep", "w").write("no matter")
    check("a .nsys-rep is what lies beside it", run("stats", "-q", "-r", "osrt_sum", "mix.nsys-rep")[1] == stats("-r", "osrt_sum", "mix.sqlite"))
    run("import", "mix.sqlite", "-o", "named.tacho")
    check("a name without its ending", run("stats", "-q", "-r", "osrt_sum", "named")[1] == stats("-r", "osrt_sum", "mix.sqlite"))
    check("a .nsys-rep of ours", run("stats", "-q", "-r", "osrt_sum", "named.nsys-rep")[1] == stats("-r", "osrt_sum", "mix.sqlite"))
    os.mkdir("bin")
    with open("bin/nsys", "w") as script: # an nsys that exports the same capture whatever it is given
        script.write('#!/bin/sh\n[ "$1 $2 $3" = "export --type sqlite" ] || exit 9\nwhile [ "$1" != --output ]; do shift; done\n/bin/cp mix.sqlite "$2"\n')
    os.chmod("bin/nsys", 0o755)
    status, out, err = run("stats", "-q", "-r", "osrt_sum", "--sqlite", "exported.sqlite", "alone.nsys-rep", env={"PATH": os.path.abspath("bin")})
    check("an installed nsys is asked", status == 0 and out == stats("-r", "osrt_sum", "mix.sqlite") and os.path.exists("exported.sqlite"), status, err)


def check_help():
    status, out, err = run("stats", "--help-formats")
    check("--help-formats", all(f"\n{name}" in "\n" + out for name in ("column", "table", "csv", "tsv", "json", "hdoc", "htable")), out)
    status, out, err = run("stats", "--help-reports")
    check("--help-reports lists", status == 0 and len(out.splitlines()) >= 40, out)
    status, out, err = run("stats", "--help-reports", "osrt_sum")
    check("--help-reports NAME explains one", status == 0 and out.startswith("osrt_sum") and out.count(" -- ") == 1 and len(out.splitlines()) > 1, out)
    check("the same with =", run("stats", "--help-reports=osrt_sum")[1] == out)
    status, out, err = run("stats", "--help-reports", "ALL")
    check("--help-reports ALL explains all", out.count(" -- ") >= 40)
    status, out, err = run("stats", "-q", "-r", "osrt_sum", "--report-dir", "/x", "mix.sqlite")
    check("--report-dir warns and goes on", status == 0 and err.count("\n") == 1 and "poll" in out, status, err)


def check_terminal():
    """On a narrow terminal no line is wider than it, and no control character of a name gets through."""
    connection = sqlite3.connect("evil.sqlite")
    connection.executescript("CREATE TABLE StringIds(id INTEGER, value TEXT); CREATE TABLE OSRT_API(start INTEGER, end INTEGER, eventClass INTEGER,"
                             "globalTid INTEGER, nameId INTEGER, returnValue INTEGER, nestingLevel INTEGER, callchainId INTEGER)")
    connection.execute("INSERT INTO StringIds VALUES (1, ?)", ("\x1b[31m" + "long name " * 30,))
    connection.execute("INSERT INTO OSRT_API VALUES (1, 1000, 27, 1, 1, 0, 0, 0)")
    connection.commit()
    for name in ("column", "table", "csv", "json"):
        leader, follower = pty.openpty()
        subprocess.run(["stty", "cols", "72"], stdin=follower, check=False)
        done = subprocess.Popen([TACHO, "stats", "-q", "-r", "osrt_sum", "-f", name, "evil.sqlite"], stdout=follower)
        os.close(follower)
        text = read_terminal(leader)
        check(f"{name} on a terminal", done.wait() == 0 and b"\x1b" not in text and b"long name" in text, text)
        if name in ("column", "table"):
            check(f"{name} fits", max(len(line) for line in text.decode().split("\r\n")) <= 72, text.decode())


def check_formulas():
    """Names that a spreadsheet would compute: as they are in csv, unless it is asked to guard them."""
    names = ["=1+2", "+1", "-1", "@sum", "\ttab", "a=b", "'x'", '=a,"b"']
    made = Made("formulas.sqlite")
    for number, name in enumerate(names):
        made.add("OSRT_API", start=number, end=1000, nameId=made.text(name), globalTid=1, eventClass=27)
    made.write()
    guarded = [("'" + name if name[0] in "=+-@\t" else name) for name in names]
    names_of = lambda text, separator=",": [row[-1] for row in csv.reader(io.StringIO(text), delimiter=separator)]
    for form, expected in ("csv:nohdr", names), ("csv:nohdr:guard", guarded), ("csv:guard:nohdr", guarded):
        check(form, sorted(names_of(stats("-r", "osrt_sum", "-f", form, "formulas.sqlite"))) == sorted(expected), form)
    check("numbers are not guarded", "'" not in stats("-r", "osrt_sum", "-f", "csv:guard", "formulas.sqlite").split("\n")[1].rsplit(",", 1)[0])
    check("tsv:guard", "\t'=1+2\n" in stats("-r", "osrt_sum", "-f", "tsv:guard", "formulas.sqlite"))
    for option, expected in ("false", names), ("true", guarded):
        run("export", "-q", "-t", "csv", "--csv-guard", option, "--tables=OSRT_API", "-o", f"guard_{option}.csv", "formulas.sqlite")
        with open(f"guard_{option}.csv", newline="") as exported:
            check(f"export --csv-guard={option}", [row["nameId"] for row in csv.DictReader(exported)] == expected)


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with open("mix.sqlite", "wb") as out:
            out.write(gzip.open(f"{FOLDER}/mix.sqlite.gz").read())
        for report in ("osrt_sum", "nvtx_sum", "nvtx_pushpop_trace"):
            check_formats(report)
        check_units()
        check_outputs()
        check_scripts()
        check_filters()
        check_inputs()
        check_help()
        check_terminal()
        check_formulas()
    sys.exit(failures != 0)


main()
