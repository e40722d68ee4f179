"""Every command has a manual page that renders without a warning, with the usual sections and every option."""

import functools
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from commands import TACHO, commands, ignored, options

SOURCE = os.environ["SOURCE"]
# Variables of the system, which every program reads.
SYSTEM = {"HOME", "PATH", "TERM", "DISPLAY", "WAYLAND_DISPLAY", "SSH_CONNECTION", "SSH_TTY", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "CONDA_PREFIX"}
SECTIONS = ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES", "EXIT STATUS", "ENVIRONMENT", "FILES", "SEE ALSO"]


def run(*words, **more):
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, **more)


class Man(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        done = run(os.path.join(SOURCE, "cmake", "share-files"), cls.folder.name, TACHO)
        assert done.returncode == 0, done.stderr
        pages = os.path.join(cls.folder.name, "man", "man1")
        cls.pages = {os.path.splitext(name)[0]: os.path.join(pages, name) for name in os.listdir(pages)}

    @staticmethod
    @functools.lru_cache(maxsize=None)
    def rendered(path, locale="C.UTF-8"):
        done = run("man", "--warnings", "-l", path, env={**os.environ, "MANWIDTH": "100", "LC_ALL": locale})
        assert (done.returncode, done.stderr) == (0, ""), (path, locale, done.stderr)
        return re.sub(r".\x08", "", done.stdout)

    def test_a_page_for_each_command(self):
        self.assertEqual(set(self.pages), {"tacho", *(f"tacho-{name}" for name in commands())})

    def test_pages_render_without_warnings(self):
        for path in self.pages.values():
            self.rendered(path)
            self.rendered(path, "C")
            if shutil.which("mandoc"):
                done = run("mandoc", "-Tlint", path)
                self.assertEqual(done.stdout + done.stderr, "", path)

    def test_sections(self):
        for name, path in self.pages.items():
            found = re.findall(r"^([A-Z]+(?: [A-Z]+)*)$", self.rendered(path), re.M)
            self.assertEqual([title for title in found if title != "COMMANDS"], SECTIONS, name)

    def test_every_option_is_explained(self):
        for name in commands():
            text = self.rendered(self.pages[f"tacho-{name}"])
            found = set(re.findall(r"^ {7}(?:-\w, )?--([\w-]+)(?:[= ]|$)", text, re.M))
            self.assertEqual(found, {*options(name), *ignored(name)}, name)

    def test_every_variable_is_explained(self):
        read = set()
        for path in glob.glob(os.path.join(SOURCE, "src", "c*", "**", "*.c"), recursive=True):  # cmd and collect
            with open(path) as code:
                read |= set(re.findall(r'getenv\("(\w+)"\)', code.read()))
        self.assertGreater(len(read), 8)
        text = self.rendered(self.pages["tacho"])
        self.assertEqual({name for name in read - SYSTEM if not re.search(rf"\b{name}\b", text)}, set())

    def test_pages_are_the_same_each_time(self):
        for name, path in self.pages.items():
            again = run(TACHO, "help", "--man", *name.split("-", 1)[1:])
            with open(path) as page:
                self.assertEqual(again.stdout, page.read())


if __name__ == "__main__":
    if not shutil.which("man"):
        print("skipped: man (package man-db) is not installed")
        sys.exit(77)
    unittest.main()
