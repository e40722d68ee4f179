"""The wheel, installed by pip into a fresh environment without a network: the package, the program and the agent work from there."""
import json
import os
import signal
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


METADATA = """
import importlib.metadata, json
found = importlib.metadata.metadata("tacho")
print(json.dumps({**{name.lower().replace("-", "_"): found[name] for name in ("Name", "License", "Requires-Python", "Summary")},
                  "classifier": found.get_all("Classifier"), "description": found["Description"] or found.get_payload()}))
"""


class Wheel(lib.Case):
    def call(self, *command, **more):
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.folder, timeout=lib.PATIENCE, **more)
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

    def check_metadata(self, found):
        self.assertEqual((found["name"], found["license"], found["requires_python"]), ("tacho", "Apache-2.0", ">=3.8"))
        self.assertGreater(len(found["classifier"]), 10)
        self.assertIn("profiler", found["summary"])
        text = found["description"]
        self.assertTrue(text.startswith("# Tacho\n"), text[:100])
        self.assertIn("python -m tacho train.py", text)
        self.assertNotRegex(text, r"\]\((?!https?:)", "a link to a file that the wheel does not have")

    def check_broken_pipe(self, program, environment):
        """The command that pip made ends like others do, without a word."""
        query = "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n LIMIT 1000000) SELECT i FROM n"
        done = subprocess.run(["bash", "-c", '"$@" | head -1; echo ${PIPESTATUS[0]}', "bash", program, "sql", "--format", "csv", self.path("report.tacho"), query],
                              capture_output=True, text=True, env=environment)
        self.assertEqual((done.stdout, done.stderr), (f"i\n{128 + signal.SIGPIPE}\n", ""))

    def test_installed(self):
        if os.environ["ARCH"] != os.uname().machine:
            self.skipTest("this build is for " + os.environ["ARCH"])
        self.install()
        clean = {"PATH": "/usr/bin:/bin", "HOME": self.folder}
        python, program = self.path("fresh/bin/python"), self.path("fresh/bin/tacho")
        self.assertEqual(self.call(python, self.write("use.py", USE), env=clean), "['here']\n")
        self.assertIn("usage: tacho", self.call(program, "--help", env=clean))
        for name in ("man/man1/tacho-profile.1", "bash-completion/completions/tacho", "zsh/site-functions/_tacho", "fish/vendor_completions.d/tacho.fish"):
            self.assertTrue(os.path.exists(self.path("fresh/share/" + name)), name)
        self.call(program, "profile", "-q", "-o", self.path("report"), "-t", "nvtx", "--pytorch=replace", python,
                  os.path.join(lib.HERE, "programs", "unchanged.py"), env={**clean, "PYTHONPATH": lib.STANDIN})
        self.assertIn("complete", self.call(program, "info", self.path("report.tacho"), env=clean))
        self.check_metadata(json.loads(self.call(python, "-c", METADATA, env=clean)))
        self.check_broken_pipe(program, clean)
        if os.path.exists(self.path("tree/share/tacho/view/index.html")):
            self.call(program, "export", "-q", "-t", "html", self.path("report.tacho"), env=clean)
            self.assertTrue(os.path.exists(self.path("report.html")))


if __name__ == "__main__":
    lib.main()
