"""Calls on small stacks: the agent needs little room beside what the calls themselves need. No Python is in these programs."""
import os
import subprocess

import lib

PROGRAM = lib.program("small_stacks")
ROOM = 1024  # bytes, of a call that is recorded with its backtrace, and of a forked child that attaches


class SmallStacks(lib.Case):
    def bare(self, part):
        return subprocess.run([PROGRAM, part], cwd=self.folder, capture_output=True, text=True, timeout=lib.PATIENCE)

    def depths(self, output):
        return {name: int(depth) for name, depth in (line.rsplit(maxsplit=1) for line in output.splitlines())}

    def test_depth_of_calls(self):
        bare = self.depths(self.bare("depths").stdout)
        self.assertEqual(len(bare), 11)
        options = ["-t", "osrt,nvtx", "--osrt-threshold=0", "--osrt-backtrace-threshold=0"]
        report = self.profile(PROGRAM, "depths", options=options, cwd=self.folder)
        self.assertGreater(report.value("SELECT count(*) FROM OSRT_API WHERE callchainId != 0"), 8, "backtraces were not taken")
        for name, depth in self.depths(self.output.stdout).items():
            with self.subTest(call=name, bare=bare[name], profiled=depth):
                self.assertLessEqual(depth - bare[name], ROOM)

    def test_crash_handler_on_an_alternate_stack(self):
        self.assertEqual(self.bare("handler").returncode, 5)
        for options in ([], ["-t", "osrt,nvtx", "--osrt-threshold=0", "--osrt-backtrace-threshold=0"]):
            with self.subTest(options=options):
                self.profile(PROGRAM, "handler", options=options, cwd=self.folder, status=5)


if __name__ == "__main__":
    lib.main()
