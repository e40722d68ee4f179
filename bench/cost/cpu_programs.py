#!/usr/bin/env python3
"""What recording costs programs without a GPU, beside what the closing line says, and what Tacho's own processes use:

    bench/cost/cpu_programs.py [PROGRAM ...] [--rounds 7] [--python COMMAND] [--options OPTIONS] [--json FILE]

Each program runs bare and under `tacho profile` (default options, or those of --options) in interleaved rounds of random order, inside
bench/cost/timed.c, so that its own wall and CPU time are known in both. Programs: pool (threads and a queue), server (redis-server, with
redis-benchmark beside it), make (-j2, small C files), arrays (numpy), gil (four Python threads), loader (PyTorch on the CPU); and for
the start and the end of a capture: pass (python3 -c pass), short (Python, 0.8 s). Those that need what is not installed are left out.
--python: an interpreter with numpy and torch. Tacho from the variable TACHO or from build/bin/tacho.
"""
import argparse
import importlib.util
import json
import os
import random
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
from figures import find_tacho, keep_figures, table, version  # noqa: E402

LOOPS = os.path.join(HERE, "cpu_loops.py")
FILES = 24  # of the build tree
PORT_TRIES = 500
UNITS = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9, "min": 60.0}


def make_tree(folder):
    """Writes small C files that include what programs usually include."""
    os.makedirs(folder)
    names = [f"part{i}" for i in range(FILES)]
    for i, name in enumerate(names):
        with open(os.path.join(folder, name + ".c"), "w") as file:
            file.write("#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <pthread.h>\n")
            for k in range(30):
                file.write(f"int {name}_{k}(const char *text, int n) {{ int sum = {i}; for (int i = 0; i < n && text[i]; i++) sum = sum * 31 + "
                           f"text[i] % {k + 2}; printf(\"%d\\n\", sum); return sum; }}\n")
    with open(os.path.join(folder, "Makefile"), "w") as file:
        file.write(f"all: {' '.join(name + '.o' for name in names)}\n%.o: %.c\n\tcc -O1 -c -o $@ $<\n")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for_port(port):
    for _ in range(PORT_TRIES):
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    sys.exit(f"cpu_programs.py: nothing listens on port {port}")


def load_server(port):
    """Asks the server as often as always, then ends it. Returns the seconds that the answers took."""
    wait_for_port(port)
    start = time.monotonic()
    subprocess.run(["redis-benchmark", "-p", str(port), "-q", "-c", "20", "-n", "60000", "-t", "set,get,lpush,lrange_100"],
                   stdout=subprocess.DEVNULL, check=True)
    taken = time.monotonic() - start
    subprocess.run(["redis-cli", "-p", str(port), "shutdown", "nosave"], stderr=subprocess.DEVNULL)
    return taken


class Programs:
    def __init__(self, folder, python):
        self.folder, self.python = folder, python
        self.timed = self.build("timed")
        self.pool = self.build("thread_pool")
        self.tree = os.path.join(folder, "tree")
        make_tree(self.tree)

    def build(self, name):
        program = os.path.join(self.folder, name)
        subprocess.run(["cc", "-O2", "-g", "-pthread", "-o", program, os.path.join(HERE, name + ".c")], check=True)
        return program

    def has(self, module):
        return subprocess.run([self.python, "-c", f"import {module}"], capture_output=True).returncode == 0

    def found(self):
        """{name: command}; the command of the server lacks its port."""
        python = {"arrays": ("3500", "numpy"), "gil": ("8000", None), "loader": ("40", "torch"), "short": ("10000", None)}
        commands = {"pool": [self.pool, "60000"], "make": ["make", "-s", "-j2", "-B", "-C", self.tree],
                    "pass": [self.python, "-c", "pass"]}
        if shutil.which("redis-server") and shutil.which("redis-benchmark"):
            commands["server"] = ["redis-server", "--save", "", "--appendonly", "no", "--loglevel", "warning", "--port"]
        for name, (amount, module) in python.items():
            if not module or self.has(module):
                commands[name] = [self.python, LOOPS, name, amount]
        return commands


def last_line(text):
    found = re.search(r"^ +((?:recording|tacho itself|the cost)\b.*)$", text, re.M)
    return found[1] if found else ""


def run(programs, name, command, tacho):
    """The seconds of one run: the program's wall and CPU time, those of the whole command, and what the last line said."""
    times = os.path.join(programs.folder, "times")
    port = free_port() if name == "server" else None
    words = [*tacho, programs.timed, times, *command, *([str(port)] if port else [])]
    with open(os.path.join(programs.folder, "said"), "w+") as said:
        start = time.monotonic()
        child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=said, cwd=programs.folder)
        taken = load_server(port) if port else None
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        whole = time.monotonic() - start
        said.seek(0)
        text = said.read()
    if child.returncode:
        sys.exit(f"cpu_programs.py: {' '.join(words)} failed: {text}")
    with open(times) as file:
        wall, cpu = (float(word) for word in file.read().split())
    return {"wall": taken or wall, "cpu": cpu, "whole": whole, "all_cpu": used.ru_utime + used.ru_stime, "line": last_line(text)}


def said_seconds(line):
    """What a line says that recording took: seconds, or None. "less than 1 %" says 0."""
    found = re.search(r"recording (?:took|made).*? about ([\d.,]+) (s|ms|µs|ns|min)\b", line)
    if found:
        return float(found[1].replace(",", "")) * UNITS[found[2]]
    return 0.0 if "recording took less than" in line else None


def agrees(said, measured, bare):
    """Within a factor of 1.5, or within one point of share."""
    if said is None:
        return False
    return abs(said - measured) <= 0.01 * bare or (measured > 0 and measured / 1.5 <= said <= measured * 1.5)


def summarize(rounds, names):
    """The figures of each program, as medians of its rounds."""
    figures = {}
    for name in names:
        pairs = [(one[name, "bare"], one[name, "default"]) for one in rounds if (name, "default") in one and (name, "bare") in one]
        if not pairs:
            continue
        def middle(pick, pairs=pairs):
            return statistics.median(pick(bare, recorded) for bare, recorded in pairs)
        cpu = middle(lambda bare, recorded: bare["cpu"])
        said = [said_seconds(recorded["line"]) for _, recorded in pairs]
        figures[name] = {
            "bare_cpu_s": cpu,
            "bare_wall_s": middle(lambda bare, recorded: bare["wall"]),
            "recorded_cpu_s": middle(lambda bare, recorded: recorded["cpu"]),
            "recorded_wall_s": middle(lambda bare, recorded: recorded["wall"]),
            "longer_cpu_s": middle(lambda bare, recorded: recorded["cpu"] - bare["cpu"]),
            "longer_wall_s": middle(lambda bare, recorded: recorded["wall"] - bare["wall"]),
            "spread_s": [pick(recorded["cpu"] - bare["cpu"] for bare, recorded in pairs) for pick in (min, max)],
            "whole_longer_s": middle(lambda bare, recorded: recorded["whole"] - bare["whole"]),
            "said_s": None if None in said else statistics.median(said),
            "own_cpu_s": middle(lambda bare, recorded: recorded["all_cpu"] - recorded["cpu"] - (bare["all_cpu"] - bare["cpu"])),
            "line": pairs[-1][1]["line"],
        }
    return figures


def show(figures):
    rows = []
    for name, of in figures.items():
        bare, longer, said = of["bare_cpu_s"], of["longer_cpu_s"], of["said_s"]
        rows.append((name, f"{bare:.2f}", f"{of['recorded_cpu_s']:.2f}", f"{1e3 * longer:.0f} ({100 * longer / bare:.1f} %)",
                     f"{1e3 * of['spread_s'][0]:.0f} … {1e3 * of['spread_s'][1]:.0f}", "nothing" if said is None else f"{1e3 * said:.0f}",
                     "yes" if agrees(said, longer, bare) else "no", f"{100 * of['longer_wall_s'] / of['bare_wall_s']:.1f} %",
                     f"{of['own_cpu_s']:.2f} ({100 * of['own_cpu_s'] / bare:.0f} %)", f"{1e3 * of['whole_longer_s']:.0f}"))
    table("CPU time of the program, medians", ("program", "bare, s", "recorded, s", "longer, ms", "least … most", "the line said, ms", "holds",
                                               "wall time longer", "Tacho's own, s", "whole command longer, ms"), rows)
    for name, of in figures.items():
        print(f"  {name}: {of['line']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--options", default="", help="of tacho profile")
    parser.add_argument("--json")
    options = parser.parse_args()
    rounds = []
    with tempfile.TemporaryDirectory() as folder:
        programs = Programs(folder, options.python)
        commands = programs.found()
        unknown = [name for name in options.programs if name not in commands]
        if unknown:
            parser.error(f"there is no program '{unknown[0]}', or what it needs is missing; there are: {', '.join(commands)}")
        names = options.programs or list(commands)
        tacho = [find_tacho(), "profile", "-f", "true", "-o", os.path.join(folder, "report.tacho"), *options.options.split()]
        for _ in range(options.rounds):
            rounds.append({})
            for name in random.sample(names, len(names)):
                for variant in random.sample(["bare", "default"], 2):
                    rounds[-1][name, variant] = run(programs, name, commands[name], tacho if variant == "default" else [])
            figures = summarize(rounds, names)
            keep_figures(options.json, tacho=version(find_tacho()), figures=figures,
                         rounds=[{" ".join(key): value for key, value in one.items()} for one in rounds])
    show(figures)


if __name__ == "__main__":
    main()
