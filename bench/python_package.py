"""What the Python package costs: a range without and under a capture, and the columns of a large table.

    python3 bench/python_package.py BUILD [CALLS]

Prints medians of nine rounds, in ns a call; a call of an empty function stands beside them.
"""
import os
import statistics
import subprocess
import sys
import tempfile

ROUNDS = 9
PROGRAM = """
import statistics, sys, time
import tacho

def empty():
    pass

def with_range():
    with tacho.range("range"):
        pass

decorated = tacho.range()(empty)
calls = int(sys.argv[1])
for name, function in (("empty function", empty), ("with tacho.range", with_range), ("@tacho.range", decorated)):
    rounds = []
    for _ in range(%d):
        start = time.perf_counter_ns()
        for _ in range(calls):
            function()
        rounds.append((time.perf_counter_ns() - start) / calls)
    print(f"{name:20} {statistics.median(rounds):8.0f} ns")
""" % ROUNDS
READ = """
import statistics, sys, time
import tacho
with tacho.load(sys.argv[1]) as report:
    table = report["NVTX_EVENTS"]
    rounds = []
    for _ in range(%d):
        start = time.perf_counter()
        table["start"], table["end"]
        rounds.append(time.perf_counter() - start)
    print(f"two columns of {len(table)} rows: {statistics.median(rounds) * 1000:.1f} ms")
""" % ROUNDS


def main():
    build = os.path.abspath(sys.argv[1])
    calls = sys.argv[2] if len(sys.argv) > 2 else "100000"
    environment = dict(os.environ, PYTHONPATH=os.path.join(build, "lib", "tacho", "python"))
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.tacho")
        print("without a capture", flush=True)
        subprocess.run([sys.executable, "-c", PROGRAM, calls], env=environment, check=True)
        print("under tacho profile -t nvtx", flush=True)
        subprocess.run([os.path.join(build, "bin", "tacho"), "profile", "-q", "-t", "nvtx", "-o", report, sys.executable, "-c", PROGRAM, calls],
                       env=environment, check=True)
        subprocess.run([sys.executable, "-c", READ, report], env=environment, check=True)


main()
