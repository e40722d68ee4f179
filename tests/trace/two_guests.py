"""A program with another guest in it, TSan: its hooks stay in line behind ours, so that it finds nothing that is not there."""
import os
import subprocess

import lib


class TwoGuests(lib.Case):
    def setUp(self):
        super().setUp()
        self.program = self.path("two_guests")
        source = os.path.join(lib.SOURCE, "tests/trace/modules/two_guests.c")
        built = subprocess.run(["gcc", "-g", "-fsanitize=thread", "-pthread", "-o", self.program, source], capture_output=True, text=True)
        if built.returncode != 0:
            self.skipTest("gcc has no TSan here: " + built.stderr.strip().splitlines()[-1])
        bare = subprocess.run([self.program], capture_output=True, text=True)
        if bare.returncode != 0:
            self.skipTest("a program built with TSan does not run here: " + (bare.stderr.strip().splitlines() or ["no word"])[0])

    def check(self, *command):
        for sources in ("nvtx", "osrt"):
            with self.subTest(sources=sources):
                self.profile(*command, options=["-t", sources, "-s", "none"])
                self.assertEqual(self.output.stdout, "200 turns\n")
                self.assertNotIn("ThreadSanitizer", self.output.stderr)

    def test_launched(self):
        self.check(self.program)

    def test_started_by_another_program(self):
        self.check("sh", "-c", self.program + "; exit $?")


if __name__ == "__main__":
    lib.main()
