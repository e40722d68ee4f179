"""What the trace tests share: profile a program for real, read its report through SQL, count what became of events.

A test is a file with unittest cases that ends with lib.main(). A case that cannot run here calls self.skipTest(why);
when all of them skip, the file exits with 77 and counts as skipped.
"""
import ctypes
import os
import platform
import select
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time
import unittest

TACHO = os.environ["TACHO"]
AGENT = os.environ["AGENT"]
PROGRAMS = os.environ["PROGRAMS"]
SOURCE = os.environ["SOURCE"]
SANITIZE = os.environ.get("SANITIZE", "")
PATIENCE = int(os.environ.get("PATIENCE", "60"))  # the one limit of waits, in seconds: tests/CMakeLists.txt
ALL = os.environ.get("TACHO_TEST_ALL", "") not in ("", "0")  # scripts/test --all
TORCH_PYTHON = os.environ.get("TACHO_TEST_TORCH", sys.executable)  # a Python that has torch, where that of the tests has not
AS_NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]  # in front of a command; see open_to_all_users()


def program(name):
    return os.path.join(PROGRAMS, name)


def until(condition, what, seconds=PATIENCE):
    """Waits for something that must come about."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds} s in vain until {what}")
        time.sleep(0.001)


def children(pid):
    """The children of all threads of a process."""
    found = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as file:
                found += map(int, file.read().split())
    except OSError:
        pass  # gone meanwhile
    return found


def program_of(tacho):
    """The process of the program, or None as long as it does not run: tacho forks before that, for purposes of its own."""
    for child in children(tacho):
        try:
            if os.readlink(f"/proc/{child}/exe") != os.readlink(f"/proc/{tacho}/exe"):
                return child
        except OSError:
            pass  # gone meanwhile
    return None


def refuse_call(name):
    """Installs a filter in which a system call fails with EPERM, for the program that is about to run."""
    number = {"perf_event_open": {"x86_64": 298, "aarch64": 241}, "process_vm_readv": {"x86_64": 310, "aarch64": 270}}[name][platform.machine()]
    load, equal, answer = 0x20, 0x15, 0x06
    program = b"".join(struct.pack("HBBI", *line) for line in (
        (load, 0, 0, 0), (equal, 0, 1, number), (answer, 0, 0, 0x00050001), (answer, 0, 0, 0x7FFF0000)))
    buffer = ctypes.create_string_buffer(program, len(program))
    head = struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None)
    if libc.syscall({"x86_64": 317, "aarch64": 277}[platform.machine()], 1, 0, ctypes.create_string_buffer(head, len(head))) != 0:
        if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, ctypes.create_string_buffer(head, len(head)), 0, 0) != 0:
            os._exit(99)


def refuse_perf_events():
    """Samples then come by timers."""
    refuse_call("perf_event_open")


def state(pid):
    """R, S, D, T, Z, or an empty text when there is no such process."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def ended(pidfd):
    return bool(select.select([pidfd], [], [], 0)[0])


def end_group(process):
    """Ends a Popen that leads its own group, with all that it started there."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.communicate()


class Report:
    """A report, read as SQLite through `tacho export`."""

    def __init__(self, path):
        self.path = path
        self.sqlite = path + ".sqlite"
        done = subprocess.run([TACHO, "export", "--type", "sqlite", "--force-overwrite", "true", "-o", self.sqlite, path],
                              capture_output=True, text=True, errors="surrogateescape")
        if done.returncode != 0:
            raise AssertionError(f"export of {path} failed with {done.returncode}: {done.stderr}")
        self.database = sqlite3.connect(self.sqlite)

    def has(self, table):
        return bool(self.database.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchall())

    def rows(self, sql, *arguments):
        return self.database.execute(sql, arguments).fetchall()

    def value(self, sql, *arguments):
        return self.rows(sql, *arguments)[0][0]

    def count(self, source, fate, cause=None):
        """How many events of a source had this fate; 0 when none."""
        if not self.has("TACHO_COUNT"):
            return 0
        return self.value("SELECT coalesce(sum(count), 0) FROM TACHO_COUNT WHERE source = ? AND fate = ? AND (? IS NULL OR cause = ?)",
                          source, fate, cause, cause)

    def produced(self, source):
        if not self.has("TACHO_COUNT"):
            return 0
        return self.value("SELECT coalesce(sum(count), 0) FROM TACHO_COUNT WHERE source = ?", source)

    def causes(self, source):
        """(cause, count) of the losses of a source."""
        if not self.has("TACHO_COUNT"):
            return {}
        return dict(self.rows("SELECT cause, sum(count) FROM TACHO_COUNT WHERE source = ? AND fate = 'lost' GROUP BY cause", source))

    def unrecorded(self):
        """(cause, count) of the processes that have a row and were not recorded. The column is there only when there are some."""
        if "unrecorded" not in [name for _, name, *_ in self.rows("PRAGMA table_info(TACHO_PROCESS)")]:
            return {}
        return dict(self.rows("SELECT unrecorded, count(*) FROM TACHO_PROCESS WHERE unrecorded IS NOT NULL GROUP BY unrecorded"))

    def ranges(self):
        """(name, count) of the finished NVTX ranges."""
        if not self.has("NVTX_EVENTS"):
            return {}
        return dict(self.rows("""SELECT coalesce(text, (SELECT value FROM StringIds WHERE id = textId)) AS name, count(*)
                                 FROM NVTX_EVENTS WHERE eventType IN (59, 60) AND end IS NOT NULL GROUP BY name"""))

    def open_ranges(self):
        if not self.has("NVTX_EVENTS"):
            return []
        return [name for name, in self.rows("""SELECT coalesce(text, (SELECT value FROM StringIds WHERE id = textId))
                                 FROM NVTX_EVENTS WHERE eventType IN (59, 60) AND end IS NULL ORDER BY start""")]

    def returned(self):
        """Condition on rows of OSRT_API: the call came back. The column is there only when some did not."""
        columns = [name for _, name, *_ in self.rows("PRAGMA table_info(OSRT_API)")]
        return "coalesce(incomplete, 0) = 0" if "incomplete" in columns else "1"

    def calls(self):
        """(function, count) of the recorded OS calls."""
        if not self.has("OSRT_API"):
            return {}
        return dict(self.rows("SELECT value, count(*) FROM OSRT_API JOIN StringIds ON id = nameId GROUP BY value"))


class Case(unittest.TestCase):
    """A test with a folder of its own."""

    longMessage = True
    maxDiff = None
    # Whether captures have samples: with the names of functions (True), without (None), or none (False). To find names takes longer than all
    # else of a small capture, two seconds with TSan: they are for tests that look at them.
    samples = None

    def setUp(self):
        self.tacho_path = TACHO
        self.folder = tempfile.mkdtemp(prefix="tacho-test-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def need_torch(self):
        if subprocess.run([TORCH_PYTHON, "-c", "import torch"], cwd=self.folder, capture_output=True).returncode != 0:
            self.skipTest(f"{TORCH_PYTHON} has no torch: TACHO_TEST_TORCH can name a Python that has")

    def command(self, *arguments, options=(), output="report.tacho"):
        sampling = {True: [], None: ["--resolve-symbols=false"], False: ["-s", "none"]}[self.samples]
        return [self.tacho_path, "profile", *sampling, "-o", self.path(output), "-f", "true", *options, *arguments]

    def run_tacho(self, *arguments, options=(), output="report.tacho", **more):
        """Profiles a program to its end. The process with its status, stdout and stderr."""
        more.setdefault("timeout", PATIENCE)
        more.setdefault("cwd", self.folder)
        more.setdefault("errors", "surrogateescape")  # as in names of files
        return subprocess.run(self.command(*arguments, options=options, output=output), capture_output=True, text=True, **more)

    def profile(self, *arguments, status=0, **more):
        """Profiles a program that must end with this status; its report."""
        done = self.run_tacho(*arguments, **more)
        self.assertEqual(done.returncode, status, f"stdout: {done.stdout}\nstderr: {done.stderr}")
        self.output = done
        report = self.report(more.get("output", "report.tacho"))
        self.compare_unrecorded(report)
        return report

    def compare_unrecorded(self, report):
        """What TACHO_PROCESS and TACHO_COUNT say about processes that were not recorded. A process that left a mark and had no row of its
        own, because nobody else knew of it, is counted only."""
        listed, counted = report.unrecorded(), report.causes("processes")
        for cause in listed.keys() | counted.keys():
            compare = self.assertLessEqual if cause in ("no-answer", "no-descriptor") else self.assertEqual
            compare(listed.get(cause, 0), counted.get(cause, 0), f"rows of TACHO_PROCESS and TACHO_COUNT with cause {cause}")

    def until_recorded(self, seconds, profile, has):
        """The report of profile(seconds), a capture that ends after so long, once has(report): on a busy machine the program may not have begun
        by then, and the next capture has twice the time."""
        while True:
            report = profile(seconds)
            if has(report):
                return report
            seconds *= 2
            self.assertLess(seconds, PATIENCE, "the program never did what is looked for while it was recorded")

    def report(self, output="report.tacho"):
        report = Report(self.path(output))
        self.addCleanup(report.database.close)
        return report

    def need_root(self):
        if os.geteuid() != 0:
            self.skipTest("needs root")

    def open_to_all_users(self, *programs):
        """For a test that runs tacho as another user, who may not be able to enter the folder of the build (/root is closed to others).
        self.folder becomes a folder that every user can write to, self.tacho_path a copy of the program and its agent in it. Returns the paths
        of copies of the programs."""
        self.need_root()
        self.folder = tempfile.mkdtemp(prefix="tacho-public-", dir="/tmp")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        shutil.copytree(os.path.dirname(AGENT), self.path("lib/tacho"), symlinks=True)
        os.mkdir(self.path("bin"))
        self.tacho_path = shutil.copy(TACHO, self.path("bin"))
        copies = [shutil.copy(program, self.path("bin")) for program in programs]
        subprocess.run(["chmod", "-R", "go+rX", self.folder], check=True)
        os.chmod(self.folder, 0o777)
        return copies


def main():
    result = unittest.main(exit=False, verbosity=2).result
    if result.wasSuccessful() and result.testsRun == len(result.skipped):
        print("skipped: " + "; ".join(sorted({reason for _, reason in result.skipped})))
        sys.exit(77)
    sys.exit(0 if result.wasSuccessful() else 1)
