#!/usr/bin/env python3
"""Runs programs of which the truth is known under `tacho profile`, and compares the closing summary with it.

    judge.py --setup [NAME…]    install and prepare what the programs need
    judge.py --check [NAME…]    run each program once without Tacho, and print its times
    judge.py [NAME…]            profile each program once, and judge the first cause that the summary names

The variable PLACE is the folder for everything that setups install, TACHO the program to judge. Results are in
$PLACE/results: the terminal's text of each program, results.json, and results.md for a reader, who can
correct the verdicts: the regular expressions of truth.toml are a first pass."""
import argparse
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import time
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
PLACE = pathlib.Path(os.environ.get("PLACE") or pathlib.Path.home() / ".cache/tacho-judgement").resolve()
LIMIT_S = 600
# Rows of the sections of the summary. A finding begins with its rank or its time, a row of the wall time with its share.
FINDING = re.compile(r"^ +(\d+ +)?[\d.,]+ (ns|µs|ms|s|min|h) ")
SHARE = re.compile(r"^ +[\d.,]+ %")


class Run:
    """One run of a program, with its client and its helper, if it has them."""

    def __init__(self, name, program, results, tacho=None):
        self.program = program
        self.folder = PLACE / "work" / name
        self.folder.mkdir(parents=True, exist_ok=True)
        self.environment = dict(os.environ, PLACE=str(PLACE), HERE=str(HERE / "programs"), LC_ALL="C.UTF-8")
        for key, value in program.get("environment", {}).items():
            self.environment[key] = value.replace("$PLACE", str(PLACE)).replace("$HERE", str(HERE / "programs"))
        self.error = results / f"{name}.txt"
        self.output = results / f"{name}.out"
        self.prefix = f"{tacho} profile -f true -o '{results / name}.tacho' -- " if tacho else ""

    def shell(self, command, **more):
        return subprocess.Popen(["sh", "-c", command], cwd=self.folder, env=self.environment, start_new_session=True, **more)

    def once(self):
        if "before" in self.program:
            self.shell(self.program["before"]).wait(LIMIT_S)
        helper = self.shell("exec " + self.program["helper"]) if "helper" in self.program else None
        if helper:
            time.sleep(1)
        try:
            with open(self.output, "wb") as output, open(self.error, "wb") as error:
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                start = time.monotonic()
                process = self.shell("exec " + self.prefix + self.program["run"], stdout=output, stderr=error)
                if "client" in self.program:
                    self.serve(process)
                status = self.wait(process)
                wall = time.monotonic() - start
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
        finally:
            if helper:
                os.killpg(helper.pid, signal.SIGTERM)
                helper.wait()
        return status, wall, after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime

    def serve(self, process):
        client = self.shell(self.program["client"], stdout=subprocess.DEVNULL)
        if client.wait(LIMIT_S):
            print("the client failed", file=sys.stderr)
        self.shell(self.program["end"]).wait(LIMIT_S)

    @staticmethod
    def wait(process):
        try:
            return process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return "killed"


def closing_text(text):
    """The text from the line on that says how the program ended."""
    lines = text.splitlines()
    first = next((i for i, line in enumerate(lines) if re.match(r"tacho: .*(ended with|was killed|recorded)", line)), None)
    return [] if first is None else lines[first:]


def sections(lines):
    """The rows of each section of the summary, with continuation lines joined. Those are indented more than rows."""
    found, rows, pattern, most = {}, None, None, 0
    for line in lines[1:]:
        heading = re.match(r"^  (\S.*)", line)
        indent = len(line) - len(line.lstrip())
        if heading:
            rows = found.setdefault(heading[1].split("  ")[0], [])
            pattern = SHARE if heading[1].startswith("where") else FINDING
        elif rows is not None and pattern.match(line) and (not rows or indent <= most):
            most = most if rows else indent + 3
            rows.append(line.strip())
        elif rows:
            rows[-1] += " " + line.strip()
    return found


def judge(program, lines):
    """The first cause of the summary, and whether it is the truth."""
    found = sections(lines)
    findings = [row for heading, rows in found.items() if re.match("what to change|of the whole run|causes", heading) for row in rows]
    wall = [row for heading, rows in found.items() if heading.startswith("where the wall time went") for row in rows]
    first = (findings or wall or [""])[0]
    seen = first + " " + (wall or [""])[0]
    return {
        "first": first,
        "wall": (wall or [""])[0],
        "cause": any(re.search(pattern, first, re.I) for pattern in program["causes"]),
        "line": any(line in seen for line in program["lines"]) if program["lines"] else None,
        "misleading": any(re.search(pattern, first, re.I) for pattern in program.get("misleading", [])),
    }


def word(value):
    return {True: "yes", False: "no", None: "-"}[value]


def page(programs, verdicts):
    """All closing texts with their truths, as Markdown."""
    out = ["# Closing summaries of `tacho profile`", ""]
    for name, verdict in verdicts.items():
        program = programs[name]
        out += [f"## {name}", "", f"{program['truth']}", "", f"*Established by*: {program['how']}", ""]
        out += [f"cause {word(verdict['cause'])}, line {word(verdict['line'])}, misleading {word(verdict['misleading'])}"]
        out += ["", "```", *verdict["text"], "```", ""]
    return "\n".join(out)


def profile_all(programs, results, tacho):
    verdicts = {}
    print(f"{'program':18} {'cause':5} {'line':4} {'misleading':10} first cause")
    for name, program in programs.items():
        run = Run(name, program, results, tacho)
        status, wall, _, _ = run.once()
        lines = closing_text(run.error.read_text(errors="replace"))
        verdict = judge(program, lines) | {"status": status, "wall_s": round(wall, 2), "text": lines}
        verdicts[name] = verdict
        flags = f"{word(verdict['cause']):5} {word(verdict['line']):4} {word(verdict['misleading']):10}"
        print(f"{name:18} {flags} {verdict['first'][:100]}", flush=True)
        (results / "results.json").write_text(json.dumps(verdicts, indent=1, ensure_ascii=False))
        (results / "results.md").write_text(page(programs, verdicts))
    right = sum(v["cause"] for v in verdicts.values())
    print(f"{right} of {len(verdicts)} first causes match; {sum(v['misleading'] for v in verdicts.values())} misleading")


def main():
    # A shell that starts a job in the background makes it ignore SIGINT, which ends some servers of the set.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--setup", action="store_true", help="install and prepare")
    parser.add_argument("--check", action="store_true", help="run without Tacho")
    parser.add_argument("names", nargs="*", metavar="NAME", help="programs; default: all")
    options = parser.parse_args()
    everything = tomllib.loads((HERE / "truth.toml").read_text())
    unknown = set(options.names) - set(everything)
    if unknown:
        parser.error(f"no such program: {', '.join(sorted(unknown))}")
    programs = {name: everything[name] for name in options.names or everything}
    results = PLACE / ("check" if options.check else "results")
    results.mkdir(parents=True, exist_ok=True)
    if options.setup:
        for name, program in programs.items():
            status = Run(name, program, results).shell("set -e\n" + program.get("setup", "")).wait()
            print(f"{name:18} {'ready' if status == 0 else f'SETUP FAILED ({status})'}", flush=True)
    elif options.check:
        for name, program in programs.items():
            run = Run(name, program, results)
            status, wall, user, system = run.once()
            first = run.output.read_text(errors="replace").strip().splitlines()[:1]
            print(f"{name:18} status {status}  wall {wall:6.2f}  user {user:6.2f}  system {system:6.2f}  {first}", flush=True)
    else:
        if "TACHO" not in os.environ:
            parser.error("TACHO names the program to judge: TACHO=bin/tacho")
        profile_all(programs, results, os.path.abspath(os.environ["TACHO"]))


if __name__ == "__main__":
    main()
