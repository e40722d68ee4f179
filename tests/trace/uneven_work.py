"""Workers of which one has more to do than the others. What the rule says that equal work saves is compared with a run of equal work."""
import json
import os
import subprocess
import time

import lib

UNEVEN, EVEN = ("0.9", "0.3"), ("0.6", "0.6")


class UnevenWork(lib.Case):
    samples = True

    def bare(self, *arguments):
        """The wall time of the program without a profiler, ms; the least of three."""
        times = []
        for _ in range(3):
            start = time.monotonic()
            subprocess.run([lib.program("uneven_work"), *arguments], check=True)
            times.append(1000 * (time.monotonic() - start))
        return min(times)

    def found(self, *arguments):
        self.profile(lib.program("uneven_work"), *arguments)
        out = subprocess.run([lib.TACHO, "analyze", "-q", "-f", "json", "-r", "uneven_work", os.path.join(self.folder, "report.tacho")],
                             stdout=subprocess.PIPE, text=True, check=False).stdout
        return json.loads(out) if out.strip() else []

    def check(self, kind):
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("two CPUs are needed")
        saved = self.bare(kind, *UNEVEN) - self.bare(kind, *EVEN)
        rows = self.found(kind, *UNEVEN)
        self.assertEqual([(row["What"], row["Workers"], row["Phases"]) for row in rows], [(kind, 2, 1)])
        self.assertIn("crunch (uneven_work.c:", rows[0]["Where"])
        self.assertAlmostEqual(1, rows[0]["Impact (ns)"] / 1e6 / saved, delta=0.25)
        self.assertEqual(self.found(kind, *EVEN), [])

    def test_threads(self):
        self.check("threads")

    def test_processes(self):
        self.check("processes")


if __name__ == "__main__":
    lib.main()
