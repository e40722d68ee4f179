"""Command lines that users of nsys have written down run with tacho for nsys, on any machine: python is a stand-in that ends at once.

They are those of ../gpu/seeds.ini, where a GPU host runs them with the real programs."""
import configparser
import os
import shlex
import subprocess

import lib

INI = os.path.join(lib.SOURCE, "tests", "gpu", "seeds.ini")

# Where seeds.ini has other words than the documents: a report has nsys's ending there, and a program an argument that is a word.
AS_WRITTEN = ("nsys profile python main.py", "nsys stats report1.nsys-rep", "nsys profile -o nsight_report -f true python script.py args")


class CommandLines(lib.Case):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path("bin"))
        with open(self.path("bin/python"), "w") as file:
            file.write("#!/bin/sh\nexit 0\n")
        os.chmod(self.path("bin/python"), 0o755)

    def run_all(self, commands):
        for words in commands:
            done = subprocess.run([lib.TACHO, *words[1:]], cwd=self.folder, capture_output=True, text=True, timeout=lib.PATIENCE,
                                  env={**os.environ, "PATH": self.path("bin") + ":" + os.environ["PATH"]})
            self.assertEqual(done.returncode, 0, f"{' '.join(words)}: {done.stderr}")
            self.assertNotIn("unknown option", done.stderr)

    def test_those_that_we_keep(self):
        seeds = configparser.ConfigParser(interpolation=None)
        seeds.read(INI)
        self.assertTrue(seeds.sections())
        for name in seeds.sections():
            self.run_all(shlex.split(line) for line in seeds[name]["commands"].strip().splitlines())
            self.assertTrue(os.path.exists(self.path(seeds[name]["report"])), name)

    def test_as_they_are_written(self):
        self.run_all(map(shlex.split, AS_WRITTEN))
        for report in ("nsight_report", "report1"):
            self.assertTrue(os.path.exists(self.path(f"{report}.tacho")), report)


lib.main()
