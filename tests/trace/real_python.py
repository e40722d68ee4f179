"""Python's own tests of threads, subprocesses and multiprocessing: under Tacho the same ones pass, fail and skip."""
import os
import re
import subprocess
import sys

import lib


def python_with_tests():
    """A Python that has its own test suite (Debian: libpython3.11-testsuite)."""
    for python in (sys.executable, "/usr/bin/python3"):
        if os.path.exists(python) and subprocess.run([python, "-c", "import test.test_threading, test._test_multiprocessing"],
                                                     capture_output=True).returncode == 0:
            return python
    return None


class RealPython(lib.Case):
    def run_in(self, folder, command, environment):
        os.makedirs(self.path(folder))
        return subprocess.run(command, cwd=self.path(folder), capture_output=True, text=True, timeout=lib.PATIENCE, env=environment)

    def python_tests(self, *tests, module=None):
        python = python_with_tests()
        if not python:
            self.skipTest("Python's own tests are not here (Debian: libpython3.11-testsuite)")
        if module:
            with open(self.path("started.py"), "w") as file:
                file.write(f"import test._test_multiprocessing as t\nt.install_tests_in_module_dict(globals(), '{module}')\n")
        environment = dict(os.environ, PYTHONPATH=self.folder)
        command = [python, "-W", "ignore", "-m", "unittest", "-v", *tests]
        outcomes = []
        for folder, prefix in (("bare", []), ("profiled", self.command())):
            done = self.run_in(folder, [*prefix, *command], environment)
            found = re.findall(r"^(test\w+) \(([\w.]+)\)(?:\n.*?)? \.\.\. .*?(ok|FAIL|ERROR|skipped .*|expected failure)$", done.stderr, re.M)
            self.assertGreaterEqual(len(found), len(tests), done.stderr)
            outcomes.append((done.returncode, sorted(found)))
        self.assertEqual(outcomes[0], outcomes[1], done.stderr)
        return self.report()

    def test_threading(self):
        self.python_tests("test.test_threading.ThreadTests", "test.test_threading.ThreadJoinOnShutdown", "test.test_threading.LockTests",
                          "test.test_threading.ConditionAsRLockTests", "test.test_threading.BarrierTests",
                          "test.test_threading.SubinterpThreadingTests", "test.test_threading.InterruptMainTests")

    def test_subprocess(self):
        self.python_tests("test.test_subprocess.POSIXProcessTestCase", "test.test_subprocess.ContextManagerTests",
                          "test.test_subprocess.RunFuncTestCase")

    def test_multiprocessing_fork(self):
        self.python_tests("started.WithProcessesTestQueue", "started.WithProcessesTestLock", "started.WithProcessesTestEvent",
                          "started.WithProcessesTestCondition", "started.WithProcessesTestConnection", module="fork")

    def test_multiprocessing_spawn(self):
        self.python_tests("started.WithProcessesTestLock", "started.WithProcessesTestSemaphore",
                          "started.WithProcessesTestPicklingConnections", module="spawn")


if __name__ == "__main__":
    if lib.SANITIZE:  # only the collector is sanitized: less will do
        for slow in ("test_threading", "test_subprocess"):
            delattr(RealPython, slow)
    lib.main()
