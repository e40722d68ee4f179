"""Counters over time beside nsys, at several rates: a train of kernels of 5 ms every 10 ms, and the training of resnet18. Numbers of samples,
means, edges of activity against the kernels of the same report, kernels with and without sampling, GPM beside counters, clocks.

Means are of the time from the first kernel, or the first sample if that is later, to the last kernel. Of metrics that are 0 on an idle GPU they are taken per time in which a kernel ran:
how long the GPU waits for a program differs from run to run."""
import os
import shutil
import sqlite3
import statistics
import tempfile
from bisect import bisect_left
from concurrent.futures import ThreadPoolExecutor

import compare
import gpulib
import tools

LIMIT_SECONDS = 240
ALONE = True
RATES = (1000, 10000)
BEYOND = 50000  # more than CUPTI decodes, as docs/gpu-metrics.md says
RANGE = compare.RANGE
EDGE_NS = 20_000
ANYTIME = ("GPC Clock", "SYS Clock", "PCIe")  # not 0 on an idle GPU
ACTIVE = "SMs Active [Throughput %]"


class Capture:
    """An export of either tool: kernels, and samples of counters of GPU 0."""

    def __init__(self, path):
        self.database = sqlite3.connect(path)
        self.kernels = self.rows(f"SELECT start, end FROM {gpulib.KERNEL} ORDER BY start")
        has_metrics = self.rows("SELECT 1 FROM sqlite_master WHERE name = 'TARGET_INFO_GPU_METRICS'")
        self.metrics = dict(self.rows("SELECT metricName, metricId FROM TARGET_INFO_GPU_METRICS WHERE typeId & 65535 = 0")) if has_metrics else {}
        first = self.rows("SELECT min(timestamp) FROM GPU_METRICS WHERE typeId & 65535 = 0")[0][0] if self.metrics else None
        self.first = self.kernels[0][0] if first is None else first
        self.start, self.end = max(self.kernels[0][0], self.first), max(end for _, end in self.kernels)
        self.busy_ns, until = 0, self.start
        for start, end in self.kernels:
            self.busy_ns += max(0, end - max(start, until))
            until = max(until, end)

    def rows(self, sql, *arguments):
        return self.database.execute(sql, arguments).fetchall()

    def samples(self, name):
        """[(begin, value)] of the time of the kernels."""
        return self.rows("""SELECT timestamp, value FROM GPU_METRICS WHERE typeId & 65535 = 0 AND metricId = ? AND timestamp BETWEEN ? AND ?
                            ORDER BY timestamp""", self.metrics[name], self.start, self.end)

    def means(self):
        """{name: mean}. nsys keeps rates of warps in 8 bits."""
        wraps = "CASE WHEN value < 0 THEN value + 256 ELSE value END"
        found = dict(self.rows(f"""SELECT metricId, avg({wraps}) FROM GPU_METRICS WHERE typeId & 65535 = 0 AND timestamp BETWEEN ? AND ?
                                   GROUP BY metricId""", self.start, self.end))
        share = self.busy_ns / (self.end - self.start)
        return {name: found[number] / (1 if name.startswith(ANYTIME) else share) for name, number in self.metrics.items() if number in found}


class Sampled(gpulib.Case):
    """A program; its captures are made once for all tests of its class: one without samples, and one of each tool for each rate."""

    program, arguments, options = None, (), ()
    captures = {}

    def setUp(self):
        super().setUp()
        self.need_nsys()
        if self.program.endswith(".py"):
            self.need_torch()
        if type(self) not in self.captures:
            kept = self.captures[type(self)] = {"folder": tempfile.mkdtemp(prefix="tacho-sampling-"), "error": None}
            try:
                self.capture(kept)
            except (RuntimeError, OSError, sqlite3.Error) as error:
                kept["error"] = error
        self.kept = self.captures[type(self)]
        if self.kept["error"]:
            self.fail(str(self.kept["error"]))

    @classmethod
    def tearDownClass(cls):
        if cls in cls.captures:
            shutil.rmtree(cls.captures[cls]["folder"], ignore_errors=True)

    def capture(self, kept):
        command = [tools.PYTHON, tools.source(self.program)] if self.program.endswith(".py") else [tools.compiled(self.program)]
        command += self.arguments
        made = {}
        with ThreadPoolExecutor(2) as pool:  # the exports do not need the GPU
            def take(tool, rate, capture, *options):
                path = os.path.join(kept["folder"], f"{tool}{rate}")
                made[tool, rate] = path, pool.submit(capture(path, (*gpulib.CUDA, *self.options, *options), command, kept["folder"]))
            take("tacho", 0, compare.capture_tacho, "--gpu-metrics-set=basic")
            for rate in (*RATES, BEYOND):
                sampled = "--gpu-metrics-devices=all", f"--gpu-metrics-frequency={rate}"
                take("tacho", rate, compare.capture_tacho, *sampled)
                take("nsys", rate, compare.capture_nsys, *sampled)
        for key, (path, export) in made.items():
            export.result()
            kept[key] = Capture(f"{path}.sqlite")

    def ours(self, rate):
        return self.kept["tacho", rate]

    def sampling(self, rate):
        """(samples, lost, reached Hz) of counters, or a failure with what the report says."""
        rows = self.ours(rate).rows("SELECT samples, lost, reachedHz, refusal FROM TACHO_GPU_SAMPLING WHERE source = 'counters'")
        self.assertTrue(rows and rows[0][0], f"no samples: {rows}")
        return rows[0][:3]

    def test_samples_are_not_lost(self):
        """One in two hundred may be: at the edges of a range, and where the GPU switches contexts."""
        for rate in RATES:
            with self.subTest(rate=rate):
                samples, lost, reached = self.sampling(rate)
                self.figure(f"{rate} Hz: samples, lost, Hz", [samples, lost, round(reached, 1)])
                self.figure(f"{rate} Hz: seconds from the begin of the report to the first sample", round(self.ours(rate).first / 1e9, 2))
                self.assertLessEqual(lost, samples / 200)

    def test_beyond_what_cupti_decodes(self):
        """Nothing is lost, or the report says that and why; the kernels are as without samples."""
        capture = self.ours(BEYOND)
        samples, lost, reached = self.sampling(BEYOND)
        theirs = self.kept["nsys", BEYOND]
        self.figure(f"{BEYOND} Hz: samples, lost, Hz", [samples, lost, round(reached, 1)])
        self.figure(f"{BEYOND} Hz: samples a second by nsys", round(len(theirs.samples(ACTIVE)) / ((theirs.end - theirs.start) / 1e9), 1))
        said = [text for text, in capture.rows("SELECT refusal FROM TACHO_GPU_SAMPLING WHERE refusal IS NOT NULL")]
        self.figure(f"{BEYOND} Hz: what the report says", said)
        self.assertTrue(lost == 0 or any("faster than CUPTI could decode" in text for text in said), said)
        self.assertEqual(len(capture.kernels), len(self.ours(0).kernels))

    def test_number_of_samples(self):
        """In the time of the kernels, which lasts about as long under both."""
        for rate in RATES:
            with self.subTest(rate=rate):
                found = {}
                for tool in ("tacho", "nsys"):
                    capture = self.kept[tool, rate]
                    self.assertIn(ACTIVE, capture.metrics, tool)
                    found[tool] = len(capture.samples(ACTIVE)) / ((capture.end - capture.start) / 1e9)
                self.figure(f"{rate} Hz: samples a second here, by nsys", [round(value, 1) for value in found.values()])
                self.assertAlmostEqual(found["tacho"], found["nsys"], delta=0.01 * found["nsys"])

    def test_names_are_those_of_nsys(self):
        for rate in RATES:
            self.assertEqual(self.ours(rate).metrics, self.kept["nsys", rate].metrics)

    def test_means(self):
        """Within 2 points or 5 %."""
        for rate in RATES:
            ours, theirs = self.ours(rate).means(), self.kept["nsys", rate].means()
            self.assertTrue(set(ours) & set(theirs), (list(ours), list(theirs)))
            for name in theirs:
                with self.subTest(rate=rate, metric=name):
                    self.figure(f"{rate} Hz, {name}: here, nsys", [round(ours[name], 3), round(theirs[name], 3)])
                    self.assertAlmostEqual(ours[name], theirs[name], delta=max(0.05 * abs(theirs[name]), 2 if "%" in name else 0.5))

    def test_kernels_are_as_without_sampling(self):
        counts = {rate: len(self.ours(rate).kernels) for rate in (0, *RATES)}
        self.figure("kernels by Hz", counts)
        self.assertEqual(set(counts.values()), {counts[0]})
        self.assertEqual(len(self.kept["nsys", RATES[0]].kernels), counts[0])

    def test_clocks(self):
        """Whether sampling sets clocks: NVML's, in MHz, with and without. A figure, no limit."""
        for rate in (0, *RATES):
            clocks = [value / 1e6 for value, in self.ours(rate).rows("""SELECT exact FROM GPU_METRICS JOIN TARGET_INFO_GPU_METRICS USING (typeId, metricId)
                      WHERE metricName = 'SM Clock [Hz]' AND timestamp BETWEEN ? AND ?""", self.ours(rate).start, self.ours(rate).end)]
            self.figure(f"{rate} Hz: SM clock, least, median, most", [min(clocks), statistics.median(clocks), max(clocks)] if clocks else "none was read")


class Train(Sampled):
    program, arguments = "train", ("2.5",)

    def test_edges(self):
        """SM activity begins and ends within a sample and 20 µs of each kernel."""
        for rate in RATES:
            with self.subTest(rate=rate):
                capture, period = self.ours(rate), 10**9 // rate
                samples = self.ours(rate).samples(ACTIVE)
                times = [time for time, _ in samples]
                late, early = [], []
                for start, end in capture.kernels[1:-1]:
                    if start < capture.start + period:
                        continue  # before the first sample
                    first = bisect_left(times, start - 2 * period - EDGE_NS)
                    behind = bisect_left(times, end + 2 * period + EDGE_NS)
                    active = [i for i in range(first, behind) if samples[i][1] >= 1]
                    if not active:
                        self.fail(f"no activity in the samples of the kernel at {start}")
                    late.append(start - times[active[0]])          # 0 … a period: it began inside of this sample
                    early.append(end - times[active[-1]])
                self.figure(f"{rate} Hz: µs from the begin of the first active sample to the kernel's: least, median, most",
                            [round(value / 1000, 1) for value in (min(late), statistics.median(late), max(late))])
                self.figure(f"{rate} Hz: µs from the begin of the last active sample to the kernel's end: least, median, most",
                            [round(value / 1000, 1) for value in (min(early), statistics.median(early), max(early))])
                for found in (late, early):
                    self.assertGreaterEqual(min(found), -EDGE_NS)
                    self.assertLessEqual(max(found), period + EDGE_NS)

    def test_gpm_beside_counters(self):
        """Means over the same time, within 2 points; DRAM is the sum of reads and writes."""
        capture = self.ours(10000)
        gpm = dict(capture.rows("SELECT metricName, metricId FROM TARGET_INFO_GPU_METRICS WHERE typeName = 'GPM' AND typeId & 255 = 0"))
        if not gpm:
            self.skipTest("no GPM beside counters")
        query = """SELECT timestamp, exact FROM GPU_METRICS m JOIN TARGET_INFO_GPU_METRICS t USING (typeId, metricId)
                   WHERE t.typeName = ? AND metricName = ? AND typeId & 255 = 0 AND timestamp BETWEEN ? AND ? ORDER BY timestamp"""
        for name, parts in ((ACTIVE, (ACTIVE,)), ("GR Active [Throughput %]", ("GR Active [Throughput %]",)),
                            ("Tensor Active [Throughput %]", ("Tensor Active [Throughput %]",)),
                            ("DRAM Bandwidth [Throughput %]", ("DRAM Read Bandwidth [Throughput %]", "DRAM Write Bandwidth [Throughput %]"))):
            with self.subTest(metric=name):
                readings = capture.rows(query, "GPM", name, capture.start, capture.end)[1:]  # the first may be older than the kernels
                self.assertGreater(len(readings), 3, "readings in the time of the kernels")
                counted = sum(statistics.mean(value for _, value in capture.rows(query, "", part, readings[0][0], readings[-1][0])) for part in parts)
                read = statistics.mean(value for _, value in readings[1:])  # each is of the time since the one before
                self.figure(f"{name}: GPM, counters", [round(read, 2), round(counted, 2), [round(value, 1) for _, value in readings]])
                self.assertAlmostEqual(read, counted, delta=2)


class ResNet18(Sampled):
    program, arguments, options = "resnet18.py", ("34", "4"), RANGE


del Sampled  # only the programs are tests


if __name__ == "__main__":
    gpulib.main()
