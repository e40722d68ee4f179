#!/usr/bin/env python3
"""What sampling of Python stacks does to a program, and takes itself: bare, under Tacho, and under py-spy where there is one.

    bench/python_sampling.py [--rounds N] [--hz N] [--python COMMAND] [--py-spy PROGRAM] [--json FILE]

The program is this file: some threads that wait and one that works, a fixed amount of it, and measures itself. One run of each a
round, in changing order; differences to the bare run of the same round, as medians with their 95 % interval. "beside it" is CPU time
of all processes but the program's own, as a share of a CPU. py-spy stops the program for each sample, unless --nonblocking tells it
not to; both ways are run. Takes Tacho from the variable TACHO or from build/bin/tacho.
"""
import argparse
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time

THREADS_THAT_WAIT = 3


def leaf(number):
    total = 0
    for i in range(number):
        total += i * i
    return total


def middle(number):
    return leaf(number) + leaf(number // 2)


def work(rounds, depth=20):
    if depth:
        return work(rounds, depth - 1)
    return sum(middle(200) for _ in range(rounds))


def program(rounds):
    end = threading.Event()
    threads = [threading.Thread(target=end.wait) for _ in range(THREADS_THAT_WAIT)]
    for thread in threads:
        thread.start()
    wall, cpu = time.perf_counter(), time.process_time()
    work(rounds)
    print(json.dumps({"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}), flush=True)
    end.set()
    for thread in threads:
        thread.join()


def run(command):
    """What the program measured, and the CPU seconds of everything else that the command did."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    lines = [line for line in done.stdout.splitlines() if line.startswith('{"wall"')]
    if not lines:
        sys.exit(f"python_sampling.py: {' '.join(command)} failed: {done.stderr}")
    figures = json.loads(lines[0])
    figures["all"] = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return figures


def variants(arguments, folder):
    bare = [*arguments.python.split(), os.path.abspath(__file__), "--program", str(arguments.work)]
    found = {"bare": bare}
    tacho = [figures.find_tacho(), "profile", "-q", "-f", "true", "-o", os.path.join(folder, "report"), "-t", "none", "-s", "none",
             "--cpuctxsw=none"]
    found["tacho"] = [*tacho, f"--python-sampling-frequency={arguments.hz}", *bare]
    spy = arguments.py_spy or shutil.which("py-spy")
    if spy:
        record = [spy, "record", "-r", str(arguments.hz), "-d", "3600", "-f", "raw", "-o", os.path.join(folder, "spy"), "--idle"]
        found["py-spy"] = [*record, "--", *bare]
        found["py-spy --nonblocking"] = [*record, "--nonblocking", "--", *bare]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--hz", type=int, default=1000)
    parser.add_argument("--work", type=int, default=60000)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--py-spy")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        commands = variants(arguments, folder)
        runs = {name: [] for name in commands}
        for _ in range(arguments.rounds):
            for name in random.sample(list(commands), len(commands)):
                runs[name].append(run(commands[name]))
    rows = []
    for name in commands:
        def share(field, name=name):
            return figures.median_interval([100 * (one[field] / bare[field] - 1) for one, bare in zip(runs[name], runs["bare"])])
        startup = [bare["all"] - bare["cpu"] for bare in runs["bare"]]
        beside = figures.median_interval([100 * (one["all"] - one["cpu"] - start) / one["wall"] for one, start in zip(runs[name], startup)])
        median = figures.median_interval([one["wall"] for one in runs[name]])[0]
        rows.append([name, f"{median:.2f} s"] + ["–" if name == "bare" else f"{low:+.1f} % ({least:+.1f} … {most:+.1f})"
                                                 for low, least, most in (share("wall"), share("cpu"))] +
                    ["–" if name == "bare" else f"{beside[0]:.1f} %"])
    print(json.dumps(figures.host()))
    figures.table(f"Python stacks {arguments.hz} times a second, {arguments.rounds} rounds",
                  ["", "program's time", "longer by", "more CPU time by", "beside it"], rows)
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump({"host": figures.host(), "hz": arguments.hz, "runs": runs}, file, indent=1)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--program"]:
        program(int(sys.argv[2]))
    else:
        sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
        import figures
        main()
