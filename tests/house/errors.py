"""One idiom for errors in the folders and files of FOLDERS: an error leaves its function at once, by return or by goto to a label that
frees, and the status variable is called `code`. So no line needs to ask whether everything before it went well
(docs/decisions/087-errors-leave-at-once.md)."""

import os
import re
import unittest

SOURCE = os.environ["SOURCE"]
FOLDERS = [
    "analyze/engine",
    "analyze/model",
    "analyze/replay",
    "analyze/reports",
    "analyze/rules",
    "export",
    "import",
    "query",
    "report",
    "cmd",
    "compat/dlprof/dlprof_command.c",
    "compat/dlprof/dlprof_events.c",
    "compat/dlprof/dlprof_program.c",
    "compat/dlprof/dlprof_write.c",
    "compat/ncu",
    "compat/pyprof",
    "compat/recipes",
    "compat/smi",
    "serve",
    "set",
    "view",
    "wasm",
]
ASKS_FOR_SUCCESS = re.compile(r"\bcode == 0\b|!code\b|\bcode \? code\b|\bcode == ERR_OK\b|\berr->code == 0\b")
OTHER_NAME = re.compile(r"\b(?!code\b)(\w+) = error_(?:set|no_memory|short_memory)")


def sources():
    for name in FOLDERS:
        place = os.path.join(SOURCE, "src", name)
        if os.path.isfile(place):
            yield place
        for path, _, names in os.walk(place):
            for name in sorted(names):
                if name.endswith((".c", ".h")):
                    yield os.path.join(path, name)


class Errors(unittest.TestCase):
    def find(self, pattern):
        found = []
        for path in sources():
            with open(path) as text:
                found += [f"{os.path.relpath(path, SOURCE)}:{number}: {line.strip()}" for number, line in enumerate(text, 1) if pattern.search(line)]
        return found

    def test_no_line_asks_whether_all_went_well(self):
        self.assertEqual(self.find(ASKS_FOR_SUCCESS), [])

    def test_the_status_variable_is_called_code(self):
        self.assertEqual(self.find(OTHER_NAME), [])


if __name__ == "__main__":
    unittest.main()
