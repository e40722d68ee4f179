"""CUPTI that misbehaves: what it loses or makes up is counted and told, and all else is in the report. On the stand-ins of CUDA."""
import os
import sys

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests", "fake"))
import fakelib


class Truth(fakelib.Case):
    """Where launches and kernels do not fit, the report says so, and so does the end of profile."""

    def test_all_fits(self):
        report = self.cuda("cuda_end", "return", 50)
        self.assertEqual(fakelib.findings(report), {})
        self.assertNotRegex(self.output.stderr, "no kernel|no launch|before")

    def test_launches_without_a_kernel(self):
        report = self.cuda("cuda_end", "return", 50, settings={"skip_records": 7})
        self.assertEqual(fakelib.kernels(report), {"work": 43})
        self.assertEqual(fakelib.findings(report)["launch-without-kernel"], 7)
        self.assertRegex(self.output.stderr, "7 launches have no kernel")

    def test_kernels_without_a_launch(self):
        report = self.cuda("cuda_end", "return", 50, settings={"orphans": 3})
        self.assertEqual(fakelib.kernels(report), {"work": 50})
        self.assertEqual(fakelib.findings(report)["kernel-without-launch"], 3)
        self.assertEqual(fakelib.findings(report)["launch-without-kernel"], 3)

    def test_kernels_before_their_launch(self):
        report = self.cuda("cuda_end", "return", 5, settings={"early_ns": 5_000_000_000})
        self.assertEqual(fakelib.findings(report)["kernel-before-launch"], 5)

    def test_dropped_records(self):
        report = self.cuda("cuda_end", "return", 50, settings={"drop_records": 11})
        self.assertEqual(report.count("cuda", "lost", "cupti-dropped"), 11)
        self.assertRegex(self.output.stderr, "11")


class Buffers(fakelib.Case):
    def test_unknown_kinds_in_between(self):
        """A record of a kind that nobody knows does not hide those behind it."""
        report = self.cuda("cuda_end", "return", 50, settings={"unknown_kinds": 5})
        self.assertEqual(fakelib.kernels(report), {"work": 50})

    def test_buffers_that_are_full(self):
        """100000 records: many buffers, none of which a record fits exactly."""
        report = self.cuda("cuda_work", "threads", 2, 20000)
        self.assertEqual(fakelib.kernels(report), {"threaded": 40000})
        self.assertGreater(self.counters()["completions"], 4)
        self.assertEqual(fakelib.findings(report), {})

    def test_flush_interval(self):
        """How often CUPTI is asked for its records while the program runs: often, or next to never before it ends. None is lost either way."""
        def runs(seconds, interval):
            report = self.cuda("cuda_work", "clock", int(1000 * seconds), options=[f"--cuda-flush-interval={interval}"])
            self.assertEqual(fakelib.kernels(report), {"tick": len(self.truth("kernel"))})
            self.assertLessEqual(self.counters()["flushes"], 1000 * seconds if interval == 10 else 1)
            return report

        runs(1, 3600000)
        self.until_recorded(1, lambda seconds: runs(seconds, 10), lambda _: self.counters()["flushes"] >= 10)

    def test_sixteen_threads(self):
        report = self.cuda("cuda_work", "threads", 16, 1500)
        self.assertEqual(fakelib.kernels(report), {"threaded": 24000})
        self.assertEqual(report.value("SELECT count(DISTINCT streamId) FROM CUPTI_ACTIVITY_KIND_KERNEL"), 16)
        self.assertEqual(report.produced("cuda"), report.count("cuda", "recorded"))

    def test_pool_is_spent(self):
        """CUPTI gives nothing back, and there is no more room: what it drops is counted, and the program goes on."""
        report = self.cuda("cuda_work", "threads", 4, 50000, options=["--buffer-limit=4M"], settings={"hold": 1})
        self.assertGreater(self.counters()["refused_requests"], 0)
        self.assertLess(sum(fakelib.kernels(report).values()), 200000)
        self.assertGreater(report.count("cuda", "lost"), 0)
        self.assertRegex(self.output.stderr, r"(?i)incomplete: [\d,]+ of [\d,]+ CUDA records lost \(")

    def test_pool_is_spent_and_cupti_cannot_bear_it(self):
        """Before 12.9 CUPTI must get a buffer: the records in it are lost, and counted. Each launch has two, the call's and the kernel's."""
        report = self.cuda("cuda_work", "threads", 4, 50000, options=["--buffer-limit=4M"], settings={"hold": 1},
                           variables={"TACHO_CUPTI": fakelib.cupti("12.4")})
        self.assertEqual(self.counters()["refused_requests"], 0)
        self.assertGreater(report.count("cuda", "lost", "gpu-buffer-full"), 0)
        self.assertGreaterEqual(report.produced("cuda"), 2 * 4 * 50000)


if __name__ == "__main__":
    fakelib.main()
