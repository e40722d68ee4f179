"""Several reports read as one: a folder, a pattern.

The truth is SQLite over the same files of nsys, attached side by side: what a set answers must be what their union answers. Names,
call stacks and links between tables must be those of the part that a row is of; times move by one offset a part."""

import gzip
import json
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile

import lib
from lib import HERE, TACHO, check, output, run, status, table

NAMES = ("mix", "resnet18", "wait_stream")


def make_files():
    os.mkdir("run")
    for name in NAMES:
        with open(f"run/{name}.sqlite", "wb") as out:
            out.write(gzip.open(f"{HERE}/nsys/{name}.sqlite.gz").read())


def tacho_rows(path, query):
    return [tuple(row.values()) for row in json.loads(output("sql", "-f", "json", path, query))]


def truth(query):
    """The union of what the query gives on each file."""
    rows = []
    for name in NAMES:
        database = sqlite3.connect(f"run/{name}.sqlite")
        there = {row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if there.issuperset(re.findall(r"(?:FROM|JOIN) (\w+)", query)):
            rows += database.execute(query).fetchall()
    return sorted(rows, key=repr)


# Each joins something that a file numbers for itself: strings, stacks, samples, calls and their kernels.
JOINS = (
    "SELECT s.value, count(*), sum(k.end - k.start) FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON s.id = k.demangledName GROUP BY k.globalPid, s.value",
    "SELECT s.value, a.end - a.start, c.stackDepth, f.value AS frame FROM OSRT_API a JOIN OSRT_CALLCHAINS c ON c.id = a.callchainId "
    "JOIN StringIds s ON s.id = a.nameId JOIN StringIds f ON f.id = c.symbol",
    "SELECT e.cpu, e.threadState, count(*), max(c.stackDepth) FROM COMPOSITE_EVENTS e JOIN SAMPLING_CALLCHAINS c ON c.id = e.id GROUP BY e.id",
    "SELECT s.value, k.end - k.start AS work, r.end - r.start AS call, k.start - r.start AS wait FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN CUPTI_ACTIVITY_KIND_RUNTIME r "
    "ON r.correlationId = k.correlationId AND (r.globalTid >> 24) = (k.globalPid >> 24) JOIN StringIds s ON s.id = r.nameId",
    "SELECT n.text, n.end - n.start, s.value FROM NVTX_EVENTS n LEFT JOIN StringIds s ON s.id = n.textId WHERE n.end IS NOT NULL",
    "SELECT g.name, g.smCount, count(*), sum(k.gridX) FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN TARGET_INFO_GPU g ON g.id = k.deviceId GROUP BY k.globalPid, g.name",
    "SELECT m.metricName, count(*), sum(v.value) FROM GPU_METRICS v JOIN TARGET_INFO_GPU_METRICS m ON m.typeId = v.typeId AND m.metricId = v.metricId GROUP BY m.metricName",
    "SELECT s.value, count(*) FROM ThreadNames t JOIN StringIds s ON s.id = t.nameId GROUP BY t.globalTid, s.value",
)


def check_joins():
    compared = 0
    for query in JOINS:
        expected, got = truth(query), sorted(tacho_rows("run", query), key=repr)
        check(query, expected, got)
        check(f"a file has rows for {query}", True, len(expected) > 0)
        compared += len(expected)
    check("the files have what is compared", True, compared > 5000)


def check_parts():
    """Each row says whose it is, ids of different files never meet, and a part's times move by one offset."""
    rows = tacho_rows("run", "SELECT host, count(*), count(DISTINCT globalPid) FROM CUPTI_ACTIVITY_KIND_KERNEL GROUP BY globalPid >> 48")
    check("a system a file", len(NAMES), len(rows))
    check("its host", {"gpuhost"}, {row[0] for row in rows})
    offsets = {}
    for name in NAMES:
        start, utc = (sqlite3.connect(f"run/{name}.sqlite").execute(query).fetchone()[0] for query in (
            "SELECT min(start) FROM CUPTI_ACTIVITY_KIND_KERNEL", "SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME"))
        offsets[name] = start + utc
    starts = sorted(row[0] for row in tacho_rows("run", "SELECT min(start) FROM CUPTI_ACTIVITY_KIND_KERNEL GROUP BY globalPid >> 48"))
    expected = sorted(offsets.values())
    check("on one clock", [at - expected[0] for at in expected], [at - starts[0] for at in starts])
    twice = tacho_rows("run", "SELECT count(*), count(DISTINCT id), count(DISTINCT value) FROM StringIds")[0]
    check("strings, each once", (twice[0], twice[0]), twice[1:])


def check_reports():
    """A report over the set has the sum of the files' rows."""
    rows = table("cuda_gpu_kern_sum", "run")
    expected = {}
    for name in NAMES:
        for kernel, count, total in sqlite3.connect(f"run/{name}.sqlite").execute(
                "SELECT s.value, count(*), sum(k.end - k.start) FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON s.id = k.demangledName GROUP BY s.value"):
            before = expected.get(kernel, (0, 0))
            expected[kernel] = (before[0] + count, before[1] + total)
    check("stats over a set", expected, {row["Name"]: (row["Instances"], row["Total Time (ns)"]) for row in rows})
    check("a pattern is a set, too", rows, table("cuda_gpu_kern_sum", "run/*.sqlite"))
    check_several()
    check_rank_reports()


def check_offsets():
    """TACHO_CLOCK_OFFSET, info and exports tell how the files' times were moved: here by their UTC."""
    utc = {name: sqlite3.connect(f"run/{name}.sqlite").execute("SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME").fetchone()[0] for name in NAMES}
    expected = {f"run/{name}.sqlite": at - utc[NAMES[0]] for name, at in utc.items()}
    query = "SELECT file, offsetNs FROM TACHO_CLOCK_OFFSET"
    check("offsets in SQL", expected, dict(tacho_rows("run", query)))
    check("methods", [("gpuhost", "reference", 0, 0.0), ("gpuhost", "utc", 0, 0.0), ("gpuhost", "utc", 0, 0.0)], tacho_rows("run", "SELECT host, method, stretch, driftPpm FROM TACHO_CLOCK_OFFSET"))
    check("offsets in info", expected, {part["file"]: part["clock_offset_ns"] for part in json.loads(output("info", "-f", "json", "run"))[0]["reports"]})
    output("export", "-t", "sqlite", "-o", "offsets.sqlite", "run")
    check("offsets in an export", expected, dict(sqlite3.connect("offsets.sqlite").execute(query).fetchall()))
    check("the rows move by it", {(name, at) for name, at in expected.items()},
          {(f"run/{name}.sqlite", at - sqlite3.connect(f"run/{name}.sqlite").execute("SELECT min(start) FROM CUPTI_ACTIVITY_KIND_KERNEL").fetchone()[0])
           for name, at in ((name, tacho_rows("run", f"SELECT min(start) FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE globalPid >> 48 = {i + 1}")[0][0]) for i, name in enumerate(NAMES))})


def make_ranked():
    """The same program as three ranks, in files of nsys: kernels of two of them take less, and each has steps of its own."""
    chance = random.Random(7)
    os.mkdir("ranked")
    for rank in range(3):
        path = f"ranked/{'cab'[rank]}.sqlite"
        shutil.copy("run/mix.sqlite", path)
        database = sqlite3.connect(path)
        thread, = database.execute("SELECT globalTid FROM CUPTI_ACTIVITY_KIND_RUNTIME LIMIT 1").fetchone()
        database.execute("CREATE TABLE MPI_RANKS (globalTid INTEGER, rank INTEGER)")
        database.execute("INSERT INTO MPI_RANKS VALUES (?, ?)", (thread, rank))
        database.execute("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = start + (end - start) * ? / 4", (4 - rank,))
        begin, = database.execute("SELECT min(start) FROM CUPTI_ACTIVITY_KIND_RUNTIME").fetchone()
        for step in range(12):
            start = begin + step * 10_000_000
            database.execute("INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid) VALUES (?, ?, 59, ?, ?)", (start, start + chance.randrange(1_000_000, 9_000_000), f"step {step}", thread))
        database.commit()
    return {rank: sqlite3.connect(f"ranked/{'cab'[rank]}.sqlite") for rank in range(3)}


def union_length(spans):
    total, until = 0, None
    for start, end in sorted(spans):
        total += end - start if until is None or start >= until else max(0, end - until)
        until = end if until is None else max(until, end)
    return total


def check_rank_reports():
    files = make_ranked()
    rows = {row["Rank"]: row for row in table("rank_sum", "ranked")}
    check("rank_sum: a row a rank", [0, 1, 2], sorted(rows))
    for rank, database in files.items():
        work = {name: database.execute(f"SELECT start, end FROM CUPTI_ACTIVITY_KIND_{name}").fetchall() for name in ("KERNEL", "MEMCPY", "MEMSET", "RUNTIME")}
        time = {name: sum(end - start for start, end in spans) for name, spans in work.items()}
        on_gpu = work["KERNEL"] + work["MEMCPY"] + work["MEMSET"]
        idle = max(end for _, end in on_gpu) - min(start for start, _ in on_gpu) - union_length(on_gpu)
        got = rows[rank]
        check(f"rank_sum of rank {rank}", ("gpuhost", time["RUNTIME"], time["KERNEL"], time["MEMCPY"] + time["MEMSET"], idle),
              (got["Host"], got["CUDA API (ns)"], got["Kernels (ns)"], got["Copies (ns)"], got["GPU Idle (ns)"]))
    check("rank_sum: ranks differ", 3, len({row["Kernels (ns)"] for row in rows.values()}))
    steps = {}
    for rank, database in files.items():
        for text, duration in database.execute("SELECT text, end - start FROM NVTX_EVENTS WHERE text LIKE 'step %'"):
            steps.setdefault(int(text[5:]), {})[rank] = duration
    expected, all_ranks = {}, {}
    for number, times in steps.items():
        order = sorted(times.items(), key=lambda item: (item[1], item[0]))
        expected[number] = (3, order[0][1], float(order[1][1]), order[2][1], order[2][1] - order[0][1], order[2][0])
        all_ranks.update({(number, rank): (time, float(time - order[1][1]), place + 1) for place, (rank, time) in enumerate(order)})
    check("rank_step_sum: there are steps, whose slowest ranks differ", True, len(expected) > 5 and len({row[5] for row in expected.values()}) > 1)
    check("rank_step_sum", expected, {row["Step"]: (row["Ranks"], row["Min (ns)"], row["Med (ns)"], row["Max (ns)"], row["Spread (ns)"], row["Slowest Rank"]) for row in table("rank_step_sum", "ranked")})
    check("rank_step_sum:ranks", all_ranks, {(row["Step"], row["Rank"]): (row["Time (ns)"], row["Over Median (ns)"], row["Place"]) for row in table("rank_step_sum:ranks", "ranked")})


def check_processes_of_ranks():
    """rank_sum of captures: CPU time and span are those of the rank's processes, also before their exec()."""
    truth = {}
    ranks = dict(tacho_rows("hosts", "SELECT globalPid, rank FROM TACHO_PROCESS WHERE rank IS NOT NULL"))
    for process, cpu, start, end in tacho_rows("hosts", "SELECT globalPid, cpuNs, start, end FROM TACHO_PROCESS WHERE end IS NOT NULL"):
        if process not in ranks:
            continue
        rank = ranks[process]
        before = truth.get(rank, (0, start, end))
        truth[rank] = (before[0] + cpu, min(before[1], start), max(before[2], end))
    for path in ("hosts", "merged.tacho"):
        check(f"{path}: rank_sum of processes", {rank: (cpu, last - first) for rank, (cpu, first, last) in truth.items()},
              {row["Rank"]: (row["CPU Time (ns)"], row["Span (ns)"]) for row in table("rank_sum", path)})


def check_whole_run():
    """The times of a job are those from its first begin to its last end, whatever overlaps; files that are not finished are named."""
    launched = tacho_rows("hosts", "SELECT min(start), max(end) FROM TACHO_PROCESS WHERE origin = 'launch'")[0]
    check("process time of a job", launched[1] - launched[0], {row["Name"]: row["Time (ns)"] for row in table("run_sum", "hosts")}["Process time"])
    os.mkdir("cut")
    for name in ("a", "b"):
        shutil.copy(f"hosts/{name}.tacho", "cut")
    with open("cut/a.tacho", "rb+") as file:
        file.truncate(os.path.getsize("cut/a.tacho") - 50)
    said = run("stats", "-q", "-r", "osrt_sum", "cut")[1]
    check("its row in info", [["0-3", "complete"], ["4-5", "unfinished"]],
          [[part["ranks"], part["health"]] for part in json.loads(output("info", "-f", "json", "cut"))[0]["reports"]])
    shown = lib.summary("cut")
    size = f"{sum(os.path.getsize(f'cut/{name}.tacho') for name in 'ab') / 1000:#.3g}".rstrip(".") + " kB)" # 34.0, but 340
    check("summary: the size of the files, and who is cut off", (True, True), (size in shown,
                                                                             "  the reports of ranks 4,5 end before their programs\n" in shown))
    check("the unfinished report is named", "tacho: cut/a.tacho is unfinished (tacho is still writing it, or was killed); everything written so far is shown\n", said)


def check_several():
    """Files that are named one after another are a set, to every command."""
    files = [f"run/{name}.sqlite" for name in NAMES]
    words = ("stats", "-q", "-r", "cuda_gpu_kern_sum", "-f", "csv")
    whole = output(*words, "run")
    check("several files are a set", whole, output(*words, *files))
    check("a file that is named twice is there once", whole, output(*words, *files, files[0]))
    check("--each", "".join(output(*words, file) for file in files), output(*words, "--each", *files))
    check("analyze", output("analyze", "-q", "-f", "csv", "-r", "cuda_memcpy_async", "run"), output("analyze", "-q", "-f", "csv", "-r", "cuda_memcpy_async", *files))
    query = "SELECT count(*), sum(start) FROM CUPTI_ACTIVITY_KIND_KERNEL"
    check("sql", output("sql", "run", query), output("sql", *files, query))
    check("sql: a pattern last", output("sql", "run", query), output("sql", files[0], "run/[rw]*.sqlite", query))
    check("info", 3, len(json.loads(output("info", "-f", "json", *files))[0]["reports"]))
    check("info --each", 3, len(json.loads(output("info", "--each", "-f", "json", *files))))
    check("ops", output("ops", "-f", "csv", "run"), output("ops", "-f", "csv", *files))
    for target in ("folder", "files"):
        output("export", "-t", "sqlite", "-o", f"{target}.sqlite", *(["run"] if target == "folder" else files))
    rows = [sqlite3.connect(f"{target}.sqlite").execute("SELECT host, rank, start, end, deviceId FROM CUPTI_ACTIVITY_KIND_KERNEL").fetchall() for target in ("folder", "files")]
    check("export", rows[0], rows[1])
    check("export: there are rows", True, len(rows[0]) > 100)
    check("an export of several needs a name", 2, run("export", *files)[0])
    check("a file that is not there", (1, "tacho stats: cannot open none.tacho: No such file or directory\n"), run(*words, files[0], "none.tacho")[:2])
    job = ("diff", "-r", "cuda_gpu_kern_sum", "-f", "csv", "--rows=all")
    check("diff of two jobs", output(*job, "run", "run/*.sqlite"), output(*job, "run", "--", "run/*.sqlite"))


def check_ranks():
    """Captures of a job: ranks are what the data says, whatever the files are called; missing and double ones are named."""
    os.mkdir("job")
    for rank, name in ((0, "zebra"), (1, "b"), (2, "a")):
        variables = {**os.environ, "RANK": str(rank), "WORLD_SIZE": "4", "LOCAL_RANK": str(rank)}
        subprocess.run([TACHO, "profile", "-t", "osrt", "-s", "none", "-o", f"job/{name}.tacho", "ls", "/"], env=variables, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    rows = tacho_rows("job", "SELECT rank, count(DISTINCT globalTid >> 24) FROM OSRT_API GROUP BY rank")
    check("ranks", [(0, 1), (1, 1), (2, 1)], rows)
    code, said, _ = run("stats", "-q", "-r", "osrt_sum", "job")
    check("a rank is missing", (0, "tacho: rank 3 of the job's 4 is missing\n"), (code, said))
    lines = [line.split() for line in output("info", "job").split("\n")]
    check("info: health", ["Health", "complete;", "rank", "3", "of", "the", "job's", "4", "is", "missing"], lines[1])
    check("info as JSON: the missing rank", "3", json.loads(output("info", "-f", "json", "job"))[0]["missing_ranks"])
    check("info: a row a rank, with its file, on the counter of the one host", [["0", "job/zebra.tacho"], ["1", "job/b.tacho"], ["2", "job/a.tacho"]],
          [[line[0], line[-1]] for line in lines if line and line[-1].endswith(".tacho") and ("counter" in line or "reference" in line)])
    for ranks, expected in (("1", [1]), ("0,2-9", [0, 2])):
        rows = json.loads(output("sql", "-f", "json", "--filter-rank", ranks, "job", "SELECT DISTINCT rank FROM OSRT_API"))
        check(f"--filter-rank {ranks}", expected, sorted(row["rank"] for row in rows))
    for option, words in (("--filter-rank", "9"), ("--filter-host", "x*,y")):
        check(f"{option} {words}", (1, "tacho stats: none of the 3 reports is of these ranks and hosts\n"), run("stats", option, words, "job")[:2])
    for words in ("1-", "3-1", "x", ""):
        check(f"--filter-rank '{words}'", (2, f"tacho stats: '{words}' is no list of ranks: write 0,8-15\n"), run("stats", "--filter-rank", words, "job")[:2])
    shutil.copy("job/b.tacho", "job/c.tacho")
    said = run("stats", "-q", "-r", "osrt_sum", "job")[1]
    check("a rank is there twice", True, "tacho: rank 1 is in 'job/b.tacho' and in 'job/c.tacho': are these files of several runs?\n" in said)
    with open("job/a.tacho", "rb") as file:
        whole = file.read()
    open("job/a.tacho", "wb").write(whole[:100])
    open("job/d.tacho", "w").write("no report")
    code, said, out = run("stats", "-q", "-r", "osrt_sum", "-f", "csv", "job")
    check("what can be read is answered", (0, True, True, True), (code, "open" in out, "ranks 2, 3 of the job's 4 are missing" in said, "job/d.tacho" in said))
    os.mkdir("jobs")
    for rank in (0, 1):
        variables = {**os.environ, "RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_RANK": str(rank), "TORCHELASTIC_RUN_ID": f"run-{rank}"}
        subprocess.run([TACHO, "profile", "-t", "osrt", "-s", "none", "-o", "jobs/", "ls", "/"], env=variables, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    check("several jobs", "tacho: 'jobs/rank0001.tacho' is of job run-1, but 'jobs/rank0000.tacho' is of job run-0: name the files of one job\n",
          run("stats", "-q", "-r", "osrt_sum", "jobs")[1])
    for path in ("jobs", "job"):
        why = "its reports are of 2 jobs (run-0: 1 report, run-1: 1 report): name the files of one job, or compare jobs by diff" if path == "jobs" \
            else "'job/b.tacho' and 'job/c.tacho' are both of rank 1: name the files of one run"
        check(f"ranks of several jobs are not put together: {path}", f"Processing [{path}] with [rank_sum]... \nSKIPPED: {path}: {why}.\n\n",
              run("stats", "-r", "rank_sum", path)[2])
    check("ranks of one job", [1], [row["Rank"] for row in table("rank_sum", "jobs/rank0001.tacho")])
    output("merge", "-o", "jobs.tacho", "jobs")
    check("nor those of a merged file", True, "are of 2 jobs" in run("stats", "-r", "rank_sum", "jobs.tacho")[2])
    os.mkdir("empty")
    open("empty/notes.txt", "w").write("x")
    check("no reports", (1, "tacho stats: there are no reports in the folder 'empty'\n"), run("stats", "empty")[:2])
    os.makedirs("nest/1")
    os.mkdir("nest/0")
    shutil.copy("job/b.tacho", "nest/1")
    check("reports one folder below", (1, "tacho stats: there are no reports in the folder 'nest/'; there are in 'nest/1/'\n"), run("stats", "nest/")[:2])
    os.makedirs("folders/a.tacho")
    check("folders only", (1, "tacho stats: only folders match 'folders/*'\n"), run("stats", "folders/*")[:2])
    check("an export needs a name", (2, "tacho export: 'run' stands for several reports: name the file to write with -o\n"), run("export", "run")[:2])
    check("an export of nothing", (1, "tacho export: there are no reports in the folder 'empty'\n"), run("export", "empty")[:2])
    os.makedirs("odd/folder.tacho")
    open("odd/empty.tacho", "w").close()
    shutil.copy("job/b.tacho", "odd/b.tacho")
    open("odd/begun.tacho", "wb").write(whole[:100])
    said = run("stats", "-q", "-r", "osrt_sum", "odd")[1]
    check("files of a set that are none", (True, False), ("odd/folder.tacho is not a file\n" in said, "to record a program" in said))
    check("a report that was only begun", True, "tacho: odd/begun.tacho is unfinished (tacho is still writing it, or was killed) and holds nothing yet\n" in said)
    check("info as JSON", [["run/mix.sqlite", "reference"], ["run/resnet18.sqlite", "utc"], ["run/wait_stream.sqlite", "utc"]],
          [[part["file"], part["clock"]] for part in json.loads(output("info", "-f", "json", "run"))[0]["reports"]])
    check_offsets()
    check("no match", (1, "tacho stats: no file matches 'empty/*.tacho'\n"), run("stats", "empty/*.tacho")[:2])


def check_ranks_of_one_report():
    """A launcher that is profiled with all its ranks: each row has the rank of its process, which the processes themselves wrote down."""
    rank = "for i in 0 1 2; do echo $$ $RANK >> pids; cat /proc/self/stat > /dev/null; done"
    script = "for r in $RANKS; do RANK=$r WORLD_SIZE=6 LOCAL_RANK=$r sh -c '" + rank + "' & done; wait"
    os.mkdir("hosts")
    written = {}
    for name, ranks in (("b", "0 1 2 3"), ("a", "4 5")):
        subprocess.run([TACHO, "profile", "-q", "-t", "osrt", "-s", "none", "-o", f"hosts/{name}", "sh", "-c", script], env={**os.environ, "RANKS": ranks}, check=True)
        written.update(tuple(map(int, line.split())) for line in open("pids"))
        os.remove("pids")
    process = "globalTid >> 24 & 0xffffff"
    rows = f"SELECT {process}, rank, count(*), sum(end - start) FROM OSRT_API GROUP BY 1, 2"
    for path, expected in (("hosts/b.tacho", {0, 1, 2, 3}), ("hosts", {0, 1, 2, 3, 4, 5})):
        found = {pid: rank for pid, rank, _, _ in tacho_rows(path, rows)}
        shells = {pid: rank for pid, rank in written.items() if rank in expected}
        check(f"{path}: ranks of processes", shells, {pid: found.get(pid) for pid in shells})
        children = [row[0] for row in tacho_rows(path, f"SELECT DISTINCT rank FROM OSRT_API WHERE {process} NOT IN ({','.join(map(str, written))}) ORDER BY rank")]
        check(f"{path}: the ranks' children have theirs, the launcher has none", [None] + sorted(expected), children)
        check(f"{path}: every row has its host", 1, len(tacho_rows(path, "SELECT host FROM OSRT_API GROUP BY host")))
        whole = {}
        for pid, rank, count, total in tacho_rows(path, rows):
            whole.setdefault(rank, []).append((pid, count, total))
        for rank in expected:
            filtered = json.loads(output("sql", "-f", "json", "--filter-rank", str(rank), path, rows))
            check(f"{path}: --filter-rank {rank}", sorted(whole[rank]), sorted((list(row.values())[0], *list(row.values())[2:]) for row in filtered))
    check("a rank that is not there", (1, "tacho sql: 'hosts/b.tacho' is not of these ranks and hosts\n"), run("sql", "--filter-rank", "5", "hosts/b.tacho", "SELECT 1")[:2])
    lines = [line.split() for line in output("info", "hosts").split("\n")]
    check("info: the ranks of each report", [["0-3", "hosts/b.tacho"], ["4-5", "hosts/a.tacho"]], [[line[0], line[-1]] for line in lines if line and line[-1].endswith(".tacho")])
    check("no rank is missing", "", run("stats", "-q", "-r", "osrt_sum", "hosts")[1])
    check_by()
    check_merges()
    shutil.copy("hosts/a.tacho", "hosts/c.tacho")
    check("ranks that are there twice", ["tacho: ranks 4,5 are there several times: rank 4 is in 'hosts/a.tacho' and in 'hosts/c.tacho': are these files of several runs?"],
          run("stats", "-q", "-r", "osrt_sum", "hosts")[1].splitlines())


def exported_tables(path, name):
    """All rows of all tables, with the texts of the strings that their columns refer to."""
    output("export", "-q", "true", "-f", "true", "-t", "sqlite", "-o", f"{name}.sqlite", path)
    database = sqlite3.connect(f"{name}.sqlite")
    database.text_factory = lambda value: value.decode(errors="surrogateescape")
    texts = dict(database.execute("SELECT id, value FROM StringIds").fetchall())
    tables = {}
    for table_name, ddl in database.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall():
        if table_name == "StringIds":
            continue
        rows = database.execute(f'SELECT * FROM "{table_name}"')
        columns = [column[0] for column in rows.description]
        strings = [column == "nameId" or bool(re.search(rf"\b{column}\b[^\n]*REFERENCES StringIds", ddl)) for column in columns]
        tables[table_name] = [columns] + [tuple(texts.get(value) if is_string else value for value, is_string in zip(row, strings)) for row in rows]
    return tables


def check_merge(path, words=()):
    """The merged file answers as the set: all tables, row by row, and all reports."""
    output("merge", "-q", "true", "-f", "true", "-o", "merged.tacho", *words, path)
    whole, merged = exported_tables(path, "whole") if not words else None, exported_tables("merged.tacho", "merged")
    if whole:
        for name in sorted(set(whole) | set(merged)):
            expected, got = (sorted(map(repr, tables.get(name, []))) for tables in (whole, merged))
            check(f"{path}: {name} in the merged file", sorted(set(expected) - set(got))[:3], sorted(set(got) - set(expected))[:3])
            check(f"{path}: {name}: all rows", len(expected), len(got))
        check(f"{path}: the tables of the merged file", sorted(whole), sorted(merged))
    names = ",".join(re.findall(r"^ *(\w+)(?=\[| --)", output("stats", "--help-reports"), re.M))
    check("all reports are compared", True, names.count(",") > 50 and "cuda_gpu_kern_sum" in names)
    tables = [run("stats", "-q", "-f", "csv", "-r", names, *more, where) for where, more in ((path, words), ("merged.tacho", ()))]
    check(f"{path} {words}: every report", (tables[0][0], tables[0][2]), (tables[1][0], tables[1][2]))


def check_merges():
    check_merge("run")
    check_merge("hosts")
    check_processes_of_ranks()
    check_whole_run()
    for words in (("--by", "rank"), ("--by", "host"), ("--by", "rank", "--filter-rank", "1,4-5")):
        check(f"merged: {words}", by_rows(*words, "hosts"), by_rows(*words, "merged.tacho"))
    lines = [line.split() for line in output("info", "merged.tacho").split("\n")]
    check("info of a merged file: its reports, and each fact once", (["hosts/b.tacho", "hosts/a.tacho"], 1),
          ([line[-1] for line in lines if line and line[-1].startswith("hosts/")], sum(line[:1] == ["Directory"] for line in lines)))
    alone = json.loads(output("diff", "-q", "-f", "json", "--fail-if", "wall>+5%", "hosts", "merged.tacho"))
    check("diff: with conditions on the run alone, the run alone", ["run_sum"], list(alone))
    rank = json.loads(output("diff", "-q", "-f", "json", "--all", "-r", "rank_sum", "--filter-rank", "4", "hosts", "merged.tacho"))
    check("diff of one rank", [4], [row["Rank"] for row in rank])
    check_merge("hosts", ("--filter-rank", "1-4"))
    output("merge", "-q", "true", "-o", "again.tacho", "merged.tacho")
    check("a merged file that is merged again", *(output("stats", "-q", "-f", "csv", "-r", "osrt_sum", "--by", "rank", path) for path in ("merged.tacho", "again.tacho")))
    for operand, path in (("hosts", "hosts/all.tacho"), ("./hosts/", "hosts/all.tacho"), ("hosts/*.tacho", "hosts/all.tacho"), ("hosts", "./hosts/../hosts/all.tacho")):
        check(f"into the folder: {operand}", (2, f"tacho merge: '{path}' would be read as one more report of '{operand}'; name a file outside of it with -o\n", False),
              (*(part if i == 0 else part.splitlines()[-1] + "\n" for i, part in enumerate(run("merge", "-o", path, operand)[:2])), os.path.exists(path)))
    output("merge", "-q", "true", "-o", "hosts/all", "hosts")  # which no folder's reading takes
    os.rename("hosts/all", "hosts/all.tacho")
    check("a folder with the file of an earlier merge", (2, "tacho merge: 'hosts/all.tacho' is one of the reports to merge; name another with -o, or remove it\n"),
          tuple(part if i == 0 else part.splitlines()[-1] + "\n" for i, part in enumerate(run("merge", "-f", "true", "-o", "hosts/all.tacho", "hosts")[:2])))
    os.remove("hosts/all.tacho")
    check("an existing file", (1, "tacho merge: 'merged.tacho' exists already: choose another name, or overwrite it with -f true\n"), run("merge", "-o", "merged.tacho", "hosts")[:2])
    check("no name", (2, "tacho merge: no name for the report to write: tacho merge -o all.tacho run/\n"), run("merge", "hosts")[:2])
    check("a folder that is not there", (1, "tacho merge: cannot create nowhere/x.tacho.merging: No such file or directory\n"), run("merge", "-o", "nowhere/x.tacho", "hosts")[:2])
    check("nothing is left behind", [], [name for name in os.listdir(".") if "merging" in name])


def by_rows(*words):
    return json.loads(output("stats", "-q", "-f", "json", "-r", "osrt_sum", *words))


def check_by():
    """--by: a row of each rank, whose figures are those of SQL over its rows alone, and the spread over all ranks."""
    for path, label, column, count in (("hosts", "Rank", "rank", 6), ("hosts/b.tacho", "Rank", "rank", 4), ("hosts", "Host", "host", 1)):
        key = "Min over %ss (ns)" % label
        where = "" if label == "Host" else "WHERE a.rank IS NOT NULL"
        expected = {}
        for group, name, calls, total, most in tacho_rows(path, f"SELECT a.{column}, s.value, count(*), sum(a.end - a.start), max(a.end - a.start) FROM OSRT_API a "
                                                          f"JOIN StringIds s ON s.id = a.nameId {where} GROUP BY 1, 2"):
            expected[group, name] = (calls, total, most)
        groups = {group for group, _ in expected}
        check(f"{path}: groups", count, len(groups))
        rows = by_rows("--by", column, path)
        check(f"{path} --by {column}", expected, {(row[label], row["Name"]): (row["Num Calls"], row["Total Time (ns)"], row["Max (ns)"]) for row in rows})
        names = {}
        for row in rows:
            totals = sorted(expected.get((group, row["Name"]), (0, 0, 0))[1] for group in groups)
            middle = (totals[(len(totals) - 1) // 2] + totals[len(totals) // 2]) / 2
            check(f"{path}: spread of {row['Name']}", (totals[0], middle, totals[-1]), (row[key], row[key.replace("Min", "Med")], row[key.replace("Min", "Max")]))
            names.setdefault(row["Name"], sum(totals))
        check(f"{path}: the greatest sum first", sorted(names.values(), reverse=True), list(names.values()))
        first = by_rows("--by", column, "--rows=1", path)
        check(f"{path}: one name, all groups of it", [row for row in rows if row["Name"] == rows[0]["Name"]], first)
        shown = output("stats", "-q", "-f", "human", "-r", "osrt_sum", "--by", column, "--rows=1", path)
        check(f"{path}: one name, all groups of it, for people", len(first), sum(f" {rows[0]['Name']} " in f"{line} " for line in shown.splitlines()))
    files = [by_rows(f"job/{name}.tacho") for name in ("zebra", "b")]
    rows = by_rows("--by", "rank", "job/zebra.tacho", "job/b.tacho")
    for rank, alone in enumerate(files):
        own = [{name: value for name, value in row.items() if "Rank" not in name} for row in rows if row["Rank"] == rank]
        check(f"rank {rank}: the rows of its file", sorted(alone, key=repr), sorted(own, key=repr))
    check("a report of one rank", [0], sorted({row["Rank"] for row in by_rows("--by", "rank", "job/zebra.tacho")}))
    check("files without ranks", {""}, {row["Rank"] for row in by_rows("--by", "rank", "run")})
    check("--by with a filter", {2, 3}, {row["Rank"] for row in by_rows("--by", "rank", "--filter-rank", "2-3", "hosts")})
    said = run("stats", "-q", "-r", "cuda_gpu_kern_sum", "--by", "rank", "hosts")
    check("no data", (0, ""), (said[0], said[2]))


def check_unnamed_gpus():
    """Traces that say nothing of their GPUs, each with work on device 0: these are four GPUs, and slower kernels on that of rank 2 hold the others up."""
    os.mkdir("traces")
    for rank in range(4):
        events = []
        for step in range(20):
            start, length = 10000 * step, 7000 if rank == 2 else 5000
            events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 100 + rank, "tid": 100 + rank, "ts": start, "dur": 9900})
            for number, (name, at, end) in enumerate((("gemm", 100, 100 + length), ("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 110 + length, 8000))):
                link = {"correlation": 2 * step + number, "device": 0, "context": 1, "stream": 7 + number}
                events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 100 + rank, "tid": 100 + rank, "ts": start + 20 * number, "dur": 5, "args": link})
                events.append({"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7 + number, "ts": start + at, "dur": end - at, "args": link})
        with open(f"traces/rank{rank}.pt.trace.json", "w") as file:
            json.dump({"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 4}, "traceEvents": events}, file)
    check("a GPU each", [0, 1, 2, 3], sorted(row["GPU"] for row in table("cuda_gpu_busy", "traces")))
    check("the rank", [(2, "slower kernels", 2000000)], [(row["Rank"], row["Cause"], row["Typical Lateness (ns)"]) for row in table("straggler_sum", "traces")])
    said = output("summary", "traces")
    check(f"the summary does not contradict its first line: {said}", (True, True),
          (said.startswith("tacho: rank 2 is late: 2.00 ms"), "what to change first: the late rank; no other rule found" in said))


def check_damage():
    """Bytes of a part changed at random: an answer or a sentence, never a crash."""
    chance = random.Random(5)
    os.mkdir("bad")
    for name in NAMES:
        subprocess.run([TACHO, "import", f"run/{name}.sqlite", "-o", f"bad/{name}.tacho"], check=True, stdout=subprocess.DEVNULL)
    with open("bad/mix.tacho", "rb") as file:
        whole = file.read()
    os.mkdir("others")
    for name in NAMES[1:]:
        shutil.copy(f"bad/{name}.tacho", "others")
    kernels = {row["Name"]: row["Instances"] for row in table("cuda_gpu_kern_sum", "others")}
    for i in range(25):
        damaged = bytearray(whole[:chance.randrange(len(whole))] if i % 4 == 0 else whole)
        for _ in range(chance.randrange(1, 8)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        open("bad/mix.tacho", "wb").write(damaged)
        code, said, out = run("stats", "-q", "-r", "cuda_gpu_kern_sum", "-f", "json", "bad")
        found = {row["Name"]: row["Instances"] for row in json.loads(out)} if code == 0 else {}
        check(f"damage {i}: {code} {said}", True, all(found.get(name, 0) >= count for name, count in kernels.items()))


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    make_files()
    check_joins()
    check_parts()
    check_reports()
    check_ranks()
    check_ranks_of_one_report()
    check_unnamed_gpus()
    check_damage()
sys.exit(status())
