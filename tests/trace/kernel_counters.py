"""Counters of kernels equal what the stand-in's range profiler counted for them, launch by launch; the program and its report are whole whatever
CUPTI answers."""
import csv
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests", "fake"))
import fakelib
import lib

HELPER = os.path.join(os.environ["HELPERS"], "tacho-gpu")
VALUES = """SELECT k.launchId, s.value, m.name, v.value FROM TACHO_KERNEL_COUNTERS k JOIN TACHO_KERNEL_COUNTER_VALUES v ON v.kernelId = k.id
            JOIN TACHO_METRICS m ON m.id = v.metricId JOIN StringIds s ON s.id = k.shortName ORDER BY k.launchId, v.metricId"""


SEVERAL = "light,sm__throughput.avg.pct_of_peak_sustained_elapsed,odd__things.sum"  # more than the stand-in counts in one pass


FIVE = "sm__inst_executed.sum,sm__inst_executed.avg,sm__cycles_active.avg,sm__cycles_active.sum,sm__warps_active.avg"  # of one unit: two passes


class Counters(fakelib.Case):
    samples = False
    waits_in_callbacks = True

    def capture(self, *arguments, counters="light", ranges="", options=(), settings=None, free_share=90, **more):
        variables = {"TACHO_GPU_HELPER": HELPER, "TACHO_CUPTI": fakelib.cupti("13.0"), "FAKE_RANGES": ranges}
        return self.cuda("cuda_work", *arguments, options=[f"--gpu-counters={counters}", *options], variables=variables,
                         settings={"nested": 1, "free_share": free_share, **(settings or {})}, **more)  # the driver's launches are counted, inside of the runtime's

    def has_processes(self, group):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return False
        return True

    def names(self):
        return [row["name"] for row in self.truth("kernel")]

    def check_values(self, report):
        """The counters of the N-th counted kernel are 1000 * (N + 1) and the number of the metric: see fake/cupti_ranges.c."""
        metrics = [name for name, in report.rows("SELECT name FROM TACHO_METRICS ORDER BY id")]
        rows = report.rows(VALUES)
        kernels = report.rows("SELECT launchId FROM TACHO_KERNEL_COUNTERS ORDER BY launchId")
        self.assertGreater(len(metrics), 1)
        expected = [(launch, metric, 1000 * (launch + 1) + i) for launch, in kernels for i, metric in enumerate(metrics)]
        found = [(launch, metric, value) for launch, _, metric, value in rows]
        self.assertEqual([], [pair for pair in zip(expected, found) if pair[0] != pair[1]][:3])  # assertEqual() compares long lists for minutes
        self.assertEqual(len(expected), len(found))

    def diagnostics(self, report):
        return [text for text, in report.rows("SELECT text FROM DIAGNOSTIC_EVENT")] if report.has("DIAGNOSTIC_EVENT") else []

    def test_one_pass(self):
        report = self.capture("kernels")
        self.check_values(report)
        rows = report.rows("""SELECT s.value, a.correlationId, k.passes, k.replayMode, k.gridX = a.gridX, k.blockX = a.blockX, k.streamId = a.streamId
                              FROM TACHO_KERNEL_COUNTERS k JOIN CUPTI_ACTIVITY_KIND_KERNEL a USING (correlationId)
                              JOIN StringIds s ON s.id = a.mangledName ORDER BY launchId""")
        self.assertEqual(self.names(), [row[0] for row in rows])
        self.assertEqual({(1, None, 1, 1, 1)}, {row[2:] for row in rows})
        self.assertEqual([row["correlation"] for row in self.truth("kernel")], [row[1] for row in rows])
        self.assertEqual(len(self.truth("kernel")), report.value("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL"))
        self.assertEqual([], self.diagnostics(report))
        said = self.output.stderr
        self.assertIn(f"kernel counters {len(rows)};", said)
        self.assertRegex(said, r"(?m)^  next:   \S+ stats -r kernel_speed_of_light ")
        self.assertRegex(" ".join(said.split()), "kernels were counted one at a time, so times tell little")
        self.assertNotIn("what to change first", said)

    def test_replay(self):
        """Several passes: CUPTI traces nothing then, and kernels have the counted duration, ended before their launch returned."""
        report = self.capture("kernels", counters=SEVERAL)
        self.check_values(report)
        rows = report.rows("""SELECT s.value, a.end - a.start, k.passes, k.replayMode, a.gridX, a.blockX, a.dynamicSharedMemory,
                                     a.registersPerThread, a.staticSharedMemory FROM TACHO_KERNEL_COUNTERS k JOIN CUPTI_ACTIVITY_KIND_KERNEL a USING (correlationId)
                              JOIN StringIds s ON s.id = a.mangledName ORDER BY launchId""")
        self.assertEqual(self.names(), [row[0] for row in rows])
        self.assertEqual([1000 * (i + 1) for i in range(len(rows))], [row[1] for row in rows])
        self.assertTrue(all(passes > 1 and mode == "kernel" for _, _, passes, mode, *_ in rows))
        shapes = [(row["grid"][0], row["block"][0], row["shared"]) for row in self.truth("kernel")]
        self.assertEqual(shapes, [row[4:7] for row in rows])
        self.assertEqual([(max(16, row["registers"]), row["static"]) for row in self.truth("kernel")], [row[7:] for row in rows])

    def test_several_passes_without_replay(self):
        """The program runs once: what one run cannot count is refused, not counted by half."""
        report = self.capture("kernels", counters=SEVERAL, options=["--gpu-counters-replay=application"])
        self.assertFalse(report.has("TACHO_KERNEL_COUNTERS"))
        self.assertRegex("".join(self.diagnostics(report)), r"need \d+ passes, and the program runs once")

    def ncu(self, *arguments, metrics, program="cuda_work", options=()):
        environment = self.environment({"nested": 1}, TACHO_GPU_HELPER=HELPER, TACHO_CUPTI=fakelib.cupti("13.0"), TMPDIR=self.folder)
        command = [os.environ["TACHO"], "ncu", "--replay-mode", "application", "--cache-control", "none", "--metrics", metrics, *options,
                   lib.program(program), *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True)

    def test_a_run_for_each_pass(self):
        """Five counters of a unit need two passes of the stand-in: in each run, counters have the values that this run's configuration gives them."""
        five = FIVE.split(",")
        path = os.path.join(self.folder, "runs.tacho")
        done = self.ncu("launch", "a", "b", metrics=FIVE, options=["-o", path])
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn("the program runs 2 times", done.stderr)
        self.assertEqual(4, sum("\"what\": \"kernel\"" in line for line in done.stdout.splitlines()))
        report = self.report(path)
        rows = report.rows(VALUES)
        self.assertEqual({(launch, name) for launch in (0, 1) for name in "ab" if name == "ab"[launch]}, {row[:2] for row in rows})
        self.assertEqual({name: 2 for name in five}, {name: sum(row[2] == name for row in rows) for name in five})
        self.assertEqual([("GH100", "application")], report.rows("SELECT DISTINCT chip, replayMode FROM TACHO_METRICS, TACHO_KERNEL_COUNTERS"))
        self.assertEqual({0: 1, 1: 2}, {launch: int(value) // 1000 for launch, _, _, value in rows})
        self.assertFalse([name for name in os.listdir(self.folder) if name.startswith("tacho-ncu-")])

    def notes(self, *options):
        environment = self.environment({"nested": 1, "free_share": 90}, TACHO_GPU_HELPER=HELPER, TACHO_CUPTI=fakelib.cupti("13.0"), TMPDIR=self.folder)
        command = [os.environ["TACHO"], "ncu", "--csv", *options, lib.program("cuda_work"), "kernels"]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stderr

    def test_notes(self):
        """Of caches only where kernels run several times; of launches that no filter lets through, which they are."""
        several = SEVERAL.removeprefix("light,")
        self.assertEqual("", self.notes("--set", "light"))
        caches = "caches are not flushed between passes, unlike ncu's default; --cache-control none hides this note"
        self.assertIn(caches, self.notes("--set", "light", "--metrics", several))
        self.assertNotIn("flushed", self.notes("--set", "light", "--metrics", several, "--cache-control", "none"))
        said = self.notes("--set", "light", "-k", "regex:nothing")
        self.assertRegex(said, r"^tacho ncu: no kernel was counted: \d+ launches, none matched: \w+(, \w+)*(, …)?\n$")
        self.assertIn("CUDA has no GPU 5 here.", self.notes("--set", "light", "--devices", "5"))

    def test_pages(self):
        """ncu's page has what was asked for, and nothing else: the sections, or the metrics in a section of their own. So it has when it is printed later."""
        named = "Command line profiler metrics"
        for counters, sections, labels in (
                (["--metrics", "sm__inst_executed.sum"], [named], ["sm__inst_executed.sum"]),
                (["--metrics", "sm__inst_executed.sum,sm__cycles_active"], [named], ["sm__inst_executed.sum", *[f"sm__cycles_active.{end}" for end in ("avg", "max", "min", "sum")]]),
                ([], ["GPU Speed Of Light Throughput", "Launch Statistics", "Occupancy", "GPU and Memory Workload Distribution"], None),
                (["--set", "light"], ["Light Counters"], None)):
            with self.subTest(counters):
                environment = self.environment({"nested": 1}, TACHO_GPU_HELPER=HELPER, TACHO_CUPTI=fakelib.cupti("13.0"), TMPDIR=self.folder)
                path = os.path.join(self.folder, "page.tacho")
                log = os.path.join(self.folder, "page.csv")
                command = [os.environ["TACHO"], "ncu", "--quiet", "--csv", "-f", "-o", path, "--log-file", log, *counters, "-c", "1", lib.program("cuda_work"), "kernels"]
                subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
                page = open(log).read()
                rows = list(csv.DictReader(page.splitlines()))
                self.assertEqual(sections, list(dict.fromkeys(row["Section Name"] for row in rows)))
                if labels:
                    self.assertEqual(labels, [row["Metric Name"] for row in rows])
                self.assertEqual({("127.0.0.1", "9.0", "cuda_work")}, {(row["Host Name"], row["CC"], row["Process Name"]) for row in rows})
                self.assertEqual(page, subprocess.run([os.environ["TACHO"], "ncu", "--csv", "--import", path], capture_output=True, text=True, check=True).stdout)

    def test_runs_that_differ(self):
        """A program that launches other kernels when it runs again: said, and nothing is mixed."""
        program = os.path.join(self.folder, "other")
        done = self.ncu("once", os.path.join(self.folder, "mark"), metrics=FIVE, options=["-o", program])
        self.assertEqual(1, done.returncode, done.stderr)
        self.assertIn("launched other kernels in run 1 (launch 0 was first_time, not again)", done.stderr)

    def test_the_end_of_several_runs(self):
        """SIGTERM ends the run that is on, or that is about to begin: nothing is left of tacho, and the program runs no more."""
        environment = self.environment({"nested": 1}, TACHO_GPU_HELPER=HELPER, TACHO_CUPTI=fakelib.cupti("13.0"), TMPDIR=self.folder)
        command = [os.environ["TACHO"], "ncu", "--replay-mode", "application", "--metrics", FIVE, lib.program("cuda_work"), "clock", "60000"]
        for seconds in (0, 0.003, 0.3):
            with self.subTest(seconds=seconds):
                running = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, process_group=0)
                while len([name for name in os.listdir(self.folder) if name.startswith("tacho-ncu-")]) < 2:  # of the report, and of the runs
                    self.assertIsNone(running.poll())
                time.sleep(seconds)
                running.terminate()
                said = running.communicate(timeout=lib.PATIENCE)[1]
                self.assertNotEqual(0, running.returncode)
                self.assertIn("signal 15 ended the program in run 1 of 2", said)
                self.assertFalse([name for name in os.listdir(self.folder) if name.startswith("tacho-ncu-")])
                lib.until(lambda: not self.has_processes(running.pid), "the last of them has ended")

    def test_a_report_that_exists(self):
        """It is refused before the program runs the first time, and no folder stays."""
        path = os.path.join(self.folder, "there.tacho")
        with open(path, "w") as file:
            file.write("mine")
        done = self.ncu("launch", "a", metrics=FIVE, options=["-o", path])
        self.assertEqual((1, ""), (done.returncode, done.stdout), done.stderr)
        self.assertIn("there.tacho", done.stderr)
        self.assertFalse([name for name in os.listdir(self.folder) if name.startswith("tacho-ncu-")])

    def test_more_kernels_than_an_image_has_room_for(self):
        report = self.capture("threads", 1, 1200)
        self.check_values(report)
        self.assertEqual(1200, report.value("SELECT count(*) FROM TACHO_KERNEL_COUNTERS"))

    def test_threads_take_turns(self):
        report = self.capture("threads", 4, 60)
        self.check_values(report)
        self.assertEqual(240, report.value("SELECT count(*) FROM TACHO_KERNEL_COUNTERS"))

    def counted(self, report):
        return [name for name, in report.rows("SELECT s.value FROM TACHO_KERNEL_COUNTERS k JOIN StringIds s ON s.id = k.shortName ORDER BY launchId")]

    def with_values(self, report):
        return [name for name, in report.rows("""SELECT s.value FROM TACHO_KERNEL_COUNTERS k JOIN StringIds s ON s.id = k.shortName
                                                 WHERE k.id IN (SELECT kernelId FROM TACHO_KERNEL_COUNTER_VALUES) ORDER BY launchId""")]

    def test_kernels_that_wait_for_others(self):
        """They are counted only if they are named, and the report says how many were not."""
        nccl = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
        report = self.capture("launch", "plain", nccl, nccl, "other")
        self.assertEqual(["plain", "other"], self.counted(report))
        self.assertRegex("".join(self.diagnostics(report)), "Not counted: 2 launches of kernels that wait for others")
        report = self.capture("launch", "plain", nccl, "other", options=[f"--gpu-counters-filter=kernel={nccl}\ncollective=1"])
        self.assertEqual([nccl], self.counted(report))
        self.check_values(report)

    def test_a_launch_that_is_left(self):
        """A handler jumps out of the launch that is being counted, or its thread ends: nobody waits, and counting goes on."""
        for how in ("jump", "thread-end"):
            with self.subTest(how):
                report = self.capture(how)
                self.assertEqual([], [text for text in self.diagnostics(report) if "ten seconds" in text])
                self.assertEqual(["later"] * 3, self.with_values(report)[-3:])
                self.assertEqual({"first": 1, "later": 3}, fakelib.kernels(report), "the launch was not left")

    def test_a_thread_with_the_tid_of_one_that_was_in_a_launch(self):
        """It is not taken for the owner of that launch: not by others, nor by itself."""
        command = ["unshare", "-rpf", "--mount-proc"]
        if subprocess.run([*command, "sh", "-c", "echo 50 >/proc/sys/kernel/ns_last_pid"], stderr=subprocess.DEVNULL).returncode:
            self.skipTest("the next pid cannot be chosen here")
        environment = self.environment({"nested": 1}, TACHO_GPU_HELPER=HELPER, TACHO_CUPTI=fakelib.cupti("13.0"))
        for launches in (0, 1):
            with self.subTest(launches=launches):
                report = self.profile(*command, lib.program("cuda_work"), "same-tid", str(launches), options=["-t", "cuda", "--gpu-counters=light", "--cuda-flush-interval=60000"],
                                      env=environment)
                self.assertEqual([], [text for text in self.diagnostics(report) if "ten seconds" in text])
                self.assertEqual(["later"] * 3, self.with_values(report)[-3:])

    def test_kernels_that_wait_for_each_other(self):
        """While a kernel is counted on a GPU, launches on another GPU that are not counted do not wait for it."""
        report = self.capture("meeting", settings={"devices": 2}, options=["--gpu-counters-filter=device=0"])
        self.assertEqual(["first", "waits", "last"], self.counted(report))
        self.check_values(report)
        self.assertEqual([], self.diagnostics(report))

    def test_gpus_with_different_chips(self):
        """Counters are those of the chip of the first GPU that the program sees and the filter lets through; launches on others are told."""
        variables = {"TACHO_GPU_HELPER": HELPER, "TACHO_CUPTI": fakelib.cupti("13.0"), "FAKE_CHIP": "GV100,GH100"}
        settings = {"nested": 1, "devices": 2}
        # The stand-in counts in one context of a process.
        for more, chip, counted, others in (([], "GV100", ["on_0"], 1), (["--gpu-counters-filter=device=1"], "GH100", ["on_1"], 0),
                                            (["--env-var=CUDA_VISIBLE_DEVICES=1"], "GH100", ["on_0"], 0)):
            with self.subTest(more):
                report = self.cuda("cuda_work", "devices", options=["--gpu-counters=light", *more], settings=settings, variables=variables)
                self.assertEqual([chip], [name for name, in report.rows("SELECT DISTINCT chip FROM TACHO_METRICS")])
                self.assertEqual(counted, self.counted(report))
                self.check_values(report)
                said = [text for text in self.diagnostics(report) if "another chip" in text]
                self.assertEqual(others, len(said), said)

    def test_a_process_that_is_killed(self):
        """Its kernels are in the report, without counters; that is said."""
        report = self.capture("killed", counters=SEVERAL, status=-9)
        self.assertEqual(["unfinished"] * 5, self.counted(report))
        self.assertRegex("".join(self.diagnostics(report)), "5 kernels have no counters: the process ended")

    def test_images_may_become_too_large(self):
        """An image of the stand-in has 512 * 9 * 96 bytes."""
        report = self.capture("threads", 1, 1200, options=["--gpu-counters-max-size=1000K"])
        self.check_values(report)
        self.assertEqual(1024, report.value("SELECT count(*) FROM TACHO_KERNEL_COUNTERS"))
        self.assertRegex("".join(self.diagnostics(report)), "more space in /tmp than they may")
        self.assertEqual(1200, report.value("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL"))

    def test_processes_with_the_same_pid(self):
        """In namespaces of their own, two processes have pid 1: each kernel has the counters of its own process."""
        if subprocess.run(["unshare", "-rpf", "true"], stderr=subprocess.DEVNULL).returncode:
            self.skipTest("there are no pid namespaces here")
        program = lib.program("cuda_work")
        environment = self.environment({"nested": 1}, TACHO_GPU_HELPER=HELPER, TACHO_CUPTI=fakelib.cupti("13.0"))
        report = self.profile("/bin/sh", "-c", f"unshare -rpf {program} launch a b c & unshare -rpf {program} launch d e & wait",
                              options=["-t", "cuda", "--gpu-counters=light"], env=environment)
        rows = report.rows("""SELECT s.value, k.launchId, v.value FROM TACHO_KERNEL_COUNTERS k JOIN StringIds s ON s.id = k.shortName
                              JOIN TACHO_KERNEL_COUNTER_VALUES v ON v.kernelId = k.id WHERE v.metricId = 0 ORDER BY 1""")
        self.assertEqual([("a", 0, 1000), ("b", 1, 2000), ("c", 2, 3000), ("d", 0, 1000), ("e", 1, 2000)], rows)

    def test_ranges(self):
        """Push/pop ranges count for launches of their own thread, start/end ranges for all; any of those that are included, none that is excluded."""
        everything = ["before", "a1", "ab", "thread_a", "a2", "s", "thread_s", "own_a", "profiled_1", "profiled_2", "profiled_3", "after"]
        variables = {"TACHO_GPU_HELPER": HELPER, "TACHO_CUPTI": fakelib.cupti("13.0")}
        for rules, wanted in ((["ip\tA"], ["a1", "ab", "a2"]), (["is\tS"], ["s", "thread_s"]), (["ipown\tA"], ["own_a"]), (["is\tA"], []),
                              (["ip\tA", "is\tS"], ["a1", "ab", "a2", "s", "thread_s"]), (["ip\tA", "ep\tB"], ["a1", "a2"]),
                              (["ep\tA"], [name for name in everything if name not in ("a1", "ab", "a2")]), (["ip\tA", "n2"], ["a2"]),
                              (["ip\tA", "ep\tB", "n1-3,7"], ["a1", "a2"])):
            with self.subTest(rules):
                options = [option for rule in rules for option in ("--gpu-counters-range", rule)]
                report = self.cuda("cuda_ranges", source="cuda,nvtx", options=["--gpu-counters=light", *options], variables=variables,
                                   settings={"nested": 1})
                self.assertEqual(wanted, self.counted(report) if report.has("TACHO_KERNEL_COUNTERS") else [])
                self.assertEqual(len(everything), report.value("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL"))
        capture = ["--capture-range=cudaProfilerApi", "--capture-range-end=repeat"]
        for rules, wanted in ((["c2"], ["profiled_2"]), (["c1,3-4"], ["profiled_1", "profiled_3"])):
            with self.subTest(rules):
                options = [option for rule in rules for option in ("--gpu-counters-range", rule)]
                report = self.cuda("cuda_ranges", source="cuda,nvtx", options=["--gpu-counters=light", *capture, *options], variables=variables,
                                   settings={"nested": 1})
                self.assertEqual(wanted, self.counted(report))

    def test_metrics_name_their_chip(self):
        report = self.capture("kernels")
        self.assertEqual(["GH100"], [chip for chip, in report.rows("SELECT DISTINCT chip FROM TACHO_METRICS")])

    def test_graphs_are_left_alone(self):
        report = self.capture("graph")
        self.assertRegex("".join(self.diagnostics(report)), "Not counted: 2 launches while a stream was captured")
        self.check_values(report)
        self.assertEqual([("no_node",)], report.rows("SELECT s.value FROM TACHO_KERNEL_COUNTERS k JOIN StringIds s ON s.id = k.shortName"))
        self.assertIn("CUDA graphs", "".join(self.diagnostics(report)))

    def test_a_profiler_that_failed_is_disabled(self):
        """After an image that cannot be decoded, a graph follows: the stand-in crashes in one while its profiler is enabled."""
        report = self.capture("graph", ranges="decode=999", options=["--gpu-counters-filter=count=1\nfilter-mode=per-launch-config"])
        self.assertEqual(1, sum("Kernels are not counted" in text for text in self.diagnostics(report)))

    def test_a_graph_beside_a_refusal(self):
        """Until the profiler is disabled, graphs of other threads wait for that: the stand-in crashes in one that does not."""
        report = self.capture("graph-beside", ranges="start=7", settings={"disable_ms": 300})
        self.assertEqual(1, sum("Kernels are not counted" in text for text in self.diagnostics(report)))
        self.assertEqual(1, len(self.truth("graph")))

    def test_an_image_that_is_refused(self):
        """The stand-in, which has the image before it, still writes into that when it is disabled."""
        report = self.capture("threads", 1, 600, ranges="config=8")
        self.check_values(report)
        self.assertEqual(512, report.value("SELECT count(*) FROM TACHO_KERNEL_COUNTERS"))
        self.assertEqual(1, sum("Kernels are not counted" in text for text in self.diagnostics(report)))
        self.assertEqual(600, report.value("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL"))

    def test_a_lost_range_is_no_guess(self):
        report = self.capture("kernels", ranges="lose")
        self.assertFalse(report.has("TACHO_KERNEL_COUNTER_VALUES") and report.rows(VALUES))
        self.assertIn("another number of kernels", "".join(self.diagnostics(report)))

    def test_refusals(self):
        """CUPTI's reason is said once, and all else is recorded."""
        for ranges, sentence in (("refuse=35", "RmProfilingAdminOnly|NVreg_RestrictProfilingToAdminUsers"), ("refuse=40", "virtual"), ("start=7", "Another profiler")):
            with self.subTest(ranges):
                report = self.capture("kernels", ranges=ranges)
                said = [text for text in self.diagnostics(report) if "not counted" in text]
                self.assertEqual(1, len(said), said)
                self.assertRegex(said[0], sentence)
                self.assertEqual(len(self.truth("kernel")), report.value("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL"))

    def test_no_room_for_replay(self):
        """More memory is in use than can be copied: a replay would never end. One pass copies nothing."""
        report = self.capture("kernels", counters=SEVERAL, free_share=10)
        self.assertFalse(report.has("TACHO_KERNEL_COUNTERS"))
        self.assertEqual(1, sum("room for the copy" in text for text in self.diagnostics(report)))
        self.check_values(self.capture("kernels", free_share=10))

    def test_without_cupti_of_12_6(self):
        variables = {"TACHO_GPU_HELPER": HELPER, "TACHO_CUPTI": fakelib.cupti("12.4")}
        report = self.cuda("cuda_work", "kernels", options=["--gpu-counters=light"], variables=variables)
        self.assertIn("12.6", "".join(self.diagnostics(report)))
        self.assertEqual(len(self.truth("kernel")), report.value("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL"))

    def test_nothing_is_left_behind(self):
        """Nor where this capture had its counters: others may run beside it."""
        variables = {"TACHO_GPU_HELPER": HELPER, "TACHO_CUPTI": fakelib.cupti("13.0")}
        program = f'folder=$(dirname "${{TACHO_SESSION##*:}}"); {lib.program("cuda_work")} kernels >/dev/null; ls "$folder"; echo "$folder"'
        report = self.profile("sh", "-c", program, options=["-t", "cuda", "--gpu-counters=light"], env=self.environment({"nested": 1, "free_share": 90}, **variables))
        *names, folder = self.output.stdout.splitlines()
        self.check_values(report)
        self.assertIn("counters", names)
        self.assertFalse(os.path.exists(folder))


if __name__ == "__main__":
    lib.main()
