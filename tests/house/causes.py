"""Every cause of a loss that the code can count is in the table of docs/commands/info.md and in the schema, and no other one is."""

import glob
import os
import re
import unittest

SOURCE = os.environ["SOURCE"]


def read(*path):
    with open(os.path.join(SOURCE, *path), encoding="utf-8") as file:
        return file.read()


def counted():
    """The causes in the rows of TACHO_COUNT, but for those of events that were recorded."""
    causes = set(re.findall(r'X\(\w+, "(?:lost|unsampled-threads)", "([\w-]+)"\)', read("src", "wire", "wire.h")))
    causes |= set(re.findall(r'X\(\w+, "([\w-]+)",\s', read("src", "wire", "wire_marks.h").replace("\\\n", "\n")))
    for path in glob.glob(os.path.join(SOURCE, "src", "collect", "**", "*.c"), recursive=True):
        causes |= set(re.findall(r'process_count_row\([^;]*?"lost",\s*"([\w-]+)"', read(path)))
    return causes


class Causes(unittest.TestCase):
    def test_page(self):
        section = re.search(r"^## Causes$(.*?)^## ", read("docs", "commands", "info.md"), flags=re.M | re.S).group(1)
        self.assertEqual(set(re.findall(r"^\| `([\w-]+)` \|", section, flags=re.M)), counted())

    def test_schema(self):
        note = re.search(r'COLUMN\(TACHO_COUNT, cause, TEXT, NULLABLE, "(.*)"\)', read("src", "report", "schema", "tables", "tacho.def")).group(1)
        named = {word for part in note.split(";") if "recorded" not in part for word in re.findall(r"[\w-]+", re.sub(r"\([^)]*\)|^.*?:", "", part))}
        self.assertEqual(named, counted())


if __name__ == "__main__":
    unittest.main()
