"""tacho profile --cost-limit, and what any capture does if recording makes steps much longer: what costs most is lowered while the program runs, and
the report says what and when. The programs go on until the report has what a test waits for."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests", "trace"))
import lib

MODULES = os.path.join(lib.SOURCE, "tests/trace/modules")
LEVELS = "SELECT source, level FROM TACHO_COST_LIMIT ORDER BY timestamp"


class Storms(lib.Case):
    samples = False

    def ask(self, sql):
        """Of the report while it grows; nothing as long as a table is not there."""
        done = subprocess.run([lib.TACHO, "sql", "-f", "csv", self.path("report.tacho"), sql], capture_output=True, text=True)
        return [line.split(",") for line in done.stdout.splitlines()[1:]] if done.returncode == 0 else []

    def storm(self, *program, options, until=None):
        """Ends the program once the report has what `until` looks for, at once without that."""
        with subprocess.Popen(self.command(*program, options=options), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              start_new_session=True) as tacho:
            self.addCleanup(lib.end_group, tacho)
            if until:
                lib.until(until, f"the report of {program} has what is looked for")
            stdout, stderr = tacho.communicate(timeout=lib.PATIENCE)
        self.assertEqual(tacho.returncode, 0, stderr)
        return self.report(), [int(word) for word in stdout.split()], stdout + stderr

    def reached(self, source, level):
        return lambda: [source, str(level)] in self.ask(LEVELS)

    def counted(self):
        return sum(int(count) for count, in self.ask("SELECT count FROM TACHO_COUNT WHERE fate = 'left-out'"))


class CostLimit(Storms):
    def test_os_calls_are_counted_and_add_up(self):
        for kind, limit in (("reads", 5), ("locks", 20)):
            with self.subTest(kind):
                alone, (calls,), _ = self.storm(lib.program("cost_limit"), kind, options=["-t", "osrt"])
                others = alone.produced("osrt") - calls
                report, (calls,), words = self.storm(lib.program("cost_limit"), kind, options=["-t", "osrt", f"--cost-limit={limit}"],
                                                     until=lambda: self.reached("osrt", 3)() and self.counted() > 0)
                self.assertEqual([row for row in report.rows(LEVELS) if row[1] >= 3][0], ("osrt", 3))
                if report.rows(LEVELS)[-1] != ("osrt", 4):  # at the last level they are not even counted
                    self.assertEqual(report.produced("osrt"), calls + others)
                self.assertGreater(report.count("osrt", "left-out"), 0)
                self.assertRegex(words, rf"lowered: (several times )?from [0-9.]+ m?s on OS calls were (only counted|not recorded), to keep the cost of recording below {limit} %")

    def test_readers_say_so(self):
        self.storm(lib.program("cost_limit"), "reads", options=["-t", "osrt,nvtx", "--cost-limit=1"], until=self.reached("osrt", 3))
        words = "OS calls were"
        for command in (["stats", "-q", "-r", "osrt_sum"], ["sql"]):
            done = subprocess.run([lib.TACHO, *command, self.path("report.tacho"), *(["SELECT count(*) FROM OSRT_API"] if command[0] == "sql" else [])],
                                  capture_output=True, text=True)
            self.assertIn(words, done.stderr, command)
        done = subprocess.run([lib.TACHO, "sql", self.path("report.tacho"), "SELECT count(*) FROM TACHO_THREAD"], capture_output=True, text=True)
        self.assertNotIn(words, done.stderr)
        done = subprocess.run([lib.TACHO, "info", self.path("report.tacho")], capture_output=True, text=True)
        self.assertRegex(done.stdout, r"\nLowered +from .* OS calls were .*, to keep the cost of recording below 1 %\n")
        self.assertRegex(done.stdout, r"\nCost limit +1 %\n")

    def test_ranges_are_never_lowered(self):
        report, (ranges,), words = self.storm(lib.program("cost_limit"), "ranges", options=["-t", "nvtx", "--cost-limit=0.1"])
        self.assertEqual((report.count("nvtx", "recorded"), report.count("nvtx", "lost")), (ranges, 0))
        self.assertFalse(report.has("TACHO_COST_LIMIT"))
        self.assertRegex(words, r"--cost-limit=0\.1 was not kept: recording took up to [0-9.]+ % of the program's CPU time, most of it nvtx, which is\s+always recorded")

    def test_no_limit_lowers_nothing(self):
        report, _, words = self.storm(lib.program("cost_limit"), "reads", options=["-t", "osrt,nvtx"])
        self.assertFalse(report.has("TACHO_COST_LIMIT"))
        self.assertNotIn("lowered", words)

    def test_bad_values(self):
        for value in ("0", "-5", "101", "much", "5%%", "nan", ""):
            done = self.run_tacho("/bin/true", options=[f"--cost-limit={value}"])
            self.assertEqual(done.returncode, 2, value)
            self.assertEqual(done.stderr.splitlines()[0], f"tacho profile: --cost-limit must be a percentage from 0.1 to 100, not '{value}'")


@unittest.skipIf(lib.SANITIZE, "a sanitizer slows the operators down, not their observer")
class Operators(Storms):
    """Windows of operators, on a stand-in of PyTorch."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.mkdtemp(prefix="tacho-test-")
        cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
        os.mkdir(os.path.join(folder, "lib"))
        with open(os.path.join(folder, "version.py"), "w") as file:
            file.write("__version__ = '2.1.2'\n")

        def build(path, source, *arguments):
            subprocess.run([*os.environ["CC"].split(), "-O1", "-g", "-w", "-fPIC", "-fsemantic-interposition", os.path.join(MODULES, source), *arguments,
                            "-o", os.path.join(folder, path), "-ldl", "-lpthread"], check=True)
            return os.path.join(folder, path)

        cls.caller = build("caller", "torch_caller.c", "-rdynamic")
        c10 = build("lib/libc10.so", "torch_c10.c", "-shared", "-Wl,-soname,libc10.so")
        cls.library = build("lib/libtorch_cpu.so", "torch_standin.c", "-shared", "-DSTRING_BYTES=8", "-DNAMED_INPUTS=0", "-Wl,--no-as-needed", c10,
                            "-Wl,-rpath,$ORIGIN")

    def work(self, scene, until):
        return self.storm(self.caller, self.library, scene, options=["-t", "osrt", "--pytorch=auto", "--step-probes=true", "--cost-limit=3"], until=until)

    def test_steps_are_whole_or_lowered(self):
        """Operators come and go between steps; annotations go on."""
        phases = "SELECT phase, count(*) FROM TACHO_STEP_TIME GROUP BY 1"

        def has_windows():
            since = self.ask("SELECT min(timestamp) FROM TACHO_COST_LIMIT WHERE source = 'pytorch'")
            return since and since[0][0] and int((self.ask(f"SELECT count(*) FROM TACHO_STEP_TIME WHERE phase = 'traced' AND start > {since[0][0]}")
                                                  or [[0]])[0][0]) > 0 and "lowered" in dict(self.ask(phases))

        report, (operators, steps), words = self.work("works in steps", has_windows)
        self.assertEqual(report.rows(LEVELS)[0], ("pytorch", 1))
        self.assertRegex(words, r"lowered: (several times )?from .* PyTorch operators were (recorded an eighth of the time|not recorded), to keep")
        numbers = [number for number, in report.rows("SELECT number FROM TACHO_STEP_TIME ORDER BY start")]
        self.assertEqual(numbers, list(range(len(numbers))))
        inside = report.rows("""SELECT s.number, s.phase, sum(n.value = 'aten::work'), sum(n.value = 'Optimizer.step#SGD.step')
                                FROM TACHO_STEP_TIME s LEFT JOIN TACHO_TORCH_OP o ON o.start >= s.start AND o.start < s."end"
                                LEFT JOIN StringIds n ON n.id = o.nameId GROUP BY 1""")
        for number, phase, operators_of, marks in inside:
            if phase == "traced":
                self.assertEqual((operators_of, marks), (200, 1), number)
            elif phase == "lowered":
                self.assertEqual((operators_of, marks), (0, 1), number)
        self.assertLess(report.value("SELECT count(*) FROM TACHO_TORCH_OP"), operators)

    def test_a_loop_without_marks_has_windows_too(self):
        """Nothing of the program calls the agent while operators are left out."""
        def has_window():
            since = self.ask("SELECT min(timestamp) FROM TACHO_COST_LIMIT WHERE source = 'pytorch'")
            return since and since[0][0] and int((self.ask(f"SELECT count(*) FROM TACHO_TORCH_OP WHERE start > {int(since[0][0]) + 500000000}")
                                                  or [[0]])[0][0]) > 0

        report, (operators, _), _ = self.work("works", has_window)
        recorded = report.value("SELECT count(*) FROM TACHO_TORCH_OP")
        self.assertEqual(report.count("pytorch", "recorded"), recorded)
        self.assertTrue(0 < recorded < operators, (recorded, operators))

    def test_steps_that_recording_makes_longer_have_windows(self):
        """Without a limit: an eighth of the later steps have operators, the first 50 have them in any case."""
        lowered = self.storm(self.caller, self.library, "is slow if observed", options=[], until=lambda: len(
            self.ask("""SELECT count(*) FROM TACHO_STEP_TIME WHERE phase = 'traced' AND start > (SELECT min(start) FROM TACHO_STEP_TIME WHERE phase = 'lowered')
                        HAVING count(*) >= 16""")) == 1)
        report, (observed, _), words = lowered
        phases = [phase for phase, in report.rows("SELECT phase FROM TACHO_STEP_TIME ORDER BY start")]
        self.assertEqual(phases[:phases.index("lowered")].count("traced") >= 50, True, phases)
        letters = "".join({"traced": "T", "lowered": "l", "settling": "s", "timed": "t", "detailed": "D"}[phase] for phase in phases)
        self.assertRegex(letters[letters.index("l"):], "^l+(s(T{1,8}(l{1,63})?)?|sst+)*s*$")
        inside = report.rows("""SELECT s.phase, sum(n.value = 'aten::work'), sum(n.value = 'Optimizer.step#SGD.step')
                                FROM TACHO_STEP_TIME s LEFT JOIN TACHO_TORCH_OP o ON o.start >= s.start AND o.start < s."end"
                                LEFT JOIN StringIds n ON n.id = o.nameId WHERE s.phase IN ('traced', 'lowered') GROUP BY s.number""")
        self.assertEqual(set(inside), {("traced", 4, 1), ("lowered", 0, 1)})
        self.assertEqual(report.value("SELECT count(*) FROM TACHO_TORCH_OP JOIN StringIds ON id = nameId WHERE value = 'aten::work'"), observed)
        said = r"from .* on PyTorch operators were recorded in an eighth of the steps, because recording all of them made a step \d+ % longer \(--step-probes=false records all\)"
        self.assertRegex(" ".join(words.split()), "lowered: " + said)
        self.assertEqual(report.rows("SELECT source, level, share > 0.1, limitShare FROM TACHO_COST_LIMIT"), [("pytorch", 1, 1, None)])
        info = subprocess.run([lib.TACHO, "info", self.path("report.tacho")], capture_output=True, text=True)
        self.assertRegex(info.stdout, r"\nLowered +" + said + "\n")

    def test_steps_are_recorded_in_full_if_that_is_wanted(self):
        for options in (["--step-probes=false"], ["--pytorch=auto"], ["-t", "osrt", "--pytorch=auto", "--step-probes=true"]):
            report, (observed, steps), words = self.storm(self.caller, self.library, "is slow if observed", options=options, until=lambda: len(
                self.ask("SELECT count(*) FROM TACHO_TORCH_OP HAVING count(*) >= 5 * 160")) == 1)
            self.assertNotIn("lowered", words)
            self.assertFalse(report.has("TACHO_COST_LIMIT"))


lib.main()
