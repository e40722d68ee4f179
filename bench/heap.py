#!/usr/bin/env python3
"""The heap: what `tacho profile -t heap` says of programs, beside exact counts of others, and what it costs:

    bench/heap.py [peak|leaks|cost …] [--rounds 5] [--programs NAME …] [--json FILE] [--folder DIR]

peak: the bytes alive at the peak, by --heap=all and by the default sampling, beside the program's own account, heaptrack, and memray. Python
takes all objects from malloc() there (PYTHONMALLOC). memray counts from when the interpreter has started.
leaks: the bytes never freed, by line, beside LeakSanitizer's.
cost: CPU time bare, by -t heap, --heap=all, heaptrack and memray, in rounds whose order is random: inside the program, and of all processes.

The programs are those of bench/heap, and sqlite3, jq, xz, gcc's compiler and Python's json.tool. What is not installed is left out. FILE keeps
the figures, beside those that it has from an earlier run; DIR the compiled programs. Needs gcc, and Tacho from the variable TACHO or
build/bin/tacho; PYTHON names a Python with memray.
"""
import argparse
import glob
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path

from figures import HERE, cpu_ns, find_tacho, keep_figures, table, version

PYTHON = os.environ.get("PYTHON", "python3")
SOURCES = os.path.join(HERE, "heap")
PRELOADED_BY_HEAPTRACK = "/usr/lib/heaptrack/libheaptrack_preload.so"
OWN = ("cache.c", "stl.cc", "threads.cc", "grow.c", "small.c", "huge.c", "tree.c", "words.rs", "storm.c")
LEAKING = ("cache.c", "stl.cc", "threads.cc", "grow.c", "small.c", "tree.c")
COMPILERS = {".c": ("gcc", "-O1", "-fno-builtin", "-pthread"), ".cc": ("g++", "-O1", "-pthread"), ".rs": ("rustc", "-O")}
ROWS = "CREATE TABLE t(a, b TEXT); CREATE INDEX i ON t(b); WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < %d) " \
       "INSERT INTO t SELECT x, hex(x * 2654435761 %% 1000003) || printf('%%.40d', x) FROM n; SELECT count(*) FROM t;"
FUNCTION = "int f%d(int *a, int n) { int s = %d; for (int i = 0; i < n; i++) s += a[i] * (i ^ %d) / (s | 1); return s; }\n"
TACHO_OPTIONS = {"sampled": ("-t", "heap"), "all": ("--heap=all",)}
WITHIN, COST, STORM_COST = 2, 5, 20  # per cent
LONGER = {"xz": 3, "cc1": 3, "jq": 5, "json.tool": 5, "sqlite3": 3, "storm": 10}  # where the cost is measured; 20 times where nothing is said
POOL = 72704  # bytes that libstdc++ keeps for exceptions; heaptrack brings it into each program. Tacho does not see them
UNITS = {"B": 1, "K": 1e3, "M": 1e6, "G": 1e9}


def quiet(words, may_fail=True, **more):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", check=False, **more)
    if done.returncode != 0 and not may_fail:
        raise RuntimeError(f"{words[0]} ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    return done


def checked(words):
    return quiet(words, may_fail=False)


HAS_MEMRAY = quiet([PYTHON, "-c", "import memray"]).returncode == 0


class Bench:
    def __init__(self, folder, tacho):
        self.folder, self.tacho = folder, tacho

    def path(self, name):
        return os.path.join(self.folder, name)

    def compile(self, source, *options, suffix=""):
        """The program, or None without its compiler."""
        name, kind = os.path.splitext(source)
        if not shutil.which(COMPILERS[kind][0]):
            return None
        program = self.path(name + suffix)
        if not os.path.exists(program):
            checked([*COMPILERS[kind], "-g", *options, "-o", program, os.path.join(SOURCES, source)])
        return program

    def input(self, name, items):
        path = self.path(f"{len(items)}-{name}")
        Path(path).write_text(json.dumps(items) if name == "records.json" else "".join(items), encoding="utf-8")
        return path

    def records(self, times):
        return self.input("records.json", [{"id": i, "name": f"record {i}", "tags": ["a", str(i % 97)]} for i in range(10000 * times)])

    def command(self, name, times):
        """The words of a program that does its work so many times; None: it is not installed."""
        words = [self.compile(SOURCE_OF[name]), str(times)] if name in SOURCE_OF else REAL[name](self, times)
        return words if words[0] and shutil.which(words[0]) else None

    def account_of(self, done):
        """The most bytes alive and those lost, if the program keeps an account."""
        numbers = re.fullmatch(r"(\d+) (\d+)", done.stdout.strip())
        return (int(numbers[1]), int(numbers[2])) if numbers else (None, None)

    def heaptrack_peak(self, words):
        if not shutil.which("heaptrack"):
            return None
        checked(["heaptrack", "-o", self.path("track"), *words])
        data = max(glob.glob(self.path("track.*")), key=os.path.getmtime)
        text = checked(["heaptrack_print", "-p0", "-a0", "-T0", "-f", data]).stdout
        os.remove(data)
        number, unit = re.search(r"peak heap memory consumption: ([\d.]+)([BKMG])", text).groups()
        return float(number) * UNITS[unit] - POOL

    def memray_words(self, words):
        return [PYTHON, "-m", "memray", "run", "-q", "-f", "-o", self.path("memray.bin"), *words[1:]]

    def memray_peak(self, words):
        if not HAS_MEMRAY:
            return None
        checked(self.memray_words(words))
        checked([PYTHON, "-m", "memray", "stats", "--json", "-f", "-o", self.path("memray.json"), self.path("memray.bin")])
        return json.loads(Path(self.path("memray.json")).read_text(encoding="utf-8"))["metadata"]["peak_memory"]

    def profile(self, variant, words):
        report = self.path("report.tacho")
        done = checked([self.tacho, "profile", "-q", "-s", "none", *TACHO_OPTIONS[variant], "-f", "true", "-o", report, *words])
        return report, done

    def rows(self, report, name="heap_sum"):
        return json.loads(checked([self.tacho, "stats", "-q", "-f", "json", "-r", name, report]).stdout)

    def lost_events(self, report):
        text = checked([self.tacho, "info", "-f", "json", report]).stdout
        return sum(int(lost) for lost in re.findall(r'"source": *"heap", *"lost": *(\d+)', text))

    def tacho_peak(self, variant, words):
        report, _ = self.profile(variant, words)
        found = {"bytes": sum(row["At Peak (B)"] for row in self.rows(report)), "lost": self.lost_events(report)}
        if variant == "sampled":
            note = re.search(r"from\s([\d,]+)\ssampled", checked([self.tacho, "stats", "-r", "heap_sum", report]).stdout)
            found["samples"] = int(note[1].replace(",", "")) if note else None
        return found

    def peak(self, name, words):
        account, _ = self.account_of(checked(words))
        found = {"account": account, "all": self.tacho_peak("all", words), "sampled": self.tacho_peak("sampled", words)}
        if words[0] == PYTHON:
            found["memray"] = self.memray_peak(words)
        if name != "tree":  # heaptrack follows one process
            found["heaptrack"] = self.heaptrack_peak(words)
        return found

    def sanitizer_leaks(self, source):
        """{line: bytes} by LeakSanitizer: the innermost frame in the program's own source."""
        program = self.compile(source, "-fsanitize=address", "-fno-omit-frame-pointer", suffix="-asan")
        by_frame_pointers = int(source.endswith(".c"))  # libstdc++ has none
        done = quiet([program], env={**os.environ, "ASAN_OPTIONS": f"detect_leaks=1:fast_unwind_on_malloc={by_frame_pointers}"})
        lines = {}
        for leak in re.finditer(r"leak of (\d+) byte\(s\).*?\n\n", done.stderr, re.DOTALL):
            frame = re.search(rf"/{re.escape(source)}:(\d+)", leak[0])
            line = f"{source}:{frame[1]}" if frame else "?"
            lines[line] = lines.get(line, 0) + int(leak[1])
        return lines

    def leaks(self, source):
        sanitizer, words = self.sanitizer_leaks(source), [self.compile(source)]
        report, done = self.profile("all", words)
        lines = {}
        for row in self.rows(report, "heap_sum:leaks:lines"):
            line = re.sub(r".*\(([^()]+:\d+)\)$", r"\1", row["Where"])
            lines[line] = lines.get(line, 0) + row["Never Freed (B)"]
        return {"account": self.account_of(done)[1], "sanitizer": sanitizer, "tacho": lines, "lost": self.lost_events(report)}

    def variants(self, words):
        """{name: what runs}. `measured` runs the program, and nothing else of a profiler."""
        inside, report = [self.path("measured"), self.path("cpu")], ["-f", "true", "-o", self.path("report.tacho")]
        found = {"bare": [*inside, *words]}
        for variant, options in TACHO_OPTIONS.items():
            found[variant] = [self.tacho, "profile", "-q", "-s", "none", *options, *report, *inside, *words]
        if words[0] == PYTHON and HAS_MEMRAY:
            found["memray"] = [*inside, *self.memray_words(words)]
        elif words[0] != PYTHON and os.path.exists(PRELOADED_BY_HEAPTRACK):
            preload = ["env", f"LD_PRELOAD={PRELOADED_BY_HEAPTRACK}", f"DUMP_HEAPTRACK_OUTPUT={self.path('raw')}"]
            found["heaptrack, not interpreted"] = [*inside, *preload, *words]
            found["heaptrack"] = ["heaptrack", "-o", self.path("track"), *words]
        return found

    def cost_ms(self, words):
        """CPU time inside the program, None if the program was not started by `measured`; and of all processes."""
        before = cpu_ns()
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        whole = (cpu_ns() - before) / 1e6
        return int(Path(self.path("cpu")).read_text(encoding="utf-8")) / 1000 if self.path("measured") in words else None, whole

    def cost(self, words, rounds):
        variants = self.variants(words)
        found = {name: [] for name in variants}
        for _ in range(rounds):
            for name in random.sample(list(variants), len(variants)):
                found[name].append(self.cost_ms(variants[name]))
        return {name: dict(zip(("inside", "whole"), zip(*pairs))) for name, pairs in found.items()}


REAL = {  # and a script
    "objects.py": lambda bench, times: [PYTHON, os.path.join(SOURCES, "objects.py"), str(times)],
    "sqlite3": lambda bench, times: ["sqlite3", ":memory:", ROWS % (30000 * times)],
    "jq": lambda bench, times: ["jq", "length", bench.records(times)],
    "xz": lambda bench, times: ["xz", "-6", "-T1", "-k", "-c", bench.records(times)],
    "cc1": lambda bench, times: [quiet(["gcc", "-print-prog-name=cc1"]).stdout.strip(), "-quiet", "-O1", "-o", os.devnull, 
            bench.input("functions.c", [FUNCTION % (i, i, i) for i in range(150 * times)])],
    "json.tool": lambda bench, times: [PYTHON, "-m", "json.tool", bench.records(times), os.devnull],
}
SOURCE_OF = {os.path.splitext(source)[0]: source for source in OWN}


def difference(value, exact):
    return None if value is None or not exact else 100 * (value - exact) / exact


def percent(value):
    return "–" if value is None else f"{value:+.2f} %"


def megabytes(value):
    return "–" if value is None else f"{value / 1e6:.3f}"


def yes(holds):
    return "yes" if holds else "no"


def peak_row(name, found):
    counts = [found.get(other) for other in ("account", "heaptrack", "memray")]
    exact = next(count for count in (*counts, found["all"]["bytes"]) if count)
    all_off, sampled_off = (difference(found[variant]["bytes"], exact) for variant in ("all", "sampled"))
    return (name, *map(megabytes, counts), megabytes(found["all"]["bytes"]), percent(all_off), yes(abs(all_off) <= WITHIN), percent(sampled_off),
            found["sampled"]["samples"], yes(abs(sampled_off) <= WITHIN), found["all"]["lost"])


def leak_row(source, found):
    same = sum(found["tacho"].get(line, 0) for line in found["sanitizer"])
    equal = all(found["tacho"].get(line) == size for line, size in found["sanitizer"].items())
    more = ", ".join(f"{line}: {size}" for line, size in found["tacho"].items() if line not in found["sanitizer"])
    return (source, found["account"] or "–", sum(found["sanitizer"].values()), same, yes(equal), more or "–")


def cost_row(name, found):
    bare = statistics.median(found["bare"]["inside"])
    goal = STORM_COST if name == "storm" else COST

    def added(variant, where):
        values = found.get(variant, {}).get(where, [None])
        return None if values[0] is None else difference(statistics.median(values), statistics.median(found["bare"][where]))

    other = "memray" if "memray" in found else "heaptrack, not interpreted"
    return (name, f"{bare:.0f}", percent(added("sampled", "inside")), yes(added("sampled", "inside") <= goal),
            percent(added("all", "inside")), f"{other.split(',')[0]} {percent(added(other, 'inside'))}", percent(added("sampled", "whole")),
            percent(added("all", "whole")), percent(added("memray" if "memray" in found else "heaptrack", "whole")))


HEADERS = {
    "peak": "program|own account, MB|heaptrack|memray|--heap=all|off by|within 2 %|-t heap off by|samples|within 2 %|lost events".split("|"),
    "leaks": "program|own account, B|LeakSanitizer|Tacho, the same lines|equal by line|what Tacho has beyond".split("|"),
    "cost": "program|bare, ms|-t heap, inside|goal met|--heap=all, inside|other, inside|-t heap, whole|--heap=all, whole|other, whole".split("|"),
}
ROWS_OF = {"peak": peak_row, "leaks": leak_row, "cost": cost_row}


def figures_so_far(path):
    kept = json.loads(Path(path).read_text(encoding="utf-8")) if path and os.path.exists(path) else {}
    return {what: kept.get(what, {}) for what in ROWS_OF}


def measure_all(bench, options, figures):
    checked(["gcc", "-O1", "-o", bench.path("measured"), os.path.join(SOURCES, "measured.c")])
    names = [name for name in (*SOURCE_OF, *REAL) if (not options.programs or name in options.programs) and bench.command(name, 1)]
    measures = {
        "peak": (names, lambda name: bench.peak(name, bench.command(name, 1))),
        "leaks": ([SOURCE_OF[name] for name in names if SOURCE_OF.get(name) in LEAKING], bench.leaks),
        "cost": (names, lambda name: bench.cost(bench.command(name, LONGER.get(name, 20)), options.rounds)),
    }
    for what in options.what or ROWS_OF:
        os.environ["PYTHONMALLOC"] = "malloc" if what == "peak" else "default"
        for name in measures[what][0]:
            figures[what][name] = measures[what][1](name)
            print(*ROWS_OF[what](name, figures[what][name]), flush=True)
            keep_figures(options.json, tacho=version(bench.tacho), rounds=options.rounds, **figures)
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", metavar="peak|leaks|cost", help="default: all three")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--programs", nargs="+", metavar="NAME", help="only these")
    parser.add_argument("--json", metavar="FILE", help="keep the figures in this file")
    parser.add_argument("--folder", metavar="DIR", help="keep the compiled programs here")
    options = parser.parse_args()
    if unknown := [what for what in options.what if what not in ROWS_OF]:
        parser.error(f"there is no measurement '{unknown[0]}'")
    with tempfile.TemporaryDirectory() as temporary:
        figures = measure_all(Bench(os.path.abspath(options.folder or temporary), find_tacho()), options, figures_so_far(options.json))
    for what, row in ROWS_OF.items():
        if figures[what]:
            table(what, HEADERS[what], [row(name, found) for name, found in figures[what].items()])


if __name__ == "__main__":
    main()
