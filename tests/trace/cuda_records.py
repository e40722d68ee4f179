"""What the GPU did, record by record, equals what the program gave it. On the stand-ins of CUDA."""
import csv
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests", "fake"))
import fakelib
import lib


class Kernels(fakelib.Case):
    def test_every_way_to_launch(self):
        report = self.cuda("cuda_work", "kernels")
        time = fakelib.monotonic(report)
        rows = report.rows("""SELECT k.*, s.value AS name FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON s.id = k.mangledName ORDER BY start""")
        columns = [name for _, name, *_ in report.rows("PRAGMA table_info(CUPTI_ACTIVITY_KIND_KERNEL)")] + ["name"]
        found = {row[-1]: dict(zip(columns, row)) for row in rows}
        expected = self.truth("kernel")
        self.assertEqual(set(found), {kernel["name"] for kernel in expected})
        self.assertEqual(len(rows), len(expected))
        for kernel in expected:
            with self.subTest(kernel=kernel["name"]):
                row = found[kernel["name"]]
                self.assertEqual([row["gridX"], row["gridY"], row["gridZ"]], kernel["grid"])
                self.assertEqual([row["blockX"], row["blockY"], row["blockZ"]], kernel["block"])
                self.assertEqual((row["clusterX"] or 0), kernel["cluster"])
                for column, field in (("dynamicSharedMemory", "shared"), ("staticSharedMemory", "static"), ("registersPerThread", "registers"),
                                      ("localMemoryPerThread", "local"), ("deviceId", "device"), ("contextId", "context"), ("streamId", "stream"),
                                      ("correlationId", "correlation")):
                    self.assertEqual(row[column], kernel[field], column)
                self.assertLessEqual(abs(row["start"] - time(kernel["start"])), 2000)
                self.assertLessEqual(abs(row["end"] - row["start"] - 40000), 2000)
        launch_types = dict(report.rows("SELECT s.value, e.name FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON s.id = k.mangledName JOIN ENUM_CUDA_KERNEL_LAUNCH_TYPE e ON e.id = k.launchType"))
        self.assertIn("COOPERATIVE", launch_types["together"])
        self.assertIn("REGULAR", launch_types["legacy"])
        self.assertEqual(fakelib.findings(report), {})

    def test_launch_and_kernel_share_their_correlation_id(self):
        report = self.cuda("cuda_work", "kernels")
        pairs = dict(report.rows("""SELECT k.value, r.value FROM CUPTI_ACTIVITY_KIND_KERNEL a JOIN CUPTI_ACTIVITY_KIND_RUNTIME b USING (correlationId)
                                    JOIN StringIds k ON k.id = a.mangledName JOIN StringIds r ON r.id = b.nameId"""))
        expected = {"_Z6squarePfi": "cudaLaunchKernel", "own_stream": "cudaLaunchKernel_ptsz", "together": "cudaLaunchCooperativeKernel",
                    "clustered": "cudaLaunchKernelExC", "clustered_ptsz": "cudaLaunchKernelExC_ptsz", "by_driver": "cuLaunchKernel",
                    "by_driver_ptsz": "cuLaunchKernel_ptsz", "by_driver_ex": "cuLaunchKernelEx"}
        for kernel, call in expected.items():
            self.assertTrue(pairs[kernel].startswith(call), f"{kernel} was launched by {pairs[kernel]}")

    def test_driver_calls_of_the_runtime_are_no_second_launch(self):
        """Some versions report both: one kernel has one launch all the same."""
        report = self.cuda("cuda_work", "kernels", settings={"nested": 1})
        self.assertEqual(sum(fakelib.kernels(report).values()), len(self.truth("kernel")))
        self.assertEqual(fakelib.findings(report), {})

    def test_names(self):
        report = self.cuda("cuda_work", "kernels")
        names = report.rows("""SELECT m.value, d.value, s.value FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds m ON m.id = mangledName
                               JOIN StringIds d ON d.id = demangledName JOIN StringIds s ON s.id = shortName""")
        self.assertIn(("_Z6squarePfi", "square(float *, int)", "square"), names)

    def test_tables(self):
        """What the user reads: the same sums."""
        self.cuda("cuda_work", "kernels")
        done = subprocess.run([lib.TACHO, "stats", "-r", "cuda_gpu_kern_sum", "-f", "csv", "--quiet", self.path("report.tacho")], capture_output=True, text=True)
        table = list(csv.DictReader(done.stdout.splitlines()))
        self.assertEqual({row["Name"]: int(row["Instances"]) for row in table},
                         {kernel["name"].replace("_Z6squarePfi", "square(float *, int)"): 1 for kernel in self.truth("kernel")}, done.stderr)

    def test_hostile_names(self):
        """Every kernel is there; a text that is none, or too long, spoils no other."""
        report = self.cuda("cuda_work", "names")
        rows = report.rows("SELECT correlationId, CAST(value AS BLOB) FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON id = mangledName")
        found = dict(rows)
        self.assertEqual(len(rows), len(self.truth("kernel")))
        for kernel in self.truth("kernel"):
            text = found[kernel["correlation"]]
            if not kernel["is_null"] and kernel["length"] < 30000:
                plain = bytes.fromhex(kernel["hex"])
                try:
                    plain.decode()
                except UnicodeDecodeError:
                    continue
                self.assertTrue(text.startswith(plain), (text, plain))
            if kernel["length"] > 30000:
                self.assertGreater(len(text), 30000)
                self.assertEqual(set(text[:30000]), {ord("k")})

    def test_names_of_modules_that_were_unloaded(self):
        """A pointer that meant one name means another later."""
        report = self.cuda("cuda_work", "modules")
        found = dict(report.rows("SELECT correlationId, value FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON id = mangledName"))
        self.assertEqual(found, {kernel["correlation"]: kernel["name"] for kernel in self.truth("kernel")})
        self.assertEqual(report.value("SELECT count(*) FROM TACHO_CUDA_JIT"), 6)

    def test_the_machine_code_of_modules(self):
        """Kernels that ran have a row that says whether their code uses tensor cores; "shared_name" did not run."""
        report = self.cuda("cuda_work", "modules")
        rows = report.rows("SELECT value, sm, tensorTypes, isMixed FROM TACHO_KERNEL_CODE JOIN StringIds ON id = mangledName ORDER BY value")
        self.assertEqual(rows, [("first_kernel", 90, None, None), ("other_hmma_kernel", 90, "bf16", None)])


class Copies(fakelib.Case):
    def test_copies(self):
        report = self.cuda("cuda_work", "copies")
        columns = "correlationId, copyKind, srcKind, dstKind, bytes, deviceId, contextId, streamId"
        found = sorted(report.rows(f"SELECT {columns} FROM CUPTI_ACTIVITY_KIND_MEMCPY"))
        expected = sorted((copy["correlation"], copy["kind"], copy["from"], copy["to"], copy["bytes"], copy["device"], copy["context"], copy["stream"])
                          for copy in self.truth("copy"))
        self.assertEqual(found, expected)

    def test_fills(self):
        report = self.cuda("cuda_work", "copies")
        found = sorted(report.rows("SELECT correlationId, value, memKind, bytes, streamId FROM CUPTI_ACTIVITY_KIND_MEMSET"))
        self.assertEqual(found, sorted((fill["correlation"], fill["value"], fill["memory"], fill["bytes"], fill["stream"]) for fill in self.truth("fill")))

    def test_times(self):
        report = self.cuda("cuda_work", "copies")
        time = fakelib.monotonic(report)
        starts = dict(report.rows("SELECT correlationId, start FROM CUPTI_ACTIVITY_KIND_MEMCPY"))
        for copy in self.truth("copy"):
            self.assertLessEqual(abs(starts[copy["correlation"]] - time(copy["start"])), 2000)


class Graphs(fakelib.Case):
    def test_as_a_whole(self):
        report = self.cuda("cuda_work", "graph")
        rows = report.rows("SELECT correlationId, streamId FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE ORDER BY start")
        self.assertEqual(rows, [(graph["correlation"], graph["stream"]) for graph in self.truth("graph")])
        self.assertEqual(fakelib.kernels(report), {"no_node": 1})
        self.assertEqual(fakelib.findings(report), {})

    def test_by_nodes(self):
        report = self.cuda("cuda_work", "graph", options=["--cuda-graph-trace=node"])
        self.assertFalse(report.has("CUPTI_ACTIVITY_KIND_GRAPH_TRACE"))
        self.assertEqual(fakelib.kernels(report), {"no_node": 1, "node_a": 3, "node_b": 3})
        nodes = report.rows("SELECT correlationId, count(*), count(DISTINCT graphNodeId) FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE graphNodeId IS NOT NULL AND graphNodeId != 0 GROUP BY correlationId ORDER BY 1")
        self.assertEqual(nodes, [(graph["correlation"], 2, 2) for graph in self.truth("graph")])
        self.assertEqual(report.value("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_MEMSET"), 3)
        self.assertEqual(fakelib.findings(report), {})


class Waits(fakelib.Case):
    def test_synchronisation(self):
        report = self.cuda("cuda_work", "waits")
        names = [name for name, in report.rows("""SELECT e.name FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION JOIN ENUM_CUPTI_SYNC_TYPE e ON e.id = syncType ORDER BY start""")]
        kinds = ["EVENT" if "EVENT_SYNC" in name else "WAIT" if "STREAM_WAIT" in name else "STREAM" if "STREAM_SYNC" in name else "CONTEXT" for name in names]
        self.assertEqual(kinds, ["WAIT", "EVENT", "STREAM", "CONTEXT", "STREAM", "STREAM", "CONTEXT"], names)

    def test_streams_and_the_edge_between_them(self):
        """The kernel in the second stream waited for the first; the report joins the record of the event with the wait."""
        report = self.cuda("cuda_work", "waits")
        first, second = (kernel["stream"] for kernel in self.truth("kernel"))
        rows = report.rows("""SELECT s.streamId, e.streamId FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION s
                              JOIN CUPTI_ACTIVITY_KIND_CUDA_EVENT e ON e.eventSyncId = s.eventSyncId AND e.eventId = s.eventId
                              JOIN ENUM_CUPTI_SYNC_TYPE t ON t.id = s.syncType WHERE t.name LIKE '%STREAM_WAIT%'""")
        self.assertEqual(rows, [(second, first)])

    def test_when_the_gpu_reached_an_event(self):
        report = self.cuda("cuda_work", "waits", options=["--cuda-event-trace=true"])
        time = fakelib.monotonic(report)
        rows = report.rows("SELECT correlationId, streamId, timestamp FROM CUPTI_ACTIVITY_KIND_CUDA_EVENT ORDER BY correlationId")
        expected = sorted((record["correlation"], record["stream"], record["start"]) for record in self.truth("record"))
        self.assertEqual([row[:2] for row in rows], [record[:2] for record in expected])
        for (_, _, found), (_, _, start) in zip(rows, expected):
            self.assertLessEqual(abs(found - time(start)), 2000)


class Memory(fakelib.Case):
    def test_usage(self):
        report = self.cuda("cuda_work", "memory", options=["--cuda-memory-usage=true"])
        rows = report.rows("SELECT address, bytes, memKind, memoryOperationType FROM CUDA_GPU_MEMORY_USAGE_EVENTS ORDER BY start")
        made = [row[:3] for row in rows if row[3] == rows[0][3]]
        self.assertEqual(made, [(memory["address"], memory["bytes"], memory["kind"]) for memory in self.truth("memory")])
        released = [row[:3] for row in rows if row[3] != rows[0][3]]
        self.assertEqual(sorted(released), sorted(made))
        operations = report.rows("SELECT operationType, minBytesToKeep FROM CUDA_GPU_MEMORY_POOL_EVENTS ORDER BY start")
        self.assertEqual(len({operation for operation, _ in operations}), 3, "made, trimmed, destroyed")
        self.assertEqual([kept for _, kept in operations], [0, 1024, 0])

    def test_not_asked_for(self):
        report = self.cuda("cuda_work", "memory")
        self.assertFalse(report.has("CUDA_GPU_MEMORY_USAGE_EVENTS"))

    def test_unified_memory_moves(self):
        report = self.cuda("cuda_work", "memory", options=["--cuda-um-cpu-page-faults=true", "--cuda-um-gpu-page-faults=true"])
        moves = report.rows("SELECT copyKind, bytes, virtualAddress FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE copyKind IN (11, 12) ORDER BY start")
        self.assertEqual(moves, [(move["kind"], move["bytes"], move["address"]) for move in self.truth("unified")])
        cpu = report.rows("SELECT address FROM CUDA_UM_CPU_PAGE_FAULT_EVENTS")
        self.assertEqual(cpu, [(fault["address"],) for fault in self.truth("cpu_fault")])
        gpu = report.rows("SELECT address, numberOfPageFaults FROM CUDA_UM_GPU_PAGE_FAULT_EVENTS")
        self.assertEqual(gpu, [(fault["address"], fault["faults"]) for fault in self.truth("gpu_fault")])

    def test_page_faults_are_not_recorded_unless_asked_for(self):
        report = self.cuda("cuda_work", "memory")
        self.assertFalse(report.has("CUDA_UM_CPU_PAGE_FAULT_EVENTS"))
        self.assertFalse(report.has("CUDA_UM_GPU_PAGE_FAULT_EVENTS"))


class Devices(fakelib.Case):
    def test_two_devices_and_three_contexts(self):
        report = self.cuda("cuda_work", "devices", settings={"devices": 2})
        rows = report.rows("SELECT value, deviceId, contextId, streamId FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON id = mangledName ORDER BY start")
        self.assertEqual(rows, [(kernel["name"], kernel["device"], kernel["context"], kernel["stream"]) for kernel in self.truth("kernel")])
        self.assertEqual(len({row[2] for row in rows}), 3)
        peer = self.truth("peer")[0]
        self.assertEqual(report.rows("SELECT bytes, srcDeviceId, dstDeviceId FROM CUPTI_ACTIVITY_KIND_MEMCPY"), [(peer["bytes"], peer["from"], peer["to"])])
        self.assertEqual(report.value("SELECT count(DISTINCT contextId) FROM TARGET_INFO_CUDA_CONTEXT_INFO"), 3)

    def test_properties(self):
        report = self.cuda("cuda_work", "devices", settings={"devices": 2})
        rows = report.rows("SELECT id, name, totalMemory, smCount FROM TARGET_INFO_GPU ORDER BY id")
        self.assertEqual(rows, [(device["id"], device["name"], device["bytes"], device["processors"]) for device in self.truth("device")])
        self.assertEqual(report.rows("SELECT value FROM TARGET_INFO_SYSTEM_ENV WHERE name = 'CudaDriverVersion'"), [("13000",)])  # the fake driver's

    def test_streams(self):
        """Every stream that has work is known, with its priority."""
        report = self.cuda("cuda_work", "kernels")
        streams = dict(report.rows("SELECT streamId, priority FROM TARGET_INFO_CUDA_STREAM"))
        used = {kernel["stream"] for kernel in self.truth("kernel")}
        self.assertLessEqual(used, set(streams))
        together = next(kernel["stream"] for kernel in self.truth("kernel") if kernel["name"] == "together")
        self.assertEqual(streams[together], (1 << 32) - 3)  # as nsys has it

    def test_names_of_streams(self):
        report = self.cuda("cuda_nvtx", source="cuda,nvtx")
        streams = dict(report.rows("SELECT name, streamId FROM TARGET_INFO_NVTX_CUDA_STREAM"))
        by_kernel = {kernel["name"]: kernel["stream"] for kernel in self.truth("kernel")}
        self.assertEqual(streams, {"copies": by_kernel["in_outer"], "math": by_kernel["between"]})


if __name__ == "__main__":
    fakelib.main()
