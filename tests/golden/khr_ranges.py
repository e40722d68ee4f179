"""The two reports on OpenGL's KHR_debug ranges, against SQL on a table like nsys's.

nsys asks for ranges by ENUM_NSYS_EVENT_TYPE: 62 is a range of the CPU, 63 one of the GPU; 4 and 5 are OpenGL's own events in another
enum. A range that was open at the end counts up to the last moment of the table, and one without a text has its id for a name."""

import os
import sqlite3
import sys
import tempfile

import lib
from lib import Made, check, table

SUMMARY = """
WITH lasts AS (SELECT max(start) AS moment FROM KHR_DEBUG_EVENTS UNION ALL SELECT max(end) FROM KHR_DEBUG_EVENTS),
     ranges AS (SELECT coalesce(value, KHR_DEBUG_EVENTS.id) AS name, coalesce(end, (SELECT max(moment) FROM lasts)) - start AS duration
                FROM KHR_DEBUG_EVENTS LEFT JOIN StringIds ON StringIds.id = textId WHERE eventClass = ?)
SELECT sum(duration), count(*), min(duration), max(duration), name FROM ranges GROUP BY name ORDER BY 1 DESC"""
COLUMNS = ["Total Time (ns)", "Instances", "Min (ns)", "Max (ns)", "Range"]


def main():
    made = Made("khr.sqlite")
    add = lambda event_class, start, end, text=None, number=None: made.add(
        "KHR_DEBUG_EVENTS", eventClass=event_class, start=start, end=end, textId=text and made.text(text), globalTid=1 << 48 | 5 << 24 | 6, id=number)
    for start, end in (0, 100), (300, 350), (400, None):
        add(62, start, end, "frame", 1)
    add(62, 10, 40, "shadows")
    add(62, 50, 61, None, 7)
    add(62, 70, None, None, 7)
    add(62, 80, 85, None, 2)     # an id that is also the id of a text
    add(63, 1000, 1600, "frame")
    add(63, 1700, None, None, 9)
    add(4, 0, 77, "marker")      # of ENUM_NSYS_EVENT_CLASS: not a range
    add(5, 0, 5000, "workload")  # the last moment, all the same
    database = sqlite3.connect(made.write())
    for report, event_type in ("opengl_khr_range_sum", 62), ("opengl_khr_gpu_range_sum", 63):
        expected = [(*row[:4], str(row[4])) for row in database.execute(SUMMARY, (event_type,))]
        check(report, expected, [tuple(row[name] for name in COLUMNS) for row in table(report, "khr.sqlite")])
    labels = sqlite3.connect("exported.sqlite") if lib.output("export", "-q", "-o", "exported.sqlite", "khr.sqlite") == "" else None
    check("the enum that says so", [("KhrDebugPushPopRange",), ("KhrDebugGpuPushPopRange",)],
          labels.execute("SELECT name FROM ENUM_NSYS_EVENT_TYPE WHERE id IN (62, 63) ORDER BY id").fetchall())


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    main()
sys.exit(lib.status())
