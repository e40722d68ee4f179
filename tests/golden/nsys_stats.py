"""Captures of nsys, imported, must give nsys's own tables byte for byte, as csv and on the terminal.

nsys/NAME.sqlite.gz is an export of nsys 2025.3; nsys/NAME/REPORT.csv.gz is what its `stats` made of it, and
nsys/NAME/default_reports.txt.gz what that printed. Reports that Tacho does not have yet are left out."""

import difflib
import gzip
import os
import re
import sqlite3
import subprocess
import sys
import tempfile

TACHO = os.environ["TACHO"]
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "nsys")
failures = 0


def tacho(*arguments):
    done = subprocess.run([TACHO, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        sys.exit(f"tacho {' '.join(arguments)}: status {done.returncode}: {done.stderr.decode()}")
    return done.stdout.decode()


def check(what, expected, got):
    global failures
    if expected == got:
        return
    failures += 1
    print(f"{what} differs:")
    lines = difflib.unified_diff(expected.splitlines(), got.splitlines(), "nsys", "tacho", lineterm="", n=0)
    print("\n".join(list(lines)[:12]))


def known_reports():
    return re.findall(r"^(\w+)\S* -- ", tacho("stats", "--help-reports"), re.M)


def wanted_text(path, name, reports):
    """nsys's own words for those reports; it names scripts where Tacho names reports."""
    text = gzip.open(path, "rt").read()
    blocks = re.split(r"(?m)^(?=Processing \[)", text)
    kept = []
    for block in blocks:
        match = re.match(r"Processing \[[^]]*\] with \[[^]]*/(\w+)\.py\]", block)
        if match and match.group(1) in reports:
            kept.append(re.sub(r"\[[^]]*/(\w+)\.py\]", r"[\1]", block, count=1))
    return "".join(kept).replace(f"{name}.sqlite", f"{name}.tacho")


def check_capture(name, reports):
    with open(f"{name}.sqlite", "wb") as out:
        out.write(gzip.open(f"{FOLDER}/{name}.sqlite.gz").read())
    tacho("import", f"{name}.sqlite", "-o", f"{name}.tacho")
    compared = 0
    for report in reports:
        expected = f"{FOLDER}/{name}/{report}.csv.gz"
        if os.path.exists(expected):
            check(f"{name} {report}", gzip.open(expected, "rt").read(), tacho("stats", "-q", "-f", "csv", "-r", report, f"{name}.tacho"))
            compared += 1
    check(f"{name} on the terminal", wanted_text(f"{FOLDER}/{name}/default_reports.txt.gz", name, reports), tacho("stats", f"{name}.tacho"))
    return compared


def check_round_trip(name, reports):
    """To SQLite and back: the tables stay the same, and so do the rows that SQL sees."""
    tacho("export", "-t", "sqlite", "-o", f"{name}.back.sqlite", f"{name}.tacho")
    for report in reports:
        ours = tacho("stats", "-q", "-f", "csv", "-r", report, f"{name}.tacho")
        check(f"{name} {report} after a round trip", ours, tacho("stats", "-q", "-f", "csv", "-r", report, f"{name}.back.sqlite"))
    queries = {
        "NVTX": "SELECT start, end, eventType, rangeId, category, color, coalesce(text, value), globalTid, domainId, uint64Value, int64Value,"
                " doubleValue, uint32Value, int32Value, floatValue FROM NVTX_EVENTS LEFT JOIN StringIds ON id = textId",
        "OSRT": "SELECT start, end, eventClass, globalTid, value, returnValue, nestingLevel, callchainId FROM OSRT_API JOIN StringIds ON id = nameId",
        "threads": "SELECT value, priority, globalTid FROM ThreadNames JOIN StringIds ON id = nameId",
    }
    for what, query in queries.items():
        theirs, ours = (list(sqlite3.connect(path).execute(query)) for path in (f"{name}.sqlite", f"{name}.back.sqlite"))
        if not theirs:
            sys.exit(f"{name}: the query for {what} finds nothing, so it tests nothing")
        check(f"{name}: rows of {what}", "\n".join(map(repr, theirs)), "\n".join(map(repr, ours)))


def main():
    reports = known_reports()
    compared = 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name in ("mix", "resnet18", "wait_stream"):
            compared += check_capture(name, reports)
            check_round_trip(name, reports)
    if compared < 12:
        sys.exit(f"only {compared} tables were compared")
    print(f"{compared} tables compared")
    sys.exit(failures != 0)


main()
