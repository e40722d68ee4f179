#!/usr/bin/env python3
"""Runs the tests of this folder on a host with a GPU, and counts them at the end: tests/gpu/run.py [NAME …] [--results FOLDER]

Files that need not have the GPU for themselves run beside each other, the others (ALONE) after them. Each file has its time
limit, and all together have one; what does not end in time counts as failed. Results are written to FOLDER/tests.json as they
come. Needs Python, nvcc for the C++ programs, and TACHO (the program) or a build; PyTorch and nsys where they are."""
import argparse
import glob
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

import tools

SHARED = ("run", "tools", "gpulib", "facts")  # no tests
LONG = ("tensor_cores",)  # needs ncu and minutes, and runs only if it is named


def descendants(pid):
    """Processes that it started, and that these started."""
    try:
        found = [int(child) for task in os.listdir(f"/proc/{pid}/task") for child in open(f"/proc/{pid}/task/{task}/children").read().split()]
    except OSError:
        return []
    return found + [one for child in found for one in descendants(child)]


class File:
    """A file of tests, and its process."""

    def __init__(self, path, folder):
        with open(path) as file:
            text = file.read()
        self.path, self.name = path, os.path.splitext(os.path.basename(path))[0]
        self.limit = int((re.findall(r"^LIMIT_SECONDS = (\d+)", text, re.M) or [60])[0])
        self.alone = bool(re.search(r"^ALONE = True", text, re.M))
        self.results, self.log = os.path.join(folder, self.name + ".jsonl"), os.path.join(folder, self.name + ".log")
        self.process = self.deadline = None
        self.shown = 0

    def start(self, deadline):
        self.began = time.monotonic()
        self.deadline = min(self.began + self.limit, deadline)
        with open(self.log, "w") as log:
            self.process = subprocess.Popen([sys.executable, self.path], stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                                            env={**os.environ, "RESULTS": self.results, "PYTHONUNBUFFERED": "1"}, start_new_session=True)

    def ended(self):
        """Ended by itself, or just now because its time is over."""
        if self.process.poll() is not None:
            return True
        if time.monotonic() < self.deadline:
            return False
        for pid in (self.process.pid, *descendants(self.process.pid)):  # some lead groups of their own, and would load the GPU for the next file
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()
        return True

    def show(self):
        """Tests that ended since the last time."""
        for test in self.tests()[self.shown:]:
            self.shown += 1
            print(f"{test['result']:8}{self.name} {test['test']} ({test['seconds']} s)" + "".join(f"\n        {k}: {v}" for k, v in test["figures"].items()), flush=True)

    def tests(self):
        """What is known of its tests; the file itself counts as one that failed if it did not come to its end."""
        found = []
        if os.path.exists(self.results):
            with open(self.results) as file:
                found = [json.loads(line) for line in file if line.endswith("\n")]
        status = self.process.poll()
        untold = status not in (None, 0, 77) and not any(test["result"] == "failed" for test in found)
        if status is not None and (status < 0 or untold or not found):
            found.append({"file": self.name, "test": self.name, "result": "failed", "seconds": round(time.monotonic() - self.began, 1), "figures": {},
                          "why": "ran out of time" if status == -signal.SIGKILL else f"ended with status {status} and without a result"})
        return found


def keep(folder, files):
    if folder:
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, "tests.json")
        with open(path + ".new", "w") as file:
            json.dump([test for one in files if one.process for test in one.tests()], file, indent=1)
        os.replace(path + ".new", path)
        with open(os.path.join(folder, "tests.log"), "w") as log:
            for one in files:
                if os.path.exists(one.log):
                    with open(one.log, errors="replace") as text:
                        log.write(f"==== {one.name}\n{text.read()}\n")


def run(files, deadline, jobs, results):
    """So many at a time; those that must be alone come last, one by one."""
    waiting, running = sorted(files, key=lambda one: one.alone), []
    while waiting or running:
        while waiting and len(running) < (1 if waiting[0].alone else jobs) and not any(one.alone for one in running):
            one = waiting.pop(0)
            one.start(deadline)
            running.append(one)
        for one in [one for one in running if one.ended()]:
            running.remove(one)
            one.show()
            if any(test["result"] == "failed" for test in one.tests()):
                with open(one.log, errors="replace") as log:
                    print(f"==== {one.name}, {time.monotonic() - one.began:.0f} s\n{log.read().strip()}\n====", flush=True)
            keep(results, files)
        for one in running:
            one.show()
        time.sleep(0.2)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="files to run, without .py (default: all but long ones)")
    parser.add_argument("--results", metavar="FOLDER", help="where tests.json and tests.log go")
    parser.add_argument("--jobs", type=int, default=4, help="files beside each other (4)")
    parser.add_argument("--budget", type=float, default=540, metavar="SECONDS", help="for all together (540)")
    options = parser.parse_args()
    paths = sorted(glob.glob(os.path.join(tools.HERE, "*.py")))
    known = {os.path.splitext(os.path.basename(path))[0]: path for path in paths}
    unknown = [name for name in options.names if name not in known or name in SHARED]
    if unknown:
        parser.error(f"there is no file of tests called {unknown[0]}")
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        files = [File(known[name], folder) for name in known if name not in SHARED and (name in options.names if options.names else name not in LONG)]
        run(files, began + options.budget, options.jobs, options.results)
        tests = [test for one in files for test in one.tests()]
    for result in ("skipped", "failed"):
        for test in tests:
            if test["result"] == result:
                print(f"{result}: {test['file']} {test['test']}: {test['why'].strip().splitlines()[-1] if test['why'].strip() else ''}")
    counts = {result: sum(test["result"] == result for test in tests) for result in ("passed", "skipped", "failed")}
    print(f"\n{len(tests)} tests in {time.monotonic() - began:.0f} s: {counts['passed']} passed, {counts['skipped']} skipped, {counts['failed']} failed")
    sys.exit(1 if counts["failed"] or not tests else 0)


main()
