"""Where the wall time of programs without a GPU went: the first line is the one to change. All figures are lower bounds that the programs
ensure by themselves, so that a busy machine changes nothing."""
import json
import os
import subprocess
import sys

import lib

PARENT = """
import subprocess
def build():
    return subprocess.run(["sh", "-c", "sleep 0.3; sleep 0.2 | cat"], capture_output=True)  # waits
build()
"""

SLEEPER = """import time
def wait_for_it():
    for _ in range(5):
        time.sleep(0.1)
wait_for_it()
"""


class WallCase(lib.Case):
    samples = True

    def tacho(self, *arguments):
        return subprocess.run([lib.TACHO, *arguments], check=True, stdout=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": "10000"}).stdout

    def wall(self, *program):
        """The rows of wall_sum, which add up to the time from the start of the program to its end, and the summary's lines about it."""
        self.profile(*program)
        path = os.path.join(self.folder, "report.tacho")
        rows = json.loads(self.tacho("stats", "-q", "-f", "json", "-r", "wall_sum", path))
        report = lib.Report(path)
        begin, end = report.rows("SELECT min(start), max(end) FROM TACHO_PROCESS")[0]
        if report.has("SCHED_EVENTS"):  # the collector notices the end of a process late on a busy machine
            end = report.value("SELECT max(start) FROM SCHED_EVENTS WHERE globalTid = (SELECT globalTid FROM TACHO_THREAD ORDER BY start LIMIT 1)")
        self.assertAlmostEqual(1, sum(row["Wall Time (ns)"] for row in rows) / (end - begin), delta=0.01)
        lines = self.tacho("summary", path).splitlines()
        self.assertIn("  where the wall time went", lines)
        return rows, lines[lines.index("  where the wall time went") + 1:]

    def script(self, text):
        path = self.path("own.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return sys.executable, path

    def waited(self, rows, **cells):
        """At most: what a thread that was woken waits for a CPU is told apart from its wait by an estimate."""
        return self.time_of(rows, **cells) + self.time_of(rows, State="no CPU")

    def time_of(self, rows, **cells):
        return sum(row["Wall Time (ns)"] for row in rows if all(row[name] == value for name, value in cells.items())) / 1e6


class Wall(WallCase):
    def test_children_and_pipes_lead_to_what_they_do(self):
        rows, lines = self.wall(*self.script(PARENT))
        self.assertGreaterEqual(self.waited(rows, State="sleeping", Where="[sleep 0.3]"), 290)
        self.assertGreaterEqual(self.waited(rows, State="sleeping", Where="[sleep 0.2]"), 190)

    def test_threads_that_take_turns_are_one_chain(self):
        """15 turns of 20 ms of CPU time, all of them under one lock."""
        rows, lines = self.wall(lib.program("contended"))
        crunch = [row for row in rows if row["Where"].startswith("crunch (contended.c:") and row["State"] == "computing"]
        self.assertGreaterEqual(sum(row["Wall Time (ns)"] for row in crunch) / 1e6, 240, rows)
        self.assertTrue(any(" crunch (contended.c:" in line for line in lines), lines)

    def test_what_if_replays_the_threads(self):
        """300 ms of CPU time are in crunch, half of which samples show at the least. Nobody sleeps, so that a named sleep is no place."""
        self.profile(lib.program("contended"))
        path = os.path.join(self.folder, "report.tacho")
        rows = json.loads(self.tacho("what-if", "-f", "json", "--function", "crunch=1x", "--function", "crunch=0x", "--no-host", "crunch", path))
        self.assertEqual([row["What If"] for row in rows], ["unchanged", "--function crunch=1x", "--function crunch=0x", "--no-host crunch", "all of these"])
        unchanged, same, none, no_host, _ = rows
        self.assertEqual((unchanged["Saves (ns)"], same["Saves (ns)"]), (0, 0))
        self.assertGreaterEqual(none["Saves (ns)"], 150e6)
        self.assertEqual(no_host["Run (ns)"], none["Run (ns)"])
        path_ns = sum(row["Total Time (ns)"] for row in json.loads(self.tacho("what-if", "-f", "json", path)))
        self.assertAlmostEqual(1, path_ns / unchanged["Run (ns)"], delta=0.01)
        for options, sentence in ((["--no-wait", "sleep"], "--no-wait 'sleep': no thread waited there for a lock, a file, a socket or sleep"),
                                  (["--function", "nobody=2x"], "--function 'nobody=2x': no thread was seen at work there"),
                                  (["--function", "crunch"], "--function needs a place and a factor from 0 to 1000000"),
                                  (["--kernel", "gemm=0.5x"], "--kernel 'gemm=0.5x': the report has no work on a GPU")):
            done = subprocess.run([lib.TACHO, "what-if", *options, path], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
            self.assertIn(done.returncode, (1, 2), options)
            self.assertIn(sentence, done.stderr)

    def test_what_has_another_form_is_named_with_the_change(self):
        """What a script sleeps is at least what it asks for. Its line may be missing on a busy machine: wall_python.py asks for that."""
        rows, lines = self.wall(*self.script(SLEEPER))
        self.assertGreaterEqual(self.waited(rows, State="sleeping"), 5 * 95)
        findings = json.loads(self.tacho("analyze", "-q", "-f", "json", "-r", "slow_calls", os.path.join(self.folder, "report.tacho")))
        for row in findings:
            self.assertEqual((row["What"], row["Where"], row["Calls"]), ("the program sleeps", "own.py:4 wait_for_it", 5))
            self.assertIn("  what to change first; each saves its time at most", lines)

    def test_runs_are_compared_by_wall_time(self):
        """What a program sleeps is at least what it asks for; it may wait for a CPU then."""
        paths = []
        for name, seconds in (("before", "0.1"), ("after", "0.5")):
            self.profile("sleep", seconds)
            paths.append(self.path(f"{name}.tacho"))
            os.replace(self.path("report.tacho"), paths[-1])
        rows = json.loads(self.tacho("diff", "-q", "-f", "json", "--all", "-r", "wall_sum", *paths))
        for figure, least_ns in (("Before (ns)", 95e6), ("After (ns)", 475e6)):
            self.assertGreaterEqual(sum(row[figure] or 0 for row in rows if row["State"] in ("sleeping", "no CPU")), least_ns, rows)


if __name__ == "__main__":
    lib.main()
