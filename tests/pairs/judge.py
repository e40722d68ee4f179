#!/usr/bin/env python3
"""Judges Tacho's advice on programs that its rules were not made with (judgement/), on a GPU host:

    TACHO=build/bin/tacho python3 tests/pairs/judge.py [--at-once N] [--again] [NAME …]

Each program is timed without a profiler, the faulty one and each repair in turn and in one process. Then it runs under
`tacho profile` with the options that a user gets by default, and what advice_sum says is compared with what the repairs saved:

    first       the first finding has a cause and a line of the fault whose repair saves most
    range       what the repair saved is in the range of the finding
    estimate    it is within 25 % of what the repair saved, or within the spread of the bare runs

Savings are per step, and Tacho may find a shorter step than the program's own: the iterations of a solver, of which a step has sixty. What
it says is then multiplied by as many of its steps as the recorded step of the program has, a whole number. It is never divided, and steps
that only take a little longer or shorter are not adjusted: a user reads the figure as it is.

In a program without a planted fault each finding above 3 % of the step is listed: somebody has to carry it out. A fault whose repair
saves less than 3 % of the step on this host is none, and is not judged. What was found is kept in FOLDER (build/judge), and programs
that have results are left out until --again is given. Ends with 1 if a program failed.

A program judges once: then truth.toml has the day (judged), its result is published, and rules may be mended with it. Such programs run only
when they are named, or with --judged.

    python3 tests/pairs/judge.py --host cpu          runs each program with tiny sizes on the CPU, without Tacho, to see that it works
    python3 tests/pairs/judge.py --host none         checks truth.toml against the sources, and prints the table of what is known
    python3 tests/pairs/judge.py --carried RESULTS   without Tacho, times the programs of carried.py, in which findings of RESULTS are carried out;
                                                     RESULTS is results.json of a folder, or a file of bench/results"""

import argparse
import concurrent.futures
import functools
import glob
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
import tomllib

import compare
import run
from unplanted import programs

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(HERE, "judgement")
PACKAGES = os.path.join(run.ROOT, "carry", "judgement", "lib", "python3.12", "site-packages")  # where judgement/fetch puts them
BARE_SECONDS, CARRIED_SECONDS, CPU_SECONDS = 120, 300, 900  # time limits: of the bare runs of a program with its wait for the GPU, of a file on the CPU
WITHIN, LEAST, MULTIPLE = 0.25, 0.03, 1.5
SKIPPED = 77


# ---- what is true ----

def marks_of(path, name):
    """{number of a fault: {"FAULT": lines, "SEEN": lines}}. A mark belongs to the class or function that it stands in, or to those that it names; in
    CUDA C++ to the program of the file. A mark without a number is of the only fault; one of several faults has their numbers (SEEN 1, 2)."""
    marks, owner = {}, None
    with open(path) as file:
        for number, line in enumerate(file, 1):
            if match := re.match(r"(?:class|def) (\w+)", line):
                owner = match[1]
            mark = re.search(r"(?:#|//) (FAULT|SEEN)(?: (\d+(?:, \d+)*))?(?: of (.+))?$", line)
            if mark and (path.endswith(".cu") or name in (mark[3] or owner).split(", ")):
                for fault in (mark[2] or "1").split(", "):
                    marks.setdefault(int(fault), {"FAULT": [], "SEEN": []})[mark[1]].append(number)
    return marks


def written_programs():
    """{(name of the class, or the file in CUDA C++; file)}: what the sources hold."""
    found = {(os.path.basename(path),) * 2 for path in glob.glob(os.path.join(FOLDER, "*.cu"))}
    for path in glob.glob(os.path.join(FOLDER, "*.py")):
        with open(path) as file:
            found |= {(name, os.path.basename(path)) for name in re.findall(r"^class (\w+)\(program\.Program\)", file.read(), re.M)}
    return found


def read_truth():
    """{name: facts}, with the lines of each fault."""
    with open(os.path.join(FOLDER, "truth.toml"), "rb") as file:
        truth = tomllib.load(file)
    for name, facts in truth.items():
        marks = marks_of(os.path.join(FOLDER, facts["file"]), name)
        facts.setdefault("faults", [])
        if sorted(marks) != list(range(1, len(facts["faults"]) + 1)) or not all(lines["FAULT"] for lines in marks.values()):
            sys.exit(f"truth.toml: {name} has {len(facts['faults'])} faults, and {facts['file']} marks {sorted(marks)}")
        for number, fault in enumerate(facts["faults"], 1):
            fault["lines"] = marks[number]["FAULT"] + marks[number]["SEEN"]
    lacking = written_programs() - {(facts["file"] if facts["file"].endswith(".cu") else name, facts["file"]) for name, facts in truth.items()}
    if lacking:
        sys.exit(f"truth.toml lacks {sorted(lacking)}")
    return truth


# ---- running ----

def command_of(name, facts, folder):
    """The command of a program without its last argument; CUDA programs are built."""
    if facts["file"].endswith(".cu"):
        return programs.CudaProgram(os.path.join(FOLDER, facts["file"])).build(folder)
    return [sys.executable, os.path.join(FOLDER, facts["file"]), name]


def time_program(name, command, results, seconds=BARE_SECONDS):
    """What a program prints of its bare runs; a text if there are none."""
    what, log = "all" if command[0] == sys.executable else "both", os.path.join(results.folder, f"{name}-bare.log")
    with open(log, "w") as errors:
        process = subprocess.Popen([*command, what], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, env=run.environment(results), cwd=HERE,
                                   text=True, start_new_session=True)
        out, status = run.finish(process, seconds)
    if status == SKIPPED:
        return out.strip().splitlines()[-1]
    if status != 0:
        return f"failed: {'took too long' if status is None else f'status {status}'}, see {log}"
    return json.loads(out.splitlines()[-1])


def judge_program(name, facts, results, options):
    """Bare runs, capture and advice of a program: what is to be kept of it."""
    start = time.monotonic()
    command = command_of(name, facts, results.folder)
    bare = time_program(name, command, results)
    if isinstance(bare, str):
        run.say(f"{name}: {bare}")
        return {"failed": bare}
    log = os.path.join(results.folder, f"{name}.log")
    out = run.capture([*command, "faulty"], results.report(name, "faulty"), log, results, options)
    if out is None:
        return {"failed": f"failed: profile, see {log}", **bare}
    traced = json.loads(out.splitlines()[-1])["step"]
    found = compare.causes(compare.advice(run.TACHO, results.report(name, "faulty")))
    of_step = compare.step(run.TACHO, results.report(name, "faulty"))
    recording = compare.in_summary(run.TACHO, results.report(name, "faulty"), f"recording made a step about {compare.TIME}")
    run.say(f"{name}: {statistics.median(bare['times']['faulty']):.0f} µs, traced {traced:.0f}, {len(found)} findings, {time.monotonic() - start:.1f} s")
    return {"failed": None, **bare, "traced": traced, "found": found, "tacho_step": of_step and of_step[0],
            "recording": recording and recording[1]}


def time_carried(name, results):
    """Bare runs of a program, and of what its findings say: what is to be kept of it."""
    start = time.monotonic()
    bare = time_program(f"{name}-carried", [sys.executable, os.path.join(FOLDER, "carried.py"), name], results, CARRIED_SECONDS)
    failed = bare if isinstance(bare, str) else None
    run.say(f"{name}: {failed or 'timed: ' + ', '.join(bare['times'])}, {time.monotonic() - start:.1f} s")
    with open(os.path.join(results.folder, f"{name}-carried-bare.log")) as log:
        if "Traceback" in (errors := log.read()):
            run.say(f"{name}: {errors[-2000:]}")
    return {"failed": failed} if failed else {"failed": None, **bare}


def run_all(jobs, results, at_once):
    """Runs functions that return what is to be kept: {name: function}."""
    import pair
    first, second = pair.cores()
    os.sched_setaffinity(0, second)
    os.environ["PAIRS_CORES"] = ",".join(map(str, first))
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        for name, job in [(name, pool.submit(function)) for name, function in jobs.items()]:
            try:
                results.add(name, **job.result())
            except Exception as error:
                results.add(name, failed=f"failed: {error!r}")
                run.say(f"{name}: FAILED: {error!r}")


def run_on_cpu(truth):
    """Runs the programs in Python with tiny sizes; returns how many failed."""
    failed, files = 0, {}
    for name, facts in truth.items():
        if facts["file"].endswith(".py"):
            files.setdefault(facts["file"], []).append(name)
    for file, names in files.items():
        done = subprocess.run([sys.executable, "-W", "ignore", os.path.join(FOLDER, file), "".join(name + "," for name in names)], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, env={**os.environ, "JUDGE_HOST": "cpu"}, cwd=HERE, text=True, timeout=CPU_SECONDS)
        statuses = {row["name"]: row["status"] for row in map(json.loads, re.findall(r'^\{"name": .*$', done.stdout, re.M))}
        for name in names:
            status = statuses.get(name)
            failed += status not in (0, SKIPPED)
            run.say(f"{name}: {'works' if status == 0 else 'skipped' if status == SKIPPED else f'FAILED: status {status}'}")
    return failed


# ---- judging ----

def savings(times):
    """{number of a fault: (saved, low, high)} in µs per step, each repaired alone."""
    numbered = {1: "fixed"} if not times.keys() - {"faulty", "fixed"} else {int(name): name for name in times if name.isdigit()}
    return {number: compare.interval([before - after for before, after in zip(times["faulty"], times[name])]) for number, name in numbered.items()}


def steps_in(known):
    """How many of Tacho's steps a step of the program has, as it was recorded; 1 if the bare step is no longer than one of them may be. Tacho's step is
    without what recording took, where that is known."""
    step = known.get("tacho_step")
    if not step or statistics.median(known["times"]["faulty"]) < MULTIPLE * step:
        return 1
    return round(known["traced"] / (step + (known.get("recording") or 0)))


def of_program(cause, steps):
    """A finding, with its savings in a step of the program."""
    return {**cause, **{key: cause[key] * steps for key in ("low", "high", "estimate")}}


def is_about(cause, facts, number):
    fault = facts["faults"][number - 1]
    return cause["rule"] in fault["causes"] and cause["file"] == facts["file"] and cause["line"] in fault["lines"]


def verdict_of(facts, known):
    """The faults in the order of what their repairs save, each with the rank of its finding, and whether the criteria hold. None: nothing was planted,
    or no fault costs enough on this host."""
    step = statistics.median(known["times"]["faulty"])
    if not facts["faults"]:
        return None
    faults, steps = [], steps_in(known)
    for number, (saved, low, high) in sorted(savings(known["times"]).items(), key=lambda item: -item[1][0]):
        rank = next((rank for rank, cause in enumerate(known["found"], 1) if is_about(cause, facts, number)), None)
        cause = of_program(known["found"][rank - 1], steps) if rank else None
        faults.append({"number": number, "saved": saved, "low": low, "high": high, "rank": rank, "cause": cause, "counts": saved >= LEAST * step and low > 0,
                       "range": bool(cause) and cause["low"] <= high and cause["high"] >= low,
                       "estimate": bool(cause) and (abs(cause["estimate"] - saved) <= WITHIN * saved or low <= cause["estimate"] <= high)})
    if not faults[0]["counts"]:
        return None
    chief = next((fault for fault in faults if fault["rank"] == 1 and fault["high"] >= faults[0]["low"]), faults[0])  # faults may cost the same
    return {"chief": chief, "faults": faults, "first": chief["rank"] == 1, "range": chief["range"], "estimate": chief["estimate"]}


def milliseconds(*values):
    return [f"{value / 1000:.2f}" for value in values]


def above_least(known):
    """The findings on a program without a planted fault that are to be carried out, with their savings in a step of it."""
    least = LEAST * statistics.median(known["times"]["faulty"])
    return [cause for cause in (of_program(cause, steps_in(known)) for cause in known["found"]) if cause["estimate"] > least]


def rows_of_carried(promised, names, results):
    """The table of what was promised and what carrying it out saved, as text. A promise comes true if what was saved is in its range, or more;
    it is open if the bare runs do not say that anything was saved."""
    rows, verdicts = [], []
    for name in (name for name in names if name in promised):
        known = results.of.get(f"{name}-carried", {"failed": "not run"})
        for cause in above_least(promised[name]):
            times = known.get("times", promised[name]["times"])
            recorded = steps_in(promised[name]) * (promised[name]["tacho_step"] or 0)
            step, recorded, about, least, most = milliseconds(statistics.median(times["faulty"]), recorded, *(cause[key] for key in ("estimate", "low", "high")))
            saved, verdict = known["failed"] or "not carried out", ""
            if cause["rule"] in times:
                middle, low, high = compare.interval([before - after for before, after in zip(times["faulty"], times[cause["rule"]])])
                saved = "{} ({} to {})".format(*milliseconds(middle, low, high))
                verdict = "no" if high < cause["low"] else "open" if low <= 0 else "more" if low > cause["high"] else "yes"
                verdicts.append(verdict)
            rows.append(f"| {name} | {cause['rule']} | {about} ({least} to {most}) of {recorded} | {saved} of {step} | {verdict} |")
    return ["| program | rule | about | saved when carried out | true |", "|---|---|---|---|---|", *rows, "",
            f"true: {verdicts.count('yes') + verdicts.count('more')} of the {len(verdicts)} that were carried out"]


def rows_of(truth, results):
    """The table of the docs, the criteria that hold of each program that counts, and what is to be carried out, as text."""
    rows, verdicts, others, clean = [], [], [], 0
    for name, facts in truth.items():
        known = results.of.get(name)
        if not known or known["failed"]:
            others.append(f"{name}: {known['failed'] if known else 'not run'}")
            continue
        step = statistics.median(known["times"]["faulty"])
        found = verdict_of(facts, known)
        if not facts["faults"]:
            left, steps = above_least(known), steps_in(known)
            in_each = f", in each of {steps} steps" if steps > 1 else ""
            clean += not left
            others += [f"{name}: to be carried out: about {cause['estimate'] / 1000:.2f} of {step / 1000:.2f} ms: {cause['rule']}, {cause['file']}:{cause['line']}: "
                       f"{cause['finding']}{in_each}" for cause in left] or [f"{name}: nothing above {100 * LEAST:.0f} % of {step / 1000:.2f} ms"]
        elif not found:
            others.append(f"{name}: not judged: its repair saves less than {100 * LEAST:.0f} % of {step / 1000:.2f} ms, or nothing for certain")
        else:
            verdicts.append(found)
            chief = found["chief"]
            cause = chief["cause"] or {}
            step_ms, saved, low, high, about, least, most = milliseconds(step, chief["saved"], chief["low"], chief["high"],
                                                                         *(cause.get(key, 0) for key in ("estimate", "low", "high")))
            rank = ", ".join(str(fault["rank"] or "none") for fault in found["faults"] if fault["counts"])
            missed = ", ".join(key for key in ("first", "range", "estimate") if not found[key])
            rows.append(f"| {name} | {step_ms} | {saved} ({low} to {high}) | {about} ({least} to {most}) | {cause.get('rule', 'none')} | {rank} | {missed} |")
            if missed:
                others += [f"{name}: {rank}. about {other['estimate'] * steps_in(known) / 1000:.2f} ms: {other['rule']}, {other['file']}:{other['line']}: {other['finding'][:110]}"
                           for rank, other in enumerate(known["found"][:3], 1)]
    counts = [f"{key}: {sum(found[key] for found in verdicts)} of {len(verdicts)}" for key in ("first", "range", "estimate")]
    counts.append(f"without a finding above {100 * LEAST:.0f} %: {clean} of the programs without a planted fault")
    return ["| program | step | saved by the repair | about | rule | ranks of the faults | misses |", "|---|---|---|---|---|---|---|", *rows, "", *counts, "", *others]


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host", choices=("gpu", "cpu", "none"), default="gpu", help="cpu: only see that the programs work; none: run nothing")
    parser.add_argument("--folder", default=os.path.join(run.ROOT, "build", "judge"), help="where results are kept")
    parser.add_argument("--packages", default=PACKAGES, help="where judgement/fetch put the packages; a host's own come first")
    parser.add_argument("--at-once", type=int, help=f"programs that are started at once, of which one has the GPU; default: {run.AT_ONCE}, with --carried all")
    parser.add_argument("--again", action="store_true", help="also run programs that have results")
    parser.add_argument("--judged", action="store_true", help="the programs that were judged before, instead of those that were not")
    parser.add_argument("--carried", metavar="RESULTS", help="time what was found in these results when it is carried out")
    parser.add_argument("--options", default="", help="more options of tacho profile")
    parser.add_argument("names", nargs="*", help="programs; default: all that were not judged yet")
    return parser.parse_args()


def keep(name, lines, results):
    """Prints a table, and writes it beside the results; with OUT set there as well."""
    print("\n".join(lines))
    with open(os.path.join(results.folder, name), "w") as file:
        file.write("\n".join(lines) + "\n")
    out = os.environ.get("OUT")
    if out and os.path.exists(results.path):
        shutil.copy(results.path, os.path.join(out, "judge.json"))
        shutil.copy(os.path.join(results.folder, name), out)


def failures(results, names):
    return sum((results.of.get(name, {}).get("failed") or "").startswith("failed") for name in names)


def carry_out(arguments, results):
    """Times the programs of carried.py, and compares; returns how many failed."""
    with open(arguments.carried) as file:
        promised = json.load(file)
    with open(os.path.join(FOLDER, "carried.py")) as file:
        names = [name for name in re.findall(r"^class (\w+)\(.*\b(?:clean|limits)\.\w+\)", file.read(), re.M) if not arguments.names or name in arguments.names]
    if arguments.host == "cpu":
        return run_on_cpu({name: {"file": "carried.py"} for name in names})
    if arguments.host == "gpu":
        run_all({f"{name}-carried": functools.partial(time_carried, name, results) for name in names}, results, arguments.at_once or len(names))
    keep("carried.txt", rows_of_carried(promised, names, results), results)
    return failures(results, (f"{name}-carried" for name in names))


def main():
    arguments = read_arguments()
    truth = {name: facts for name, facts in read_truth().items()
             if (name in arguments.names if arguments.names else arguments.host != "gpu" or arguments.judged == ("judged" in facts))}
    os.environ["JUDGE_PACKAGES"] = os.path.abspath(arguments.packages)
    results = run.Results(os.path.abspath(arguments.folder))
    os.environ.setdefault("PYTHONPYCACHEPREFIX", os.path.join(results.folder, "pycache"))
    if arguments.carried:
        sys.exit(1 if carry_out(arguments, results) else 0)
    if arguments.host == "cpu":
        sys.exit(1 if run_on_cpu(truth) else 0)
    if arguments.host == "gpu":
        todo = {name: facts for name, facts in truth.items() if arguments.again or results.of.get(name, {}).get("failed", "not run")}
        options = arguments.options.split()
        run_all({name: functools.partial(judge_program, name, facts, results, options) for name, facts in todo.items()}, results, arguments.at_once or run.AT_ONCE)
    keep("table.txt", rows_of(truth, results), results)
    sys.exit(1 if failures(results, truth) else 0)


if __name__ == "__main__":
    main()
