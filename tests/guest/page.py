"""docs/guest.md lists what a program can notice: the same rows as the suite allows."""
import os
import re
import unittest

import guestlib
import visible


class Page(unittest.TestCase):
    maxDiff = None

    def test_rows(self):
        with open(os.path.join(guestlib.lib.SOURCE, "docs", "guest.md")) as file:
            section = file.read().partition("## What a program can notice\n")[2].partition("\n## ")[0]
        rows = [" ".join(row.replace("**", "").split()) for row in re.findall(r"^- (.*(?:\n  .*)*)", section, re.M)]
        self.assertEqual(rows, [f"{row.what}: {row.why}" for row in visible.VISIBLE])

    def test_every_row_has_a_reason(self):
        for row in [*visible.VISIBLE, *visible.EXPECTED_DIFFERENCES]:
            self.assertTrue(row.why, row)


if __name__ == "__main__":
    guestlib.lib.main()
