"""Counters of kernels beside ncu's, and programs that end as they would without: results bit-equal with and without replay, with most of the
GPU's memory in use, with graphs, copies and unified memory between the launches."""
import os
import shutil
import statistics
import time

import gpulib
import tools
from ncu_files import number, table

LIMIT_SECONDS = 200
ALONE = True

FREE = ("--cache-control", "none", "--clock-control", "none")
EXACT = ("sm__inst_executed.sum", "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", "smsp__inst_executed.sum")
RAW = ("--csv", "--page", "raw", "--print-units", "base")
LEADING = 11
ROUNDS = 3
KERNELS = 4 * ROUNDS


class KernelCounters(gpulib.Case):
    def setUp(self):
        super().setUp()
        self.program = tools.compiled("counted")
        self.bare = tools.run([self.program, str(ROUNDS)], 60).stdout

    def counted(self, *options, program=None, expected=None):
        report = self.path("report.tacho")
        done = tools.run([gpulib.TACHO, "profile", "-q", *gpulib.CUDA, *options, "-f", "true", "-o", report, *(program or [self.program, str(ROUNDS)])], 120)
        self.assertEqual((done.status, done.stdout), (0, expected or self.bare), str(done))
        return self.report()

    def values(self, report, name):
        return [value for value, in report.rows("""SELECT v.value FROM TACHO_KERNEL_COUNTERS k JOIN TACHO_KERNEL_COUNTER_VALUES v ON v.kernelId = k.id
                                                   JOIN TACHO_METRICS m ON m.id = v.metricId WHERE m.name = ? ORDER BY k.launchId""", name)]

    def ncu(self, *options):
        found = os.environ.get("NCU") or shutil.which("ncu")
        if not found:
            self.skipTest("no ncu")
        begin = time.monotonic()
        done = tools.run([found, *FREE, *options, *RAW, self.program, str(ROUNDS)], 120)
        self.assertEqual(done.status, 0, str(done))
        return table(done.stdout), time.monotonic() - begin

    def test_one_pass(self):
        report = self.counted("--gpu-counters=light")
        self.assertEqual(KERNELS, len(self.values(report, "sm__inst_executed.sum")))
        self.assertEqual(KERNELS, report.value("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE end > start"))
        rows, _ = self.ncu("--metrics", "sm__inst_executed.sum,dram__bytes_read.sum,gpu__time_duration.sum")
        at = rows[0].index("sm__inst_executed.sum")
        self.assertEqual([number(row[at]) for row in rows[2:]], self.values(report, "sm__inst_executed.sum"))

    def test_several_passes(self):
        names = ",".join(EXACT) + ",sm__throughput.avg.pct_of_peak_sustained_elapsed,gpu__time_duration.sum,l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
        report = self.counted("--gpu-counters=" + names)
        flops = self.values(report, "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum")
        self.assertEqual([64.0 * (1 << 20)] * ROUNDS, flops[3::4])  # 64 by each thread
        rows, _ = self.ncu("--metrics", names)
        for name in (*EXACT, "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"):
            at = rows[0].index(name)
            self.assertEqual([number(row[at]) for row in rows[2:]], self.values(report, name), name)

    def test_basic_set_beside_ncu(self):
        theirs, their_seconds = self.ncu("--set", "basic")
        begin = time.monotonic()
        done = tools.run([gpulib.TACHO, "ncu", "--quiet", *FREE, "--set", "basic", *RAW, self.program, str(ROUNDS)], 120)
        seconds = time.monotonic() - begin
        self.assertEqual(done.status, 0, str(done))
        ours = table(done.stdout)
        self.figure("seconds, ncu and tacho", [round(their_seconds, 2), round(seconds, 2)])
        shared = [name for name in ours[0] if name in theirs[0]]
        self.figure("columns: ncu, tacho, shared", [len(theirs[0]), len(ours[0]), len(shared)])
        self.figure("only tacho", [name for name in ours[0] if name not in theirs[0]][:20])
        units = {name: (theirs[1][theirs[0].index(name)], ours[1][ours[0].index(name)]) for name in shared}
        self.figure("units that differ", {name: pair for name, pair in units.items() if pair[0] != pair[1]})
        differing = {}
        for name in shared[LEADING:]:
            pairs = [(number(a[theirs[0].index(name)]), number(b[ours[0].index(name)])) for a, b in zip(theirs[2:], ours[2:])]
            pairs = [(a, b) for a, b in pairs if a is not None and b is not None]
            if pairs and any(a != b for a, b in pairs):
                differing[name] = round(statistics.median(abs(a - b) / (abs(a) or 1) for a, b in pairs), 4)
        self.figure("median difference", differing)
        self.assertEqual(theirs[0][:LEADING], ours[0][:LEADING])
        self.assertEqual(len(theirs), len(ours))
        self.assertEqual({}, {name: value for name, value in differing.items() if name.startswith(("launch__", "device__"))})
        self.assertEqual([], [name for name, pair in units.items() if pair[0] != pair[1]])

    def test_filters(self):
        done = tools.run([gpulib.TACHO, "ncu", "--quiet", *FREE, "--metrics", "sm__inst_executed.sum", "-k", "regex:reduce|histogram", "-s", "1", "-c", "3", *RAW,
                          self.program, str(ROUNDS)], 120)
        rows = table(done.stdout)
        at = rows[0].index("Kernel Name")
        self.assertEqual(["histogram", "reduce", "histogram"], [row[at].split("(")[0] for row in rows[2:]])

    def test_memory_in_use(self):
        """Where there is no room for a copy of the program's memory nothing is replayed; one pass needs none."""
        command = [self.program, "2", "88"]
        bare = tools.run(command, 60).stdout
        report = self.counted("--gpu-counters=basic", program=command, expected=bare)
        self.assertIn("room for the copy", report.messages())
        report = self.counted("--gpu-counters=light", program=command, expected=bare)
        self.assertEqual(8, report.value("SELECT count(*) FROM TACHO_KERNEL_COUNTERS"))

    def test_all_of_cuda_between_launches(self):
        mix = tools.compiled("mix")
        bare = tools.run([mix], 60).stdout
        for counters in ("light", "basic"):
            with self.subTest(counters):
                report = self.counted("--gpu-counters=" + counters, program=[mix], expected=bare)
                self.assertEqual(40, len(self.values(report, "gpu__time_duration.sum")))


if __name__ == "__main__":
    gpulib.main()
