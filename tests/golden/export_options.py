"""What `tacho export` can be told: which tables, which times, which clock, which format; and what it says when it cannot."""

import csv
import gzip
import json
import os
import re
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile

TACHO = os.environ["TACHO"]
HERE = os.path.dirname(os.path.abspath(__file__))
failures = 0


def check(what, expected, got):
    global failures
    if expected != got:
        failures += 1
        print(f"{what}:\n  expected {str(expected)[:500]}\n  got      {str(got)[:500]}")


def run(*arguments, **more):
    done = subprocess.run([TACHO, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)
    return done.returncode, done.stderr.decode()


def export(*arguments):
    status, said = run("export", "-q", "-f", "true", *arguments, "mix.sqlite")
    if status != 0:
        sys.exit(f"tacho export {' '.join(arguments)}: {said}")


def database(*arguments):
    export("-o", "out.sqlite", *arguments)
    return sqlite3.connect("out.sqlite")


def tables(connection):
    return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def selections(original):
    check("--tables takes basic regular expressions", {"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "StringIds"},
          tables(database("--tables=kind_kernel$,^cupti.*MEMCPY", "--tables", "^stringids$")))
    check("without StringIds when it is not asked for", {"OSRT_API"}, tables(database("--tables", "OSRT_API")))
    check("--tables of no table", 2, run("export", "-q", "-o", "none.sqlite", "--tables=KERNELS_", "mix.sqlite")[0])
    check("and none is written", False, os.path.exists("none.sqlite"))
    low, high = original.execute("SELECT min(start) + 1000000, min(start) + 3000000 FROM NVTX_EVENTS WHERE eventType = 59").fetchone()
    query = f"SELECT start, end FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE start <= {high} AND end >= {low} ORDER BY rowid"
    expected = original.execute(query).fetchall()
    check("the range holds some of the calls", True, 0 < len(expected) < original.execute("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME").fetchone()[0])
    part = database(f"--times={low}/{high / 1000:.3f}us")
    check("--times", expected, part.execute("SELECT start, end FROM CUPTI_ACTIVITY_KIND_RUNTIME").fetchall())
    check("tables without times stay whole", original.execute("SELECT count(*) FROM PROCESSES").fetchone(), part.execute("SELECT count(*) FROM PROCESSES").fetchone())
    check("an open range", original.execute(f"SELECT count(*) FROM NVTX_EVENTS WHERE start <= {low}").fetchone(),
          database(f"--times=/{low}").execute("SELECT count(*) FROM NVTX_EVENTS").fetchone())


def clocks(original):
    utc = original.execute("SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME").fetchone()[0]
    query = "SELECT start, end, streamId FROM CUPTI_ACTIVITY_KIND_KERNEL ORDER BY rowid"
    for arguments, shift in ((["--ts-shift=-1.5ms"], -1500000), (["--ts-normalize=true"], utc), (["--ts-normalize", "--ts-shift", "7"], utc + 7)):
        expected = [(start + shift, end + shift, stream) for start, end, stream in original.execute(query)]
        check(" ".join(arguments), expected, database(*arguments).execute(query).fetchall())


def append():
    export("-o", "two.sqlite", "--tables=KERNEL,StringIds")
    status, said = run("export", "-q", "--append", "-o", "two.sqlite", "--tables=RUNTIME", "mix.sqlite")
    check(f"--append: {said}", 0, status)
    both, whole = sqlite3.connect("two.sqlite"), sqlite3.connect("mix.sqlite")
    for table, column in (("CUPTI_ACTIVITY_KIND_KERNEL", "shortName"), ("CUPTI_ACTIVITY_KIND_RUNTIME", "nameId")):
        query = f"SELECT t.start, s.value FROM {table} t JOIN StringIds s ON s.id = t.{column} ORDER BY t.rowid"
        check(f"--append: {table}", True, whole.execute(query).fetchall() == both.execute(query).fetchall())
    # Call chains are numbered from the start in each capture: the second one's must not become the first one's.
    query = """SELECT a.start, s.value, c.stackDepth, y.value FROM OSRT_API a JOIN StringIds s ON s.id = a.nameId
               LEFT JOIN OSRT_CALLCHAINS c ON c.id = a.callchainId LEFT JOIN StringIds y ON y.id = c.symbol"""
    with open("other.sqlite", "wb") as out:
        out.write(gzip.open(f"{HERE}/nsys/resnet18.sqlite.gz").read())
    expected = sorted(whole.execute(query).fetchall() + sqlite3.connect("other.sqlite").execute(query).fetchall(), key=str)
    export("-o", "captures.sqlite")
    status, said = run("export", "-q", "--append", "-o", "captures.sqlite", "other.sqlite")
    check(f"--append of another capture: {said}", 0, status)
    if status == 0:
        got = sorted(sqlite3.connect("captures.sqlite").execute(query).fetchall(), key=str)
        check("--append of another capture: call chains", (len(expected), True), (len(got), expected == got))
    check("--append elsewhere", 2, run("export", "--append", "-t", "json", "-o", "x.json", "mix.sqlite")[0])


def plain(original):
    names = ["start", "end", "shortName", "gridX", "graphNodeId"]
    expected = [tuple("" if v is None else str(v) for v in row) for row in original.execute(
        "SELECT start, end, value, gridX, graphNodeId FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds ON id = shortName ORDER BY k.rowid")]
    export("-t", "csv", "-o", "csvs")
    with open("csvs/CUPTI_ACTIVITY_KIND_KERNEL.csv", newline="") as file:
        check("csv", expected, [tuple(row[n] for n in names) for row in csv.DictReader(file)])
    filled = {name for name in tables(original) if not name.startswith("ENUM_") and name not in ("StringIds",)
              and original.execute(f"SELECT 1 FROM {name}").fetchone()}
    check("csv: a file for each table", filled, {name[:-4] for name in os.listdir("csvs")})
    export("-t", "csv", "-o", "csvs")  # replaces its own folder
    export("-t", "csv", "-o", "one.csv", "--tables=KIND_KERNEL")
    check("csv: one table is one file", open("csvs/CUPTI_ACTIVITY_KIND_KERNEL.csv").read(), open("one.csv").read())
    export("-t", "json", "-o", "all.json")
    export("-t", "jsonlines", "-o", "all.jsonl")
    whole = json.load(open("all.json"))
    check("json: tables", filled, set(whole))
    check("json", expected, [tuple(str(row.get(n, "")) for n in names) for row in whole["CUPTI_ACTIVITY_KIND_KERNEL"]])
    lines = [json.loads(line) for line in open("all.jsonl")]
    check("jsonlines", whole["NVTX_EVENTS"], [{k: v for k, v in line.items() if k != "table"} for line in lines if line["table"] == "NVTX_EVENTS"])
    export("-t", "text", "-o", "all.txt", "--tables=KIND_KERNEL")
    head, columns, *rows = open("all.txt").read().splitlines()
    columns = columns.split("\t")
    check("text", ("CUPTI_ACTIVITY_KIND_KERNEL", expected), (head, [tuple(row.split("\t")[columns.index(n)] for n in names) for row in rows]))
    export("-t", "json", "-o", "ids.json", "--separate-strings=true")
    ids = json.load(open("ids.json"))
    by_id = {row["id"]: row["value"] for row in ids["StringIds"]}
    check("--separate-strings", [row["shortName"] for row in whole["CUPTI_ACTIVITY_KIND_KERNEL"]],
          [by_id[row["shortName"]] for row in ids["CUPTI_ACTIVITY_KIND_KERNEL"]])


def mistakes():
    for arguments, word in ((["-t", "parquetdir"], "to_parquet"), (["-t", "hdf"], "arrowdir"), (["-t", "nosuch"], "sqlite, csv, json"), (["-t", "sqlit"], "sqlite"), (["--tables=a\\{"], "a\\{"),
                            (["--times=5"], "START/END"), (["--times=a/b"], "'a'"), (["--ts-shift=soon"], "soon")):
        status, said = run("export", *arguments, "-o", "no.sqlite", "mix.sqlite")
        check(f"{arguments}: status 2, one line, the word '{word}'", (2, 1, True), (status, said.count("\n"), word in said))
        check(f"{arguments}: no file", False, os.path.exists("no.sqlite"))
    os.mkdir("full")
    open("full/letter.txt", "w").close()
    status, said = run("export", "-t", "csv", "-f", "true", "-o", "full", "mix.sqlite")
    check(f"a folder with other files is not replaced: {said}", (1, ["letter.txt"]), (status, os.listdir("full")))
    check("nothing unfinished is left", [], [name for name in os.listdir(".") if "unfinished" in name])


def damage(original):
    """A report with a damaged chunk is exported without that chunk's rows; their order and the others stay."""
    if run("import", "-q", "-o", "mix.tacho", "mix.sqlite")[0] != 0:
        sys.exit("mix.sqlite cannot be imported")
    whole = open("mix.tacho", "rb").read()
    times = [start for (start,) in original.execute("SELECT start FROM OSRT_API ORDER BY rowid")]
    fewer = 0
    for at in range(2000, len(whole), len(whole) // 30):
        with open("damaged.tacho", "wb") as out:
            out.write(whole[:at] + bytes(b ^ 0x55 for b in whole[at:at + 40]) + whole[at + 40:])
        status, said = run("export", "-q", "-f", "true", "-o", "damaged.sqlite", "damaged.tacho")
        check(f"damage at {at}: {said}", 0, status)
        copy = sqlite3.connect("damaged.sqlite")
        check(f"damage at {at}: integrity", [("ok",)], copy.execute("PRAGMA integrity_check").fetchall())
        if "OSRT_API" in tables(copy):
            left = iter(times)  # "in" walks it, so that only rows in the same order are found
            check(f"damage at {at}: rows in order", True,
                  all(start in left for (start,) in copy.execute("SELECT start FROM OSRT_API ORDER BY rowid")))
        fewer += tables(copy) != tables(original) | {name for name in tables(copy) if name.startswith("TACHO_")} or any(
            copy.execute(f"SELECT count(*) FROM {t}").fetchone() < original.execute(f"SELECT count(*) FROM {t}").fetchone()
            for t in tables(original) if t not in ("META_DATA_EXPORT", "StringIds"))
    check("the damage cost some rows somewhere", True, fewer > 0)


def no_space():
    """A disk that is full from the start, or within the file: a limit on the size of files stands for it. The error names the file that was asked
    for, and nothing stays behind."""
    before = sorted(os.listdir("."))
    for kind, bytes_written in (("chrome", 0), ("chrome", 200_000), ("perfetto", 0), ("perfetto", 50_000), ("arrow", 0), ("arrow", 1_000_000), ("arrowdir", 100),
                                ("json", 50_000), ("csv", 100), ("tacho", 10_000), ("folded", 0)):
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_written, bytes_written))

        status, said = run("export", "-q", "-t", kind, "-o", "wanted", "mix.tacho", preexec_fn=limit)
        what = f"{kind} on a disk with {bytes_written} bytes"
        check(what, (1, True), (status, bool(re.fullmatch(r"tacho export: cannot write '?wanted(/\w+\.arrow)?'?: File too large; "
                                                         r"free space, or write elsewhere with -o FILE\n", said))))
        check(f"{what}: {said}", before, sorted(os.listdir(".")))


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with open("mix.sqlite", "wb") as out:
            out.write(gzip.open(f"{HERE}/nsys/mix.sqlite.gz").read())
        original = sqlite3.connect("mix.sqlite")
        selections(original)
        clocks(original)
        append()
        plain(original)
        mistakes()
        damage(original)
        no_space()
    sys.exit(failures != 0)


main()
