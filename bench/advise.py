"""What tacho profile --advise costs steps that are only timed, and whether the bare step is that of a bare run:
advise.py [--rounds N] [--steps N] [--layers N] [--python PYTHON] [--device cuda|cpu] [--out FILE.json]

A training loop runs bare, with --advise, and with a plain capture, in interleaved rounds, each in a process of its own. The program times
its own steps and prints them. A round gives: the median step of the bare run; with --advise the median of the steps that were only timed,
by the program's own clock, and the bare step of the report; the median of the plain capture. The figures are medians of the rounds, with
95 % intervals of what each adds to the bare run of its round. The aim: timed steps within 1 % of the bare run. It also counts launches in traced
steps whose kernels are missing: there must be none.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

import figures

PROGRAM = """
import sys, time, torch
steps, device, layers = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
torch.manual_seed(0)
width = 256
model = torch.nn.Sequential(*[torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.LayerNorm(width), torch.nn.GELU()) for _ in range(layers)]).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
x, y = torch.randn(64, width, device=device), torch.randn(64, width, device=device)
times = []
for _ in range(steps):
    optimizer.zero_grad(set_to_none=True)
    loss = torch.nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    loss.item()
    times.append(time.perf_counter_ns())
print("steps", *times)
"""
PHASES = "SELECT number, phase FROM TACHO_STEP_TIME ORDER BY start"
TIMES = """SELECT phase, "end" - start FROM TACHO_STEP_TIME"""
SWITCHES = """SELECT b.start - a."end" FROM TACHO_STEP_TIME a JOIN TACHO_STEP_TIME b ON b.number = a.number + 1 AND a.globalTid = b.globalTid
              WHERE a.phase <> b.phase"""
MISSING = """SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME r JOIN StringIds n ON n.id = r.nameId JOIN TACHO_STEP_TIME s
             ON r.start >= s.start AND r.start < s."end" AND s.phase = 'traced' WHERE n.value LIKE 'cu%LaunchKernel%'
             AND r.correlationId NOT IN (SELECT correlationId FROM CUPTI_ACTIVITY_KIND_KERNEL)"""


def run(options, way, folder):
    program = os.path.join(folder, "train.py")
    with open(program, "w") as file:
        file.write(PROGRAM)
    command = [options.python, program, str(options.steps), options.device, str(options.layers)]
    report = os.path.join(folder, "report.tacho")
    if way:
        command = [options.tacho, "profile", "-q", "-f", "true", "-o", report, *way, *command]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    times = [int(word) for word in next(line for line in done.stdout.splitlines() if line.startswith("steps")).split()[1:]]
    return [after - before for before, after in zip(times, times[1:])], report


def rows(options, report, sql):
    done = subprocess.run([options.tacho, "sql", "-f", "json", report, sql], check=True, stdout=subprocess.PIPE, text=True)
    return [tuple(row.values()) for row in json.loads(done.stdout)]


def steady(times):
    """The second half: caches, tuning and the clocks of the GPU have settled."""
    return statistics.median(times[len(times) // 2:])


def a_round(options):
    folder = tempfile.mkdtemp(prefix="tacho-bench-")
    try:
        bare, _ = run(options, None, folder)
        plain, _ = run(options, ["-s", "none"], folder)
        advised, report = run(options, ["--advise"], folder)
        phases = dict(rows(options, report, PHASES))
        # Step N of the report ends with the (N + 3)rd Optimizer.step(), and so does the program's own interval N + 1 but for loss.item().
        timed = [time for number, time in enumerate(advised) if phases.get(number - 1) == "timed" and number >= len(advised) // 2]
        by_phase = {}
        for phase, ns in rows(options, report, TIMES):
            by_phase.setdefault(phase, []).append(ns)
        switches = [ns for ns, in rows(options, report, SWITCHES)]
        return {
            "bare": steady(bare),
            "plain": steady(plain),
            "timed": statistics.median(timed),
            "phases": {phase: statistics.median(times) for phase, times in by_phase.items()},
            "steps": {phase: len(times) for phase, times in by_phase.items()},
            "switch_median_ns": statistics.median(switches) if switches else None,
            "switch_max_ns": max(switches, default=None),
            "missing": rows(options, report, MISSING)[0][0] if options.device == "cuda" else 0,
        }
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--layers", type=int, default=24)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--out")
    options = parser.parse_args()
    options.tacho = figures.find_tacho()
    rounds = []
    for _ in range(options.rounds):
        rounds.append(a_round(options))
        print(json.dumps(rounds[-1]), flush=True)
        if options.out:
            with open(options.out, "w") as file:
                json.dump(rounds, file, indent=1)
    bare = statistics.median(one["bare"] for one in rounds)
    print(f"bare step {bare / 1e6:.3f} ms")
    for name in ("timed", "plain"):
        added = [100 * (one[name] / one["bare"] - 1) for one in rounds]
        middle, least, most = figures.median_interval(added)
        print(f"{name}: {middle:+.2f} % ({least:+.2f} … {most:+.2f})")
    print(f"launches without a kernel in traced steps: {sum(one['missing'] for one in rounds)}")
    return 0 if statistics.median([one["timed"] / one["bare"] for one in rounds]) <= 1.01 else 1


if __name__ == "__main__":
    sys.exit(main())
