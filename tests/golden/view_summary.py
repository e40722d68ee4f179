"""The request summary of the timeline says what `tacho summary`, its page of HTML and `tacho stats` say, and each of its lines has the
place in the timeline that it is about: read here from the captures themselves."""

import json
import math
import os
import re
import sqlite3
import sys
import tempfile

import lib
from lib import HERE, KINETO, Timeline, check, output, run, status, unpack, unpack_mnist_like

PROGRAMS = os.environ.get("PROGRAMS", "")
UNITS = {"ns": " (ns)", "time": " (ns)", "percent": " (%)", "bytes": " (B)", "none": "", "id": ""}


def read(timeline):
    """The whole answer, which parts that are asked for one after the other add up to."""
    asked = 0
    while True:
        answer = timeline.ask("summary", step=1)
        asked += 1
        if answer["complete"] or asked > 100:
            break
    check("parts come one after the other", True, asked > 1)
    check("asked for at once, it is the same", answer, timeline.ask("summary"))
    return answer


def printed_tables(reports, file):
    """The rows that `tacho stats` prints of each report, in one run: a file of nsys is imported in each."""
    output("stats", "-q", "-f", "json", "-o", "printed", "--force-overwrite", "true", "-r", ",".join(reports), file)
    return {report: json.load(open(f"printed_{report}.json")) for report in reports}


def compare_table(part, expected):
    """Cells are those that `tacho stats` prints; times are since another moment, the same for all."""
    check(f"{part['report']}: number of rows", len(expected), part["total"])
    shifts = set()
    for row, truth in zip(part["rows"], expected):
        for column, cell in zip(part["columns"], row):
            value = truth.get(column["name"] + UNITS[column["unit"]], truth.get(column["name"]))
            if column["unit"] == "time" and cell is not None:
                shifts.add(value - cell)
            elif isinstance(cell, float) or isinstance(value, float):
                rounding = 0.5 * 10 ** -column["decimals"] + 2 * math.ulp(value or 1)
                check(f"{part['report']}.{column['name']}", True, abs((value or 0) - (cell or 0)) <= rounding)
            else:
                check(f"{part['report']}.{column['name']}", value or None, cell or None)
    check(f"{part['report']}: one moment that times count from", True, len(shifts) <= 1)


def compare_words(answer, file):
    """The lines of the terminal and the tiles of the page have these figures."""
    text, figures = lib.summary(file), answer["figures"]
    page = output("summary", "-o", "-", file)
    check(f"{file}: a step or the GPU's part is named", figures is not None, "; GPU busy " in text)
    if not figures:
        return
    check(f"{file}: steps", True, (figures["words"] if figures["steps"] else "the GPU's part of the run") in text)
    for words, name in (("GPU busy {:.0f} %", "busy"), ("MFU {:.1f} % of", "mfu"), ("tensor cores {:.0f} %", "tensor")):
        check(f"{file}: {name}", figures[name] is not None, words.split("{")[0] in text)
        if figures[name] is not None:
            check(f"{file}: {name} on the terminal", True, words.format(figures[name]) in text)
            check(f"{file}: {name} in HTML", True, f'<data value="{figures[name]:.6g}"' in page)
    check(f"{file}: step in HTML", True, not figures["steps"] or f'<data value="{figures["step"]}">' in page)
    if answer["memory"]:
        check(f"{file}: peak of memory in HTML", True, f'<data value="{answer["memory"]["bytes"]}">' in page)


def compare_parts(answer):
    """The mean of each column, and all of them together the mean step."""
    breakdown = next((part for part in answer["tables"] if part["report"] == "step_breakdown"), None)
    check("parts of steps", breakdown is not None, bool(answer["parts"]))
    if not breakdown or breakdown["total"] > len(breakdown["rows"]):
        return
    at = {column["name"]: index for index, column in enumerate(breakdown["columns"])}

    def is_mean_of(rows):
        return all(abs(sum(row[at[part["column"]]] for row in rows) / len(rows) - part["mean"]) < 1 for part in answer["parts"])
    rows = breakdown["rows"]
    warm_up = next((count for count in range(len(rows)) if is_mean_of(rows[count:])), None)
    check("the parts are those of the mean step, perhaps without the first", True, warm_up is not None)
    if warm_up is not None:
        time = sum(row[at["Time"]] for row in rows[warm_up:]) / len(rows[warm_up:])
        check("the parts are all of a step", True, abs(time - sum(part["mean"] for part in answer["parts"])) < 20)
        check("no step that counts is ten times as long as their mean", True, all(row[at["Time"]] < 10 * time for row in rows[warm_up:]))


def tables_of(answer):
    return {part["report"]: part for part in answer["tables"]}


def cells(part, name):
    at = [column["name"] for column in part["columns"]].index(name)
    return [row[at] for row in part["rows"]]


def check_places(timeline, answer):
    """A name leads to its longest event, a step to itself."""
    tables, rows = tables_of(answer), {row["id"]: row for row in timeline.ask("rows")["rows"]}
    for report, name, kind in (("cuda_gpu_kern_sum", "Name", "stream"), ("osrt_sum", "Name", "osrt")):
        part = tables.get(report)
        for text, longest, place in zip(cells(part, name), cells(part, "Max"), part["places"]) if part else ():
            check(f"{report}: {text[:60]}: row", kind, place and rows[place["row"]]["type"])
            check(f"{report}: {text[:60]}: name, and its longest", (text, longest), place and (re.sub(r"_v\d+$", "", place["name"]), place["to"] - place["from"]))
    for report in ("step_sum", "step_breakdown"):
        part = tables.get(report)
        for start, time, place in zip(cells(part, "Start"), cells(part, "Time"), part["places"]) if part else ():
            check(f"{report}: place of a step", ("steps", start, start + time), place and (rows[place["row"]]["type"], place["from"], place["to"]))


def check_idle(timeline, answer, file):
    """A cause leads to a gap in the row "Why idle" that holds its longest time. Nothing runs on the GPU from its begin to its end, when work begins."""
    part, origin = tables_of(answer)["gpu_idle_sum"], int(timeline.ask("about")["origin"])
    database = sqlite3.connect(file)
    work = [name for name in ("KERNEL", "MEMCPY", "MEMSET") if database.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (f"CUPTI_ACTIVITY_KIND_{name}",)).fetchone()]
    types = {row["id"]: row["type"] for row in timeline.ask("rows")["rows"]}
    starts = {start for name in work for start, in database.execute(f"SELECT start FROM CUPTI_ACTIVITY_KIND_{name}")}
    for cause, start, longest, place in zip(cells(part, "Cause"), cells(part, "Start"), cells(part, "Max"), part["places"]):
        begin, end = place["from"] + origin, place["to"] + origin
        busy = [row for name in work for row in database.execute(f"SELECT start, end FROM CUPTI_ACTIVITY_KIND_{name} WHERE start < ? AND end > ?", (end, begin))]
        check(f"{cause}: it is an event of the row Why idle", "idle", types.get(place["row"]))
        check(f"{cause}: the GPU has nothing to do in the gap, and then it has", ([], True), (busy, end in starts))
        check(f"{cause}: the gap holds its longest time", True, place["from"] <= start and start + longest <= place["to"])


def captures():
    for name in ("resnet18", "mix", "wait_stream"):
        unpack(os.path.join(HERE, "nsys", f"{name}.sqlite.gz"), f"{name}.sqlite")
        yield f"{name}.sqlite"
    unpack(os.path.join(KINETO, "train.json.gz"), "train.json")
    yield "train.json"
    unpack_mnist_like("mnist_like.sqlite")
    yield "mnist_like.sqlite"
    if os.path.exists(os.path.join(PROGRAMS, "contended")) and run("profile", "-o", "contended.tacho", os.path.join(PROGRAMS, "contended"))[0] == 0:
        yield "contended.tacho"
    else:
        print("contended: SKIPPED, it cannot be recorded here")


def lock(answer):
    """Who waited in the program with the lock, and in which function it computed."""
    waits, functions = tables_of(answer)["thread_wait_sum"], tables_of(answer).get("cpu_sample_sum")
    held = [(text, holder, place) for text, holder, place in zip(cells(waits, "Waited For"), cells(waits, "Held By"), waits["places"]) if holder]
    check("somebody waits for a lock that a worker holds", True, any(text == "pthread_mutex_lock" and holder.startswith("worker") and place for text, holder, place in held))
    if functions:
        check("it computes in crunch()", "crunch", cells(functions, "Function")[0])


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for file in captures():
            with Timeline(file) as timeline:
                answer = read(timeline)
                expected = printed_tables([part["report"] for part in answer["tables"]], file)
                for part in answer["tables"]:
                    compare_table(part, expected[part["report"]])
                compare_words(answer, file)
                compare_parts(answer)
                check_places(timeline, answer)
                if file.endswith(".sqlite"):
                    check_idle(timeline, answer, file)
                if file.startswith("contended"):
                    lock(answer)
        os.chdir("/")
    return status()


if __name__ == "__main__":
    sys.exit(main())
