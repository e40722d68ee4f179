"""What the GPU tests and bench/gpu.py reckon with, on stored captures and made-up figures, so that a host with a GPU is not needed
to find out that they would see a difference."""

import gzip
import os
import sqlite3
import subprocess
import sys
import tempfile
import types
import unittest

SOURCE = os.environ["SOURCE"]
sys.path[:0] = [os.path.join(SOURCE, "tests", "gpu"), os.path.join(SOURCE, "bench")]
import facts  # noqa: E402
import gpu_table  # noqa: E402

CAPTURE = os.path.join(SOURCE, "tests", "golden", "nsys", "mix.sqlite.gz")
ALL = ("kernels", "copies", "fills", "calls", "ranges")


class Compared(unittest.TestCase):
    """A capture by nsys beside the same one after it went through a report of ours."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.nsys, report, self.ours = (os.path.join(folder.name, name) for name in ("nsys.sqlite", "ours.tacho", "ours.sqlite"))
        with open(self.nsys, "wb") as file:
            file.write(gzip.open(CAPTURE).read())
        for arguments in (("import", self.nsys, "-o", report), ("export", "-t", "sqlite", "-o", self.ours, report)):
            subprocess.run([os.environ["TACHO"], *arguments], check=True, capture_output=True)

    def change(self, sql):
        database = sqlite3.connect(self.ours)
        database.execute(sql)
        database.commit()
        database.close()

    def compare(self, of):
        theirs = facts.Facts(self.nsys)
        return facts.differences([facts.Facts(self.ours)], [theirs, theirs], of)

    def test_the_same(self):
        for of in ALL:
            self.assertTrue(getattr(facts.Facts(self.nsys), of), of)
            self.assertEqual(self.compare(of), ([], []), of)
        theirs = facts.Facts(self.nsys)
        self.assertEqual(facts.time_differences([facts.Facts(self.ours)], [theirs, theirs]), ([], [], 0.0, 2, 0.02))

    def test_a_kernel_less(self):
        self.change("DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE rowid = 1")
        self.assertEqual(len(self.compare("kernels")[0]), 1)

    def test_a_byte_more(self):
        self.change("UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET bytes = bytes + 1 WHERE rowid = 1")
        self.assertEqual(len(self.compare("copies")[0]), 1)

    def test_a_call_less(self):
        self.change("DELETE FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE nameId = (SELECT id FROM StringIds WHERE value = 'cudaMalloc_v3020')")
        self.assertEqual(self.compare("calls")[0], ["cudaMalloc: nsys 1, tacho None"])

    def test_times(self):
        self.change("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = end + (end - start) / 20 + 40")
        theirs = facts.Facts(self.nsys)
        self.assertEqual(len(facts.time_differences([facts.Facts(self.ours)], [theirs, theirs])[0]), 2)

    def test_times_that_differ_between_two_runs_of_nsys(self):
        def run(**durations):
            return types.SimpleNamespace(durations=durations)

        theirs = [run(a=[10000] * 5, b=[20000] * 3), run(a=[10350] * 5, b=[20100] * 3)]  # 3.4 % apart at most
        self.assertEqual(facts.time_differences([run(a=[10400] * 5, b=[20700] * 3)] * 2, theirs)[:2], ([], []))
        self.assertEqual(len(facts.time_differences([run(a=[10400] * 5, b=[21000] * 3)] * 2, theirs)[0]), 1)
        quiet = [run(a=[10000] * 5, b=[20000] * 3)] * 2
        self.assertEqual(len(facts.time_differences([run(a=[10400] * 5, b=[20700] * 3)] * 2, quiet)[0]), 2)

    def test_what_nsys_does_not_determine_decides_nothing(self):
        self.change("DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE rowid = 1")
        wrong, open_ = facts.differences([facts.Facts(self.ours)], [facts.Facts(self.nsys), facts.Facts(self.ours)], "kernels")
        self.assertEqual((wrong, len(open_)), ([], 1))
        self.change("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = end + (end - start) / 10 + 40")
        wrong, open_, _, count, _ = facts.time_differences([facts.Facts(self.nsys)], [facts.Facts(self.nsys), facts.Facts(self.ours)])
        self.assertEqual((wrong, len(open_), count), ([], 2, 2))

    def test_the_call_that_opens_the_range_decides_nothing(self):
        """nsys has the driver's, we have the runtime's."""
        rows = [("cudaLaunchKernel_v7000", 2), ("cuProfilerStart", 1), ("cudaProfilerStop_v4000", 3)]
        self.assertEqual(facts.calls(rows), {"cudaLaunchKernel": 1})


class Stats(unittest.TestCase):
    """Tables of stats: only rows of the same total may change places."""

    theirs = "Time (%),Total Time (ns),Num Calls,Name\r\n80.0,90,1,c\r\n10.0,5,1,a\r\n10.0,5,2,\"b, b\"\r\n0.0,1,1,d"

    def compare(self, *lines):
        return facts.table_differences("\n".join(("Time (%),Total Time (ns),Num Calls,Name", *lines)), self.theirs)

    def test_ties(self):
        self.assertEqual(self.compare("80.0,90,1,c", "10.0,5,1,a", '10.0,5,2,"b, b"', "0.0,1,1,d"), [])
        self.assertEqual(self.compare("80.0,90,1,c", '10.0,5,2,"b, b"', "10.0,5,1,a", "0.0,1,1,d"), [])

    def test_all_else_is_a_difference(self):
        self.assertEqual(len(self.compare("10.0,5,1,a", "80.0,90,1,c", '10.0,5,2,"b, b"', "0.0,1,1,d")), 2)
        self.assertEqual(self.compare("80.0,90,1,c", '10.0,5,2,"b, b"', "10.0,5,3,a", "0.0,1,1,d"), ["nsys 10.0,5,1,a, tacho 10.0,5,3,a"])
        self.assertEqual(len(self.compare("80.0,90,1,c", "10.0,5,1,a", '10.0,5,2,"b, b"')), 1)
        self.assertEqual(facts.table_differences("", ""), [])
        self.assertEqual(len(facts.table_differences("", self.theirs)), 5)


class Table(unittest.TestCase):
    def row(self, name, rounds):
        return gpu_table.cost_row(next(row for row in gpu_table.COSTS if row[0] == name), rounds)

    def test_pairs_of_the_same_round(self):
        rounds = [{"bare": 4000 + 100 * i, "tacho": 5000 + 100 * i, "nsys": 6500 + 100 * i} for i in range(9)] + [{"bare": 1}, {"tacho": 9}]
        self.assertEqual(self.row("storm-1", rounds)[3:], ("+1.00 (1.00 … 1.00)", "+2.50 (2.50 … 2.50)", "–", "yes", 9))

    def test_aims(self):
        def verdict(name, bare, tacho, nsys):
            return self.row(name, [{"bare": bare, "tacho": tacho, "nsys": nsys}])[6]
        self.assertEqual([verdict("storm-1", 4000, 6100, 6000), verdict("storm-1", 4000, 6300, 6000)], ["yes", "no"])
        self.assertEqual([verdict("launch_storm", 8, 9.4, 13), verdict("launch_storm", 8, 9.4, 12), verdict("launch_storm", 8, 9.6, 20)], ["yes", "no", "no"])
        self.assertEqual([verdict("resnet18", 10, 11.9, 14), verdict("resnet18", 10, 12.1, 20), verdict("resnet18", 10, 11.9, 13)], ["yes", "no", "no"])
        self.assertEqual(self.row("storm-1", [{"bare": 4000, "tacho": 5000}])[6], "")


if __name__ == "__main__":
    unittest.main()
