"""tacho as PID 1 of a container, here a new PID namespace: it reaps what is left to it, passes SIGTERM on, and is done
with a complete report before the grace period ends."""
import os
import signal
import subprocess
import time

import lib

GRACE_SECONDS = 10  # what docker stop gives by default; ten seconds, then SIGKILL
SIGNALS = lib.program("signals")


class Container(lib.Case):
    def setUp(self):
        super().setUp()
        self.need_root()
        if subprocess.run(["unshare", "-p", "-f", "--mount-proc", "true"], capture_output=True).returncode != 0:
            self.skipTest("cannot make a PID namespace")

    def start(self, *arguments, options=()):
        """unshare execs tacho in the new namespace; the pid of that process, seen from out here, is tacho's."""
        command = self.command(*arguments, options=["-t", "nvtx,osrt", *options])
        self.outside = subprocess.Popen(["unshare", "-p", "-f", "--mount-proc", "--kill-child", *command], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
        self.addCleanup(lib.end_group, self.outside)

    def tacho(self):
        return lib.children(self.outside.pid)[0]

    def ready(self):
        self.assertEqual(self.outside.stdout.readline(), "ready\n")

    def stop_as_docker_does(self):
        before = time.monotonic()
        os.kill(self.tacho(), signal.SIGTERM)
        lib.until(lambda: self.outside.poll() is not None, "the container ended")  # stdin stays open until then
        if lib.ALL:  # how long it takes depends on what else the machine does
            self.assertLess(time.monotonic() - before, GRACE_SECONDS)
        self.stdout, self.stderr = self.outside.communicate(timeout=lib.PATIENCE)

    def test_terminate_is_passed_on_and_the_report_complete(self):
        self.start(SIGNALS, "wait")
        self.ready()
        self.stop_as_docker_does()
        self.assertEqual(self.outside.returncode, 6, self.stderr)
        report = self.report()
        self.assertEqual(report.ranges(), {"waiting": 1})
        self.assertEqual(report.rows("SELECT (parentGlobalPid >> 24) & 0xFFFFFF FROM TACHO_PROCESS WHERE ending = 'exit' AND exitStatus = 6"), [(1,)])

    def test_program_that_ignores_terminate_does_not_hold_up_the_report(self):
        self.start(SIGNALS, "ignore")
        self.ready()
        self.stop_as_docker_does()
        self.assertEqual(self.report().open_ranges(), ["ignoring"])

    def test_zombies_are_reaped(self):
        self.start(SIGNALS, "zombies", "50")
        self.ready()
        tacho = self.tacho()
        # The program itself leaves its own fifty children unreaped; their fifty children are ours.
        lib.until(lambda: [lib.state(child) for child in lib.children(tacho)].count("Z") == 0 and len(lib.children(tacho)) == 1,
                  "every process left to tacho was reaped")
        self.stop_as_docker_does()
        report = self.report()
        self.assertEqual(report.value("SELECT count(*) FROM NVTX_EVENTS WHERE eventType = 34 AND text = 'short life'"), 50)

    def test_exit_status(self):
        self.start("sh", "-c", "exit 33")
        self.outside.communicate(timeout=lib.PATIENCE)
        self.assertEqual(self.outside.returncode, 33)
        self.start("sh", "-c", "kill -KILL $$")
        _, stderr = self.outside.communicate(timeout=lib.PATIENCE)
        # A process cannot kill itself with a signal as PID 1: the status says it instead.
        self.assertIn(self.outside.returncode, (128 + signal.SIGKILL, -signal.SIGKILL), stderr)


class Namespaces(lib.Case):
    """The program makes namespaces of its own: its processes are followed into them, under the pids that tacho sees."""

    def test_followed(self):
        self.need_root()
        for flags in (["-n"], ["-p", "-f"], ["-p", "-f", "--mount-proc"], ["-U", "-r"], ["-m"], ["-n", "-p", "-f", "-m", "-u", "-i"]):
            with self.subTest(flags=flags):
                if subprocess.run(["unshare", *flags, "true"], capture_output=True).returncode != 0:
                    self.skipTest("cannot make namespaces: unshare " + " ".join(flags))
                report = self.profile("unshare", *flags, lib.program("conditions"), "range", status=3)
                self.assertEqual(report.ranges(), {"range": 1})
                own = report.value("SELECT (globalTid >> 24) & 0xFFFFFF FROM NVTX_EVENTS WHERE eventType = 59")
                self.assertGreater(own, 2, "a pid of the inner namespace")
                self.assertEqual(report.value("SELECT max(exitStatus) FROM TACHO_PROCESS WHERE (globalPid >> 24) & 0xFFFFFF = ? AND ending = 'exit'", own), 3)


if __name__ == "__main__":
    lib.main()
