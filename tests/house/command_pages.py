"""Each command has a page with all its options, as the program explains them; the docs name no option that does not exist."""

import glob
import os
import re
import subprocess
import sys
import unittest

from commands import TACHO, commands, ignored, options

SOURCE = os.environ["SOURCE"]
# Old spellings, which help does not list, and options of other programs that the pages tell how to call.
HIDDEN = {"stop-on-range-end", "cudabacktrace-threshold", "event-sampling-frequency"}
OTHERS = {"cap-add", "install", "perf-basic-prof"}


def text_of(path):
    with open(path) as page:
        return page.read()


class CommandPages(unittest.TestCase):
    def test_pages_have_the_options_of_help(self):
        done = subprocess.run([sys.executable, os.path.join(SOURCE, "scripts", "command-pages"), "--check", TACHO], stderr=subprocess.PIPE)
        self.assertEqual((done.returncode, done.stderr.decode()), (0, ""))

    def test_every_option_is_on_its_page(self):
        for command in commands():
            page = text_of(os.path.join(SOURCE, "docs", "commands", ("help" if command == "version" else command) + ".md"))
            for option in [*options(command), *ignored(command)]:
                self.assertRegex(page, rf"--{option}\b", f"docs/commands/{command}.md")

    def test_pages_name_options_that_exist(self):
        known = {name for command in commands() for name in [*options(command), *ignored(command)]} | HIDDEN | OTHERS | {"version"}
        unknown = []
        for path in glob.glob(os.path.join(SOURCE, "docs", "commands", "*.md")):
            lines = [line for line in text_of(path).splitlines() if "nsys" not in line]  # its options are its own
            names = re.findall(r"(?<![\w-])--([a-z][a-z0-9-]*)\b(?!-)", "\n".join(lines))  # --filter-… stands for several
            unknown += [(os.path.relpath(path, SOURCE), name) for name in names if name not in known]
        self.assertEqual(unknown, [])


if __name__ == "__main__":
    unittest.main()
