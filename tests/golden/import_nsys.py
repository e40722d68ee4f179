"""Imports of SQLite files that are not as nsys would write them today: old ones, other people's, hostile and damaged ones.
What can be taken over is, what cannot is said, and nothing crashes. IMPORT_MUTATIONS=N asks for more mutated files."""

import gzip
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile

import lib
from lib import HERE, check, run, take_over

MUTATIONS = int(os.environ.get("IMPORT_MUTATIONS", "60"))


def make(path, *statements):
    if os.path.exists(path):
        os.unlink(path)
    database = sqlite3.connect(path)
    for statement in statements:
        database.execute(statement)
    database.commit()
    database.close()


def notes(database):
    if not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'TACHO_IMPORT'").fetchone():
        return []
    return sorted(database.execute("SELECT tableName, columnName, reason, count FROM TACHO_IMPORT"), key=str)


RUNTIME = "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, eventClass, globalTid, correlationId, nameId, returnValue)"
STRINGS = "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)"


def unknown_things():
    make("unknown.sqlite", STRINGS, "INSERT INTO StringIds VALUES (7, 'cudaMalloc')", RUNTIME,
         "ALTER TABLE CUPTI_ACTIVITY_KIND_RUNTIME ADD COLUMN mine", "CREATE TABLE theirs (a)", "CREATE VIEW PROCESSES AS SELECT 1 AS pid",
         "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 2, 0, 3, 4, 7, 0, 'lost')",
         "CREATE TABLE ENUM_CUDA_MEM_KIND (id INTEGER PRIMARY KEY, name TEXT, label TEXT)",
         "INSERT INTO ENUM_CUDA_MEM_KIND VALUES (1, 'CUDA_MEMOPR_MEMORY_KIND_PINNED', 'Pinned'), (99, 'NEW', 'New kind')")
    got = take_over("unknown.sqlite")
    check("unknown things are listed", [("CUPTI_ACTIVITY_KIND_RUNTIME", "mine", "unknown-column", None), ("theirs", None, "unknown-table", None)], notes(got))
    check("known columns are there", [(1, 2, "cudaMalloc", None)],
          got.execute("SELECT start, end, value, callchainId FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds ON id = nameId").fetchall())
    check("a view is not a table", None, got.execute("SELECT 1 FROM sqlite_master WHERE name = 'PROCESSES'").fetchone())
    check("a new value of an enum is kept", [("Pinned",), ("New kind",)], got.execute("SELECT label FROM ENUM_CUDA_MEM_KIND WHERE id IN (1, 99)").fetchall())
    info = run("info", "in.tacho")[2]
    check("info names what was left out", True, "theirs  unknown-table" in info and "CUPTI_ACTIVITY_KIND_RUNTIME.mine  unknown-column" in info)
    said = run("import", "-f", "true", "-o", "in.tacho", "unknown.sqlite")[1]
    check("import says so too", 2, said.count("skipped"))


def wrong_values():
    make("wrong.sqlite", STRINGS, "INSERT INTO StringIds VALUES (1, 'f')", RUNTIME,
         "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (10, 9223372036854775807, 0, 5, 6, 1, 0)",
         "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES ('11', 9223372036854775808, 'x', 5.0, 6.5, 2, x'00')",
         "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (-9223372036854775807 - 1, NULL, '12 ', '-3', -1e300, '1', '')",
         "CREATE TABLE PROCESSES (globalPid, pid, name)", "INSERT INTO PROCESSES VALUES (1, 2, 345), (1, 2, 4.5), (1, 2, x'414243'), (1, 2, NULL)")
    got = take_over("wrong.sqlite")
    check("values that can be converted are, others are NULL",
          [(10, 2**63 - 1, 0, 5, 6, "f", 0), (11, None, None, 5, None, None, None), (-(2**63), None, None, -3, None, "f", None)],
          got.execute("SELECT start, end, eventClass, globalTid, correlationId, value, returnValue FROM CUPTI_ACTIVITY_KIND_RUNTIME"
                      " LEFT JOIN StringIds ON id = nameId ORDER BY CUPTI_ACTIVITY_KIND_RUNTIME.rowid").fetchall())
    table = "CUPTI_ACTIVITY_KIND_RUNTIME"
    check("and counted", [(table, "correlationId", "wrong-type", 2), (table, "end", "wrong-type", 1), (table, "eventClass", "wrong-type", 2),
                          (table, "nameId", "no-such-string", 1), (table, "returnValue", "wrong-type", 2)], notes(got))
    check("a number is text where text is asked for", [("345",), ("4.5",), ("ABC",), (None,)], got.execute("SELECT name FROM PROCESSES").fetchall())


def odd_ids():
    make("ids.sqlite", "CREATE TABLE StringIds (id, value)", "INSERT INTO StringIds VALUES (9223372036854775807, 'far'), (-5, 'below'), (3, 'near')",
         "CREATE TABLE ThreadNames (nameId, priority, globalTid)",
         "INSERT INTO ThreadNames VALUES (9223372036854775807, 1, 1), (-5, 2, 2), (3, 3, 3), (4, 4, 4)")
    got = take_over("ids.sqlite")
    check("ids of any size", [("far",), ("below",), ("near",), (None,)],
          got.execute("SELECT value FROM ThreadNames LEFT JOIN StringIds ON id = nameId ORDER BY priority").fetchall())


def many_rows():
    """Enough for several readers: rows stay in order, gaps in the rowids included; a column called rowid changes nothing."""
    for name, extra in (("many", ""), ("own-rowid", ", rowid")):
        make(f"{name}.sqlite", f"CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT{extra})",
             f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 150000)"
             f" INSERT INTO PROCESSES SELECT i * 3, i, 'process ' || (i % 1000) || 'with a longer name'{', 7' if extra else ''} FROM n",
             "DELETE FROM PROCESSES WHERE pid BETWEEN 40000 AND 60000")
        got = take_over(f"{name}.sqlite")
        expected = sqlite3.connect(f"{name}.sqlite").execute("SELECT globalPid, pid, name FROM PROCESSES").fetchall()
        check(f"{name}: all rows in order", True, expected == got.execute("SELECT globalPid, pid, name FROM PROCESSES").fetchall())


def wal():
    """A writer that was killed leaves a journal with rows in it."""
    make("wal.sqlite", "CREATE TABLE PROCESSES (globalPid, pid, name)")
    program = ("import sqlite3, os; c = sqlite3.connect('wal.sqlite'); c.execute('PRAGMA journal_mode = WAL');"
               "c.execute(\"INSERT INTO PROCESSES VALUES (1, 2, 'in the journal')\"); c.commit(); os._exit(0)")
    subprocess.run([sys.executable, "-c", program], check=True)
    check("there is a journal", True, os.path.getsize("wal.sqlite-wal") > 0)
    shutil.copytree(".", "../sealed", ignore=lambda _, names: [n for n in names if not n.startswith("wal.sqlite")])
    got = take_over("wal.sqlite")
    check("rows of the journal", [("in the journal",)], got.execute("SELECT name FROM PROCESSES").fetchall())
    os.chmod("../sealed", 0o555)
    status, said, _ = run("import", "-f", "true", "-o", "in.tacho", "../sealed/wal.sqlite")
    os.chmod("../sealed", 0o755)
    check(f"in a folder that cannot be written to: {said}", 0, status)


def not_exports():
    whole = gzip.open(f"{HERE}/nsys/wait_stream.sqlite.gz").read()
    make("other.sqlite", "CREATE TABLE recipes (a, b)")
    files = {"text.sqlite": b"SQLite format 3 it is not\n", "empty.sqlite": b"", "header.sqlite": whole[:100]}
    for name, content in files.items():
        with open(name, "wb") as out:
            out.write(content)
    for name in [*files, "other.sqlite", "nowhere.sqlite"]:
        status, said, _ = run("import", "-o", "none.tacho", name)
        check(f"{name}: status, lines, file", (1, 1, False), (status, said.count("\n"), os.path.exists("none.tacho")))
        check(f"{name}: the sentence names the file", True, name in said)
    with open("cut.sqlite", "wb") as out:
        out.write(whole[: len(whole) // 2])
    status, said, _ = run("import", "-f", "true", "-o", "cut.tacho", "cut.sqlite")
    check("a file cut in half: what is there, and a word about the rest", (0, True), (status, "damaged" in said))
    with open("events.json", "w", encoding="ascii") as out:
        out.write('{"traceEvents":[{"ph":"X","name":')
    before = open("cut.tacho", "rb").read()
    status, _, _ = run("import", "-f", "true", "-o", "cut.tacho", "events.json")
    check("a report that could not be written over is as it was", (1, True, False),
          (status, os.path.exists("cut.tacho") and open("cut.tacho", "rb").read() == before, os.path.exists("cut.tacho.importing")))
    status, _, _ = run("import", "-f", "true", "-o", "cut.tacho", "cut.sqlite")
    check("and is written over by one that can", (0, False), (status, os.path.exists("cut.tacho.importing")))


def old_file():
    old = lib.OldCapture("old.sqlite").write()
    got, theirs = take_over(old), sqlite3.connect(old)
    for table, text in (("CUPTI_ACTIVITY_KIND_KERNEL", "shortName"), ("CUPTI_ACTIVITY_KIND_RUNTIME", "nameId"), ("NVTX_EVENTS", "textId")):
        own = ", t.text" if text == "textId" else ""
        query = f"SELECT t.start, t.end, s.value{own} FROM {table} t LEFT JOIN StringIds s ON s.id = t.{text} ORDER BY t.rowid"
        check(f"old file: {table}", theirs.execute(query).fetchall(), got.execute(query).fetchall())
    check("old file: a table that has another name now", [(7, 1, 7)], got.execute("SELECT nullStreamId, contextId, processId FROM TARGET_INFO_CUDA_CONTEXT_INFO").fetchall())
    check("old file: DLProf's table", [("1", "PyTorch 1.13.1")], got.execute("SELECT gpuCount, framework FROM SystemInfo").fetchall())
    check("old file: what was left out", [("CUPTI_ACTIVITY_KIND_KERNEL", "kernel_name", "unknown-column", None), ("CUPTI_ACTIVITY_KIND_KERNEL", "long_kernel_name", "unknown-column", None),
                                          ("CUPTI_ACTIVITY_KIND_RUNTIME", "cuda_name", "unknown-column", None), ("CUPTI_ACTIVITY_KIND_RUNTIME", "kernel_name", "unknown-column", None)],
          notes(got))


def mutations():
    """Changed bytes, pages swapped, ends cut: the import ends with 0 or 1, and what it wrote can be read."""
    whole = gzip.open(f"{HERE}/nsys/wait_stream.sqlite.gz").read()
    source = random.Random(3)
    for number in range(MUTATIONS):
        data = bytearray(whole)
        kind = number % 4
        for _ in range(source.choice((1, 5, 50, 500))):
            at = source.randrange(len(data))
            page = at // 4096 * 4096
            if kind == 0:
                data[at] = source.randrange(256)
            elif kind == 1:  # where pages keep their counts and pointers
                data[page + source.randrange(16)] = source.randrange(256)
            elif kind == 2:
                other = source.randrange(len(data) // 4096) * 4096
                data[page:page + 4096], data[other:other + 4096] = data[other:other + 4096], data[page:page + 4096]
            else:
                data[at:at + 8] = source.choice((b"\xff" * 8, b"\0" * 8, b"\x81" * 8))[: len(data) - at]
        if number % 7 == 0:
            data = data[: source.randrange(len(data))]
        with open("mutated.sqlite", "wb") as out:
            out.write(data)
        for leftover in ("mutated.tacho", "mutated.out.sqlite"):
            if os.path.exists(leftover):
                os.unlink(leftover)
        status, said, _ = run("import", "-o", "mutated.tacho", "mutated.sqlite")
        if status not in (0, 1) or (status == 1 and said.count("\n") != 1):
            check(f"mutation {number}: {said}", "0 or 1", status)
        elif status == 0:
            status, said, _ = run("export", "-o", "mutated.out.sqlite", "mutated.tacho")
            check(f"mutation {number}, exported: {said}", 0, status)
            check(f"mutation {number}, integrity", [("ok",)], sqlite3.connect("mutated.out.sqlite").execute("PRAGMA integrity_check").fetchall())


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(f"{folder}/work")
        os.chdir(f"{folder}/work")
        for test in (unknown_things, wrong_values, odd_ids, many_rows, wal, not_exports, old_file, mutations):
            test()
    sys.exit(lib.status())


main()
