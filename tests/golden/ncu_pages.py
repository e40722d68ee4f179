"""What ncu printed on an H200 (ncu 2025.3, `--set basic` and `--set full` of a program, mix.cu) goes in, and comes out byte for byte: golden/ncu
has a launch of each kernel, with a part of the columns and without rules and warnings. A page can also be made from the other one."""

import csv
import os
import sys
import tempfile

import lib
from lib import check, output

TRUTH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ncu")


def truth(name):
    return open(os.path.join(TRUTH, name), newline="").read()


def printed(file, page, units):
    return output("ncu", "--import", file, "--csv", "--page", page, "--print-units", units)


def differences(expected, got):
    """The lines that differ, few of them."""
    pairs = list(zip(expected.splitlines(), got.splitlines()))
    return [pair for pair in pairs if pair[0] != pair[1]][:3] + ([("lines", expected.count("\n"), got.count("\n"))] if expected.count("\n") != got.count("\n") else [])


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for kernels in ("basic", "full"):
            for units, ending in (("auto", ""), ("base", "-base")):
                source = os.path.join(TRUTH, f"{kernels}-raw{ending}.csv")
                check(f"{kernels}, raw page, {units}", [], differences(truth(f"{kernels}-raw{ending}.csv"), printed(source, "raw", units)))
                check(f"{kernels}, details page from the raw one, {units}", [], differences(truth(f"{kernels}-details{ending}.csv"), printed(source, "details", units)))
                details = os.path.join(TRUTH, f"{kernels}-details{ending}.csv")
                check(f"{kernels}, details page, {units}", [], differences(truth(f"{kernels}-details{ending}.csv"), printed(details, "details", units)))
            check(f"{kernels}, details page, scaled from base units", [],
                  differences(truth(f"{kernels}-details.csv"), printed(os.path.join(TRUTH, f"{kernels}-details-base.csv"), "details", "auto")))
            check(f"{kernels}, text", [], differences(truth(f"{kernels}.txt"), output("ncu", "--import", os.path.join(TRUTH, f"{kernels}-raw.csv"))))
        text, raw = os.path.join(TRUTH, "basic.txt"), os.path.join(TRUTH, "full-raw.csv")
        check("a page of text", f"tacho stats: cannot import '{text}': it has no table of ncu, only text. Print one with: ncu --import REPORT.ncu-rep --page raw --csv\n",
              lib.refusal("stats", text))
        for report in ("kernel_counters", "kernel_counters_sum"):
            rows = list(csv.DictReader(output("stats", "-q", "-r", report, "-f", "csv", raw).splitlines()))
            first = [row["Metric"] for row in rows if "saxpy" in row["Name"]]
            is_part = ["Triage" in name for name in first]
            check(f"{report}: parts of metrics come last", True, any(is_part) and is_part == sorted(is_part))
        check("a summary of 20 launches, text", [], differences(truth("spin-summary.txt"), output("ncu", "--import", os.path.join(TRUTH, "spin-raw.csv"), "--print-summary", "per-kernel")))
    sys.exit(lib.status())


main()
