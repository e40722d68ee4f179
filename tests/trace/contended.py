"""A program that waits for one lock: the advice names the lock, the threads and the lines first."""
import json
import os
import re
import subprocess

import lib

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "contended.c")
CPU_RULES = {"slow_calls", "uneven_work", "lock_contention", "blocked_io", "cpu_oversubscription", "process_starts", "slow_start"}


def line_with(comment):
    """The line of the program that has this comment."""
    with open(SOURCE, encoding="utf-8") as source:
        return next(number for number, line in enumerate(source, 1) if f"/* {comment} */" in line)


class Contended(lib.Case):
    samples = True

    def tacho(self, *arguments, **environment):
        return subprocess.run([lib.TACHO, *arguments], check=True, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment}).stdout

    def named(self, path):
        """The rules whose tables analyze prints, and those that its last lines name."""
        shown = self.tacho("analyze", path, COLUMNS="10000")
        last = re.findall(r"^(?:Nothing found by|Not checked, for lack of data): (.*)$", shown, re.M)
        names = re.findall(r"^\S.* \((\w+)\)$", shown, re.M) + re.findall(r"[a-z_]+", re.sub(r"\(.*?\)", "", " ".join(last)))
        return set(names) - {"advice_sum"}

    def test_advice_names_lock_holder_and_line_first(self):
        self.profile(lib.program("contended"))
        workers = self.output.stdout.splitlines()[:3]
        self.assertTrue(all(re.fullmatch(r"worker\d \(\d+\)", worker) for worker in workers), workers)
        path = os.path.join(self.folder, "report.tacho")
        first = json.loads(self.tacho("stats", "-q", "-f", "json", "-r", "advice_sum", path))[0]
        self.assertEqual(first["Rule"], "lock_contention")
        lock = json.loads(self.tacho("analyze", "-q", "-f", "json", "-r", "lock_contention", path))[0]
        self.assertEqual(lock["Waited In"], f"take_turn (contended.c:{line_with('waits')})")
        self.assertIn(lock["Held By"], workers)
        self.assertRegex(lock["Holder Did"], rf"^crunch \(contended\.c:({line_with('computes') - 1}|{line_with('computes')})\)$")
        self.assertEqual(lock["Lock"], "queue_lock (contended)")
        self.assertGreaterEqual(lock["Threads"], 2)
        for part in (lock["Lock"], lock["Waited In"], lock["Held By"], lock["Holder Did"]):
            self.assertIn(part, first["Finding"])
        part = self.path("part.tacho")
        self.tacho("export", "-q", "-t", "tacho", "--times", "0/1000s", "-o", part, path)
        self.assertEqual(json.loads(self.tacho("analyze", "-q", "-f", "json", "-r", "lock_contention", part))[0]["Lock"], lock["Lock"])
        summary = self.tacho("summary", path, COLUMNS="10000").splitlines()
        cause = next(line for line in summary if line.startswith("  causes"))
        for part in (lock["Lock"], lock["Waited In"], lock["Held By"]):
            self.assertIn(part, summary[summary.index(cause) + 1], "the summary names it first")
        self.assertIn("analyze -r lock_contention ", summary[-1])
        shown = self.tacho("analyze", path)
        self.assertLess(shown.find("lock_contention"), shown.find("Nothing found by"))
        self.assertEqual(self.named(path), CPU_RULES, "rules on other kinds of programs are not named")
        nothing = self.tacho("analyze", "--filter-time", "0/1us", path)
        self.assertRegex(nothing, r"^Nothing found by: slow_calls, uneven_work, lock_contention, ", "names checks, and advice_sum is none")

    def test_a_lock_of_a_forked_child_has_its_name(self):
        """The child has the modules of its parent, and does not tell of them again."""
        self.profile(lib.program("contended"), "forked", options=["-t", "osrt", "-s", "none"])
        lock = json.loads(self.tacho("analyze", "-q", "-f", "json", "-r", "lock_contention", os.path.join(self.folder, "report.tacho")))[0]
        self.assertEqual(lock["Lock"], "queue_lock (contended)")
        self.assertEqual(lock["Waited In"], f"take_turn (contended.c:{line_with('waits')})")

    def test_rules_without_data_name_the_option_that_records_it(self):
        path = self.path("bare.tacho")
        subprocess.run([lib.TACHO, "profile", "-t", "nvtx", "-o", path, lib.program("contended")], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        shown = self.tacho("analyze", path)
        self.assertRegex(shown, r"(?m)^Not checked, for lack of data: lock_contention, blocked_io \(--trace=osrt\)")
        self.assertLessEqual(self.named(path), CPU_RULES, "a C program that loads no CUDA")


if __name__ == "__main__":
    lib.main()
