"""Programs that a profiler of MPI does not expect: no MPI, a static one, two of them, one that is never set up or of which nothing is known,
handles that are freed early, a job that is aborted, children. The program does what it does without Tacho, the events add up, and a sentence says
what was not recorded.
"""
import collections
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests", "trace", "mpi"))
import mpilib  # noqa: E402: it finds the lib of tests/trace
import lib  # noqa: E402

CC = os.environ["CC"].split()
# An MPI that nobody knows: it has none of the names that tell Open MPI, MPICH and the standard ABI apart.
UNKNOWN = """
#include <stdio.h>
int MPI_Init(int *argc, char ***argv) { puts("init"); return 0; }
int MPI_Comm_rank(long long comm, int *rank) { *rank = 0; return 0; }
int MPI_Send(const void *buffer, int count, long long type, int peer, int tag, long long comm)
{ printf("send %d %lld %d %d %lld\\n", count, type, peer, tag, comm); return 0; }
int MPI_Finalize(void) { puts("finalize"); return 0; }
"""
USES_IT = """
int MPI_Init(int *, char ***); int MPI_Comm_rank(long long, int *); int MPI_Finalize(void);
int MPI_Send(const void *, int, long long, int, int, long long);
int main(void) { int rank; MPI_Init(0, 0); MPI_Comm_rank(-1, &rank); MPI_Send("", 1, -2, 0, 7, -1); return MPI_Finalize(); }
"""

# An MPI with the standard ABI whose local functions change errno, as functions may.
ERRNO = """
#include <errno.h>
#include <stdio.h>
#define LOCAL(name, parameters, ...) int PMPI_##name parameters { errno = 77; __VA_ARGS__; return 0; }
LOCAL(Abi_get_version, (int *major, int *minor), *major = 1; *minor = 0)
LOCAL(Initialized, (int *flag), *flag = 1)
LOCAL(Finalized, (int *flag), *flag = 0)
LOCAL(Comm_size, (long comm, int *size), *size = 1)
LOCAL(Comm_rank, (long comm, int *rank), *rank = 0)
LOCAL(Comm_test_inter, (long comm, int *flag), *flag = 0)
LOCAL(Comm_group, (long comm, long *group), *group = 9)
LOCAL(Group_free, (long *group), *group = 0)
LOCAL(Group_translate_ranks, (long from, int count, int *ranks, long to, int *answer), *answer = *ranks)
LOCAL(Type_size_x, (long type, long long *size), *size = 8)
LOCAL(Get_elements_x, (int *status, long type, long long *count), *count = 48)
LOCAL(Test_cancelled, (int *status, int *flag), *flag = 0)
LOCAL(Topo_test, (long comm, int *kind), *kind = 211)
LOCAL(Cartdim_get, (long comm, int *count), *count = 1)
#define SAY(name) printf(#name " %d\\n", errno); return 0
int MPI_Init(int *argc, char ***argv) { SAY(init); }
int MPI_Send(const void *buffer, int count, long type, int peer, int tag, long comm) { SAY(send); }
int MPI_Recv(void *buffer, int count, long type, int peer, int tag, long comm, int *status) { status[0] = 0; status[1] = 3; SAY(recv); }
int MPI_Neighbor_alltoall(const void *sent, int count, long type, void *got, int other_count, long other_type, long comm) { SAY(neighbor); }
int MPI_Finalize(void) { SAY(finalize); }
"""
KEEPS_ERRNO = """
#include <errno.h>
#include <stdio.h>
int MPI_Init(int *, char ***); int MPI_Finalize(void); int MPI_Send(const void *, int, long, int, int, long);
int MPI_Recv(void *, int, long, int, int, long, int *); int MPI_Neighbor_alltoall(const void *, int, long, void *, int, long, long);
#define TRY(call) errno = 5; call; printf("%d\\n", errno)
int main(void)
{
    int status[8], buffer[99];
    TRY(MPI_Init(0, 0)); TRY(MPI_Send(buffer, 2, 0x999, 0, 7, 0x101)); TRY(MPI_Recv(buffer, 9, 0x999, 0, 3, 0x101, status));
    TRY(MPI_Neighbor_alltoall(buffer, 1, 0x999, buffer + 8, 1, 0x999, 0x101)); TRY(MPI_Finalize());
    return 0;
}
"""


class Odd(mpilib.Case):
    def compare(self, mpi, *arguments, ranks=2, program=None, options=()):
        """A job bare, and with a report of all its ranks: same status and output. The report."""
        command = [program or self.build(mpi, "mpi_odd.c", "-ldl"), *arguments]
        bare = self.mpirun(mpi, ranks, *command)
        self.forget()
        done = self.mpirun(mpi, ranks, *command, before=self.command(options=["-t", "mpi", *options]))
        self.assertEqual((done.returncode, done.stdout), (bare.returncode, bare.stdout), done.stderr)
        self.output = done
        report = self.report()
        self.assertEqual(report.count("mpi", "lost"), 0)
        rows = sum(report.value(f"SELECT count(*) FROM {table}") for table in mpilib.TABLES.values() if report.has(table))
        self.assertEqual(report.count("mpi", "recorded"), rows, "recorded events are rows")
        return report

    def calls_are_those_of_the_ledger(self, report):
        found = mpilib.recorded(report)
        for pid, (rank, calls, _) in self.ledgers().items():
            self.assertEqual(found[pid], calls, f"rank {rank}")

    def says(self, *patterns):
        for pattern in patterns:
            self.assertRegex(self.output.stderr, pattern)

    def test_no_mpi(self):
        report = self.profile("true", options=["-t", "mpi"])
        self.assertEqual(report.produced("mpi"), 0)
        self.says("No call to MPI was recorded")

    def test_never_begun(self):
        for mpi in self.each():
            with self.subTest(mpi=mpi.name):
                report = self.compare(mpi, "never", ranks=1)  # a launcher may end the second when the first has failed, before it prints
                self.assertFalse(report.has("MPI_RANKS"))

    def test_freed_early(self):
        for mpi in self.each():
            with self.subTest(mpi=mpi.name):
                self.calls_are_those_of_the_ledger(self.compare(mpi, "early"))

    def test_another_mpi_is_named(self):
        """What the library is like counts, not --mpi-impl: handles have another width in the other one."""
        for mpi in self.each():
            right, wrong = ("openmpi", "mpich") if mpi.name.startswith("openmpi") else ("abi" if mpi.name.endswith("abi") else "mpich", "openmpi")
            with self.subTest(mpi=mpi.name):
                self.calls_are_those_of_the_ledger(self.compare(mpi, "early", options=["--mpi-impl=" + wrong]))
                self.says(r"its MPI library is (Open MPI|MPICH|MPI ABI), so that --mpi-impl, which names (Open MPI|MPICH), does not count\.")
                self.calls_are_those_of_the_ledger(self.compare(mpi, "early", options=["--mpi-impl=" + right]))
                self.assertNotIn("--mpi-impl", self.output.stderr)

    def test_children(self):
        for mpi in self.each():
            with self.subTest(mpi=mpi.name):
                self.calls_are_those_of_the_ledger(self.compare(mpi, "fork"))

    def test_abort_inside_a_collective(self):
        for mpi in self.each():
            with self.subTest(mpi=mpi.name):
                report = self.compare(mpi, "abort")
                found = mpilib.recorded(report)
                for pid, (rank, calls, _) in self.ledgers().items():
                    self.assertEqual(calls - found[pid], {}, f"rank {rank}: calls before the abort")

    def test_abort_outside_of_a_capture(self):
        for mpi in self.each():
            with self.subTest(mpi=mpi.name):
                report = self.compare(mpi, "unseen", options=["-c", "mpi", "--capture-range-end=repeat"])
                functions = {call.function for calls in mpilib.recorded(report).values() for call in calls}
                self.assertIn("MPI_Sendrecv", functions)
                self.assertNotIn("MPI_Abort", functions)

    def test_each_of_many_sends_ends(self):
        for mpi in self.each():
            with self.subTest(mpi=mpi.name):
                report = self.compare(mpi, "eager")
                self.calls_are_those_of_the_ledger(report)
                self.assertEqual(report.rows("SELECT count(*), count(requestEnd) FROM MPI_P2P_EVENTS"), [(24, 24)])

    def test_more_requests_than_it_can_follow(self):
        for mpi in self.each():
            with self.subTest(mpi=mpi.name):
                report = self.compare(mpi, "many", ranks=1)
                total, ended, sized = report.rows("SELECT count(*), count(requestEnd), count(size) FROM MPI_P2P_EVENTS WHERE textId = "
                                                  "(SELECT id FROM StringIds WHERE value = 'MPI_Irecv')")[0]
                lost = report.count("mpi-requests", "lost", "too-many-requests")
                self.assertEqual(total, 20000)
                self.assertGreaterEqual(lost, 20000 - 16384)
                self.assertEqual((ended, sized), (total - lost, total - lost))
                self.assertEqual(report.count("mpi-requests", "recorded"), total - lost)
                for command in (["info"], ["stats", "-r", "mpi_event_trace"]):
                    said = subprocess.run([lib.TACHO, *command, report.path], capture_output=True, text=True)
                    self.assertRegex(said.stdout + said.stderr, rf"{lost:,} of 20,000 ends of MPI requests lost \(too many requests\)")

    def test_calls_that_are_left(self):
        """An error handler may jump out of a call: it counts, without an end."""
        for mpi in self.each():
            with self.subTest(mpi=mpi.name):
                report = self.compare(mpi, "left")
                self.calls_are_those_of_the_ledger(report)
                self.assertEqual(report.rows("SELECT count(*), count(end), sum(incomplete) FROM MPI_P2P_EVENTS"), [(16, 2, 14)])

    def test_two_libraries(self):
        found = {mpi.name: mpi for mpi in mpilib.installed()}
        paths = {"openmpi": "libmpich.so.12", "mpich": "libmpi.so.40"}
        if not paths.keys() <= found.keys():
            self.skipTest("needs Open MPI and MPICH")
        for name, other in paths.items():
            with self.subTest(mpi=name):
                self.calls_are_those_of_the_ledger(self.compare(found[name], "two", other))

    def test_a_library_for_each_plugin(self):
        """Plugins with different MPIs, loaded for themselves alone. Open MPI puts itself before all libraries that are loaded after it."""
        found = {mpi.name: mpi for mpi in mpilib.installed()}
        if not {"openmpi", "mpich"} <= found.keys():
            self.skipTest("needs Open MPI and MPICH")
        plugins = {name: self.build(found[name], "mpi_pair.c", "-shared", "-fPIC") for name in ("openmpi", "mpich")}
        loader = self.path("loader")
        subprocess.run([*CC, "-w", "-DLOADER", "-o", loader, os.path.join(mpilib.SOURCES, "mpi_pair.c"), "-ldl"], check=True)
        environment = {**os.environ, **mpilib.SETTINGS, "TMPDIR": self.folder}
        for first, second in (("mpich", "openmpi"), ("openmpi", "mpich")):
            with self.subTest(first=first):
                command = [loader, plugins[first], plugins[second]]
                bare = subprocess.run(command, capture_output=True, text=True, env=environment)
                report = self.profile(*command, options=["-t", "mpi"], status=bare.returncode, env=environment)
                self.assertEqual(self.output.stdout, bare.stdout)
                if first == "mpich":
                    self.assertEqual(bare.returncode, 0)
                    calls = sum(mpilib.recorded(report).values(), collections.Counter())
                    self.assertEqual(report.count("mpi", "recorded"), sum(calls.values()))
                    messages = {(call.bytes, call.peer, call.tag, call.members): count for call, count in calls.items() if call.table == "p2p"}
                    # Those of the MPI that was initialised first are understood.
                    self.assertEqual(messages, {(4, 0, 1, "0"): 1, (4, 0, 2, "0"): 1, (None, 0, 1, None): 1, (None, 0, 2, None): 1})
                    functions = collections.Counter(call.function for call in calls.elements())
                    self.assertEqual(functions, {"MPI_Sendrecv": 4, **{"MPI_" + name: 2 for name in ("Init", "Get_library_version", "Comm_rank", "Finalize")}})

    def test_control(self):
        """MPI_Pcontrol() counts with -c mpi, and only then."""
        for mpi in self.each():
            with self.subTest(mpi=mpi.name):
                self.calls_are_those_of_the_ledger(self.compare(mpi, "control"))
                report = self.compare(mpi, "control", options=["-c", "mpi", "--capture-range-end=repeat"])
                self.assertEqual(report.rows("SELECT tag, count(*) FROM MPI_P2P_EVENTS GROUP BY tag ORDER BY tag"), [(2, 2), (4, 2)])

    def test_weak_references(self):
        """A function that the MPI lacks is not there."""
        for mpi in self.each():
            with self.subTest(mpi=mpi.name):
                module = self.build(mpi, "mpi_weak.c", "-shared", "-fPIC")
                self.calls_are_those_of_the_ledger(self.compare(mpi, "weak", module))

    def test_static(self):
        archive = f"/usr/lib/{os.uname().machine}-linux-gnu/libmpich.a"
        mpi = next((mpi for mpi in mpilib.installed() if mpi.name == "mpich"), None)
        if not mpi or not os.path.exists(archive):
            self.skipTest("no static MPICH here")
        program = self.path("static")
        include = os.path.join(os.path.dirname(os.path.dirname(archive)), "..", "include", f"{os.uname().machine}-linux-gnu", "mpich")
        done = subprocess.run([*CC, "-w", "-I", include, "-o", program, os.path.join(mpilib.SOURCES, "mpi_odd.c"), archive, "-lucp", "-lucs", "-luct", "-lucm",
                               "-lhwloc", "-lpthread", "-lm", "-ldl", "-l:libslurm.so.38"], capture_output=True, text=True)
        if done.returncode != 0:
            self.skipTest("MPICH's static library does not link here")
        report = self.compare(mpi, "early", program=program)
        self.assertEqual(report.produced("mpi"), 0)
        self.says("No call to MPI was recorded.*linked statically")

    def linked(self, library, program):
        """A program that is linked with a library of its own."""
        for name, source, *flags in (("libmpi.so.77", library, "-shared", "-fPIC"), ("program", program, "libmpi.so.77", "-Wl,-rpath," + self.folder)):
            with open(self.path("source.c"), "w") as file:
                file.write(source)
            subprocess.run([*CC, "-w", "source.c", "-o", name, *flags], check=True, cwd=self.folder)
        return self.path("program")

    def test_errno_is_the_programs(self):
        report = self.profile(self.linked(ERRNO, KEEPS_ERRNO), options=["-t", "mpi"])
        self.assertEqual(self.output.stdout.split(), "init 5 5 send 5 5 recv 5 5 neighbor 5 5 finalize 5 5".split())
        found = {call.function: (call.bytes, call.received) for calls in mpilib.recorded(report).values() for call in calls}
        self.assertEqual(found, {"MPI_Init": (None, None), "MPI_Send": (16, None), "MPI_Recv": (48, None), "MPI_Neighbor_alltoall": (16, 16),
                                 "MPI_Finalize": (None, None)}, "the agent has made its calls")

    def test_an_unknown_mpi(self):
        report = self.profile(self.linked(UNKNOWN, USES_IT), options=["-t", "mpi"])
        self.assertEqual(self.output.stdout.split("\n"), ["init", "send 1 -2 0 7 -1", "finalize", ""])
        self.assertEqual({call.function: call[2:4] for calls in mpilib.recorded(report).values() for call in calls},
                         {name: (None, None) for name in ("MPI_Init", "MPI_Comm_rank", "MPI_Send", "MPI_Finalize")}, "names without sizes")
        self.says("its MPI library is not known: calls are recorded without sizes and ranks; --mpi-impl")


lib.main()
