"""What the GPU tests share, on top of tests/trace/lib.py: programs, counts of GPU work, results that run.py can read.

A file of tests says how long it may take (LIMIT_SECONDS) and whether it must have the GPU for itself (ALONE). It ends with
gpulib.main(), and can be run by itself: TACHO=… python3 tests/gpu/clock.py"""
import json
import os
import re
import sys
import time
import unittest

import tools

os.environ.setdefault("TACHO", os.path.join(tools.ROOT, "build", "bin", "tacho"))
os.environ["TACHO"] = os.path.abspath(os.environ["TACHO"])
os.environ.setdefault("AGENT", os.path.join(os.path.dirname(os.environ["TACHO"]), "..", "lib", "tacho", "libtacho-agent.so"))
os.environ.setdefault("PROGRAMS", tools.BUILT)
os.environ.setdefault("SOURCE", tools.ROOT)
sys.path.insert(0, os.path.join(tools.ROOT, "tests", "trace"))
import lib  # noqa: E402

TACHO = lib.TACHO
KERNEL, CALL, COPY, FILL = (f"CUPTI_ACTIVITY_KIND_{name}" for name in ("KERNEL", "RUNTIME", "MEMCPY", "MEMSET"))
LAUNCHES = ("cudaLaunchKernel", "__cudaLaunchKernel", "cudaLaunchKernelExC", "cudaLaunchCooperativeKernel", "cuLaunchKernel", "cuLaunchKernelEx", "cuLaunchCooperativeKernel")
CUDA = ("-t", "cuda", "-s", "none", "--cpuctxsw=none")


def plain(name):
    """A call as a programmer knows it, as in cuda_calls.def: any number of _v<digits>, _ptsz and _ptds at the end do not count."""
    return re.sub(r"(_v\d+|_ptsz|_ptds)+$", "", name)


def traced_calls():
    """The names in src/abi/cuda_calls.def."""
    with open(os.path.join(tools.ROOT, "src", "abi", "cuda_calls.def")) as file:
        return set(re.findall(r"^CUDA_(?:CALL|WAIT)\(\w+, (\w+),", file.read(), re.M))


class Report(lib.Report):
    """A report, and the GPU's work in it."""

    def number(self, table, where="1"):
        return self.value(f"SELECT count(*) FROM {table} WHERE {where}") if self.has(table) else 0

    def kernels(self):
        """(short name, count)."""
        if not self.has(KERNEL):
            return {}
        return dict(self.rows(f"SELECT value, count(*) FROM {KERNEL} JOIN StringIds ON id = shortName GROUP BY value"))

    def cuda_calls(self):
        """(plain name, count)."""
        counts = {}
        if self.has(CALL):
            for name, count in self.rows(f"SELECT value, count(*) FROM {CALL} JOIN StringIds ON id = nameId GROUP BY value"):
                counts[plain(name)] = counts.get(plain(name), 0) + count
        return counts

    def launches(self):
        """Calls that launch one kernel, by any of their names."""
        return sum(count for name, count in self.cuda_calls().items() if name in LAUNCHES)

    def launches_without_kernel(self):
        """Counted here, from the rows: launches that succeeded and whose correlation id no kernel has."""
        names = [key for key, value in self.rows("SELECT id, value FROM StringIds") if plain(value) in LAUNCHES]
        return self.value(f"""SELECT count(*) FROM {CALL} WHERE nameId IN ({', '.join(map(str, names))}) AND returnValue = 0
                              AND correlationId NOT IN (SELECT correlationId FROM {KERNEL})""") if names and self.has(CALL) else 0

    def finding(self, name):
        """How often records do not fit together in this way: TACHO_CUDA_CHECK."""
        if not self.has("TACHO_CUDA_CHECK"):
            return 0
        return self.value("SELECT coalesce(sum(count), 0) FROM TACHO_CUDA_CHECK WHERE finding = ?", name)

    def messages(self):
        """What the report says in words."""
        if not self.has("DIAGNOSTIC_EVENT"):
            return ""
        return "\n".join(str(row[0]) for row in self.rows("SELECT text FROM DIAGNOSTIC_EVENT"))


class Case(lib.Case):
    """A test that needs a GPU. Programs get a minute, unless a test says otherwise."""

    def setUp(self):
        super().setUp()
        if not tools.gpu():
            self.skipTest("no GPU that nvidia-smi knows")
        self.figures = {}

    def figure(self, name, value):
        """A measured number that belongs into the results."""
        self.figures[name] = value
        print(f"    {name}: {value}", flush=True)

    def need_torch(self):
        if not tools.has_torch():
            self.skipTest(f"{tools.PYTHON} has no PyTorch that sees the GPU")

    def need_nsys(self):
        if not tools.nsys():
            self.skipTest("no nsys: set NSYS to the program")

    def run_tacho(self, *arguments, seconds=60, env=None, cwd=None, **more):
        """As in lib.py, but what takes too long is ended with all that it started."""
        done = tools.run(self.command(*arguments, **more), seconds, env, cwd or self.folder)
        self.assertIsNotNone(done.status, str(done))
        done.returncode = done.status
        return done

    def report(self, output="report.tacho"):
        report = Report(self.path(output))
        self.addCleanup(report.database.close)
        return report

    def assert_whole(self, report):
        """Nothing lost, and all records fit together."""
        lost = report.rows("SELECT source, cause, sum(count) FROM TACHO_COUNT WHERE fate = 'lost' AND count > 0 GROUP BY 1, 2")
        self.assertEqual(lost, [], "lost")
        for name in ("launch-without-kernel", "kernel-without-launch", "kernel-before-launch"):
            self.assertEqual(report.finding(name), 0, name)


def made(text):
    """What a case of programs/cases.cu says that it made: {key: number}."""
    line = next((line for line in text.splitlines() if line.startswith("made ")), "")
    return {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", line)}


class Result(unittest.TextTestResult):
    """Prints each test as it ends, and writes it as a line of JSON to the file in RESULTS."""

    def startTest(self, test):
        super().startTest(test)
        self.began = time.monotonic()

    def note(self, test, result, why=""):
        line = {"file": os.path.basename(sys.argv[0]), "test": f"{type(test).__name__}.{str(test).split(' ')[0]}", "result": result, "why": why,
                "seconds": round(time.monotonic() - getattr(self, "began", time.monotonic()), 2), "figures": getattr(test, "figures", {})}
        if os.environ.get("RESULTS"):
            with open(os.environ["RESULTS"], "a") as file:
                file.write(json.dumps(line) + "\n")

    def addSuccess(self, test):
        super().addSuccess(test)
        self.note(test, "passed")

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.note(test, "failed", self.failures[-1][1])

    def addError(self, test, err):
        super().addError(test, err)
        self.note(test, "failed", self.errors[-1][1])

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err:  # a test of which a part failed is no success, and nothing else is said of it
            why = self.failures if issubclass(err[0], test.failureException) else self.errors
            self.note(test, "failed", why[-1][1])

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.note(test, "skipped", reason)


def main():
    runner = unittest.TextTestRunner(stream=sys.stdout, verbosity=2, resultclass=Result)
    result = unittest.main(exit=False, testRunner=runner).result
    if result.wasSuccessful() and result.testsRun == len(result.skipped):
        print("skipped: " + "; ".join(sorted({reason for _, reason in result.skipped})))
        sys.exit(77)
    sys.exit(0 if result.wasSuccessful() else 1)
