"""What the benchmarks share: where Tacho is, what host this is, medians with their intervals, tables."""
import os
import platform
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


def table(title, header, rows):
    print(f"\n### {title}\n")
    print("| " + " | ".join(header) + " |")
    print("|" + "|".join(" --- " for _ in header) + "|")
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    sys.stdout.flush()
