"""Recorded + below threshold + untimed + lost = produced, exactly, whatever happens. The program counts for itself."""
import errno
import platform
import re
import unittest

import lib


SHARE = 10 if lib.SANITIZE else 1  # the collector is many times slower there


class Counts(lib.Case):
    def numbers(self):
        found = dict(re.findall(r"^(nvtx|osrt) (\d+)$", self.output.stdout, re.MULTILINE))
        return int(found["nvtx"]), int(found["osrt"])

    def measure(self, *arguments, options=()):
        """(made by the program, produced by the report's account) for both sources, and the report."""
        report = self.profile(lib.program("counts"), *map(str, arguments), options=["-t", "nvtx,osrt", *options])
        self.rows_agree(report)
        nvtx, osrt = self.numbers()
        return nvtx, osrt, report

    def rows_agree(self, report):
        """The account's word "recorded" means rows."""
        ranges = report.value("SELECT count(*) FROM NVTX_EVENTS WHERE eventType IN (34, 59, 60)") if report.has("NVTX_EVENTS") else 0
        calls = report.value(f"SELECT count(*) FROM OSRT_API WHERE {report.returned()}") if report.has("OSRT_API") else 0
        self.assertEqual((report.count("nvtx", "recorded"), report.count("osrt", "recorded")), (ranges, calls))
        short = report.value("SELECT sum(count) FROM TACHO_SHORT_CALL") if report.has("TACHO_SHORT_CALL") else 0
        self.assertEqual(report.count("osrt", "below-threshold"), short, "calls below the threshold are counted by function, too")

    def compare(self, empty, arguments, options=()):
        """The same program with less to do shows what its start costs; the rest must be exact."""
        nvtx_base, osrt_base, base = self.measure(*empty, options=options)
        nvtx, osrt, report = self.measure(*arguments, options=options)
        self.assertEqual(base.produced("nvtx"), nvtx_base)
        self.assertEqual(report.produced("nvtx"), nvtx)
        self.assertEqual(report.produced("osrt") - base.produced("osrt"), osrt - osrt_base)
        return report

    def test_plenty_of_room(self):
        report = self.compare(("burst", 2, 0, 8), ("burst", 2, 5000, 8), options=["--osrt-threshold", "0"])
        self.assertEqual(report.count("nvtx", "lost"), 0)
        self.assertEqual(report.count("osrt", "lost"), 0)
        self.assertEqual(report.count("nvtx", "recorded"), 40000)

    def test_below_threshold(self):
        report = self.compare(("burst", 2, 0, 8), ("burst", 2, 5000, 8), options=["--osrt-threshold", "1000000000"])
        self.assertGreaterEqual(report.count("osrt", "below-threshold") + report.count("osrt", "untimed"), 40000)
        self.assertEqual(report.count("osrt", "lost"), 0)

    def test_tiny_buffer(self):
        report = self.compare(("burst", 4, 0, 1000), ("burst", 4, 50000 // SHARE, 1000), options=["--osrt-threshold", "0", "--buffer-limit", "4M"])
        self.assertGreater(report.count("nvtx", "lost", "buffer-full"), 0)
        self.assertGreater(report.count("nvtx", "recorded"), 0)

    def test_more_threads_than_chunks(self):
        self.compare(("burst", 32, 0, 100), ("burst", 32, 1000, 100), options=["--osrt-threshold", "0", "--buffer-limit", "4M"])

    def test_signals(self):
        report = self.compare(("signals", 2, 0), ("signals", 2, 3000 // SHARE), options=["--osrt-threshold", "0"])
        self.assertEqual([report.count(source, "lost") for source in ("nvtx", "osrt", "notes")], [0, 0, 0])

    @unittest.skipUnless(platform.machine() == "x86_64", "the processor has no trap flag")
    @unittest.skipIf(lib.SANITIZE, "the sanitizer's own code must not be interrupted")
    def test_a_handler_at_each_instruction(self):
        """Also while the agent writes a record, or takes a chunk: the handler is recorded, and so is what it has interrupted."""
        report = self.compare(("steps", 1, 0, 2000), ("steps", 1, 20, 2000), options=["--osrt-threshold", "0"])
        steps = int(re.search(r"^steps (\d+)$", self.output.stdout, re.MULTILINE).group(1))
        self.assertGreater(steps, 20000)
        self.assertEqual([report.count(source, "lost") for source in ("nvtx", "osrt", "notes")], [0, 0, 0])
        name = "coalesce(text, (SELECT value FROM StringIds WHERE id = textId))"
        found = dict(((kind, text[:14]), (count, closed)) for kind, text, count, closed in report.rows(
            f"SELECT eventType, {name} AS name, count(*), count(CASE WHEN end >= start THEN 1 END) FROM NVTX_EVENTS GROUP BY eventType, name"))
        self.assertEqual(found, {(59, "in the handler"): (steps, steps), (34, "in the handler"): (steps, 0), (59, "x" * 14): (20, 20),
                                 (59, "inner"): (20, 20), (34, "x" * 14): (20, 0), (60, "start and end"): (20, 20)})
        self.assertEqual((report.calls()["read"], report.calls()["write"]), (steps + 20, 20))
        levels = dict(report.rows("SELECT nestingLevel, count(*) FROM OSRT_API WHERE nameId = (SELECT id FROM StringIds WHERE value = 'read') "
                                  "GROUP BY nestingLevel"))
        self.assertEqual(set(levels), {0, 1}, "the handler's calls are nested in those that it interrupts")

    @unittest.skipUnless(platform.machine() == "x86_64", "the processor has no trap flag")
    @unittest.skipIf(lib.SANITIZE, "the sanitizer's own code must not be interrupted")
    def test_a_jump_from_each_instruction(self):
        """Out of a mark and a read: the next ones are whole, and no call is taken for one inside the call that was left."""
        report = self.profile(lib.program("counts"), "leaps", "1", "400",
                              options=["-t", "nvtx,osrt", "--osrt-threshold", "0", "--osrt-backtrace-threshold", "1000000000"])
        self.assertIn("leaps 400", self.output.stdout.splitlines())
        name = "coalesce(text, (SELECT value FROM StringIds WHERE id = textId))"
        marks = dict(report.rows(f"SELECT {name} AS name, count(*) FROM NVTX_EVENTS GROUP BY name"))
        self.assertEqual((marks["first"], marks["after the leap"]), (2, 400))
        self.assertIn(marks["left"], range(1, 400), "some were whole")
        reads = report.rows("SELECT returnValue, nestingLevel, count(*) FROM OSRT_API WHERE nameId = (SELECT id FROM StringIds WHERE value = 'read') "
                            "GROUP BY returnValue, nestingLevel")
        self.assertEqual([(value, level) for value, level, _ in reads], [(0, 0), (1, 0)])
        self.assertEqual(reads[0][2], 400)
        self.assertEqual(report.count("nvtx", "lost"), 0)

    def test_signals_with_a_tiny_buffer(self):
        self.compare(("signals", 3, 0), ("signals", 3, 3000 // SHARE), options=["--osrt-threshold", "0", "--buffer-limit", "4M"])

    def test_fork(self):
        report = self.compare(("fork", 4, 0), ("fork", 4, 2000), options=["--osrt-threshold", "0"])
        self.assertEqual(report.count("nvtx", "lost"), 0)
        pids = report.value("SELECT count(DISTINCT globalPid) FROM TACHO_COUNT WHERE source = 'nvtx' AND count > 0")
        self.assertEqual(pids, 5)

    def test_threads_that_emit_to_their_last_breath(self):
        report = self.compare(("churn", 100, 0), ("churn", 100, 20), options=["--osrt-threshold", "0"])
        self.assertEqual(report.count("nvtx", "lost", "buffer-full"), 0)

    def test_calls_left_by_a_jump(self):
        self.compare(("jumps", 1, 0), ("jumps", 1, 1000), options=["--osrt-threshold", "0"])

    def test_records_left_by_a_jump(self):
        """One that the handler has interrupted is lost, and counted; the thread goes on recording."""
        report = self.profile(lib.program("counts"), "left", "1", "1000")
        marks = report.value("SELECT count(*) FROM NVTX_EVENTS WHERE coalesce(text, (SELECT value FROM StringIds WHERE id = textId)) = 'after the jumps'")
        if report.count("nvtx", "lost", "buffer-full") == 0:  # no one waits for a collector that falls behind
            self.assertEqual(marks, 1000)
        self.assertGreater(report.count("notes", "lost", "in-signal"), 0)
        self.assertEqual(report.count("nvtx", "lost", "in-signal"), 0)

    def test_cancelled_threads(self):
        report = self.compare(("cancel", 1, 0), ("cancel", 1, 100), options=["--osrt-threshold", "0"])
        self.assertEqual(report.count("osrt", "lost"), 0)
        cancelled = report.value("SELECT count(*) FROM OSRT_API WHERE returnValue = -1 AND errnoValue = ?", errno.ECANCELED)
        self.assertEqual(cancelled, 100, "each was inside one read when it was cancelled")

    def test_capture_range_off_and_on(self):
        options = ["-c", "nvtx", "-p", "capture", "--capture-range-end", "repeat", "--osrt-threshold", "0"]
        nvtx, osrt, report = self.measure("capture", 5, 1000, options=options)
        self.assertEqual(nvtx, 5000)
        marks = dict(report.rows("SELECT coalesce(text, (SELECT value FROM StringIds WHERE id = textId)) AS name, count(*) "
                                 "FROM NVTX_EVENTS WHERE eventType = 34 GROUP BY name"))
        self.assertEqual(marks, {"inside": 5000})
        self.assertEqual(report.calls().get("read", 0), osrt)
        self.assertEqual(report.calls().get("write", 0), 0)
        # The range that is the capture may count, its own five times; nothing else may.
        self.assertIn(report.produced("nvtx"), (5000, 5005))
        self.assertEqual(report.count("nvtx", "lost"), 0)


if __name__ == "__main__":
    lib.main()
