"""tacho-gpu with more privileges than its caller (set-user-ID, or capabilities of its file): the caller chooses neither libraries nor files. As root,
who alone can make such a program; libraries of root lie in a mount namespace of the test."""
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests", "fake"))
import fakelib
import lib

HELPER = os.path.join(os.environ["HELPERS"], "tacho-gpu")
CALLER = 65534
CAP_SYS_ADMIN = 21
INSTALL = """mount -t tmpfs -o mode=755 none /usr/local && mkdir -p /usr/local/cuda/lib64 && cp {cupti} /usr/local/cuda/lib64/libcupti.so.13 || exit 99
{more}
exec setpriv --reuid {caller} --regid {caller} --clear-groups -- {helper} "$@"
"""


class Privileges(lib.Case):
    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("needs root, who can make a program that has more privileges than its caller")
        for tool in ("setpriv", "unshare"):
            if not shutil.which(tool):
                self.skipTest(f"needs {tool} of util-linux")
        if subprocess.run(["setpriv", "--reuid", str(CALLER), "--clear-groups", "--", "cat", os.path.join(fakelib.FAKE, "lib", "libcuda.so.1")],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
            self.skipTest("the stand-ins cannot be read by other users")
        folder = tempfile.TemporaryDirectory(prefix="tacho-privileges-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        os.chmod(self.folder, 0o755)
        if os.statvfs(self.folder).f_flag & os.ST_NOSUID:
            self.skipTest(f"{self.folder} is mounted with nosuid")
        self.cupti, self.nvml = (shutil.copy(os.path.join(fakelib.FAKE, "lib", name), self.folder) for name in ("libcupti.so.13", "libnvidia-ml.so.1"))
        with open(os.path.join(self.folder, "script"), "w") as file:
            file.write("DeviceGetCount_v2 - 1\nDeviceGetName - NVIDIA_H200\n")

    def helper(self, mode):
        path = shutil.copy(HELPER, os.path.join(self.folder, f"tacho-gpu-{mode:o}"))
        os.chmod(path, mode)
        return path

    def answer(self, command, **variables):
        """What it writes to the socket that is its standard input and output."""
        here, there = socket.socketpair()
        with here, there:
            done = subprocess.run(command, stdin=there, stdout=there, env=dict(PATH=os.environ["PATH"], **variables), timeout=lib.PATIENCE)
            there.shutdown(socket.SHUT_WR)
            if done.returncode == 99:
                self.skipTest("needs to mount in a namespace of its own")
            return b"".join(iter(lambda: here.recv(1 << 16), b""))

    def called(self, helper, *words, **variables):
        return self.answer(["setpriv", "--reuid", str(CALLER), "--regid", str(CALLER), "--clear-groups", "--", helper, *words], **variables)

    def installed(self, helper, *words, more="", **variables):
        """The same where the system has a CUPTI."""
        script = INSTALL.format(cupti=self.cupti, more=more, caller=CALLER, helper=helper)
        return self.answer(["unshare", "-m", "sh", "-c", script, "sh", *words], **variables)

    def test_the_environment_is_ignored(self):
        chosen = dict(TACHO_CUPTI=self.cupti, TACHO_NVML=self.nvml, FAKE_NVML=os.path.join(self.folder, "script"))
        environment = os.path.join(self.folder, "venv")
        os.makedirs(os.path.join(environment, "lib", "python3.11", "site-packages", "nvidia", "cu13", "lib"))
        shutil.copy(self.cupti, os.path.join(environment, "lib", "python3.11", "site-packages", "nvidia", "cu13", "lib"))
        for mode, is_chosen in ((0o755, True), (0o4755, False)):
            helper = self.helper(mode)
            self.assertEqual(b"GH100" in self.called(helper, "chips", **chosen), is_chosen, oct(mode))
            self.assertEqual(b"GH100" in self.called(helper, "chips", VIRTUAL_ENV=environment), is_chosen, oct(mode))
            self.assertEqual(b"NVIDIA_H200" in self.called(helper, "monitor", "rounds=1", **chosen).replace(b" ", b"_"), is_chosen, oct(mode))
            self.assertEqual(b"GH100" in self.called(helper, "chips", LD_LIBRARY_PATH=self.folder), is_chosen, oct(mode))

    def test_capabilities_of_the_file(self):
        helper = self.helper(0o755)
        self.assertIn(b"GH100", self.called(helper, "chips", TACHO_CUPTI=self.cupti))
        try:
            os.setxattr(helper, "security.capability", struct.pack("<5I", 0x02000001, 1 << CAP_SYS_ADMIN, 0, 0, 0))
        except OSError as error:
            self.skipTest(f"files cannot have capabilities here: {error}")
        self.assertNotIn(b"GH100", self.called(helper, "chips", TACHO_CUPTI=self.cupti))

    def test_only_libraries_of_root(self):
        helper = self.helper(0o4755)
        users = os.path.join(self.folder, "users")
        os.mkdir(users)
        shutil.copy(self.cupti, users)
        os.chown(users, CALLER, CALLER)
        self.assertIn(b"GH100", self.installed(helper, "chips"))
        place = "/usr/local/cuda/lib64/libcupti.so.13"
        for more in (f"chmod 666 {place}", f"chown {CALLER} {place}", "chmod 777 /usr/local/cuda/lib64", "chmod 777 /usr/local/cuda",
                     f"chown {CALLER} /usr/local/cuda", f"ln -sf {users}/libcupti.so.13 {place}"):
            with self.subTest(more):
                answer = self.installed(helper, "chips", more=more)
                self.assertNotIn(b"GH100", answer)
                self.assertIn(f"{place} is not used: tacho-gpu has more privileges than its caller".encode(), answer)
                self.assertIn(b"GH100", self.installed(self.helper(0o755), "chips", more=more), "without privileges it is")

    def test_files_are_written_as_the_caller(self):
        helper, own = self.helper(0o4755), os.path.join(self.folder, "own")
        os.mkdir(own)
        os.chown(own, CALLER, CALLER)
        for folder, is_written in ((own, True), (self.folder, False)):
            path = os.path.join(folder, "config")
            answer = self.installed(helper, "config", "chip=GH100", "metrics=sm__cycles_active.avg", f"file={path}")
            self.assertEqual(os.path.exists(path), is_written, answer)
            self.assertEqual(f"Cannot write {path}".encode() in answer, not is_written)
        self.assertEqual(os.stat(os.path.join(own, "config")).st_uid, CALLER)


lib.main()
