"""Workers of which one has more to do than the others, in CPU time that they measure themselves: 0.9 and 0.3 s are 300 ms more than twice 0.6."""
import json
import os
import subprocess

import lib

UNEVEN, EVEN = ("0.9", "0.3"), ("0.6", "0.6")


class UnevenWork(lib.Case):
    samples = True

    def found(self, *arguments):
        self.profile(lib.program("uneven_work"), *arguments)
        out = subprocess.run([lib.TACHO, "analyze", "-q", "-f", "json", "-r", "uneven_work", os.path.join(self.folder, "report.tacho")],
                             stdout=subprocess.PIPE, text=True, check=False).stdout
        return json.loads(out) if out.strip() else []

    def check(self, kind):
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("two CPUs are needed")
        rows = self.found(kind, *UNEVEN)
        self.assertEqual([(row["What"], row["Workers"], row["Phases"]) for row in rows], [(kind, 2, 1)])
        self.assertIn("crunch (uneven_work.c:", rows[0]["Where"])
        self.assertAlmostEqual(300, rows[0]["Impact (ns)"] / 1e6, delta=75)
        self.assertEqual(self.found(kind, *EVEN), [])

    def test_threads(self):
        self.check("threads")

    def test_processes(self):
        self.check("processes")


if __name__ == "__main__":
    lib.main()
