"""The collector is killed at random moments, or its report is read while it grows: what was sampled five seconds before is there, with its
stacks, and its threads have names. `info` and `recover` say what is missing. unit/collect_stacks checks the same without a clock."""
import json
import mmap
import os
import random
import signal
import subprocess
import time

import lib

SEED = 20261116
MOMENTS = 20
AT_ONCE = 5
LAG_S = 5
SECOND_NS = 1_000_000_000
FIRST_S, LAST_S = LAG_S + 2, LAG_S + 6  # when they are killed: by then there are samples of that age
SHARE = 0.95
FRAMES = {"innermost", "inner", "outer", "compute"}


class Capture:
    """A capture of killed_stacks, until it is ended."""

    def __init__(self, case, name):
        self.case, self.name, self.begun = case, name, time.monotonic()
        with open(case.path(name + ".stop"), "wb") as file:
            file.write(bytes(mmap.PAGESIZE))
        with open(case.path(name + ".stop"), "r+b") as file:
            self.stop = mmap.mmap(file.fileno(), mmap.PAGESIZE)
        self.tacho = subprocess.Popen(case.command(lib.program("killed_stacks"), case.path(name + ".stop"), output=name), stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL, start_new_session=True)
        case.addCleanup(self.end)

    def end(self):
        self.stop[0] = 1
        lib.end_group(self.tacho)

    def info(self):
        done = subprocess.run([lib.TACHO, "info", self.case.path(self.name)], capture_output=True, text=True)
        self.case.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def samples(self, report):
        """Of each sample: its time, and the functions of its stack."""
        found = {}
        for sample, start in report.rows("SELECT id, start FROM COMPOSITE_EVENTS"):
            found[sample] = (start, set())
        if report.has("SAMPLING_CALLCHAINS"):
            for sample, symbol in report.rows("SELECT SAMPLING_CALLCHAINS.id, value FROM SAMPLING_CALLCHAINS JOIN StringIds ON StringIds.id = symbol"):
                found[sample][1].add(symbol)
        return list(found.values())


class KilledStacks(lib.Case):
    samples = True

    def setUp(self):
        if lib.SANITIZE:
            self.skipTest("five seconds are what the plain collector promises, and sanitizers make it several times as slow")
        super().setUp()

    def check(self, capture, report, now_ns):
        """now_ns: the moment in CLOCK_MONOTONIC until which the collector had time. How many samples are old enough."""
        samples = capture.samples(report)
        until = now_ns - LAG_S * SECOND_NS + report.value("SELECT timestamp - monotonicNs FROM TACHO_CLOCK LIMIT 1")
        old = [(start, functions) for start, functions in samples if start < until]
        self.assertTrue(old, f"{capture.name}: none of {len(samples)} samples is older than {LAG_S} s")
        first = min(start for start, _ in old)
        self.assertEqual({int(until - start) // SECOND_NS for start, _ in old}, set(range(int(until - first) // SECOND_NS + 1)),
                         f"{capture.name}: the seconds with samples, back from {LAG_S} s before the end")
        # Between its loops the program sleeps: the slower the machine, the more samples are of that.
        named = sum("compute" in functions for _, functions in old)
        deep = [functions for _, functions in old if "innermost" in functions]
        whole = sum(FRAMES <= functions for functions in deep)
        some = sum(bool(functions) for _, functions in old)
        self.assertGreaterEqual(some, SHARE * len(old), f"{capture.name}: stacks of {some} of {len(old)} samples")
        self.assertGreaterEqual(named, SHARE * 0.9 * len(old), f"{capture.name}: {named} of {len(old)} stacks have the program's function")
        self.assertGreater(len(deep), len(old) / 2)
        self.assertGreaterEqual(whole, SHARE * len(deep), f"{capture.name}: {whole} of {len(deep)} stacks have all functions of the program")
        done = subprocess.run([lib.TACHO, "stats", "-r", "sched_sum", "-f", "csv", self.path(capture.name)], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in ("first thread", "second thread"):
            self.assertIn(name, done.stdout)
        return len(old)

    def missing(self, capture, report):
        """What info says is missing is what is missing."""
        samples = capture.samples(report)
        without = sum(not functions for _, functions in samples)
        if without:
            self.assertIn(f"{without:,} of {len(samples):,} samples", capture.info())
        done = subprocess.run([lib.TACHO, "info", "-f", "json", self.path(capture.name)], capture_output=True, text=True)
        missing = [row for row in json.loads(done.stdout)[0]["missing_stacks"] if row["table"] == "COMPOSITE_EVENTS"]
        self.assertEqual([(row["without_stack"], row["events"]) for row in missing], [(without, len(samples))] if without else [])

    def kill(self, numbers):
        """Captures that begin together and are killed one after the other; how many old samples each had."""
        chance = random.Random(f"{SEED}/{numbers}")
        captures = [Capture(self, f"killed{number}.tacho") for number in numbers]
        killed = []
        for capture, moment in zip(captures, sorted(chance.uniform(FIRST_S, LAST_S) for _ in numbers)):
            time.sleep(max(0, capture.begun + moment - time.monotonic()))  # the random moment
            self.assertIsNone(capture.tacho.poll())
            killed.append(time.monotonic_ns())
            os.kill(capture.tacho.pid, signal.SIGKILL)
            capture.tacho.wait()
            capture.end()
        checked = []
        for capture, moment_ns in zip(captures, killed):
            report = self.report(capture.name)
            checked.append(self.check(capture, report, moment_ns))
            self.missing(capture, report)
        return checked

    def test_killed(self):
        checked = []
        for first in range(0, MOMENTS, AT_ONCE):
            checked += self.kill(range(first, min(first + AT_ONCE, MOMENTS)))
        self.assertEqual(len(checked), MOMENTS)
        print(f"samples older than {LAG_S} s: {checked}")

    def test_read_while_it_grows(self):
        capture = Capture(self, "growing.tacho")
        for age_s in (FIRST_S, FIRST_S + 1):
            time.sleep(max(0, capture.begun + age_s - time.monotonic()))  # it grows
            self.assertIsNone(capture.tacho.poll())
            now_ns = time.monotonic_ns()
            report = self.report(capture.name)
            self.check(capture, report, now_ns)
            report.database.close()
            os.unlink(self.path(capture.name + ".sqlite"))
        capture.stop[0] = 1
        self.assertEqual(capture.tacho.wait(60), 0)
        report = self.report(capture.name)
        samples = capture.samples(report)
        self.assertGreaterEqual(sum(FRAMES <= functions for _, functions in samples), SHARE * 0.9 * len(samples))
        self.assertNotIn("have no stack", capture.info())
        self.assertEqual(report.value("SELECT count(DISTINCT globalPid) FROM TACHO_PROCESS"), 1, "children of tacho itself are none of the program's")


if __name__ == "__main__":
    lib.main()
