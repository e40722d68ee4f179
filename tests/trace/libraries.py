"""Calls into cuBLAS, cuDNN and their like, against stand-ins of their names whose functions take arguments in every way that
there is: callers and libraries must not notice, and each call is a range in the library's domain.
"""
import os
import re
import shutil
import subprocess
import tempfile

import lib

CC = os.environ["CC"].split()
SOURCES = os.path.join(lib.SOURCE, "tests/trace/modules")
NAME = "coalesce(n.text, (SELECT value FROM StringIds WHERE id = n.textId))"
DOMAIN = "(SELECT d.text FROM NVTX_EVENTS d WHERE d.eventType = 75 AND d.domainId = n.domainId AND d.globalTid >> 24 = n.globalTid >> 24)"
# How often the program calls each function, as its source has it: name, small or not, calls.
ALL = {"cublasSgemm_v2": 2, "cublasDgemm_v2": 1, "cublasHgemm": 1, "cublasGemmEx": 1, "cublasGemmBatchedEx": 1, "cublasIsamax_v2": 1,
       "cublasDasum_v2": 1, "cublasSasum_v2": 1, "cublasScasum_v2": 1, "cublasDotEx": 1, "cublasNrm2Ex": 1, "cublasAxpyEx": 2,
       "cublasScalEx": 1, "cublasZgemm_v2": 1, "cublasGemmStridedBatchedEx": 1, "cublasLtMatmul": 2, "cublasCreate_v2": 1}


class StandIns(lib.Case):
    """Libraries and callers are built once, into a folder where the loader finds them."""

    @classmethod
    def build(cls, name, *arguments):
        path = os.path.join(cls.made, name)
        # A library's calls to itself go through the loader, as the vendor's do: clang would take the short way.
        flags = ["-O1", "-g", "-w", "-fPIC", "-fsemantic-interposition", "-fexceptions"]
        subprocess.run([*CC, *flags, *arguments, "-o", path, "-Wl,-rpath," + cls.made, "-ldl", "-lpthread"], check=True)
        return path

    @classmethod
    def library(cls, name, *arguments):
        return cls.build(name, "-shared", "-Wl,-soname," + name, *arguments)

    @classmethod
    def setUpClass(cls):
        cls.made = tempfile.mkdtemp(prefix="tacho-test-")
        cls.addClassCleanup(shutil.rmtree, cls.made, ignore_errors=True)

    def calls(self, report, domain=None):
        """Name of each range in a domain, and how often it is there."""
        rows = report.rows(f"SELECT {DOMAIN}, {NAME}, count(*) FROM NVTX_EVENTS n WHERE eventType = 59 GROUP BY 1, 2") if report.has("NVTX_EVENTS") else []
        return {name: count for where, name, count in rows if domain in (None, where)}


class Libraries(StandIns):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        source = os.path.join(SOURCES, "library_standin.c")
        versions = os.path.join(cls.made, "versions")
        with open(versions, "w") as file:
            file.write("libcublas.so.12 { global: *; };\n")  # as the vendor does it: references have a version
        cls.cublas = cls.library("libcublas.so.12", '-DCUBLAS="12"', "-Wl,--version-script=" + versions, source)
        cls.cudnn = cls.library("libcudnn.so.9", "-DCUDNN", source, cls.cublas)
        others = [cls.library("libcusparse.so.12", "-DCUSPARSE", source), cls.library("libcusolver.so.12", "-DCUSOLVER", source, cls.cublas)]
        cls.caller = cls.build("caller", os.path.join(SOURCES, "library_caller.c"), cls.cublas, *others)

    def run_caller(self, *arguments, trace="cublas", status=0):
        report = self.profile(self.caller, *arguments, options=["-t", trace], status=status)
        if status == 0:
            self.assertEqual(self.output.stdout.split()[-1], "ok", self.output.stdout)
        self.assertEqual(report.produced("libraries"), report.count("libraries", "recorded") + report.count("libraries", "lost"))
        return report

    def test_every_kind_of_argument(self):
        report = self.run_caller("all", trace="cublas,cusparse,cusolver")
        vectors = {"cublasSsyrk_v2", "cublasDsyrk_v2"}  # where the machine has them
        got = {name: count for name, count in self.calls(report, "cuBLAS").items() if name not in vectors}
        self.assertEqual(got, ALL)
        self.assertEqual(self.calls(report, "cuSPARSE"), {"cusparseSpMM": 1})
        self.assertEqual(self.calls(report, "cuSOLVER"), {"cusolverDnXgetrf": 1})

    def test_every_place_on_a_page(self):
        calls = self.calls(self.run_caller("pages"))
        self.assertEqual(calls["cublasGemmEx"], 288)

    def test_at_the_end_of_a_stack(self):
        self.assertEqual(self.calls(self.run_caller("edge")), {"cublasLtMatmul": 1, "cublasSgemm_v2": 1})

    def test_small_calls_are_verbose(self):
        self.assertEqual(self.calls(self.run_caller("all", trace="cublas-verbose")).get("cublasSetStream_v2"), 1)
        self.assertEqual(self.calls(self.run_caller("all")).get("cublasSetStream_v2"), None)

    def test_only_what_was_asked_for(self):
        self.assertEqual(set(self.calls(self.run_caller("all", trace="cusparse"))), {"cusparseSpMM"})

    def test_nothing_is_loaded_unasked(self):
        loaded = "SELECT count(*) FROM TACHO_MODULE m JOIN StringIds s ON s.id = m.pathId WHERE s.value LIKE '%/libtacho-libraries.so'"
        self.assertEqual(self.profile(self.caller, "all", options=["-t", "nvtx"]).value(loaded), 0)
        self.assertEqual(self.run_caller("all").value(loaded), 1)

    def test_ranges_nest(self):
        report = self.run_caller("all")
        inner, = report.rows(f"SELECT n.start, n.end FROM NVTX_EVENTS n WHERE {NAME} = 'cublasLtMatmul' ORDER BY start LIMIT 1")
        outer, = report.rows(f"SELECT n.start, n.end FROM NVTX_EVENTS n WHERE {NAME} = 'cublasGemmStridedBatchedEx'")
        self.assertTrue(outer[0] <= inner[0] <= inner[1] <= outer[1], (outer, inner))

    def test_threads(self):
        self.assertEqual(self.calls(self.run_caller("threads")), {"cublasSgemm_v2": 4000})

    def test_left_by_a_jump(self):
        report = self.run_caller("jump")
        self.assertEqual(self.calls(report), {"cublasCgemm_v2": 40, "cublasGemmStridedBatchedEx": 1, "cublasLtMatmul": 1})
        # Each is over before the next begins, though none of them returned.
        times = report.rows(f"SELECT n.start, n.end FROM NVTX_EVENTS n WHERE {NAME} = 'cublasCgemm_v2' ORDER BY start")
        self.assertTrue(all(earlier[1] <= later[0] for earlier, later in zip(times, times[1:])), times)

    def test_handler_on_an_alternate_stack(self):
        """A call that it makes does not end the call that it interrupted."""
        report = self.run_caller("handler")
        (outer, begin, end), (inner, start, stop) = report.rows(f"SELECT {NAME}, n.start, n.end FROM NVTX_EVENTS n WHERE eventType = 59 ORDER BY start")
        self.assertEqual((outer, inner), ("cublasCgemm_v2", "cublasLtMatmul"))
        self.assertTrue(begin <= start <= stop <= end, (begin, start, stop, end))

    def test_left_by_an_exception(self):
        compiler = shutil.which("g++") or shutil.which("c++")
        if not compiler:
            self.skipTest("no C++ compiler")
        program = self.path("throw")
        subprocess.run([compiler, "-O1", "-o", program, os.path.join(SOURCES, "library_throw.cc"), self.cublas, "-Wl,-rpath," + self.made], check=True)
        report = self.profile(program, options=["-t", "cublas"])
        self.assertEqual(self.output.stdout.split(), ["ok"])
        self.assertEqual(self.calls(report), {"cublasCgemm_v2": 20, "cublasLtMatmul": 1})

    def test_fork_inside_a_call(self):
        report = self.run_caller("fork")
        self.assertEqual(self.calls(report), {"cublasCgemm_v2": 1, "cublasLtMatmul": 2})
        self.assertEqual(report.value("SELECT count(DISTINCT globalTid >> 24) FROM NVTX_EVENTS"), 2)

    def test_death_inside_a_call(self):
        report = self.run_caller("die", status=-9)
        self.assertEqual(report.rows(f"SELECT {NAME}, end FROM NVTX_EVENTS n WHERE eventType = 59"), [("cublasCgemm_v2", None)])

    def test_deep(self):
        report = self.run_caller("nested", "40")
        recorded = report.count("libraries", "recorded")
        self.assertGreaterEqual(recorded, 10)
        self.assertEqual((report.produced("libraries"), self.calls(report)), (40, {"cublasCgemm_v2": recorded}))

    def test_a_function_that_the_library_lacks(self):
        bare = subprocess.run([self.caller, "missing"], capture_output=True, text=True)
        self.assertEqual(bare.stdout.split(), ["missing:", "no", "ok"])
        report = self.run_caller("missing")
        self.assertEqual(self.output.stdout.split(), ["missing:", "1", "ok"], "the status of a library that is not set up")
        self.assertEqual(self.calls(report), {})

    def test_a_module_loaded_for_itself(self):
        module = self.build("module.so", "-shared", os.path.join(SOURCES, "library_module.c"), self.cudnn)
        report = self.run_caller("load", module, trace="cudnn,cublas")
        self.assertEqual(self.calls(report, "cuDNN"), {"cudnnConvolutionForward": 1})
        self.assertEqual(report.rows("SELECT eventClass, value, e.end > e.start FROM CUDNN_EVENTS e JOIN StringIds ON id = nameId"),
                         [(28, "cudnnConvolutionForward", 1)])
        self.assertEqual(report.rows("SELECT eventClass, value FROM CUBLAS_EVENTS JOIN StringIds ON id = nameId"), [(29, "cublasLtMatmul")])
        self.assertEqual(self.calls(report, "cuBLAS"), {"cublasLtMatmul": 1})

    def test_functions_found_by_name(self):
        report = self.run_caller("symbol", self.cublas)
        self.assertEqual(self.calls(report), {"cublasLtMatmul": 1})

    def test_a_second_version_is_itself(self):
        # The program is linked with one; a copy that it loads beside it must not become the other.
        other = self.build("libcublas.so.99", "-shared", "-Wl,-soname,libcublas.so.99", '-DCUBLAS="99"', os.path.join(SOURCES, "library_standin.c"))
        report = self.run_caller("symbol", other)
        self.assertIn("version 99", self.output.stdout)
        self.assertEqual(self.calls(report), {}, "of this copy, nothing is recorded")

    def test_beside_nvtx(self):
        report = self.profile(self.caller, "threads", options=["-t", "nvtx,cublas", "--nvtx-domain-exclude=cuBLAS"])
        self.assertEqual(self.calls(report), {"cublasSgemm_v2": 4000}, "the filter is for the program's domains")
        self.assertEqual((report.count("libraries", "recorded"), report.count("nvtx", "recorded")), (4000, 0))

    def test_a_child_with_an_empty_environment(self):
        report = self.profile("env", "-i", self.caller, "threads", options=["-t", "cublas"])
        self.assertEqual(self.calls(report), {"cublasSgemm_v2": 4000})

    def test_without_preload(self):
        self.assertEqual(self.calls(self.profile(self.caller, "threads", options=["-t", "cublas", "--preload=no"])), {})
        self.assertIn("Calls into libraries are not recorded: --preload=no keeps libtacho-libraries.so out", self.output.stderr)

    def test_an_agent_with_nothing_beside_it(self):
        shutil.copy(lib.AGENT, self.path("agent.so"))
        environment = {**os.environ, "TACHO_AGENT": self.path("agent.so")}
        self.assertEqual(self.calls(self.profile(self.caller, "threads", options=["-t", "cublas"], env=environment)), {})
        self.assertIn("libtacho-libraries.so is not beside the agent", self.output.stderr)
        self.assertNotIn("LD_PRELOAD", self.output.stderr)

    def test_a_folder_that_preload_cannot_name(self):
        home = self.path("a folder: odd")
        os.makedirs(home + "/lib")
        for source, place in ((lib.TACHO, "/bin"), (os.path.dirname(lib.AGENT), "/lib/tacho")):
            shutil.copytree(source, home + place) if os.path.isdir(source) else (os.makedirs(home + place), shutil.copy(source, home + place))
        done = subprocess.run([home + "/bin/tacho", "profile", "-t", "cublas", "-o", self.path("report.tacho"), self.caller, "threads"],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.calls(self.report()), {"cublasSgemm_v2": 4000})

    def test_capture_range(self):
        report = self.profile(self.caller, "threads", options=["-t", "cublas", "-c", "cudaProfilerApi"])
        self.assertEqual(self.calls(report), {})

    def test_reports_show_them(self):
        self.run_caller("all")
        for name in ("nvtx_sum", "nvtx_pushpop_sum", "nvtx_pushpop_trace"):
            done = subprocess.run([lib.TACHO, "stats", "-r", name, "-f", "csv", self.path("report.tacho")], capture_output=True, text=True)
            self.assertIn("cuBLAS:cublasSgemm_v2", done.stdout, name)


class Nccl(StandIns):
    """NCCL annotates itself: its ranges have what the calls were about."""

    def ranks(self, *flags, trace="nccl"):
        nccl = self.library("libnccl.so.2", *flags, os.path.join(SOURCES, "library_nccl.c"))
        program = self.build("ranks", os.path.join(SOURCES, "library_ranks.c"), nccl)
        report = self.profile(program, options=["-t", trace])
        self.assertEqual(self.output.stdout.split(), ["ok"])
        return report

    def test_payloads(self):
        report = self.ranks("-DANNOTATED")
        first = report.value("SELECT min(globalTid >> 24) FROM NVTX_EVENTS")
        rows = report.rows(f"SELECT {NAME}, n.jsonText FROM NVTX_EVENTS n WHERE eventType = 59 AND globalTid >> 24 = ? ORDER BY start", first)
        one, two = ((0xf0 << 56) + 1, (0xf0 << 56) + 2)
        comm = lambda number, rest: '{"NCCL communicator ID":%d,%s}' % (number, rest)
        self.assertEqual(rows, [
            ("ncclCommInitRank", comm(one, '"No. of ranks":2,"Rank":0,"CUDA device":0')),
            ("ncclCommInitRank", comm(two, '"No. of ranks":2,"Rank":0,"CUDA device":0')),
            ("ncclAllReduce", comm(one, '"Message size [bytes]":4000,"Reduction operation":"Sum"')),
            ("ncclAllReduce", comm(one, '"Message size [bytes]":8000,"Reduction operation":"Sum"')),
            ("ncclAllReduce", comm(one, '"Message size [bytes]":12000,"Reduction operation":"Max"')),
            ("ncclGroupStart", None),
            ("ncclAllReduce", comm(two, '"Message size [bytes]":20,"Reduction operation":"Sum"')),
            ("ncclGroupEnd", None),
            ("ncclSend", comm(one, '"Message size [bytes]":24,"Peer rank":1')),
            ("ncclBroadcast", comm(two, '"Message size [bytes]":28,"Root":1'))])
        self.assertEqual(report.count("libraries", "recorded"), 19)

    def test_the_programs_own_nvtx_is_not_asked_for(self):
        self.assertEqual(self.calls(self.ranks("-DANNOTATED"), "own"), {})
        names = set(self.calls(self.ranks("-DANNOTATED", trace="nccl,nvtx")))
        self.assertIn("of the program", names)

    def test_without_annotations(self):
        calls = self.calls(self.ranks(), "NCCL")
        self.assertEqual(calls, {"ncclCommInitRank": 4, "ncclAllReduce": 8, "ncclGroupStart": 2, "ncclGroupEnd": 2, "ncclSend": 2,
                                 "ncclBcast": 1, "ncclBroadcast": 1})

    def test_ranks_are_joined(self):
        """The query of docs/libraries.md, on a report of two ranks."""
        with open(os.path.join(lib.SOURCE, "docs/libraries.md")) as page:
            query, = re.findall(r"```sql\n(.*?)```", page.read(), flags=re.S)
        rows = self.ranks("-DANNOTATED").rows(query)
        # Communicator 1: three all-reduces; communicator 2: one, and a broadcast that rank 1 does not come to.
        self.assertEqual([(row[1], row[2], row[3], row[4]) for row in rows],
                         [(1, "ncclAllReduce", 4000, 2), (2, "ncclAllReduce", 8000, 2), (3, "ncclAllReduce", 12000, 2),
                          (1, "ncclAllReduce", 20, 2), (2, "ncclBroadcast", 28, 1)])


lib.main()
