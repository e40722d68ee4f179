"""What the benchmarks share: where Tacho is, what host this is, medians with their intervals, tables."""
import json
import os
import platform
import random
import resource
import shutil
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
CORES = len(os.sched_getaffinity(0))


def find_tacho():
    built = os.path.join(HERE, "..", "build", "bin", "tacho")
    found = os.environ.get("TACHO") or (built if os.path.exists(built) else shutil.which("tacho"))
    if not found:
        sys.exit(f"{os.path.basename(sys.argv[0])}: no tacho found; set TACHO to the program, or run scripts/build")
    return os.path.abspath(found)


def host():
    model = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as info:
            model = next((line.split(":", 1)[1].strip() for line in info if line.startswith("model name")), model)
    except OSError:
        pass
    return {"cpu": model, "cores": CORES, "machine": platform.machine(), "kernel": platform.release(),
            "load": os.getloadavg()[0], "date": time.strftime("%Y-%m-%d", time.gmtime())}


def version(tacho):
    return subprocess.run([tacho, "--version"], capture_output=True, text=True).stdout.strip()


def cpu_ns():
    """CPU time of all children so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (used.ru_utime + used.ru_stime) * 1e9


def median_interval(values):
    """Median and its 95 % interval by order statistics: no assumption about the noise. With fewer than six values even the
    least and the greatest hold the median less surely than that."""
    values = sorted(values)
    count = len(values)
    below, probability = 0, 0.5 ** count
    total = probability
    while total + probability * (count - below) / (below + 1) <= 0.025:
        probability *= (count - below) / (below + 1)
        total += probability
        below += 1
    return statistics.median(values), values[below], values[count - 1 - below]


def chosen(parser, names, variants):
    """The variants to run, "bare" before those that were asked for; all without any."""
    unknown = [name for name in names if name not in variants]
    if unknown:
        parser.error(f"there is no variant '{unknown[0]}'")
    return ["bare"] + [name for name in names or variants if name != "bare"]


def run_rounds(names, budget, run, keep):
    """[{name: run(name)}], each round in an order of its own. No run begins after the budget, in seconds; keep(rounds) follows each round."""
    rounds, end = [], time.monotonic() + budget
    while time.monotonic() < end:
        rounds.append({})
        for name in random.sample(names, len(names)):
            if time.monotonic() < end:
                rounds[-1][name] = run(name)
        keep(rounds)
    return rounds


def keep_figures(path, **figures):
    """Writes them with the host; a path of None: nowhere."""
    if path:
        with open(path, "w") as file:
            json.dump({"host": host(), **figures}, file, indent=1)


def table(title, header, rows):
    print(f"\n### {title}\n")
    print("| " + " | ".join(header) + " |")
    print("|" + "|".join(" --- " for _ in header) + "|")
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    sys.stdout.flush()
