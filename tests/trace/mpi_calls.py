"""Programs with known calls of MPI, under every MPI that is installed: the report has each call of their ledgers once, with its bytes,
peer, tag, root and members, and no other; from C, three bindings of Fortran, and mpi4py.
"""
import collections
import csv
import io
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests", "trace", "mpi"))
import mpilib  # noqa: E402: it finds the lib of tests/trace
import lib  # noqa: E402

RANKS = 4
BOTH_WAYS = 28  # bytes that mpi_windows.c sends by MPI_Isendrecv()
MESSAGES = """SELECT n.value, isReceived, rank, peer, tag, size FROM TACHO_MPI_MESSAGE m JOIN StringIds n ON n.id = m.textId
              WHERE peer IS NOT NULL"""
# What mpi4py calls for itself, and that depends on its version.
OF_MPI4PY = {"MPI_Init_thread", "MPI_Initialized", "MPI_Finalized", "MPI_Comm_rank", "MPI_Comm_size", "MPI_Comm_test_inter", "MPI_Comm_set_errhandler",
             "MPI_Get_version", "MPI_Get_library_version", "MPI_Query_thread", "MPI_Comm_get_attr", "MPI_Type_size", "MPI_Type_get_extent",
             "MPI_Comm_create_keyval", "MPI_Comm_set_attr", "MPI_Comm_free_keyval", "MPI_Errhandler_free", "MPI_Comm_get_errhandler"}


class Calls(mpilib.Case):
    every_mpi = True

    def compare(self, reports, others=()):
        """The ledgers of all processes with what their reports have, and the polls with the counts. others: functions that are called and not in
        the ledgers."""
        ledgers, found, polls = self.ledgers(), {}, 0
        for report in reports:
            found.update(mpilib.recorded(report))
            polls += report.count("mpi", "empty-poll")
            self.assertEqual(report.count("mpi", "lost"), 0)
        self.assertEqual(sorted(found), sorted(ledgers), "processes")
        for pid, (rank, calls, _) in ledgers.items():
            there = collections.Counter()
            for call, count in found[pid].items():
                if call.function not in others:  # mpi4py takes large counts where there are any
                    there[call._replace(function=call.function.removesuffix("_c")) if others else call] += count
            missing, more = calls - there, there - calls
            text = "".join(f"\n- {call} × {count}" for call, count in sorted(missing.items(), key=str))
            text += "".join(f"\n+ {call} × {count}" for call, count in sorted(more.items(), key=str))
            self.assertFalse(missing or more, f"rank {rank}: - is in the ledger only, + in the report only{text}")
        self.assertEqual(polls, sum(sum(polls.values()) for _, _, polls in ledgers.values()), "polls")
        self.compare_messages(reports)
        self.compare_reports(reports, found)

    def compare_messages(self, reports):
        """All that was sent in this world was received, by whom it was sent to, and with the same tag and size."""
        ends = collections.Counter(), collections.Counter()
        for report in reports:
            if report.has("TACHO_MPI_MESSAGE"):
                for function, received, rank, peer, tag, size in report.rows(MESSAGES):
                    if received and function.startswith("MPI_Isendrecv") and size is None:
                        size = BOTH_WAYS  # MPICH's status is that of another message: what arrived is not recorded
                    ends[received][(peer, rank, tag, size) if received else (rank, peer, tag, size)] += 1
        self.assertEqual(ends[0], ends[1], "messages sent, messages received")

    def compare_reports(self, reports, found):
        """mpi_event_sum, mpi_event_trace and mpi_msg_size_sum with the tables."""
        wanted, sizes, moved = collections.Counter(), collections.Counter(), collections.Counter()
        for calls in found.values():
            for call, count in calls.items():
                wanted[mpilib.TABLES[call.table], call.function] += count
                if call.bytes is not None:
                    sizes[call.function] += count
                    moved[call.function] += count * call.bytes
        summed, traced, counted, added = (collections.Counter() for _ in range(4))
        for report in reports:
            for row in self.table(report, "mpi_event_sum"):
                summed[row["Source"], row["Name"]] += int(row["Instances"])
            for row in self.table(report, "mpi_event_trace"):
                traced[row["Event"]] += 1
            for row in self.table(report, "mpi_msg_size_sum"):
                counted[row["Name"]] += int(row["Count"])
                added[row["Name"]] += float(row["Total (MB)"])
        self.assertEqual(summed, wanted)
        self.assertEqual(traced, sum((collections.Counter({name: count}) for (_, name), count in wanted.items()), collections.Counter()))
        self.assertEqual(counted, sizes)
        for name, total in added.items():  # printed with three digits of a megabyte
            self.assertLessEqual(abs(total - moved[name] / 1e6), 0.0005 * len(reports), name)

    def table(self, report, name):
        done = subprocess.run([lib.TACHO, "stats", "-q", "-r", name, "-f", "csv", report.path], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return list(csv.DictReader(io.StringIO(done.stdout.strip())))

    def job(self, mpi, *command, others=()):
        self.compare([self.profile_job(mpi, RANKS, *command)], others)

    def test_messages(self):
        for mpi in self.each():
            with self.subTest(mpi=mpi.name):
                self.job(mpi, self.build(mpi, "mpi_messages.c"))

    def test_a_report_of_each_rank(self):
        for mpi in self.each():
            with self.subTest(mpi=mpi.name):
                self.compare(self.profile_ranks(mpi, RANKS, self.build(mpi, "mpi_messages.c")))

    def test_collectives(self):
        for mpi in self.each():
            with self.subTest(mpi=mpi.name):
                self.job(mpi, self.build(mpi, "mpi_collectives.c"))

    def test_groups(self):
        for mpi in self.each():
            with self.subTest(mpi=mpi.name):
                self.job(mpi, self.build(mpi, "mpi_groups.c"), *(["spawn"] if "spawn" in mpi.can else []))

    def test_windows_and_files(self):
        for mpi in self.each():
            with self.subTest(mpi=mpi.name):
                self.job(mpi, self.build(mpi, "mpi_windows.c"), self.path("shared-file"), "sessions")
                os.unlink(self.path("shared-file"))

    def test_fortran(self):
        for mpi in self.each(fortran=True):
            with self.subTest(mpi=mpi.name):
                for binding in ([], ["-DUSE_MPI"], ["-DUSE_F08"]):
                    with self.subTest(binding=binding):
                        self.job(mpi, self.build(mpi, "mpi_core.F90", *binding))

    def test_python(self):
        for mpi in self.each(python=True):
            with self.subTest(mpi=mpi.name):
                self.job(mpi, *mpi.python, os.path.join(mpilib.SOURCES, "mpi_core.py"), others=OF_MPI4PY)


lib.main()
