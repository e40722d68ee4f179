"""Python stacks, read from outside: the same as the program itself says, on every CPython from 3.9 to 3.14 that is found here.

TACHO_TEST_PYTHONS names more of them, with colons between; each may be a command with arguments.
"""
import bisect
import glob
import json
import os
import shlex
import shutil
import subprocess
import sys

import lib

HERE = os.path.join(lib.SOURCE, "tests", "trace", "python")
WAITING = 7
HOLDS, WAITS = 1, 2
ALONE = ["-s", "none", "--cpuctxsw=none"]
ASK = "import sys, sysconfig; print(*sys.version_info[:3], int(bool(sysconfig.get_config_var('Py_GIL_DISABLED'))), sys.executable)"


def interpreters():
    """{version: command} of those that Tacho can read; one for each version, but the distribution's in any case."""
    commands = [["/usr/bin/python3"], [sys.executable]]
    commands += [[path] for path in sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin/python3")))]
    commands += [shlex.split(command) for command in os.environ.get("TACHO_TEST_PYTHONS", "").split(":") if command]
    found = {}
    for command in commands:
        try:
            answer = subprocess.run([*command, "-c", ASK], capture_output=True, text=True, timeout=lib.PATIENCE).stdout.split()
        except OSError:
            continue
        if len(answer) < 4 or answer[3] != "0" or not (3, 9) <= (int(answer[0]), int(answer[1])) <= (3, 14):
            continue
        found.setdefault(".".join(answer[:3]) + (" (distribution)" if command[0] == "/usr/bin/python3" else ""), command)
    if lib.SANITIZE: # of our own code they see the same on each
        found = dict(list(found.items())[:1])
    return found


INTERPRETERS = interpreters()
SAMPLES = """SELECT start, globalTid & 0xffffff, threadState, gil, callchainId FROM TACHO_PYTHON_SAMPLE ORDER BY start"""
CHAINS = """SELECT c.id, s.value, m.value, line FROM TACHO_PYTHON_CALLCHAINS c JOIN StringIds s ON s.id = symbol
            JOIN StringIds m ON m.id = module ORDER BY c.id, stackDepth"""
FUNCTIONS = """SELECT value, count(DISTINCT start) FROM TACHO_PYTHON_SAMPLE JOIN TACHO_PYTHON_CALLCHAINS c ON c.id = callchainId
               JOIN StringIds s ON s.id = symbol GROUP BY value, globalTid"""


def chains_of(report):
    chains = {}
    for id, symbol, module, line in report.rows(CHAINS):
        chains.setdefault(id, []).append([symbol, module, line])
    return chains


def samples_between(report, first_ns, last_ns):
    """Those of the rounds that began and ended in this time of the monotonic clock. A round is over when the next begins."""
    shift = report.value("SELECT timestamp - monotonicNs FROM TACHO_CLOCK")
    rows = [(start - shift, *rest) for start, *rest in report.rows(SAMPLES)]
    rounds = sorted({row[0] for row in rows})
    whole = {start for start, after in zip(rounds, rounds[1:]) if first_ns <= start and after <= last_ns}
    return [row for row in rows if row[0] in whole]


COLLECTIONS = """SELECT start - shift, "end" - shift, globalTid & 0xffffff, generation, collected, uncollectable FROM TACHO_PYTHON_EVENT
                 JOIN (SELECT timestamp - monotonicNs AS shift FROM TACHO_CLOCK LIMIT 1) WHERE kind = 'gc' ORDER BY start"""
REACH_NS = 5000000  # of a collection beyond the rounds that saw it, at most


class OnEachPython(lib.Case):
    def setUp(self):
        super().setUp()
        if not INTERPRETERS:
            self.skipTest("there is no CPython from 3.9 to 3.14 here")

    def on_each(self, check):
        for version, command in INTERPRETERS.items():
            with self.subTest(python=version):
                print(f"Python {version}: {shlex.join(command)}", flush=True)
                check(command)

    def sampled_until(self, arguments, *phases, options=("-t", "none", "--python-sampling=true")):
        """Profiles a program that goes on, however slow the machine is, until it has been sampled often enough. A phase is {function: (in
        so many threads, samples in each)}; it is over when a file exists whose path the program has as an argument."""
        paths = [self.path(f"phase-{number}") for number in range(len(phases))]
        for path in (self.path("report.tacho"), *paths):  # of the Python before this one
            if os.path.exists(path):
                os.unlink(path)
        command = ["timeout", "280", *self.command(*arguments, *paths, options=[*ALONE, *options])]  # who ends the test does not leave it behind
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder, start_new_session=True)
        try:
            for path, phase in zip(paths, phases):
                lib.until(lambda: process.poll() is not None or self.has_samples(phase), f"the report had samples of {phase}", 120)
                open(path, "w").close()
            output, errors = process.communicate(timeout=lib.PATIENCE)
        finally:
            lib.end_group(process)
        self.assertEqual(process.returncode, 0, errors)
        return self.report(), output

    def asked(self, sql):
        """Rows of an answer of the report as it is now, while it grows; none when it has no such table yet."""
        done = subprocess.run([lib.TACHO, "sql", "--format", "csv", self.path("report.tacho"), sql], capture_output=True, text=True)
        return [line.rsplit(",", 1) for line in done.stdout.splitlines()[1:]] if done.returncode == 0 else []

    def has_samples(self, phase):
        threads = {}
        for function, samples in self.asked(FUNCTIONS):
            threads.setdefault(function, []).append(int(samples))
        return all(sum(samples >= least for samples in threads.get(function, ())) >= number for function, (number, least) in phase.items())


class Stacks(OnEachPython):
    def sampled(self, *arguments):
        return self.profile(*arguments, options=ALONE + ["-t", "none", "--python-sampling=true"])

    def rounds_since(self, moment_ns):
        """Rounds of samples since a time of the monotonic clock."""
        answer = self.asked(f"""SELECT 'rounds', count(DISTINCT start) FROM TACHO_PYTHON_SAMPLE
                                JOIN (SELECT timestamp - monotonicNs AS shift FROM TACHO_CLOCK LIMIT 1) WHERE start - shift > {moment_ns}""")
        return int(answer[0][1]) if answer else 0

    def parked(self, command):
        sampled = self.command(*command, os.path.join(HERE, "parked.py"), options=ALONE + ["-t", "none", "--python-sampling=true"])
        process = subprocess.Popen(sampled, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8",
                                   cwd=self.folder)
        try:
            stood_ns, stacks = json.loads(process.stdout.readline())
            truth = {int(tid): stack for tid, stack in stacks.items()}
            lib.until(lambda: self.rounds_since(stood_ns) > 20, "all threads were sampled", 120)
            output, errors = process.communicate("\n", timeout=lib.PATIENCE)
        finally:
            if process.poll() is None:
                process.kill()
                process.communicate()
        self.assertEqual(process.returncode, 0, errors)
        self.check_parked(self.report(), truth, stood_ns, int(output))

    def check_parked(self, report, truth, stood_ns, released_ns):
        chains, seen = chains_of(report), {}
        for _, tid, state, gil, chain in samples_between(report, stood_ns, released_ns):
            seen.setdefault(tid, []).append((state, gil, chain))
        for tid, stack in truth.items():
            self.assertGreaterEqual(len(seen.get(tid, ())), 10, f"samples of thread {tid}, while it stood")
            for chain in {chain for _, _, chain in seen[tid]}:
                self.assertEqual(chains[chain], stack)
            self.assertEqual({sample[:2] for sample in seen[tid]}, {(WAITING, 0)}, "who stands still waits, and has no GIL")

    def shares(self, command):
        report, output = self.sampled_until([*command, os.path.join(HERE, "shares.py")],
                                            {"child_burns": (1, 50), "waits_for_lock": (1, 300), "burn_sixty": (2, 300)})
        calls = json.loads(output)
        main = report.value("SELECT globalPid >> 24 & 0xffffff FROM TACHO_PROCESS WHERE origin = 'launch'")
        chains, burning, lock, child = chains_of(report), [], [], 0
        for start, tid, state, _, chain in samples_between(report, calls[0][1], calls[-1][2]):
            names = [frame[0] for frame in chains[chain]]
            if tid == main:
                burning.append((start, names[0]))
            elif "child_burns" in names:
                child += 1
            elif names[0].endswith("waits_for_lock"):
                lock.append(state)
        self.check_moments(calls, burning)
        self.check_shares(calls, burning)
        self.assertGreater(child, 0, "the child of fork is sampled under its own number")
        self.assertGreater(len(lock), 100)
        self.assertEqual(set(lock), {WAITING})

    def check_moments(self, calls, burning):
        """A sample names the function that ran when it was taken; some are taken while one function follows the other."""
        begins = [begin for _, begin, _ in calls]
        wrong = []
        for start, name in burning:
            function, _, end = calls[bisect.bisect_right(begins, start) - 1]
            if start < end and name != function:
                wrong.append((name, function, end - start))
        self.assertGreater(len(burning), 100)
        self.assertLess(len(wrong), 0.05 * len(burning), wrong[:10])

    def check_shares(self, calls, burning):
        """Samples are taken at all moments alike. How many a call gets depends on how busy the machine is, so what counts is calls: each
        one that was met is one throw; and of times when the machine had none for a sample, nothing is known."""
        begins = [begin for _, begin, _ in calls]
        throws = len({bisect.bisect_right(begins, start) for start, _ in burning})
        total = sum(end - begin for _, begin, end in calls)
        gaps = sorted(after - start for (start, _), (after, _) in zip(burning, burning[1:]))
        unknown = sum(gap for gap in gaps if gap > 3 * gaps[len(gaps) // 2]) / total
        self.assertGreater(throws, 3)  # the fewer there are, on a busy machine, the wider the limit below is
        for name in {name for name, _, _ in calls}:
            expected = sum(end - begin for function, begin, end in calls if function == name) / total
            share, sigma = sum(found == name for _, found in burning) / len(burning), (expected * (1 - expected) / throws) ** 0.5
            self.assertLess(abs(share - expected), 4 * sigma + unknown,
                            f"{name}: {share:.3f} of the samples, {expected:.3f} of the time, {throws} calls, {unknown:.3f} unknown")

    def edges(self, command):
        allowed = {("leaf", "left_three"), ("leaf", "right_two"), ("left_three", "left_two"), ("left_two", "left"), ("left", "root"),
                   ("left", "down"), ("right_two", "right"), ("right", "root"), ("down", "down"), ("down", "root"), ("root", "main"),
                   ("main", "<module>")}
        program = os.path.join(HERE, "edges.py")
        report, _ = self.sampled_until([*command, program], {"root": (1, 800)})
        chains, good, bad = chains_of(report), 0, []
        for _, _, _, _, chain in report.rows(SAMPLES):
            names = [symbol for symbol, module, _ in chains[chain] if module == program]
            if len(names) < 2:
                continue
            wrong = [edge for edge in zip(names, names[1:]) if edge not in allowed]
            if wrong or names[-1] != "<module>" or len(names) != len(chains[chain]):
                bad.append(wrong[:3] or names)
            else:
                good += 1
        self.assertGreater(good, 100)
        self.assertLess(len(bad), 0.05 * good, bad[:10])

    def gil(self, command):
        program = self.path("gil.py")
        with open(program, "w") as file:
            file.write("import os, sys, threading\ndef spin():\n    while not os.access(sys.argv[1], os.F_OK):\n        for _ in range(1000000): pass\n"
                       "all_here = threading.Barrier(3)\ndef run():\n    all_here.wait()\n    spin()\n"
                       "threads = [threading.Thread(target=run) for _ in range(3)]\n"
                       "for thread in threads: thread.start()\nfor thread in threads: thread.join()\n")
        report, _ = self.sampled_until([*command, program], {"spin": (3, 200)}, options=["-t", "python-gil"])
        chains, moments = chains_of(report), {}
        for start, _, state, gil, chain in report.rows(SAMPLES):
            if chains[chain][0][0] == "spin":
                moments.setdefault(start, []).append((state, gil))
        holders = [[gil for _, gil in found].count(HOLDS) for found in moments.values()]
        self.assertLessEqual(max(holders), 1, "two threads have the GIL at once")
        self.assertGreater(sum(holders), 50)
        # Who has waited long enough for it, and is waiting for a CPU now, is not asleep: on a busy machine, many.
        asleep = [gil for found in moments.values() for state, gil in found if state == WAITING and gil != HOLDS]
        self.assertGreater(len(asleep), 50)
        self.assertGreater(asleep.count(WAITS), 0.9 * len(asleep))

    def worlds(self, command):
        if len(command) > 1:
            return  # it could not start itself again
        report, _ = self.sampled_until([*command, os.path.join(HERE, "worlds.py")], {"burn_inside": (2, 10)}, {"burn_after_exec": (1, 20)})
        inside = {id for id, frames in chains_of(report).items() if "burn_inside" in [name for name, _, _ in frames]}
        tids = {tid for _, tid, _, _, chain in report.rows(SAMPLES) if chain in inside}
        self.assertEqual(len(tids), 2, "each interpreter in its own thread")
        self.assertEqual(report.value("SELECT max(image) FROM TACHO_PROCESS"), 1)

    def names(self, command):
        report, output = self.sampled_until([*command, os.path.join(HERE, "named.py")], {"park": (7, 10)})
        found = dict(report.rows("SELECT globalTid & 0xffffff, value FROM ThreadNames JOIN StringIds ON id = nameId"))
        truth = {int(tid): name for tid, name in json.loads(output).items()}
        self.assertEqual(len(truth), 7)
        self.assertEqual({tid: found.get(tid) for tid in truth}, truth)

    def collections(self, command):
        report, output = self.sampled_until([*command, os.path.join(HERE, "collects.py")], {"collect_all": (1, 50)})
        told, truth = json.loads(output), []
        for begin, end, generation, collected in told["collections"]:
            truth.append((begin - REACH_NS, end + REACH_NS, generation, collected))
        rows = report.rows(COLLECTIONS)
        rows = [row for row in rows if truth[0][0] < row[0] < truth[-1][1]]  # imports and the end of the interpreter have others
        self.assertGreaterEqual(len(rows), 3)
        self.assertEqual({row[2] for row in rows}, {told["thread"]})
        for start, end, _, generation, collected, uncollectable in rows:
            met = [one for one in truth if one[0] <= end and start <= one[1]]
            self.assertTrue(met, f"nothing was collected from {start} to {end}")
            if generation == 2 and len(met) == 1:
                self.assertEqual((met[0][2], uncollectable), (2, 0))
                self.assertGreaterEqual(collected, met[0][3])
        self.assertGreaterEqual(sum(row[3] == 2 for row in rows), 2)
        self.assertEqual(report.value("SELECT value FROM META_DATA_CAPTURE WHERE name = 'PYTHON_COLLECTIONS'"), "sampled")

    def test_collections(self):
        """Collections are those that the program itself counts, whose list of callbacks has nothing but its own."""
        self.on_each(self.collections)

    def test_names(self):
        """Threads have the names that the program gave them."""
        self.on_each(self.names)

    def test_worlds(self):
        """Interpreters within a process, and a program that becomes another."""
        self.on_each(self.worlds)

    def test_parked(self):
        """Threads that stand still: their stacks are what sys._current_frames() says, frame by frame and line by line."""
        self.on_each(self.parked)

    def test_shares(self):
        """A sample has the function that ran at its time, and each function its share of the samples, both as the program itself measured it."""
        self.on_each(self.shares)

    def test_edges(self):
        """In a program that does nothing but call, stacks mixed from two moments are rare."""
        self.on_each(self.edges)

    def test_gil(self):
        """Of threads that all want the GIL one has it, and the others wait for it."""
        self.on_each(self.gil)

    def test_nothing_to_sample(self):
        self.sampled("/bin/true")
        self.assertIn("does not run Python", self.output.stderr)


SPINS = """import os, sys
def spin():
    while not os.access(sys.argv[1], os.F_OK):
        for _ in range(10000): pass
spin()
"""
BUSY = "import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass"


class Automatic(OnEachPython):
    """--python-sampling=auto, the default: programs that are Python are sampled, and nothing is said about others."""

    def program(self):
        with open(self.path("spins.py"), "w", encoding="utf-8") as file:
            file.write(SPINS)
        return self.path("spins.py")

    def automatic(self, *command):
        self.sampled_until(command, {"spin": (1, 20)}, options=["-t", "none"])

    def test_python(self):
        self.on_each(lambda command: self.automatic(*command, self.program()))

    def test_below_a_shell(self):
        self.automatic("sh", "-c", '"$@" && true', "sh", sys.executable, self.program())

    def test_under_another_name(self):
        """As in a program that embeds it."""
        interpreter = shutil.copy(os.path.realpath(sys.executable), self.path("embeds"))
        self.automatic("env", "PYTHONHOME=" + sys.base_prefix, interpreter, self.program())

    def test_other_programs(self):
        for command in (["/bin/true"], ["sleep", "0.3"]):  # the second is searched for an interpreter
            report = self.profile(*command, options=[*ALONE, "-t", "none"])
            self.assertFalse(report.has("TACHO_PYTHON_SAMPLE"))
            self.assertNotIn("ython", self.output.stderr)
            self.assertEqual(report.value("SELECT count(*) FROM DIAGNOSTIC_EVENT WHERE text LIKE '%ython%'") if report.has("DIAGNOSTIC_EVENT") else 0, 0)

    def test_not_wanted(self):
        self.assertTrue(self.profile(sys.executable, "-c", BUSY, options=[*ALONE, "-t", "none"]).has("TACHO_PYTHON_SAMPLE"))
        self.assertFalse(self.profile(sys.executable, "-c", BUSY, options=[*ALONE, "-t", "none", "--python-sampling=false"]).has("TACHO_PYTHON_SAMPLE"))

    def test_refused(self):
        """Where the kernel does not allow it, nothing is said unless it was asked for."""
        for options, is_said in (((), False), (("--python-sampling=true",), True)):
            report = self.profile(sys.executable, "-c", BUSY, options=[*ALONE, "-t", "none", *options], preexec_fn=lambda: lib.refuse_call("process_vm_readv"))
            self.assertFalse(report.has("TACHO_PYTHON_SAMPLE"))
            self.assertEqual("process_vm_readv" in self.output.stderr, is_said, self.output.stderr)


if __name__ == "__main__":
    lib.main()
