#!/usr/bin/env python3
"""Size and speed of the report file: bytes and ns per row to write, ms to open and decode, beside plain structs."""
import os
import subprocess
import sys
import tempfile

source = os.environ.get("SOURCE") or os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
build = os.path.join(source, "build")
archives = [os.path.join(build, f"libtacho_{module}.a") for module in ("report", "base")]
if not all(map(os.path.exists, archives)):
    sys.exit("report: build first: scripts/build")
with tempfile.TemporaryDirectory() as folder:
    program = os.path.join(folder, "report_bench")
    subprocess.run([os.environ.get("CC", "cc"), "-O2", "-D_GNU_SOURCE", "-o", program, os.path.join(source, "bench/report/report_bench.c"),
                    *archives, "-lzstd", "-lm", "-lpthread"], check=True)
    for seed in ("1", "2", "3"):
        subprocess.run([program, "4000000", seed, os.path.join(folder, "bench.tacho")], check=True)
