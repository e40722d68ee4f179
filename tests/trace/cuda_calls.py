"""Which calls into CUDA are recorded: those that matter, all until the first kernel has finished, or all. On the stand-ins."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests", "fake"))
import fakelib

ASKING = ("cudaGetDevice", "cudaGetLastError", "cudaStreamIsCapturing")


def starts(report, kernel):
    """When the kernel's launch was called."""
    return report.value("""SELECT r.start FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN CUPTI_ACTIVITY_KIND_RUNTIME r USING (correlationId)
                           JOIN StringIds s ON s.id = k.mangledName WHERE s.value = ?""", kernel)


def named(counts, name):
    """CUPTI's names end in a version: cudaGetDevice_v3020."""
    return sum(count for full, count in counts.items() if full.split("_v")[0] == name)


class Calls(fakelib.Case):
    def asking(self, report, first, last):
        """How many calls that only ask were recorded between two launches."""
        counts = fakelib.calls(report, "start > ? AND start < ?", starts(report, first), starts(report, last))
        return {name: named(counts, name) for name in ASKING}

    def test_the_chosen_ones(self):
        """Once the first kernel has been seen to finish, calls that only ask leave no record."""
        report = self.cuda("cuda_work", "calls")
        self.assertEqual(self.asking(report, "quiet", "last"), dict.fromkeys(ASKING, 0))
        everything = fakelib.calls(report)
        launched = sum(fakelib.kernels(report).values())
        self.assertEqual(named(everything, "cudaLaunchKernel"), launched)
        self.assertEqual(named(everything, "cudaDeviceSynchronize"), launched - 1)

    def test_all_until_the_first_kernel(self):
        report = self.cuda("cuda_work", "calls")
        before = fakelib.calls(report, "start < ?", starts(report, "first"))
        self.assertEqual({name: named(before, name) for name in ASKING}, dict.fromkeys(ASKING, 5))

    def test_a_thread_that_is_in_a_call_meanwhile(self):
        """Its later calls have ids of their own: CUPTI repeats the id of a call whose callback is disabled before it ends."""
        report = self.cuda("cuda_work", "lingering")
        self.assertEqual(report.value("SELECT count(DISTINCT correlationId) FROM CUPTI_ACTIVITY_KIND_KERNEL"), 11)
        self.assertGreater(self.counters()["disabled"], 0)

    def test_all(self):
        report = self.cuda("cuda_work", "calls", options=["--cuda-trace-all-apis=true"])
        self.assertEqual(self.asking(report, "quiet", "last"), dict.fromkeys(ASKING, 200))
        self.assertEqual(fakelib.findings(report), {})

    def test_those_of_the_program_alone(self):
        """Ours are not among them: we wait for the GPU when the program ends."""
        report = self.cuda("cuda_work", "kernels", options=["--cuda-trace-all-apis=true"])
        counts = {}
        for name, count in fakelib.calls(report).items():
            counts[name.split("_v")[0]] = counts.get(name.split("_v")[0], 0) + count
        self.assertEqual(counts, {
            "cuInit": 1, "cudaStreamCreateWithPriority": 1, "cudaLaunchKernel": 2, "cudaLaunchKernel_ptsz": 1, "cudaLaunchCooperativeKernel": 1,
            "cudaLaunchKernelExC": 1, "cudaLaunchKernelExC_ptsz": 1, "cuLaunchKernel": 1, "cuLaunchKernel_ptsz": 1, "cuLaunchKernelEx": 1,
            "cudaDeviceSynchronize": 1})

    def test_a_cupti_that_cannot_choose(self):
        """Before 12.5 it is all or none: all of the runtime's calls are there."""
        report = self.cuda("cuda_work", "calls", variables={"TACHO_CUPTI": fakelib.cupti("12.4")})
        everything = fakelib.calls(report)
        self.assertEqual(named(everything, "cudaLaunchKernel"), sum(fakelib.kernels(report).values()))
        before = fakelib.calls(report, "start < ?", starts(report, "first"))
        self.assertEqual(named(before, "cudaGetDevice"), 5)

    def test_a_cupti_that_refuses_to_choose(self):
        report = self.cuda("cuda_work", "calls", settings={"choose_error": 27})
        everything = fakelib.calls(report)
        launched = sum(fakelib.kernels(report).values())
        self.assertEqual(named(everything, "cudaLaunchKernel"), launched)
        self.assertEqual(named(everything, "cudaDeviceSynchronize"), launched - 1)

    def test_calls_inside_of_calls(self):
        """The driver's calls that the runtime makes are not the program's, where callbacks tell of both."""
        for version in ("12.4", "13.0"):
            with self.subTest(cupti=version):
                report = self.cuda("cuda_range", "runtime", 2, options=["-c", "cudaProfilerApi", "--capture-range-end=repeat"],
                                   settings={"nested": 1}, variables={"TACHO_CUPTI": fakelib.cupti(version)}, stdin=subprocess.DEVNULL)
                counts = fakelib.calls(report, "value NOT LIKE '%Profiler%'")
                self.assertEqual({name.split("_v")[0]: count for name, count in counts.items()}, {"cudaLaunchKernel": 2, "cudaDeviceSynchronize": 2})
                self.assertEqual(report.value("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION WHERE end > start"), 2)

    def test_what_a_call_returned(self):
        report = self.cuda("cuda_work", "calls", options=["--cuda-trace-all-apis=true"])
        rows = report.rows("SELECT value, returnValue FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds ON id = nameId WHERE returnValue != 0 ORDER BY start")
        self.assertEqual([(name.split("_v")[0], value) for name, value in rows], [("cudaDeviceGetAttribute", 1), ("cudaPeekAtLastError", 1)])

    def test_threads(self):
        """Calls belong to the thread that made them."""
        report = self.cuda("cuda_work", "threads", 4, 25)
        rows = report.rows("""SELECT globalTid, count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds ON id = nameId
                              WHERE value LIKE 'cudaLaunchKernel%' GROUP BY globalTid""")
        self.assertEqual([count for _, count in rows], [25] * 4)
        threads = {tid for tid, in report.rows("SELECT globalTid FROM TACHO_THREAD")}
        self.assertLessEqual({tid for tid, _ in rows}, threads)


class Chains(fakelib.Case):
    """--cudabacktrace: who called."""

    samples = True

    def chained(self, value):
        report = self.cuda("cuda_work", "copies", options=[f"--cudabacktrace={value}"])
        columns = [name for _, name, *_ in report.rows("PRAGMA table_info(CUPTI_ACTIVITY_KIND_RUNTIME)")]
        counts = fakelib.calls(report, "callchainId IS NOT NULL") if "callchainId" in columns else {}
        return report, {name: named(counts, name) for name in ("cudaMemcpy", "cudaMemset", "cudaDeviceSynchronize", "cudaStreamCreate")}

    def test_groups(self):
        self.assertEqual(self.chained("memory:0")[1], {"cudaMemcpy": 3, "cudaMemset": 1, "cudaDeviceSynchronize": 0, "cudaStreamCreate": 0})
        self.assertEqual(self.chained("sync:0")[1], {"cudaMemcpy": 0, "cudaMemset": 0, "cudaDeviceSynchronize": 1, "cudaStreamCreate": 0})
        self.assertEqual(self.chained("all:0")[1], {"cudaMemcpy": 3, "cudaMemset": 1, "cudaDeviceSynchronize": 1, "cudaStreamCreate": 1})
        self.assertEqual(self.chained("none")[1], {"cudaMemcpy": 0, "cudaMemset": 0, "cudaDeviceSynchronize": 0, "cudaStreamCreate": 0})

    def test_threshold(self):
        self.assertEqual(self.chained("all:60000000000")[1], {"cudaMemcpy": 0, "cudaMemset": 0, "cudaDeviceSynchronize": 0, "cudaStreamCreate": 0})

    def test_frames(self):
        """The program is among the callers, from the innermost outwards."""
        report, _ = self.chained("sync:0")
        chain = report.rows("""SELECT stackDepth, m.value FROM CUDA_CALLCHAINS c JOIN StringIds m ON m.id = c.module WHERE c.id =
                               (SELECT callchainId FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds ON id = nameId WHERE value LIKE 'cudaDeviceSynchronize%')
                               ORDER BY stackDepth""")
        self.assertEqual([depth for depth, _ in chain], list(range(len(chain))))
        self.assertTrue(any(module.endswith("/cuda_work") for _, module in chain), chain)
        names = [name for name, in report.rows("""SELECT s.value FROM CUDA_CALLCHAINS c JOIN StringIds s ON s.id = c.symbol
                                                  WHERE c.id = (SELECT max(id) FROM CUDA_CALLCHAINS) ORDER BY stackDepth""")]
        self.assertIn("main", names)
        self.assertEqual(names[-1], "_start")


if __name__ == "__main__":
    fakelib.main()
