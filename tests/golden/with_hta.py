"""The same as hta.py, with what HolisticTraceAnalysis says now. TACHO_TEST_HTA names a Python that has it, where that of the tests has not."""

import json
import os
import subprocess
import sys

import hta
import lib

PYTHON = os.environ.get("TACHO_TEST_HTA", sys.executable)


def main():
    if subprocess.run([PYTHON, "-c", "import hta.trace_analysis"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/").returncode != 0:
        print(f"skipped: {PYTHON} has no HolisticTraceAnalysis: TACHO_TEST_HTA can name a Python that has (pip install HolisticTraceAnalysis)")
        return 77
    done = subprocess.run([PYTHON, os.path.join(lib.KINETO, "make_hta.py")], stdout=subprocess.PIPE, text=True, check=True)
    hta.compare(json.loads(done.stdout))
    return lib.status()


if __name__ == "__main__":
    sys.exit(main())
