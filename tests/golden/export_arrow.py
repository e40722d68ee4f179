"""Arrow exports, read by Apache Arrow's own reader for JavaScript: every table of nsys's SQLite export is there, with its columns and rows,
as a stream that names the table. nsys writes `arrow` as one stream behind another and `arrowdir` as a file per table."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile

from lib import HERE, check, output, run, status, unpack

WEB = os.environ["WEB"]
BATCH = 65536  # rows, in arrow_export.c


def read_all(paths):
    """The tables of each file, by name. One start of node reads all."""
    done = subprocess.run(["node", os.path.join(HERE, "arrow_rows.mjs"), *paths], stdout=subprocess.PIPE, check=True)
    files = []
    for path, tables in zip(paths, json.loads(done.stdout)):
        names = [table["metadata"]["table_name"] for table in tables]
        check(f"{path}: each table once", len(names), len(set(names)))
        files.append(dict(zip(names, tables)))
    return files


def read(path):
    return read_all([path])[0]


def cell(value):
    """A value of SQLite as arrow_rows.mjs prints it."""
    return str(value) if isinstance(value, int) else list(value) if isinstance(value, bytes) else value


def tables_of(database):
    return [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]


def compare(what, database, tables, name):
    """All rows in order. Our StringIds has every string of the report, that of a SQLite file those that a row refers to."""
    columns = [column[1] for column in database.execute(f'PRAGMA table_info("{name}")')]
    expected = [[cell(value) for value in row] for row in database.execute(f'SELECT * FROM "{name}" ORDER BY rowid')]
    check(f"{what}: {name}: columns", columns, [column["name"] for column in tables[name]["columns"]])
    got = tables[name]["rows"]
    if name == "StringIds":
        known = {tuple(row) for row in expected}
        got = [row for row in got if tuple(row) in known]
        got.sort(key=lambda row: int(row[0]))
    check(f"{what}: {name}: {len(expected)} rows", True, expected == got)


def whole(name):
    """Against our SQLite export, which golden/export_chain compares with nsys's own."""
    output("export", "-q", "-o", "all.sqlite", "-f", "true", name)
    output("export", "-q", "-t", "arrow", "-o", "all.arrows", name)
    database, tables = sqlite3.connect("all.sqlite"), read("all.arrows")
    check(f"{name}: tables", sorted(tables_of(database)), sorted(tables))
    check(f"{name}: StringIds comes first", "StringIds", next(iter(tables)))
    for table in tables_of(database):
        compare(name, database, tables, table)
    output("export", "-q", "-t", "arrowdir", "-o", "folder", name)
    check(f"{name}: files", sorted(f"{table}.arrow" for table in tables), sorted(os.listdir("folder")))
    for table, own in zip(tables, read_all([f"folder/{table}.arrow" for table in tables])):
        check(f"{name}: {table}.arrow", {table: tables[table]}, own)
    check(f"{name}: a folder is replaced", 0, run("export", "-q", "-f", "true", "-t", "arrowdir", "-o", "folder", name)[0])
    check(f"{name}: a folder is not replaced unasked", 1, run("export", "-q", "-t", "arrowdir", "-o", "folder", name)[0])
    os.remove("all.arrows")
    shutil.rmtree("folder")


def original():
    """Against nsys's own file: the kernels of mix.sqlite, all values as nsys wrote them."""
    nsys, tables = sqlite3.connect("mix.sqlite"), read_export("mix.sqlite")
    strings = {row[0]: row[1] for row in tables["StringIds"]["rows"]}
    columns = [column["name"] for column in tables["CUPTI_ACTIVITY_KIND_KERNEL"]["columns"]]
    names = columns.index("demangledName")
    expected = nsys.execute(f'SELECT {", ".join(columns)}, (SELECT value FROM StringIds WHERE id = demangledName) '
                            "FROM CUPTI_ACTIVITY_KIND_KERNEL ORDER BY rowid").fetchall()
    got = [row + [strings[row[names]]] for row in tables["CUPTI_ACTIVITY_KIND_KERNEL"]["rows"]]
    ids = {i for i, column in enumerate(columns) if column.endswith("Name")}  # ids of strings are each file's own
    blank = lambda row: [None if i in ids else cell(value) for i, value in enumerate(row)]
    check("kernels as nsys has them", [blank(row) for row in expected], [blank(row) for row in got])


def read_export(name, *options):
    output("export", "-q", "-t", "arrow", "-f", "true", "-o", "some.arrows", *options, name)
    return read("some.arrows")


def parts():
    """Options that select: tables, times, and tables without rows."""
    tables = read_export("mix.sqlite", "--tables=KIND_KERNEL")
    check("--tables", ["CUPTI_ACTIVITY_KIND_KERNEL"], list(tables))
    kernels = tables["CUPTI_ACTIVITY_KIND_KERNEL"]
    check("the table's note", True, bool(kernels["metadata"]["table_desc"]))
    check("the column's note", True, bool(kernels["columns"][0]["note"]))
    check("types", {"Int64"}, {column["type"] for column in kernels["columns"]})
    start = sorted(int(row[0]) for row in kernels["rows"])[len(kernels["rows"]) // 2]
    late = read_export("mix.sqlite", "--tables=KIND_KERNEL", f"--times={start}/")["CUPTI_ACTIVITY_KIND_KERNEL"]["rows"]
    check("--times", [row for row in kernels["rows"] if int(row[1]) >= start], late)
    empty = read_export("mix.sqlite", "--lazy=false")
    check("--lazy=false", ([], 1), (empty["MPI_P2P_EVENTS"]["rows"], empty["MPI_P2P_EVENTS"]["batches"]))
    check("columns of an empty table", True, "start" in [column["name"] for column in empty["MPI_P2P_EVENTS"]["columns"]])


def long_table():
    """More rows than a batch has, NULLs at the ends of batches, and texts that are no UTF-8."""
    rows = 2 * BATCH + 3
    shutil.copy("mix.sqlite", "long.sqlite")
    database = sqlite3.connect("long.sqlite")
    database.execute("DELETE FROM NVTX_EVENTS")
    nulls = {0, 7, 8, BATCH - 1, BATCH, rows - 1}
    database.executemany("INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid) VALUES (?, ?, 59, ?, 1)",
                         ((i, None if i in nulls else i + 1, None if i in nulls else f"range {i % 5} µ") for i in range(rows)))
    database.execute("UPDATE NVTX_EVENTS SET text = CAST(x'61ff62' AS TEXT) WHERE start = 1")
    database.commit()
    table = read_export("long.sqlite", "--tables=^NVTX_EVENTS$")["NVTX_EVENTS"]
    names = [column["name"] for column in table["columns"]]
    start, end, text = (names.index(name) for name in ("start", "end", "text"))
    got = [(row[start], row[end], row[text]) for row in table["rows"]]
    texts = lambda i: None if i in nulls else "a\N{REPLACEMENT CHARACTER}b" if i == 1 else f"range {i % 5} µ"
    expected = [(str(i), None if i in nulls else str(i + 1), texts(i)) for i in range(rows)]
    check("batches", 3, table["batches"])
    check("a long table", True, expected == got)


def main():
    if not shutil.which("node") or not os.path.isdir(os.path.join(WEB, "node_modules", "apache-arrow")):
        print("skipped: node and npm's package apache-arrow are not installed")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        for name in ("mix", "resnet18"):
            unpack(os.path.join(HERE, "nsys", f"{name}.sqlite.gz"), os.path.join(folder, f"{name}.sqlite"))
        os.chdir(folder)
        for name in ("mix.sqlite", "resnet18.sqlite"):
            whole(name)
        original()
        parts()
        long_table()
    return status()


sys.exit(main())
