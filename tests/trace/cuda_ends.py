"""However a process ends, no record that CUPTI had delivered is lost, nobody crashes and nobody hangs. On the stand-ins of CUDA."""
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests", "fake"))
import fakelib
import lib


def accounted(report):
    """Kernels that are in the report, and launches of which it says that their kernel is not."""
    return sum(fakelib.kernels(report).values()) + fakelib.findings(report).get("launch-without-kernel", 0)


class Ends(fakelib.Case):
    def test_ways_out_that_wait_for_the_records(self):
        for ending, status in (("return", 0), ("exit", 3), ("_exit", 4), ("quick_exit", 5)):
            with self.subTest(ending=ending):
                report = self.cuda("cuda_end", ending, 100, status=status)
                self.assertEqual(fakelib.kernels(report), {"work": 100})
                self.assertEqual(fakelib.findings(report).get("launch-without-kernel", 0), 0)

    def test_ways_out_that_do_not(self):
        """What CUPTI had written is there, and what it had not is said to be missing."""
        for ending, status in (("abort", -signal.SIGABRT), ("segfault", -signal.SIGSEGV)):
            with self.subTest(ending=ending):
                self.assertEqual(accounted(self.cuda("cuda_end", ending, 100, status=status)), 100)

    def test_last_thread_of_the_program_ends(self):
        """pthread_exit() ends a process in which only our thread and CUPTI's are left."""
        self.assertEqual(fakelib.kernels(self.cuda("cuda_end", "pthread_exit", 10, timeout=lib.PATIENCE)), {"work": 10})

    def test_user_and_group_are_changed_in_a_program_with_threads(self):
        """libc signals every thread for it, our own too, and waits for their answers."""
        self.assertEqual(fakelib.kernels(self.cuda("cuda_end", "set-ids", 10, timeout=lib.PATIENCE)), {"work": 10})

    def test_ways_out_without_preload(self):
        for ending, status in (("return", 0), ("exit", 3)):
            with self.subTest(ending=ending):
                report = self.cuda("cuda_end", ending, 100, status=status, options=["--preload=no"])
                self.assertEqual(fakelib.kernels(report), {"work": 100})
        for ending, status in (("_exit", 4), ("quick_exit", 5), ("abort", -signal.SIGABRT)):
            with self.subTest(ending=ending):
                self.assertEqual(accounted(self.cuda("cuda_end", ending, 100, status=status, options=["--preload=no"])), 100)

    def test_work_after_the_flush_at_exit(self):
        """A handler that was registered before CUDA came to life runs after ours."""
        report = self.cuda("cuda_end", "atexit", 10, status=3)
        self.assertEqual(fakelib.kernels(report)["work"], 10)
        self.assertEqual(accounted(report), 13)

    def test_daemon_threads_still_launch(self):
        """Also where CUPTI keeps a buffer for as long as the GPU works at something in it."""
        for ending, status in (("daemons", 6), ("daemons-return", 0)):
            for reserve in (0, 1):
                with self.subTest(ending=ending, reserve=reserve):
                    report = self.cuda("cuda_end", ending, 10, status=status, settings={"reserve": reserve})
                    self.assertEqual(fakelib.kernels(report)["work"], 10)

    def test_kernel_that_does_not_end(self):
        """The report says that one launch has no kernel; nobody waits a minute for it."""
        for reserve in (0, 1):
            with self.subTest(reserve=reserve):
                report = self.cuda("cuda_end", "running", 10, timeout=lib.PATIENCE, settings={"reserve": reserve})
                kernels = fakelib.kernels(report)
                self.assertEqual(kernels["work"], 10)
                self.assertEqual(kernels.get("unfinished", 0) + fakelib.findings(report).get("launch-without-kernel", 0), 1)

    def test_cupti_that_hangs(self):
        """Its flush never comes back: the program ends all the same, and what was in the buffers is recovered."""
        report = self.cuda("cuda_end", "hang", 10)
        self.assertEqual(self.said[-1], {"what": "end"})
        self.assertEqual(fakelib.kernels(report), {"work": 10})

    def test_cupti_that_hangs_after_many_ranges(self):
        """Each of them has its own handler of exit(); all together they wait for CUPTI no longer than one does."""
        report = self.cuda("cuda_end", "hang-after-ranges", 1, timeout=lib.PATIENCE, options=["-c", "cudaProfilerApi", "--capture-range-end=repeat"])
        self.assertEqual(fakelib.kernels(report), {"in_range": 40})

    def test_buffers_given_back_late(self):
        """The worker thread of CUPTI's is still at it while the program ends."""
        report = self.cuda("cuda_end", "return", 100, settings={"late_ms": 50})
        self.assertEqual(fakelib.kernels(report), {"work": 100})


class Killed(fakelib.Case):
    def test_delivered(self):
        """20000 kernels fill some buffers; all that CUPTI had written is in the report, whether it was given back or not."""
        report = self.cuda("cuda_end", "kill", 20000, status=-signal.SIGKILL, settings={"duration_ns": 200})
        self.assertGreater(self.counters()["completions"], 0)
        self.assertEqual(fakelib.kernels(report), {"work": 20000})

    def test_not_delivered(self):
        """Buffers that CUPTI never gave back are walked to where they end, and said to be recovered."""
        report = self.cuda("cuda_end", "kill", 300, status=-signal.SIGKILL, settings={"hold": 1})
        self.assertEqual(self.counters()["completions"], 0)
        self.assertEqual(report.value("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL"), 300)
        self.assertGreaterEqual(report.count("cuda", "recorded", "recovered"), 300)


    def killed(self, completions, **settings):
        """Kernels in the report, and the counters of the stand-ins, of a program that was killed after so many buffers had been given back."""
        values = fakelib.Values(self.path(f"values-{completions}"))
        environment = self.environment({"duration_ns": 500, **settings}, TACHO_FAKE_VALUES=values.path)
        tacho = subprocess.Popen(self.command(lib.program("cuda_end"), "for-ever", options=["-t", "cuda"]), env=environment, cwd=self.folder,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        lib.until(lambda: values["completions"] >= completions, "CUPTI has given buffers back")
        os.kill(lib.program_of(tacho.pid), signal.SIGKILL)
        tacho.communicate(timeout=lib.PATIENCE)
        self.assertEqual(tacho.returncode, -signal.SIGKILL)
        return self.report(), values

    def test_at_any_moment(self):
        """Four threads launch without end. No kernel that was given back is missing, and those in buffers that CUPTI still had are recovered."""
        for completions in range(1, 31, 3):
            with self.subTest(completions=completions):
                report, values = self.killed(completions)
                found = sum(fakelib.kernels(report).values())
                self.assertGreaterEqual(found, values["delivered_kernels"])
                self.assertLessEqual(abs(found - values["recorded_kernels"]), 1, "the last may have been written and not counted")

    def test_records_without_their_end(self):
        """CUPTI may give a record its place when the kernel is launched, and its times later: such a record is no kernel yet."""
        for completions in range(2, 22, 4):
            with self.subTest(completions=completions):
                report, values = self.killed(completions, reserve=1)
                found = sum(fakelib.kernels(report).values())
                self.assertGreaterEqual(found, values["delivered_kernels"])
                self.assertLessEqual(abs(found - values["recorded_kernels"]), 1)
                if fakelib.kernels(report):
                    self.assertGreater(report.value("SELECT min(start) FROM CUPTI_ACTIVITY_KIND_KERNEL"), 0)
                    self.assertEqual(report.value("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE end < start"), 0)


class Trees(fakelib.Case):
    def test_fork_before_cuda(self):
        report = self.cuda("cuda_end", "fork-before", 20)
        self.assertEqual(fakelib.kernels(report), {"parent": 20, "child": 20})
        rows = dict(report.rows("SELECT value, (globalPid >> 24) & 0xFFFFFF FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON id = mangledName GROUP BY value"))
        self.assertEqual(rows, {line["name"]: line["pid"] for line in self.truth("launched")})

    def test_fork_after_cuda(self):
        """The child cannot use CUDA, and learns that from CUDA; the parent is not disturbed."""
        report = self.cuda("cuda_end", "fork-after", 20)
        self.assertEqual(self.truth("child")[0]["result"], 3)
        self.assertEqual(self.truth("child status")[0]["status"], 0)
        self.assertEqual(fakelib.kernels(report), {"parent": 40})

    def test_other_programs_are_started(self):
        report = self.cuda("cuda_end", "spawn", 20)
        self.assertEqual(fakelib.kernels(report), {"work": 40})

    def test_exec(self):
        report = self.cuda("cuda_end", "exec", 20)
        self.assertEqual(fakelib.kernels(report), {"work": 27})

    def test_two_processes_of_a_shell(self):
        program = lib.program("cuda_end")
        report = self.profile("sh", "-c", f"{program} return 5 & {program} _exit 6; wait", options=["-t", "cuda"], env=self.environment())
        self.assertEqual(fakelib.kernels(report), {"work": 11})
        self.assertEqual(report.value("SELECT count(DISTINCT globalPid) FROM CUPTI_ACTIVITY_KIND_KERNEL"), 2)


    def test_another_pid_namespace(self):
        """The program calls itself by another number than we do: its records bear ours."""
        self.need_root()
        inside = ("unshare", "-p", "-f", "--mount-proc")
        if subprocess.run([*inside, "true"], capture_output=True).returncode != 0:
            self.skipTest("cannot make a PID namespace")
        report = self.profile(*inside, lib.program("cuda_end"), "return", "20", options=["-t", "cuda"], env=self.environment())
        self.assertEqual(fakelib.kernels(report), {"work": 20})
        process, = report.rows("SELECT DISTINCT globalPid FROM TACHO_PROCESS WHERE exe LIKE '%/cuda_end'")
        self.assertEqual(report.rows("SELECT DISTINCT globalPid FROM CUPTI_ACTIVITY_KIND_KERNEL"), [process])
        threads = report.rows("SELECT DISTINCT globalTid FROM CUPTI_ACTIVITY_KIND_RUNTIME")
        self.assertEqual(len(threads), 1)
        self.assertEqual(threads[0][0] >> 24 << 24, process[0])
        self.assertIn(threads[0], report.rows("SELECT globalTid FROM TACHO_THREAD"))


if __name__ == "__main__":
    fakelib.main()
