"""The collector killed or stopped at random moments, at many more with TACHO_TEST_ALL: the program runs on
to its normal end, and the file opens. Both killed at once: what was recorded up to a second before is in the report."""
import mmap
import os
import random
import signal
import struct
import subprocess
import time

import lib

SEED = 20261115
MOMENTS = 3 if lib.SANITIZE else 30 if lib.ALL else 4  # with a sanitizer they take longer, and fewer will do
MOMENTS_OF_BOTH = 2 if lib.SANITIZE else 18 if lib.ALL else 3
LOSS_NS = 30_000_000_000 if lib.SANITIZE else 1_000_000_000  # the promise is for the real thing
OUTPUT = "late thread\nlate process\nnormal end\n"
THREADS = 2
LOG_ENTRIES = 4096
WORDS = 2 + 2 * THREADS + 2 * THREADS * LOG_ENTRIES
TEXTS = ("range of zero", "range of one")


class Truth:
    def __init__(self, path):
        with open(path, "wb") as file:
            file.write(bytes(WORDS * 8))
        with open(path, "r+b") as file:
            self.map = mmap.mmap(file.fileno(), WORDS * 8)

    def word(self, index):
        return struct.unpack_from("=Q", self.map, index * 8)[0]

    pid = property(lambda self: self.word(0))

    def stop(self):
        struct.pack_into("=Q", self.map, 8, 1)

    def done(self, thread):
        return self.word(2 + thread)

    def done_at(self, thread, monotonic_ns):
        """How many ranges the thread had surely finished at that time."""
        best = 0
        for entry in range(self.word(2 + THREADS + thread)):
            at = 2 + 2 * THREADS + 2 * (thread * LOG_ENTRIES + entry)
            if self.word(at) <= monotonic_ns:
                best = self.word(at + 1)
        return best


class CollectorKill(lib.Case):
    def start(self, name="report.tacho", options=()):
        self.truth = Truth(self.path("truth"))
        # Its own session, so that nothing but the test's own signals reach it; stderr apart, since tacho's is cut off.
        self.profiler = subprocess.Popen(self.command(lib.program("collector_kill"), self.path("truth"), output=name,
                                                   options=["-t", "nvtx,osrt", "--osrt-threshold", "0", *options]),
                                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True)
        self.addCleanup(self.end)
        lib.until(lambda: self.truth.done(0) > 0 and self.truth.done(1) > 0, "both threads ran")

    def end(self):
        self.truth.stop()
        self.profiler.kill()
        self.profiler.communicate()

    def follow(self):
        """A handle on the program that outlives its parent: it can be polled for its end."""
        return os.pidfd_open(self.truth.pid)

    def opens(self, name="report.tacho"):
        for command in (["info"], ["stats"]):
            done = subprocess.run([lib.TACHO, *command, self.path(name)], capture_output=True, text=True, timeout=lib.PATIENCE)
            self.assertEqual(done.returncode, 0, f"{command}: {done.stdout}{done.stderr}")
        return self.report(name)

    def finished(self, report, thread):
        return report.ranges().get(TEXTS[thread], 0)

    def test_killed_collector_leaves_the_program_alone(self):
        chance = random.Random(SEED)
        for moment in range(MOMENTS):
            with self.subTest(moment=moment):
                name = f"killed{moment}.tacho"
                self.start(name)
                time.sleep(chance.uniform(0, 1.3 if moment < 3 else 0.2))  # the random moment
                program = self.follow()
                killed_ns = time.monotonic_ns()
                self.profiler.kill()
                self.profiler.wait()
                before = self.truth.done(0)
                lib.until(lambda: self.truth.done(0) > before + 1000, "the program went on")
                self.truth.stop()
                output, _ = self.profiler.communicate(timeout=lib.PATIENCE)  # ends when the program has closed its stdout
                self.assertEqual(output, OUTPUT)
                lib.until(lambda: lib.ended(program), "the program ended")
                os.close(program)
                report = self.opens(name)
                for thread in range(THREADS):
                    self.assertGreaterEqual(self.finished(report, thread), self.truth.done_at(thread, killed_ns - LOSS_NS))
                    self.assertLessEqual(self.finished(report, thread), self.truth.done(thread))

    def test_killed_collector_leaves_the_exit_status_alone(self):
        """A shell between the two sees the program's own status, since it outlives tacho as its child."""
        self.truth = Truth(self.path("truth"))
        script = f'"$@"; echo status $?'
        self.profiler = subprocess.Popen(self.command("/bin/sh", "-c", script, "sh", lib.program("collector_kill"), self.path("truth")),
                                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True)
        self.addCleanup(self.end)
        lib.until(lambda: self.truth.done(0) > 0, "the program ran")
        self.profiler.kill()
        self.profiler.wait()
        self.truth.stop()
        output, _ = self.profiler.communicate(timeout=lib.PATIENCE)
        self.assertEqual(output, OUTPUT + "status 42\n")

    def test_what_a_killed_collector_leaves_behind(self):
        """Its folder goes with the next capture; that of one that runs stays."""
        def start(output):
            tacho = subprocess.Popen(self.command("sh", "-c", 'echo "$TACHO_SESSION"; exec sleep 1000', output=output), stdout=subprocess.PIPE,
                                     stderr=subprocess.DEVNULL, text=True, start_new_session=True)
            self.addCleanup(lib.end_group, tacho)
            return tacho, os.path.dirname(tacho.stdout.readline().strip().split(":")[3])
        killed, left_behind = start("killed.tacho")
        running, in_use = start("running.tacho")
        killed.kill()
        killed.wait()
        self.assertTrue(os.path.isdir(left_behind))
        self.profile("true", output="next.tacho")
        self.assertFalse(os.path.exists(left_behind))
        self.assertEqual(os.listdir(in_use), ["socket"])
        os.killpg(running.pid, signal.SIGTERM)
        running.wait()
        self.assertFalse(os.path.exists(in_use))

    def test_counts_are_a_second_behind_at_most(self):
        """Reads that are only counted: the program makes one in each range."""
        self.start(options=["--osrt-threshold", "60000000000"])
        lib.until(lambda: any(self.truth.done_at(thread, time.monotonic_ns() - LOSS_NS) for thread in range(THREADS)), "a second went by")
        killed_ns = time.monotonic_ns()
        os.killpg(self.profiler.pid, signal.SIGKILL)
        self.profiler.communicate(timeout=lib.PATIENCE)
        second_before = sum(self.truth.done_at(thread, killed_ns - LOSS_NS) for thread in range(THREADS))
        counted = self.report().count("osrt", "below-threshold")
        self.assertGreaterEqual(counted, second_before)
        self.assertGreater(counted, 0)

    def test_both_killed_lose_a_second_at_most(self):
        chance = random.Random(SEED + 1)
        for moment in range(MOMENTS_OF_BOTH):
            with self.subTest(moment=moment):
                name = f"both{moment}.tacho"
                self.start(name)
                time.sleep(chance.uniform(1.2, 2.2))  # the random moment
                killed_ns = time.monotonic_ns()
                os.killpg(self.profiler.pid, signal.SIGKILL)  # one call, both processes
                self.profiler.communicate(timeout=lib.PATIENCE)
                report = self.opens(name)
                for thread in range(THREADS):
                    second_before = self.truth.done_at(thread, killed_ns - LOSS_NS)
                    self.assertTrue(second_before > 0 or lib.SANITIZE)
                    self.assertGreaterEqual(self.finished(report, thread), second_before)
                    self.assertLessEqual(self.finished(report, thread), self.truth.done(thread))

    def test_stopped_collector_does_not_hold_up_the_program(self):
        self.start(options=["--buffer-limit", "4M"])
        os.kill(self.profiler.pid, signal.SIGSTOP)
        before = self.truth.done(0)
        # Many times what the buffer holds: a push, a pop and a read are some hundred bytes.
        lib.until(lambda: self.truth.done(0) > before + 100_000, "the program went on")
        os.kill(self.profiler.pid, signal.SIGCONT)
        self.truth.stop()
        output, _ = self.profiler.communicate(timeout=lib.PATIENCE)
        self.assertEqual(self.profiler.returncode, 42)
        self.assertEqual(output[:len(OUTPUT)], OUTPUT)
        report = self.opens()
        done = self.truth.done(0) + self.truth.done(1)
        self.assertEqual(report.produced("nvtx"), done + 1, "ranges, and the late thread's mark")
        self.assertGreater(report.count("nvtx", "lost", "buffer-full"), 0)


if __name__ == "__main__":
    if lib.SANITIZE:  # it would only run for as long as may be lost there
        del CollectorKill.test_counts_are_a_second_behind_at_most
    lib.main()
