"""Scripts with torch's profilers in them run unchanged with ours in their place; and how Python programs under `tacho profile` are looked
into. PyTorch is a stand-in that fails where its own profilers are used."""
import json
import os
import shutil
import subprocess

import lib

SCRIPT = os.path.join(lib.HERE, "programs", "unchanged.py")
PRINTED = """1
2
3
ready 4 ''
4
5
6
0
''
True True ['one', '--two']
"""


class Replace(lib.Case):
    def test_module(self):
        out = self.run_python("-m", "tacho", SCRIPT, "one", "--two", path=(lib.PACKAGE, lib.STANDIN))
        self.assertEqual(out, PRINTED)

    def test_not_replaced(self):
        """The stand-in itself refuses: the tests above say something."""
        self.run_python(SCRIPT, path=(lib.STANDIN,), status=1)
        self.assertIn("torch.profiler.profile itself was used", self.complaints)

    def test_profile(self):
        self.profile(self.python, SCRIPT, "one", "--two", options=["-t", "nvtx", "--pytorch=replace"], env=lib.environment(lib.STANDIN))
        self.assertEqual(self.output.stdout, PRINTED)

    def test_torch_comes_first(self):
        """In a notebook torch may be there already."""
        out = self.run_text("import torch, tacho._replace\ntacho._replace.install()\nprint(torch.profiler.profile is tacho.profile)",
                            path=(lib.PACKAGE, lib.STANDIN))
        self.assertEqual(out, "True\n")

    def test_a_command(self):
        self.write("ops", "print('a script')")  # what lies beside it is not meant
        self.assertIn("usage: tacho ops", self.run_python("-m", "tacho", "ops", "--help"))
        self.assertEqual(self.run_python("-m", "tacho", "./ops"), "a script\n")
        self.write("train", "print('another')")
        self.assertEqual(self.run_python("-m", "tacho", "train"), "another\n")

    def test_no_such_file(self):
        self.run_python("-m", "tacho", "nofile.py", status=2)
        self.assertRegex(self.complaints, "^tacho: cannot open file '.*/nofile.py': no such file\n$")

    def test_killed(self):
        """As the script ends, so do we."""
        for number in (9, 15):
            self.run_python("-m", "tacho", self.write("p.py", f"import os\nos.kill(os.getpid(), {number})"), status=-number)
            self.assertNotIn("Traceback", self.complaints)

    def test_run_as_a_script(self):
        """__name__, __file__, sys.argv and sys.path are what they would be."""
        text = "import sys\nprint(__name__, __file__ == sys.argv[0], sys.argv[1:], sys.path[0] == __file__.rpartition('/')[0])"
        self.assertEqual(self.run_python("-m", "tacho", self.write("p.py", text), "a"), "__main__ True ['a'] True\n")


class LookedInto(lib.Case):
    """sitecustomize.py of ours, and what stands behind it."""

    def start(self, text, *options, path=(), **more):
        self.profile(self.python, "-c", text, options=["-t", "nvtx", *options], env=lib.environment(*path, **more))
        return self.output.stdout

    def test_the_own_sitecustomize_runs(self):
        self.write("sitecustomize.py", "import builtins\nbuiltins.mine = 'mine'")
        out = self.start("import sys, sitecustomize\nprint(mine, sitecustomize.__file__, [p for p in sys.path if 'site' in p.split('/')])",
                         "--pytorch=replace", path=(self.folder,))
        self.assertEqual(out, f"mine {self.path('sitecustomize.py')} []\n")

    def test_one_that_fails_fails_as_before(self):
        self.write("sitecustomize.py", "import nothing_of_this_name")
        plain = subprocess.run([self.python, "-c", "print(1)"], env=lib.environment(self.folder), capture_output=True, text=True)
        self.assertEqual(self.start("print(1)", "--pytorch=replace", path=(self.folder,)), plain.stdout)
        self.assertIn(plain.stderr.splitlines()[-1], self.output.stderr)

    def test_nothing_is_loaded(self):
        """A program that has no torch has nothing of ours but the finder."""
        out = self.start("import sys, json\nprint([m for m in sys.modules if m.startswith('tacho')])", "--pytorch=replace")
        self.assertEqual(out, "[]\n")

    def test_only_when_asked(self):
        self.assertEqual(self.start("import os\nprint(os.environ.get('PYTHONPATH'), os.environ.get('TACHO_PYTHON'))"), " None\n")

    def test_other_pythons(self):
        """What they have in common with ours is that they run."""
        tried = 0
        for name in ("python2", "python2.7", "python3.6", "python3.8", "python3.13", "pypy3"):
            site = os.path.join(lib.PACKAGE, "site")
            try:
                done = subprocess.run([name, "-c", "print(1)"], capture_output=True, text=True, env=lib.environment(site, TACHO_PYTHON="replace,"))
            except OSError:
                continue
            if "not found" in done.stderr:  # a shim of something that is not installed
                continue
            tried += 1
            self.assertEqual((done.stdout, done.stderr), ("1\n", ""), name)
        if not tried:
            self.skipTest("no other Python is installed")


FUNCTIONS = """[
  {"_comment": "as nsys has it", "domain": "input", "color": "0x76B900", "module": "work", "functions": ["read", "Reader.decode", "Reader.make", "gone"]},
  {"module": "work.inner", "functions": [{"function": "deep", "color": "red"}]}
]"""
WORK = """
class Reader:
    def decode(self):
        return 2
    @staticmethod
    def make():
        return Reader()
def read():
    return 1
def other():
    pass
"""


class Functions(lib.Case):
    def test_file(self):
        os.mkdir(self.path("work"))
        self.write("work/__init__.py", WORK)
        self.write("work/inner.py", "def deep():\n    return 3\n")
        self.write("functions.json", FUNCTIONS)
        program = "import work, work.inner\nr = work.Reader.make()\nprint(work.read(), r.decode(), r.decode(), work.other(), work.inner.deep())"
        report = self.profile(self.python, "-c", program, options=["-t", "nvtx", "--python-functions-trace=functions.json"],
                              env=lib.environment(self.folder))
        self.assertEqual(self.output.stdout, "1 2 2 None 3\n")
        self.assertEqual(report.ranges(), {"input: work.read": 1, "input: work.Reader.decode": 2, "input: work.Reader.make": 1, "work.inner.deep": 1})
        self.assertIn("cannot trace gone: work has no such function", self.output.stderr)

    def test_modules_that_are_not_imported(self):
        """They are said once, by the program that tacho started: its own functions, under either name, and what it never imported."""
        self.write("functions.json", json.dumps([{"module": name, "functions": ["work"]} for name in ("__main__", "prog", "missing", "helper")]))
        self.write("helper.py", "def work():\n    return 1\n")
        self.write("prog.py", "import subprocess, sys\nimport helper\ndef work():\n    return helper.work()\nprint(work(), flush=True)\n"
                              "if len(sys.argv) == 1:\n    subprocess.run([sys.executable, '-c', 'pass'])\n")
        report = self.profile(self.python, self.path("prog.py"), options=["-t", "nvtx", "--python-functions-trace=functions.json"], env=lib.environment(self.folder))
        self.assertEqual(report.ranges(), {"helper.work": 1})
        said = [line.partition("functions.json: ")[2] for line in self.output.stderr.splitlines() if "functions.json: " in line]
        self.assertEqual(said, ["the functions of __main__, prog are not traced, because the program itself is not imported as a module: "
                                "move them to a module, or write @tacho.range() above them",
                                "nothing of missing was traced: the program did not import it"])

    def test_bad_files(self):
        done = self.run_tacho(self.python, "-c", "print(1)", options=["--python-functions-trace=nowhere.json"])
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("nowhere.json", done.stderr)
        for text in ("", "{}", "[1]", '[{"module": 3}]', '[{"module": "os"}]'):
            self.write("bad.json", text)
            self.profile(self.python, "-c", "print(1)", options=["-t", "nvtx", "--python-functions-trace=bad.json"])
            self.assertEqual(self.output.stdout, "1\n", text)

    def test_torch(self):
        """A list of ours; what this version of torch does not have is passed over without a word."""
        shutil.copytree(lib.STANDIN, self.path("torchs"))
        self.write("torchs/torch/autograd/__init__.py", "from . import profiler\ndef backward():\n    pass\n")
        self.write("torchs/torch/nn/modules/module.py", "class Module:\n    def __call__(self, number):\n        return number + 1\n")
        program = """
import torch
from torch.nn.modules.module import Module
class Linear(Module):
    pass
torch.autograd.backward()
print(Linear()(3))
"""
        report = self.profile(self.python, "-c", program, options=["-t", "nvtx", "--pytorch=functions-trace"], env=lib.environment(self.path("torchs")))
        self.assertEqual(self.output.stdout, "4\n")
        self.assertEqual(report.ranges(), {"torch.autograd.backward": 1, "Linear": 1})
        self.assertNotIn("no function", self.output.stderr)


if __name__ == "__main__":
    lib.main()
