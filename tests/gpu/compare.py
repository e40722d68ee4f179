"""The same programs under Tacho and under nsys, twice each, with the same sources: counts are equal, GPU times are as close as those of
two runs of nsys, and nsys's own stats make of our export what ours make of the report. facts.py says how runs that differ are dealt with."""
import os
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor

import facts
import gpulib
import tools

LIMIT_SECONDS = 210
ALONE = True
SOURCES = ("-t", "cuda,nvtx", "-s", "none", "--cpuctxsw=none", "--cuda-graph-trace=node")
RANGE = ("-c", "cudaProfilerApi", "--capture-range-end=stop")
REPORTS = ("cuda_api_sum", "cuda_gpu_kern_sum", "cuda_gpu_mem_time_sum", "cuda_gpu_mem_size_sum", "nvtx_sum")


def need(done, what):
    if done.status != 0:
        raise RuntimeError(f"{what}: {done}")
    return done


def capture_tacho(path, options, program, folder):
    need(tools.run([gpulib.TACHO, "profile", *options, "-f", "true", "-o", f"{path}.tacho", *program], 60, cwd=folder), "tacho profile")
    return lambda: need(tools.run([gpulib.TACHO, "export", "--type", "sqlite", "--force-overwrite", "true", "-o", f"{path}.sqlite", f"{path}.tacho"], 60),
                        "tacho export")


def capture_nsys(path, options, program, folder):
    env = tools.nsys_environment()
    need(tools.run([tools.nsys(), "profile", *options, "-f", "true", "-o", path, *program], 90, env, folder), "nsys profile")
    return lambda: need(tools.run([tools.nsys(), "export", "--type", "sqlite", "--force-overwrite=true", "-o", f"{path}.sqlite", f"{path}.nsys-rep"], 60, env),
                        "nsys export")


class Compared(gpulib.Case):
    """A program; its captures are made once for all tests of its class."""

    program, arguments, options = None, (), ()
    captures = {}  # class: {"tacho": [Facts], "nsys": [Facts], "folder": path} or the error that came instead

    def setUp(self):
        super().setUp()
        self.need_nsys()
        if self.program.endswith(".py"):
            self.need_torch()
        if type(self) not in self.captures:
            try:
                self.captures[type(self)] = self.capture()
            except (RuntimeError, OSError) as error:
                self.captures[type(self)] = error
        if isinstance(self.captures[type(self)], Exception):
            self.fail(str(self.captures[type(self)]))
        self.ours, self.theirs = self.captures[type(self)]["tacho"], self.captures[type(self)]["nsys"]

    @classmethod
    def tearDownClass(cls):
        kept = cls.captures.get(cls)
        if isinstance(kept, dict):
            shutil.rmtree(kept["folder"], ignore_errors=True)

    def capture(self):
        folder = tempfile.mkdtemp(prefix="tacho-compare-")
        command = [tools.PYTHON, tools.source(self.program)] if self.program.endswith(".py") else [tools.compiled(self.program)]
        command += self.arguments
        exports = []
        with ThreadPoolExecutor(2) as pool:  # the GPU is not needed for them
            for number in (1, 2):
                for tool, capture in (("tacho", capture_tacho), ("nsys", capture_nsys)):
                    exports.append(pool.submit(capture(os.path.join(folder, f"{tool}{number}"), (*SOURCES, *self.options), command, folder)))
        for export in exports:
            export.result()
        return {"folder": folder, **{tool: [facts.Facts(os.path.join(folder, f"{tool}{number}.sqlite")) for number in (1, 2)] for tool in ("tacho", "nsys")}}

    def check(self, of, both=False):
        wrong, open_ = facts.differences(self.ours, self.theirs, of, both)
        self.figure(f"{of} compared", len(getattr(self.theirs[0], of)))
        if open_:
            self.figure(f"{of} that nsys's two captures do not determine", facts.some(open_))
        self.assertEqual(facts.some(wrong), [])

    def test_kernels(self):
        self.assertTrue(self.theirs[0].kernels, "nsys saw no kernel")
        self.check("kernels")

    def test_copies(self):
        self.check("copies")

    def test_fills(self):
        self.check("fills")

    def test_calls(self):
        self.assertTrue(self.theirs[0].calls, "nsys saw no call")
        self.check("calls", both=True)
        ours_only = sorted(set(self.ours[0].calls) - set(self.theirs[0].calls))
        if ours_only:
            self.figure("calls that only we record", ours_only)

    def test_ranges(self):
        self.check("ranges")

    def test_gpu_time_of_each_kernel(self):
        wrong, open_, most, count, bound = facts.time_differences(self.ours, self.theirs)
        self.figure("kernels compared", count)
        self.figure("two captures of nsys differ by, at least 2 %", f"{bound * 100:.2f} %")
        self.figure("farthest apart, of those within that or a tick of the GPU's clock", f"{most * 100:.2f} %")
        self.figure("kernels whose time nsys's two captures do not determine", len(open_))
        for line in facts.some(open_):
            print(f"        {line}", flush=True)
        self.assertLess(len(open_), count, "no kernel's time is determined")
        self.assertEqual(facts.some(wrong), [])

    def test_stats_by_nsys_itself(self):
        path = os.path.join(self.captures[type(self)]["folder"], "tacho1")
        reports = [word for report in REPORTS for word in ("-r", report)]
        need(tools.run([tools.nsys(), "stats", "-q", "--force-overwrite", "true", "-f", "csv", "-o", f"{path}.by_nsys", *reports, f"{path}.sqlite"], 60,
                       tools.nsys_environment()), "nsys stats")
        for report in REPORTS:
            made = f"{path}.by_nsys_{report}.csv"
            theirs = open(made, encoding="utf-8").read().rstrip() if os.path.exists(made) else ""
            ours = tools.run([gpulib.TACHO, "stats", "-q", "-f", "csv", "-r", report, f"{path}.tacho"], 60).stdout.rstrip()
            self.assertEqual(facts.some(facts.table_differences(ours, theirs)), [], report)
            self.figure(report, f"{max(len(theirs.splitlines()) - 1, 0)} rows")


class Mix(Compared):
    # nsys records the copies of unified memory in any case, we with these options
    program, options = "mix", ("--cuda-um-cpu-page-faults=true", "--cuda-um-gpu-page-faults=true")


class WaitStream(Compared):
    program, arguments, options = "wait_stream.py", ("20",), RANGE  # a kernel that runs but once does not tell 2 % from chance


class ResNet18(Compared):
    program, arguments, options = "resnet18.py", ("40", "10"), RANGE  # times of kernels that run but twice would differ from run to run


class MnistLike(Compared):
    program = "mnist_like.py"


del Compared  # only the programs are tests


if __name__ == "__main__":
    gpulib.main()
