"""What the GPU tests and bench/gpu.py reckon with, on stored captures and made-up figures, so that a host with a GPU is not needed
to find out that they would see a difference."""

import gzip
import os
import random
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

    def times(self):
        return facts.time_differences([facts.Facts(self.ours)], [facts.Facts(self.nsys)] * 3)

    def test_the_same(self):
        for of in ALL:
            self.assertTrue(getattr(facts.Facts(self.nsys), of), of)
            self.assertEqual(self.compare(of), ([], []), of)
        found = self.times()
        self.assertEqual((found.wrong, found.open, found.most, found.share()), ([], [], 0.0, 1.0))

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
        self.assertEqual(len(self.times().wrong), 3)  # one of the two kernels has two grids

    def test_what_nsys_does_not_determine_decides_nothing(self):
        self.change("DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE rowid = 1")
        wrong, open_ = facts.differences([facts.Facts(self.ours)], [facts.Facts(self.nsys), facts.Facts(self.ours)], "kernels")
        self.assertEqual((wrong, len(open_)), ([], 1))

    def test_the_call_that_opens_the_range_decides_nothing(self):
        """nsys has the driver's, we have the runtime's."""
        rows = [("cudaLaunchKernel_v7000", 2), ("cuProfilerStart", 1), ("cudaProfilerStop_v4000", 3)]
        self.assertEqual(facts.calls(rows), {"cudaLaunchKernel": 1})


class Times(unittest.TestCase):
    """The bound on times, with made figures."""

    def compare(self, ours, theirs, count=1):
        """What becomes of times in µs of a thing: "same", "wrong" or "open"."""
        found = facts.Times("nsys")
        found.compare("kernel", [1000 * time for time in ours], [1000 * time for time in theirs], count)
        return "wrong" if found.wrong else "open" if found.open else "same"

    def runs(self, seed, number, share, time=20.0, factor=1.0):
        """So many runs whose times scatter by that share (one standard deviation)."""
        chance = random.Random(seed)
        return [chance.gauss(time, share * time) * factor for _ in range(number)]

    def test_an_error_of_a_steady_kernel_is_found(self):
        steady = [20.0, 20.1, 19.9]
        self.assertEqual(self.compare(steady, steady), "same")
        for factor in (0.95, 0.965, 1.035, 1.05):
            self.assertEqual(self.compare([factor * time for time in steady], steady), "wrong", factor)

    def test_an_error_is_found_after_any_number_of_rounds(self):
        for rounds in range(facts.ROUNDS, facts.MOST_ROUNDS + 1):
            for seed in range(100):
                found = self.compare(self.runs(-1 - seed, rounds, 0.003, factor=1.05), self.runs(seed, rounds, 0.003))
                self.assertEqual(found, "wrong", (rounds, seed))

    def test_what_two_runs_of_nsys_may_differ_by_is_no_error(self):
        """Figures of one distribution, as if both tools were nsys: at most a few in a thousand are taken for an error after all rounds."""
        for share in (0.002, 0.01, 0.02, 0.04):
            found = [self.compare(self.runs(-1 - seed, facts.MOST_ROUNDS, share), self.runs(seed, facts.MOST_ROUNDS, share)) for seed in range(1000)]
            self.assertLessEqual(found.count("wrong"), 3, share)

    def test_our_own_scatter_gains_no_room(self):
        self.assertEqual(self.compare([20.0, 21.0, 22.0], [20.0, 20.1, 19.9]), "wrong")

    def test_what_scatters_too_much_decides_nothing(self):
        self.assertEqual(self.compare([20.0, 20.0, 20.0], [20.0, 20.8, 20.1]), "open")

    def test_a_tick_of_the_clock_is_no_difference(self):
        self.assertEqual(self.compare([1.03] * 3, [1.0] * 3), "same")
        self.assertEqual(self.compare([10.3] * 3, [10.0] * 3, 10), "same")
        self.assertEqual(self.compare([1.05] * 3, [1.0] * 3), "wrong")

    def test_two_kinds_of_launches_under_one_name(self):
        """A median would be 10 in one run and 20 in the next."""
        self.assertEqual(facts.usual([10] * 10 + [20] * 10), facts.usual([20] * 10 + [10] * 10))
        self.assertAlmostEqual(facts.usual([10] * 51 + [20] * 49), facts.usual([10] * 49 + [20] * 51), delta=0.4)
        self.assertEqual(facts.usual([900] + [10] * 29), 10)

    def test_kernels_of_some_launches_or_a_changing_number_have_no_usual_time(self):
        def run(**durations):
            return types.SimpleNamespace(durations=durations)

        found = facts.time_differences([run(few=[9000] * 9, a=[9000] * 10, b=[9000] * 11, ours=[1] * 10)], [run(few=[8000] * 9, a=[8000] * 10, b=[8000] * 10)] * 3)
        self.assertEqual([line.split(",")[0] for line in found.wrong], ["a"])


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
