"""`tacho diff` on CPU samples of a faster and a slower build, which lie in two folders: right in both directions."""
import json
import os
import shutil
import subprocess

import lib

PROGRAM = lib.program("two_builds")
WORK = {"fast": 100, "slow": 400}  # millions of steps; the other function takes as many in both


class TwoBuilds(lib.Case):
    samples = True

    def record(self, build):
        os.mkdir(self.path(build))
        copy = shutil.copy(PROGRAM, self.path(build))
        self.profile(copy, str(WORK[build]), "100", output=f"{build}.tacho", options=["--sampling-frequency=1000"])
        return self.path(f"{build}.tacho")

    def diff(self, *arguments):
        return subprocess.run([lib.TACHO, "diff", "-q", "-f", "json", "-r", "cpu_sample_sum", *arguments], capture_output=True, text=True, timeout=60)

    def test_both_directions(self):
        fast, slow = self.record("fast"), self.record("slow")
        for before, after, is_slower in ((fast, slow, True), (slow, fast, False)):
            with self.subTest(is_slower=is_slower):
                done = self.diff("--fail-if", "total>+20%", before, after)
                self.assertEqual((done.returncode, done.stderr.startswith("FAILED cpu_sample_sum: total ")), (int(is_slower), is_slower), done.stderr)
                done = self.diff("--fail-if", "any total>+100%", before, after)
                self.assertEqual((done.returncode, "FAILED cpu_sample_sum: total of work, two_builds " in done.stderr), (int(is_slower), is_slower), done.stderr)
                row = json.loads(done.stdout)[0]
                self.assertEqual((row["Function"], row["Module"], row["Note"]), ("work", "two_builds", ""))
                self.assertEqual(row["After (ns)"] > 2 * row["Before (ns)"], is_slower, row)
                self.assertEqual(2 * row["After (ns)"] < row["Before (ns)"], not is_slower, row)


if __name__ == "__main__":
    lib.main()
