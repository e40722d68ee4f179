"""Partial results in the tails of reports: a folder of reports that have them prints the bytes that it prints without.

The truth are nsys's files, which have none and are read row by row. Reports are made of them by `tacho import`, which keeps results. Then results, rows and index
are damaged. tests/unit/analyze_partials.c has those cases that need a hash: other versions, false results."""

import glob
import os
import random
import shutil
import subprocess
import sys
import tempfile

from lib import ALL, TACHO, check, job_files, run, status

CHUNK = b"TCHK"
PARTIAL = CHUNK + b"\5"
REPORTS = "cuda_gpu_kern_sum,cuda_api_sum,cuda_gpu_mem_time_sum,cuda_gpu_mem_size_sum,nvtx_sum,osrt_sum,mpi_event_sum"
REQUESTS = (["-q", "-f", "csv"], ["-q"], ["-q", "-f", "csv", "-r", REPORTS], ["-q", "-f", "csv", "-r", "cuda_gpu_kern_sum:rows=2,nvtx_sum:fold=true,cuda_gpu_kern_sum:base"],
            ["-q", "-f", "csv", "-r", REPORTS, "--filter-time", "0/1s"], ["-q", "-f", "csv", "-r", REPORTS, "--clock", "none"],
            ["-q", "-f", "csv", "-r", "osrt_sum,cuda_api_sum", "--by", "host"])
FLIPS = 400 if ALL else 40


def stats(words, folder):
    code, said, out = run("stats", *words, folder)
    return code, out, said


def answer(words, folder):
    code, out, said = stats(words, folder)
    check(f"{words} {folder}: {said}", (0, True), (code, len(out) > 200))
    return out


def places(data, begin):
    found = []
    at = data.find(begin)
    while at >= 0:
        found.append(at)
        at = data.find(begin, at + 1)
    return found


def rewrite(path, change):
    data = bytearray(open(path, "rb").read())
    change(data)
    with open(path, "wb") as file:
        file.write(data)


def copy(name):
    shutil.rmtree(name, ignore_errors=True)
    shutil.copytree("run", name)
    return sorted(glob.glob(name + "/*.tacho"))


def check_same(rows):
    for path in glob.glob("run/*.tacho"):
        check(f"{path} has results", True, len(places(open(path, "rb").read(), PARTIAL)) >= 4)
    for words in REQUESTS:
        check(f"{words}", answer(words, rows), answer(words, "run"))


def check_some(rows):
    """Results of some reports only: in the others each is damaged, or the index is gone."""
    def spoil(data):
        for at in places(data, PARTIAL):
            data[at + 50] ^= 255
    paths = copy("some")
    rewrite(paths[1], spoil)
    rewrite(paths[4], spoil)
    for words in REQUESTS:
        check(f"some: {words}", answer(words, rows), answer(words, "some"))
    rewrite(paths[2], lambda data: data.__delitem__(slice(len(data) - 48, None)))
    check("one without an index", answer(REQUESTS[2], rows), answer(REQUESTS[2], "some"))


def check_used():
    """Rows that cannot be read any more are not missed: the results are used. A filter needs the rows."""
    def spoil(data):
        for at in places(data, CHUNK + b"\2"):
            table, size = (int.from_bytes(data[at + first:at + end], "little") for first, end in ((6, 8), (12, 16)))
            if table and size > 1000:  # not the strings, which are needed to find out what a report is of
                data[at + 500] ^= 255
    expected = answer(REQUESTS[2], "run")
    for path in copy("used"):
        rewrite(path, spoil)
    code, out, _ = stats(["-q", "-f", "csv", "-r", "cuda_gpu_kern_sum,cuda_api_sum,osrt_sum"], "used")
    check("damaged rows", (0, answer(["-q", "-f", "csv", "-r", "cuda_gpu_kern_sum,cuda_api_sum,osrt_sum"], "run")), (code, out))
    _, out, said = stats(["-q", "-f", "csv", "-r", REPORTS, "--filter-time", "0/1s"], "used")
    check("rows are read", (True, True), ("is damaged" in said, out != expected))


def check_damage(rows):
    """Any byte of a result, of its header, or of the index behind it: without an index a report is read as one whose writer was killed."""
    expected = answer(REQUESTS[2], rows)
    chance = random.Random(18)
    for _ in range(FLIPS):
        paths = copy("damaged")
        for path in chance.sample(paths, 2):
            def flip(data):
                tail = places(data, PARTIAL)[0]
                for _ in range(chance.randrange(1, 4)):
                    data[chance.randrange(tail, len(data))] = chance.randrange(256)
            rewrite(path, flip)
        code, out, said = stats(REQUESTS[2], "damaged")
        check(f"damaged: {said}", (0, expected), (code, out))


def check_recorded():
    """Ranks that were recorded here, as a launcher starts them: with results, and with each of them damaged."""
    environment = {name: value for name, value in os.environ.items() if not name.endswith("RANK")}
    for rank in range(3):
        done = subprocess.run([TACHO, "profile", "-t", "osrt", "-s", "none", "--cpuctxsw=none", "-o", "ranks/", sys.executable, "-c",
                               f"import time\nfor i in range({20 + rank}): time.sleep(0.001)\nopen('x{rank}', 'w').write('y' * 100000)"],
                              env={**environment, "PMI_RANK": str(rank), "PMI_SIZE": "3"}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        check(f"recorded: {done.stderr}", 0, done.returncode)
    shutil.copytree("ranks", "ranks-rows")
    def spoil(data):
        found = places(data, PARTIAL)
        check("a rank has results", True, bool(found))
        for at in found:
            data[at + 50] ^= 255
    for path in glob.glob("ranks-rows/*.tacho"):
        rewrite(path, spoil)
    for words in (["-q", "-f", "csv"], ["-q"], ["-q", "-f", "csv", "-r", "osrt_sum", "--by", "rank"]):
        check(f"recorded: {words}", answer(words, "ranks-rows"), answer(words, "ranks"))


def main():
    rows = job_files("run")
    check_same(rows)
    check_some(rows)
    check_used()
    check_damage(rows)
    check_recorded()


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    main()
sys.exit(status())
