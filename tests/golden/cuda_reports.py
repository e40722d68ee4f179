"""Reports on CUDA that nsys has not: their rows for real captures must be those that plain SQL finds in the same captures.

nsys/NAME.sqlite.gz are exports of nsys 2025.3. cuda_stream_wait is compared with a query of SQLite, cuda_gpu_busy with a sweep
in Python."""

import csv
import gzip
import io
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile

TACHO = os.environ["TACHO"]
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "nsys")
CAPTURES = ("mix", "wait_stream", "resnet18")
failures = 0

# For each wait: the last work before its event was recorded, the first work after it, what ran before that on its stream,
# and when the call that launched it returned. Before and after go by correlation ids.
WAITS = """
WITH work AS (
    SELECT start, end, globalPid, contextId, streamId, correlationId, value AS name FROM CUPTI_ACTIVITY_KIND_KERNEL
        JOIN StringIds ON id = shortName
    UNION ALL SELECT start, end, globalPid, contextId, streamId, correlationId, '[copy]' FROM copies
    UNION ALL SELECT start, end, globalPid, contextId, streamId, correlationId, '[fill]' FROM fills),
edge AS (
    SELECT s.start AS call, s.globalPid AS pid, s.contextId AS context, s.streamId AS stream, s.correlationId AS waitId,
           e.streamId AS forStream, e.contextId AS forContext, e.correlationId AS recordId, s.deviceId AS device, s.eventId AS event
    FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION s JOIN CUPTI_ACTIVITY_KIND_CUDA_EVENT e
        ON e.eventSyncId = s.eventSyncId AND e.globalPid = s.globalPid
    WHERE s.syncType = 2 AND s.eventSyncId != 4294967295),
placed AS (
    SELECT edge.*,
        (SELECT max(end) FROM work WHERE globalPid = pid AND contextId = forContext AND streamId = forStream AND correlationId < recordId) AS forEnd,
        (SELECT min(correlationId) FROM work WHERE globalPid = pid AND contextId = context AND streamId = stream AND correlationId > waitId) AS nextId,
        (SELECT max(end) FROM work WHERE globalPid = pid AND contextId = context AND streamId = stream AND correlationId < waitId) AS before
    FROM edge),
timed AS (
    SELECT placed.*,
        (SELECT min(start) FROM work WHERE globalPid = pid AND streamId = stream AND correlationId = nextId) AS opStart,
        (SELECT max(end) FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE correlationId = nextId AND (globalTid & ~0xffffff) = pid) AS returned
    FROM placed)
SELECT CASE WHEN forEnd > max(returned, ifnull(before, 0)) AND opStart > max(returned, ifnull(before, 0))
            THEN opStart - max(returned, ifnull(before, 0)) ELSE 0 END AS held,
       call, (pid >> 24) & 0xffffff, device, stream, opStart,
       (SELECT name FROM work WHERE globalPid = pid AND streamId = stream AND correlationId = nextId AND start = opStart),
       forStream, forEnd,
       (SELECT name FROM work WHERE globalPid = pid AND streamId = forStream AND end = forEnd), opStart - forEnd, event
FROM timed ORDER BY held DESC, call"""


def tacho(*arguments):
    done = subprocess.run([TACHO, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"tacho {' '.join(arguments)}: status {done.returncode}: {done.stderr}")
    return done.stdout


def rows(report, path):
    return [tuple(row) for row in csv.reader(io.StringIO(tacho("stats", "-q", "-f", "csv", "-r", report, path)))][1:]


def check(what, expected, got):
    global failures
    if expected != got:
        failures += 1
        print(f"{what}:\n  expected {expected}\n  got      {got}")


def tables(database):
    return {name for name, in database.execute("SELECT name FROM sqlite_master")}


def stand_in(database, view, table):
    """A view of a table that the capture may not have."""
    columns = "start, end, globalPid, contextId, streamId, correlationId"
    source = table if table in tables(database) else "(SELECT 0 AS start, 0 AS end, 0 AS globalPid, 0 AS contextId, 0 AS streamId, 0 AS correlationId WHERE 0)"
    database.execute(f"CREATE TEMP VIEW {view} AS SELECT {columns} FROM {source}")


def check_waits(name, path, database):
    stand_in(database, "copies", "CUPTI_ACTIVITY_KIND_MEMCPY")
    stand_in(database, "fills", "CUPTI_ACTIVITY_KIND_MEMSET")
    expected = [tuple(str(value) for value in row) for row in database.execute(WAITS)]
    check(f"cuda_stream_wait of {name}", expected, rows("cuda_stream_wait:base", path))
    return expected


def check_busy(name, path, database):
    work = []
    for kind in ("KERNEL", "MEMCPY", "MEMSET", "GRAPH_TRACE"):
        if f"CUPTI_ACTIVITY_KIND_{kind}" in tables(database):
            work += database.execute(f"SELECT start, end FROM CUPTI_ACTIVITY_KIND_{kind}").fetchall()
    work.sort()
    until, busy, gap = work[0][0], 0, (0, 0)
    for start, end in work:
        if start > until:
            gap = max(gap, (start - until, until), key=lambda one: one[0])
        busy += max(0, end - max(start, until))
        until = max(until, end)
    span = until - work[0][0]
    expected = [(f"{100 * busy / span:.1f}", str(busy), str(span), str(len(work)), str(work[0][0]), str(until), str(gap[0]), str(gap[1]), "0", "NVIDIA H200")]
    check(f"cuda_gpu_busy of {name}", expected, rows("cuda_gpu_busy", path))


def main():
    with tempfile.TemporaryDirectory() as folder:
        for name in CAPTURES:
            path = os.path.join(folder, f"{name}.sqlite")
            with gzip.open(os.path.join(FOLDER, f"{name}.sqlite.gz")) as packed, open(path, "wb") as plain:
                shutil.copyfileobj(packed, plain)
            database = sqlite3.connect(path)
            check_busy(name, path, database)
            if name != "resnet18":
                edges = check_waits(name, path, database)
                check(f"edges of {name}", {"mix": 20, "wait_stream": 1}[name], len(edges))
                streams = {(edge[4], edge[7]) for edge in edges}  # the waiting stream and the one that it waits for
                check(f"streams of {name}", {"mix": {("14", "13")}, "wait_stream": {("13", "7")}}[name], streams)
            database.close()
    sys.exit(failures != 0)


main()
