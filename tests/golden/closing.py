"""The closing sentences of programs on CPUs of which the cause is known: captures that tests/golden/closing/record made on a machine with nothing
else to do. Each program says in its first lines what is wrong with it; lines are found by their text."""
import os
import re

import lib

FOLDER = os.path.join(lib.HERE, "closing")
HEADINGS = "where the wall time went", "what to change first; each saves its time at most", "causes, by time; they may overlap"


def line_of(file, text):
    with open(os.path.join(FOLDER, file), encoding="utf-8") as source:
        return next(number for number, line in enumerate(source, 1) if text in line)


def sections(lines):
    """The rows below each of the headings, on one line each."""
    found, rows = {}, None
    for line in lines:
        if line.startswith("  ") and not line.startswith("   "):
            rows = found.setdefault(line.strip(), []) if line.strip() in HEADINGS else None
        elif rows is not None:
            rows.append(line.strip())
    return found


WALL, CHANGE, CAUSES = HEADINGS
# The captures, and what the first row has to begin with, or to contain, below a heading.
TRUTHS = (
    (["frames"], {WALL: f"frames.py:{line_of('frames.py', 'axis=1')} add_totals: DataFrame.apply", CHANGE: "pandas calls a Python function for each row"}),
    (["loader"], {WALL: f"loader.py:{line_of('loader.py', 'values = [')} Digits.__getitem__", CHANGE: "batches are loaded while the training waits"}),
    (["pytest"], {WALL: f"test_orders.py:{line_of('test_orders.py', 'time.sleep')} service sleeps", CHANGE: "the program sleeps"}),
    (["nbody"], {WALL: f"nbody.c:{line_of('nbody.c', 'sum += 1')}", CAUSES: "OpenMP region in add_forces (nbody.c:"}),
    (["ring-0", "ring-1"], {CAUSES: "MPI rank 1 is waited for: rank 0 waited"}),
    (["make"], {WALL: "[cc1 -quiet"}),
    (["lock"], {WALL: f"lock.py:{line_of('lock.py', 'time.sleep')} ask sleeps", CHANGE: "the program sleeps"}),
    (["redis"], {WALL: "[redis-server "}),
)

for names, expected in TRUTHS:
    found = sections(lib.summary(*(os.path.join(FOLDER, f"{name}.tacho") for name in names)).splitlines())
    for heading, text in expected.items():
        rows = found.get(heading, [""])
        lib.check(f"{names[0]}, {heading}: {rows[0]}", True, text in rows[0])
make = lib.summary(os.path.join(FOLDER, "make.tacho"))
lib.check("make: the file that takes long", True, re.search(r"^ +9\d\.\d %.*\[cc1 .*tables\.c", make, re.M) is not None)
raise SystemExit(lib.status())
