"""Folders with very many files: an answer or one sentence, with bounded memory and few descriptors."""

import gzip
import json
import os
import resource
import subprocess
import sys
import tempfile

from lib import HERE, TACHO, check, output, status, table

MOST = 32767
COUNT = "SELECT count(*) AS calls FROM CUPTI_ACTIVITY_KIND_RUNTIME"


def limited(descriptors, *arguments):
    """Status, what was printed, what was said, and the peak of memory in MB."""
    process = subprocess.Popen([TACHO, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors)))
    out, said = process.stdout.read(), process.stderr.read()
    _, code, used = os.wait4(process.pid, 0)
    return os.waitstatus_to_exitcode(code), out.decode(), said.decode(), used.ru_maxrss / 1000


def make(folder, count, content=None):
    os.mkdir(folder)
    for number in range(count):
        path = f"{folder}/r{number:06}.tacho"
        if content:
            os.link(content, path)
        else:
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY))


def check_too_many():
    make("huge", 100_000)
    for command in ("info", "stats"):
        code, out, said, megabytes = limited(256, command, "huge")
        check(f"{command}: one sentence", (1, "", 1), (code, out, said.count("\n")))
        check(f"{command}: it says how many: {said}", True, "100000 reports are too many to read as one: the most is 32767" in said)
        check(f"{command}: memory: {megabytes} MB", True, megabytes < 150)


def check_many(one):
    """More reports than descriptors, each of them read."""
    make("many", 600, one)
    calls = json.loads(output("sql", "-f", "json", one, COUNT))[0]["calls"]
    code, out, said, megabytes = limited(64, "sql", "-f", "json", "many", COUNT)
    check(f"600 reports: {said}", (0, [{"calls": 600 * calls}]), (code, json.loads(out or "[]")))
    check(f"600 reports: memory: {megabytes} MB", True, megabytes < 600)
    code, out, said, _ = limited(64, "stats", "-q", "-f", "json", "-r", "cuda_api_sum", "many")
    of_one = {row["Name"]: row["Num Calls"] for row in table("cuda_api_sum", one)}
    check(f"600 reports: {said}", {name: 600 * count for name, count in of_one.items()}, {row["Name"]: row["Num Calls"] for row in json.loads(out or "[]")})


def check_unreadable(one):
    make("bad", 2000)
    os.link(one, "bad/a.tacho")
    code, out, said, _ = limited(64, "sql", "-f", "json", "bad", COUNT)
    check("the one that can be read is answered", (0, json.loads(output("sql", "-f", "json", one, COUNT))), (code, json.loads(out or "[]")))
    check(f"some of the others are named: {said}", (16, True), (said.count("is too short to be a report"), "1984 more files cannot be read as reports" in said))
    check("few lines", True, said.count("\n") < 25)


def main():
    with open("one.sqlite", "wb") as out:
        out.write(gzip.open(f"{HERE}/nsys/wait_stream.sqlite.gz").read())
    output("import", "-q", "-o", "one.tacho", "one.sqlite")
    check_too_many()
    check_many("one.tacho")
    check_unreadable("one.tacho")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    main()
sys.exit(status())
