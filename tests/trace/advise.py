"""tacho profile --advise: every step is timed, some are recorded, a few with details. On stand-ins of PyTorch and CUDA."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests", "fake"))
import fakelib
import lib

MODULES = os.path.join(lib.SOURCE, "tests/trace/modules")
STEPS = """SELECT start, "end", number, phase, value FROM TACHO_STEP_TIME JOIN StringIds ON id = nameId ORDER BY start"""
LETTERS = {"timed": "t", "traced": "T", "detailed": "D", "settling": "s"}
# Warm-up, then rounds: details, traced steps, timed steps, with settling steps where recording changes.
ROUNDS = re.compile(r"s{3}D+sT+sst+(sD+sT+sst+)*(s(D+(s(T+(s(s)?)?)?)?)?)?")


def letters(steps):
    return "".join(LETTERS[phase] for *_, phase, _ in steps)


class Training(lib.Case):
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

    def train(self, *options):
        return self.profile(self.caller, self.library, "train", options=["--advise", "-t", "osrt", *options])

    def steps(self, report):
        """Those of the training. One of its children has steps of its own."""
        return [step for step in report.rows(STEPS) if step[4] != "step"]

    def test_phases_take_turns(self):
        report = self.train()
        steps = self.steps(report)
        self.assertRegex(self.output.stdout, "^(\\d+ ){60}trained\n$")
        self.assertEqual([number for _, _, number, _, _ in steps], list(range(58)))  # behind the second Optimizer.step
        self.assertEqual({name for *_, name in steps}, {"Optimizer.step#SGD.step"})
        self.assertRegex(letters(steps), "^" + ROUNDS.pattern + "$")
        self.assertIn("t", letters(steps))
        for (_, end, *_), (start, *_) in zip(steps, steps[1:]):
            self.assertLessEqual(end, start)
        self.assertTrue(all(end - start >= 5000000 for start, end, *_ in steps))
        self.assertEqual(report.rows("SELECT fate, sum(count) FROM TACHO_COUNT WHERE source = 'steps' GROUP BY 1"), [("recorded", 58 + 2)])

    def test_recorded_steps_are_whole_and_the_others_empty(self):
        report = self.train()
        parent = report.value("SELECT globalTid >> 24 FROM TACHO_STEP_TIME GROUP BY 1 ORDER BY count(*) DESC LIMIT 1")
        names = report.rows("SELECT start, value FROM TACHO_TORCH_OP JOIN StringIds ON id = nameId WHERE globalTid >> 24 = ? ORDER BY start", parent)
        for start, end, number, phase, _ in self.steps(report):
            inside = [name for time, name in names if start <= time < end]
            expected = [] if phase == "timed" else ["enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "aten::linear", "aten::addmm",
                                                    "AddmmBackward0", "Optimizer.step#SGD.step", "aten::add_"]
            if phase != "settling":
                self.assertEqual(inside, expected, (number, phase))

    def test_traced_steps_have_the_details_of_detailed_ones(self):
        report = self.train()
        shapes = """SELECT s.phase, d.value FROM TACHO_STEP_TIME s JOIN TACHO_TORCH_OP o ON o.start >= s.start AND o.start < s."end"
                    JOIN StringIds n ON n.id = o.nameId AND n.value = 'aten::linear' LEFT JOIN StringIds d ON d.id = o.inputDimsId
                    WHERE s.phase IN ('traced', 'detailed')"""
        self.assertEqual(set(report.rows(shapes)), {("traced", "[[2, 3]]"), ("detailed", "[[2, 3]]")})

    def test_observers_in_timed_steps(self):
        """PyTorch calls the agent for the two annotations of a timed step alone, and for all six operators of others."""
        phases = {number: phase for _, _, number, phase, _ in self.steps(self.train())}
        calls = [int(word) for word in self.output.stdout.split()[:-1]]
        for number, phase in phases.items():
            if phase != "settling":
                self.assertEqual(calls[number + 2], 2 if phase == "timed" else 6, (number, phase))

    def test_children(self):
        """Forked in any phase, they record annotations. Operators are recorded from their second step on, if they have steps."""
        report = self.train()
        names = dict(report.rows("""SELECT value, count(*) FROM TACHO_TORCH_OP JOIN StringIds ON id = nameId WHERE globalTid >> 24 <>
                                    (SELECT globalTid >> 24 FROM TACHO_STEP_TIME GROUP BY 1 ORDER BY count(*) DESC LIMIT 1) GROUP BY 1"""))
        self.assertEqual(names, {"annotation": 6, "step": 3, "child with steps": 2})

    def test_probes(self):
        """Without --advise all steps are recorded but a few, in which ranges of the program still are."""
        report = self.profile(self.caller, self.library, "train", options=["-s", "none"])
        steps = self.steps(report)
        self.assertRegex(letters(steps), "^s{5}DsT{20,}ss(t+(s(T+)?)?)?$")
        traced = [step for step in steps if step[3] == "traced"]
        operators = report.rows("SELECT start FROM TACHO_TORCH_OP WHERE globalTid = (SELECT globalTid FROM TACHO_STEP_TIME GROUP BY 1 ORDER BY count(*) DESC)")
        self.assertTrue(all(sum(start <= time < end for time, in operators) == 6 for start, end, *_ in traced))
        self.assertFalse(any(start <= time < end for start, end, _, phase, _ in steps if phase == "timed" for time, in operators))
        for options in (["-t", "osrt", "--pytorch=auto"], ["--step-probes=false"]):
            self.assertFalse(self.profile(self.caller, self.library, "train", options=["-s", "none", *options]).has("TACHO_STEP_TIME"), options)

    def test_probes_are_not_for_ranks(self):
        """Calls of one rank that another has not recorded would look like late ones."""
        env = {**os.environ, "WORLD_SIZE": "2"}
        self.assertFalse(self.profile(self.caller, self.library, "train", options=["-s", "none", "--step-probes=true"], env=env).has("TACHO_STEP_TIME"))

    def test_no_steps(self):
        report = self.profile(self.caller, self.library, "threads", options=["--advise", "-t", "osrt"])
        self.assertFalse(report.has("TACHO_STEP_TIME"))
        self.assertEqual(report.value("SELECT count(*) FROM TACHO_TORCH_OP"), 8001)
        self.assertIn("--advise found no steps", self.output.stderr)

    def test_options_that_exclude_it(self):
        for options in (["-c", "nvtx", "-p", "work"], ["-c", "cudaProfilerApi"]):
            result = subprocess.run([lib.TACHO, "profile", "--advise", *options, "true"], capture_output=True, text=True, check=False)
            self.assertEqual(result.returncode, 2)
            self.assertIn("--advise cannot be combined with --capture-range", result.stderr)


class Lines(lib.Case):
    """Programs with GPU code of their own get CPU samples, which have their lines. Python has samples that cost its threads nothing."""
    PROGRAM = """__attribute__((section("%s"), used)) static const char code[] = "of a GPU";
                 int main(void) { volatile long sum = 0; for (long i = 0; i < 200000000; i++) sum += i; return 0; }"""

    def count_samples(self, section, *options):
        folder = tempfile.mkdtemp(prefix="tacho-test-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        program = os.path.join(folder, "solver")
        subprocess.run([*os.environ["CC"].split(), "-x", "c", "-g", "-", "-o", program], input=self.PROGRAM % section, text=True, check=True)
        report = self.profile(program, options=["--advise", "-t", "osrt", *options])
        return report.value("SELECT count(*) FROM COMPOSITE_EVENTS") if report.has("COMPOSITE_EVENTS") else 0

    def test_program_with_gpu_code(self):
        self.assertGreater(self.count_samples(".nv_fatbin"), 10)

    def test_program_without(self):
        self.assertEqual(self.count_samples(".other"), 0)

    def test_option(self):
        self.assertEqual(self.count_samples(".nv_fatbin", "--sample=none"), 0)


class Kernels(fakelib.Case):
    def advise(self, *arguments, **more):
        return self.cuda("cuda_steps", *arguments, source="cuda,nvtx", options=["--advise", *more.pop("options", ())], **more)

    def test_recorded_steps_have_all_their_launches_and_kernels(self):
        report = self.advise(60)
        steps = report.rows(STEPS)
        self.assertEqual([number for _, _, number, _, _ in steps], list(range(1, 60)))
        self.assertEqual({name for *_, name in steps}, {"step "})
        self.assertRegex(letters(steps), "^" + ROUNDS.pattern + "$")
        launches = report.rows("""SELECT r.start, k.correlationId FROM CUPTI_ACTIVITY_KIND_RUNTIME r JOIN StringIds s ON s.id = r.nameId
                                  LEFT JOIN CUPTI_ACTIVITY_KIND_KERNEL k ON k.correlationId = r.correlationId WHERE s.value LIKE 'cudaLaunchKernel%'""")
        for start, end, number, phase, _ in steps:
            inside = [kernel for time, kernel in launches if start <= time < end]
            if phase in ("traced", "detailed"):
                self.assertEqual((len(inside), inside.count(None)), (5, 0), number)
            elif phase == "timed":
                self.assertEqual(inside, [], number)
        self.assertEqual(fakelib.findings(report), {})

    def test_cupti_in_timed_steps(self):
        """It does not call the agent. The calls of a traced step that wait for the GPU do."""
        for version in ("13.0", "12.4"):
            phases = {number: phase for _, _, number, phase, _ in self.advise(60, variables={"TACHO_CUPTI": fakelib.cupti(version)}).rows(STEPS)}
            for step in self.truth("step"):
                with self.subTest(version=version, step=step["number"], phase=phases.get(step["number"])):
                    if phases.get(step["number"]) == "timed":
                        self.assertEqual(step["callbacks"], 0)
                    elif phases.get(step["number"]) == "traced":
                        self.assertGreater(step["callbacks"], 0)

    def test_steps_of_a_part(self):
        """Recorded steps that a part has not all events of do not count, those that were only timed do."""
        report = self.advise(60)
        steps = report.rows(STEPS)
        traced = [step for step in steps if step[3] == "traced"]
        middle = (traced[0][0] + traced[0][1]) // 2
        subprocess.run([lib.TACHO, "export", "-q", "-t", "tacho", f"--times={middle}/{traced[-2][1]}", "-o", self.path("part.tacho"), report.path], check=True)
        phases = {number: phase for _, _, number, phase, _ in self.report("part.tacho").rows(STEPS)}
        self.assertEqual({number for number, phase in phases.items() if phase == "traced"}, {step[2] for step in traced[1:-1]})
        self.assertEqual({number for number, phase in phases.items() if phase == "timed"}, {step[2] for step in steps if step[3] == "timed"})
        self.assertEqual(len(phases), len(steps))

    def test_kernels_that_run_after_the_change(self):
        """The program is several steps ahead of the GPU."""
        report = self.advise(60, "ahead", settings={"duration_ns": 1500000})
        self.assertIn("t", letters(report.rows(STEPS)))
        self.assertEqual(fakelib.findings(report), {})

    def test_end_in_any_phase(self):
        """With one step more each time, the program ends in every part of the first round."""
        for steps in range(2, 24, 3):
            with self.subTest(steps=steps):
                report = self.advise(steps, "exit", status=7)
                self.assertEqual(len(report.rows(STEPS)) if report.has("TACHO_STEP_TIME") else 0, steps - 2)
                self.assertEqual(fakelib.findings(report), {})

    def test_cupti_that_cannot_choose_calls(self):
        """Their records come from callbacks, which are switched with the rest."""
        report = self.advise(40, variables={"TACHO_CUPTI": fakelib.cupti("12.4")})
        self.assertIn("t", letters(report.rows(STEPS)))
        self.assertEqual(fakelib.findings(report), {})


if __name__ == "__main__":
    fakelib.main()
