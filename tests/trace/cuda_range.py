"""Captures of a part of a program: what the GPU does outside is not recorded. On the stand-ins of CUDA."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests", "fake"))
import fakelib


class Ranges(fakelib.Case):
    def kernels(self, how, ranges, *options, **more):
        more.setdefault("stdin", subprocess.DEVNULL)
        report = self.cuda("cuda_range", how, ranges, options=["-c", "cudaProfilerApi", *options], **more)
        self.last = report
        return fakelib.kernels(report)

    def test_entry_points(self):
        for how in ("runtime", "driver", "dlsym"):
            with self.subTest(how=how):
                self.assertEqual(self.kernels(how, 1, "--capture-range-end=stop"), {"inside_0": 1})
                self.assertEqual(self.last.rows("SELECT cause FROM TACHO_RANGE"), [("cudaProfilerApi",)])

    def test_without_preload(self):
        for how in ("runtime", "driver", "dlsym"):
            with self.subTest(how=how):
                self.assertEqual(self.kernels(how, 1, "--capture-range-end=stop", "--preload=no"), {"inside_0": 1})

    def test_end_none(self):
        self.assertEqual(self.kernels("runtime", 2, "--capture-range-end=none"), {"inside_0": 1, "after_0": 1, "inside_1": 1, "after_1": 1})

    def test_end_stop(self):
        self.assertEqual(self.kernels("runtime", 3, "--capture-range-end=stop"), {"inside_0": 1})
        self.assertIn("done\n", self.output.stdout)

    def test_end_stop_shutdown(self):
        """The default. stdin stays open, so the program would wait for ever."""
        read_end, write_end = os.pipe()
        self.addCleanup(os.close, write_end)
        self.addCleanup(os.close, read_end)
        self.assertEqual(self.kernels("runtime", 1, stdin=read_end), {"inside_0": 1})

    def test_end_repeat(self):
        self.assertEqual(self.kernels("runtime", 3, "--capture-range-end=repeat"), {f"inside_{i}": 1 for i in range(3)})
        self.assertEqual(len(self.last.rows("SELECT cause FROM TACHO_RANGE")), 3)

    def test_end_repeat_some_times(self):
        self.assertEqual(self.kernels("driver", 4, "--capture-range-end=repeat:2"), {"inside_0": 1, "inside_1": 1})
        self.assertIn("done\n", self.output.stdout)

    def test_end_repeat_shutdown(self):
        read_end, write_end = os.pipe()
        self.addCleanup(os.close, write_end)
        self.addCleanup(os.close, read_end)
        self.assertEqual(self.kernels("runtime", 2, "--capture-range-end=repeat-shutdown:2", stdin=read_end), {"inside_0": 1, "inside_1": 1})

    def test_calls_after_a_range_that_ended_before_the_first_context(self):
        """What CUPTI was asked to record then it does not record later."""
        self.assertEqual(self.kernels("early", 2, "--capture-range-end=repeat"), {"inside_0": 1, "inside_1": 1})
        counts = {name.split("_v")[0]: count for name, count in fakelib.calls(self.last).items()}
        self.assertEqual((counts.get("cudaLaunchKernel"), counts.get("cudaDeviceSynchronize")), (2, 2))

    def test_flush_on_stop(self):
        for wanted in ("true", "false"):
            with self.subTest(flush=wanted):
                self.assertEqual(self.kernels("runtime", 2, "--capture-range-end=repeat", f"--flush-on-cudaprofilerstop={wanted}"), {"inside_0": 1, "inside_1": 1})

    def test_no_range(self):
        """The calls mean nothing to a capture that does not ask."""
        report = self.cuda("cuda_range", "runtime", 1, stdin=subprocess.DEVNULL)
        self.assertEqual(fakelib.kernels(report), {"before": 1, "inside_0": 1, "after_0": 1})

    def test_range_that_never_comes(self):
        self.assertEqual(self.kernels("runtime", 0), {})

    def test_while_other_threads_launch(self):
        """Forty ranges in a row: each has its kernel, and nobody stumbles over what is switched under him."""
        kernels = self.kernels("busy", 40, "--capture-range-end=repeat")
        self.assertEqual(kernels.get("inside"), 40)
        self.assertLessEqual(kernels.get("busy", 0), self.truth("busy")[0]["launched"])
        self.assertNotIn("before", kernels)
        self.assertEqual(len(self.last.rows("SELECT cause FROM TACHO_RANGE")), 40)

    def test_launches_of_the_range_have_their_kernels(self):
        self.kernels("runtime", 3, "--capture-range-end=repeat")
        self.assertEqual(fakelib.findings(self.last), {})


class OtherRanges(fakelib.Case):
    def test_nvtx_range(self):
        for preload in ("yes", "no"):
            with self.subTest(preload=preload):
                report = self.cuda("cuda_nvtx", source="cuda,nvtx", options=["-c", "nvtx", "-p", "work", "--capture-range-end=stop", f"--preload={preload}"])
                self.assertEqual(fakelib.kernels(report), {"in_work": 1})

    def test_delay(self):
        """Nothing that began before; and the last of what came after."""
        report = self.cuda("cuda_work", "clock", 1500, options=["-y", "0.5"])
        begin = report.value("SELECT start FROM TACHO_RANGE")
        time = fakelib.monotonic(report)
        found = {correlation for correlation, in report.rows("SELECT correlationId FROM CUPTI_ACTIVITY_KIND_KERNEL")}
        self.assertEqual([kernel for kernel in self.truth("kernel") if kernel["correlation"] in found and time(kernel["end"]) < begin], [])
        self.assertIn(self.truth("kernel")[-1]["correlation"], found)

    def test_duration(self):
        """The capture is over while the program goes on."""
        lasts = lambda seconds: self.cuda("cuda_work", "clock", int(seconds * 5000), options=["-d", str(seconds), "--kill", "none", "--wait", "primary"])
        report = self.until_recorded(0.3, lasts, fakelib.kernels)
        found = {correlation for correlation, in report.rows("SELECT correlationId FROM CUPTI_ACTIVITY_KIND_KERNEL")}
        self.assertNotIn(self.truth("kernel")[-1]["correlation"], found)

    def test_waits_until_the_end_of_the_capture(self):
        """It ends in the midst of things: a call that is recorded has its wait beside it."""
        waiting = "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME r JOIN StringIds s ON s.id = r.nameId WHERE s.value LIKE 'cudaStreamSynchronize%'"
        for_a_while = lambda seconds: self.cuda("cuda_end", "for-ever", options=["-d", str(seconds)], settings={"duration_ns": 200})
        for _ in range(5):
            report = self.until_recorded(0.2, for_a_while, lambda report: report.has("CUPTI_ACTIVITY_KIND_RUNTIME") and report.value(waiting))
            self.assertEqual(report.value(waiting + " AND correlationId NOT IN (SELECT correlationId FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION)"), 0)


if __name__ == "__main__":
    fakelib.main()
