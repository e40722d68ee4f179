"""Programs behind seccomp filters, as nsjail, bubblewrap, systemd and libseccomp install them: a system call that a filter does
not expect kills the program, so the agent makes none, and is not handed on."""
import os
import shutil
import struct
import subprocess

import lib

EXEC = lib.program("exec")
SECCOMP = lib.program("seccomp")

# Becomes another program behind a filter that allows everything.
STATIC = """
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &(struct sock_fprog){ 1, &allow }, 0, 0);
    execvp(argv[1], argv + 1);
    return 1;
}
"""


class Seccomp(lib.Case):
    def bare(self, *arguments):
        """What the program does without tacho: its status and output."""
        done = subprocess.run([SECCOMP, *arguments], capture_output=True, text=True, timeout=lib.PATIENCE)
        if done.returncode == 77:
            self.skipTest("the kernel takes no filter from this user")
        self.assertEqual(done.returncode, 5, done)
        return done

    def same(self, *arguments, **more):
        """The same with tacho, and the report."""
        bare = self.bare(*arguments)
        report = self.profile(SECCOMP, *arguments, status=bare.returncode, **more)
        self.assertEqual(self.output.stdout, bare.stdout)
        self.assertNotIn("ld.so", self.output.stderr)
        return report

    def test_filter_and_exec(self):
        for how in ("prctl", "syscall", "syscall-prctl"):
            with self.subTest(how=how):
                report = self.same(how, "agent", SECCOMP, "work", options=["--osrt-threshold=0"])
                self.assertEqual(report.ranges(), {how: 1})
                self.assertRegex(self.output.stderr, r"Recording of seccomp \(pid \d+\) stopped: it ")
                self.assertGreaterEqual(report.count("processes", "lost", "filtered"), 1)  # its child, too, if the kernel tells of it
                images = report.rows("SELECT DISTINCT image, ending, exitStatus FROM TACHO_PROCESS WHERE end IS NOT NULL AND globalPid = "
                                     "(SELECT globalPid FROM TACHO_PROCESS WHERE origin = 'launch') ORDER BY image")
                self.assertEqual([tuple(row) for row in images], [(0, "exec", None), (1, "exit", 5)])

    def test_filter_set_by_an_instruction(self):
        """No hook sees it: it is found out before the next program starts, and in a child."""
        report = self.same("instruction", "socket", SECCOMP, "work")
        self.assertEqual(report.ranges(), {"instruction": 1})
        info = subprocess.run([lib.TACHO, "info", report.path], capture_output=True, text=True)
        self.assertRegex(info.stdout, r"seccomp +\[exit 5, .*no agent: filtered\]")
        self.assertRegex(self.output.stderr, r"2 processes were not traced: a seccomp filter was installed during the capture\. First: seccomp \(pid")

    def test_filter_set_by_a_static_program(self):
        """No agent sees it: the new program's keeps silent, and the collector finds it in /proc, if it lives long enough."""
        self.bare("prctl", "nothing", SECCOMP, "work")
        with open(self.path("static.c"), "w") as file:
            file.write(STATIC)
        built = subprocess.run([os.environ.get("CC", "cc"), "-static", "-o", self.path("static"), self.path("static.c")], capture_output=True, text=True)
        if built.returncode != 0:
            self.skipTest("cannot build a static program: " + built.stderr.strip().splitlines()[-1])
        command = self.command(EXEC, "posix_spawn", "./static", EXEC, "posix_spawn", shutil.which("cat"))
        tacho = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder)
        found = lambda: subprocess.run([lib.TACHO, "info", self.path("report.tacho")], capture_output=True, text=True).stdout.count("no agent") == 2
        try:
            lib.until(found, "the report names both programs behind the filter")
        finally:
            stderr = tacho.communicate()[1]
        self.assertRegex(stderr, r"2 processes were not traced: a seccomp filter .* First: \w+ \(pid \d+\)")

    def test_filter_and_fork(self):
        for how in ("prctl", "syscall", "syscall-prctl"):
            self.same(how, "agent", "work")
        self.same("instruction", "socket", "work")

    def test_filter_of_a_vfork_child(self):
        """…is not its parent's, whose next program is recorded."""
        for how in ("vfork", "vfork-privileges", "vfork-unwaited"):
            with self.subTest(how=how):
                report = self.same(how, options=["--osrt-threshold=0", "--osrt-backtrace-threshold=0"])
                self.assertEqual(report.ranges(), {how: 1, "work": 1})

    def test_program_of_a_vfork_child_behind_a_filter(self):
        """Its parent's agent knows why it is not recorded, where the kernel tells nothing, and where the buffer has no room to say so later."""
        for options in (["-t", "nvtx"], ["-t", "osrt", "--osrt-threshold=0"]):
            with self.subTest(options=options):
                report = self.same("vfork", options=options, preexec_fn=lib.refuse_perf_events)
                self.assertEqual(report.count("processes", "lost", "not-attached"), 0)
                self.assertGreaterEqual(report.count("processes", "lost", "filtered"), 1)

    def test_filters_of_many_vfork_children(self):
        """The word of each is left before its filter forbids what it takes: one comes where a chunk ends."""
        report = self.same("many", options=["-t", "nvtx", "-s", "none"], preexec_fn=lib.refuse_perf_events)
        self.assertEqual(report.count("notes", "lost"), 0)

    def test_filter_for_all_threads_that_fails(self):
        """…stops nothing."""
        self.assertEqual(self.same("tsync").ranges(), {"tsync": 1, "free": 1})
        self.assertNotIn("stopped", self.output.stderr)

    def test_programs_in_between(self):
        """…change nothing: filters are inherited."""
        self.same("prctl", "socket", "env", "-i", SECCOMP, "work")
        self.same("instruction", "socket", "sh", "-c", f"{SECCOMP} work; exit $?")

    def test_asking_limits_nothing(self):
        self.assertEqual(self.same("question").ranges(), {"question": 1, "free": 1})

    def test_capture_behind_a_filter(self):
        """Filters from outside, as every container has them, are the collector's too."""
        self.bare("prctl", "nothing", SECCOMP, "work")
        done = subprocess.run([SECCOMP, "syscall", "nothing", *self.command(SECCOMP, "work")], capture_output=True, text=True, timeout=lib.PATIENCE)
        self.assertEqual((done.returncode, done.stdout), (5, "behind\n"), done.stderr)
        self.assertEqual(self.report().ranges(), {"work": 1})

    def test_no_new_privileges_alone(self):
        """…are no filter: the next program is recorded."""
        report = self.profile("setpriv", "--no-new-privs", SECCOMP, "work", status=5)
        self.assertEqual(report.ranges(), {"work": 1})

    def test_bubblewrap(self):
        if not shutil.which("bwrap"):
            self.skipTest("bubblewrap is not installed")
        socket = {"x86_64": 41, "aarch64": 198}[os.uname().machine]
        lines = [(0x20, 0, 0, 0), (0x15, 0, 1, socket), (0x06, 0, 0, 0x80000000), (0x06, 0, 0, 0x7fff0000)]  # kill the process for socket()
        with open(self.path("filter"), "wb") as file:
            file.write(b"".join(struct.pack("=HBBI", *line) for line in lines))
        for options in ([], ["--seccomp", "9"]):
            wrapped = ["sh", "-c", 'exec "$@" 9<filter', "sh", "bwrap", "--bind", "/", "/", "--dev", "/dev", *options, SECCOMP, "work"]
            bare = subprocess.run(wrapped, cwd=self.folder, capture_output=True, text=True, timeout=lib.PATIENCE)
            if bare.returncode != 5 and not options:
                self.skipTest("bubblewrap cannot work here: " + bare.stderr.strip())
            report = self.profile(*wrapped, status=bare.returncode)
            self.assertEqual((self.output.stdout, bare.returncode), (bare.stdout, 5))
            self.assertEqual(report.ranges(), {} if options else {"work": 1})


if __name__ == "__main__":
    lib.main()
