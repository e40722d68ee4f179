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


class Ends(lib.Case):
    samples = False

    def test_processes_that_leave_much_to_read_hold_up_nobody(self):
        """Three end at once with full buffers; a fourth that says hello meanwhile is answered before it gives up."""
        report = self.profile(lib.program("flush"), "3", "1500000", options=["-t", "nvtx", "--trace-fork-before-exec=true"])
        self.assertEqual(report.count("nvtx", "recorded") + report.count("nvtx", "lost"), 3 * 1500000)
        self.assertEqual(report.value("SELECT count(*) FROM TACHO_THREAD"), 1 + 3 + 1)
        self.assertEqual(report.rows("SELECT ending, exitStatus, count(*) FROM TACHO_PROCESS WHERE origin = 'fork' GROUP BY 1, 2"), [("exit", 0, 4)])


lib.main()
