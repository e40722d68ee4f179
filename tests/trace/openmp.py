"""OpenMP through OMPT: what a program counts of its own constructs is what the report has, with its functions and lines."""
import glob
import os
import shutil
import subprocess
import tempfile

import lib

SOURCES = os.path.join(lib.SOURCE, "tests/trace/openmp")
CLANG = shutil.which("clang")


def table(name):
    return "OPENMP_EVENT_KIND_" + name


class Programs(lib.Case):
    samples = False
    compiler, flags = CLANG, ["-fopenmp"]

    @classmethod
    def setUpClass(cls):
        cls.made = tempfile.mkdtemp(prefix="tacho-test-")
        cls.addClassCleanup(shutil.rmtree, cls.made, ignore_errors=True)

    def build(self, name, *more):
        """A program of openmp/, built once for the class."""
        path = os.path.join(self.made, name)
        if not self.compiler:
            self.skipTest("there is no compiler for it")
        if not os.path.exists(path):
            done = subprocess.run([self.compiler, "-O1", "-g", "-w", *self.flags, os.path.join(SOURCES, name + ".c"), "-o", path, "-lm", *more],
                                  capture_output=True, text=True)
            if done.returncode != 0 and ("omp.h" in done.stderr or "-lomp" in done.stderr):
                self.skipTest("clang's OpenMP (libomp-dev) is not installed")
            self.assertEqual(done.returncode, 0, done.stderr)
        return path

    def count(self, report, name, *kinds):
        if not report.has(table(name)):
            return 0
        return report.value(f"SELECT count(*) FROM {table(name)}" + (f" WHERE kind IN ({','.join(map(str, kinds))})" if kinds else ""))

    def told(self):
        """What the program says that it did."""
        return {name: int(value) for name, value in map(str.split, self.output.stdout.splitlines())}

    def record(self, program, *arguments, options=(), **more):
        report = self.profile(program, *arguments, options=["-t", "openmp", *options], **more)
        self.assertEqual(report.count("openmp", "lost"), 0)
        self.assertEqual(report.count("openmp", "damaged"), 0)
        return report


LLVM_COUNTS = {
    "regions": ("PARALLEL",), "implicit_tasks": ("TASK", 2), "barriers": ("SYNC_REGION", 3), "criticals": ("CRITICAL_SECTION", 5),
    "locks": ("CRITICAL_SECTION", 1), "nested_locks": ("CRITICAL_SECTION", 3), "made": ("TASK_CREATE",), "run": ("TASK", 4),
    "masters": ("MASTER",), "singles": ("WORKSHARE", 3),
}


class Llvm(Programs):
    def compare_counts(self, **more):
        report = self.record(self.build("openmp_counts"), **more)
        told = self.told()
        for name, which in LLVM_COUNTS.items():
            self.assertEqual(self.count(report, *which), told[name], name)
        self.assertEqual(self.count(report, "MUTEX_WAIT", 5), told["criticals"])
        self.assertEqual(self.count(report, "LOCK_INIT"), 2)
        self.assertEqual(self.count(report, "LOCK_DESTROY"), 2)
        return report, told

    def test_counts_are_the_programs(self):
        report, told = self.compare_counts()
        # A construct ends when its region does, in every thread, though the runtime tells it later.
        late = report.value(f"""SELECT count(*) FROM {table('TASK')} t JOIN {table('PARALLEL')} p USING (parallelId)
                                WHERE t.kind = 2 AND (t.start < p.start OR t.end > p.end)""")
        self.assertEqual(late, 0)
        self.assertEqual(report.rows(f"SELECT DISTINCT threads FROM {table('PARALLEL')}"), [(told["threads"],)])
        self.assertEqual(report.rows(f"SELECT DISTINCT threadIndex FROM {table('TASK')} WHERE kind = 2 ORDER BY 1"), [(0,), (1,), (2,)])

    def test_times_lie_between_the_programs_clock_readings(self):
        report, told = self.compare_counts()
        start, end = report.rows(f"SELECT start, end FROM {table('PARALLEL')} ORDER BY start LIMIT 1")[0]
        zero, error = report.rows("SELECT monotonicNs - timestamp, errorNs FROM TACHO_CLOCK ORDER BY timestamp LIMIT 1")[0]
        self.assertGreaterEqual(start + zero + error, told["before"])
        self.assertLessEqual(end + zero - error, told["after"])
        self.assertGreater(end, start)

    def test_functions_and_lines(self):
        report = self.record(self.build("openmp_counts"))
        places = set(report.rows(f"""SELECT s.value, c.sourceLine FROM {table('PARALLEL')} p JOIN TACHO_OPENMP_CALLCHAINS c ON c.id = p.callchainId
                                     JOIN StringIds s ON s.id = c.symbol WHERE c.stackDepth = 0"""))
        with open(os.path.join(SOURCES, "openmp_counts.c")) as file:
            lines = [number for number, line in enumerate(file, 1) if line.startswith("#pragma omp parallel")]
        functions = ["barriers_in_a_region", "locks_in_a_region", "tasks_in_a_region", "loops"]
        self.assertEqual(places, set(zip(functions, lines)))

    def test_frequent_events_on_request(self):
        self.assertFalse(self.record(self.build("openmp_counts")).has(table("DISPATCH")))
        done = self.run_tacho("true", options=["-t", "openmp", "--openmp-details=often"])
        self.assertEqual(done.returncode, 2)
        self.assertIn("--openmp-details must be a list of dispatch and flush, not 'often'", done.stderr)

    def test_other_versions(self):
        """LLVM's runtimes of other versions, unpacked beside the installed one: a program finds them by LD_LIBRARY_PATH."""
        folders = sorted(glob.glob(os.path.join(os.environ.get("TACHO_TEST_LIBOMP", "/nonexistent"), "*")))
        if not folders:
            self.skipTest("TACHO_TEST_LIBOMP names no folder with other versions of libomp")
        for folder in folders:
            with self.subTest(folder):
                self.compare_counts(env={**os.environ, "LD_LIBRARY_PATH": folder})


if __name__ == "__main__":
    lib.main()
