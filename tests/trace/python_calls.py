"""--python-backtrace=cuda: calls that took long have the Python stack that they came from, which fits to their native one; and samples
of threads have native and Python frames as one stack. On every CPython that is found here."""
import os
import subprocess

import lib
from python_stacks import INTERPRETERS, OnEachPython
from sampling import perf_is_allowed

HERE = os.path.join(lib.SOURCE, "tests", "trace", "python")
CALLS, JOIN, DAEMONS = (os.path.join(HERE, name) for name in ("calls.py", "join.py", "daemons.py"))
FAKE = os.path.join(os.environ["FAKE"], "lib")
LOOP = "_PyEval_EvalFrameDefault"
FRAMES = """SELECT s.value, m.value, line, calledByC FROM TACHO_PYTHON_CALLCHAINS c JOIN StringIds s ON s.id = symbol
            JOIN StringIds m ON m.id = module WHERE c.id = ? ORDER BY stackDepth"""


def marked_lines(path):
    """{stack: [its lines]}, as often as they are in it."""
    found = {}
    with open(path) as file:
        for number, line in enumerate(file, 1):
            for name in line.partition("# in: ")[2].split():
                found.setdefault(name, []).append(number)
    return found


class Calls(OnEachPython):
    samples = True  # their native stacks have names

    def lines(self, report, chain, path):
        """The lines of this file in a stack, in order of the source."""
        return sorted(line for _, module, line, _ in report.rows(FRAMES, chain) if module == path)

    def test_lines_of_os_calls(self):
        """Each sleep has exactly the lines that are marked with it, and as many runs of the interpreter's loop as its native stack."""
        marks = marked_lines(CALLS)

        def check(command):
            report = self.profile(*command, CALLS, options=["-t", "osrt", "-s", "none", "--python-backtrace=cuda"])
            seen = {}
            for chain, native, duration in report.rows("""SELECT pythonCallchainId, callchainId, end - start FROM OSRT_API JOIN StringIds ON id = nameId
                                                          WHERE value = 'usleep' AND pythonCallchainId NOT NULL"""):
                lines = self.lines(report, chain, CALLS)
                name = next((name for name, marked in marks.items() if sorted(marked) == lines), None)
                self.assertIsNotNone(name, f"a sleep of {duration} ns has the lines {lines}")
                self.assertGreaterEqual(duration, int(name) * 1000)
                seen[name] = seen.get(name, 0) + 1
                entries = sum(1 for *_, entry in report.rows(FRAMES, chain) if entry)
                runs = report.value("SELECT count(*) FROM OSRT_CALLCHAINS c JOIN StringIds s ON s.id = symbol WHERE c.id = ? AND value = ?", native, LOOP)
                self.assertEqual(entries, runs, f"functions that C code called, and runs of the loop, in {name}")
            self.assertEqual(seen, {name: 1 for name in marks if name not in ("gpu", "2007")})

        self.on_each(check)

    def test_tables_name_the_line(self):
        """Waits of threads and idle time of GPUs are told by the line of Python."""
        marks = marked_lines(CALLS)
        command = next(iter(INTERPRETERS.values()))
        environment = dict(os.environ, TACHO_FAKE_DURATION_NS="100000000", LD_LIBRARY_PATH=FAKE)
        report = self.profile(*command, CALLS, FAKE, options=["-t", "cuda,osrt", "-s", "none", "--python-backtrace=cuda"], env=environment)
        waits = report.rows("""SELECT pythonCallchainId FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds ON id = nameId
                               WHERE value LIKE 'cudaDeviceSynchronize%' AND end - start > 80000""")
        self.assertIn(len(waits), (1, 2, 3))  # on a busy machine a kernel may have ended before it is waited for
        for chain, in waits:
            self.assertEqual(self.lines(report, chain, CALLS), marks["gpu"])

        def table(name):
            done = subprocess.run([lib.TACHO, "stats", "-q", "-r", name, "--format", "csv", report.path], capture_output=True, text=True, check=True)
            return done.stdout

        self.assertRegex(table("gpu_idle_sum:detail"), rf"usleep,wait_for_gpu \(calls.py:{min(marks['2007'])}\)")
        self.assertRegex(table("thread_wait_sum"), rf"usleep,,nap \(calls.py:{min(marks['2001'])}\)")
        # The whole of it: C code between Python functions.
        self.assertRegex(table("thread_wait_sum:stack"), r"compare \(calls.py:\d+\) < .* < sort \(calls.py:\d+\) < main")

    def test_not_asked_for(self):
        report = self.profile(*next(iter(INTERPRETERS.values())), CALLS, options=["-t", "osrt", "-s", "none"])
        self.assertNotIn("pythonCallchainId", [column for _, column, *_ in report.rows("PRAGMA table_info(OSRT_API)")])

    def test_threads_that_outlive_their_interpreter(self):
        """Daemon threads come back from calls when the end of the interpreter has freed their states: nothing of them is believed."""
        self.on_each(lambda command: self.profile(*command, DAEMONS, options=["-t", "osrt", "-s", "none", "--python-backtrace=cuda",
                                                                                "--osrt-backtrace-threshold=0", "--osrt-threshold=0"]))


class Joined(lib.Case):
    samples = True
    PYTHONS = dict([*INTERPRETERS.items()][:1] + sorted(INTERPRETERS.items())[-1:])
    OTHERS = {"by_sort": ("qsort_r", "msort_with_tmp", "deflate"), "by_qsort": ("deflate",), "by_zlib": ("qsort_r", "spin")}

    def shares(self, report):
        """Of all samples, those whose frames cannot be of one stack, and those that have a frame of the loop left."""
        folded = self.path("folded")
        subprocess.run([lib.TACHO, "export", "-q", "-t", "folded", "-f", "true", "-o", folded, report.path], check=True)
        total = wrong = left = 0
        functions = {}
        with open(folded) as file:
            for line in file:
                stack, _, number = line.rpartition(" ")
                names = [frame.partition(" (")[0] for frame in stack.split(";")]
                total += int(number)
                left += int(number) * (LOOP in names)
                wrong += int(number) * any(caller in names and other in names for caller, others in self.OTHERS.items() for other in others)
                for name in set(names):
                    functions[name] = functions.get(name, 0) + int(number)
        return wrong / total, left / total, {name: number / total for name, number in functions.items()}

    def joined(self, command, **more):
        return self.shares(self.profile(*command, JOIN, options=["-t", "none", "--python-sampling=true"], **more))

    def setUp(self):
        super().setUp()
        if not INTERPRETERS:
            self.skipTest("there is no CPython from 3.9 to 3.14 here")

    def test_read_by_the_thread_itself(self):
        """By timers: the frames are those of the moment, and all fit."""
        for version, command in self.PYTHONS.items():
            with self.subTest(python=version):
                wrong, left, functions = self.joined(command, preexec_fn=lib.refuse_perf_events)
                self.assertEqual(wrong, 0)
                self.assertLess(left, 0.05)
                self.assertGreater(functions["spin"], 0.3)
                self.assertGreater(functions["by_qsort"], functions["compare"] * 0.99)

    def test_read_from_outside(self):
        """By perf events: what is not certain keeps the interpreter's frame, and hardly anything is wrong."""
        if not perf_is_allowed():
            self.skipTest("perf events are refused here")
        for version, command in self.PYTHONS.items():
            with self.subTest(python=version):
                wrong, left, functions = self.joined(command)
                print(f"{version}: {wrong:.2%} wrong, {left:.2%} not joined", flush=True)
                self.assertLess(wrong, 0.02)
                self.assertLess(left, 0.7)
                self.assertGreater(functions["spin"], 0.3)


if __name__ == "__main__":
    lib.main()
