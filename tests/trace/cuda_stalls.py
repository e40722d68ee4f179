#!/usr/bin/env python3
"""--pc-sampling on the stand-in of CUPTI: every launch gives the samples of tests/fake/cupti_pc.c, and the kernels are those of a real
cubin, whose lines stand in stalls/chase.ptx (readelf --debug-dump=decodedline stalls/chase.cubin shows the offsets)."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests", "fake"))
import fakelib  # noqa: E402

CUBIN = os.path.join(os.environ["SOURCE"], "tests", "trace", "stalls", "chase.cubin")
# Offset, reason, samples, not issued, file, line: of one launch.
SCRIPT = [
    (0x00, "selected", 2, 0, "stalls/chase.cu", 4),
    (0x90, "long_scoreboard", 10, 8, "stalls/next.h", 9),
    (0x90, "selected", 1, 0, "stalls/next.h", 9),
    (0x110, "long_scoreboard", 5, 0, "stalls/next.h", 9),
    (0x220, "lg_throttle", 3, 3, "stalls/chase.cu", 8),
]


class Stalls(fakelib.Case):
    def sample(self, *arguments, mode="continuous", options=(), settings=None, **more):
        values = self.path("values")
        report = self.cuda("cuda_stalls", CUBIN, *arguments, options=["--pc-sampling=" + mode, *options], settings=settings,
                           variables={"TACHO_FAKE_VALUES": values}, **more)
        self.assertEqual(fakelib.Values(values)["pc_errors"], 0, "a call of PC sampling that CUPTI would refuse")
        return report

    def at_lines(self, report, more=""):
        return report.rows(f"""SELECT pcOffset, stallReason, sum(samples), sum(notIssuedSamples), sourceFile, sourceLine{more} FROM TACHO_PC_SAMPLES
                               JOIN StringIds ON id = mangledName WHERE value = 'chase' GROUP BY 1, 2{more} ORDER BY 1, 2{more}""")

    def times(self, count):
        return [(offset, reason, samples * count, idle * count, file, line) for offset, reason, samples, idle, file, line in SCRIPT]

    def sampling(self, report):
        return report.rows("SELECT mode, periodCycles, totalSamples, droppedSamples, foreignSamples, bufferFull, result FROM TACHO_PC_SAMPLING")

    def test_lines_and_reasons(self):
        report = self.sample(7)
        self.assertEqual(self.at_lines(report), self.times(7))
        self.assertEqual(self.sampling(report), [("continuous", 1 << 15, 7 * 24, 7, 14, 0, None)])
        self.assertEqual(report.value("SELECT count(*) FROM TACHO_PC_SAMPLES WHERE correlationId IS NOT NULL"), 0)
        self.assertEqual(fakelib.kernels(report), {"chase": 7})

    def test_reports(self):
        """Shares are of the 21 samples of the kernel; the line with dependent loads has most of them."""
        report = self.sample(7)
        self.assertRegex(self.output.stderr, r"(?m)^  next:   \S+ stats -r kernel_stall_lines ")
        self.assertIn(f"warp samples {report.value('SELECT count(*) FROM TACHO_PC_SAMPLES')};", self.output.stderr)
        shown = subprocess.run([fakelib.lib.TACHO, "stats", "-f", "human", self.path("report.tacho")], capture_output=True, text=True, check=True).stdout
        self.assertIn("(kernel_stall_lines)", shown)
        self.assertIn("(pc_samples_sum)", shown)
        table = self.stats("kernel_stall_lines")
        self.assertEqual(table[0]["Name"], "chase")
        self.assertEqual([(row["Line"], row["Reason"], row["Samples"], row["Not Issued"], round(row["Share (%)"], 1)) for row in table],
                         [("stalls/next.h:9", "long_scoreboard", 105, 56, 71.4), ("stalls/chase.cu:8", "lg_throttle", 21, 21, 14.3),
                          ("stalls/chase.cu:4", "selected", 14, 0, 9.5), ("stalls/next.h:9", "selected", 7, 0, 4.8)])
        self.assertEqual(sorted((row["Reason"], row["Samples"], row["Name"]) for row in self.stats("pc_samples_sum")),
                         [("lg_throttle", 21, "chase"), ("long_scoreboard", 105, "chase"), ("selected", 21, "chase")])

    def stats(self, report):
        done = subprocess.run([fakelib.lib.TACHO, "stats", "-q", "-f", "json", "-r", report, self.path("report.tacho")], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = json.loads(done.stdout)
        return rows if isinstance(rows, list) else rows[report]

    def test_more_than_a_buffer_holds(self):
        self.assertEqual(self.at_lines(self.sample(1500)), self.times(1500))

    def test_launches_are_told_apart_if_kernels_are_serialized(self):
        report = self.sample(3, mode="serialized", options=["--pc-sampling-interval=6"])
        launches = [kernel["correlation"] for kernel in self.truth("kernel")]
        expected = sorted((*row, launch) for row in SCRIPT for launch in launches)
        self.assertEqual(self.at_lines(report, ", correlationId"), expected)
        self.assertEqual([row[0] for row in self.sampling(report)], ["serialized"])

    def test_context_and_module_that_go_away(self):
        for how in ("destroy", "busy", "unload"):
            with self.subTest(how):
                self.assertEqual(self.at_lines(self.sample(5, how)), self.times(5))

    def test_a_kernel_that_never_ends(self):
        self.assertEqual(self.at_lines(self.sample(4, "forever")), self.times(4))

    def test_only_what_is_recorded_is_sampled(self):
        report = self.sample(4, "range", options=["--capture-range=cudaProfilerApi"])
        self.assertEqual(self.at_lines(report), self.times(4))

    def test_refusals(self):
        for result, sentence in ((35, "NVreg_RestrictProfilingToAdminUsers"), (7, "Another profiler"), (27, "does not support")):
            with self.subTest(result):
                report = self.sample(3, settings={"pc_refusal": result})
                self.assertIn("Warps are not sampled", self.warnings(report))
                self.assertIn(sentence, self.warnings(report))
                self.assertEqual(fakelib.kernels(report), {"chase": 3})
                self.assertEqual([row[-1] for row in self.sampling(report)], [result])
                self.assertFalse(report.has("TACHO_PC_SAMPLES"))

    def test_an_old_cupti(self):
        report = self.cuda("cuda_stalls", CUBIN, 3, options=["--pc-sampling=continuous"], variables={"TACHO_CUPTI": fakelib.cupti("12.4")})
        self.assertIn("CUPTI 12.6 or later is needed", self.warnings(report))
        self.assertEqual(fakelib.kernels(report), {"chase": 3})

    def test_the_buffer_of_the_gpu_is_full(self):
        report = self.sample(6, settings={"pc_full": 1})
        self.assertEqual(self.at_lines(report), self.times(5))
        self.assertIn("was full 1 times", self.warnings(report))

    def test_counters_and_samples_exclude_each_other(self):
        done = self.run_tacho("true", options=["-t", "cuda", "--pc-sampling=continuous", "--gpu-counters=light"])
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("exclude each other", done.stderr)

    def test_not_asked_for(self):
        report = self.sample(3, mode="none")
        self.assertFalse(report.has("TACHO_PC_SAMPLES") or report.has("TACHO_PC_SAMPLING"))


if __name__ == "__main__":
    fakelib.main()
