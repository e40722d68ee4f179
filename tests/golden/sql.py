"""`tacho sql` gives the rows that sqlite3 gives: over every table of the captures of nsys, joins and aggregates included."""

import csv
import fcntl
import gzip
import io
import json
import os
import pty
import random
import re
import select
import sqlite3
import subprocess
import sys
import tempfile
import termios
import time

from lib import read_terminal

TACHO = os.environ["TACHO"]
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "nsys")
failures = 0

# Names of rows are looked up, since an import numbers its strings anew.
QUERIES = [
    "SELECT count(*), sum(end - start), min(start), max(end) FROM OSRT_API",
    "SELECT value, count(*), sum(end - start), avg(end - start) FROM OSRT_API JOIN StringIds ON id = nameId GROUP BY value ORDER BY 3 DESC, 1",
    "SELECT start, end FROM OSRT_API WHERE start BETWEEN 300000000 AND 700000000 ORDER BY 1, 2",
    "SELECT count(*) FROM OSRT_API WHERE nameId = (SELECT id FROM StringIds WHERE value = 'poll')",
    "SELECT eventType, count(*), count(end), count(text), count(textId) FROM NVTX_EVENTS GROUP BY 1 ORDER BY 1",
    "SELECT coalesce(text, value), eventType, start FROM NVTX_EVENTS LEFT JOIN StringIds ON id = textId ORDER BY start, 1, 2",
    "SELECT e.label, count(*) FROM NVTX_EVENTS n JOIN ENUM_NSYS_EVENT_TYPE e ON e.id = n.eventType GROUP BY 1 ORDER BY 1",
    "SELECT s.value, p.value FROM ThreadNames t JOIN StringIds s ON s.id = t.nameId LEFT JOIN StringIds p ON p.id = 0 - s.id ORDER BY 1",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5) SELECT i, (SELECT count(*) FROM NVTX_EVENTS WHERE eventType = 58 + i) FROM n",
    "SELECT start, row_number() OVER (ORDER BY start DESC, end) FROM OSRT_API ORDER BY 2 LIMIT 20",
]
CUDA_QUERIES = [
    "SELECT value, count(*), sum(k.end - k.start) FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds ON id = k.demangledName GROUP BY 1 ORDER BY 3 DESC, 1",
    "SELECT a.value, n.value, count(*), sum(k.start - r.end) FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN CUPTI_ACTIVITY_KIND_RUNTIME r"
    " ON r.correlationId = k.correlationId JOIN StringIds a ON a.id = r.nameId JOIN StringIds n ON n.id = k.shortName GROUP BY 1, 2 ORDER BY 1, 2",
    "SELECT k.start, (SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME r WHERE r.start <= k.start AND r.end >= k.start) FROM CUPTI_ACTIVITY_KIND_KERNEL k ORDER BY 1",
    "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL a JOIN CUPTI_ACTIVITY_KIND_KERNEL b ON b.streamId = a.streamId AND b.start > a.end AND b.start < a.end + 100000",
    "SELECT gridX, blockX, count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE deviceId = 0 GROUP BY 1, 2 ORDER BY 1, 2",
]


def check(what, truth, *shown):
    global failures
    if not truth:
        failures += 1
        print("wrong:", what, *shown)


def run(*arguments, **more):
    done = subprocess.run([TACHO, "sql", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def ask(path, query):
    status, out, err = run("-f", "json", path, query)
    if status != 0:
        sys.exit(f"tacho sql {path} '{query}': {err}")
    return [tuple(value for name, value in pairs) for pairs in json.loads(out, object_pairs_hook=list)]


def differ(ours, theirs):
    if len(ours) != len(theirs):
        return f"{len(ours)} rows, not {len(theirs)}"
    return next((f"{a} is not {b}" for a, b in zip(ours, theirs) if a != b), None)


def compare(path, database, query, ordered=True):
    ours, theirs = ask(path, query), [tuple(row) for row in database.execute(query)]
    if not ordered:
        ours, theirs = sorted(ours, key=repr), sorted(theirs, key=repr)
    check(f"{path}: {query}", not differ(ours, theirs), differ(ours, theirs))
    return len(theirs)


def columns_of(schema):
    """Names of the columns of a CREATE TABLE, and which of them are ids of strings."""
    return [(match.group(1), "REFERENCES StringIds" in match.group(3))
            for match in re.finditer(r"^    (\w+) (INTEGER|REAL|TEXT),?(.*)$", schema, re.M)]


def check_tables(path, database):
    """Every column of every table that the capture has rows in and that we know."""
    ours = run(path, ".tables")[1].split()
    compared = 0
    for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall():
        if table not in ours or table == "StringIds":
            continue
        theirs = {row[1] for row in database.execute(f"PRAGMA table_info({table})")}
        known = columns_of(run(path, f".schema {table}")[1])
        check(f"{path}: {table} has all columns", theirs <= {name for name, _ in known}, theirs - {name for name, _ in known})
        wanted = [f"(SELECT value FROM StringIds WHERE id = {table}.{name})" if is_string else name for name, is_string in known if name in theirs]
        compared += compare(path, database, f"SELECT {', '.join(wanted)} FROM {table}", ordered=False) > 0
    return compared


def check_prompt(path):
    script = ".tables\n.mode csv\nSELECT 1 AS a,\n 'x,y' AS b;\n.schema OSRT_API\n.mode json\nSELECT NULL AS c;\n.quit\nSELECT 5;\n"
    status, out, err = run(path, input=script.encode())
    check("questions from a pipe", status == 0 and "OSRT_API\n" in out and 'a,b\n1,"x,y"\n' in out and "CREATE TABLE OSRT_API" in out
          and '[\n  {"c": null}\n]\n' in out and "5" not in out.split("null")[1], status, out, err)
    status, out, err = run(path, input=b"SELECT 1")
    check("the last semicolon may be left out", status == 0 and out.split() == ["1", "-", "1"], out, err)
    for wrong in (b".nonsense\n", b"SELEC 1;\n", b".mode sideways\n", b".schema no_such_table\n", b"DROP TABLE OSRT_API;\n"):
        status, out, err = run(path, input=wrong + b"SELECT 'on';\n")
        check(f"{wrong} is one sentence and the end", status in (1, 2) and err.count("\n") == 1 and "on" not in out, status, out, err)


def check_refusals(path):
    before = open(path, "rb").read()
    for wrong in ("DROP TABLE OSRT_API", "ATTACH 'other.db' AS o", "SELECT * FROM nothing", "SELECT * FROM VULKAN_API", "'; DROP TABLE OSRT_API; --", "SELECT 1; DELETE FROM StringIds",
                  "VACUUM INTO 'copy.db'", "PRAGMA writable_schema=1", "SELECT", "SELECT readfile('/etc/passwd')", "\x1b[31m"):
        status, out, err = run(path, wrong)
        check(f"'{wrong}' is one sentence", status in (1, 2) and err.count("\n") == 1 and "\x1b" not in err, status, err)
    check("nothing was written", open(path, "rb").read() == before and not os.path.exists("other.db") and not os.path.exists("copy.db"))


def check_formats(path):
    query = "SELECT value, count(*) AS n, NULL AS none, 0.5 AS half FROM OSRT_API JOIN StringIds ON id = nameId GROUP BY 1 ORDER BY 1"
    rows = list(csv.reader(io.StringIO(run("-f", "csv", path, query)[1])))
    check("csv", rows[0] == ["value", "n", "none", "half"] and all(row[2:] == ["", "0.5"] for row in rows[1:]) and len(rows) > 3, rows[:2])
    check("csv without a header", run("-f", "csv:nohdr", path, query)[1].splitlines() == run("-f", "csv", path, query)[1].splitlines()[1:])
    check("columns", run(path, query)[1].split("\n")[0].split() == ["value", "n", "none", "half"])
    many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000) SELECT i FROM n"
    check("many rows have one header", run("-f", "csv", path, many)[1] == "i\n" + "".join(f"{i}\n" for i in range(1, 50001)))
    check("two answers have two", run("-f", "csv", path, "SELECT 1 AS a; SELECT 2 AS b")[1] == "a\n1\nb\n2\n")
    answers = [[{"a": 1}], [], [{"b": "x"}, {"b": None}]]
    several = "SELECT 1 AS a; SELECT 1 AS a WHERE 0;\nSELECT 'x' AS b UNION ALL SELECT NULL;\n"
    check("several answers are one JSON document", json.loads(run("-f", "json", path, several)[1]) == answers)
    check("from a pipe too", json.loads(run("-f", "json", path, input=several.encode())[1]) == answers)
    status, out, _ = run("-f", "json", path, "SELECT 1 AS a; DROP TABLE OSRT_API")
    check("what was answered before an error is a document", status == 1 and json.loads(out) == answers[0], status, out)
    check("no rows are a header", run("-f", "csv", path, "SELECT 1 AS a WHERE 0")[1] == "a\n" and run("-f", "json", path, "SELECT 1 AS a WHERE 0")[1] == "[]\n")


def check_damage(path):
    """A report that was cut off or changed gives what is left or one sentence, never a crash."""
    whole = open(path, "rb").read()
    chance = random.Random(11)
    questions = ("SELECT count(*), sum(start), max(end) FROM OSRT_API; SELECT count(*), sum(length(value)) FROM StringIds; SELECT coalesce(text, value), e.label FROM NVTX_EVENTS"
                 " LEFT JOIN StringIds s ON s.id = textId LEFT JOIN ENUM_NSYS_EVENT_TYPE e ON e.id = eventType; SELECT count(*) FROM OSRT_API a JOIN OSRT_API b ON a.start = b.start")
    answered = 0
    for i in range(40):
        damaged = bytearray(whole[:chance.randrange(len(whole))] if i % 4 == 0 else whole)
        for _ in range(chance.randrange(1, 6)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        open("damaged.tacho", "wb").write(damaged)
        status, out, err = run("damaged.tacho", questions)
        answered += status == 0
        check("a damaged report", status in (0, 1, 2) and (status == 0 or err) and "Sanitizer" not in err, i, status, err)
    check("most damage leaves something", answered > 5, answered)


def check_terminal():
    """A prompt on a terminal; what a stranger called a column cannot reach it."""
    database = sqlite3.connect("evil.sqlite")
    database.execute("CREATE TABLE ThreadNames(nameId INTEGER, priority INTEGER, globalTid INTEGER)")
    database.execute("INSERT INTO ThreadNames VALUES (1, 2, 3)")
    database.commit()
    leader, follower = pty.openpty()
    done = subprocess.Popen([TACHO, "sql", "evil.sqlite"], stdin=follower, stdout=follower, stderr=follower)
    os.close(follower)
    os.write(leader, b'.mode csv\nSELECT priority AS "\xc2\x9b31m" -- goes on\nFROM ThreadNames;\nSELEC;\nSELECT 6 * 7;\n.quit\n')
    text = read_terminal(leader)
    check("a prompt", done.wait() == 0 and b"42\r\n" in text and b"   ...> " in text and b"syntax error" in text, text)
    check("names are harmless", b"\\x9b31m\r\n2\r\n" in text, text)


def check_editing():
    """Keys of a person: a line that is mended, one of an earlier session, one that is given up, a name that is completed."""
    environment = {**os.environ, "TERM": "xterm", "XDG_STATE_HOME": os.path.join(os.getcwd(), "state")}
    for keys, expected in ((b"SELECT 5 * 8;\x02\x7f9;\n.quit\n", b"\r\n45\r\n"), (b"\x1b[A\x1b[A\x02\x7f6;\n.quit\n", b"\r\n480\r\n"),
                           (b"SELECT\n1\x03SELECT 17;\n.quit\n", b"\r\n17\r\n"), (b"SELECT max(pri\t) FROM thr\t;\n.quit\n", b"\r\n2\r\n")):
        leader, follower = pty.openpty()
        done = subprocess.Popen([TACHO, "sql", "-f", "csv", "evil.sqlite"], stdin=follower, stdout=follower, stderr=follower, env=environment)
        os.close(follower)
        text = b""
        while b"tacho> " not in text:  # from here on it reads keys
            text += os.read(leader, 1)
        os.write(leader, keys)
        text += read_terminal(leader)
        check("editing", done.wait() == 0 and expected in text, keys, text)


def check_interrupt():
    """Ctrl-C ends a statement that would run for ever, and the prompt goes on."""
    leader, follower = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "XDG_STATE_HOME": os.path.join(os.getcwd(), "state")}
    done = subprocess.Popen([TACHO, "sql", "-f", "csv", "evil.sqlite"], stdin=follower, stdout=follower, stderr=follower, env=environment,
                            start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
    os.close(follower)
    text = b""
    while b"tacho> " not in text:
        text += os.read(leader, 1)
    os.write(leader, b"WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c;\n")
    while b"FROM c;\r" not in text or not text.endswith(b"\n"):  # the line is done, and the terminal sends signals again
        text += os.read(leader, 1)
    while b"interrupted" not in text:
        os.write(leader, b"\x03")
        time.sleep(0.05)  # a key that comes too early is none for the statement: it is sent again
        while select.select([leader], [], [], 0)[0]:
            text += os.read(leader, 4096)
    os.write(leader, b"SELECT 6 * 7;\n.quit\n")
    text += read_terminal(leader)
    check("Ctrl-C in a statement", done.wait() == 0 and b"\r\n42\r\n" in text, text)


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        compared = 0
        for name in ("mix", "resnet18", "wait_stream"):
            with open(f"{name}.sqlite", "wb") as out:
                out.write(gzip.open(f"{FOLDER}/{name}.sqlite.gz").read())
            subprocess.run([TACHO, "import", f"{name}.sqlite", "-o", f"{name}.tacho"], check=True, stdout=subprocess.DEVNULL)
            database = sqlite3.connect(f"{name}.sqlite")
            for query in QUERIES + CUDA_QUERIES:
                compare(f"{name}.tacho", database, query)
            compared += check_tables(f"{name}.tacho", database)
        compare("mix.sqlite", sqlite3.connect("mix.sqlite"), QUERIES[1]) # straight from the SQLite file, too
        check_prompt("mix.tacho")
        check_refusals("mix.tacho")
        check_formats("mix.tacho")
        check_damage("mix.tacho")
        check_terminal()
        check_editing()
        check_interrupt()
    if compared < 40:
        sys.exit(f"only {compared} tables were compared")
    print(f"{compared} tables compared")
    sys.exit(failures != 0)


main()
