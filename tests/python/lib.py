"""What the tests of the Python package share: they are trace tests, with the package in the path of the programs that they run."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests", "trace"))
_own = sys.modules.pop(__name__)
import lib as trace  # pylint: disable=wrong-import-position,import-self
sys.modules[__name__] = _own

PACKAGE = os.path.join(trace.SOURCE, "python")
HERE = os.path.join(trace.SOURCE, "tests", "python")
FROM_PYPI = os.path.join(trace.SOURCE, "build", "pypi", "environment", "bin", "python")  # that scripts/test --all makes
STANDIN = os.path.join(HERE, "standin")
TACHO, SOURCE, PATIENCE, main = trace.TACHO, trace.SOURCE, trace.PATIENCE, trace.main
sys.path.insert(0, PACKAGE)


def environment(*path, **more):
    """Ours, with these folders and no others in Python's path."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path), "PYTHONDONTWRITEBYTECODE": "1", **more}


class Case(trace.Case):
    """A test that runs Python programs."""

    python = sys.executable

    def python_with(self, *modules, by="scripts/test --all installs them"):
        """A Python that has these: the tests' own, the distribution's, or that of scripts/test."""
        for python in dict.fromkeys([sys.executable, "/usr/bin/python3", trace.TORCH_PYTHON, FROM_PYPI]):
            if os.path.exists(python) and subprocess.run([python, "-c", "import " + ", ".join(modules)], capture_output=True).returncode == 0:
                return python
        return self.skipTest(f"no Python here has {', '.join(modules)}: {by}")

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def run_python(self, *arguments, path=(PACKAGE,), status=0, **more):
        """Runs Python on its own: what it prints."""
        done = subprocess.run([self.python, *arguments], cwd=self.folder, env=environment(*path, **more), capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.complaints = done.stderr
        return done.stdout

    def run_text(self, text, **more):
        """The same with a program given as its text."""
        return self.run_python(self.write("program.py", text), **more)
