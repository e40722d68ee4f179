"""mpi_comm_matrix against the ledgers of the programs, and against what Open MPI counted itself (its monitoring component), cell by cell."""
import collections
import copy
import csv
import glob
import io
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests", "trace", "mpi"))
import mpilib  # noqa: E402: it finds the lib of tests/trace
import lib  # noqa: E402


class Matrix(mpilib.Case):
    def matrix(self, reports):
        """(rank, peer): (messages, bytes), of those that have a peer in this world."""
        found = {}
        for report in reports:
            done = subprocess.run([lib.TACHO, "stats", "-q", "-r", "mpi_comm_matrix", "-f", "csv", report.path], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            for row in csv.DictReader(io.StringIO(done.stdout.strip())):
                if row["PeerRank"]:
                    pair = int(row["Rank"]), int(row["PeerRank"])
                    self.assertNotIn(pair, found)
                    found[pair] = int(row["Messages"]), int(row["Total (B)"])
        return found

    def monitored(self):
        """The same, as Open MPI counted it: messages of the program (E), not those inside collectives (I)."""
        found = {}
        for path in glob.glob(self.path("monitor.*.prof")):
            with open(path) as file:
                for rank, peer, size, messages in re.findall(r"^E\t(\d+)\t(\d+)\t(\d+) bytes\t(\d+) msgs", file.read(), flags=re.M):
                    if int(messages):
                        found[int(rank), int(peer)] = int(messages), int(size)
            os.unlink(path)
        self.assertTrue(found, "Open MPI wrote no counts")
        return found

    def compare(self, mpi, source, *arguments, each_rank=False):
        """With monitoring; as one report, or one for each rank."""
        monitoring = ["--mca", "pml_monitoring_enable", "2", "--mca", "pml_monitoring_enable_output", "3", "--mca", "pml_monitoring_filename", self.path("monitor")]
        mpi = copy.copy(mpi)
        mpi.run = mpi.run + monitoring
        command = [self.build(mpi, source), *arguments]
        reports = self.profile_ranks(mpi, 4, *command) if each_rank else [self.profile_job(mpi, 4, *command)]
        self.assertEqual(self.matrix(reports), self.monitored())

    def open_mpi(self):
        """Those that have the component."""
        for mpi in self.each():
            if mpi.name.startswith("openmpi"):
                info = subprocess.run([os.path.join(os.path.dirname(mpi.run[0]), "ompi_info")], capture_output=True, text=True)
                if "MCA pml: monitoring" in info.stdout:
                    yield mpi

    def test_as_open_mpi_counts(self):
        """Persistent requests are left out, since Open MPI's component does not count what they send, and so are functions inside of which it sends
        messages that it counts as the program's."""
        seen = 0
        for mpi in self.open_mpi():
            with self.subTest(mpi=mpi.name):
                seen += 1
                self.compare(mpi, "mpi_messages.c", "not-persistent")
                self.compare(mpi, "mpi_groups.c", "quiet")
        if not seen:
            self.skipTest("no Open MPI with the monitoring component")

    def test_as_open_mpi_counts_with_a_report_of_each_rank(self):
        for mpi in self.open_mpi():
            with self.subTest(mpi=mpi.name):
                self.compare(mpi, "mpi_messages.c", "not-persistent", each_rank=True)

    def test_as_the_ledger_counts(self):
        """Persistent requests too."""
        for mpi in self.each():
            with self.subTest(mpi=mpi.name):
                report = self.profile_job(mpi, 4, self.build(mpi, "mpi_messages.c"))
                wanted = collections.Counter(), collections.Counter()
                for rank, calls, _ in self.ledgers().values():
                    for call, count in calls.items():
                        if call.peer is None or "end" not in call.function.lower() or "probe" in call.function:
                            continue
                        count *= 3 if call.function.endswith("_init") else 1
                        wanted[0][rank, call.peer] += count
                        wanted[1][rank, call.peer] += count * call.bytes
                self.assertEqual(self.matrix([report]), {pair: (wanted[0][pair], wanted[1][pair]) for pair in wanted[0]})


lib.main()
