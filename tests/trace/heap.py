"""The heap of programs: what a program says itself that it has allocated."""
import json
import os
import subprocess
import sys

import lib


PYTHON = """
import sys
def build():
    return [str(i) + "x" * (i % 300) for i in range(60000)]
def big():
    return bytearray(20_000_000)
kept = build(), big()
print(sum(map(sys.getsizeof, kept[0])) + sys.getsizeof(kept[0]))
"""


class Heap(lib.Case):
    samples = False

    def heap(self, *program, options=("--heap=all",)):
        """The rows of heap_sum, and the program's own account."""
        self.report_of_run = self.profile(*program, options=options)
        names = ("allocations", "bytes", "peak", "peak_blocks", "never_freed", "never_freed_blocks")
        return dict(zip(names, map(int, self.output.stdout.split()[:6])))

    def rows(self, report="heap_sum"):
        done = subprocess.run([lib.TACHO, "stats", "-q", "-f", "json", "-r", report, self.path("report.tacho")],
                              check=True, stdout=subprocess.PIPE, text=True)
        return [{column.removesuffix(" (B)"): value for column, value in row.items()} for row in json.loads(done.stdout)]

    def sums(self, rows):
        columns = {"allocations": "Allocations", "bytes": "Allocated", "peak": "At Peak", "peak_blocks": "Blocks At Peak",
                   "never_freed": "Never Freed", "never_freed_blocks": "Blocks Never Freed"}
        return {name: sum(row[column] for row in rows) for name, column in columns.items()}

    def row(self, rows, where):
        found = [row for row in rows if row["Where"].startswith(where)]
        self.assertEqual(len(found), 1, rows)
        return found[0]

    def test_every_allocation(self):
        account = self.heap(lib.program("heap"))
        self.assertGreater(account["allocations"], 100)
        rows = self.rows("heap_sum:allocated")
        rows.remove(self.row(rows, "peak"))  # pthread_create() allocates for the thread
        self.assertEqual(self.sums(rows), account)
        self.assertEqual(self.report_of_run.causes("heap"), {})

    def test_functions_by_what_they_do(self):
        self.heap(lib.program("heap"))
        rows = self.rows()
        self.assertEqual([row["At Peak"] for row in rows][:2], [5 << 20, 7000])
        self.assertEqual(self.row(rows, "build_table (heap.c:")["Blocks At Peak"], 5)
        rows = self.rows("heap_sum:leaks")
        self.assertEqual(self.row(rows, "forget (heap.c:")["Never Freed"], 7000)
        rows = self.rows("heap_sum:temporary")
        self.assertEqual(self.row(rows, "temporary (heap.c:")["Temporary"], 100)

    def test_lines(self):
        """Each of the twelve ways to allocate is a line of its own."""
        self.heap(lib.program("heap"))
        with open(os.path.join(lib.SOURCE, "tests/trace/heap.c")) as source:
            lines = {number: int(text.rsplit(",", 1)[1].split(")")[0]) for number, text in enumerate(source, 1)
                     if text.startswith("    give(take(")}
        self.assertGreater(len(lines), 9)
        rows = {row["Where"]: row["Allocated"] for row in self.rows("heap_sum:allocated:lines")}
        for number, size in lines.items():
            self.assertEqual(rows[f"every_way (heap.c:{number})"], size)

    def test_threads(self):
        self.heap(lib.program("heap"))
        rows = self.rows("heap_sum:allocated:threads")
        self.assertEqual(len(rows), 2)
        self.assertEqual(rows[0]["Allocated"], 5 << 20)  # the first thread frees them
        self.assertEqual(rows[0]["Never Freed"], 0)

    def test_growth(self):
        account = self.heap(lib.program("heap"))
        rows = self.rows("heap_growth:parts=7")
        self.assertEqual(len(rows), 7)
        self.assertGreaterEqual(sum(row["Allocated"] for row in rows), account["bytes"])
        self.assertGreaterEqual(max(row["Highest"] for row in rows), account["peak"])
        self.assertEqual(rows[-1]["Alive"], 0)  # the process has ended
        self.assertEqual(sum(row["Allocations"] for row in rows), sum(row["Frees"] for row in rows))

    def test_flame_graph_and_summary(self):
        account = self.heap(lib.program("heap"))
        folded = subprocess.run([lib.TACHO, "export", "-t", "folded", "--samples=heap", "-o", "-", self.path("report.tacho")],
                                check=True, stdout=subprocess.PIPE, text=True).stdout
        weights = {line.rsplit(" ", 1)[0].rsplit(";", 1)[1]: int(line.rsplit(" ", 1)[1]) for line in folded.splitlines()}
        self.assertEqual((weights["build_table"], weights["forget"]), (5 << 20, account["never_freed"]))
        lines = [line for line in self.output.stderr.splitlines() if line.startswith("  heap: ")]
        self.assertEqual(len(lines), 1, self.output.stderr)
        self.assertRegex(lines[0], r"^  heap: 5\.25 MB at the peak, 99\.9 % of it by build_table \(heap\.c:\d+\); "
                                   r"7\.\d+ kB never freed, 9\d\.\d % of it by forget \(heap\.c:\d+\)$")

    def test_python_lines(self):
        """A block of its own, and small objects, whose arenas have room for little more than these."""
        path = self.path("own.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(PYTHON)
        self.profile(sys.executable, path, options=("--heap=all",))
        size = int(self.output.stdout)
        rows = self.rows("heap_sum:lines")
        self.assertEqual(self.row(rows, "own.py:6 big")["At Peak"] // 1000, 20_000)
        built = self.row(rows, "own.py:4 build")["At Peak"]
        self.assertGreater(built, 0.95 * size)
        self.assertLess(built, 1.3 * size)

    def test_samples(self):
        """Distances between samples depend on the program alone. A fifth of 200,000 blocks at most is sampled."""
        account = self.heap(lib.program("heap"), "many", options=("--heap=4096",))
        sums = self.sums(self.rows("heap_sum:allocated"))
        sampled = self.report_of_run.value("SELECT count(*) FROM TACHO_HEAP_ALLOCATION")
        self.assertLess(sampled, account["allocations"] / 5)
        for name in ("bytes", "peak", "never_freed"):
            self.assertLess(abs(sums[name] / account[name] - 1), 0.05, (name, sums, account))
        self.assertEqual(self.report_of_run.causes("heap"), {})


if __name__ == "__main__":
    lib.main()
