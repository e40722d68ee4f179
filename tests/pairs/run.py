"""Compares what `tacho what-if` promises for a fault with what its repair saves, on a GPU host: TACHO=bin/tacho python3 tests/pairs/run.py
[NAME…]. For each pair of pairs.py both programs are timed bare, in turn and in one process, and the faulty one is profiled. Prints the figures,
and writes pairs.json and the captures into the folder $OUT, if that is set. tests/golden/pairs has the captures, cut by
`tacho export -t tacho --tables=^CUPTI_,^NVTX_EVENTS`."""

import json
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "pairs.py")
TACHO = os.environ["TACHO"]
sys.path.insert(0, HERE)


def program(name, what, *before):
    done = subprocess.run([*before, sys.executable, PROGRAM, name, what], stdout=subprocess.PIPE, check=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def interval(values):
    """The median, and the 95 % interval of it by order statistics."""
    values = sorted(values)
    n = len(values)
    margin = int(0.98 * n ** 0.5 + 0.5)
    return statistics.median(values), values[max(0, n // 2 - margin)], values[min(n - 1, n // 2 + margin)]


def predicted(report, change):
    done = subprocess.run([TACHO, "what-if", "-f", "json", *change, report], stdout=subprocess.PIPE, check=True, text=True)
    return json.loads(done.stdout)


def measure(name, change, folder):
    bare = program(name, "both")
    report = os.path.join(folder, f"{name}.tacho")
    traced = program(name, "faulty", TACHO, "profile", "-q", "-t", "cuda,nvtx", "-s", "none", "-c", "cudaProfilerApi", "--capture-range-end=stop",
                     "-o", report)
    step, _, _ = interval(bare["faulty"])
    saved, low, high = interval([a - b for a, b in zip(bare["faulty"], bare["fixed"])])
    return {"name": name, "step": step, "saved": saved, "low": low, "high": high, "traced": traced["faulty"][0],
            "change": change, "what_if": predicted(report, change)}


def main(names):
    from pairs import PAIRS
    results, failed = [], []
    with tempfile.TemporaryDirectory() as scratch:
        folder = os.environ.get("OUT", scratch)
        for name in names or PAIRS:
            try:
                results.append(measure(name, PAIRS[name].change, folder))
                print(json.dumps(results[-1]), flush=True)
            except (subprocess.CalledProcessError, ValueError) as error:
                failed.append(name)
                print(f"{name}: {error}", flush=True)
        with open(os.path.join(folder, "pairs.json"), "w") as out:
            json.dump(results, out, indent=1)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
