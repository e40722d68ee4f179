"""Calls that are too short for events are counted by function, with their errors and bytes: the program prints what it did, and strace counts
it from the kernel's side."""
import json
import re
import shutil
import subprocess

import lib

EVERY_CALL_IS_SHORT = ("--osrt-threshold", "1000000000000")


class ShortCalls(lib.Case):
    def run_program(self, *options):
        """The report, and what the program says: {function: (calls, errors, bytes)}."""
        files = [self.path(f"data{i}") for i in range(3)]
        report = self.profile(lib.program("short_calls"), *files, options=["-t", "osrt", "-s", "none", *options])
        said = re.findall(r"^(\w+) (\d+) (\d+) (\d+)$", self.output.stdout, re.MULTILINE)
        self.assertEqual(len(said), 5)
        return report, {name: tuple(map(int, numbers)) for name, *numbers in said}

    def table(self, name):
        done = subprocess.run([lib.TACHO, "stats", "-q", "-f", "json", "-r", name, self.path("report.tacho")], check=True, stdout=subprocess.PIPE,
                              text=True)
        return {row["Name"]: row for row in json.loads(done.stdout)}

    def test_all_calls_are_short(self):
        report, made = self.run_program(*EVERY_CALL_IS_SHORT)
        counted = {name: tuple(numbers) for name, *numbers in report.rows(
            "SELECT value, sum(count), sum(failed), coalesce(sum(bytes), 0) FROM TACHO_SHORT_CALL JOIN StringIds ON id = nameId GROUP BY value")}
        self.assertEqual({name: counted.get(name) for name in made}, made)
        self.assertEqual(report.value("SELECT count(DISTINCT globalPid) FROM TACHO_SHORT_CALL"), 2)
        self.assertEqual(report.value("SELECT sum(count) FROM TACHO_SHORT_CALL"), report.count("osrt", "below-threshold"))
        self.assertGreater(report.value("SELECT min(duration) FROM TACHO_SHORT_CALL"), 0)

    def test_short_and_long_ones_together(self):
        """With the usual threshold some calls have events: each call is counted once."""
        report, made = self.run_program()
        rows = self.table("osrt_call_sum")
        self.assertEqual({name: (rows[name]["Calls"], rows[name]["Errors"]) for name in made}, {name: made[name][:2] for name in made})
        events = self.table("osrt_sum")
        for name in made:
            self.assertEqual(rows[name]["Calls"] - rows[name]["Short Calls"], events[name]["Num Calls"] if name in events else 0, name)
        text = subprocess.run([lib.TACHO, "stats", "-r", "osrt_sum", self.path("report.tacho")], check=True, stdout=subprocess.PIPE, text=True).stdout
        self.assertIn("Without calls too short for events: ", text)
        totals = json.loads(subprocess.run([lib.TACHO, "stats", "-q", "-f", "json", "-r", "process_sum", self.path("report.tacho")], check=True,
                                           stdout=subprocess.PIPE, text=True).stdout)
        self.assertEqual([(row["Written (B)"] >= made["pwrite"][2], row["Read (B)"]) for row in totals], [(True, made["pread"][2])])

    def test_the_kernel_counts_the_same(self):
        if not shutil.which("strace"):
            self.skipTest("no strace")
        report, made = self.run_program(*EVERY_CALL_IS_SHORT)
        listing = self.path("listing")
        done = subprocess.run(["strace", "-f", "-c", "-o", listing, lib.program("short_calls"), *[self.path(f"bare{i}") for i in range(3)]],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            self.skipTest(f"strace cannot trace here: {done.stderr}")
        with open(listing, encoding="utf-8") as file:
            kernel = {words[-1]: (int(words[3]), int(words[4]) if len(words) == 6 else 0)
                      for words in map(str.split, file) if len(words) in (5, 6) and words[3].isdigit()}
        names = {"pwrite": "pwrite64", "fcntl": "fcntl", "ftruncate": "ftruncate"}  # the loader makes none of these
        self.assertEqual({name: kernel[call] for name, call in names.items()}, {name: made[name][:2] for name in names})
        self.assertEqual(kernel["openat"][1], made["openat"][1])

    def test_more_functions_than_places(self):
        """A thread that calls every function that there is: those without a place of their own are counted together."""
        report = self.profile(lib.program("os_calls"), options=["-t", "osrt", "-s", "none", *EVERY_CALL_IS_SHORT])
        self.assertEqual(report.value("SELECT sum(count) FROM TACHO_SHORT_CALL"), report.count("osrt", "below-threshold"))
        others = report.value("SELECT sum(count) FROM TACHO_SHORT_CALL WHERE nameId = (SELECT id FROM StringIds WHERE value = '(other functions)')")
        self.assertGreater(others, 0)


if __name__ == "__main__":
    lib.main()
