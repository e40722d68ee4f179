"""What the golden tests share: run tacho, compare and count what differs, read a terminal, and traces of PyTorch as they are."""

import gzip
import json
import os
import sqlite3
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from decimal import Decimal

TACHO = os.environ["TACHO"]
HERE = os.path.dirname(os.path.abspath(__file__))
KINETO = os.path.join(HERE, "kineto")
PATIENCE = int(os.environ.get("PATIENCE", "60"))  # the one limit of waits, in seconds: tests/CMakeLists.txt
SIX_STEPS = (7276023678, 7292563162)  # of nsys/mnist_like
LONGEST = 2000  # characters of a value that differs
failures = 0


def check(what, expected, got):
    global failures
    if expected != got:
        failures += 1
        print(f"{what}:\n  expected {str(expected)[:LONGEST]}\n  got      {str(got)[:LONGEST]}")


def status():
    """What a test exits with."""
    return 1 if failures else 0


def run(*arguments):
    """Exit status, what was said, what was printed."""
    done = subprocess.run([TACHO, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE)
    return done.returncode, done.stderr.decode(errors="replace"), done.stdout.decode(errors="replace")


def output(*arguments, status=0):
    """What was printed by a command that must end so."""
    got, said, out = run(*arguments)
    check(f"status of {' '.join(arguments)}: {said}", status, got)
    return out


def job_files(folder):
    """A folder of six reports made of nsys's files, each file twice, with calls of MPI that differ; a range that never ends is in one of them.
    Returns the nsys files, in a folder beside it."""
    os.mkdir(folder)
    os.mkdir(folder + "-nsys")
    for number, name in enumerate(("mix", "resnet18", "wait_stream") * 2):
        path = f"{folder}-nsys/{name}{number}.sqlite"
        with open(path, "wb") as out:
            out.write(gzip.open(f"{HERE}/nsys/{name}.sqlite.gz").read())
        database = sqlite3.connect(path)
        thread, start = database.execute("SELECT globalTid, min(start) FROM CUPTI_ACTIVITY_KIND_RUNTIME").fetchone()
        database.execute("INSERT INTO StringIds SELECT max(id) + 1, 'MPI_Allreduce' FROM StringIds")
        text, = database.execute("SELECT max(id) FROM StringIds").fetchone()
        database.execute("CREATE TABLE MPI_COLLECTIVES_EVENTS (start INTEGER, end INTEGER, globalTid INTEGER, textId INTEGER, commHandle INTEGER, rootRank INTEGER, size INTEGER, recvSize INTEGER)")
        database.executemany("INSERT INTO MPI_COLLECTIVES_EVENTS VALUES (?, ?, ?, ?, 0, NULL, ?, NULL)",
                             [(start + i * 1000, start + i * 1000 + 100 + (i * 7919 + number) % 523, thread, text, 8 * (i % 5)) for i in range(200)])
        if number == 4:
            database.execute("INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid) VALUES (?, NULL, 59, 'open', ?)", (start, thread))
        database.commit()
        database.close()
        output("import", "-q", "-o", f"{folder}/{name}{number}.tacho", path)
    return folder + "-nsys"


def take_over(path):
    """A foreign file as it looks after an import and an export."""
    output("import", "-q", "-f", "true", "-o", "in.tacho", path)
    output("export", "-q", "-f", "true", "-o", "out.sqlite", "in.tacho")
    return sqlite3.connect("out.sqlite")


def table(report, file, *options):
    """A report's rows as objects."""
    return json.loads(output("stats", "-q", "-f", "json", "-r", report, *options, file))


def refusal(*arguments):
    """What a command that fails says: one sentence."""
    got, said, _ = run(*arguments)
    check(f"{' '.join(arguments)} fails with a sentence", (True, 1), (got in (1, 2), said.count("\n")))
    return said


def read_terminal(leader):
    """All that is written to a terminal until its other side is closed."""
    text = b""
    while True:
        try:
            piece = os.read(leader, 65536)
        except OSError:
            break
        if not piece:
            break
        text += piece
    os.close(leader)
    return text


def unpack(path, into):
    with gzip.open(path) as packed, open(into, "wb") as out:
        out.write(packed.read())


def unpack_mnist_like(into, part=None):
    """The largest capture of nsys, a training run; `part`: of its events only those that begin from one moment to another, ns."""
    unpack(f"{HERE}/nsys/mnist_like.sqlite.gz", into)
    if part:
        database = sqlite3.connect(into)
        for name, in database.execute("SELECT m.name FROM sqlite_master m, pragma_table_info(m.name) p WHERE p.name = 'start'").fetchall():
            database.execute(f"DELETE FROM {name} WHERE start NOT BETWEEN ? AND ?", part)
        database.commit()
        database.close()


def trace_events(path):
    """The events of a trace, with exact times."""
    with (gzip.open(path, "rt") if path.endswith(".gz") else open(path)) as file:
        return json.load(file, parse_float=Decimal)["traceEvents"]


def ns(microseconds):
    return int(Decimal(microseconds) * 1000)


def trace_span(event):
    """Begin and end, ns."""
    return ns(event["ts"]), ns(event["ts"]) + ns(event["dur"])


# ---- the timeline ----

class Timeline:
    """`tacho view` of a file, asked for what docs/view-api.md lists."""

    def __init__(self, file):
        self.process = subprocess.Popen([TACHO, "view", "--no-browser", file], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.address = next((line.strip() for line in self.process.stdout if "?token=" in line), None)
        if not self.address:
            raise SystemExit(f"tacho view {file} printed no address")
        self.base, self.token = self.address.split("?token=")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        check("the server ends well", 0, self.process.wait())
        self.process.stdout.close()

    def answer(self, request, body=None, **arguments):
        """Status and what was answered."""
        address = f"{self.base}api/{request}" + (f"?{urllib.parse.urlencode(arguments)}" if arguments else "")
        asked = urllib.request.Request(address, data=body.encode() if body else None, headers={"X-Tacho-Token": self.token})
        try:
            with urllib.request.urlopen(asked, timeout=PATIENCE) as answered:
                return answered.status, json.loads(answered.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    def ask(self, request, body=None, **arguments):
        status, answered = self.answer(request, body, **arguments)
        check(f"status of {request} {arguments} {body or ''}: {answered if status != 200 else ''}", 200, status)
        return answered


# ---- reports that are made here ----

class Made:
    """A SQLite file as nsys exports one, filled row by row: add("OSRT_API", start=1, end=2, nameId=made.text("poll"))."""

    def __init__(self, path):
        if os.path.exists(path):
            os.unlink(path)
        self.path, self.rows, self.texts = path, {}, {"": 0}

    def text(self, value):
        return self.texts.setdefault(value, len(self.texts))

    def add(self, table, **columns):
        self.rows.setdefault(table, []).append(columns)

    def write(self):
        database = sqlite3.connect(self.path)
        self.rows["StringIds"] = [{"id": number, "value": value} for value, number in self.texts.items()]
        for table, rows in self.rows.items():
            names = list({name: None for row in rows for name in row})
            database.execute('CREATE TABLE {} ("{}")'.format(table, '", "'.join(names)))
            database.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(names))})", [[row.get(name) for name in names] for row in rows])
        database.commit()
        database.close()
        return self.path
