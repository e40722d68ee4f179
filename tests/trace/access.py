"""Who may come in, and who sees what comes out: the socket that agents attach through is open to every local user, and none can keep
others out; a report is for its owner, and goes through nobody's link."""
import os
import stat
import subprocess
import sys

import lib

NOBODY = 65534
SILENT = 200
CHILDREN = 5

CONNECT = """
import os, socket, sys
name, user, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
os.setgroups([])
os.setresgid(user, user, user)
os.setresuid(user, user, user)
held = []
for i in range(count):
    held.append(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
    held[-1].connect("\\0" + name)
print("connected", flush=True)
sys.stdin.read()
"""


class Access(lib.Case):
    samples = False

    def start(self, script):
        """Profiles a shell that runs its script once there is a line on its stdin."""
        self.capture = subprocess.Popen(self.command("sh", "-c", f"echo ready; read go; {script}", options=["-t", "osrt"]), cwd=self.folder,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
        self.addCleanup(lib.end_group, self.capture)
        self.assertEqual(self.capture.stdout.readline(), "ready\n")

    def name(self):
        """Anyone can read it."""
        with open("/proc/net/unix") as file:
            return next(line.split("@")[1].strip() for line in file if f"@tacho-{self.capture.pid}-" in line)

    def connect(self, user, count=SILENT):
        """Connections of a user that say nothing, until the end of the test."""
        intruder = subprocess.Popen([sys.executable, "-c", CONNECT, self.name(), str(user), str(count)], stdin=subprocess.PIPE,
                                    stdout=subprocess.PIPE, text=True)
        self.addCleanup(intruder.communicate)
        self.assertEqual(intruder.stdout.readline(), "connected\n")

    def go_on(self):
        stdout, stderr = self.capture.communicate("\n", timeout=lib.PATIENCE)
        self.assertEqual(self.capture.returncode, 0, stderr)
        return self.report().value("SELECT count(*) FROM TACHO_THREAD")  # one for each program that an agent recorded

    def test_silent_connections_of_another_user_keep_nobody_out(self):
        self.need_root()
        for user in (NOBODY, 0):
            with self.subTest(user=user):
                self.start("; ".join(["env true"] * CHILDREN))
                self.connect(user)
                self.assertEqual(self.go_on(), 1 + 2 * CHILDREN)

    def test_a_process_that_became_another_user_comes_in(self):
        """Also beside silent connections of that user."""
        self.open_to_all_users()
        self.start("; ".join([" ".join([*lib.AS_NOBODY, "true"])] * CHILDREN))
        self.connect(NOBODY)
        self.assertEqual(self.go_on(), 1 + 2 * CHILDREN)


class Files(lib.Case):
    samples = False

    def tacho(self, *arguments, **more):
        done = subprocess.run([lib.TACHO, *arguments], cwd=self.folder, capture_output=True, text=True, **more)
        self.assertEqual(done.returncode, 0, f"{arguments}: {done.stderr}")
        return done.stdout

    def mode(self, name):
        return stat.S_IMODE(os.lstat(self.path(name)).st_mode)

    def test_reports_and_exports_are_for_their_owner(self):
        for umask in (0o022, 0o000, 0o277):
            self.profile("true", umask=umask)
            self.assertEqual(self.mode("report.tacho"), 0o600 & ~umask, f"umask {umask:o}")
        self.profile("true")
        for kind, mode in (("sqlite", 0o600), ("json", 0o600), ("csv", 0o700), ("chrome", 0o600), ("tacho", 0o600)):
            self.tacho("export", "--type", kind, "-o", f"out-{kind}", "report.tacho", umask=0o022)
            self.assertEqual(self.mode(f"out-{kind}"), mode, kind)

    def overwrite(self, name, *command):
        """The output's name is a link to something precious, or another name of it, or a link to nothing."""
        for make in (os.symlink, os.link, lambda _, link: os.symlink(self.path("nothing"), link)):
            with open(self.path("precious"), "w") as file:
                file.write("precious")
            if os.path.lexists(self.path(name)):
                os.unlink(self.path(name))
            make(self.path("precious"), self.path(name))
            self.tacho(*command)
            with open(self.path("precious")) as file:
                self.assertEqual(file.read(), "precious")
            self.assertFalse(os.path.lexists(self.path("nothing")))
            self.assertTrue(stat.S_ISREG(os.lstat(self.path(name)).st_mode))
            os.unlink(self.path("precious"))

    def test_overwriting_goes_through_no_link(self):
        self.profile("sleep", "0.01", options=["-t", "osrt"])
        self.overwrite("new.tacho", "profile", "-s", "none", "-f", "true", "-o", "new.tacho", "true")
        self.overwrite("new.json", "export", "-f", "true", "--type", "json", "-o", "new.json", "report.tacho")
        self.overwrite("new.sqlite", "export", "-f", "true", "--type", "sqlite", "-o", "new.sqlite", "report.tacho")
        self.overwrite("whole.tacho", "recover", "-f", "true", "-o", "whole.tacho", "report.tacho")
        self.overwrite("new_osrt_sum.csv", "stats", "-q", "--force-overwrite=true", "-r", "osrt_sum", "-f", "csv", "-o", "new", "report.tacho")
        self.assertEqual([name for name in os.listdir(self.folder) if "unfinished" in name], [])

    def test_redacted(self):
        """Programs have their names; what they were called with, and with which variables, is nowhere."""
        environment = dict(os.environ, OMP_NUM_THREADS="1717")
        command = ["sh", "-c", "env true --password=hunter2; exit 0"]
        for redact in (False, True):
            report = self.profile(*command, options=["-t", "osrt", f"--redact={str(redact).lower()}"], env=environment)
            self.tacho("export", "-f", "true", "--type", "json", "-o", "all.json", "report.tacho")
            with open(self.path("all.json")) as file:
                text = file.read()
            for secret in ("hunter2", "1717", os.path.basename(self.folder)):
                self.assertEqual(secret in text, not redact, (secret, redact))
        self.assertEqual({name for name, in report.rows("SELECT command FROM TACHO_PROCESS")}, {"sh", "env", "true"})


lib.main()
