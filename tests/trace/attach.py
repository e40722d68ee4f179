"""Processes that cannot attach: they are counted, and the program does not wait for each of them."""
import resource
import subprocess

import lib

ATTACH = lib.program("attach")


class Attach(lib.Case):
    def health(self):
        done = subprocess.run([lib.TACHO, "info", self.path("report.tacho")], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return next(line for line in done.stdout.splitlines() if line.startswith("Health"))

    def test_stopped_collector_is_waited_for_once(self):
        report = self.profile(ATTACH, "stopped", "5")
        self.assertEqual(self.output.stdout, "1\n", "children that waited")
        self.assertEqual(report.count("processes", "lost", "no-answer"), 5)
        self.assertEqual(report.unrecorded(), {"no-answer": 5})
        self.assertEqual(report.produced("processes"), 5)
        self.assertIn("5 processes were not traced", self.output.stderr)
        self.assertIn("incomplete: 5 of 6 processes not traced (no answer): their calls, ranges and GPU work are missing", self.health())

    def test_collector_that_goes_on_is_heard_again(self):
        """The children of the second program, which starts when the collector runs again, are all recorded."""
        folder = '"$(dirname "${TACHO_SESSION##*:}")"'
        script = f'kill -STOP $PPID; /bin/true; kill -CONT $PPID; while test -h {folder}/silent; do sleep 0.01; done; {ATTACH} stopped 0'
        report = self.profile("sh", "-c", script)
        self.assertEqual(self.output.stdout, "0\n")
        self.assertGreaterEqual(report.count("processes", "lost", "no-answer"), 1)
        self.assertEqual(report.value("SELECT count(DISTINCT p.globalPid) FROM TACHO_PROCESS p JOIN TACHO_THREAD t ON t.globalTid >> 24 = p.globalPid >> 24 "
                                      "WHERE p.exe LIKE '%/attach'"), 1)

    def test_no_descriptor_left(self):
        report = self.profile(ATTACH, "full", "20", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (32, 4096)))
        self.assertEqual(report.count("processes", "lost", "no-descriptor"), 20)
        self.assertEqual(report.unrecorded(), {"no-descriptor": 20})
        self.assertEqual(report.produced("processes"), 20)
        self.assertIn("incomplete", self.health())

    def test_program_started_without_a_free_descriptor(self):
        """Its loader can open no library, and complains of those that it needs, not of the agent."""
        limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (32, 4096))
        bare = subprocess.run([ATTACH, "full-exec"], capture_output=True, text=True, preexec_fn=limit)
        report = self.profile(ATTACH, "full-exec", preexec_fn=limit, status=bare.returncode)
        self.assertEqual(self.output.stderr.count("shared object"), bare.stderr.count("shared object"), self.output.stderr)
        self.assertNotIn("LD_PRELOAD", self.output.stderr)
        self.assertEqual(report.count("processes", "lost", "no-descriptor"), 1)
        self.assertEqual(report.unrecorded(), {"no-descriptor": 1})

    def test_collector_is_out_of_reach(self):
        """In another network and another /tmp no agent finds the collector: whoever started the program tells of it."""
        self.need_root()
        for options in ([], ["-s", "none", "--cpuctxsw=none"]):  # with and without the kernel's word on it
            with self.subTest(options=options):
                report = self.profile("unshare", "-n", "-m", "sh", "-c", "mount -t tmpfs none /tmp; sleep 0.1; true", options=options)
                self.assertEqual(report.count("processes", "lost", "not-attached"), 1)
                self.assertEqual(report.produced("processes"), 1)
                self.assertEqual(report.value("SELECT count(*) FROM TACHO_PROCESS WHERE exe LIKE '%/sleep' AND ending = 'exit' AND exitStatus = 0"), 1)
                self.assertRegex(self.output.stderr, r"1 process was not traced: no agent was loaded.* First: sleep \(pid \d+\)")
                self.assertRegex(self.health(), r"Health +complete; 1 of \d+ processes not traced \(not attached\)$")

    def test_child_of_vfork(self):
        """…runs with its parent's agent. It is listed, and nothing of it is lost."""
        report = self.profile(ATTACH, "vfork")
        rows = report.rows("SELECT globalPid >> 24 & 0xffffff, exitStatus FROM TACHO_PROCESS WHERE origin = 'found'")
        self.assertEqual([tuple(row) for row in rows], [(int(self.output.stdout), 3)])
        self.assertEqual(report.produced("processes"), 0)

    def test_parent_in_another_pid_namespace(self):
        self.need_root()
        report = self.profile("unshare", "--fork", "--pid", "sh", "-c", "sleep 0.01; true")
        known = {row[0] for row in report.rows("SELECT DISTINCT globalPid FROM TACHO_PROCESS")}
        for parent, in report.rows("SELECT DISTINCT parentGlobalPid FROM TACHO_PROCESS WHERE origin != 'launch'"):
            self.assertIn(parent, known)
        self.assertEqual(report.produced("processes"), 0)

    def test_all_is_well(self):
        report = self.profile(ATTACH, "stopped", "0")
        self.assertEqual(report.produced("processes"), 0)
        self.assertNotIn("not traced", self.output.stderr)

    def test_parent_of_an_orphan(self):
        """The collector adopts the processes of its tree; they hear of the one who would have."""
        bare = subprocess.run([ATTACH, "orphan"], capture_output=True, text=True, check=True)
        self.profile(ATTACH, "orphan")
        self.assertEqual(self.output.stdout, bare.stdout)
        self.assertNotEqual(self.output.stdout, "")


if __name__ == "__main__":
    lib.main()
