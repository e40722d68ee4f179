"""The same programs under Tacho and under nsys, in turns, with the same sources: counts are equal, GPU times are as close as those of
several runs of nsys, and nsys's own stats make of our export what ours make of the report. facts.py says how runs that differ are
dealt with."""
import os
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor

import facts
import gpulib
import tools

LIMIT_SECONDS = 400
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
    captures = {}  # class: {"tacho": [Facts], "nsys": [Facts], "folder": path, "error": what went wrong or None}

    def setUp(self):
        super().setUp()
        self.need_nsys()
        if self.program.endswith(".py"):
            self.need_torch()
        if type(self) not in self.captures:
            kept = self.captures[type(self)] = {"tacho": [], "nsys": [], "folder": tempfile.mkdtemp(prefix="tacho-compare-"), "error": None}
            try:
                self.capture(kept, facts.ROUNDS)
            except (RuntimeError, OSError) as error:
                kept["error"] = error
        self.kept = self.captures[type(self)]
        if self.kept["error"]:
            self.fail(str(self.kept["error"]))
        self.ours, self.theirs = self.kept["tacho"], self.kept["nsys"]

    @classmethod
    def tearDownClass(cls):
        if cls in cls.captures:
            shutil.rmtree(cls.captures[cls]["folder"], ignore_errors=True)

    def capture(self, kept, rounds):
        """That many rounds more: each tool once, in turns, so that what changes with time meets both alike."""
        command = [tools.PYTHON, tools.source(self.program)] if self.program.endswith(".py") else [tools.compiled(self.program)]
        command += self.arguments
        made = []
        with ThreadPoolExecutor(2) as pool:  # the exports do not need the GPU
            for number in range(len(kept["nsys"]) + 1, len(kept["nsys"]) + rounds + 1):
                for tool, capture in (("tacho", capture_tacho), ("nsys", capture_nsys)):
                    path = os.path.join(kept["folder"], f"{tool}{number}")
                    made.append((tool, path, pool.submit(capture(path, (*SOURCES, *self.options), command, kept["folder"]))))
        for tool, path, export in made:
            export.result()
            kept[tool].append(facts.Facts(f"{path}.sqlite"))

    def check(self, of, both=False):
        wrong, open_ = facts.differences(self.ours, self.theirs, of, both)
        self.figure(f"{of} compared", len(getattr(self.theirs[0], of)))
        if open_:
            self.figure(f"{of} that nsys's captures do not determine", facts.some(open_))
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
        found = facts.time_differences(self.ours, self.theirs)
        while found.wrong and len(self.theirs) < facts.MOST_ROUNDS:
            self.capture(self.kept, 1)
            found = facts.time_differences(self.ours, self.theirs)
        self.figure("rounds", len(self.theirs))
        self.figure("share of the GPU's time that nsys's captures determine", f"{found.share() * 100:.0f} %")
        self.figure("farthest apart in that", f"{found.most * 100:.2f} %")
        for line in facts.some(found.open):
            print(f"        not determined: {line}", flush=True)
        self.assertGreater(found.share(), 0, "no kernel's time is determined")
        self.assertEqual(facts.some(found.wrong), [])

    def test_stats_by_nsys_itself(self):
        path = os.path.join(self.kept["folder"], "tacho1")
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
    program, arguments, options = "wait_stream.py", ("20",), RANGE  # kernels that run once have no usual time


class ResNet18(Compared):
    program, arguments, options = "resnet18.py", ("40", "10"), RANGE  # the same


class MnistLike(Compared):
    program = "mnist_like.py"


del Compared  # only the programs are tests


if __name__ == "__main__":
    gpulib.main()
