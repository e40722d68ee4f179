"""What tacho profile --advise costs steps that are only timed:
advise.py [--seconds N] [--steps N] [--python PYTHON] [--device cuda|cpu] [--causes] [--out FILE.json]

Three training loops run in one process: `train` (a small model, and loss.item() in each step), `launches` (Adam without foreach: thousands of
short kernels) and `python` (Python between the launches). That process runs bare, with --advise and under a plain capture, in interleaved rounds
until the seconds are over. It times its own steps. A round compares the median of the steps that were only timed with the median of the same steps
of the bare run. The figures are medians of the rounds, with 95 % intervals. The aim: within 1 %. With --causes, the process also runs with --advise
and one part less each time, to tell what costs. The last line counts launches in traced steps whose kernels are missing: there must be none.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import figures

PROGRAM = """
import sys, time, torch
steps, device = int(sys.argv[1]), sys.argv[2]
torch.manual_seed(0)
width = 256
x, y = torch.randn(64, width, device=device), torch.randn(64, width, device=device)

def run(layers, foreach, between):
    model = torch.nn.Sequential(*[torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.LayerNorm(width), torch.nn.GELU()) for _ in range(layers)]).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-5, foreach=foreach)
    for _ in range(steps):
        optimizer.zero_grad(set_to_none=True)
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        between(loss)
        times.append(time.perf_counter_ns())

times = []
run(24, True, lambda loss: loss.item())
run(24, False, lambda loss: None)
run(8, True, lambda loss: sum(0.5 ** (row % 64) for row in range(30000)))
print("steps", *times)
"""
PROGRAMS = ("train", "launches", "python")
WAYS = {"timed": ["--advise"], "plain": ["-s", "none"]}
CAUSES = {
    "without CUDA": ["--advise", "-t", "osrt,nvtx"],
    "without OS calls": ["--advise", "-t", "cuda,nvtx"],
    "without Python stacks": ["--advise", "--python-sampling=false"],
    "operators alone": ["--advise", "-t", "none", "--python-sampling=false"],
}
PHASES = "SELECT number, phase FROM TACHO_STEP_TIME ORDER BY start"
MISSING = """SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME r JOIN StringIds n ON n.id = r.nameId JOIN TACHO_STEP_TIME s
             ON r.start >= s.start AND r.start < s."end" AND s.phase = 'traced' WHERE n.value LIKE 'cu%LaunchKernel%'
             AND r.correlationId NOT IN (SELECT correlationId FROM CUPTI_ACTIVITY_KIND_KERNEL)"""


def run(options, way, folder):
    """The times of all steps in ns, and the path of the report."""
    program = os.path.join(folder, "train.py")
    with open(program, "w") as file:
        file.write(PROGRAM)
    command = [options.python, program, str(options.steps), options.device]
    report = os.path.join(folder, "report.tacho")
    if way:
        command = [options.tacho, "profile", "-q", "-f", "true", "-o", report, *way, *command]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    times = [int(word) for word in next(line for line in done.stdout.splitlines() if line.startswith("steps")).split()[1:]]
    return [after - before for before, after in zip(times, times[1:])], report


def rows(options, report, sql):
    done = subprocess.run([options.tacho, "sql", "-f", "json", report, sql], check=True, stdout=subprocess.PIPE, text=True)
    return [tuple(row.values()) for row in json.loads(done.stdout)]


def steps_of(options, program):
    """The steps of a program that count: caches, tuning and the clocks of the GPU have settled."""
    first = PROGRAMS.index(program) * options.steps
    return range(first + options.steps // 4, first + options.steps - 1)


def compare(options, bare, way, folder):
    """What each program took longer this way than bare, in %. Step N of a report lies between the marks of the program's intervals N + 1."""
    times, report = run(options, way, folder)
    phases = dict(rows(options, report, PHASES)) if "--advise" in way else {}
    longer = {}
    for program in PROGRAMS:
        counted = [step for step in steps_of(options, program) if not phases or phases.get(step - 1) == "timed"]
        if counted:
            longer[program] = 100 * (statistics.median(times[step] for step in counted) / statistics.median(bare[step] for step in counted) - 1)
    missing = rows(options, report, MISSING)[0][0] if way == WAYS["timed"] and options.device == "cuda" else 0
    return {"longer": longer, "missing": missing}


def a_round(options, ways):
    folder = tempfile.mkdtemp(prefix="tacho-bench-")
    try:
        bare, _ = run(options, None, folder)
        return {
            "bare": {program: statistics.median(bare[step] for step in steps_of(options, program)) for program in PROGRAMS},
            "ways": {name: compare(options, bare, way, folder) for name, way in ways.items()},
        }
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def show(rounds, ways):
    """Prints the table; true if timed steps are within the aim."""
    is_reached = True
    for program in PROGRAMS:
        print(f"{program}: bare step {statistics.median(one['bare'][program] for one in rounds) / 1e6:.3f} ms")
        for name in ways:
            longer = [one["ways"][name]["longer"][program] for one in rounds if program in one["ways"][name]["longer"]]
            if not longer:
                print(f"  {name}: no step was only timed")
                continue
            middle, least, most = figures.median_interval(longer)
            print(f"  {name}: {middle:+.2f} % ({least:+.2f} … {most:+.2f})")
            is_reached &= name != "timed" or middle <= 1
    print(f"launches without a kernel in traced steps: {sum(one['ways']['timed']['missing'] for one in rounds)}")
    return is_reached


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=220, help="no round begins that would end later")
    parser.add_argument("--steps", type=int, default=250, help="of each program")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--causes", action="store_true")
    parser.add_argument("--out")
    options = parser.parse_args()
    options.tacho = figures.find_tacho()
    ways = {**WAYS, **(CAUSES if options.causes else {})}
    rounds, begin, longest = [], time.monotonic(), 0
    while not rounds or time.monotonic() - begin + longest < options.seconds:
        start = time.monotonic()
        rounds.append(a_round(options, ways))
        longest = max(longest, time.monotonic() - start)
        print(json.dumps(rounds[-1]), flush=True)
        if options.out:
            with open(options.out, "w") as file:
                json.dump(rounds, file, indent=1)
    return 0 if show(rounds, ways) else 1


if __name__ == "__main__":
    sys.exit(main())
