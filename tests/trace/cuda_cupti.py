"""Which CUPTI is used, what happens when there is none or it will not, and programs that use it themselves. On the stand-ins of CUDA."""
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests", "fake"))
import fakelib
import lib

VERSIONS = {"11.8": 18, "12.0": 18, "12.4": 22, "12.6": 24, "12.8": 26, "12.9": 28, "13.0": 130001, "13.1": 130101, "13.4": 130401}


def used(report):
    return report.rows("SELECT path, version FROM TACHO_CUPTI WHERE path IS NOT NULL AND refusal IS NULL")


class Versions(fakelib.Case):
    def test_records_of_every_version(self):
        """The same program, the same report, whatever the records look like."""
        for version, number in VERSIONS.items():
            with self.subTest(version=version):
                report = self.cuda("cuda_work", "kernels", variables={"TACHO_CUPTI": fakelib.cupti(version)})
                self.assertEqual([os.path.realpath(path) for path, _ in used(report)], [fakelib.cupti(version)])
                rows = report.rows("""SELECT value, correlationId, gridX, blockY, dynamicSharedMemory, registersPerThread, streamId, end - start
                                      FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON id = mangledName ORDER BY correlationId""")
                self.assertEqual([row[:-1] for row in rows],
                                 [(kernel["name"], kernel["correlation"], kernel["grid"][0], kernel["block"][1], kernel["shared"], kernel["registers"],
                                   kernel["stream"]) for kernel in self.truth("kernel")])
                for row in rows:
                    self.assertLessEqual(abs(row[-1] - 40000), 2000)
                self.assertEqual(fakelib.findings(report).get("launch-without-kernel", 0), 0)

    def test_other_kinds_of_every_version(self):
        for version in VERSIONS:
            with self.subTest(version=version):
                variables = {"TACHO_CUPTI": fakelib.cupti(version)}
                report = self.cuda("cuda_work", "copies", variables=variables)
                self.assertEqual(sorted(report.rows("SELECT copyKind, bytes FROM CUPTI_ACTIVITY_KIND_MEMCPY")),
                                 sorted((copy["kind"], copy["bytes"]) for copy in self.truth("copy")))
                self.assertEqual(sorted(report.rows("SELECT value, bytes FROM CUPTI_ACTIVITY_KIND_MEMSET")),
                                 sorted((fill["value"], fill["bytes"]) for fill in self.truth("fill")))
                report = self.cuda("cuda_work", "graph", variables=variables)
                self.assertEqual(report.value("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE"), 3)
                report = self.cuda("cuda_work", "memory", options=["--cuda-memory-usage=true"], variables=variables)
                self.assertEqual(report.value("SELECT sum(bytes) FROM CUDA_GPU_MEMORY_USAGE_EVENTS"),
                                 2 * sum(memory["bytes"] for memory in self.truth("memory")))

    def test_a_version_that_nobody_knows(self):
        """Its records are larger than any that we have seen: their sizes are learned from it."""
        report = self.cuda("cuda_work", "kernels", settings={"larger": 16})
        self.assertEqual(fakelib.kernels(report), {kernel["name"]: 1 for kernel in self.truth("kernel")})
        report = self.cuda("cuda_work", "threads", 8, 2000, settings={"larger": 40})
        self.assertEqual(fakelib.kernels(report), {"threaded": 16000})


class WhichOne(fakelib.Case):
    def folder_with(self, *files):
        folder = self.path("toolkit")
        os.makedirs(folder, exist_ok=True)
        for file in files:
            shutil.copy(file, folder)
        return folder

    def test_beside_the_runtime(self):
        report = self.cuda("cuda_end", "return", 5)
        self.assertEqual([os.path.realpath(path) for path, _ in used(report)], [fakelib.cupti("13.0")])

    def test_the_one_that_is_asked_for(self):
        report = self.cuda("cuda_end", "return", 5, variables={"TACHO_CUPTI": fakelib.cupti("12.9")})
        self.assertEqual([(os.path.realpath(path), version) for path, version in used(report)], [(fakelib.cupti("12.9"), 28)])

    def test_in_cuda_home(self):
        home = self.path("home")
        os.makedirs(os.path.join(home, "extras", "CUPTI", "lib64"))
        shutil.copy(fakelib.cupti("13.1"), os.path.join(home, "extras", "CUPTI", "lib64"))
        report = self.cuda("cuda_end", "return", 5, variables={"LD_LIBRARY_PATH": os.path.join(fakelib.FAKE, "alone"), "CUDA_HOME": home})
        self.assertEqual([version for _, version in used(report)], [130101])
        self.assertEqual(fakelib.kernels(report), {"work": 5})

    def test_on_the_loaders_path(self):
        path = os.path.join(fakelib.FAKE, "alone") + ":" + os.path.dirname(fakelib.cupti("13.4"))
        report = self.cuda("cuda_end", "return", 5, variables={"LD_LIBRARY_PATH": path})
        self.assertEqual([version for _, version in used(report)], [130401])

    def test_none(self):
        """The program runs, everything else is recorded, and the report says what to do."""
        report = self.cuda("cuda_end", "return", 5, source="cuda,osrt", options=["--osrt-threshold=0"],
                           variables={"LD_LIBRARY_PATH": os.path.join(fakelib.FAKE, "alone")})
        self.assertEqual(fakelib.kernels(report), {})
        self.assertGreater(sum(report.calls().values()), 0)
        refusal, = report.rows("SELECT refusal FROM TACHO_CUPTI WHERE refusal IS NOT NULL")
        self.assertIn("TACHO_CUPTI", refusal[0])
        self.assertIn("CUPTI", self.output.stderr)

    def test_asked_for_and_not_there(self):
        report = self.cuda("cuda_end", "return", 5, variables={"TACHO_CUPTI": "/no/such/libcupti.so"})
        self.assertEqual(fakelib.kernels(report), {})
        self.assertIn("/no/such/libcupti.so", report.value("SELECT refusal FROM TACHO_CUPTI"))

    def test_one_that_lacks_a_call(self):
        report = self.cuda("cuda_end", "return", 5, variables={"TACHO_CUPTI": fakelib.cupti("broken")})
        self.assertEqual(fakelib.kernels(report), {})
        self.assertIn("cuptiActivityFlushAll", report.value("SELECT refusal FROM TACHO_CUPTI"))

    def test_two_runtimes(self):
        """A second CUDA runtime in the same process shares the driver, and its calls are recorded like the first one's."""
        report = self.cuda("cuda_runtimes")
        self.assertEqual(fakelib.kernels(report), {"first": 1, "second": 1, "opened": 1})
        self.assertEqual(self.counters()["subscribers"], 1)

    def test_runtime_that_is_opened_late(self):
        report = self.profile(lib.program("cuda_runtimes"), "late", options=["-t", "cuda"], env=self.environment())
        self.assertEqual(fakelib.kernels(report), {"opened": 1})

    def test_without_preload(self):
        report = self.cuda("cuda_work", "kernels", options=["--preload=no"])
        self.assertEqual(fakelib.kernels(report), {kernel["name"]: 1 for kernel in self.truth("kernel")})

    def test_not_asked_for_cuda(self):
        """CUPTI is not touched at all."""
        report = self.cuda("cuda_work", "kernels", source="nvtx,osrt")
        self.assertEqual(self.counters()["subscribers"], 0)
        self.assertFalse(report.has("CUPTI_ACTIVITY_KIND_KERNEL"))
        self.assertFalse(report.has("TACHO_CUPTI"))

    def test_program_without_cuda(self):
        report = self.profile("true", options=["-t", "cuda"])
        self.assertFalse(report.has("TACHO_CUPTI"))


class Refused(fakelib.Case):
    def refused(self, **settings):
        report = self.cuda("cuda_end", "return", 5, settings=settings, source="cuda,osrt", options=["--osrt-threshold=0"])
        self.assertEqual(fakelib.kernels(report), {})
        self.assertGreater(sum(report.calls().values()), 0, "other sources go on")
        rows = report.rows("SELECT result, refusal FROM TACHO_CUPTI WHERE refusal IS NOT NULL")
        self.assertEqual(len(rows), 1)
        self.assertIn(rows[0][1][:40], self.output.stderr)
        return rows[0]

    def test_somebody_else_is_subscribed(self):
        result, _ = self.refused(subscribe_error=39)
        self.assertEqual(result, 39)

    def test_no_right_to(self):
        """The sentence says what to do about it."""
        result, refusal = self.refused(enable_error=35)
        self.assertEqual(result, 35)
        self.assertRegex(refusal, "(?i)privilege|root|NVreg_RestrictProfilingToAdminUsers|CAP_SYS_ADMIN")


class Clients(fakelib.Case):
    """A program that profiles itself, as torch.profiler does."""

    def client(self, when, how, *options):
        report = self.cuda("cuda_client", when, how, options=options)
        return report, (self.truth("subscribe")[0]["result"], self.truth("own")[0]["kernels"])

    def test_is_told_that_it_sees_nothing(self):
        """CUPTI is ours: the program's profiler sees nothing, and the report says so and what can be done."""
        for when, kernels in (("late", {"before": 3, "profiled": 5, "after": 1}), ("early", {"profiled": 5, "after": 1})):
            with self.subTest(when=when):
                report, own = self.client(when, "linked")
                self.assertEqual(own, (39, 0))
                self.assertEqual(fakelib.kernels(report), kernels)
                self.assertIn("--cuda-yield", self.output.stderr)
                self.assertIn("--cuda-yield", self.warnings(report))

    def test_yield(self):
        """--cuda-yield: the program has CUPTI when it asks, and what was recorded until then is kept."""
        report, own = self.client("late", "linked", "--cuda-yield=true")
        self.assertEqual(own, (0, 5))
        self.assertEqual(fakelib.kernels(report), {"before": 3})
        report, own = self.client("early", "linked", "--cuda-yield=true")
        self.assertEqual(own, (0, 5))
        self.assertEqual(fakelib.kernels(report), {})

    def test_looks_its_calls_up_and_comes_late(self):
        """Then it is CUPTI that refuses it."""
        report, own = self.client("late", fakelib.cupti("13.0"))
        self.assertEqual(own, (39, 0))
        self.assertEqual(fakelib.kernels(report), {"before": 3, "profiled": 5, "after": 1})

    def test_looks_its_calls_up_and_comes_first(self):
        """Then CUPTI is the program's, undisturbed: we have none of its records, and the report says who holds it."""
        report, own = self.client("early", fakelib.cupti("13.0"))
        self.assertEqual(own, (0, 5))
        self.assertEqual(fakelib.kernels(report), {})
        self.assertEqual(report.rows("SELECT result FROM TACHO_CUPTI WHERE refusal IS NOT NULL"), [(39,)])

    def test_without_cuda_in_the_capture(self):
        report = self.cuda("cuda_client", "late", "linked", source="osrt")
        self.assertEqual((self.truth("subscribe")[0]["result"], self.truth("own")[0]["kernels"]), (0, 5))


if __name__ == "__main__":
    fakelib.main()
