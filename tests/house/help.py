"""Help is laid out for a reader: aligned by characters, no wider than the terminal, with examples that work."""

import re
import shlex
import subprocess
import unittest

from commands import TACHO, commands, help_of, on_terminal, options, section

INDENT = 32


class Help(unittest.TestCase):
    def setUp(self):
        self.commands = commands()
        self.assertGreater(len(self.commands), 12)

    def test_no_line_is_wider_than_the_terminal(self):
        wide = []
        for columns in (80, 100, 200):
            for command in [[], *([name] for name in self.commands)]:
                limit = min(columns, 100)
                wide += [(columns, line) for line in on_terminal(columns, "help", *command).splitlines() if len(line) > limit]
        for command in self.commands:
            wide += [("not a terminal", line) for line in help_of(command).splitlines() if len(line) > 100]
        self.assertEqual(wide, [])

    def test_references_fit(self):
        """The lists of reports, rules and formats, and doctor. The first line of an entry is whole where no terminal is."""
        lists = [["stats", "--help-reports"], ["stats", "--help-reports", "ALL"], ["analyze", "--help-rules"], ["analyze", "--help-rules", "ALL"],
                 ["stats", "--help-formats"], ["analyze", "--help-formats"], ["doctor"]]
        wide = []
        for words in lists:
            plain = subprocess.run([TACHO, *words], stdout=subprocess.PIPE, check=True).stdout.decode()
            wide += [(words, line) for line in plain.splitlines() if len(line) > 100 and " -- " not in line]
            for columns in (80, 100, 200):
                text = re.sub("\033\\[[0-9]*m", "", on_terminal(columns, *words))
                wide += [(words, columns, line) for line in text.splitlines() if len(line) > min(columns, 100)]
                if words != ["doctor"]:
                    self.assertEqual("".join(text.split()), "".join(plain.split()))
        self.assertEqual(wide, [])

    def test_explanations_are_aligned(self):
        """An explanation begins in one column, beside its option or, if that is long, below it."""
        crooked = []
        for command in self.commands:
            for columns in (80, 100):
                for line in section(on_terminal(columns, "help", command), "options:").splitlines():
                    name = re.match(r"  (-\w, |    )--[\w-]+(=\S+)?( +|$)", line)
                    begins = name.end() if name else len(line) - len(line.lstrip())
                    if begins != INDENT and not (name and name.end() == len(line)):
                        crooked.append((command, line))
        self.assertEqual(crooked, [])

    def test_every_command_has_examples_that_it_accepts(self):
        """--help stands before the program or the second group of files, so that all options before it are parsed."""
        for command in self.commands:
            known, lines = options(command), re.findall(r"^  (\S.*)$", section(help_of(command), "examples:"), re.M)
            self.assertTrue(lines, f"tacho help {command} has no examples")
            for line in lines:
                words = shlex.split(re.sub(r" [|<] .*|^source <\(|\)$", "", line))
                self.assertEqual(words[:2], ["tacho", command], line)
                valued = {f"--{name}" for name, (_, value) in known.items() if value and not value.startswith("true|")}
                valued |= {f"-{letter}" for letter, value in known.values() if letter and value and not value.startswith("true|")}
                at = 2
                while at < len(words) and words[at].startswith("-") and words[at] != "--":
                    at += 2 if words[at] in valued else 1
                done = subprocess.run([TACHO, *words[1:at], "--help"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                self.assertEqual((done.returncode, done.stderr), (0, b""), line)


if __name__ == "__main__":
    unittest.main()
