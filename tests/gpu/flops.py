"""MFU of a program that only multiplies matrices, against its FLOPs by hand and its time by CUDA events: within 2 %."""
import json
import statistics

import gpulib
import tools

LIMIT_SECONDS = 120
ALONE = True
PEAK = 989  # any peak will do: both sides are divided by it


class Flops(gpulib.Case):
    def test_mfu_of_matrix_multiplications(self):
        self.need_torch()
        counted = self.path("matmul.json")
        self.profile(tools.PYTHON, tools.source("matmul.py"), counted, options=(*gpulib.CUDA, "--pytorch=auto", "--pytorch-shapes=true"), seconds=80)
        with open(counted) as file:
            by_hand = json.load(file)
        done = tools.run([gpulib.TACHO, "stats", "-q", "-f", "json", "-r", f"step_flops:peak=bf16={PEAK}", self.path("report.tacho")], 60)
        self.assertEqual(done.status, 0, str(done))
        steps = json.loads(done.stdout)
        self.assertEqual([row["Model FLOPs"] for row in steps], [by_hand["flops"]] * len(by_hand["seconds"]))
        expected = statistics.median(100 * by_hand["flops"] / seconds / (PEAK * 1e12) for seconds in by_hand["seconds"])
        got = statistics.median(row["MFU (%)"] for row in steps)
        self.figure("MFU of matrix multiplications, by hand and by tacho, percent of 989 TFLOP/s", [round(expected, 2), round(got, 2)])
        self.assertLess(abs(got - expected), 0.02 * expected)


if __name__ == "__main__":
    gpulib.main()
