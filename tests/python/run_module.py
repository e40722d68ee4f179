"""python -m tacho: records a whole Python program, which runs as it would without, and runs the commands of tacho."""
import os
import signal
import subprocess

import lib
import tacho

SCRIPT = """
import sys
import tacho
tacho.mark("marked")
print(__name__, sys.argv[1:], sys.stdin.read().strip())
if "seven" in sys.argv:
    sys.exit(7)
"""


class RunModule(lib.Case):
    def run_module(self, *words, status=0, stdin="input"):
        done = subprocess.run([self.python, "-m", "tacho", *words], cwd=self.folder, env=lib.environment(lib.PACKAGE, self.folder), input=stdin,
                              capture_output=True, text=True, timeout=lib.PATIENCE)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.complaints = done.stderr
        return done.stdout

    def marks(self, path):
        with tacho.load(self.path(path)) as report:
            return [row["text"] for row in report["NVTX_EVENTS"] if row["text"]] if "NVTX_EVENTS" in report else []

    def test_script(self):
        script = self.write("script.py", SCRIPT)
        self.assertEqual(self.run_module(script, "one", "--two"), "__main__ ['one', '--two'] input\n")
        self.assertRegex(self.complaints, r"ended with status 0 after .*(?s:.)*report: report1\.tacho")
        self.assertNotIn("pytorch", self.complaints)  # the program has none, and nobody asked for it
        self.assertEqual(self.marks("report1.tacho"), ["marked"])
        self.assertEqual(self.run_module(script, "seven", status=7), "__main__ ['seven'] input\n")

    def test_module_and_code(self):
        self.write("script.py", SCRIPT)
        self.assertEqual(self.run_module("-m", "script", "-c", "x"), "__main__ ['-c', 'x'] input\n")
        self.assertEqual(self.marks("report1.tacho"), ["marked"])
        self.assertEqual(self.run_module("-c", SCRIPT, "-m", "x"), "__main__ ['-m', 'x'] input\n")
        self.assertEqual(self.marks("report2.tacho"), ["marked"])

    def test_options(self):
        """Those of tacho profile, in all their spellings; the first word that is none of them begins the program."""
        script = os.path.basename(self.write("script.py", SCRIPT))
        self.write("osrt", "")  # a file that is called like a value
        script_and, module_and = ([script, "-o", "x"], "['-o', 'x']"), (["-m", "script", "-t"], "['-t']")
        for options, (program, expected) in ((["-o", "named", "-t", "osrt", "-q"], script_and), (["-onamed", "--trace=nvtx", "-q", "-f", "true"], module_and),
                                             (["--output", "named", "--quiet"], script_and), (["-q", "-o", "named", "--python-sampling", "--"], script_and),
                                             (["-q", "-o", "named", "--python-sampling", "auto"], module_and)):
            self.assertEqual(self.run_module("-s", "none", *options, *program), f"__main__ {expected} input\n", options)
            self.assertEqual(self.complaints, "", options)
            self.assertEqual(self.marks("named.tacho"), [] if "osrt" in options else ["marked"])
            os.unlink(self.path("named.tacho"))

    def test_interpreter(self):
        """The same one, with the same flags."""
        out = subprocess.run([self.python, "-W", "error", "-X", "utf8", "-m", "tacho", "-q", "-s", "none", "-c", "import sys; print(sys.executable, sys.warnoptions, sys.flags.utf8_mode)"],
                             cwd=self.folder, env=lib.environment(lib.PACKAGE), capture_output=True, text=True).stdout
        self.assertEqual(out, f"{self.python} ['error'] 1\n")

    def test_wrong(self):
        self.run_module("-q", status=1)
        self.assertIn("no program given", self.complaints)
        self.run_module("--nosuch", "script.py", status=2)
        self.assertIn("cannot open file", self.complaints)
        self.run_module("--nosuch", self.write("script.py", SCRIPT), status=2)
        self.assertIn("--nosuch", self.complaints)

    def test_program_that_is_named(self):
        """TACHO names the program; what is no program is said, and no other is taken for it."""
        for path, sentence in ((self.folder, f"TACHO={self.folder} is a folder: set TACHO to the program, such as {self.path('bin/tacho')}"),
                               (self.path("none"), f"TACHO={self.path('none')} is not a program: set TACHO to the path of tacho, or unset it")):
            self.run_python("-m", "tacho", "stats", "--help", status=1, TACHO=path)
            self.assertEqual(self.complaints, f"tacho: {sentence}\n")

    def test_output_of_a_window(self):
        """It is a whole report of the window alone; all of the program is in the other one."""
        self.run_module("-q", "-s", "none", "-o", "all", "-c", """
import tacho
tacho.mark("before")
with tacho.profile(output="one.tacho") as prof:
    tacho.mark("within")
tacho.mark("behind")
""")
        self.assertEqual(self.complaints, "")
        self.assertEqual((self.marks("one.tacho"), self.marks("all.tacho")), (["within"], ["before", "within", "behind"]))
        self.assertIn("complete", subprocess.run([lib.TACHO, "info", self.path("one.tacho")], capture_output=True, text=True).stdout)

    def test_broken_pipe(self):
        """A command whose output nobody reads any more ends like others do, without a word."""
        self.run_module("-q", "-s", "none", "-o", "all", "-c", "pass")
        command = [self.python, "-m", "tacho", "sql", "--format", "csv", "all.tacho",
                   "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n LIMIT 1000000) SELECT i FROM n"]
        process = subprocess.Popen(command, cwd=self.folder, env=lib.environment(lib.PACKAGE), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(process.stdout.readline(), b"i\n")
        process.stdout.close()
        self.assertEqual((process.stderr.read(), process.wait()), (b"", -signal.SIGPIPE))
        process.stderr.close()


if __name__ == "__main__":
    lib.main()
