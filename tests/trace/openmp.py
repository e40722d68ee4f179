"""OpenMP, through OMPT and through libgomp's entry points: what a program counts of its own constructs is what the report has, with its functions and lines."""
import glob
import os
import shutil
import statistics
import subprocess
import tempfile

import lib

SOURCES = os.path.join(lib.SOURCE, "tests/trace/openmp")
CLANG = shutil.which("clang")
LIBOMP = os.environ.get("TACHO_TEST_LIBOMP") or os.path.join(lib.SOURCE, "build", "libomp")  # that scripts/test --all makes


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

    def compare_balance(self, runtime="installed", **more):
        """Times of regions, and which of two is the one to balance."""
        report = self.record(self.build("openmp_balance"), **more)
        told = [int(line) for line in self.output.stdout.split()]
        seen = [end - start for start, end in report.rows(f"SELECT start, end FROM {table('PARALLEL')} ORDER BY start")]
        self.assertEqual(len(seen), len(told))
        # The median: a thread that the kernel puts off between the two clocks does no harm.
        off = [abs(ours / its - 1) for ours, its in zip(seen, told)]
        print(f"{os.path.basename(self.compiler)}, {runtime} runtime: times of regions differ from omp_get_wtime() by {statistics.median(off):.3%} (median of {len(off)})")
        self.assertLess(statistics.median(off), 0.01, list(zip(seen, told)))
        done = subprocess.run([lib.TACHO, "stats", "-r", "openmp_region_sum", "--format", "csv", report.path], capture_output=True, text=True, check=True)
        lines = [line for line in done.stdout.splitlines() if line]
        rows = [dict(zip(lines[-3].split(","), line.split(","))) for line in lines[-2:]]
        self.assertEqual([row["Function"] for row in rows], ["planted", "even"], done.stdout)
        self.assertEqual([row["Instances"] for row in rows], ["1", "4"])
        self.assertEqual([row["Threads"] for row in rows], ["3", "3"])


LLVM_COUNTS = {
    "regions": ("PARALLEL",), "implicit_tasks": ("TASK", 2), "barriers": ("SYNC_REGION", 3), "criticals": ("CRITICAL_SECTION", 5),
    "locks": ("CRITICAL_SECTION", 1), "nested_locks": ("CRITICAL_SECTION", 3), "made": ("TASK_CREATE",), "run": ("TASK", 4),
    "masters": ("MASTER",), "singles": ("WORKSHARE", 3),
}


def between_clock_readings(self):
    report = self.record(self.build("openmp_counts"))
    told = self.told()
    start, end = report.rows(f"SELECT start, end FROM {table('PARALLEL')} ORDER BY start LIMIT 1")[0]
    zero, error = report.rows("SELECT monotonicNs - timestamp, errorNs FROM TACHO_CLOCK ORDER BY timestamp LIMIT 1")[0]
    self.assertGreaterEqual(start + zero + error, told["before"])
    self.assertLessEqual(end + zero - error, told["after"])
    self.assertGreater(end, start)


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

    test_times_lie_between_the_programs_clock_readings = between_clock_readings

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
        """LLVM's runtimes of other versions, and Intel's, unpacked beside the installed one: a program finds them by LD_LIBRARY_PATH."""
        folders = sorted(map(os.path.dirname, glob.glob(os.path.join(LIBOMP, "*", "libomp.so.5"))))
        if not folders:
            self.skipTest(f"no other versions of libomp are in {LIBOMP} (scripts/test --all unpacks Debian's there)")
        for folder in folders:
            with self.subTest(os.path.basename(folder)):
                environment = {**os.environ, "LD_LIBRARY_PATH": folder}
                loaded = subprocess.run(["ldd", self.build("openmp_counts")], env=environment, capture_output=True, text=True, check=True).stdout
                self.assertIn(folder + "/libomp.so.5 ", loaded)
                self.compare_counts(env=environment)
                self.compare_balance(os.path.basename(folder), env=environment)


class Gcc(Programs):
    """libgomp has no OMPT: its entry points are interposed. An explicit barrier and that of a loop are the same call."""
    compiler, flags = shutil.which("gcc"), ["-fopenmp"]
    counts = {**LLVM_COUNTS, "barriers": ("SYNC_REGION", 1)}
    del counts["masters"]

    def test_counts_are_the_programs(self):
        report = self.record(self.build("openmp_counts"))
        told = self.told()
        singles = told["singles"] * told["threads"]  # their implicit barriers
        for name, which in self.counts.items():
            self.assertEqual(self.count(report, *which), told[name] + (singles if name == "barriers" else 0), name)
        self.assertEqual(self.count(report, "MUTEX_WAIT", 5), told["criticals"])
        self.assertEqual(self.count(report, "LOCK_INIT"), 2)
        self.assertEqual(self.count(report, "LOCK_DESTROY"), 2)
        self.assertEqual(report.rows(f"SELECT DISTINCT threads FROM {table('PARALLEL')}"), [(told["threads"],)])
        self.assertEqual(report.rows(f"SELECT DISTINCT threadIndex FROM {table('TASK')} WHERE kind = 2 ORDER BY 1"), [(0,), (1,), (2,)])
        late = report.value(f"""SELECT count(*) FROM {table('TASK')} t JOIN {table('PARALLEL')} p USING (parallelId)
                                WHERE t.kind = 2 AND (t.start < p.start OR t.end > p.end)""")
        self.assertEqual(late, 0)

    test_times_lie_between_the_programs_clock_readings = between_clock_readings

    def test_functions(self):
        report = self.record(self.build("openmp_counts"))
        functions = {name for name, in report.rows(f"""SELECT s.value FROM {table('PARALLEL')} p JOIN TACHO_OPENMP_CALLCHAINS c ON c.id = p.callchainId
                                                       JOIN StringIds s ON s.id = c.symbol""")}
        self.assertGreaterEqual(functions, {"barriers_in_a_region", "locks_in_a_region", "tasks_in_a_region"})

    def runtime(self):
        path = os.path.realpath(subprocess.run([self.compiler or "gcc", "-print-file-name=libgomp.so.1"], capture_output=True, text=True).stdout.strip())
        if not os.path.exists(path):
            self.skipTest("there is no libgomp.so.1")
        return path

    def test_copies_of_the_runtime(self):
        """Two copies of libgomp, each for one library: a call must reach the copy that the library reaches without us."""
        runtime = self.runtime()
        libraries = []
        for name in ("a", "b"):
            copy, library = self.path(f"libgomp-{name}.so.1"), self.path(f"library_{name}.so")
            shutil.copy(runtime, copy)
            if subprocess.run(["patchelf", "--version"], capture_output=True).returncode if shutil.which("patchelf") else 1:
                self.rename(copy, f"libgomp-{name}.so.1")
            else:
                subprocess.run(["patchelf", "--set-soname", f"libgomp-{name}.so.1", copy], check=True)
            subprocess.run([self.compiler, "-O1", "-g", "-w", "-fopenmp", "-shared", "-fPIC", os.path.join(SOURCES, "openmp_library.c"), "-nodefaultlibs", copy, "-lc",
                            "-Wl,-rpath," + self.folder, "-o", library], check=True)
            libraries.append(library)
        loader = self.path("loader")
        subprocess.run([self.compiler, "-w", os.path.join(SOURCES, "openmp_loader.c"), "-o", loader, "-ldl"], check=True)
        subprocess.run([loader, *libraries], check=True)
        self.assertEqual(self.count(self.record(loader, *libraries), "PARALLEL"), 4)

    def test_locks_of_old_programs(self):
        """Their functions have the version OMP_1.0 and are not recorded: a stub would call those of the larger locks."""
        if "(OMP_1.0)" not in subprocess.run(["objdump", "-T", self.runtime()], capture_output=True, text=True).stdout:
            self.skipTest("this libgomp has no functions for old programs")
        report = self.record(self.build("openmp_old_locks"))
        self.assertEqual(self.output.stdout.split(), ["1", "2", "3", "4", "5", "6"])
        self.assertEqual(self.count(report, "CRITICAL_SECTION"), 0)

    def test_a_region_in_a_constructor(self):
        library = self.build("openmp_constructor", "-shared", "-fPIC")
        loader = self.path("loader")
        subprocess.run([self.compiler, "-w", os.path.join(SOURCES, "openmp_loader.c"), "-o", loader, "-ldl"], check=True)
        report = self.record(loader, library, timeout=lib.PATIENCE)
        self.assertEqual(self.count(report, "PARALLEL"), 2)
        self.assertEqual(self.count(report, "CRITICAL_SECTION", 5), 2)

    def rename(self, path, name):
        """Gives a library the soname `name`, which is as long as one of its strings after the old one: no tool is needed."""
        with open(path, "rb") as file:
            data = file.read()
        old = b"libgomp.so.1\0"
        self.assertEqual(data.count(old), 1)
        short = b"libgomp." + name.encode()[8:9] + b".so"
        self.assertEqual(len(short) + 1, len(old))
        with open(path, "wb") as file:
            file.write(data.replace(old, short + b"\0"))
        os.symlink(path, os.path.join(self.folder, short.decode()))


class Ends:
    """What programs do that profilers stumble over, for both runtimes."""

    def test_fork(self):
        report = self.record(self.build("openmp_ends"), "fork")
        self.assertEqual(self.count(report, "PARALLEL"), 3)
        self.assertEqual(report.value(f"SELECT count(DISTINCT globalTid >> 24) FROM {table('PARALLEL')}"), 2)

    def test_nested_regions(self):
        report = self.record(self.build("openmp_ends"), "nested")
        self.assertEqual(self.count(report, "PARALLEL"), 3)
        self.assertEqual(self.count(report, "TASK", 2), 6)

    def test_the_first_thread_of_the_runtime_ends(self):
        report = self.record(self.build("openmp_ends", "-pthread"), "threads")
        self.assertEqual(self.count(report, "PARALLEL"), 10)
        self.assertEqual(self.count(report, "CRITICAL_SECTION", 5), 20)

    def test_exit_inside_a_region(self):
        report = self.record(self.build("openmp_ends"), "exit", status=5)
        self.assertEqual(report.rows(f"SELECT incomplete FROM {table('PARALLEL')}"), [(1,)])

    def test_unload(self):
        library = self.build("openmp_library", "-shared", "-fPIC")
        report = self.record(self.build("openmp_ends"), "unload", library, library, library)
        self.assertEqual(self.count(report, "PARALLEL"), 3)

    def test_another_library_at_the_same_place(self):
        """A return address is the next library's, too: each region has the function that ran it."""
        program, libraries = self.build("openmp_ends"), []
        for name in ("first_one", "other_one"):
            libraries.append(self.path(name + ".so"))
            subprocess.run([self.compiler, "-O1", "-g", "-w", *self.flags, f"-DNAME={name}", "-shared", "-fPIC", os.path.join(SOURCES, "openmp_library.c"), "-o", libraries[-1]], check=True)
        report = self.record(program, "unload", *libraries)
        if len(set(self.output.stdout.split("\n")[:2])) != 1:
            self.skipTest("the second library was not loaded where the first one was")
        functions = report.rows(f"""SELECT s.value FROM {table('PARALLEL')} p JOIN TACHO_OPENMP_CALLCHAINS c ON c.id = p.callchainId
                                     JOIN StringIds s ON s.id = c.symbol WHERE c.stackDepth = 0 ORDER BY p.start""")
        self.assertEqual(functions, [("first_one",), ("other_one",)])

    def test_times_are_the_programs_and_a_planted_imbalance_comes_first(self):
        self.compare_balance()

    def test_only_on_request(self):
        report = self.profile(self.build("openmp_balance"), options=["-t", "osrt"])
        self.assertFalse(report.has(table("PARALLEL")))


class LlvmEnds(Ends, Programs):
    pass


class GccEnds(Ends, Programs):
    compiler = Gcc.compiler


class StandIn(Programs):
    """A runtime with OMPT that is none, for what OMPT's tool does by default; -t openmp is tested with real ones, too."""
    compiler, flags = shutil.which("gcc"), ["-I", os.path.join(lib.SOURCE, "src")]
    WAITS = 51  # of the program: 50 short ones and one of 5 ms

    def build(self, name, *more):
        runtime = os.path.join(self.made, "libomp.so.5")
        if not os.path.exists(runtime):
            subprocess.run([self.compiler, "-w", *self.flags, "-DRUNTIME", "-shared", "-fPIC", "-Wl,-soname,libomp.so.5", os.path.join(SOURCES, name + ".c"),
                            "-o", runtime, "-ldl"], check=True)
        return super().build(name, runtime, "-Wl,-rpath," + self.made)

    def waits(self, report):
        return self.count(report, "MUTEX_WAIT"), report.count("openmp", "below-threshold"), self.count(report, "CRITICAL_SECTION")

    def test_short_waits_for_locks_are_counted(self):
        report = self.profile(self.build("openmp_runtime"))
        self.assertEqual((self.output.stdout, self.count(report, "PARALLEL"), self.count(report, "TASK", 2)), ("no releases\n", 1, 1))
        recorded, counted, held = self.waits(report)
        self.assertEqual((recorded + counted, held), (self.WAITS, 0))
        self.assertGreaterEqual(report.value(f"SELECT max(end - start) FROM {table('MUTEX_WAIT')}"), 5000000)
        self.assertGreaterEqual(report.value(f"SELECT min(end - start) FROM {table('MUTEX_WAIT')}"), 1000)

    def test_all_locks_on_request(self):
        report = self.record(self.build("openmp_runtime"))
        self.assertEqual(self.output.stdout, "releases\n")
        self.assertEqual(self.waits(report), (self.WAITS, 0, self.WAITS))

    def test_the_tool_of_the_user_keeps_its_place(self):
        for variable, trace in (("OMP_TOOL_LIBRARIES", []), ("OMP_TOOL_LIBRARIES", ["-t", "openmp"])):
            report = self.profile(self.build("openmp_runtime"), options=trace, env={**os.environ, variable: "/nowhere/mine.so"})
            self.assertEqual((self.output.stdout, report.has(table("PARALLEL"))), ("no tool\n", False))
            self.assertIn("OMP_TOOL_LIBRARIES names another tool", self.output.stderr)

    def test_a_program_that_loads_the_runtime_later_is_recorded_on_request(self):
        program = self.path("later")
        subprocess.run([self.compiler, "-w", "-x", "c", "-", "-o", program, "-ldl"], check=True, text=True, input=f"""
            #include <dlfcn.h>
            int main(void) {{ void *runtime = dlopen("{self.made}/libomp.so.5", RTLD_NOW); return ((int (*)(void))dlsym(runtime, "__kmpc_stand_in"))(); }}""")
        self.build("openmp_runtime")
        self.profile(program)
        self.assertEqual(self.output.stdout, "no tool\n")
        self.assertEqual(self.count(self.record(program), "PARALLEL"), 1)


class Children(lib.Case):
    """What a child with an empty environment preloads: the agent adds it."""
    samples = False
    CHILD = ["python3", "-c", '''import os
for i in range(3):
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        os._exit(0)
os.execve("/bin/cat", ["cat", "/proc/self/environ"], {})''']

    def preloaded(self, **more):
        self.profile(*self.CHILD, options=["-t", "openmp"], **more)
        variables = dict(line.split("=", 1) for line in self.output.stdout.split("\0") if line)
        return [os.path.basename(path) for path in variables["LD_PRELOAD"].split(":")]

    def test_each_object_once(self):
        self.assertEqual(self.preloaded(), [os.path.basename(lib.AGENT), "libtacho-openmp.so"])

    def test_no_object_that_is_not_there(self):
        shutil.copy(lib.AGENT, self.path("agent.so"))
        self.assertEqual(self.preloaded(env={**os.environ, "TACHO_AGENT": self.path("agent.so")}), ["agent.so"])
        self.assertIn("libtacho-openmp.so is not beside the agent", self.output.stderr)


class OtherTools(Programs):
    """A runtime takes one OMPT tool; the user's keeps its place, and the report says so."""

    def compare(self, program, **more):
        report = self.record(program, **more)
        self.assertIn("tool saw ", self.output.stdout)
        self.assertFalse(report.has(table("PARALLEL")))
        self.assertEqual(report.value("SELECT count(*) FROM DIAGNOSTIC_EVENT WHERE text LIKE 'OpenMP''s events (OMPT) are not recorded: %'"), 1)

    def test_the_program_is_a_tool(self):
        self.compare(self.build("openmp_tool", "-DPROGRAM"))

    def test_a_library_that_the_environment_names(self):
        tool = os.path.join(self.made, "tool.so")
        program = self.build("openmp_balance")
        subprocess.run([self.compiler, "-w", "-shared", "-fPIC", os.path.join(SOURCES, "openmp_tool.c"), "-o", tool], check=True)
        self.compare(program, env={**os.environ, "OMP_TOOL_LIBRARIES": tool})

    def test_a_library_behind_ours(self):
        tool = os.path.join(self.made, "linked_tool.so")
        subprocess.run([self.compiler, "-w", "-shared", "-fPIC", os.path.join(SOURCES, "openmp_tool.c"), "-o", tool], check=True)
        self.build("openmp_balance")
        linked = os.path.join(self.made, "linked")
        subprocess.run([self.compiler, "-w", "-fopenmp", os.path.join(SOURCES, "openmp_balance.c"), "-Wl,--no-as-needed", tool, "-o", linked], check=True)
        self.compare(linked)


if __name__ == "__main__":
    lib.main()
