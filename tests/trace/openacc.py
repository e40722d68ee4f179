"""OpenACC: programs of gcc -fopenacc, whose events are compared with what the lines of their source say, and a stand-in for a runtime
with a device, which reports every kind of event."""
import collections
import os
import re
import subprocess

import lib

MODULES = os.path.join(lib.SOURCE, "tests/trace/modules")
PROGRAM = os.path.join(MODULES, "openacc_program.c")
TABLES = ["CUPTI_ACTIVITY_KIND_OPENACC_" + kind for kind in ("DATA", "LAUNCH", "OTHER")]
TEXT = "(SELECT value FROM StringIds WHERE id = {})"


def directives():
    """(event, line) of the program's directives, and how often each is reported when constructs() runs once."""
    found = {}
    with open(PROGRAM) as source:
        for number, line in enumerate(source, 1):
            match = re.search(r"#pragma acc.*// (\D+) x(\d+)$", line)
            if match:
                found[match[1], number] = int(match[2])
    return found


class OpenAcc(lib.Case):
    samples = True  # with the names of functions

    def compile(self, name, source, *flags):
        done = subprocess.run(["gcc", "-g", "-O1", *flags, "-o", self.path(name), source, "-ldl"], capture_output=True, text=True)
        if done.returncode != 0:
            self.skipTest("cannot build: " + done.stderr.strip().splitlines()[-1])
        return self.path(name)

    def program(self, *flags):
        return self.compile("program", PROGRAM, "-fopenacc", *flags)

    def record(self, *command, status=0, options=(), **more):
        """Runs the command bare and recorded: the same output, and every event counted."""
        bare = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=lib.PATIENCE, **more)
        report = self.profile(*command, status=status, options=["-t", "openacc", "-s", "none", *options], **more)
        self.assertEqual(self.output.stdout, bare.stdout)
        self.assertEqual(report.count("openacc", "recorded"), len(self.events(report)))
        return report

    def events(self, report):
        """Every event: (name, line, function, file), in the order of time."""
        found = []
        for table in filter(report.has, TABLES):
            columns = [name for _, name, *_ in report.rows(f"PRAGMA table_info({table})")]
            texts = [TEXT.format(column) if column in columns else "NULL" for column in ("nameId", "funcName", "srcFile")]
            found += report.rows(f"SELECT start, end, lineNo, {', '.join(texts)} FROM {table}")
        self.assertEqual([event for event in found if event[1] < event[0]], [])
        return [(name, line, function, file) for _, _, line, name, function, file in sorted(found)]

    def by_directive(self, report):
        counts = collections.Counter()
        for name, line, _, file in self.events(report):
            if name.startswith("Device Init"):
                continue  # belongs to the first directive
            self.assertEqual(os.path.basename(file), "openacc_program.c", name)
            event, _, place = name.partition("@")
            self.assertEqual(place, f"openacc_program.c:{line}")
            counts[event, line] += 1
        return counts

    def test_each_directive_has_its_events_and_line(self):
        expected = directives()
        self.assertEqual(len(expected), 7)
        for flags in ([], ["-O3"], ["-static-libgcc", "-fPIE", "-pie", "-O0"]):
            with self.subTest(flags=flags):
                report = self.record(self.program(*flags))
                self.assertEqual(dict(self.by_directive(report)), expected)
                functions = {function for _, _, function, _ in self.events(report)}
                self.assertLessEqual(functions, {"main", "constructs", "in_a_function"})
                self.assertEqual(report.causes("openacc"), {})

    def test_the_summary_has_a_row_for_each_directive(self):
        self.record(self.program())
        done = subprocess.run([lib.TACHO, "stats", "-r", "openacc_sum", "--format", "csv", self.path("report.tacho")], capture_output=True, text=True)
        names = {line.split(",")[-1] for line in done.stdout.splitlines() if "@openacc_program.c" in line}
        self.assertLessEqual({f"{event}@openacc_program.c:{line}" for event, line in directives()}, names, done.stdout)

    def test_a_forked_child_is_recorded_too(self):
        report = self.record(self.program(), "fork", options=["--trace-fork-before-exec=true"])
        expected = collections.Counter()
        for (event, line), times in directives().items():
            expected[event, line] = 2 * times + (times == 3)
        self.assertEqual(self.by_directive(report), expected)
        self.assertEqual(report.value(f"SELECT count(DISTINCT globalTid) FROM {TABLES[2]}"), 2)

    def test_a_program_that_is_killed_inside_a_construct(self):
        report = self.record(self.program(), "kill", status=-9)
        open_ones = report.rows(f"SELECT {TEXT.format('nameId')} FROM {TABLES[2]} WHERE incomplete = 1")
        with open(PROGRAM) as source:
            line = next(number for number, text in enumerate(source, 1) if "of a killed program" in text)
        self.assertEqual(open_ones, [(f"Compute Construct@openacc_program.c:{line}",)])

    def test_a_program_without_events(self):
        report = self.record(self.program(), "none")
        self.assertEqual(self.events(report), [])
        report = self.record("true")
        self.assertEqual(self.events(report), [])

    def test_a_tool_of_the_user_stays(self):
        tool = self.path("tool.so")
        source = self.path("tool.c")
        with open(source, "w") as file:
            file.write('#include <stdio.h>\nvoid acc_register_library(void *r, void *u, void *l) { puts("the tool of the user"); }\n')
        self.compile("tool.so", source, "-shared", "-fPIC")
        report = self.record(self.program(), env={**os.environ, "ACC_PROFLIB": tool})
        self.assertIn("the tool of the user", self.output.stdout)
        self.assertIn("OpenACC is not recorded: ACC_PROFLIB names another tool", self.output.stderr)
        self.assertEqual(self.events(report), [])

    def test_programs_started_with_another_environment(self):
        program = self.program()
        report = self.record("env", "-i", program)
        self.assertEqual(dict(self.by_directive(report)), directives())
        report = self.profile("env", "-i", "env", options=["-t", "openacc", "-s", "none"])
        self.assertIn("ACC_PROFLIB=" + os.path.join(os.path.dirname(lib.AGENT), "libtacho-openacc.so"), self.output.stdout)
        self.profile("env", "-i", "env", options=["-t", "nvtx", "-s", "none"])
        self.assertNotIn("ACC_PROFLIB", self.output.stdout)

    def test_without_preload_nothing_is_recorded(self):
        self.record(self.program(), options=["--preload=no"])
        self.assertIn("OpenACC is not recorded: --preload=no", self.output.stderr)


class WithADevice(OpenAcc):
    """The stand-in: every kind of event, with bytes, names and sizes."""

    def runtime(self):
        return self.compile("runtime", os.path.join(MODULES, "openacc_runtime.c"))

    def test_every_kind_of_event(self):
        report = self.record(self.runtime())
        self.assertEqual(len(self.events(report)), int(self.output.stdout))
        kinds = {kind for table in TABLES for kind, in report.rows(f"SELECT eventKind FROM {table}")}
        self.assertEqual(kinds, {1, 2, 3, 4, 5, 6, 8, 9, 13, 14, 15, 16})
        launch = report.rows(f"SELECT {TEXT.format('nameId')}, {TEXT.format('kernelName')}, {TEXT.format('funcName')}, {TEXT.format('srcFile')}, "
                             f"lineNo, numGangs, numWorkers, vectorLength, DeviceType, cuDeviceId FROM {TABLES[1]}")
        self.assertEqual(launch, [("Enqueue Launch@solver.f90:12", "solve_12_gpu", "solve", "/src/solver.f90", 12, 32, 33, 34, 4, 1)])
        self.assertEqual(report.rows(f"SELECT DISTINCT bytes, {TEXT.format('varName')} FROM {TABLES[0]}"), [(4000, "x")])
        self.assertIn("Implicit Wait@solver.f90:12", [name for name, *_ in self.events(report)])

    def test_a_broken_runtime(self):
        report = self.record(self.runtime(), "broken")
        self.assertEqual(len(self.events(report)), int(self.output.stdout) + 1)
        self.assertEqual(report.rows(f"SELECT {TEXT.format('nameId')} FROM {TABLES[2]} WHERE incomplete = 1"), [("Enter Data",)])

    def test_deep_nesting_is_counted_as_lost(self):
        report = self.record(self.runtime(), "deep")
        self.assertEqual(report.produced("openacc"), int(self.output.stdout) + 20)
        self.assertEqual(report.count("openacc", "lost"), 12)


for name in [name for name in dir(OpenAcc) if name.startswith("test_")]:  # those of the first class run once
    setattr(WithADevice, name, None)

if __name__ == "__main__":
    lib.main()
