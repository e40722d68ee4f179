"""tacho dmon and pmon beside nvidia-smi's, in the same seconds: headings to the byte, values to a reading, power to 3 %."""
import re
import shutil
import statistics
import subprocess
import time

import gpulib
import tools

LIMIT_SECONDS = 240
ALONE = True
LETTERS = "pucvmet"

# What may lie between two readings of the same second, by column; None: it is not compared by value.
ROOM = {"pwr": None, "gtemp": 1, "mtemp": 1, "mclk": 0, "fb": 2, "bar1": 1, "ccpm": 0, "sbecc": 0, "dbecc": 0, "pci": 0}


def both(case, *arguments, command="dmon", seconds=60):
    """Lines of nvidia-smi and of tacho, started together."""
    began = time.monotonic()
    theirs, ours = tools.start(["nvidia-smi", command, *arguments]), tools.start([gpulib.TACHO, command, *arguments])
    done = [tools.finish(process, began, seconds) for process in (theirs, ours)]
    case.assertEqual(done[0].status, 0, str(done[0]))
    case.assertEqual(done[1].status, 0, str(done[1]))
    case.assertEqual(done[1].stderr, "")
    return [which.stdout.splitlines() for which in done]


def rows(lines):
    """[{column: text}]."""
    names = lines[0].replace("#", " ").split()
    return [dict(zip(names, line.split())) for line in lines if not line.startswith("#")]


def shape(line):
    """A line with what varies cut out: where its columns end."""
    return [found.end() for found in re.finditer(r"\S+", line)]


class Dmon(gpulib.Case):
    def setUp(self):
        super().setUp()
        if not shutil.which("nvidia-smi"):
            self.skipTest("no nvidia-smi")

    def load(self):
        """A program that keeps the GPU busy for a while; needs PyTorch."""
        self.need_torch()
        code = "import time, torch; a = torch.randn(8192, 8192, device='cuda'); end = time.time() + 90\nwhile time.time() < end: (a @ a); torch.cuda.synchronize()"
        running = tools.start([tools.PYTHON, "-c", code])
        self.addCleanup(tools.end_group, running)
        time.sleep(15)
        return running

    def settle(self):
        """Waits until the power no longer falls: after other work it does so for seconds, and the two readers do not ask at the same moment."""
        power = [-1.0]
        for _ in range(30):
            power.append(float(subprocess.run(["nvidia-smi", "--query-gpu=power.draw", "--format=csv,noheader,nounits", "-i", "0"], capture_output=True, text=True).stdout))
            if len(power) > 4 and max(power[-4:]) - min(power[-4:]) <= 0.01 * power[-1]:
                return
            time.sleep(1)

    def compare(self, theirs, ours):
        self.assertEqual(theirs[:2], ours[:2], "headings")
        self.assertEqual(len(theirs), len(ours), "lines")
        self.assertEqual([shape(line) for line in theirs[2:]], [shape(line) for line in ours[2:]], "where columns end")

    def values(self, theirs, ours):
        theirs, ours = rows(theirs), rows(ours)
        for column in theirs[0]:
            self.assertEqual({row[column] == "-" for row in theirs}, {row[column] == "-" for row in ours}, f"{column} is available")
            if column not in ROOM or theirs[0][column] == "-":
                continue
            here, there = (statistics.median(float(row[column]) for row in side) for side in (ours, theirs))
            room = 0.03 * there + 1 if ROOM[column] is None else ROOM[column]
            self.figure(column, f"nvidia-smi {there:g}, tacho {here:g}")
            self.assertLessEqual(abs(here - there), room, column)

    def test_idle(self):
        self.settle()
        theirs, ours = both(self, "-c", "5", "-s", LETTERS)
        self.compare(theirs, ours)
        self.values(theirs, ours)

    def test_busy(self):
        self.load()
        theirs, ours = both(self, "-c", "10", "-s", LETTERS)
        self.assertEqual(theirs[:2], ours[:2], "headings")
        self.values(theirs, ours)
        for column, room in (("sm", 5), ("pclk", 60)):
            here, there = (statistics.median(float(row[column]) for row in rows(side)) for side in (ours, theirs))
            self.figure(column, f"nvidia-smi {there:g}, tacho {here:g}")
            self.assertLessEqual(abs(here - there), room, column)

    def test_each_letter(self):
        for letter in LETTERS:
            with self.subTest(letter):
                theirs, ours = both(self, "-c", "1", "-s", letter)
                self.assertEqual(theirs[:2], ours[:2])

    def test_times(self):
        for times in ("D", "T", "DT", "TD"):
            with self.subTest(times):
                theirs, ours = both(self, "-c", "1", "-s", "p", "-o", times)
                self.compare(theirs, ours)

    def test_csv(self):
        for form in ("csv", "csv,nounit", "csv,noheader", "csv,nounit,noheader"):
            with self.subTest(form):
                theirs, ours = both(self, "-c", "1", "-s", "c", "-o", "T", "--format", form)
                self.assertEqual([re.sub(r"\d+", "0", line) for line in theirs], [re.sub(r"\d+", "0", line) for line in ours])

    def test_gpm(self):
        metrics = "1,2,3,4,5,6,7,9,10,11,12,13,20,21,60,61"
        self.load()
        theirs, ours = both(self, "-c", "6", "-s", "p", "--gpm-metrics", metrics)
        self.assertEqual(theirs[:2], ours[:2], "headings")
        for column in ("gract", "smutil", "smocc", "mmaact", "dram"):
            here, there = ([float(row[column]) for row in rows(side) if row[column] != "-"] for side in (ours, theirs))
            self.assertTrue(here and there, f"{column}: nvidia-smi has {len(there)} values, tacho {len(here)}")
            self.figure(column, f"nvidia-smi {statistics.mean(there):.1f}, tacho {statistics.mean(here):.1f}")
            self.assertLessEqual(abs(statistics.mean(here) - statistics.mean(there)), 2, column)

    def test_a_repeated_heading(self):
        theirs, ours = both(self, "-c", "60", "-s", "p", seconds=100)
        self.assertEqual(*([at for at, line in enumerate(side) if line.startswith("# gpu")] for side in (theirs, ours)))

    def test_statuses(self):
        for words in (["-i", "7", "-c", "1"], ["-s", "x", "-c", "1"]):
            with self.subTest(words):
                theirs, ours = (tools.run([*program, "dmon", *words], 30).status for program in (["nvidia-smi"], [gpulib.TACHO]))
                self.assertEqual(theirs, ours)


class Pmon(Dmon):
    test_idle = test_busy = test_each_letter = test_times = test_csv = test_gpm = test_a_repeated_heading = test_statuses = None

    def test_a_process(self):
        running = self.load()
        for letters in ("u", "m", "um"):
            with self.subTest(letters):
                theirs, ours = both(self, "-c", "3", "-s", letters, command="pmon")
                self.assertEqual(theirs[:2], ours[:2], "headings")
                self.assertEqual(shape(theirs[-1]), shape(ours[-1]), "where columns end")
                here, there = rows(ours)[-1], rows(theirs)[-1]
                self.figure(f"-s {letters}", f"nvidia-smi {there}, tacho {here}")
                self.assertEqual({name: there[name] for name in ("gpu", "pid", "type", "command")}, {name: here[name] for name in ("gpu", "pid", "type", "command")})
                if "fb" in here:
                    self.assertEqual((there["fb"], there["ccpm"]), (here["fb"], here["ccpm"]))
        self.assertIsNone(running.poll(), "the program still ran")


if __name__ == "__main__":
    gpulib.main()
