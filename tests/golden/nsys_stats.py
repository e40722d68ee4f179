"""Captures of nsys, imported, must give nsys's own tables byte for byte, as csv and on the terminal.

nsys/NAME.sqlite.gz is an export of nsys 2025.3; nsys/NAME/REPORT.csv.gz is what its `stats` made of it,
nsys/NAME/default_reports.txt.gz what that printed without options, and nsys/NAME/analyze.txt.gz what its `analyze` did.
Of mnist_like, the largest, the samples of CPUs before 6.87 s are left out, and the names that only they have: no report of nsys reads them.

When the captures were stored, a few very long names of kernels were lost: they read "(configuration)" in the SQLite files,
but not in what nsys printed. They are put back before anything is compared; see restore_names()."""

import csv
import difflib
import gzip
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile


TACHO = os.environ["TACHO"]
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "nsys")
THEIRS = """cuda_api_gpu_sum cuda_api_sum cuda_api_trace cuda_gpu_kern_gb_sum cuda_gpu_kern_sum cuda_gpu_mem_size_sum cuda_gpu_mem_time_sum cuda_gpu_sum
cuda_gpu_trace cuda_kern_exec_sum cuda_kern_exec_trace dx11_pix_sum dx12_gpu_marker_sum dx12_pix_sum mpi_event_sum mpi_event_trace
mpi_msg_size_sum network_congestion nvtx_gpu_proj_sum nvtx_gpu_proj_trace nvtx_kern_sum nvtx_pushpop_sum nvtx_pushpop_trace
nvtx_startend_sum nvtx_sum nvvideo_api_sum openacc_sum opengl_khr_gpu_range_sum opengl_khr_range_sum openmp_sum osrt_sum syscall_sum
um_cpu_page_faults_sum um_sum um_total_sum vulkan_api_sum vulkan_api_trace vulkan_gpu_marker_sum vulkan_marker_sum wddm_queue_sum"""  # nsys 2025.3's forty reports
NSYS_RULES = 7  # those of Tacho come behind them
failures = 0


def tacho(*arguments):
    done = subprocess.run([TACHO, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        sys.exit(f"tacho {' '.join(arguments)}: status {done.returncode}: {done.stderr.decode()}")
    return done.stdout.decode()


def check(what, expected, got):
    global failures
    if expected == got:
        return
    failures += 1
    print(f"{what} differs:")
    lines = difflib.unified_diff(str(expected).splitlines(), str(got).splitlines(), "nsys", "tacho", lineterm="", n=0)
    print("\n".join(list(lines)[:12]))


def read(path):
    """The text of a file, or of its .gz."""
    if os.path.exists(path):
        return open(path, encoding="utf-8", newline="").read()
    return gzip.open(f"{path}.gz", "rt", encoding="utf-8", newline="").read()


def known(command, option):
    return re.findall(r"^(\w+)\S* -- ", tacho(command, option), re.M)


def tables(file, reports):
    """{report: its CSV, or nothing where the file has no data for it}, all of one run: a sanitizer takes its time to start."""
    tacho("stats", "-q", "-f", "csv", "-o", f"{file}.of", "--force-overwrite", "true", "-r", ",".join(reports), file)
    made = {report: f"{file}.of_{report}.csv" for report in reports}
    return {report: read(path) if os.path.exists(path) else "" for report, path in made.items()}


def restore_names(name):
    """Tells the lost names by the times and numbers of the kernels that bear them."""
    database = sqlite3.connect(f"{name}.sqlite")
    lost = database.execute("SELECT demangledName, sum(end - start), count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds"
                            " ON id = demangledName WHERE value = '(configuration)' GROUP BY 1").fetchall()
    rows = list(csv.reader(read(f"{FOLDER}/{name}/cuda_gpu_kern_sum.csv").splitlines()))[1:]
    names = {(int(row[1]), int(row[2])): row[-1] for row in rows}
    for string, total, count in lost:
        database.execute("UPDATE StringIds SET value = ? WHERE id = ?", (names[total, count], string))
    database.commit()
    database.close()
    return len(lost)


def wanted_text(name):
    """nsys's own words; it names scripts where Tacho names reports."""
    text = re.sub(r"\[[^]]*/(\w+)\.py\]", r"[\1]", read(f"{FOLDER}/{name}/default_reports.txt"))
    return text.replace(f"{name}.sqlite", f"{name}.tacho")


def check_rules(name):
    """The tables of the rules; the words around them are ours."""
    blocks = re.findall(r"Processing \[[^]]*\] with \[[^]]*/(\w+)\.py\]\.\.\. \n((?:(?!Processing \[).*\n?)*)",
                        read(f"{FOLDER}/{name}/analyze.txt"))
    if sorted(rule for rule, _ in blocks) != sorted(known("analyze", "--help-rules")[:NSYS_RULES]):
        sys.exit(f"{name}: nsys ran other rules than there are: {[rule for rule, _ in blocks]}")
    for rule, expected in blocks:
        got = tacho("analyze", "-q", "-f", "csv", "-r", rule, f"{name}.tacho")
        if expected.startswith("SKIPPED"):
            check(f"{name} {rule}", "", got)
        elif not expected:  # nsys prints no table when there is nothing in it; ours then is a header
            check(f"{name} {rule}", 1, got.count("\n"))
        else:
            check(f"{name} {rule}", expected.rstrip("\n") + "\n", got)
    return len(blocks)


def check_words():
    """Found or not, a rule says what that means; a rule that there is not is an error that names the nearest."""
    found, nothing = (tacho("analyze", "-f", "nsys", "-r", rule, "mix.tacho") for rule in ("cuda_memcpy_sync", "cuda_memcpy_async"))
    check("advice", True, "cudaMemcpyAsync" in found.split("cudaMemcpy_v3020")[-1])
    check("no advice", True, "No asynchronous copy" in nothing and "pinned" not in nothing)
    check("rows of a rule", 3, tacho("analyze", "-q", "-f", "csv", "-r", "cuda_api_sync:rows=2", "mix.tacho").count("\n"))
    done = subprocess.run([TACHO, "analyze", "-r", "gpu_gap", "mix.tacho"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    check("a rule that there is not", (2, True), (done.returncode, b"gpu_gaps" in done.stderr))


def check_advice(name):
    """What the lists of nsys's rules cost, a replay tells: they are no findings of their own (tests/unit/analyze_advice.c has the figures)."""
    rows = json.loads(tacho("stats", "-q", "-f", "json", "-r", "advice_sum", f"{name}.tacho"))
    check(f"{name} lists that are no findings", set(), {row["Rule"] for row in rows} & set(known("analyze", "--help-rules")[:NSYS_RULES]))
    saved = [row["Saves per Step (ns)"] for row in rows if row["Confidence"]]
    check(f"{name} causes of a replay, the largest first", sorted(saved, reverse=True) + [""] * (len(rows) - len(saved)), [row["Saves per Step (ns)"] for row in rows])


def check_capture(name, reports):
    with open(f"{name}.sqlite", "wb") as out:
        out.write(gzip.open(f"{FOLDER}/{name}.sqlite.gz").read())
    restored = restore_names(name)
    tacho("import", f"{name}.sqlite", "-o", f"{name}.tacho")
    expected = sorted(file.split(".")[0] for file in os.listdir(f"{FOLDER}/{name}") if ".csv" in file)
    if not expected or not set(expected) <= set(reports):
        sys.exit(f"{name}: no tables to compare with, or tables of reports that there are not: {expected}")
    for report, got in tables(f"{name}.tacho", expected).items():
        check(f"{name} {report}", read(f"{FOLDER}/{name}/{report}.csv"), got)
    check(f"{name} on the terminal", wanted_text(name), tacho("stats", f"{name}.tacho"))
    rules = check_rules(name)
    check_advice(name)
    print(f"{name}: {len(expected)} reports, {rules} rules compared; {restored} names put back")


def check_round_trip(name, reports):
    """To SQLite and back: the tables stay the same, and so do the rows that SQL sees."""
    tacho("export", "-t", "sqlite", "-o", f"{name}.back.sqlite", f"{name}.tacho")
    ours, theirs = tables(f"{name}.tacho", reports), tables(f"{name}.back.sqlite", reports)
    for report in reports:
        check(f"{name} {report} after a round trip", ours[report], theirs[report])
    if sum(table != "" for table in ours.values()) < 10:
        sys.exit(f"{name}: hardly a table to compare after a round trip")
    queries = {
        "NVTX": "SELECT start, end, eventType, rangeId, category, color, coalesce(text, value), globalTid, domainId, uint64Value, int64Value,"
                " doubleValue, uint32Value, int32Value, floatValue FROM NVTX_EVENTS LEFT JOIN StringIds ON id = textId",
        "OSRT": "SELECT start, end, eventClass, globalTid, value, returnValue, nestingLevel, callchainId FROM OSRT_API JOIN StringIds ON id = nameId",
        "threads": "SELECT value, priority, globalTid FROM ThreadNames JOIN StringIds ON id = nameId",
    }
    for what, query in queries.items():
        theirs, ours = (list(sqlite3.connect(path).execute(query)) for path in (f"{name}.sqlite", f"{name}.back.sqlite"))
        if not theirs:
            sys.exit(f"{name}: the query for {what} finds nothing, so it tests nothing")
        check(f"{name}: rows of {what}", "\n".join(map(repr, theirs)), "\n".join(map(repr, ours)))


def check_nsys_itself(name):
    """nsys's own scripts, where nsys is installed (NSYS or the PATH), must make of our export what they made of theirs."""
    nsys = os.environ.get("NSYS") or shutil.which("nsys")
    if not nsys:
        print(f"{name}: SKIPPED, no nsys to read our export")
        return
    expected = sorted(file.split(".")[0] for file in os.listdir(f"{FOLDER}/{name}") if ".csv" in file)
    wanted = [word for report in expected for word in ("-r", report)]
    done = subprocess.run([nsys, "stats", "-q", "--force-overwrite", "true", "-f", "csv", "-o", f"{name}.nsys", *wanted, f"{name}.back.sqlite"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    check(f"{name}: nsys on our export", (0, ""), (done.returncode, "" if done.returncode == 0 else done.stdout.decode()))
    for report in expected:
        file = f"{name}.nsys_{report}.csv"
        got = read(file).rstrip() if os.path.exists(file) else "nothing"
        check(f"{name} {report} by nsys itself", read(f"{FOLDER}/{name}/{report}.csv").rstrip(), got)


def main():
    reports = known("stats", "--help-reports")
    lacking = set(THEIRS.split()) - set(reports)
    if lacking:
        sys.exit(f"reports of nsys that are not there: {sorted(lacking)}")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name in ("mix", "resnet18", "wait_stream"):
            check_capture(name, reports)
            check_round_trip(name, reports)
            check_nsys_itself(name)
        check_words()
        check_capture("mnist_like", reports)
    sys.exit(failures != 0)


main()
