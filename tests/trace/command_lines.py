"""Command lines that users of nsys have written down run with tacho for nsys, on any machine: python is a stand-in that ends at once.

They are those of ../gpu/seeds.ini, where a GPU host runs them with the real programs; and, where the documents that they are
from lie beside the repository, all that these hold."""
import configparser
import glob
import os
import re
import shlex
import subprocess

import lib

INI = os.path.join(lib.SOURCE, "tests", "gpu", "seeds.ini")
DOCUMENTS = os.path.join(lib.SOURCE, "..", "shared", "seeds", "*.txt")


def commands_of(text):
    """Commands of nsys in a document, each with the lines that follow it up to the program: options may stand on lines of their own,
    with a backslash before or a comment behind them."""
    lines, found = text.splitlines(), []
    for number, line in enumerate(lines):
        start = re.search(r"(?:^|\$ )(nsys (?:profile|stats).*)$", line.strip())
        words = start.group(1).rstrip("\\").strip() if start else ""
        while words.startswith("nsys profile") and "python" not in words:
            number += 1
            words += " " + re.sub(r"(^|\s)#.*", "", lines[number]).strip().rstrip("\\")
        if words:
            found.append(shlex.split(words.replace("...", "")))
    return found


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

    def test_those_of_the_documents(self):
        documents = sorted(glob.glob(DOCUMENTS))
        if not documents:
            self.skipTest("the documents are not at hand")
        commands = [words for path in documents for words in commands_of(open(path, encoding="utf-8").read())]
        self.assertEqual(sorted(words[1] for words in commands), ["profile"] * 4 + ["stats"])
        self.run_all(commands)
        for report in ("wait", "resnet18", "nsight_report", "report1"):
            self.assertTrue(os.path.exists(self.path(f"{report}.tacho")), report)


lib.main()
