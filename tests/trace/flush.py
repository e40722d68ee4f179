"""A flush waits for what was recorded before it, and for nothing that is recorded while it waits; meanwhile others attach."""
import re

import lib

CHILDREN = 33


class Flush(lib.Case):
    samples = False

    def test_while_a_thread_records_and_another_forks(self):
        report = self.profile(lib.program("flush"), str(CHILDREN), options=["-t", "nvtx", "--trace-fork-before-exec=true"])
        flushes, failed = map(int, re.fullmatch(r"flushes (\d+), failed (\d+)\n", self.output.stdout).groups())
        self.assertGreater(flushes, 0)
        self.assertEqual(failed, 0)
        self.assertEqual(report.value("SELECT count(*) FROM TACHO_PROCESS WHERE origin = 'fork'"), CHILDREN)


lib.main()
