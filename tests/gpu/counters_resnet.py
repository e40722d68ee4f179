"""Counters of fifty kernels of a training of resnet18 beside ncu's: the same kernels, facts of launches equal, instructions within 0.5 %; time, cycles,
bytes and throughputs as figures, with the share of kernels that lie within the aim. `light` counts all kernels, and says what an iteration takes."""
import os
import re
import shutil
import statistics

import gpulib
import tools
from ncu_files import number, table

LIMIT_SECONDS = 150
ALONE = True
KERNELS = 50
COUNTS = ("sm__inst_executed.sum", "smsp__inst_executed.sum", "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum")
# metric: (aim, whether it is in points)
NEAR = {"gpu__time_duration.sum": (0.03, False), "sm__cycles_elapsed.max": (0.03, False), "dram__bytes_read.sum": (0.05, False), "dram__bytes_write.sum": (0.05, False),
        "lts__t_bytes.sum": (0.05, False), "sm__throughput.avg.pct_of_peak_sustained_elapsed": (3, True),
        "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed": (3, True), "sm__warps_active.avg.pct_of_peak_sustained_active": (3, True)}
LAUNCH = ("launch__grid_size", "launch__block_size", "launch__registers_per_thread", "launch__shared_mem_per_block", "launch__waves_per_multiprocessor",
          "launch__thread_count", "sm__maximum_warps_per_active_cycle_pct", "launch__occupancy_limit_registers",
          "launch__occupancy_limit_warps", "launch__occupancy_limit_blocks")
OPTIONS = ("--profile-from-start", "off", "-c", str(KERNELS), "--metrics", ",".join((*COUNTS, *NEAR, *LAUNCH)), "--cache-control", "none", "--clock-control", "none",
           "--csv", "--page", "raw", "--print-units", "base")


def column(rows, name):
    at = rows[0].index(name)
    return [row[at] for row in rows[2:]]


def base(name):
    """The function's own name: ncu writes <unnamed> for namespaces without a name."""
    return re.sub(r"[<(].*", "", re.sub(r"<unnamed>::|\(anonymous namespace\)::", "", name)).split("::")[-1].split()[-1]


class ResNet18(gpulib.Case):
    def setUp(self):
        super().setUp()
        self.need_torch()

    def test_beside_ncu(self):
        ncu = os.environ.get("NCU") or shutil.which("ncu")
        if not ncu:
            self.skipTest("no ncu")
        program = [tools.PYTHON, tools.source("resnet18.py"), "3", "2"]
        theirs, ours = (tools.run([*tool, *OPTIONS, *program], 60, cwd=self.folder) for tool in ((ncu,), (gpulib.TACHO, "ncu", "--quiet")))
        self.figure("seconds, ncu and tacho", [round(theirs.seconds, 1), round(ours.seconds, 1)])
        for done in (theirs, ours):
            self.assertEqual(done.status, 0, str(done))
        theirs, ours = table(theirs.stdout), table(ours.stdout)
        names = [[base(name) for name in column(rows, "Kernel Name")] for rows in (theirs, ours)]
        self.assertEqual(names[0], names[1])
        self.assertEqual(KERNELS, len(names[0]))
        for name in LAUNCH:
            self.assertEqual([number(text) for text in column(theirs, name)], [number(text) for text in column(ours, name)], name)
        for name, (aim, points) in NEAR.items():
            pairs = [(number(a), number(b)) for a, b in zip(column(theirs, name), column(ours, name))]
            apart = [abs(a - b) / (1 if points else a or 1) for a, b in pairs]
            self.figure(f"{name}: median, greatest difference, share of kernels within {aim}",
                        [round(statistics.median(apart), 4), round(max(apart), 4), sum(one <= aim for one in apart) / len(apart)])
        for name in COUNTS:
            pairs = [(number(a), number(b)) for a, b in zip(column(theirs, name), column(ours, name))]
            apart = [abs(a - b) / (a or 1) for a, b in pairs]
            self.figure(f"{name}: equal, greatest difference", [sum(a == b for a, b in pairs), round(max(apart), 5)])
            self.assertLessEqual(max(apart), 0.005, name)

    def test_light_counts_all(self):
        program = [tools.PYTHON, tools.source("resnet18_time.py"), "bare"]
        bare = tools.run(program, 60)
        done = tools.run([gpulib.TACHO, "profile", "-q", *gpulib.CUDA, "--gpu-counters=light", "-f", "true", "-o", self.path("report.tacho"), *program], 120)
        self.assertEqual((bare.status, done.status), (0, 0), str(done))
        iteration = [float(re.search(r"ms_per_iteration=([\d.]+)", run.stdout).group(1)) for run in (bare, done)]
        self.figure("ms an iteration, bare and light", iteration)
        report = self.report()
        kernels = report.number(gpulib.KERNEL)
        self.figure("kernels, counted", [kernels, report.number("TACHO_KERNEL_COUNTERS")])
        self.assertEqual(kernels, report.number("TACHO_KERNEL_COUNTERS"), report.messages())


if __name__ == "__main__":
    gpulib.main()
