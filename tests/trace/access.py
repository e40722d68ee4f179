"""Who may come in: the socket that agents attach through is open to every local user, and none can keep others out."""
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
        stdout, stderr = self.capture.communicate("\n", timeout=100)
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
        self.need_root()
        become = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]
        if subprocess.run([*become, lib.TACHO, "version"], capture_output=True).returncode != 0:
            self.skipTest("the build is not readable for others")
        self.start("; ".join([" ".join([*become, "true"])] * CHILDREN))
        self.connect(NOBODY)
        self.assertEqual(self.go_on(), 1 + 2 * CHILDREN)


lib.main()
