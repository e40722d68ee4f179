"""GPU metrics against nvidia-smi, which is asked all the while the program runs: power, clocks, temperature and memory of the same second."""
import csv
import shutil
import subprocess

import gpulib
import tools

LIMIT_SECONDS = 120
ALONE = True
SECONDS = 12
QUERY = ["index", "power.draw", "clocks.sm", "clocks.mem", "temperature.gpu", "memory.used", "utilization.gpu"]
VALUES = """SELECT timestamp, exact FROM GPU_METRICS JOIN TARGET_INFO_GPU_METRICS USING (typeId, metricId)
            WHERE metricName = ? AND typeId & 255 = 0 ORDER BY timestamp"""


def median(values):
    return sorted(values)[len(values) // 2]


class Metrics(gpulib.Case):
    def watched(self, options):
        """The report of a program, and what nvidia-smi printed meanwhile: a list for each column."""
        if not shutil.which("nvidia-smi"):
            self.skipTest("no nvidia-smi")
        with open(self.path("smi.csv"), "w") as file:
            smi = subprocess.Popen(["nvidia-smi", "--query-gpu=" + ",".join(QUERY), "--format=csv,noheader,nounits", "-lms", "200"], stdout=file)
            try:
                report = self.profile(tools.compiled("clock"), str(SECONDS), self.path("notes"), options=[*gpulib.CUDA, *options], seconds=SECONDS + 50)
            finally:
                smi.terminate()
                smi.wait()
        with open(self.path("smi.csv")) as file:
            rows = [[cell.strip() for cell in row] for row in csv.reader(file) if len(row) == len(QUERY)]
        first = str(report.value("SELECT nvmlIndex FROM TACHO_GPU_SAMPLING WHERE gpuId = 0 AND source = 'nvml'"))
        return report, {name: [float(row[i]) for row in rows if row[0] == first and row[i].replace(".", "").isdigit()] for i, name in enumerate(QUERY)}

    def values(self, report, name):
        return [exact for _, exact in report.rows(VALUES, name)]

    def test_readings_equal_those_of_nvidia_smi(self):
        report, smi = self.watched([])
        samples, reached, lost = report.rows("SELECT samples, reachedHz, lost FROM TACHO_GPU_SAMPLING WHERE gpuId = 0 AND source = 'nvml'")[0]
        self.figure("samples", samples)
        self.figure("Hz", round(reached, 2))
        self.figure("lost", lost)
        self.assertGreater(samples, 5 * SECONDS)
        for metric, column, scale, tolerance in (("Power [W]", "power.draw", 1, 0.10), ("SM Clock [Hz]", "clocks.sm", 1e6, 0.10),
                                                 ("Memory Clock [Hz]", "clocks.mem", 1e6, 0.01), ("Temperature [C]", "temperature.gpu", 1, 0.08),
                                                 ("Memory Used [bytes]", "memory.used", 1 << 20, 0.05)):
            with self.subTest(metric=metric):
                ours, theirs = median(self.values(report, metric)), median(smi[column]) * scale
                self.figure(f"{metric}: here, nvidia-smi", [ours, theirs])
                self.assertAlmostEqual(ours, theirs, delta=tolerance * theirs)

    def test_gpm_where_there_is_one(self):
        report = self.profile(tools.compiled("clock"), str(SECONDS), self.path("notes"), options=[*gpulib.CUDA, "--gpu-metrics-devices=cuda-visible"],
                              seconds=SECONDS + 50)
        active = self.values(report, "SMs Active [Throughput %]")
        if not active:
            self.skipTest("no GPM: " + str(report.rows("SELECT refusal FROM TACHO_GPU_SAMPLING WHERE refusal IS NOT NULL")))
        self.figure("SMs active, %, median", round(median(active), 2))
        self.assertTrue(all(0 <= value <= 100 for value in active), active)
        self.assertGreater(max(active), 0)

    def test_what_it_costs_at_the_end(self):
        """The program's own time with and without metrics, in turns: a figure, no limit."""
        walls = {"none": [], "cuda-visible": []}
        for turn in range(3):
            for devices, found in walls.items():
                report = self.profile(tools.compiled("clock"), "2", self.path("notes"), options=[*gpulib.CUDA, f"--gpu-metrics-devices={devices}"], seconds=50)
                found.append(report.value("SELECT (end - start) / 1e9 FROM TACHO_PROCESS WHERE end IS NOT NULL ORDER BY end DESC LIMIT 1"))
        self.figure("seconds without, with", [round(median(walls["none"]), 3), round(median(walls["cuda-visible"]), 3)])


if __name__ == "__main__":
    gpulib.main()
