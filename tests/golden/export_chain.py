"""An nsys export, imported, exported and imported again: every table that nsys wrote is there with the same columns, types,
keys and enums, and with the same rows in the same order."""

import gzip
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile

TACHO = os.environ["TACHO"]
HERE = os.path.dirname(os.path.abspath(__file__))
# Ids of strings that nsys's own notes do not call so.
STRINGS = {("GENERIC_EVENT_TYPE_FIELDS", "fieldNameId"), ("CUDA_UM_CPU_PAGE_FAULT_EVENTS", "sourceFile"), ("NVTX_EVENTS", "jsonTextId")}
failures = 0


def check(what, expected, got):
    global failures
    if expected != got:
        failures += 1
        print(f"{what}:\n  expected {str(expected)[:600]}\n  got      {str(got)[:600]}")


def tacho(*arguments):
    done = subprocess.run([TACHO, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        sys.exit(f"tacho {' '.join(arguments)}: status {done.returncode}: {done.stderr.decode()}")
    return done.stderr.decode()


def tables(database):
    return [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]


def shape(database, table):
    return [(name, kind, not_null, key) for _, name, kind, not_null, _, key in database.execute(f'PRAGMA table_info("{table}")')]


def string_columns(original, table):
    sql = original.execute("SELECT sql FROM sqlite_master WHERE name = ?", (table,)).fetchone()[0]
    named = set(re.findall(r"^\s+(\w+)\s+INTEGER.*-- REFERENCES StringIds", sql, re.M))
    return named | {column for where, column in STRINGS if where == table}


def rows(database, table, columns, strings):
    """All rows, with texts in place of ids."""
    parts = [f'(SELECT value FROM StringIds WHERE id = "{c}")' if c in strings else f'"{c}"' for c in columns]
    return database.execute(f'SELECT {", ".join(parts)} FROM "{table}" ORDER BY rowid')


def compare_rows(what, table, original, copy, columns):
    strings = string_columns(original, table)
    theirs, ours = rows(original, table, columns, strings), rows(copy, table, columns, strings)
    count = 0
    for expected in theirs:
        got = ours.fetchone()
        if expected != got:
            check(f"{what}: row {count} of {table}", expected, got)
            return count
        count += 1
    check(f"{what}: rows of {table} behind the last", None, ours.fetchone())
    return count


def compare(what, original_path, copy_path):
    original, copy = sqlite3.connect(original_path), sqlite3.connect(copy_path)
    check(f"{what}: integrity", [("ok",)], copy.execute("PRAGMA integrity_check").fetchall())
    check(f"{what}: tables", sorted(tables(original)), sorted(t for t in tables(copy) if not t.startswith("TACHO_")))
    count = 0
    for table in set(tables(original)) & set(tables(copy)):
        check(f"{what}: columns of {table}", shape(original, table), shape(copy, table))
        if table not in ("StringIds", "META_DATA_EXPORT"):
            count += compare_rows(what, table, original, copy, [c[0] for c in shape(original, table)])
    version = "SELECT * FROM META_DATA_EXPORT WHERE name LIKE 'EXPORT_SCHEMA_VERSION%'"
    check(f"{what}: version", original.execute(version).fetchall(), copy.execute(version).fetchall())
    return count


def chain(name, path):
    said = tacho("import", "-o", f"{name}.tacho", path)
    check(f"{name}: what import says", "", said)
    tacho("export", "-q", "-o", f"{name}.1.sqlite", f"{name}.tacho")
    tacho("import", "-q", "-o", f"{name}.1.tacho", f"{name}.1.sqlite")
    tacho("export", "-q", "-o", f"{name}.2.sqlite", f"{name}.1.tacho")
    counts = [compare(f"{name}, export {i}", path, f"{name}.{i}.sqlite") for i in (1, 2)]
    print(f"{name}: {counts[0]} rows equal")
    if counts[0] < 500:
        sys.exit(f"{name}: too few rows to be a test")


def full_schema():
    """--lazy=false gives every table and enum of nsys's schema, with its columns. nsys/full_schema.json.gz has them as nsys 2025.3 exports them
    with that option: {table: {"columns": [[name, type, is not null, place in the key]], "rows": those of an enum}}."""
    tacho("export", "-q", "--lazy=false", "-o", "full.sqlite", "wait_stream.tacho")
    theirs, ours = json.loads(gzip.open(f"{HERE}/nsys/full_schema.json.gz").read()), sqlite3.connect("full.sqlite")
    check("full schema: tables", sorted(theirs), sorted(t for t in tables(ours) if not t.startswith("TACHO_") and t != "SystemInfo"))  # which is DLProf's
    for table, expected in theirs.items():
        check(f"full schema: columns of {table}", expected["columns"], [list(column) for column in shape(ours, table)])
        if table.startswith("ENUM_"):
            check(f"full schema: {table}", expected["rows"], [list(row) for row in ours.execute(f"SELECT * FROM {table}")])


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name in ("mix", "resnet18", "wait_stream", "mnist_like"):
            with open(f"{name}.sqlite", "wb") as out:
                out.write(gzip.open(f"{HERE}/nsys/{name}.sqlite.gz").read())
            chain(name, f"{name}.sqlite")
        full_schema()
    sys.exit(failures != 0)


main()
