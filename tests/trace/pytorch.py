"""Operators of PyTorch, seen by the observer that the agent adds: against a stand-in of its libraries, in the layouts of several
versions and in one that nobody knows. pytorch_real.py does the same with PyTorch itself.
"""
import os
import shutil
import subprocess
import sys
import tempfile

import lib

CC = os.environ["CC"].split()
SOURCES = os.path.join(lib.SOURCE, "tests/trace/modules")
LAYOUTS = {"2.15.0": ["-DSTRING_BYTES=32", "-DNAMED_INPUTS=56", "-DDESCRIPTION"], "2.6.0": ["-DSTRING_BYTES=8", "-DNAMED_INPUTS=56"],
           "2.1.2+cpu": ["-DSTRING_BYTES=8", "-DNAMED_INPUTS=0"], "1.13.1": ["-DSTRING_BYTES=32", "-DNAMED_INPUTS=0"],
           "99.0": ["-DSTRING_BYTES=32", "-DNAMED_INPUTS=56", "-DDESCRIPTION", "-DSHIFTED"],
           "1.7.1": ["-DSTRING_BYTES=8", "-DNAMED_INPUTS=0", "-DNO_NAME"], "1.11.0a0+git": ["-DOLDER=10"],
           **{version: ["-DOLDER=" + version.split(".")[1]] for version in ("1.8.1", "1.9.0+cu102", "1.10.2", "1.11.0")}}
OPERATORS = """SELECT value, category, sequenceNumber, forwardThread, start, "end", globalTid FROM TACHO_TORCH_OP JOIN StringIds ON id = nameId
               ORDER BY start"""


class PyTorch(lib.Case):
    @classmethod
    def setUpClass(cls):
        cls.made = tempfile.mkdtemp(prefix="tacho-test-")
        cls.addClassCleanup(shutil.rmtree, cls.made, ignore_errors=True)
        cls.caller = cls.build(os.path.join(cls.made, "caller"), "torch_caller.c", "-rdynamic")
        cls.loader = cls.build(os.path.join(cls.made, "libloader.so"), "torch_loader.c", "-shared", "-Wl,--disable-new-dtags,-rpath,/nowhere")
        cls.libraries = {}
        for version, macros in LAYOUTS.items():
            folder = os.path.join(cls.made, version, "lib")
            os.makedirs(folder)
            with open(os.path.join(cls.made, version, "version.py"), "w") as file:
                file.write(f"__all__ = ['__version__']\n__version__ = '{version}'\n")
            c10 = cls.build(os.path.join(folder, "libc10.so"), "torch_c10.c", "-shared", "-Wl,-soname,libc10.so")
            cls.libraries[version] = cls.build(os.path.join(folder, "libtorch_cpu.so"), "torch_standin.c", "-shared", *macros,
                                               "-Wl,--no-as-needed", c10, "-Wl,-rpath,$ORIGIN")

    @classmethod
    def build(cls, path, source, *arguments):
        flags = ["-O1", "-g", "-w", "-fPIC", "-fsemantic-interposition"]
        subprocess.run([*CC, *flags, os.path.join(SOURCES, source), *arguments, "-o", path, "-ldl", "-lpthread"], check=True)
        return path

    def run_scene(self, scene, version="2.15.0", options=(), **more):
        return self.profile(self.caller, self.libraries[version], scene, options=["-t", "osrt", "--pytorch=auto", *options], **more)

    def operators(self, report):
        return report.rows(OPERATORS) if report.has("TACHO_TORCH_OP") else []

    def counts(self, report):
        """What became of PyTorch's events: recorded, lost."""
        rows = dict(report.rows("SELECT fate, sum(count) FROM TACHO_COUNT WHERE source = 'pytorch' GROUP BY 1")) if report.has("TACHO_COUNT") else {}
        return rows.get("recorded", 0), rows.get("lost", 0)

    def warnings(self, report):
        return "\n".join(text for text, in report.rows("SELECT text FROM DIAGNOSTIC_EVENT")) if report.has("DIAGNOSTIC_EVENT") else ""

    def test_every_known_layout(self):
        for version in ("2.15.0", "2.6.0", "2.1.2+cpu", "1.13.1", "1.8.1", "1.9.0+cu102", "1.10.2", "1.11.0"):
            with self.subTest(version):
                report = self.run_scene("plain", version)
                got = [row[:4] for row in self.operators(report)]
                expected = [row for step in range(3) for row in (
                    (f"ProfilerStep#{step}", "user_annotation", None, None), ("aten::linear", "cpu_op", step, 0),
                    ("aten::addmm", "cpu_op", step, 0), ("AddmmBackward0", "cpu_op", step, 1))]
                self.assertEqual(got, expected)
                self.assertEqual(self.counts(report), (12, 0))
                self.assertEqual(report.rows("SELECT value FROM TACHO_TORCH_METADATA WHERE name = 'tacho.torchVersion'"), [(f'"{version}"',)])
                self.assertEqual(report.rows("SELECT number FROM TACHO_TORCH_STEP ORDER BY start"), [(0,), (1,), (2,)])
                self.assertEqual(self.output.stdout, "12 contexts deleted\n")

    def test_operators_lie_within_each_other(self):
        rows = {row[0]: row[4:6] for row in self.operators(self.run_scene("plain"))[:4]}
        for outer, inner in (("ProfilerStep#0", "aten::linear"), ("aten::linear", "aten::addmm"), ("ProfilerStep#0", "AddmmBackward0")):
            self.assertLessEqual(rows[outer][0], rows[inner][0])
            self.assertLessEqual(rows[inner][1], rows[outer][1])

    def test_unknown_versions_are_left_alone(self):
        for version, word in (("99.0", "layout"), ("1.7.1", "1.8"), ("1.11.0a0+git", "1.8")):
            with self.subTest(version):
                report = self.run_scene("plain", version)
                self.assertEqual(self.operators(report), [])
                self.assertIn(word, self.warnings(report))
                self.assertIn(word, self.output.stderr)
                self.assertEqual(self.output.stdout, "0 contexts deleted\n")

    def test_loaded_behind_our_back(self):
        report = self.profile(self.caller, self.libraries["2.6.0"], "plain", self.loader, options=["-t", "osrt", "--pytorch=auto"])
        self.assertEqual(len(self.operators(report)), 12)
        # It is timed only where our hook may take the caller's place.
        ((untimed,),) = report.rows("SELECT sum(count) FROM TACHO_COUNT WHERE source = 'osrt' AND fate = 'untimed'")
        self.assertGreaterEqual(untimed, 2)

    def test_off(self):
        report = self.profile(self.caller, self.libraries["2.15.0"], "plain", options=["--pytorch=off"])
        self.assertEqual(self.operators(report), [])
        self.assertEqual(self.output.stdout, "0 contexts deleted\n")

    def test_hostile_names(self):
        rows = [row[:4] for row in self.operators(self.run_scene("hostile"))]
        self.assertEqual([name if len(name) < 100 else (name[0], len(name)) for name, *_ in rows],
                         [("x", 32767), "", '"quoted"\n\ufffd\ufffd(', "", "ProfilerStep#99999999999999999999"])
        self.assertEqual(rows[1][2:], (2**63 - 1, -1))

    def test_threads_and_asynchronous_operators(self):
        report = self.run_scene("threads")
        rows = self.operators(report)
        self.assertEqual(sorted({(name, sum(1 for row in rows if row[0] == name)) for name, *_ in rows}),
                         [("asynchronous", 1), ("inner", 4000), ("outer", 4000)])
        self.assertEqual(len({row[6] for row in rows}), 5)
        self.assertEqual(self.counts(report), (8001, 0))
        self.assertTrue(all(row[5] >= row[4] for row in rows))

    def test_forked_children_are_observed(self):
        report = self.run_scene("forks")
        rows = self.operators(report)
        parents = {name: thread >> 24 for name, *_, thread in rows}
        self.assertEqual(sorted(row[0] for row in rows), ["around the fork", "child", "parent"])
        self.assertNotEqual(parents["child"], parents["parent"])
        self.assertEqual(parents["around the fork"], parents["parent"])

    def test_child_that_was_forked_amid_the_load(self):
        """The thread that was adding the observer is not in the child, where torch's locks may be held for good: torch is left alone there."""
        report = self.run_scene("forks amid the load")
        self.assertEqual(len(self.operators(report)), 12)
        ((refused, reason),) = report.rows("SELECT globalPid, text FROM DIAGNOSTIC_EVENT WHERE text LIKE '%PyTorch%'")
        self.assertIn("forked while PyTorch was being loaded", reason)
        self.assertNotIn(refused, {row[6] >> 24 << 24 for row in self.operators(report)})

    def test_death_leaves_what_was_running(self):
        report = self.run_scene("dies", status=-9)
        marks = report.rows("""SELECT n.value, a.value FROM TACHO_TORCH_OP JOIN StringIds n ON n.id = nameId
                               LEFT JOIN StringIds a ON a.id = argsId ORDER BY start""")
        self.assertEqual(marks, [("outer", '"unfinished": true'), ("inner", None), ("last", '"unfinished": true')])

    def test_beside_an_observer_of_the_program(self):
        report = self.run_scene("observed")
        self.assertEqual(len(self.operators(report)), 2001)
        self.assertEqual(self.output.stdout, "2000 begins and 2000 ends\n")

    def test_inputs(self):
        report = self.run_scene("inputs", "2.1.2+cpu", options=["--pytorch-shapes=true"])
        columns = "inputDimsId", "inputTypesId", "inputStridesId", "concreteInputsId"
        select = ", ".join(f"(SELECT value FROM StringIds WHERE id = {column})" for column in columns)
        given, much = report.rows(f"SELECT {select} FROM TACHO_TORCH_OP ORDER BY start")
        self.assertEqual(given, (
            "[[2, 3], [1, 2, 3, 4, 5, 6], [], [[2, 3], []], [], [], [], [], [], []]",
            '["float", "c10::BFloat16", "", "TensorList", "ScalarList", "Scalar", "Scalar", "Scalar", "", ""]',
            "[[3, 1], [720, 360, 120, 30, 6, 1], [], [[3, 1], []], [], [], [], [], [], []]",
            '["", "", "", "", "[7, 8]", "42", "0.10000000000000001", "True", "", ""]'))
        self.assertTrue(much[0].startswith("[[2, 3], [2, 3], ") and much[0].endswith(", [2, 3], []]"))
        self.assertTrue(much[1].endswith(', "float", "..."]'))  # there were more

    def test_long_lists_and_many_dimensions(self):
        report = self.run_scene("lists", "2.1.2+cpu", options=["--pytorch=autograd-shapes-nvtx"])
        listed, deep = report.rows("""SELECT dims.value, types.value, given.value FROM TACHO_TORCH_OP JOIN StringIds AS dims ON dims.id = inputDimsId
                                      JOIN StringIds AS types ON types.id = inputTypesId JOIN StringIds AS given ON given.id = concreteInputsId
                                      ORDER BY start""")
        self.assertEqual(listed, ("[[], [], [], []]", '["TensorList", "TensorList", "TensorList", "Scalar"]', '["", "", "", "42"]'))
        self.assertEqual(deep[0], str([list(range(1, 21))]))
        text = report.rows("SELECT text FROM NVTX_EVENTS WHERE eventType = 59 ORDER BY start")[0][0]
        self.assertIn("sizes = [[...], " + 31 * "[2, 3], " + "[...], []]", text)

    def inputs_under(self, version):
        """What a build of 2.1.2 under another version number gives."""
        path = os.path.join(self.made, "2.1.2+cpu", "version.py")
        with open(path, "w") as file:
            file.write(f"__version__ = '{version}'\n")
        try:
            return self.run_scene("inputs", "2.1.2+cpu", options=["--pytorch-shapes=true"])
        finally:
            with open(path, "w") as file:
                file.write("__version__ = '2.1.2+cpu'\n")

    def test_inputs_under_a_borrowed_version_are_given_up(self):
        report = self.inputs_under("2.6.0")
        self.assertEqual(report.rows("SELECT value, inputDimsId IS NULL FROM TACHO_TORCH_OP JOIN StringIds ON id = nameId ORDER BY start"),
                         [("aten::given", 0), ("aten::much", 1)])
        self.assertIn("not laid out as in this version of PyTorch", self.warnings(report))

    def test_inputs_of_an_unknown_version_are_not_read(self):
        report = self.inputs_under("7.0")
        self.assertEqual([row[0] for row in self.operators(report)], ["aten::given", "aten::much"])
        self.assertEqual(report.rows("SELECT count(inputDimsId) FROM TACHO_TORCH_OP"), [(0,)])
        self.assertIn("Shapes of PyTorch operators are not recorded", self.warnings(report))

    def test_memory(self):
        report = self.run_scene("memory", options=["--pytorch-memory=true"])
        self.assertEqual(report.rows("SELECT event, deviceType, deviceId, bytes, totalAllocated FROM TACHO_TORCH_MEMORY ORDER BY timestamp"),
                         [("[memory]", 0, -1, 4096, 4096), ("[memory]", 0, -1, -4096, 0)])
        self.assertEqual(self.output.stdout, "2 reports\n")
        report = self.run_scene("memory")
        self.assertFalse(report.has("TACHO_TORCH_MEMORY"))
        self.assertEqual(self.output.stdout, "0 reports\n")

    def c10(self, version):
        return os.path.join(os.path.dirname(self.libraries[version]), "libc10.so")

    def test_memory_of_another_c10_after_the_first_is_unloaded(self):
        program = self.build(os.path.join(self.made, "again"), "torch_again.c")
        report = self.profile(program, self.c10("2.15.0"), self.c10("2.6.0"), options=["-t", "osrt", "--pytorch=auto", "--pytorch-memory=true"])
        self.assertEqual(report.rows("SELECT bytes FROM TACHO_TORCH_MEMORY ORDER BY timestamp"), 2 * [(64,), (-64,)])
        self.assertEqual(self.output.stdout, "the first is gone\n2 reports\n")

    def test_memory_is_reported_while_a_library_is_loaded(self):
        """The allocator's lock is held then, and the constructor that waits for it has the loader's: neither may wait for the other."""
        c10 = self.c10("2.15.0")
        program = self.build(os.path.join(self.made, "locks"), "torch_locks.c", "-rdynamic")
        plugin = self.build(os.path.join(self.made, "libplugin.so"), "torch_plugin.c", "-shared", c10)
        loaded_late = self.build(os.path.join(self.made, "libtorch_cpu.so"), "torch_plugin.c", "-shared", c10)
        for arguments in (plugin,), (loaded_late, self.loader):
            with self.subTest(os.path.basename(arguments[0])):
                report = self.profile(program, c10, *arguments, options=["-t", "osrt", "--pytorch=auto", "--pytorch-memory=true"])
                self.assertEqual(report.rows("SELECT bytes FROM TACHO_TORCH_MEMORY ORDER BY timestamp"), [(4096,), (64,), (-64,)])
                self.assertEqual(self.output.stdout, "3 reports\n")

    def test_constructors_that_load_libraries_run_in_order(self):
        folder = os.path.join(self.made, "early")
        os.makedirs(folder)
        third = self.build(os.path.join(folder, "libthird.so"), "torch_loader.c", "-shared")
        first = self.build(os.path.join(folder, "libfirst.so"), "torch_early.c", "-shared", f'-DFIRST="{third}"')
        second = self.build(os.path.join(folder, "libtorch_cpu.so"), "torch_early.c", "-shared", first, f"-Wl,-rpath,{folder}")
        outer = self.build(os.path.join(folder, "libouter.so"), "torch_loader.c", "-shared", "-Wl,--no-as-needed", second, f"-Wl,-rpath,{folder}")
        self.profile(sys.executable, "-c", f"import ctypes; ctypes.CDLL({outer!r})", options=["-t", "osrt", "--pytorch=auto"])
        self.assertEqual(self.output.stdout, "in order\n")

    def test_ranges_as_emit_nvtx_has_them(self):
        report = self.run_scene("plain", options=["--pytorch=autograd-nvtx"])
        texts = [text for text, in report.rows("SELECT text FROM NVTX_EVENTS WHERE eventType = 59 ORDER BY start")]
        self.assertEqual(texts[:4], ["ProfilerStep#0, op_id = 3", "aten::linear, seq = 0, op_id = 4", "aten::addmm, seq = 0, op_id = 5",
                                     "AddmmBackward0, seq = 0, op_id = 6"])
        self.assertEqual(len(self.operators(report)), 12)


lib.main()
