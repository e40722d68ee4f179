"""Python stacks beside those that py-spy takes of the same run, at the same rate: the same functions come first, with the same shares. What
is the same, and by which test, bench/agreement.py says. PY_SPY names the program where it is not on the PATH."""
import json
import os
import shutil
import subprocess
import sys

import lib

sys.path.insert(0, os.path.join(lib.SOURCE, "bench"))
import agreement

PY_SPY = os.environ.get("PY_SPY") or shutil.which("py-spy")
MANY = os.path.join(lib.SOURCE, "tests", "trace", "python", "many.py")
FREQUENCY, ROUNDS, LEAST_SAMPLES = 500, "2400", 300
CHAINS = """SELECT s.rowid, f.value, m.value FROM TACHO_PYTHON_SAMPLE s JOIN TACHO_PYTHON_CALLCHAINS c ON c.id = s.callchainId
            JOIN StringIds f ON f.id = symbol JOIN StringIds m ON m.id = module ORDER BY s.rowid, stackDepth"""


def working(chains):
    """Those that were taken while the program worked; functions by their own names, which is all that py-spy has."""
    short = [[(name.rpartition(".")[2], os.path.basename(file)) for name, file in chain] for chain in chains]
    return agreement.tally([chain for chain in short if ("work", "many.py") in chain])


class Agreement(lib.Case):
    def setUp(self):
        super().setUp()
        if not PY_SPY:
            self.skipTest("needs py-spy: PY_SPY can name it")

    def run_both(self):
        options = ["-t", "none", "-s", "none", "--cpuctxsw=none", "--python-sampling=true", f"--python-sampling-frequency={FREQUENCY}"]
        program = subprocess.Popen(self.command(sys.executable, MANY, ROUNDS, options=options), cwd=self.folder, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            pid = program.stdout.readline().strip()
            spy = subprocess.Popen([PY_SPY, "record", "--nonblocking", "--function", "-r", str(FREQUENCY), "-d", "600", "-f", "speedscope",
                                    "-o", self.path("spy"), "-p", pid], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            said = spy.stdout.readline()
            while said and "Sampling process" not in said:
                said = spy.stdout.readline()
            program.communicate("\n", timeout=lib.PATIENCE)
            rest = spy.communicate(timeout=lib.PATIENCE)[0]
        finally:
            program.kill()
        if not said:
            self.skipTest(f"py-spy cannot read the process: {rest}")
        self.assertEqual(program.returncode, 0)

    def spied(self):
        with open(self.path("spy")) as file:
            stored = json.load(file)
        frames = [(frame["name"], frame["file"]) for frame in stored["shared"]["frames"]]
        return [[frames[number] for number in reversed(sample)] for profile in stored["profiles"] for sample in profile["samples"]]

    def test_same_functions(self):
        self.run_both()
        ours = {}
        for id, name, file in self.report().rows(CHAINS):
            ours.setdefault(id, []).append((name, file))
        theirs, ours = working(self.spied()), working(ours.values())
        self.assertGreater(min(theirs.samples, ours.samples), LEAST_SAMPLES)
        for kind in ("own", "total"):
            with self.subTest(kind):
                rows, strangers = agreement.compare(theirs, ours, kind, 20)
                print(f"{kind}: {theirs.samples} samples of py-spy, {ours.samples} of Tacho")
                for row in rows:
                    print(f"  {row.function:16} {100 * row.perf:6.2f} % {100 * row.tacho:6.2f} %  {row.verdict}")
                self.assertEqual([row for row in rows if row.verdict == "different"], [])
                self.assertEqual(strangers, [])


if __name__ == "__main__":
    lib.main()
