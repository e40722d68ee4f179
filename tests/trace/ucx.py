"""UCX: the messages and bytes that ucx_perftest says it sends, and those of MPI_Send() of Open MPI over its UCX layer."""
import os
import shutil
import socket
import subprocess

import lib

MODULES = os.path.join(lib.SOURCE, "tests/trace/modules")
NAME = "(SELECT value FROM StringIds WHERE id = textId)"
TABLES = ["UCP_SUBMIT_EVENTS", "UCP_PROGRESS_EVENTS", "UCP_EVENTS"]
MESSAGES = 300
# The arguments of ucx_perftest, and what each side submits: function, bytes of a message.
TESTS = [
    ("-t tag_lat -s 100", {"ucp_tag_send_nbx": 100, "ucp_tag_recv_nbx": 100}, {"ucp_tag_send_nbx": 100, "ucp_tag_recv_nbx": 100}),
    ("-t tag_bw -s 30000", {"ucp_tag_send_nbx": 30000}, {"ucp_tag_recv_nbx": 30000}),
    ("-t tag_lat -s 100,200,3 -D iov", {"ucp_tag_send_nbx": 303, "ucp_tag_recv_nbx": 303}, {"ucp_tag_send_nbx": 303, "ucp_tag_recv_nbx": 303}),
    ("-t stream_bw -r recv -s 40", {"ucp_stream_send_nbx": 40}, {"ucp_stream_recv_nb": 40}),
    ("-t ucp_am_lat -s 77", {"ucp_am_send_nbx": 77}, {"ucp_am_send_nbx": 77}),
    ("-t ucp_get -s 256", {"ucp_get_nbx": 256}, {}),
]
ENVIRONMENT = {**os.environ, "UCX_TLS": "self,tcp,sysv", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def listens(port):
    with open("/proc/net/tcp") as sockets:
        return any(f":{int(port):04X} " in line.split(" 0A ")[0] for line in sockets if " 0A " in line)


class Ucx(lib.Case):
    samples = False

    def need(self, *programs):
        for program in programs:
            if not shutil.which(program):
                self.skipTest(f"{program} is not installed")

    def compile(self, name, *arguments, compiler="gcc"):
        done = subprocess.run([compiler, "-g", "-O1", *arguments, "-o", self.path(name), "-ldl"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.path(name)

    def submitted(self, report):
        """By function: calls, bytes, and calls with a known peer."""
        if not report.has(TABLES[0]):
            return {}
        columns = [name for _, name, *_ in report.rows(f"PRAGMA table_info({TABLES[0]})")]
        peers = "count(peerWorkerUid)" if "peerWorkerUid" in columns else "0"
        return {name: numbers for name, *numbers in report.rows(f"SELECT {NAME}, count(*), sum(packedSize), {peers} FROM {TABLES[0]} GROUP BY 1")}

    def check_counts(self, report):
        rows = sum(report.value(f"SELECT count(*) FROM {table}") for table in filter(report.has, TABLES))
        self.assertEqual(report.count("ucx", "recorded"), rows)
        self.assertEqual(report.causes("ucx"), {})
        for table in filter(report.has, TABLES):
            self.assertEqual(report.value(f"SELECT count(*) FROM {table} WHERE end < start"), 0)

    def server(self, options):
        """A server that listens, and its port. Another program may take the port before the server does: then the next one."""
        for _ in range(5):
            port = str(free_port())
            server = subprocess.Popen(self.command("ucx_perftest", "-p", port, options=options, output="server.tacho"), cwd=self.folder,
                                      env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
            self.addCleanup(lib.end_group, server)
            lib.until(lambda: listens(port) or server.poll() is not None, "the server listens")
            if server.poll() is None:
                return server, port
        self.fail(server.communicate()[0])

    def perftest(self, arguments):
        """The reports of the client and of the server, which waits for it."""
        options = ["-t", "ucx"]
        server, port = self.server(options)
        report = self.profile("ucx_perftest", "-p", port, "127.0.0.1", *arguments.split(), "-n", str(MESSAGES), "-w", "0", options=options,
                              env=ENVIRONMENT)
        output, _ = server.communicate(timeout=lib.PATIENCE)
        self.assertEqual(server.returncode, 0, output)
        return report, self.report("server.tacho")

    def test_messages_and_bytes_of_perftest(self):
        self.need("ucx_perftest")
        for arguments, of_client, of_server in TESTS:
            with self.subTest(arguments=arguments):
                client, server = self.perftest(arguments)
                self.assertIn(str(MESSAGES), self.output.stdout)
                for report, expected in ((client, of_client), (server, of_server)):
                    peers = {name: 0 if "tag_recv" in name else MESSAGES for name in expected}
                    self.assertEqual(self.submitted(report), {name: [MESSAGES, MESSAGES * size, peers[name]] for name, size in expected.items()})
                    self.check_counts(report)

    def test_each_side_knows_the_other(self):
        self.need("ucx_perftest")
        client, server = self.perftest("-t tag_lat -s 8")
        for report, other in ((client, server), (server, client)):
            self.assertEqual(report.rows("SELECT DISTINCT peerWorkerUid FROM UCP_SUBMIT_EVENTS WHERE peerWorkerUid IS NOT NULL"),
                             other.rows("SELECT workerUid FROM UCP_WORKERS"))
        self.assertEqual(client.rows("SELECT DISTINCT tag FROM UCP_SUBMIT_EVENTS"), server.rows("SELECT DISTINCT tag FROM UCP_SUBMIT_EVENTS"))
        # Polls that found nothing are counted. With a message on its way there are some.
        self.assertEqual({name for name, in client.rows(f"SELECT DISTINCT {NAME} FROM UCP_PROGRESS_EVENTS")}, {"ucp_worker_progress"})
        self.assertGreater(client.count("ucx", "empty-poll"), 0)

    def test_open_mpi_sends_by_ucx(self):
        self.need("mpirun.openmpi", "mpicc.openmpi")
        program = self.compile("program", os.path.join(MODULES, "ucx_mpi.c"), compiler="mpicc.openmpi")
        layer = "--oversubscribe --mca pml ucx --mca pml_ucx_tls any --mca pml_ucx_devices any --mca btl self --mca osc ^ucx".split()
        launch = ["mpirun.openmpi", "-n", "2", *layer]
        environment = {name: value for name, value in ENVIRONMENT.items() if name != "UCX_TLS"}
        bare = subprocess.run([*launch, program], cwd=self.folder, env=environment, capture_output=True, text=True, timeout=lib.PATIENCE)
        if bare.returncode != 0:
            self.skipTest("Open MPI has no UCX layer that works here: " + bare.stderr[:200])
        recorded = [*launch, *self.command(program, options=["-t", "nvtx,mpi,ucx"], output="rank%q{OMPI_COMM_WORLD_RANK}.tacho")]
        done = subprocess.run(recorded, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=lib.PATIENCE)
        self.assertEqual((done.returncode, sorted(done.stdout.splitlines())), (0, sorted(bare.stdout.splitlines())), done.stderr)
        for rank in range(2):
            report = self.report(f"rank{rank}.tacho")
            sizes = [10 * i for i in range(50) if i % 2 == rank]  # as the source has it
            inside = report.rows("""SELECT r.start, packedSize FROM UCP_SUBMIT_EVENTS e JOIN NVTX_EVENTS r ON r.globalTid = e.globalTid AND
                                    e.start >= r.start AND e.end <= r.end WHERE r.eventType = 59 ORDER BY r.start""")
            self.assertEqual([size for _, size in inside], sizes)
            self.assertEqual(len({start for start, _ in inside}), len(sizes))
            around = report.rows("""SELECT (SELECT value FROM StringIds WHERE id = m.textId), count(*) FROM UCP_SUBMIT_EVENTS e
                                    JOIN MPI_P2P_EVENTS m ON m.globalTid = e.globalTid AND e.start >= m.start AND e.end <= m.end GROUP BY 1""")
            self.assertEqual(dict(around), {"MPI_Send": 25, "MPI_Recv": 25})
            self.assertEqual(self.submitted(report)["ucp_tag_send_nbx"], [25, sum(sizes), 25])
            self.assertEqual(self.submitted(report)["ucp_tag_recv_nbx"][:2], [25, sum(10 * i for i in range(50) if i % 2 != rank)])
            self.check_counts(report)

    def test_a_program_without_ucx(self):
        with open(self.path("without.c"), "w") as source:
            source.write(r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
int main(void)
{
    printf("%d %d\n", dlsym(RTLD_DEFAULT, "ucp_init_version") == NULL, dlsym(RTLD_NEXT, "ucp_worker_progress") == NULL);
    return 3;
}
""")
        program = self.compile("without", self.path("without.c"))
        report = self.profile(program, options=["-t", "ucx"], status=3)
        self.assertEqual(self.output.stdout, "1 1\n")
        self.assertEqual(report.produced("ucx"), 0)
        self.profile(program, options=["-t", "ucx", "--preload=no"], status=3)
        self.assertIn("Calls into UCX are not recorded: --preload=no", self.output.stderr)


class WithOtherModels(Ucx):
    """Several objects of stubs in one process: each looks functions up through the next, and the last through libc."""

    def test_each_pair_of_objects(self):
        for traces in ("mpi,ucx", "ucx,oshmem", "mpi,openmp", "cublas,mpi", "cublas,mpi,openmp,ucx,oshmem"):
            with self.subTest(traces=traces):
                self.profile("sh", "-c", "echo lives", options=["-t", traces], timeout=lib.PATIENCE)
                self.assertEqual(self.output.stdout, "lives\n")


for name in [name for name in dir(Ucx) if name.startswith("test_")]:  # those of the first class run once
    setattr(WithOtherModels, name, None)

if __name__ == "__main__":
    lib.main()
