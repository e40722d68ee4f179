"""What the installed ncu prints goes into a report and comes out again: the raw page in base units equal in every column, the scaled
one and the details page to ncu's two decimals. The program is mix, of which ncu replays a few kernels."""
import csv
import os
import shutil

import gpulib
import tools

LIMIT_SECONDS = 300
ALONE = True


def table(text):
    """Rows of the CSV in what ncu printed."""
    lines = text.splitlines(keepends=True)
    first = next(number for number, line in enumerate(lines) if line.startswith('"'))
    return list(csv.reader(line for line in lines[first:] if not line.startswith("==")))


def number(text):
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


def size(unit):
    """How many base units a printed one is: ncu prints two decimals of it."""
    times = {"us": 1e3, "ms": 1e6, "s": 1e9}
    rates = {"/ns": 1e9, "/us": 1e6, "/ms": 1e3}  # sector/ns: base units are per second
    prefixes = {"K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
    return times.get(unit) or rates.get(unit[-3:]) or (prefixes.get(unit[:1], 1) if unit[1:].startswith(("byte", "hz")) else 1)


class NcuFiles(gpulib.Case):
    def setUp(self):
        super().setUp()
        self.ncu = os.environ.get("NCU") or shutil.which("ncu")
        if not self.ncu:
            self.skipTest("no ncu")
        done = tools.run([self.ncu, "--set", "full", "-c", "4", "-f", "-o", self.path("k"), tools.compiled("mix")], 200)
        if "ERR_NVGPUCTRPERM" in done.stdout + done.stderr:
            self.skipTest("counters are not permitted here")
        self.assertEqual(done.status, 0, str(done))

    def printed(self, name, *options):
        """What ncu prints of its report, in a file, and as rows."""
        done = tools.run([self.ncu, "--import", self.path("k.ncu-rep"), "--csv", *options], 60)
        self.assertEqual(done.status, 0, str(done))
        with open(self.path(name), "w") as out:
            out.write(done.stdout)
        return table(done.stdout)

    def ours(self, name, *options):
        done = tools.run([gpulib.TACHO, "ncu", "--import", self.path(name), "--csv", *options], 60)
        self.assertEqual(done.status, 0, str(done))
        return list(csv.reader(done.stdout.splitlines(keepends=True)))

    def test_raw_page_comes_out_as_it_went_in(self):
        theirs = self.printed("base.csv", "--page", "raw", "--print-units", "base")
        ours = self.ours("base.csv", "--page", "raw", "--print-units", "base")
        self.figure("columns", len(theirs[0]))
        self.assertEqual(ours[0], theirs[0], "names")
        self.assertEqual(ours[1], theirs[1], "units")
        for mine, wanted in zip(ours[2:], theirs[2:]):
            for name, cell, other in zip(theirs[0], mine, wanted):
                same = cell == other or (number(cell) is not None and number(cell) == number(other))
                self.assertTrue(same, f"{name}: ncu {other!r}, tacho {cell!r}")
        self.assertEqual(len(ours), len(theirs))

    def test_the_report_itself_is_read_through_ncu(self):
        theirs = self.printed("base.csv", "--page", "raw", "--print-units", "base")
        self.assertEqual(self.ours("k.ncu-rep", "--page", "raw", "--print-units", "base")[0], theirs[0])

    def test_scaled_units_and_details_are_the_same_numbers(self):
        base = self.printed("base.csv", "--page", "raw", "--print-units", "base")
        self.printed("auto.csv", "--page", "raw")
        auto = self.ours("auto.csv", "--page", "raw", "--print-units", "base")
        self.assertEqual(auto[1], base[1], "base units of scaled ones")
        scaled = self.printed("auto.csv", "--page", "raw")
        differ = {name: (unit, printed) for name, unit, printed in zip(base[0], self.ours("auto.csv", "--page", "raw")[1], scaled[1]) if unit != printed}
        self.figure("columns whose scaled unit differs from ncu's", len(differ))
        for row, wanted in zip(auto[2:], base[2:]):
            for name, unit, cell, other in list(zip(base[0], scaled[1], row, wanted))[11:]:
                if cell != other and number(cell) is not None and number(other) is not None:  # equal texts may be nan
                    self.assertAlmostEqual(number(cell), number(other), delta=0.0051 * size(unit), msg=f"{name} in {unit}")


if __name__ == "__main__":
    gpulib.main()
