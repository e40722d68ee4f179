#!/usr/bin/env python3
"""What `tacho what-if` promises for programs without a GPU, beside what the change saves:

    bench/what_if.py [--rounds 5] [--json FILE] [NAME …]

Each program of bench/what_if runs bare, as it is and with its change, in turn. It was recorded once before that. A promise holds if it is
within 25 % of what was saved, or within the spread of the bare runs: the least and the most that any two of them differ by. Needs two CPUs
that nothing else uses, gcc, and Tacho from the variable TACHO or build/bin/tacho.
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time

from figures import HERE, find_tacho, keep_figures, table, version

WITHIN = 0.25
PYTHON = os.environ.get("PYTHON", "python3")
CHANGES = {  # the program and the option for its change
    "serial": ("c", "--function=target=0.5x"),
    "limit": ("c", "--function=target=0.2x"),
    "hidden": ("c", "--function=target=0.2x"),
    "locked": ("c", "--no-wait=pthread_mutex_lock"),
    "critical": ("c", "--function=target=0.4x"),
    "pipeline": ("c", "--function=target=0.2x"),
    "phases": ("c", "--function=target=0.5x"),
    "naps": ("c", "--no-wait=usleep"),
    "synced": ("c", "--no-wait=fsync"),
    "child": ("c", "--function=target=0.5x"),
    "children": ("c", "--function=target=0.3x"),
    "script.py": ("py", "--function=target=0.5x"),
    "naps.py": ("py", "--no-wait=sleep"),
    "pool.py": ("py", "--function=target=0.5x"),
    "commits.py": ("py", "--no-wait=sync"),
    "helper.py": ("py", "--function=target=0.5x"),
}


def command(name, folder):
    kind = CHANGES[name][0]
    return [os.path.join(folder, "changes"), name] if kind == "c" else [PYTHON, os.path.join(HERE, "what_if", "changes.py"), name.removesuffix(".py")]


def time_ms(words):
    start = time.monotonic()
    subprocess.run(words, check=True)
    return 1000 * (time.monotonic() - start)


def promised_ms(tacho, name, folder):
    report = os.path.join(folder, "report.tacho")
    subprocess.run([tacho, "profile", "-q", "-f", "true", "-o", report, *command(name, folder)], check=True, stderr=subprocess.DEVNULL)
    done = subprocess.run([tacho, "what-if", "-f", "json", CHANGES[name][1], report], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    return json.loads(done.stdout)[-1]["Saves (ns)"] / 1e6 if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


def judge(name, found):
    saved = statistics.median(found["bare"]) - statistics.median(found["changed"])
    least, most = min(found["bare"]) - max(found["changed"]), max(found["bare"]) - min(found["changed"])
    promised = found["promised"]
    holds = not isinstance(promised, str) and (abs(promised - saved) <= WITHIN * abs(saved) or least <= promised <= most)
    text = promised if isinstance(promised, str) else f"{promised:.0f}"
    return holds, (name, CHANGES[name][1], f"{statistics.median(found['bare']):.0f}", f"{saved:.0f} ({least:.0f} to {most:.0f})", text, "yes" if holds else "no")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", help="keep the figures in this file")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    if unknown := [name for name in options.names if name not in CHANGES]:
        parser.error(f"there is no program '{unknown[0]}'")
    tacho, rows, all_found = find_tacho(), [], {}
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["gcc", "-g", "-O1", "-pthread", "-o", os.path.join(folder, "changes"), os.path.join(HERE, "what_if", "changes.c")], check=True)
        for name in options.names or CHANGES:
            found = {"promised": promised_ms(tacho, name, folder), "bare": [], "changed": []}
            for _ in range(options.rounds):
                found["bare"].append(time_ms(command(name, folder)))
                found["changed"].append(time_ms([*command(name, folder), "changed"]))
            all_found[name] = found
            rows.append(judge(name, found))
            print(*rows[-1][1], flush=True)
            keep_figures(options.json, tacho=version(tacho), changes=all_found)
    table("what-if, ms", ("program", "change", "bare", "saved", "promised", "holds"), [row for _, row in rows])
    print(f"\nholds: {sum(holds for holds, _ in rows)} of {len(rows)}")


if __name__ == "__main__":
    main()
