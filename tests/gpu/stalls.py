"""What warps wait for (--pc-sampling), on a kernel whose loads depend on each other: the line with the load has most samples, they say long_scoreboard,
the program prints the same as without, and the shares of the reasons are those of ncu within 5 points."""
import csv
import os
import re
import shutil

import gpulib
import tools

LIMIT_SECONDS = 60
ALONE = True
LAUNCHES = 20
PREFIX = "smsp__pcsamp_warps_issue_stalled_"


def ncu():
    candidates = [os.environ.get("NCU"), shutil.which("ncu"), os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin", "ncu")]
    return next((path for path in candidates if path and os.path.exists(path)), None)


def shares(samples):
    total = sum(samples.values())
    return {reason: 100 * count / total for reason, count in samples.items()} if total else {}


class Stalls(gpulib.Case):
    def program(self):
        return tools.compiled("chase", "-lineinfo")

    def sample(self, mode):
        alone = tools.run([self.program(), str(LAUNCHES)], 20)
        self.assertEqual(alone.status, 0, str(alone))
        report = self.profile(self.program(), str(LAUNCHES), options=[*gpulib.CUDA, "--pc-sampling=" + mode], seconds=25)
        self.assertEqual(re.findall(r"sum \d+", self.output.stdout), re.findall(r"sum \d+", alone.stdout))
        self.assertEqual(report.value("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL"), LAUNCHES)
        if not report.has("TACHO_PC_SAMPLES"):
            self.skipTest("no samples: " + "; ".join(text for text, in report.rows("SELECT refusal FROM TACHO_PC_SAMPLING WHERE refusal IS NOT NULL")))
        self.figure(f"{mode}: period, samples, dropped, foreign, buffer full",
                    report.rows("SELECT periodCycles, totalSamples, droppedSamples, foreignSamples, bufferFull FROM TACHO_PC_SAMPLING"))
        return report

    def reasons(self, report):
        return dict(report.rows("SELECT stallReason, sum(samples) FROM TACHO_PC_SAMPLES GROUP BY 1"))

    def test_the_line_that_waits(self):
        report = self.sample("continuous")
        with open(tools.source("chase.cu")) as file:
            here = next(number for number, line in enumerate(file, 1) if line.rstrip().endswith("// here"))
        lines = report.rows("SELECT sourceFile, sourceLine, sum(samples) FROM TACHO_PC_SAMPLES GROUP BY 1, 2 ORDER BY 3 DESC")
        self.figure("lines and samples", lines[:5])
        file, line, most = lines[0]
        self.assertEqual((os.path.basename(file or ""), line), ("chase.cu", here))
        self.assertGreater(most, 0.5 * sum(samples for _, _, samples in lines))
        reasons = self.reasons(report)
        self.assertEqual(max(reasons, key=reasons.get), "long_scoreboard")

    def test_launches_told_apart(self):
        report = self.sample("serialized")
        launches = report.value("SELECT count(DISTINCT correlationId) FROM TACHO_PC_SAMPLES")
        known = report.value("""SELECT count(DISTINCT correlationId) FROM TACHO_PC_SAMPLES
                                WHERE correlationId IN (SELECT correlationId FROM CUPTI_ACTIVITY_KIND_KERNEL)""")
        self.figure("launches with samples", [launches, known])
        self.assertEqual((launches, known), (LAUNCHES, LAUNCHES))

    def test_shares_beside_ncu(self):
        if not ncu():
            self.skipTest("no ncu: set NCU to the program")
        ours = shares(self.reasons(self.sample("continuous")))
        done = tools.run([ncu(), "--section", "SourceCounters", "--section", "WarpStateStats", "--cache-control", "none", "--clock-control", "none",
                          "-s", "1", "-c", "1", "--csv", "--page", "raw", self.program(), "3"], 30)
        rows = list(csv.DictReader(line for line in done.stdout.splitlines() if line.startswith('"')))
        self.assertEqual(len(rows), 2, str(done))
        theirs = shares({name[len(PREFIX):]: float(value.replace(",", "") or 0) for name, value in rows[1].items()
                         if name.startswith(PREFIX) and not name.endswith("_not_issued")})
        self.figure("shares by tacho and by ncu", {reason: [round(ours.get(reason, 0), 1), round(share, 1)]
                                                   for reason, share in theirs.items() if share >= 1 or ours.get(reason, 0) >= 1})
        for reason in ours.keys() | theirs.keys():
            self.assertLess(abs(ours.get(reason, 0) - theirs.get(reason, 0)), 5, reason)


if __name__ == "__main__":
    gpulib.main()
