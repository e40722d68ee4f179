"""Kills after exactly so many steps, without a clock. A program that is killed leaves a report of every step that it finished, and of
the ranges that were open. A collector that is killed leaves a report that opens, and the program ends as it would. kill.py and
collector_kill.py do the same at random moments."""
import signal
import subprocess

import lib
from kill import STEPS, Truth, expected, recorded


class KillSteps(lib.Case):
    samples = False

    def start(self, who, steps):
        self.truth = Truth(self.path("truth"))
        command = self.command(lib.program("kill"), self.path("truth"), "1", "0", who, str(steps), options=["-t", "nvtx,osrt", "--osrt-threshold", "0"])
        return subprocess.run(command, capture_output=True, text=True, timeout=lib.PATIENCE)

    def test_program(self):
        """At each of the six steps, in the first round and in a later one."""
        for steps in (*range(1, STEPS + 1), *range(100 * STEPS + 1, 101 * STEPS + 1)):
            with self.subTest(steps=steps):
                done = self.start("program", steps)
                self.assertEqual(done.returncode, -signal.SIGKILL, done.stderr)
                self.assertEqual(self.truth.steps(0), steps)
                report = self.report()
                self.assertIn("main", report.open_ranges())
                found = recorded(report)[self.truth.tid(0)]
                self.assertEqual({what: found[what] for what in expected(0)}, expected(steps))
                self.assertEqual(report.count("nvtx", "lost"), 0)

    def test_collector(self):
        for steps in (1, STEPS, 1000 * STEPS):
            with self.subTest(steps=steps):
                done = self.start("collector", steps)
                self.assertEqual(done.returncode, -signal.SIGKILL, done.stderr)
                lib.until(lambda: lib.state(self.truth.pid) in ("", "Z"), "the program ended")
                self.assertEqual(self.truth.steps(0), 2 * steps, "the program did not run on to its end")
                report = self.report()
                found = recorded(report)[self.truth.tid(0)] if report.has("NVTX_EVENTS") else {"outer": 0}
                self.assertLessEqual(found["outer"], expected(2 * steps)["outer"])
                done = subprocess.run([lib.TACHO, "info", self.path("report.tacho")], capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    lib.main()
