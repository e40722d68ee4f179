"""Runs programs one after another and writes what became of each: batch.py JOBS RESULTS, both JSON. tests/guest starts it bare and under
tacho, so that one capture serves for many programs, each a child of this one.

A job has a name, a command, variables to add to the environment and the seconds that its bare run took. A program that takes seconds longer
is run again, twice: a busy machine is slow once, a program that waits for something is slow each time."""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HUNG_SECONDS = 20
LONGER_SECONDS = 5


def files_in(folder):
    return sorted(os.path.relpath(os.path.join(place, name), folder) for place, _, names in os.walk(folder) for name in names)


def run_once(job, folder):
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder, 0o777)
    os.chmod(folder, 0o777)
    environment = dict(os.environ, **job.get("environment", {}))
    first = job.get("preload_first")
    if first:
        environment["LD_PRELOAD"] = ":".join(filter(None, [first, environment.get("LD_PRELOAD")]))
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        begin = time.monotonic()
        process = subprocess.Popen(job["command"], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr,
                                   start_new_session=True)
        try:
            status = process.wait(job.get("hung_seconds", HUNG_SECONDS))
        except subprocess.TimeoutExpired:
            status = "hung"
        seconds = time.monotonic() - begin
        try:
            os.killpg(process.pid, signal.SIGKILL)  # what is left of it, and a program that hangs
        except ProcessLookupError:
            pass
        process.wait()
        texts = []
        for file in (stdout, stderr):
            file.seek(0)
            texts.append(file.read().decode("utf-8", "surrogateescape"))
    return {"status": status, "stdout": texts[0], "stderr": texts[1], "seconds": seconds, "files": files_in(folder)}


def run(job, folder):
    result = run_once(job, folder)
    expected = job.get("seconds")
    for _ in range(2):
        if expected is None or result["status"] == "hung" or result["seconds"] < expected + LONGER_SECONDS:
            break
        again = run_once(job, folder)
        result["seconds"] = min(result["seconds"], again["seconds"])
    return result


def run_all(jobs, folder):
    return {job["name"]: run(job, folder) for job in jobs}


if __name__ == "__main__":
    with open(sys.argv[1]) as source:
        given = json.load(source)
    results = run_all(given["jobs"], given["folder"])
    with open(sys.argv[2], "w") as target:
        json.dump(results, target)
