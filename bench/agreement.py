#!/usr/bin/env python3
"""Do CPU samples of Tacho and of `perf record` tell the same of one run? Both sample the same processes at the same time.

    bench/agreement.py [--frequency HZ] [--backtrace dwarf|fp] [--copy BYTES] [--top N] PROGRAM [ARGUMENT…]

Compared are the functions that most samples are in: by themselves, and with all that they call. Of each the difference of its shares has
an interval (normal approximation, 95 % for all functions of the table together by Bonferroni; the variance is that of two proportions, or of
the differences in 20 stretches of the run where that is larger, as it is when samples come in bunches). It is "same" where the interval lies
within two points, "different" where it lies outside of them, and else "open": too few samples. Functions that are among the first N of one
and not of the other must be no fewer there than the last of the N, as far as chance allows.

Inlined functions count for the function that they are in, which is all that perf is asked for; names of the same address are one
function; files that perf knows few names of (it does not read .gnu_debugdata) count as one function in both. Takes Tacho from the variable TACHO or from build/bin/tacho.
"""
import argparse
import collections
import os
import re
import statistics
import subprocess
import sys
import tempfile

import figures

POINTS = 0.02
CONFIDENCE = 0.95
CLONE = re.compile(r" \[clone [^]]*\]|\.(constprop|isra|part|cold|lto_priv)(\.\d+)*|@plt$")

STRETCHES = 20

# How many samples; {function: samples}, by itself and with what it calls; and the same of each stretch of the run.
Shares = collections.namedtuple("Shares", "samples own total stretches")
Row = collections.namedtuple("Row", "function perf tacho low high verdict")


# ---- One run, seen by both ----------------------------------------------------------------------------------------------------

def record(command, folder, frequency=1000, backtrace="dwarf", copy=65528, tacho=None):
    """The paths of perf's file and of the report."""
    data, report = os.path.join(folder, "perf.data"), os.path.join(folder, "report.tacho")
    graph = ["--call-graph", f"dwarf,{copy}"] if backtrace == "dwarf" else ["-g"]
    size = [f"--backtrace-stack-size={copy}"] if backtrace == "dwarf" else []
    done = subprocess.run(["perf", "record", "-q", "-m", "16M", "-F", str(frequency), *graph, "-o", data, "--",
                           tacho or figures.find_tacho(), "profile", "-f", "true", "-o", report, "-t", "none", "-b", backtrace, *size,
                           f"--sampling-frequency={frequency}", *command], capture_output=True, text=True, errors="replace")
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr}")
    return data, report


class Names:
    """One name for each function: symbols at the same address are aliases, and which of them a tool prefers says nothing."""

    def __init__(self):
        self.modules = {}

    def aliases(self, path):
        """{name: the first of all names at its address} of a file and of its debug information."""
        if path not in self.modules:
            ids = re.findall(r"Build ID: ([0-9a-f]+)", self.run("readelf", "-n", path)) if os.path.isfile(path) else []
            files = [path] + [f"/usr/lib/debug/.build-id/{id[:2]}/{id[2:]}.debug" for id in ids]
            at = collections.defaultdict(set)
            for file in files:
                for options in ((), ("-D",)):
                    if os.path.isfile(file):
                        for address, name in re.findall(r"^([0-9a-f]+) [TtWwVvuUi] ([^@\n]+)", self.run("nm", *options, file), re.M):
                            at[address].add(name)
            self.modules[path] = {name: min(names) for names in at.values() for name in names}
        return self.modules[path]

    @staticmethod
    def run(*command):
        return subprocess.run(command, capture_output=True, text=True, errors="replace").stdout

    def of_mangled(self, pairs):
        """Functions for (mangled name, module) as perf has them."""
        firsts = [self.aliases(module).get(name.partition("@")[0], name) for name, module in pairs]
        shown = subprocess.run(["c++filt"], input="\n".join(firsts), capture_output=True, text=True, errors="replace").stdout.split("\n")
        return [self.function(text, module) for text, (_, module) in zip(shown, pairs)]

    def of_demangled(self, name, module):
        """The function of a name as Tacho has it."""
        name = CLONE.sub("", name)
        return self.function(self.aliases(module).get(name, name), module)

    @staticmethod
    def function(name, module):
        """(name, file): no name where there is none, one word for code that was made while the program ran."""
        file = re.sub(r"^(perf-\d+\.map|\[jit\]|anon|//anon)$", "jit", os.path.basename(module).strip("[]"))
        return "" if not name or name.startswith(("[unknown]", "0x")) else CLONE.sub("", name), file


def files_without_names(chains):
    """Those in which more frames are without a name than with one."""
    named = collections.Counter((file, name != "") for chain in chains for name, file in chain)
    return {file for file, _ in named if named[file, False] > named[file, True]}


def count(chains):
    own, total = collections.Counter(), collections.Counter()
    for chain in chains:
        own[chain[0]] += 1
        total.update(set(chain))
    return Shares(len(chains), own, total, ())


def tally(chains, as_one=()):
    """Chains of (name, file), in the order of time."""
    chains = [[f"[{file}]" if not name or file in as_one else name for name, file in chain] for chain in chains]
    ends = [len(chains) * i // STRETCHES for i in range(STRETCHES + 1)]
    return count(chains)._replace(stretches=[count(chains[begin:end]) for begin, end in zip(ends, ends[1:])])


def of_perf(data, pids, names):
    """The stack of each sample, innermost first, as (name, file)."""
    script = subprocess.run(["perf", "script", "-i", data, "--no-demangle", "--no-inline", "--max-stack", "1024", "-F", "comm,pid,ip,sym,dso",
                             "--pid", ",".join(map(str, pids))], capture_output=True, text=True, errors="replace")
    for lost in re.findall(r"lost \d+ \w+", script.stderr):
        print(f"perf {lost}: its shares may be those of what it has seen")
    samples, frames = [], {}
    for block in script.stdout.split("\n\n"):
        head, *lines = block.strip("\n").split("\n")
        if not lines or head.split()[0] in ("tacho", "perf"):  # before the program was the program
            continue
        chain = [frame for frame in re.findall(r"^\s+[0-9a-f]+ (.*) \((.*)\)$", "\n".join(lines), re.M)
                 if frame[1] != "[unknown]"]  # addresses that nothing is mapped at
        frames.update(dict.fromkeys(chain))
        if chain:
            samples.append(chain)
    for frame, function in zip(frames, names.of_mangled(list(frames))):
        frames[frame] = function
    return [[frames[frame] for frame in chain] for chain in samples]


def of_tacho(tacho, report, names):
    """The same, and the numbers of the processes."""
    import sqlite3
    stored = report + ".sqlite"
    subprocess.run([tacho, "export", "-q", "--type", "sqlite", "-f", "true", "-o", stored, report], check=True, capture_output=True)
    database = sqlite3.connect(stored)
    pids = [pid for pid, in database.execute("SELECT DISTINCT globalTid >> 24 & 0xffffff FROM COMPOSITE_EVENTS")]
    columns = [row[1] for row in database.execute("PRAGMA table_info(SAMPLING_CALLCHAINS)")]
    outermost = "WHERE coalesce(inlined, 0) = 0" if "inlined" in columns else ""
    chains, known = collections.defaultdict(list), {}
    for id, name, module in database.execute(f"""SELECT c.id, s.value, m.value FROM SAMPLING_CALLCHAINS c JOIN StringIds s ON s.id = symbol
                                                 JOIN StringIds m ON m.id = module {outermost} ORDER BY c.id, stackDepth"""):
        if (name, module) not in known:
            known[name, module] = names.of_demangled(name, module)
        chains[id].append(known[name, module])
    database.close()
    return list(chains.values()), pids


# ---- The comparison ----------------------------------------------------------------------------------------------------------

def deviation(values):
    """Of the mean of the values, as their spread has it."""
    return statistics.stdev(values) / len(values) ** 0.5


def difference(perf, tacho, kind, function):
    """Of the shares, and its standard deviation."""
    def shares(one, other):
        return [getattr(part, kind)[function] / max(part.samples, 1) for part in (one, other)]
    a, b = shares(perf, tacho)
    chance = (a * (1 - a) / perf.samples + b * (1 - b) / tacho.samples) ** 0.5
    pairs = [shares(*stretch) for stretch in zip(perf.stretches, tacho.stretches)]
    return a, b, max(chance, deviation([y - x for x, y in pairs]))


def is_fewer(shares, kind, function, last, z):
    """Than the last of the first, and not by chance."""
    def lack(part):
        return getattr(part, kind)[last] - getattr(part, kind)[function]
    chance = (getattr(shares, kind)[last] + getattr(shares, kind)[function]) ** 0.5
    return lack(shares) > z * max(chance, STRETCHES * deviation([lack(stretch) for stretch in shares.stretches]))


def compare(perf, tacho, kind, top):
    """A row for each function that is among the first of either, and those that are so in one alone."""
    firsts = [[function for function, _ in getattr(shares, kind).most_common(top)] for shares in (perf, tacho)]
    functions = sorted(set(firsts[0]) | set(firsts[1]), key=lambda function: -getattr(perf, kind)[function])
    z = statistics.NormalDist().inv_cdf(1 - (1 - CONFIDENCE) / 2 / len(functions))
    rows = []
    for function in functions:
        theirs, ours, error = difference(perf, tacho, kind, function)
        low, high = ours - theirs - z * error, ours - theirs + z * error
        verdict = "same" if -POINTS <= low and high <= POINTS else "different" if low > POINTS or high < -POINTS else "open"
        rows.append(Row(function, theirs, ours, low, high, verdict))
    strangers = [function for shares, first, other in zip((perf, tacho), firsts, reversed(firsts)) for function in other
                 if is_fewer(shares, kind, function, first[-1], z)]
    return rows, strangers


def check(command, folder, top=20, **how):
    """Both comparisons of one run: {"own": (rows, strangers), "total": …}, and how many samples each had."""
    tacho = how.get("tacho") or figures.find_tacho()
    data, report = record(command, folder, **how)
    names = Names()
    ours, pids = of_tacho(tacho, report, names)
    theirs = of_perf(data, pids, names)
    as_one = files_without_names(theirs)
    theirs, ours = tally(theirs, as_one), tally(ours, as_one)
    return {kind: compare(theirs, ours, kind, top) for kind in ("own", "total")}, theirs.samples, ours.samples


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--frequency", type=int, default=1000)
    parser.add_argument("--backtrace", choices=("dwarf", "fp"), default="dwarf")
    parser.add_argument("--copy", type=int, default=65528)
    parser.add_argument("--top", type=int, default=20)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        results, theirs, ours = check(options.command, folder, options.top, frequency=options.frequency, backtrace=options.backtrace,
                                      copy=options.copy)
    for kind, (rows, strangers) in results.items():
        figures.table(f"{'By themselves' if kind == 'own' else 'With what they call'}: {theirs} samples of perf, {ours} of Tacho",
                      ["function", "perf", "Tacho", "difference, points", ""],
                      [[row.function[:90], f"{100 * row.perf:.2f} %", f"{100 * row.tacho:.2f} %",
                        f"{100 * (row.tacho - row.perf):+.2f} ({100 * row.low:+.2f} … {100 * row.high:+.2f})", row.verdict] for row in rows])
        print("\n" + ", ".join(f"{count} {verdict}" for verdict, count in collections.Counter(row.verdict for row in rows).items())
              + (f"; among the first of one alone: {strangers}" if strangers else "; the same are among the first"))


if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    main()
