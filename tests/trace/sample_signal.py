"""Samples by timers, where perf events are refused: the program prints the same as without us, whatever use it has for the signal, and the
report says why there are no samples."""
import resource
import subprocess
import sys

import lib


class Signal(lib.Case):
    samples = True

    def run_mode(self, mode, **more):
        program = lib.program("sample_signal")
        bare = subprocess.run([program, mode], capture_output=True, text=True, check=True)
        report = self.profile(program, mode, options=["-t", "none"], **{"preexec_fn": lib.refuse_perf_events, **more})
        self.assertEqual(self.output.stdout, bare.stdout)
        self.taken = report.value("SELECT count(*) FROM COMPOSITE_EVENTS") if report.has("COMPOSITE_EVENTS") else 0
        self.text = " ".join(text for text, in report.rows("SELECT text FROM DIAGNOSTIC_EVENT"))
        return report

    def test_a_program_that_takes_it(self):
        for mode, threads in (("handle", 5), ("ignore", 1), ("wait", 1), ("file", 1)):
            with self.subTest(mode):
                report = self.run_mode(mode)
                self.assertEqual(report.count("samples", "unsampled-threads", "signal-taken"), threads)
                self.assertIn("started to use SIGURG", self.text)
                self.assertEqual(self.text.count("SIGURG"), 1, "told once")

    def test_a_program_that_was_started_with_it_ignored(self):
        ignoring = f"trap '' URG; exec {lib.program('sample_signal')} coroutines"
        report = self.profile("sh", "-c", ignoring, options=["-t", "none"], preexec_fn=lib.refuse_perf_events)
        self.assertEqual(report.count("samples", "unsampled-threads", "signal-taken"), 2, "the shell, and the program")
        texts = [text for text, in report.rows("SELECT text FROM DIAGNOSTIC_EVENT")]
        self.assertTrue(any("No CPU samples: the program uses SIGURG" in text for text in texts), texts)

    def test_a_program_that_only_looks(self):
        for mode in ("default", "suspend"):
            with self.subTest(mode):
                self.assertEqual(self.run_mode(mode).count("samples", "unsampled-threads"), 0)
                self.assertNotIn("SIGURG", self.text)
        self.run_mode("default")
        self.assertGreater(self.taken, 5)

    def test_small_stacks(self):
        for mode in ("coroutines", "threads"):
            with self.subTest(mode):
                self.run_mode(mode)
                self.assertGreater(self.taken, 5)

    def test_alternate_stacks(self):
        """A thread is sampled whatever alternate stack it has set, be it too small for any handler."""
        report = self.run_mode("stacks")
        self.assertEqual(report.count("samples", "unsampled-threads"), 0)
        tids = [tid for tid, in report.rows("SELECT DISTINCT globalTid FROM COMPOSITE_EVENTS")]
        self.assertGreaterEqual(len(tids), 3, "the first thread only waits")

    def test_timers_leave_half_of_the_signals_to_the_program(self):
        """A program of many threads can still have timers of its own: the agent takes at most half of what the user may have.

        The limit counts for all processes of a user, so what the program itself gets depends on the tests that run
        beside this one. The kernel's list of the process's timers does not."""
        program = """if True:
            import ctypes, threading
            libc, over, own = ctypes.CDLL(None), threading.Event(), 0
            threads = [threading.Thread(target=over.wait) for _ in range(400)]
            for thread in threads:
                thread.start()
            timer = ctypes.c_void_p()
            while libc.timer_create(1, None, ctypes.byref(timer)) == 0:
                own += 1
            with open("/proc/self/timers") as timers:
                print(own, sum(line.startswith("ID:") for line in timers))
            over.set()"""
        most = 600

        def circumstances():
            resource.setrlimit(resource.RLIMIT_SIGPENDING, (most, most))
            lib.refuse_perf_events()

        report = self.profile(sys.executable, "-c", program, options=["-t", "none"], preexec_fn=circumstances)
        own, every = map(int, self.output.stdout.split())
        self.assertGreater(own, 0)
        self.assertGreater(every - own, 0, "threads are sampled")
        self.assertLessEqual(every - own, most // 2)
        self.assertGreater(report.count("samples", "unsampled-threads", "no-timer"), 0)
        self.assertTrue(report.rows("SELECT text FROM DIAGNOSTIC_EVENT WHERE text LIKE '%ulimit -i%'"))

    def test_timers_that_are_refused(self):
        """A timer takes one of the signals that a user may have waiting."""
        def limit():
            resource.setrlimit(resource.RLIMIT_SIGPENDING, (0, 0))
            lib.refuse_perf_events()
        report = self.run_mode("threads", preexec_fn=limit)
        self.assertEqual(self.taken, 0)
        self.assertEqual(report.count("samples", "unsampled-threads", "no-timer"), 1 + 40 + 1 + 4)
        self.assertIn("ulimit -i", self.text)


if __name__ == "__main__":
    lib.main()
