"""Prints the kernel names of nsys captures: the linker's, nsys's short one, nsys's demangled one, separated by tabs.

    python3 tests/golden/names/make.py CAPTURE.sqlite… >tests/golden/names/kernels.tsv

kernels.tsv was made of the captures that tests/golden/nsys_stats.py knows and of an older one with other kernels. Where a
capture has lost a name ("(configuration)"), it is taken from what nsys printed, CAPTURE/cuda_gpu_kern_sum.csv, by its figures."""

import csv
import os
import sqlite3
import sys

QUERY = """SELECT m.value, s.value, d.value, sum(k.end - k.start), count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL k
    JOIN StringIds m ON m.id = k.mangledName JOIN StringIds s ON s.id = k.shortName
    JOIN StringIds d ON d.id = k.demangledName GROUP BY 1, 2, 3"""
names = set()
for path in sys.argv[1:]:
    printed = {}
    table = os.path.join(path.removesuffix(".sqlite"), "cuda_gpu_kern_sum.csv")
    if os.path.exists(table):
        printed = {(int(row[1]), int(row[2])): row[-1] for row in list(csv.reader(open(table, encoding="utf-8")))[1:] if row}
    for mangled, short, demangled, total, count in sqlite3.connect(f"file:{path}?immutable=1", uri=True).execute(QUERY):
        names.add((mangled, short, printed[total, count] if demangled == "(configuration)" else demangled))
for row in sorted(names):
    print(*row, sep="\t")
