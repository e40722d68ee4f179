"""CPU samples beside those of `perf record`, of the same run of an optimised C++ program: the same functions come first, with the same
shares. What is the same, and by which test, bench/agreement.py says."""
import os
import shutil
import subprocess
import sys

import lib

sys.path.insert(0, os.path.join(lib.SOURCE, "bench"))
import agreement

SOURCE = os.path.join(lib.SOURCE, "tests", "trace", "agreement", "many.cc")
FREQUENCY, ROUNDS, LEAST_SAMPLES = 2000, "100", 1000


class Agreement(lib.Case):
    def setUp(self):
        super().setUp()
        self.compiler = shutil.which("g++") or shutil.which("clang++-14")
        if not self.compiler or not shutil.which("nm") or not shutil.which("perf"):
            self.skipTest("needs perf, a C++ compiler and binutils")
        if subprocess.run(["perf", "record", "-q", "-o", self.path("try"), "-g", "true"], capture_output=True).returncode != 0:
            self.skipTest("perf record is refused here")

    def check(self, backtrace, *flags):
        program = self.path("many")
        subprocess.run([self.compiler, "-O2", "-std=c++17", *flags, "-pthread", "-o", program, SOURCE], check=True)
        results, theirs, ours = agreement.check([program, ROUNDS], self.folder, frequency=FREQUENCY, backtrace=backtrace, copy=49152,
                                                tacho=lib.TACHO)
        self.assertGreater(min(theirs, ours), LEAST_SAMPLES)
        for kind, (rows, strangers) in results.items():
            with self.subTest(kind):
                self.assertEqual([row for row in rows if row.verdict == "different"], [])
                self.assertEqual(strangers, [])
                self.assertGreaterEqual(len(rows), 20)
        return self.report()

    def test_dwarf(self):
        report = self.check("dwarf", "-fomit-frame-pointer")
        ends = {cause: report.count("callchains", "recorded", cause) for cause in ("whole", "cut", "too-deep", "broken")}
        self.assertGreaterEqual(ends["whole"], 0.98 * sum(ends.values()), ends)

    def test_frame_pointers(self):
        self.check("fp", "-fno-omit-frame-pointer")


if __name__ == "__main__":
    lib.main()
