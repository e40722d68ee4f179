"""The wheel, installed by pip into a fresh environment without a network: the package, the program and the agent work from there."""
import os
import subprocess
import sys

import lib

USE = """
import os, sys, tacho
assert tacho.__file__.startswith(sys.prefix), tacho.__file__
with tacho.profile() as prof:
    with tacho.range("here"):
        pass
print(list(tacho.load(prof.report())["NVTX_EVENTS"]["text"]))
"""


class Wheel(lib.Case):
    def call(self, *command, **more):
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.folder, timeout=250, **more)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def install(self):
        build = os.path.dirname(os.path.dirname(lib.TACHO))
        self.call("cmake", "--install", build, "--strip", "--prefix", self.path("tree"))
        self.call(sys.executable, os.path.join(lib.SOURCE, "scripts", "wheel"), self.path("tree"), os.environ["ARCH"], self.folder)
        made = subprocess.run([sys.executable, "-m", "venv", self.path("fresh")], capture_output=True, text=True)
        if made.returncode != 0:
            self.skipTest("no virtual environment can be made here: " + (made.stdout + made.stderr).strip().splitlines()[0])
        wheel, = [name for name in os.listdir(self.folder) if name.endswith(".whl")]
        self.call(self.path("fresh/bin/pip"), "install", "--no-index", "--quiet", "--disable-pip-version-check", self.path(wheel))

    def test_installed(self):
        if os.environ["ARCH"] != os.uname().machine:
            self.skipTest("this build is for " + os.environ["ARCH"])
        self.install()
        clean = {"PATH": "/usr/bin:/bin", "HOME": self.folder}
        python, program = self.path("fresh/bin/python"), self.path("fresh/bin/tacho")
        self.assertEqual(self.call(python, self.write("use.py", USE), env=clean), "['here']\n")
        self.assertIn("usage: tacho", self.call(program, "--help", env=clean))
        self.call(program, "profile", "-q", "-o", self.path("report"), "-t", "nvtx", "--pytorch=replace", python,
                  os.path.join(lib.HERE, "programs", "unchanged.py"), env={**clean, "PYTHONPATH": lib.STANDIN})
        self.assertIn("complete", self.call(program, "info", self.path("report.tacho"), env=clean))
        if os.path.exists(self.path("tree/share/tacho/view/index.html")):
            self.call(program, "export", "-q", "-t", "html", self.path("report.tacho"), env=clean)
            self.assertTrue(os.path.exists(self.path("report.html")))


if __name__ == "__main__":
    lib.main()
