#!/usr/bin/env python3
"""Compares what Tacho advises with what a repair saves, on a GPU host:

    TACHO=build/bin/tacho python3 tests/pairs/run.py [--parts PART,…] [NAME …]

    bare        times the faulty and the repaired program of each pair without a profiler, in turn and in one process, between the runs of `profile`
    profile     profiles both, with the options that a user gets by default
    advice      asks for advice on the captures, and compares
    patterns    asks PyTorch's own pattern matcher about the faulty programs that have its patterns, and compares with the advice on the captures
    unplanted   profiles the programs of unplanted/, in which no fault was planted, and times what follows the advice
    keep        copies the smaller captures for golden/pairs, writes the results of `advice` to bench/results, and prints a table for the docs

What the parts find is kept in FOLDER (build/pairs) and added to by the next run, so that parts can be repeated alone.
The part `advice` prints a table and writes FOLDER/pairs.json. With OUT set, that and the captures, without the stacks of
CPU samples, are packed into $OUT/pairs-N.tar. compare.py has the criteria; golden/pairs repeats them on the captures."""

import argparse
import concurrent.futures
import contextlib
import importlib
import json
import os
import signal
import subprocess
import sys
import tarfile
import time

import compare

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
MODULES = ("waits", "host", "loaders", "copies", "kernels", "excess", "others", "two")
PARTS = ("bare", "profile", "advice", "patterns", "unplanted", "keep")
BARE_SECONDS, PROFILE_SECONDS = 60, 90  # time limits of one program
AT_ONCE = 4                             # programs that are started or written while one has the GPU
TABLES = "^CUPTI_,^NVTX_EVENTS,^OSRT_API,^SCHED,^TACHO_,^TARGET,^META,^ANALYSIS,^PROFILER,^PROCESSES,^ThreadNames"  # of packed captures
TAR_BYTES = 14 << 20
LEAST = 0.1          # of the step, that a repair must save
KEPT_BYTES = 340000  # of the captures of a pair in tests/golden
TACHO = os.path.abspath(os.environ.get("TACHO") or os.path.join(ROOT, "build", "bin", "tacho"))


class Results:
    """What is known of each program; written after every change."""

    def __init__(self, folder):
        self.folder, self.path = folder, os.path.join(folder, "results.json")
        os.makedirs(folder, exist_ok=True)
        self.of = {}
        with contextlib.suppress(FileNotFoundError), open(self.path) as file:
            self.of = json.load(file)

    def add(self, name, **facts):
        self.of.setdefault(name, {}).update(facts)
        with open(self.path + ".new", "w") as file:
            json.dump(self.of, file, indent=1)
        os.replace(self.path + ".new", self.path)

    def report(self, name, what):
        return os.path.join(self.folder, f"{name}-{what}.tacho")


def say(*words):
    print(f"{time.strftime('%H:%M:%S')}", *words, flush=True)


# ---- bare and profiled ----

def environment(results):
    return {**os.environ, "PAIRS_TURN": os.path.join(results.folder, "turn")}


def finish(process, seconds):
    """What a program printed, and its status; None if it took too long: then all of its processes are ended."""
    try:
        out, _ = process.communicate(timeout=seconds)
        return out, process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return "", None


def capture(command, report, log, results, options):
    """Profiles a command; what it printed, or None."""
    with open(log, "w") as errors:
        process = subprocess.Popen([TACHO, "profile", "-f", "true", *options, "-o", report, *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=errors, env=environment(results), cwd=HERE, text=True, start_new_session=True)
        out, status = finish(process, PROFILE_SECONDS)
    if status == 0:
        return out
    with open(log) as errors:
        say(f"profile {os.path.basename(report)}: FAILED: {'took too long' if status is None else f'status {status}'}:", errors.read()[-600:])
    return None


def facts_of(kind):
    """What a comparison must know of a pair, at the time of its capture."""
    import pair
    file, fault, seen = pair.marked_lines(kind)
    return {"family": kind.family, "faults": kind.faults, "about": kind.__doc__, "file": file, "fault": fault, "seen": seen}


def profile_pair(kind, what, results, options):
    name, start = kind.__name__, time.monotonic()
    log = os.path.join(results.folder, f"{name}-{what}.log")
    out = capture([sys.executable, f"{kind.__module__}.py", name, what], results.report(name, what), log, results, options)
    if out is None:
        return {}
    traced = json.loads(out.splitlines()[-1])["step"]
    say(f"profile {name} {what}: {traced:.0f} µs, {time.monotonic() - start:.1f} s")
    return {f"traced_{what}": traced, **facts_of(kind)}


def time_pair(kind, results):
    name, start = kind.__name__, time.monotonic()
    process = subprocess.Popen([sys.executable, f"{kind.__module__}.py", name, "both"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=environment(results), cwd=HERE, text=True, start_new_session=True)
    out, status = finish(process, BARE_SECONDS)
    if status != 0:
        say(f"bare {name}: FAILED: {'took too long' if status is None else f'status {status}'}")
        return {}
    times = json.loads(out.splitlines()[-1])
    bare = compare.bare(times)
    say(f"bare {name}: {bare['step']:.0f} µs, fixed {bare['fixed']:.0f}, saved {bare['saved']:.0f} ({bare['low']:.0f} to {bare['high']:.0f}), "
        f"{time.monotonic() - start:.1f} s")
    return {"times": times}


def run_programs(kinds, results, parts, options):
    """Bare and profiled runs of a pair take turns. While one runs, others start, on cores of their own."""
    import pair
    os.sched_setaffinity(0, pair.cores()[1])
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        jobs = []
        for name, kind in kinds.items():
            if "profile" in parts:
                jobs.append((name, pool.submit(profile_pair, kind, "faulty", results, options)))
            if "bare" in parts:
                jobs.append((name, pool.submit(time_pair, kind, results)))
            if "profile" in parts:
                jobs.append((name, pool.submit(profile_pair, kind, "fixed", results, options)))
        for name, job in jobs:
            try:
                results.add(name, **job.result())
            except Exception as error:
                say(f"{name}: FAILED: {error!r}")


# ---- advice ----

def read_advice(name, results):
    """Asks for advice on the captures of a pair."""
    advice = {"advice_faulty": None, "advice_fixed": None, "together": None, "replay": {}}
    for what in ("faulty", "fixed"):
        report = results.report(name, what)
        if os.path.exists(report):
            try:
                advice[f"advice_{what}"] = compare.advice(TACHO, report)
                advice["replay"][what] = compare.replayed(TACHO, report)
                if what == "faulty":
                    advice["together"] = compare.together(TACHO, report)
            except (subprocess.SubprocessError, ValueError) as error:
                say(f"advice {name} {what}: FAILED: {error!r}")
    return advice


def run_advice(names, results):
    rows = []
    for name, known in results.of.items():
        if "times" in known and "fault" in known and (not names or name in names):
            facts = {key: value for key, value in known.items() if key != "times"}
            rows.append({"name": name, **facts, **compare.bare(known["times"]), **read_advice(name, results)})
    with open(os.path.join(results.folder, "pairs.json"), "w") as out:
        json.dump(rows, out, indent=1)
    compare.show(rows)


# ---- kept for tests ----

def first_kernel(report):
    """When the first kernel started, in ns; None: there are none."""
    done = subprocess.run([TACHO, "sql", report, "-f", "csv", "SELECT min(start) FROM CUPTI_ACTIVITY_KIND_KERNEL"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    last = done.stdout.split()[-1:]
    return int(last[0]) if last and last[0].isdigit() else None


def export(report, small, times):
    """Writes a part of a capture; 0 if that went well."""
    return subprocess.run([TACHO, "export", "-q", "-f", "true", "-t", "tacho", f"--tables={TABLES}", *times, "-o", small, report],
                          stderr=subprocess.DEVNULL).returncode


def is_kept(pair, results):
    """Whether the captures of a pair go into tests/golden: small ones, of a repair that saves enough to be measured well."""
    reports = [results.report(pair["name"], what) for what in ("faulty", "fixed")]
    return pair["saved"] >= LEAST * pair["step"] and all(map(os.path.exists, reports)) and sum(map(os.path.getsize, reports)) <= KEPT_BYTES


def run_keep(names, results):
    """Copies captures for golden/pairs, writes what was measured and what the advice on all of them is worth beside other results, and prints it."""
    with open(os.path.join(results.folder, "pairs.json")) as file:
        pairs = [pair for pair in json.load(file) if pair["advice_faulty"] is not None and (not names or pair["name"] in names)]
    kept = Results(os.path.join(ROOT, "tests", "golden", "pairs"))
    for pair in pairs:
        pair["kept"] = is_kept(pair, results)
        for what in ("faulty", "fixed") if pair["kept"] else ():
            if export(results.report(pair["name"], what), kept.report(pair["name"], what), []) != 0:
                say(f"keep {pair['name']} {what}: FAILED")
        pair["promised"] = compare.judge({**pair, **(read_advice(pair["name"], kept) if pair["kept"] else {})})
        for key in ("advice_faulty", "advice_fixed", "together", "replay"):
            del pair[key]
    with open(os.path.join(ROOT, "bench", "results", f"advice-pairs-h200-{time.strftime('%Y-%m-%d')}.json"), "w") as out:
        json.dump(pairs, out, indent=1)
        out.write("\n")
    print(compare.markdown(pairs))


# ---- PyTorch's own patterns ----

def run_patterns(names, results):
    """What PyTorch's pattern matcher finds in the faulty programs that have its patterns, and the finding of ours on their captures."""
    import patterns
    verdicts = []
    for pattern, (module, name, _) in patterns.PATTERNS.items():
        if names and name not in names:
            continue
        done = subprocess.run([sys.executable, "patterns.py", module, name], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=HERE, text=True, timeout=PROFILE_SECONDS)
        if done.returncode != 0:
            say(f"patterns {name}: FAILED: {done.stderr[-600:]}")
            continue
        found = json.loads(done.stdout.splitlines()[-1])
        results.add(name, patterns=found)
        show_pattern(pattern, name, found, results, verdicts)
    say(f"patterns: {verdicts.count('both')} found by both, {verdicts.count('PyTorch')} by PyTorch alone, {verdicts.count('Tacho')} by Tacho alone")


def show_pattern(pattern, name, found, results, verdicts):
    import patterns
    known = results.of[name]
    rank, cause = patterns.same(pattern, known, compare.causes(read_advice(name, results)["advice_faulty"])) if "fault" in known else (None, None)
    verdicts.append("both" if pattern in found and rank else "PyTorch" if pattern in found else "Tacho" if rank else "none")
    ours = f"{rank}. {cause['rule']}, {cause['file']}:{cause['line']}: {cause['finding'][:80]}" if cause else "not found"
    say(f"patterns {name}: PyTorch: {pattern}: {', '.join(found.get(pattern, ['not found']))} | Tacho: {ours} | PyTorch also: "
        f"{', '.join(sorted(set(found) - {pattern})) or 'nothing'}")


# ---- unplanted ----

UNPLANTED_FINDINGS = 3  # whose advice is followed
UNPLANTED_SECONDS = 180


def profile_unplanted(name, command, results, options):
    from unplanted import programs
    out = capture(command, results.report(name, "unplanted"), os.path.join(results.folder, f"{name}.log"), results, options)
    if out is None:
        return
    found = compare.causes(compare.advice(TACHO, results.report(name, "unplanted")))
    results.add(name, unplanted_traced=programs.steps_of(out), unplanted_found=found, unplanted_step=compare.step(TACHO, results.report(name, "unplanted")))


def time_unplanted(name, command, variants, results):
    """Times a program as it is written and its variants, in turn and without a profiler."""
    from unplanted import programs
    with open(os.path.join(results.folder, f"{name}-bare.log"), "w") as log:
        process = subprocess.Popen([*command, *[programs.AS_WRITTEN, *variants] * programs.ROUNDS], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log,
                                   cwd=HERE, text=True, start_new_session=True)
        out, status = finish(process, UNPLANTED_SECONDS)
    if status != 0:
        say(f"unplanted {name}: {' '.join(variants)}: {'took too long' if status is None else f'status {status}'}: see {log.name}")
    results.add(name, unplanted_times=programs.steps_of(out))


def run_unplanted(names, results, options):
    """Follows what the first findings advise, and prints what was promised and what came of it."""
    from unplanted import programs
    for name, program in programs.PROGRAMS.items():
        if names and name not in names:
            continue
        try:
            command = program.build(results.folder)
            profile_unplanted(name, command, results, options)
            found = results.of.get(name, {}).get("unplanted_found", [])[:UNPLANTED_FINDINGS]
            for cause in found:
                cause["follow"] = programs.variant_of(program, cause)
            time_unplanted(name, command, list(dict.fromkeys(cause["follow"] for cause in found if cause["follow"])), results)
            compare.show_unplanted(name, results.of[name])
        except (subprocess.SubprocessError, OSError, ValueError, LookupError) as error:
            say(f"unplanted {name}: FAILED: {error!r}")


# ---- all ----

def cut(results, file):
    """Path of a capture without the stacks of samples, and without what was before the first kernel."""
    path, small = os.path.join(results.folder, file), os.path.join(results.folder, "cut", file)
    os.makedirs(os.path.dirname(small), exist_ok=True)
    first = first_kernel(path)
    return small if export(path, small, [f"--times={first - 100000000}/"] if first else []) == 0 else path


def pack(results):
    """Puts results, logs and captures into a few files for another machine."""
    names = [file for file in sorted(os.listdir(results.folder)) if os.path.isfile(os.path.join(results.folder, file))]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        paths = list(pool.map(lambda file: cut(results, file) if file.endswith(".tacho") else os.path.join(results.folder, file), names))
    number, room = 0, 0
    tar = None
    for file, path in sorted(zip(names, paths), key=lambda pair: pair[0].endswith(".tacho")):
        if not tar or os.path.getsize(path) > room:
            if tar:
                tar.close()
            number, room = number + 1, TAR_BYTES
            tar = tarfile.open(os.path.join(os.environ["OUT"], f"pairs-{number}.tar"), "w")
        tar.add(path, file)
        room -= os.path.getsize(path) + 1024
    if tar:
        tar.close()


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", default="bare,profile,advice", help="of " + ",".join(PARTS))
    parser.add_argument("--folder", default=os.path.join(ROOT, "build", "pairs"), help="where results are kept")
    parser.add_argument("--options", default="", help="more options of tacho profile: '--advise'")
    parser.add_argument("names", nargs="*", help="pairs, or unplanted programs; default: all")
    return parser.parse_args()


def main():
    arguments = read_arguments()
    parts, options = arguments.parts.split(","), arguments.options.split()
    results = Results(os.path.abspath(arguments.folder))
    sys.pycache_prefix = os.environ.setdefault("PYTHONPYCACHEPREFIX", os.path.join(results.folder, "pycache"))  # torch may be installed without its own
    if {"bare", "profile"} & set(parts):
        import pair
        kinds = {}
        for module in MODULES:
            kinds.update(pair.pairs_of(importlib.import_module(module)))
        kinds = {name: kind for name, kind in kinds.items() if not arguments.names or name in arguments.names}
        run_programs(kinds, results, parts, options)
    if "advice" in parts:
        run_advice(arguments.names, results)
    if "patterns" in parts:
        run_patterns(arguments.names, results)
    if "unplanted" in parts:
        run_unplanted(arguments.names, results, options)
    if "keep" in parts:
        run_keep(arguments.names, results)
    if os.environ.get("OUT"):
        pack(results)


if __name__ == "__main__":
    main()
