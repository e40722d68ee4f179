"""Runs programs one after another and writes what became of each: batch.py JOBS RESULTS, both JSON. tests/guest starts it bare and under
tacho, so that one capture serves for many programs, each a child of this one.

A job has a name, a command, variables to add to the environment and the times of its bare run. A program that waits seconds longer is run
again, twice: a busy machine is slow once, a program that waits for something is slow each time. CPU time is no wait: recording costs some. Seconds are
counted in short sleeps of a thread, which take longer on a machine that is busy or stands still, too."""
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

HUNG_SECONDS = 20
LONGER_SECONDS = 5
LONGER_TIMES = 4  # with CPU time


def files_in(folder):
    return sorted(os.path.relpath(os.path.join(place, name), folder) for place, _, names in os.walk(folder) for name in names)


def cpu_seconds():
    """Of all children that were waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class Ticks(threading.Thread):
    """Counts seconds in sleeps from its start to its end."""
    EACH = 0.01

    def __init__(self):
        super().__init__(daemon=True)
        self.count, self.is_over = 0, False

    def run(self):
        while not self.is_over:
            time.sleep(self.EACH)
            self.count += 1

    def stop(self):
        self.is_over = True
        self.join()
        return self.count * self.EACH


def is_longer(times, bare):
    return times["waited"] >= bare["waited"] + LONGER_SECONDS or times["seconds"] >= LONGER_TIMES * bare["seconds"] + LONGER_SECONDS


def run_once(job, folder):
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder, 0o777)
    os.chmod(folder, 0o777)
    environment = dict(os.environ, **job.get("environment", {}))
    first = job.get("preload_first")
    if first:
        environment["LD_PRELOAD"] = ":".join(filter(None, [first, environment.get("LD_PRELOAD")]))
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        ticks, cpu_before = Ticks(), cpu_seconds()
        ticks.start()
        process = subprocess.Popen(job["command"], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr,
                                   start_new_session=True)
        try:
            status = process.wait(job.get("hung_seconds", HUNG_SECONDS))
        except subprocess.TimeoutExpired:
            status = "hung"
        seconds = ticks.stop()
        try:
            os.killpg(process.pid, signal.SIGKILL)  # what is left of it, and a program that hangs
        except ProcessLookupError:
            pass
        process.wait()
        waited = max(seconds - (cpu_seconds() - cpu_before), 0.0)
        texts = []
        for file in (stdout, stderr):
            file.seek(0)
            texts.append(file.read().decode("utf-8", "surrogateescape"))
    return {"status": status, "stdout": texts[0], "stderr": texts[1], "times": {"seconds": seconds, "waited": waited}, "files": files_in(folder)}


def run(job, folder):
    result = run_once(job, folder)
    bare = job.get("times")
    for _ in range(2):
        if bare is None or result["status"] == "hung" or not is_longer(result["times"], bare):
            break
        again = run_once(job, folder)["times"]
        result["times"] = {name: min(value, again[name]) for name, value in result["times"].items()}
    return result


def run_all(jobs, folder):
    return {job["name"]: run(job, folder) for job in jobs}


if __name__ == "__main__":
    with open(sys.argv[1]) as source:
        given = json.load(source)
    results = run_all(given["jobs"], given["folder"])
    with open(sys.argv[2], "w") as target:
        json.dump(results, target)
