#!/usr/bin/env python3
"""What profiling costs, and how fast events become a report: every figure beside a bare run in the same minute.

    bench/pipeline.py [cost|finish|pace|threads|floors ...] [--json FILE] [--pairs N] [--nsys PROGRAM] [--before PROGRAM]

Takes Tacho from the variable TACHO, from build/bin/tacho, or from the PATH; the bench programs from PROGRAMS, or compiles
them with cc. It needs Python and a C compiler, so it also runs where only the tarball was unpacked.
"""
import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from figures import CORES, HERE, cpu_ns, find_tacho, host, median_interval, table, version


def bench_program(name, folder):
    """The program built by scripts/bench, or one that is compiled here."""
    built = os.path.join(os.environ.get("PROGRAMS", folder), name)
    if not os.path.exists(built):
        built = os.path.join(folder, name)
        subprocess.run([os.environ.get("CC", "cc"), "-O2", "-D_GNU_SOURCE", "-pthread", "-o", built, os.path.join(HERE, name + ".c"), "-ldl"],
                       check=True)
    return built


class Bench:
    def __init__(self, folder, pairs, nsys=None, before=None):
        self.folder, self.pairs = folder, pairs
        self.tacho = find_tacho()
        self.peers = {}  # name: a function like profiled(), measured in the same rounds
        if before:
            self.peers["before"] = lambda *arguments, options: self.profiled(*arguments, options=options, tacho=before)
        if nsys:
            self.peers["nsys"] = lambda *arguments, options: self.under_nsys(nsys, *arguments, options=options)
        self.storm = bench_program("storm", folder)
        self.result = {"host": host(), "tacho": version(self.tacho)}

    def bare(self, *arguments):
        done = subprocess.run([self.storm, *map(str, arguments)], capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    def profiled(self, *arguments, options=(), name="bench", tacho=None):
        """What storm says, plus: report (path), bytes, finish_ns (storm's end to tacho's)."""
        path = os.path.join(self.folder, name + ".tacho")
        done = subprocess.run([tacho or self.tacho, "profile", "-o", path, "-f", "true", *options, self.storm, *map(str, arguments)],
                              capture_output=True, text=True)
        end = time.monotonic_ns()
        if done.returncode:
            sys.exit(f"tacho profile failed with {done.returncode}: {done.stderr}")
        said = json.loads(done.stdout.splitlines()[0])
        said.update(report=path, bytes=os.path.getsize(path), finish_ns=end - said["end_monotonic_ns"])
        return said

    def under_nsys(self, nsys, *arguments, options=()):
        """What storm says under nsys with the same sources. Whether nsys can make a report afterwards does not matter here."""
        done = subprocess.run([nsys, "profile", *options, "-s", "none", "--cpuctxsw=none", "-f", "true",
                               "-o", os.path.join(self.folder, "nsys"), self.storm, *map(str, arguments)], capture_output=True, text=True)
        said = [line for line in done.stdout.splitlines() if line.startswith("{")]
        if not said:
            sys.exit(f"nsys profile failed with {done.returncode}: {done.stdout}{done.stderr}")
        return json.loads(said[0])

    def counts(self, path, source):
        """{fate: events} of a source. Through SQLite, which any tool can read."""
        import sqlite3
        exported = path + ".sqlite"
        subprocess.run([self.tacho, "export", "--type", "sqlite", "--force-overwrite", "true", "-o", exported, path],
                       check=True, capture_output=True)
        database = sqlite3.connect(exported)
        rows = database.execute("SELECT fate, sum(count) FROM TACHO_COUNT WHERE source = ? GROUP BY fate", (source,)).fetchall()
        database.close()
        os.unlink(exported)
        return dict(rows)


# ---- Figures ---------------------------------------------------------------------------------------------------------

def verdict(value, limit):
    return f"≤ {limit:g}: " + ("yes" if value <= limit else "no")


# ---- The benchmarks -----------------------------------------------------------------------------------------------------

COSTS = (  # source, events, options, limit in ns added (x86_64; half as much again elsewhere), what
    ("nvtx", 400_000, ("-t", "nvtx"), 60, "NVTX push + pop"),
    ("read", 400_000, ("-t", "osrt"), 35, "read of one byte"),
    ("mutex", 2_000_000, ("-t", "osrt"), 9, "mutex lock + unlock, free"),
)


def cost(bench):
    """What one event costs the thread that makes it."""
    rows, kept = [], {}
    for source, events, options, limit, what in COSTS:
        limit *= 1 if platform.machine() == "x86_64" else 1.5
        runs = []
        for _ in range(bench.pairs):
            run = [bench.bare(source, 1, events), bench.profiled(source, 1, events, options=options)]
            run += [peer(source, 1, events, options=options) for peer in bench.peers.values()]
            runs.append([one["cpu_ns_per_event"] for one in run])
        bare = statistics.median(run[0] for run in runs)
        middle, low, high = median_interval([run[1] - run[0] for run in runs])
        kept[source] = {"bare_ns": bare, "added_ns": middle, "low_ns": low, "high_ns": high, "runs": runs}
        row = [what, f"{bare:.1f}", f"{middle:+.1f}", f"{low:.1f} … {high:.1f}", verdict(middle, limit)]
        for column, peer in enumerate(bench.peers, 2):
            added, peer_low, peer_high = median_interval([run[column] - run[0] for run in runs])
            kept[source].update({f"{peer}_added_ns": added, f"{peer}_low_ns": peer_low, f"{peer}_high_ns": peer_high})
            row += [f"{added:+.1f}", f"{peer_low:.1f} … {peer_high:.1f}"]
        rows.append(row)
    header = ["event", "bare", "added (median)", "95 % interval", "aim"]
    for peer in bench.peers:
        header += [f"{peer} adds", "95 % interval"]
    table(f"Cost of one event, ns of its thread's CPU time ({bench.pairs} interleaved rounds)", header, rows)
    return kept


def finish(bench):
    """4 M ranges from two threads: program's end to report, size, summary."""
    runs = []
    for i in range(5):
        run = bench.profiled("nvtx", 2, 2_000_000, options=("-t", "nvtx"), name="finish")
        began, cpu = time.monotonic_ns(), cpu_ns()
        subprocess.run([bench.tacho, "stats", "-r", "nvtx_pushpop_sum", run["report"]], check=True, capture_output=True)
        run["stats_ns"], run["stats_cpu_ns"] = time.monotonic_ns() - began, cpu_ns() - cpu
        if i == 0:
            run["counts"] = bench.counts(run["report"], "nvtx")
        del run["report"]
        runs.append(run)
    counts = runs[0]["counts"]
    recorded, lost = counts.get("recorded", 0), counts.get("lost", 0)
    kept = {"recorded": recorded, "lost": lost, "produced": runs[0]["produced"], "runs": runs}
    rows = []
    for key, what, unit, scale, limit in (("finish_ns", "program's end to finished report", "s", 1e9, 1.0),
                                          ("bytes", "report, bytes an event", "B", max(recorded, 1), 10),
                                          ("stats_ns", "stats -r nvtx_pushpop_sum", "s", 1e9, 0.2),
                                          ("stats_cpu_ns", "… its CPU time", "s", 1e9, None),
                                          ("cpu_ns_per_event", "CPU time of a range in the program", "ns", 1, None)):
        values = [run[key] / scale for run in runs]
        middle = statistics.median(values)
        rows.append((what, f"{min(values):.3g} {unit}", f"{middle:.3g} {unit}", verdict(middle, limit) if limit else ""))
    rows.append(("produced = recorded + lost", f"{runs[0]['produced']}", f"{recorded} + {lost}",
                 "exact" if recorded + lost == runs[0]["produced"] else "WRONG"))
    table("4 M NVTX ranges from two threads (5 runs)", ("", "least", "median", "aim"), rows)
    return kept


def pace(bench):
    """Two producers at 2 M events/s each."""
    run = bench.profiled("nvtx", 2, 6_000_000, 2_000_000, options=("-t", "nvtx"), name="pace")
    counts = bench.counts(run["report"], "nvtx")
    recorded, lost = counts.get("recorded", 0), counts.get("lost", 0)
    exact = recorded + lost == run["produced"]
    aim = ("no loss: " + ("yes" if lost == 0 else "no")) if CORES >= 3 else "loss not judged: needs 3 cores"
    table(f"Two producers at 2 M events/s each for 3 s ({CORES} cores)", ("produced", "recorded", "lost", "sum", "aim"),
          [(run["produced"], recorded, lost, "exact" if exact else "WRONG", aim)])
    return {"produced": run["produced"], "recorded": recorded, "lost": lost, "exact": exact, "judged": CORES >= 3}


def threads(bench):
    """Do threads lose throughput to each other? At a pace that one collector can follow, and all out."""
    rows, kept = [], []
    for source, pace_per_second in (("nvtx", 400_000), ("nvtx", None), ("read", None)):
        for count in (1, 2, 4, 8, 16):
            pace_text = f"{pace_per_second:,}/s a thread" if pace_per_second else "all out"
            if count > CORES:
                rows.append((source, pace_text, count, "", "", "", f"skipped: needs {count} cores"))
                continue
            arguments = (source, count, 200_000) + ((pace_per_second,) if pace_per_second else ())
            bare, after = [], []
            for _ in range(5):
                bare.append(bench.bare(*arguments)["wall_ns_per_event"])
                after.append(bench.profiled(*arguments, options=("-t", "nvtx,osrt"))["wall_ns_per_event"])
            middle = statistics.median(bare), statistics.median(after)
            kept.append({"source": source, "per_second": pace_per_second, "threads": count, "bare_ns": middle[0], "profiled_ns": middle[1]})
            note = "" if count < CORES else "no core left for the collector"
            rows.append((source, pace_text, count, f"{middle[0]:.1f}", f"{middle[1]:.1f}", f"{middle[1] - middle[0]:+.1f}", note))
    table("ns an event, per thread, wall clock (median of 5)", ("source", "pace", "threads", "bare", "profiled", "added", ""), rows)
    return kept


def floors(bench):
    """What cannot be beaten here."""
    program = bench_program("floors", bench.folder)
    runs = [json.loads(subprocess.run([program], capture_output=True, text=True, check=True).stdout) for _ in range(5)]
    best = {key: (max if "per_s" in key else min)(run[key] for run in runs) for key in runs[0]}
    table("Floors (best of 5)", ("", "value"), [(key, value) for key, value in best.items()])
    return best


BENCHMARKS = {"floors": floors, "cost": cost, "finish": finish, "pace": pace, "threads": threads}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BENCHMARKS) + " (default: all)")
    parser.add_argument("--json", metavar="FILE", help="keep the figures; a folder gets a file named after host and date")
    parser.add_argument("--pairs", type=int, default=15, help="interleaved pairs for `cost` (15)")
    parser.add_argument("--nsys", metavar="PROGRAM", help="measure nsys beside us in `cost`")
    parser.add_argument("--before", metavar="PROGRAM", help="measure another build of tacho in the same rounds of `cost`")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"no benchmark is called {unknown[0]}; there are: {', '.join(BENCHMARKS)}")
    folder = tempfile.mkdtemp(prefix="tacho-bench-")
    try:
        bench = Bench(folder, options.pairs, options.nsys, options.before)
        print(f"{bench.result['tacho']} on {bench.result['host']['cpu']}, {CORES} cores, "
              f"Linux {bench.result['host']['kernel']}, load {os.getloadavg()[0]:.1f}")
        for name, run in BENCHMARKS.items():
            if not options.names or name in options.names:
                bench.result[name] = run(bench)
        if options.json:
            path = options.json
            if os.path.isdir(path):
                path = os.path.join(path, f"{platform.machine()}-{CORES}-cores-{bench.result['host']['date']}.json")
            with open(path, "w") as file:
                json.dump(bench.result, file, indent=1)
                file.write("\n")
            print(f"\nFigures kept in {path}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
