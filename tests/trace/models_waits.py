"""What the summary says of an OpenMP program with one busy thread, and of an MPI job with one slow rank, recorded without -t. The programs measure
their own imbalance (openmp/openmp_imbalance.c, mpi/mpi_late.c)."""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests", "trace", "mpi"))
import lib  # noqa: E402
import mpilib  # noqa: E402
import openmp  # noqa: E402

NEAR = 0.2  # of a duration: threads that sleep wake up late on a busy machine, between our clock reading and that of the program


def line_of(path, text):
    with open(path) as file:
        return next(number for number, line in enumerate(file, 1) if text in line)


class Summary:
    def tacho(self, *arguments):
        done = subprocess.run([lib.TACHO, *arguments], capture_output=True, text=True, timeout=lib.PATIENCE, cwd=self.folder, env={**os.environ, "COLUMNS": "10000"})
        self.assertEqual((done.returncode, done.stderr), (0, ""), arguments)
        return done.stdout

    def rule(self, name, target):
        """Its first row. A busy machine may take long for the start, so that the finding is a small part of the capture."""
        rows = json.loads(self.tacho("analyze", "-q", "-f", "json", "-r", name + ":threshold=0", target))
        self.assertTrue(rows, f"{name} found nothing")
        return rows[0]

    def near(self, found, told):
        self.assertLess(abs(found - told), NEAR * told, f"{found} of {told}")


class Imbalance(Summary, openmp.Programs):
    compiler = openmp.Gcc.compiler

    def test_the_region_and_its_cost_are_in_the_summary(self):
        report = self.profile(self.build("openmp_imbalance"))  # no -t
        told = [list(map(int, line.split())) for line in self.output.stdout.splitlines()]
        gain = sum(max(threads) - sum(threads) / len(threads) for threads in told)
        row = self.rule("openmp_imbalance", report.path)
        self.near(row["Impact (ns)"], gain)
        self.near(row["Max/Mean"], sum(map(max, told)) / sum(sum(threads) / len(threads) for threads in told))
        self.assertEqual((row["Instances"], row["Threads"], row["Busiest Thread"], row["Times Busiest"]), (len(told), 3, 2, len(told)))
        self.assertEqual(row["Function"], "work")
        file, line = row["Place"].split(":")
        self.assertEqual(file, "openmp_imbalance.c")
        pragma = line_of(os.path.join(openmp.SOURCES, file), "num_threads(THREADS)")
        self.assertIn(int(line), (pragma, pragma - 2))  # GCC names the line of its call, or that where the function begins
        self.assertRegex(self.output.stderr, r"OpenMP region in work \(openmp_imbalance\.c:\d+\): its 3 threads wait for the busiest one, which works [\d.]+ "
                                             r"times the mean, thread 2 in 4 of 4 instances; with equal work it takes [\d.]+ ms less of [\d.]+ s")
        self.assertIn("analyze -r openmp_imbalance", self.output.stderr)

    def test_by_default_short_waits_for_locks_are_counted(self):
        table = openmp.table
        report = self.profile(self.build("openmp_imbalance"), "locks")
        waits = self.count(report, "MUTEX_WAIT")
        self.assertEqual(waits + report.count("openmp", "below-threshold"), 202)
        self.assertEqual(self.count(report, "CRITICAL_SECTION"), 0)
        longest = report.value(f"SELECT max(end - start) FROM {table('MUTEX_WAIT')}")
        self.assertGreater(longest, 10000000)  # of the 20 ms that the other thread sleeps, which may begin before
        self.assertGreaterEqual(report.value(f"SELECT min(end - start) FROM {table('MUTEX_WAIT')}"), 1000)
        self.assertEqual(self.count(self.record(self.build("openmp_imbalance"), "locks"), "MUTEX_WAIT"), 202)

    def test_the_settings_of_the_user_stay(self):
        """A tool that the user has chosen keeps its place, and OMP_TOOL=disabled its meaning."""
        program = self.build("openmp_imbalance")
        self.profile("sh", "-c", f'echo "$OMP_TOOL $OMP_TOOL_LIBRARIES"; {program} locks; env | grep -c ^OMP_TOOL', env={
            **os.environ, "OMP_TOOL": "disabled", "OMP_TOOL_LIBRARIES": "/nowhere/mine.so"})
        self.assertEqual(self.output.stdout.split("\n")[:2], ["disabled /nowhere/mine.so", "2"])


class SlowRank(Summary, mpilib.Case):
    every_mpi = False

    def check(self, target, summary, told):
        """The waits of rank 0 are from its call to that of rank 1. Rank 1 may wait for rank 0 at the end."""
        calls = {rank: [at for of, at in told if of == rank] for rank in (0, 1)}
        waited = sum(max(0, late - early) for early, late in zip(calls[0], calls[1]))
        row = self.rule("mpi_waits", target)
        self.near(row["Total Time (ns)"], waited)
        self.near(row["Impact (ns)"], (waited - max(0, calls[0][-1] - calls[1][-1])) / 2)
        line = line_of(os.path.join(mpilib.SOURCES, "mpi_late.c"), "MPI_Recv")
        self.assertEqual((row["Rank"], str(row["Waiting"]), row["Name"], row["Where"]),
                         (1, "0", "MPI_Recv", f"main (mpi_late.c:{line})"))
        self.assertLessEqual(row["Count"], len(calls[0]) - 1)  # rank 0 may be put off for as long as rank 1 works
        self.assertRegex(summary, rf"MPI rank 1 is waited for: rank 0 waited [\d.]+ m?s \([\d.]+ % of the time\), most of it in MPI_Recv, called by main "
                                  rf"\(mpi_late\.c:{line}\); with its work spread over the 2 ranks the job takes about [\d.]+ m?s less")

    def told(self):
        return [tuple(map(int, pair)) for pair in re.findall(r"^([01]) (\d+)$", self.output.stdout, re.M)]

    def test_in_the_report_of_a_job(self):
        for mpi in self.each():
            report = self.profile_job(mpi, 2, self.build(mpi, "mpi_late.c", "-g"), options=())
            self.check(report.path, self.output.stderr, self.told())

    def test_in_the_reports_of_all_ranks_and_of_one(self):
        for mpi in self.each():
            self.output = self.mpirun(mpi, 2, *self.command(output="run/"), self.build(mpi, "mpi_late.c", "-g"))
            self.assertEqual(self.output.returncode, 0, self.output.stderr)
            self.check(self.path("run"), self.tacho("summary", self.path("run")), self.told())
            line = line_of(os.path.join(mpilib.SOURCES, "mpi_late.c"), "MPI_Recv")
            self.assertRegex(self.tacho("summary", self.path("run/rank0000.tacho")),
                             rf"MPI rank 0 spent [\d.]+ m?s \([\d.]+ % of the time\) in MPI_Recv, called by main \(mpi_late\.c:{line}\), on messages from rank 1; "
                             r"the reports of all ranks say who was late")
            self.assertNotIn("MPI rank", self.tacho("summary", self.path("run/rank0001.tacho")))  # it waits for nobody


if __name__ == "__main__":
    lib.main()
