"""Small programs whose GPU work is known by construction (programs/cases.cu): what the report says is what they made."""
import signal

import gpulib
import tools
from gpulib import CALL, COPY, FILL, KERNEL

LIMIT_SECONDS = 150
HTOD, DTOH, DTOD = 1, 2, 8  # ENUM_CUDA_MEMCPY_OPER
UNIFIED_HTOD, UNIFIED_DTOH = 11, 12
EVENT_SYNC, STREAM_WAIT, STREAM_SYNC, CONTEXT_SYNC = 1, 2, 3, 4  # ENUM_CUPTI_SYNC_TYPE
SYNC = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"
EVENT = "CUPTI_ACTIVITY_KIND_CUDA_EVENT"
GRAPH = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"


class Work(gpulib.Case):
    def case(self, name, *options, status=0, compile=()):
        """The report on a case, and what the case said that it made."""
        report = self.profile(tools.compiled("cases", *compile), name, options=(*gpulib.CUDA, *options), status=status)
        made = gpulib.made(self.output.stdout)
        self.assertTrue(made, f"the case said nothing: {self.output}")
        return report, made


class Ends(Work):
    """No way to end loses what CUPTI had, and none hangs."""

    def check(self, name, status):
        report, made = self.case(name, status=status)
        self.assertEqual(report.kernels(), {"tick": made["kernels"]})
        self.assertEqual(report.launches(), made["kernels"])
        self.assert_whole(report)

    def test_return(self):
        self.check("return", 0)

    def test_exit(self):
        self.check("exit", 3)

    def test__exit(self):
        self.check("_exit", 4)

    def test_abort(self):
        report, made = self.case("abort", status=-signal.SIGABRT)
        held = report.number(KERNEL)
        self.figure("kernels in the report after abort(), of 1000", held)
        self.assertLessEqual(held, made["kernels"])
        self.assertEqual(report.finding("launch-without-kernel"), report.launches_without_kernel())
        self.assertEqual(report.finding("kernel-without-launch"), 0)

    def test_exit_without_waiting_for_the_gpu(self):
        report, made = self.case("unsynced")
        self.assertEqual(report.launches(), made["launches"])
        self.assertEqual(report.number(KERNEL) + report.finding("launch-without-kernel"), made["launches"])
        self.figure("kernels in the report, of 1000", report.number(KERNEL))

    def test_a_thread_that_still_launches(self):
        report, made = self.case("daemon")
        self.assertGreaterEqual(report.number(KERNEL), made["least"] // 2)
        self.assertEqual(report.finding("kernel-without-launch"), 0)
        self.assertEqual(report.finding("launch-without-kernel"), report.launches_without_kernel())


class Places(Work):
    """Processes, contexts, threads, runtimes."""

    def test_fork_after_cuda_was_initialised(self):
        report, made = self.case("fork")
        self.assertEqual(report.kernels(), {"tick": made["kernels"]})
        self.assert_whole(report)

    def test_two_contexts(self):
        report, made = self.case("contexts")
        counts = [count for _, count in report.rows(f"SELECT contextId, count(*) FROM {KERNEL} GROUP BY contextId ORDER BY min(start)")]
        self.assertEqual(counts, [made["first"], made["second"]])
        contexts = report.rows("SELECT DISTINCT contextId FROM TARGET_INFO_CUDA_CONTEXT_INFO ORDER BY 1")
        self.assertEqual(contexts, report.rows(f"SELECT DISTINCT contextId FROM {KERNEL} ORDER BY 1"), "contexts, contexts of kernels")
        self.assert_whole(report)

    def test_threads_and_their_streams(self):
        report, made = self.case("threads")
        calls = report.rows(f"SELECT globalTid, count(*) FROM {CALL} JOIN StringIds ON id = nameId WHERE value LIKE '%cudaLaunchKernel%' GROUP BY 1")
        self.assertEqual([count for _, count in calls], [made["each"]] * made["threads"])
        streams = report.rows(f"SELECT streamId, count(*) FROM {KERNEL} GROUP BY 1")
        self.assertEqual([count for _, count in streams], [made["each"]] * made["threads"])
        self.assert_whole(report)

    def test_a_second_runtime(self):
        report, made = self.case("runtime2")
        if made.get("missing"):
            self.skipTest("no shared CUDA runtime to load")
        self.assertEqual((report.number(KERNEL), report.number(FILL)), (made["kernels"], made["fills"]))

    def test_default_stream_of_each_thread(self):
        report, made = self.case("threads", compile=("--default-stream=per-thread",))
        self.assertEqual(report.number(KERNEL), made["each"] * made["threads"])
        self.assert_whole(report)


class Kinds(Work):
    def test_copies_and_fills(self):
        report, made = self.case("copies")
        rows = report.rows(f"SELECT copyKind, count(*), sum(bytes) FROM {COPY} GROUP BY copyKind ORDER BY copyKind")
        size = made["bytes"]
        self.assertEqual(rows, [(HTOD, made["htod"], made["htod"] * size), (DTOH, made["dtoh"], made["dtoh"] * size // 2),
                                (DTOD, made["dtod"], made["dtod"] * size // 4)])
        self.assertEqual(report.rows(f"SELECT count(*), sum(bytes), min(value), max(value) FROM {FILL}"),
                         [(made["fills"], made["fills"] * size // 8, 42, 42)])

    def test_graph_as_a_whole(self):
        report, made = self.case("graph", "--cuda-graph-trace=graph")
        self.assertEqual(report.number(KERNEL), made["alone"])
        self.assertEqual(report.number(GRAPH), made["launches"])
        self.assert_whole(report)

    def test_graph_by_nodes(self):
        report, made = self.case("graph", "--cuda-graph-trace=node")
        nodes = report.rows(f"SELECT graphNodeId, count(*) FROM {KERNEL} WHERE graphNodeId IS NOT NULL AND graphNodeId != 0 GROUP BY 1")
        self.assertEqual([count for _, count in nodes], [made["launches"]] * made["nodes"])
        self.assertEqual(report.number(KERNEL), made["alone"] + made["nodes"] * made["launches"])
        self.assertEqual(report.number(GRAPH), 0)
        self.assert_whole(report)

    def test_unified_memory(self):
        report, made = self.case("managed", "--cuda-um-cpu-page-faults=true", "--cuda-um-gpu-page-faults=true")
        moved = dict(report.rows(f"SELECT copyKind, sum(bytes) FROM {COPY} GROUP BY 1"))
        self.assertGreaterEqual(moved.get(UNIFIED_HTOD, 0), made["bytes"])
        self.assertGreaterEqual(moved.get(UNIFIED_DTOH, 0), made["bytes"])
        self.assertGreater(report.number("CUDA_UM_GPU_PAGE_FAULT_EVENTS"), 0)
        self.assertGreater(report.number("CUDA_UM_CPU_PAGE_FAULT_EVENTS"), 0)

    def test_memory_usage(self):
        report, made = self.case("memory", "--cuda-memory-usage=true")
        table = "CUDA_GPU_MEMORY_USAGE_EVENTS"
        taken = report.rows(f"SELECT bytes, address FROM {table} WHERE memoryOperationType = 0 AND bytes % 1048576 = 0 ORDER BY bytes")
        self.assertEqual([size for size, _ in taken], [(i + 1) << 20 for i in range(made["allocations"])], "sizes of what was taken")
        given = {address for address, in report.rows(f"SELECT address FROM {table} WHERE memoryOperationType = 1")}
        self.assertEqual({address for _, address in taken} - given, set(), "taken and not given back")
        self.assertGreater(report.number(table, f"bytes = {made['pooled']}"), 0, "from the pool")

    def test_events_and_waits(self):
        report, made = self.case("events", "--cuda-event-trace=true")
        self.assertEqual(report.number(EVENT), made["records"])
        for kind, what in ((STREAM_WAIT, "waits"), (EVENT_SYNC, "event_syncs"), (STREAM_SYNC, "stream_syncs"), (CONTEXT_SYNC, "context_syncs")):
            self.assertEqual(report.number(SYNC, f"syncType = {kind}"), made[what], what)
        pairs = report.rows(f"""SELECT DISTINCT e.streamId, w.streamId, count(*) FROM {SYNC} w JOIN {EVENT} e USING (eventId, eventSyncId)
                                WHERE w.syncType = {STREAM_WAIT} GROUP BY 1, 2""")
        self.assertEqual(len(pairs), 1, f"one stream waits for one other: {pairs}")
        self.assertNotEqual(pairs[0][0], pairs[0][1])
        self.assertEqual(pairs[0][2], made["waits"])
        priority = report.value("SELECT priority FROM TARGET_INFO_CUDA_STREAM WHERE streamId = ?", pairs[0][1])
        self.assertEqual(priority, -1 & 0xffffffff, "32 bits, as nsys has it")


class Calls(Work):
    def test_every_form_of_launch(self):
        report, made = self.case("forms")
        self.assertEqual(report.kernels(), {"tick": made["kernels"] - made["paired"], "paired": made["paired"]})
        self.assertEqual(report.number(KERNEL, "clusterX = 2"), made["paired"])
        self.assert_whole(report)

    def test_only_the_chosen_calls_once_the_first_kernel_is_done(self):
        report, made = self.case("queries")
        self.assertEqual(report.number(KERNEL), made["kernels"])
        recorded = report.cuda_calls().get("cudaGetDevice", 0)
        self.figure("calls of cudaGetDevice recorded, of 50 and 1000", recorded)
        self.assertGreaterEqual(recorded, made["before"])
        self.assertLess(recorded, made["after"])

    def test_all_calls(self):
        report, made = self.case("queries", "--cuda-trace-all-apis=true")
        self.assertEqual(report.cuda_calls().get("cudaGetDevice", 0), made["before"] + made["after"])

    def test_a_call_that_fails(self):
        report, made = self.case("error")
        results = report.rows(f"SELECT returnValue FROM {CALL} JOIN StringIds ON id = nameId WHERE value LIKE 'cudaMemcpy%'")
        self.assertEqual(results, [(made["result"],)])
        self.assertNotEqual(made["result"], 0)


class Ranges(Work):
    """-c cudaProfilerApi."""

    def check(self, end, ranges):
        report, made = self.case("range", "-c", "cudaProfilerApi", f"--capture-range-end={end}")
        self.assertEqual(report.number(KERNEL), ranges * made["each"])
        self.assertEqual(report.number("TACHO_RANGE"), ranges)

    def test_stop(self):
        self.check("stop", 1)

    def test_repeat_twice(self):
        self.check("repeat:2", 2)

    def test_repeat(self):
        self.check("repeat", 3)

    def test_none(self):
        report, made = self.case("range", "-c", "cudaProfilerApi", "--capture-range-end=none")
        self.assertEqual(report.number(KERNEL), made["kernels"] - 10)  # all but those before the first range

    def test_never(self):
        report, made = self.case("return", "-c", "cudaProfilerApi")
        self.assertEqual((made["kernels"], report.number(KERNEL)), (1000, 0))


class Backtraces(Work):
    def test_chains_are_stored(self):
        report, _ = self.case("copies", "--cudabacktrace=memory:0")
        with_chain = report.number(CALL, "callchainId IS NOT NULL AND callchainId != 0")
        self.assertGreaterEqual(with_chain, 3 + 5 + 7 + 11)
        self.assertGreater(report.number("CUDA_CALLCHAINS"), 0)


if __name__ == "__main__":
    gpulib.main()
