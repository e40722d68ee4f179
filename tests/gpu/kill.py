"""SIGKILL in the midst of work: every record that CUPTI had delivered is in the report, the rest is recovered or counted.

programs/killed.cu says how it knows what was delivered. KILLS says how often (50); the moment is a different one each time."""
import os
import random
import signal
import statistics
import struct
import time
from concurrent.futures import ThreadPoolExecutor

import gpulib
import tools

LIMIT_SECONDS = 150
KILLS = int(os.environ.get("KILLS", "50"))
AT_ONCE = 4
LAST_NS = 500_000_000


class Notes:
    """What killed.cu notes: four numbers, then when each kernel was launched."""

    def __init__(self, path):
        self.path = path

    def head(self):
        try:
            with open(self.path, "rb") as file:
                return struct.unpack("4Q", file.read(32))  # launched, done, delivered, flushes
        except (OSError, struct.error):
            return 0, 0, 0, 0

    def since(self, ns, done):
        """Kernels that were launched at ns or later, up to those that were done."""
        with open(self.path, "rb") as file:
            file.seek(32)
            times = struct.unpack(f"{done}Q", file.read(8 * done))
        return {i for i in range(done) if times[i] >= ns}


def numbers(rows):
    """Which launches the kernels are, from their (gridX, blockX) in the order of launch: killed.cu counts up in them."""
    found, last, number = [], None, 0
    for grid, block in rows:
        value = (grid - 1) * 1024 + block - 1
        number = value if last is None else number + (value - last) % 65536
        last = value
        found.append(number)
    return found


def kill_child(process, when):
    """Kills the program that tacho runs, once when() says so; the moment in CLOCK_MONOTONIC, or None if it never came."""
    deadline = time.monotonic() + 40
    while not when():
        if time.monotonic() > deadline or process.poll() is not None:
            return None
        time.sleep(0.002)
    children = gpulib.lib.children(process.pid)
    moment = time.monotonic_ns()
    for child in children:
        os.kill(child, signal.SIGKILL)
    return moment


class Kill(gpulib.Case):
    def killed(self, number, command, when, flush=""):
        """Profiles a command and kills it: the moment, and its report."""
        output = f"report{number}.tacho"
        process = tools.start(self.command(*command, options=(*gpulib.CUDA, *flush.split()), output=output))
        try:
            moment = kill_child(process, when)
        except Exception:
            tools.end_group(process)
            raise
        done = tools.finish(process, time.monotonic(), 30 if moment else 0)
        self.assertIsNotNone(moment, f"the program never came so far: {done}")
        self.assertEqual(done.status, -signal.SIGKILL, f"how tacho ended: {done}")
        return moment, gpulib.Report(self.path(output))

    def one(self, number, program):
        notes = Notes(self.path(f"notes{number}"))
        wait = random.Random(number).uniform(0.1, 1.5)
        first = []

        def when():
            if notes.head()[2] and not first:
                first.append(time.monotonic())
            return first and time.monotonic() > first[0] + wait

        moment, report = self.killed(number, (program, notes.path), when)
        launched, done, delivered, flushes = notes.head()
        found = numbers(report.rows(f"SELECT gridX, blockX FROM {gpulib.KERNEL} ORDER BY correlationId"))
        held, last = set(found), notes.since(moment - LAST_NS, done)
        result = {"launched": launched, "done": done, "delivered": delivered, "flushes": flushes, "kernels": len(found), "twice": len(found) - len(held),
                  "delivered and missing": len(set(range(delivered)) - held), "never launched": sum(i > launched for i in held),
                  "last": len(last), "last held": len(last & held), "recovered": report.count("cuda", "recorded", "recovered"),
                  "launches without kernel": report.launches_without_kernel(), "said": report.finding("launch-without-kernel")}
        report.database.close()
        for name in (report.path, report.sqlite, notes.path):
            os.unlink(name)
        return result

    def test_what_was_delivered_is_in_the_report(self):
        program = tools.compiled("killed")
        with ThreadPoolExecutor(AT_ONCE) as pool:
            results = list(pool.map(lambda number: self.one(number, program), range(KILLS)))
        shares = [r["last held"] / r["last"] for r in results if r["last"]]
        self.figure("kills", len(results))
        self.figure("kernels launched, in all", sum(r["launched"] for r in results))
        self.figure("kernels surely delivered, in all", sum(r["delivered"] for r in results))
        self.figure("kernels finished in the last 500 ms, in all", sum(r["last"] for r in results))
        self.figure("of those in the report: least, median share", (round(min(shares), 4), round(statistics.median(shares), 4)) if shares else None)
        self.figure("records recovered from undelivered buffers, in all", sum(r["recovered"] for r in results))
        self.figure("launches without a kernel, in all", sum(r["said"] for r in results))
        for number, result in enumerate(results):
            self.assertGreater(result["flushes"], 0, f"kill {number} told nothing: {result}")
            self.assertEqual((result["delivered and missing"], result["twice"], result["never launched"]), (0, 0, 0), f"kill {number}: {result}")
            self.assertEqual(result["said"], result["launches without kernel"], f"kill {number}: {result}")

    def test_training_that_is_killed(self):
        self.need_torch()

        def one(number):
            path = self.path(f"steps{number}")

            def steps():
                try:
                    with open(path, "rb") as file:
                        return struct.unpack("Q", file.read(8))[0]
                except (OSError, struct.error):
                    return 0

            _, report = self.killed(number, (tools.PYTHON, tools.source("train_forever.py"), path), lambda: steps() > 500 + 100 * number)
            finished = steps()
            most = report.value(f"SELECT max(n) FROM (SELECT count(*) AS n FROM {gpulib.KERNEL} GROUP BY mangledName)")
            return finished, most, report.count("cuda", "recorded", "recovered"), report.finding("kernel-without-launch")

        with ThreadPoolExecutor(3) as pool:
            results = list(pool.map(one, range(3)))
        for finished, most, recovered, orphans in results:
            self.figure(f"{finished} steps finished: most frequent kernel, recovered records", (most, recovered))
            self.assertGreater(most, 0)
            self.assertEqual(orphans, 0, "kernels without a launch")


if __name__ == "__main__":
    gpulib.main()
