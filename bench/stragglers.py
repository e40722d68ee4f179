#!/usr/bin/env python3
"""Which planted faults straggler_sum names: bench/stragglers.py FOLDER [--families mpi,gloo] [--faults …] [--seeds FROM-TO] [--read] [--json FILE]
One job a seed, with the faults in turn:     bench/stragglers.py FOLDER --batch --gain 3 --seeds FROM-TO …
How far lateness without clocks is off:      bench/stragglers.py FOLDER --lateness RUNS
What a job gains by the repair of its fault: bench/stragglers.py FOLDER --gain 3 …, against "Could Gain a Step"

Runs jobs of four ranks with one fault each (bench/planted/planted_faults.c with Open MPI, bench/planted/planted_gloo.py with torchrun), of another rank, length, number and size
of steps for each seed, and keeps their reports in FOLDER: those that are there are not recorded again, with --read none is. Then asks for each run
`tacho stats -r straggler_sum`, with which `tacho stats` ends on a terminal, the rule `straggler` of `tacho analyze`, and the first line of `tacho summary`. The naming was tuned on even seeds; the table has
odd and even ones apart. The fault "busy" is none: another program takes a core of the machine. PLANTED_NICE=-20 gives the programs precedence over others of a busy machine, which would be faults that were not planted. Needs Open MPI, and for gloo a Python with PyTorch (TACHO_TEST_TORCH). Takes Tacho from the variable TACHO or from build/bin/tacho.
"""
import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys

from figures import HERE, find_tacho, host, table

HOGS = {"hog": 6, "busy": 1}
HOG = """import os
nice = os.environ.get("PLANTED_NICE")
if nice:
    os.setsid()
    os.nice(int(nice))
    open("/proc/self/autogroup", "w").write(nice)
print(flush=True)
while True:
    pass
"""
# fault: cause, function. The first cause is what was planted; all are right.
MPI = {"none": None, "busy": None, "compute": (("compute",), "slow_part"), "sleep": (("sleeping",), "load_batch"), "uneven": (("compute",), "work"),
       "faults": (("page faults",), "touch_memory"), "hog": (("off CPU: others run there",), "work"), "message": (("compute",), "slow_part"),
       "pair": (("compute",), "slow_part"), "layers": (("compute",), "slow_part")}
GLOO = {"none": None, "busy": None, "compute": (("compute",), "slow_part"), "loader": (("data loader", "sleeping"), "__getitem__"), "gc": (("garbage collection",), "step"),
        "uneven": (("compute",), "work"), "faults": (("page faults",), "touch_memory"), "hog": (("off CPU: others run there",), "work"),
        "pair": (("compute",), "slow_part")}
FAMILIES = {"mpi": MPI, "gloo": GLOO}
SETTINGS = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMP_NUM_THREADS": "1"}


# One job a seed, with the faults in turn, and shorter. Each fifth one is of gloo: PyTorch takes long to load.
FAULTS = {family: [fault for fault in faults if faults[fault]] for family, faults in FAMILIES.items()}
BATCH_STEPS = {"mpi": (30, 60), "gloo": (20, 35)}


def plan(family, fault, seed, ranks, batch=False):
    """What a seed stands for."""
    chance = random.Random(f"{family} {fault} {seed}")
    work = chance.randint(500, 4000) if family == "mpi" else chance.randint(2000, 8000)
    size = max(2000 if family == "mpi" else 5000, int(work * chance.uniform(1, 4)))
    least, most = BATCH_STEPS[family] if batch else (40, 100) if family == "mpi" else (20, 50)
    return {"family": family, "fault": fault, "seed": seed, "at": chance.randrange(ranks), "ranks": ranks, "steps": chance.randint(least, most), "work_us": work, "fault_us": size}


def jobs(options):
    """Family and fault of each seed: all of them, or in turn."""
    begin, end = map(int, options.seeds.split("-"))
    for seed in range(begin, end + 1):
        if options.half and (seed % 2 == 0) != (options.half == "even"):
            continue
        if options.batch and not options.faults:
            family, number = ("mpi", seed - seed // 5) if seed % 5 else ("gloo", seed // 5)
            kinds = [(family, FAULTS[family][number % len(FAULTS[family])])]
        else:
            kinds = [(family, fault) for family in FAMILIES for fault in options.faults.split(",") if fault in FAMILIES[family]] if options.faults else \
                [(family, fault) for family in FAMILIES for fault in FAMILIES[family]]
        for family, fault in kinds:
            if family in options.families.split(","):
                yield family, fault, seed


def record(tacho, program, folder, what, name="run"):
    words = [what["fault"], *(str(what[key]) for key in ("at", "steps", "work_us", "fault_us", "seed"))]
    run = os.path.join(folder, name, "")
    shutil.rmtree(run, ignore_errors=True)
    if what["family"] == "mpi":
        command = ["mpirun.openmpi", "--oversubscribe", "-n", str(what["ranks"]), tacho, "profile", "-t", "mpi,osrt", "-o", run, program, *words]
    else:
        python = os.environ.get("TACHO_TEST_TORCH", sys.executable)
        command = [python, "-m", "torch.distributed.run", f"--nproc-per-node={what['ranks']}", "--standalone", "--no-python", tacho, "profile", "--pytorch=auto", "-t", "osrt",
                   "--python-sampling=true", "--python-events=true", "-o", run, python, os.path.join(HERE, "planted", "planted_gloo.py"), *words]
    count = HOGS.get(what["fault"], 0) if what["fault_us"] else 0
    hogs = [subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "taskset", "-c", "1", sys.executable, "-c", HOG], stdout=subprocess.PIPE) for _ in range(count)]
    try:
        for hog in hogs:
            hog.stdout.readline()  # it runs
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **SETTINGS}, cwd=folder, timeout=300, check=False)
    finally:
        for hog in hogs:
            hog.kill()
            hog.stdout.close()
            hog.wait()
    if done.returncode:
        shutil.rmtree(folder)
        sys.exit(f"{' '.join(command)}: {done.stderr[-2000:]}")
    return int(done.stdout)


def record_repaired(tacho, program, folder, what, runs):
    """The same job without its fault, also recorded, so that recording costs both the same; several times, since a run of it may be disturbed."""
    repaired = {**what, "at": -1} if what["fault"] == "faults" else {**what, "fault_us": 0}  # the others still touch the memory that they have
    while len(what.setdefault("repaired_ns", [])) < runs:
        what["repaired_ns"].append(record(tacho, program, folder, repaired, "repaired"))
    what["true_gain_ns"] = what["step_ns"] - int(statistics.median(what["repaired_ns"]))


def load(tacho, program, options, family, fault, seed):
    """The plan of a job, which is recorded if it was not; None: it is not there, and nothing shall be recorded."""
    folder = os.path.abspath(os.path.join(options.folder, f"{family}-{fault}-{seed:02}"))
    file = os.path.join(folder, "plan.json")
    if os.path.exists(file):
        with open(file) as stored:
            what = json.load(stored)
    elif options.read:
        return folder, None
    else:
        what = plan(family, fault, seed, options.ranks, options.batch)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        what["step_ns"] = record(tacho, program, folder, what)
    if options.gain and not options.read and FAMILIES[family][fault]:
        record_repaired(tacho, program, folder, what, options.gain)
    with open(file, "w") as stored:
        json.dump(what, stored)
    return folder, what


def ask(tacho, *words):
    return subprocess.run([tacho, *words], capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "10000"}).stdout


def judge(tacho, folder, what):
    """What is right: the rank first, its cause, its line; and what other answers there were."""
    run = os.path.join(folder, "run")
    rows = json.loads(ask(tacho, "stats", "-q", "-f", "json", "-r", "straggler_sum", run)) or []
    rule = json.loads(ask(tacho, "analyze", "-q", "-f", "json", "-r", "straggler", run)) or []
    line = ask(tacho, "summary", run).partition("\n")[0]
    expected = FAMILIES[what["family"]][what["fault"]]
    if expected is None:
        gain = max([row["Could Gain a Step (ns)"] for row in rows], default=0)
        return {"named": len(rows), "false": len(rows) > 0, "rule": len(rule) > 0, "summary": "rank" in line, "gain_ms": gain / 1e6, "rows": rows}
    causes, function = expected
    first = rows[0] if rows else {}
    named = first.get("Rank") == what["at"]
    return {"first": named, "cause": named and first["Cause"].startswith(causes), "line": named and function in (first["Where"] or ""),
            "rule": bool(rule) and rule[0]["Rank"] == what["at"], "summary": f"rank {what['at']} " in line, "gain_ns": first.get("Could Gain a Step (ns)", 0), "lateness_ns": first.get("Typical Lateness (ns)", 0), "others": sum(row["Rank"] != what["at"] for row in rows), "rows": rows}


def instances(tacho, run, *words):
    rows = json.loads(ask(tacho, "stats", "-q", "-f", "json", "-r", "collective_trace", *words, run))
    return {row["Number"]: row["Lateness (ns)"] for row in rows if row["Operation"] == "MPI_Allreduce"}


def lateness(tacho, program, folder, runs):
    """The error of the median instance and of the 95th percentile, of each run."""
    lines = []
    for seed in range(1, runs + 1):
        run = os.path.join(folder, f"lateness-{seed:02}")
        shutil.rmtree(run, ignore_errors=True)
        subprocess.run(["mpirun.openmpi", "--bind-to", "core", "-n", "2", tacho, "profile", "-t", "mpi", "-s", "none", "-o", run + "/", program, "sleep", "1", "60", "500", "4000", str(seed)],
                       env={**os.environ, **SETTINGS}, capture_output=True, check=True)
        true, found = instances(tacho, run), instances(tacho, run, "--clock", "none")
        errors = sorted(abs(true[number] - found[number]) / 1000 for number in true)
        lines.append((seed, len(errors), f"{statistics.median(true.values()) / 1000:.0f}", f"{statistics.median(errors):.1f}", f"{errors[len(errors) * 95 // 100]:.1f}"))
    table("Lateness without clocks, µs", ("run", "collectives", "lateness", "error, median", "error, 95 %"), lines)
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--families", default="mpi,gloo")
    parser.add_argument("--faults")
    parser.add_argument("--seeds", default="1-20")
    parser.add_argument("--read", action="store_true", help="record nothing")
    parser.add_argument("--half", choices=("even", "odd"), help="only these seeds")
    parser.add_argument("--lateness", type=int, help="two ranks of MPI, each bound to a core, one of which sleeps 4 ms: lateness by durations alone against the counter that they share")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--batch", action="store_true", help="one fault a seed, in turn, or those of --faults; fewer steps")
    parser.add_argument("--gain", type=int, metavar="RUNS", help="also run each job without its fault, so often; the median counts")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--json")
    options = parser.parse_args()
    tacho, program = find_tacho(), os.path.join(os.path.abspath(options.folder), "planted_faults")
    os.makedirs(options.folder, exist_ok=True)
    if not options.read and "mpi" in options.families:
        subprocess.run(["mpicc.openmpi", "-O1", "-g", "-o", program, os.path.join(HERE, "planted", "planted_faults.c")], check=True)
    if options.lateness:
        return lateness(tacho, program, os.path.abspath(options.folder), options.lateness)
    results = []
    for family, fault, seed in jobs(options):
        folder, what = load(tacho, program, options, family, fault, seed)
        if not what:
            continue
        results.append({**what, **judge(tacho, folder, what)})
        if options.verbose:
            print(json.dumps(results[-1]), flush=True)
    show(results)
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"host": host(), "runs": results}, file)


def show_gains(results):
    lines = [(run["family"], run["fault"], run["seed"], *(f"{run[key] / 1e6:.2f}" for key in ("step_ns", "true_gain_ns", "gain_ns", "lateness_ns")))
             for run in results if "true_gain_ns" in run and "gain_ns" in run]
    if lines:
        table("Gain a step by the repair, ms", ("family", "fault", "seed", "step", "measured", "could gain", "lateness"), lines)


def share(count, of):
    return f"{count} of {of}" + (f" ({100 * count / of:.0f} %)" if of else "")


def show_totals(results):
    """The figures that a batch is made for."""
    faults = [run for run in results if "first" in run]
    gains = [run for run in faults if run.get("true_gain_ns", 0) > 0]
    near = [run for run in gains if abs(run["gain_ns"] - run["true_gain_ns"]) <= 0.25 * run["true_gain_ns"]]
    lines = [("rank, cause and line", share(sum(bool(run["first"] and run["cause"] and run["line"]) for run in faults), len(faults))),
             ("in the first line of the summary", share(sum(bool(run["summary"]) for run in faults), len(faults))),
             ("could gain within 25 % of the repaired job", share(len(near), len(gains)))]
    for fault in ("none", "busy"):
        runs = [run for run in results if run["fault"] == fault]
        lines.append((f"nobody named: {fault}", share(sum(not run["false"] for run in runs), len(runs))))
    table("All", ("what", "runs"), lines)


def show(results):
    show_gains(results)
    show_totals(results)
    for name, rest in (("even", 0), ("odd", 1)):
        lines = []
        for family, faults in FAMILIES.items():
            for fault, expected in faults.items():
                runs = [run for run in results if (run["family"], run["fault"], run["seed"] % 2) == (family, fault, rest)]
                if not runs:
                    continue
                if expected is None:
                    wrong = [run for run in runs if run["false"]]
                    lines.append((family, fault, len(runs), "", "", "", "", f"{len(wrong)}", f"{max([run['gain_ms'] for run in wrong], default=0):.2f}"))
                else:
                    lines.append((family, fault, len(runs), *(sum(bool(run[key]) for run in runs) for key in ("first", "cause", "line", "rule")),
                                  sum(run["others"] > 0 for run in runs), ""))
        if lines:
            table(f"{name} seeds", ("family", "fault", "runs", "named first", "with cause", "with line", "by the rule", "others named", "largest gain, ms"), lines)


if __name__ == "__main__":
    sys.exit(main())
