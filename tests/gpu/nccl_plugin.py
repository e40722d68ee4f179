"""--nccl-plugin with the real NCCL and two ranks on one GPU: the program does the same as without it, NCCL loads the plugin with the newest version of
the interface that it has, and each collective, send and receive has its row."""
import os

import gpulib
import tools

LIMIT_SECONDS = 240
ALONE = False
COUNT = 20
# The first NCCL with a version of the interface.
SINCE = (((2, 29), 6), ((2, 28), 5), ((2, 27), 4), ((2, 26), 3), ((2, 24), 2), ((2, 23), 1))


class NcclPlugin(gpulib.Case):
    def setUp(self):
        super().setUp()
        self.need_torch()

    def bare(self):
        done = tools.run([tools.PYTHON, tools.source("nccl_two_ranks.py"), str(COUNT)], 100)
        if done.status != 0:
            self.skipTest(f"NCCL does not run two ranks on this GPU: {done}")
        return done.stdout

    def profiled(self, level, env=None):
        done = self.run_tacho(tools.PYTHON, tools.source("nccl_two_ranks.py"), str(COUNT), seconds=100, env=env,
                              options=[*gpulib.CUDA, f"--nccl-plugin={level}"])
        self.assertEqual(done.status, 0, str(done))
        return done, self.report()

    def test_each_level_records_and_harms_nothing(self):
        expected = self.bare()
        words = expected.split()
        nccl, size = tuple(map(int, words[1].split(".")))[:2], int(words[7])
        version = next((number for first, number in SINCE if nccl >= first), 0)
        if not version:
            self.skipTest(f"NCCL {words[1]} has no profiler plugins")
        for level in ("coll", "proxy"):
            with self.subTest(level=level):
                done, report = self.profiled(level)
                self.assertEqual(done.stdout, expected)
                self.assertTrue(report.has("TACHO_NCCL_COMM"), "NCCL did not load the plugin")
                # Before v4 a communicator comes with its first operation.
                self.assertEqual(report.rows("SELECT DISTINCT version FROM TACHO_NCCL_COMM"), [(version,)])
                if version >= 4:
                    self.assertEqual(report.rows("SELECT DISTINCT ranks, rank FROM TACHO_NCCL_COMM ORDER BY 2"), [(2, 0), (2, 1)])
                operations = report.rows("""SELECT kind, value, count(*), min(bytes), max(bytes) FROM TACHO_NCCL_OP JOIN StringIds s ON s.id = function
                                            WHERE bytes = ? GROUP BY 1, 2 ORDER BY 1, 2""", size)
                self.figure(f"{level}: operations", operations)
                self.assertEqual(operations, [("collective", "AllReduce", 2 * COUNT, size, size), ("p2p", "Recv", COUNT, size, size), ("p2p", "Send", COUNT, size, size)])
                self.assertEqual(report.count("nccl", "lost"), 0)
                table = tools.run([gpulib.TACHO, "stats", "-r", "nccl_coll_sum", "--format", "csv", report.path], 60)
                self.assertEqual(table.status, 0, str(table))
                self.assertIn("AllReduce", table.stdout)

    def test_a_plugin_of_the_user_stays(self):
        done, report = self.profiled("coll", env={**os.environ, "NCCL_PROFILER_PLUGIN": "none"})
        self.assertIn("NCCL loads only one profiler plugin", done.stderr)
        self.assertFalse(report.has("TACHO_NCCL_OP"))


if __name__ == "__main__":
    gpulib.main()
