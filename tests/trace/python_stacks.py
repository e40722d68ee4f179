"""Python stacks, read from outside: the same as the program itself says, on every CPython from 3.9 to 3.14 that is found here.

TACHO_TEST_PYTHONS names more of them, with colons between; each may be a command with arguments.
"""
import glob
import json
import os
import shlex
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
            answer = subprocess.run([*command, "-c", ASK], capture_output=True, text=True, timeout=60).stdout.split()
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


def chains_of(report):
    chains = {}
    for id, symbol, module, line in report.rows(CHAINS):
        chains.setdefault(id, []).append([symbol, module, line])
    return chains


class Stacks(lib.Case):
    def setUp(self):
        super().setUp()
        if not INTERPRETERS:
            self.skipTest("there is no CPython from 3.9 to 3.14 here")

    def on_each(self, check):
        for version, command in INTERPRETERS.items():
            with self.subTest(python=version):
                print(f"Python {version}: {shlex.join(command)}", flush=True)
                check(command)

    def sampled(self, *arguments):
        return self.profile(*arguments, options=ALONE + ["-t", "none", "--python-sampling=true"])

    def stored(self, table):
        """Rows of a table in the report as it is now, while it grows; 0 if there are none yet."""
        done = subprocess.run([lib.TACHO, "sql", "--format", "csv", self.path("report.tacho"), f"SELECT count(*) FROM {table}"],
                              capture_output=True, text=True)
        return int(done.stdout.split()[-1]) if done.returncode == 0 and done.stdout else 0

    def parked(self, command):
        sampled = self.command(*command, os.path.join(HERE, "parked.py"), options=ALONE + ["-t", "none", "--python-sampling=true"])
        process = subprocess.Popen(sampled, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8",
                                   cwd=self.folder)
        try:
            truth = {int(tid): stack for tid, stack in json.loads(process.stdout.readline()).items()}
            before = self.stored("TACHO_PYTHON_SAMPLE")
            lib.until(lambda: self.stored("TACHO_PYTHON_SAMPLE") > before + 20 * len(truth), "all threads were sampled", 120)
            output, errors = process.communicate("\n", timeout=120)
        finally:
            if process.poll() is None:
                process.kill()
                process.communicate()
        self.assertEqual(process.returncode, 0, errors)
        self.check_parked(self.report(), truth)

    def check_parked(self, report, truth):
        chains = chains_of(report)
        seen = {}
        for _, tid, state, gil, chain in report.rows(SAMPLES):
            seen.setdefault(tid, []).append((state, gil, chain))
        self.assertEqual(set(truth) - set(seen), set(), "threads without a sample")
        for tid, stack in truth.items():
            right = [sample for sample in seen[tid] if chains[sample[2]] == stack]
            most = max(set(seen[tid]), key=seen[tid].count)
            self.assertGreaterEqual(len(right), 10, f"expected {stack[:8]}, got most often {chains[most[2]][:8]}")
            waiting = [sample for sample in right if sample[:2] == (WAITING, 0)]
            self.assertGreaterEqual(len(waiting), len(right) - 5, "who stands still waits, and has no GIL")

    def shares(self, command):
        report = self.sampled(*command, os.path.join(HERE, "shares.py"), "1")
        spent = json.loads(self.output.stdout)
        chains, inner, burning, others, child = chains_of(report), {}, 0, {}, 0
        main = report.value("SELECT globalPid >> 24 & 0xffffff FROM TACHO_PROCESS WHERE origin = 'launch'")
        for _, tid, state, gil, chain in report.rows(SAMPLES):
            names = [frame[0] for frame in chains[chain]]
            if tid != main and "child_burns" in names:
                child += 1
            elif tid == main and names[0] in spent:
                inner[names[0]] = inner.get(names[0], 0) + 1
                burning += 1
            elif tid != main:
                others.setdefault(tuple(names[:2]), []).append((state, gil))
        self.assertGreater(burning, 100)
        for name, seconds in spent.items():
            share, expected = inner.get(name, 0) / burning, seconds / sum(spent.values())
            sigma = (expected * (1 - expected) / burning) ** 0.5
            self.assertLess(abs(share - expected), 4 * sigma + 0.02, f"{name}: {share:.3f} of the samples, {expected:.3f} of the time")
        self.assertGreater(child, 20, "the child of fork is sampled under its own number")
        lock = [sample for names, samples in others.items() if names[0].endswith("waits_for_lock") for sample in samples]
        self.assertGreater(len(lock), 100)
        self.assertGreater(sum(state == WAITING for state, _ in lock), 0.9 * len(lock))

    def edges(self, command):
        allowed = {("leaf", "left_three"), ("leaf", "right_two"), ("left_three", "left_two"), ("left_two", "left"), ("left", "root"),
                   ("left", "down"), ("right_two", "right"), ("right", "root"), ("down", "down"), ("down", "root"), ("root", "main"),
                   ("main", "<module>")}
        program = os.path.join(HERE, "edges.py")
        report = self.sampled(*command, program, "1")
        chains, good, bad = chains_of(report), 0, []
        for _, _, _, _, chain in report.rows(SAMPLES):
            names = [symbol for symbol, module, _ in chains[chain] if module == program]
            if len(names) < 2:
                continue
            wrong = [edge for edge in zip(names, names[1:]) if edge not in allowed]
            if wrong or names[-1] != "<module>" or len(names) != len(chains[chain]):
                bad.append(wrong[:3])
            else:
                good += 1
        self.assertGreater(good, 100)
        self.assertLess(len(bad), 0.05 * good, bad[:10])

    def gil(self, command):
        program = self.path("gil.py")
        with open(program, "w") as file:
            file.write("import threading, time\ndef spin(end):\n    while time.perf_counter() < end:\n        pass\n"
                       "end = time.perf_counter() + 0.7\nthreads = [threading.Thread(target=spin, args=(end,)) for _ in range(3)]\n"
                       "for thread in threads: thread.start()\nfor thread in threads: thread.join()\n")
        report = self.profile(*command, program, options=ALONE + ["-t", "python-gil"])
        chains = chains_of(report)
        moments = {}
        for start, tid, state, gil, chain in report.rows(SAMPLES):
            if chains[chain][0][0] == "spin":
                moments.setdefault(start, []).append(gil)
        full = [gils for gils in moments.values() if len(gils) == 3]
        self.assertGreater(len(full), 50)
        self.assertEqual([gils for gils in full if gils.count(HOLDS) > 1], [], "two threads have the GIL at once")
        usual = sum(gils.count(HOLDS) == 1 and gils.count(WAITS) >= 1 for gils in full)
        self.assertGreater(usual, 0.7 * len(full))

    def worlds(self, command):
        if len(command) > 1:
            return  # it could not start itself again
        report = self.sampled(*command, os.path.join(HERE, "worlds.py"))
        chains, tids = chains_of(report), {}
        for _, tid, _, _, chain in report.rows(SAMPLES):
            tids.setdefault(chains[chain][0][0], []).append(tid)
        if self.output.stdout.startswith("inside"):
            self.assertEqual(len(set(tids.get("burn_inside", []))), 2, "each interpreter in its own thread")
        self.assertGreater(len(tids.get("burn_after_exec", [])), 10)
        self.assertEqual(report.value("SELECT max(image) FROM TACHO_PROCESS"), 1)

    def test_worlds(self):
        """Interpreters within a process, and a program that becomes another."""
        self.on_each(self.worlds)

    def test_parked(self):
        """Threads that stand still: their stacks are what sys._current_frames() says, frame by frame and line by line."""
        self.on_each(self.parked)

    def test_shares(self):
        """Each function has its share of the samples, as measured by itself: n samples are within 4 sigma of it."""
        self.on_each(self.shares)

    def test_edges(self):
        """In a program that does nothing but call, stacks mixed from two moments are rare."""
        self.on_each(self.edges)

    def test_gil(self):
        """Of threads that all want the GIL one has it, and the others wait for it."""
        self.on_each(self.gil)

    def test_nothing_to_sample(self):
        self.sampled("/bin/true")
        self.assertIn("No Python was found", self.output.stderr)


if __name__ == "__main__":
    lib.main()
