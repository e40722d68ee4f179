"""Flame graphs: folded stacks, speedscope, pprof and SVG against the raw samples, each read by a parser of its own."""

import collections
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

import lib
import stacks
from lib import check, output, refusal

NAMES = {stacks.PROCESS | 7: "main thread", stacks.PROCESS | 8: "worker", stacks.PROCESS | 9: "worker"}


def export(kind, path, into, *options):
    out = os.path.join(into, "out." + kind)
    output("export", "-q", "-f", "true", "-t", kind, "-o", out, *options, path)
    return out


def sums(samples, clean=lambda name: name):
    """Weight by stack, the thread's name outermost."""
    out = collections.Counter()
    for _, thread, weight, stack in samples:
        out[tuple(clean(name) for name in [NAMES[thread]] + [name for name, _ in stack])] += weight
    return dict(out)


# ---- each format ----

def clean_folded(name):
    return "".join(":" if c == ";" else " " if c < " " or c == "\x7f" else c for c in name)


def read_folded(path):
    with (gzip.open(path, "rt") if path.endswith(".gz") else open(path)) as file:
        lines = [line.rpartition(" ") for line in file.read().rstrip("\n").split("\n")]
    return {tuple(stack.split(";")): int(number) for stack, _, number in lines}


def check_folded(path, samples, into, *options):
    check("folded stacks", sums(samples, clean_folded), read_folded(export("folded", path, into, *options)))


def check_speedscope(path, samples, into):
    with open(export("speedscope", path, into)) as file:
        scope = json.load(file)
    check("the schema", "https://www.speedscope.app/file-format-schema.json", scope["$schema"])
    frames = [(frame["name"], frame.get("file", "")) for frame in scope["shared"]["frames"]]
    got = {}
    for profile in scope["profiles"]:
        check("a profile's shape", ("sampled", 0, sum(profile["weights"]), len(profile["samples"])),
              (profile["type"], profile["startValue"], profile["endValue"], len(profile["weights"])))
        runs = [[[frames[number] for number in stack], weight] for stack, weight in zip(profile["samples"], profile["weights"])]
        got[profile["name"]] = runs
    expected = {}
    for _, thread, weight, stack in sorted(samples, key=lambda sample: sample[:1]):
        runs = expected.setdefault(f"{NAMES[thread]} (pid 7, tid {thread & 0xffffff})", [])
        if runs and runs[-1][0] == stack:
            runs[-1][1] += weight
        else:
            runs.append([stack, weight])
    check("samples of each thread in order of time", expected, got)


def fields(data):
    """The fields of a message of protocol buffers: numbers, and bytes."""
    at, out = 0, collections.defaultdict(list)

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            value |= (byte & 0x7f) << shift
            shift, at = shift + 7, at + 1
            if byte < 0x80:
                return value

    while at < len(data):
        key = number()
        if key & 7 == 0:
            out[key >> 3].append(number())
        else:
            check("a field of bytes", 2, key & 7)
            length = number()
            out[key >> 3].append(data[at:at + length])
            at += length
    return out


def read_pprof(path):
    """(samples, weight) by stack from the outermost on, of (function, file, line), the thread's name first."""
    with gzip.open(path) as file:
        profile = fields(file.read())
    texts = [text.decode() for text in profile[6]]
    check("the first string is empty", "", texts[0])
    check("what the values are", [("samples", "count"), ("weight", "count")],
          [(texts[kind[1][0]], texts[kind[2][0]]) for kind in map(fields, profile[1])])
    mappings = {mapping[1][0]: texts[mapping[5][0]] for mapping in map(fields, profile[3])}
    programs = [file for file in mappings.values() if "/" in file and ".so" not in file]
    check("a program comes before libraries", True, not programs or mappings[1] in programs)
    functions = {function[1][0]: (texts[function[2][0]], texts[(function[4] or [0])[0]]) for function in map(fields, profile[5])}
    locations = {}
    for location in map(fields, profile[4]):
        line = fields(location[4][0])
        name, file = functions[line[1][0]]
        locations[location[1][0]] = (name, mappings[location[2][0]] if location[2] else file, line[2][0])
    out = {}
    for sample in map(fields, profile[2]):
        label = fields(sample[3][0])
        check("the label of a sample", "thread", texts[label[1][0]])
        stack = (texts[label[2][0]],) + tuple(locations[number] for number in reversed(sample[1]))
        check("a stack comes once", False, stack in out)
        out[stack] = tuple(sample[2])
    return out, profile


def check_units(folder):
    """What weights are, where the capture says what was counted."""
    for event, unit, kind in (("cpu-clock", "nanoseconds", ("cpu", "nanoseconds")), ("thread-cpu-clock", "nanoseconds", ("cpu", "nanoseconds")),
                              ("cycles", "none", ("weight", "count"))):
        made = lib.Made(os.path.join(folder, "units.sqlite"))
        made.add("COMPOSITE_EVENTS", id=1, start=5, cpu=0, threadState=1, globalTid=stacks.PROCESS | 7, cpuCycles=1000000)
        made.add("TACHO_SAMPLING", timestamp=0, method="perf", event=event, switches="none")
        made.write()
        with open(export("speedscope", made.path, folder)) as file:
            check(f"unit of {event}", [unit], [profile["unit"] for profile in json.load(file)["profiles"]])
        with gzip.open(export("pprof", made.path, folder)) as file:
            profile = fields(file.read())
        texts = [text.decode() for text in profile[6]]
        check(f"type of {event}", kind, tuple(texts[fields(profile[1][1])[number][0]] for number in (1, 2)))


def check_pprof(path, samples, into):
    got, profile = read_pprof(export("pprof", path, into))
    expected = collections.defaultdict(lambda: [0, 0])
    for _, thread, weight, stack in samples:
        figures = expected[(NAMES[thread],) + tuple((name, module, 0) for name, module in stack)]
        figures[0] += 1
        figures[1] += weight
    check("samples for pprof", {stack: tuple(figures) for stack, figures in expected.items()}, got)
    times = [sample[0] for sample in samples]
    check("how long it was", max(times) - min(times), profile[10][0])
    got, _ = read_pprof(export("pprof", path, into, "--samples", "python", "--waiting"))
    file = "/home/me/train.py"
    check("Python for pprof", {("main thread", ("<module>", file, 41), ("train", file, 18), ("load", file, 4)): (450, 450),
                               ("main thread", ("<module>", file, 42), ("train", file, 19)): (450, 450)}, got)


def check_svg(path, samples, into):
    space = "{http://www.w3.org/2000/svg}"
    tree = ElementTree.parse(export("svg", path, into))
    whole = sum(weight for _, _, weight, _ in samples)
    expected = collections.Counter()
    for _, thread, weight, stack in samples:
        names = [NAMES[thread]] + [name for name, _ in stack]
        for depth in range(1, len(names) + 1):
            expected[tuple(names[:depth])] += weight
    boxes = []
    for group in tree.iter(space + "g"):
        rect, title = group.find(space + "rect"), group.find(space + "title").text
        boxes.append((-int(rect.get("y")), float(rect.get("x")), float(rect.get("width")), title[:title.rindex(" (")]))
    boxes.sort()
    placed, drawn = {}, {}
    for height, x, width, name in boxes:  # a box stands on the one below it
        below = [path for path, (level, left, right) in placed.items() if level == height - 17 and left - 0.01 <= x and x + width <= right + 0.01]
        place = (below[0] if below else ()) + (name,)
        placed[place] = (height, x, x + width)
        drawn[place] = width
    wide = {place: weight for place, weight in expected.items() if 1200 * weight / whole >= 0.1}
    check("frames that are drawn", set(wide), set(drawn))
    check("how wide they are", [], [place for place in wide if abs(1200 * wide[place] / whole - drawn.get(place, 0)) > 0.01])
    script = tree.getroot().findall(space + "script")
    check("one script, with nothing from outside in it", (1, False), (len(script), "push_back" in script[0].text))
    with open(os.path.join(into, "out.svg"), encoding="utf-8") as file:
        text = file.read()
    check("names are text", (False, True), ("<script>&" in text, "&lt;script&gt;&amp;" in text))


# ---- the script of a flame graph ----

# As much of a browser as the script asks for: elements with attributes, classes and listeners.
BROWSER = r"""
const page = JSON.parse(require('fs').readFileSync(0, 'utf8'));
function element(attributes, text, parts) {
  const classes = new Set(), listeners = {};
  return { attributes, textContent: text, style: {}, classes, listeners, getAttribute: name => attributes[name],
    setAttribute(name, value) { attributes[name] = value; }, getElementsByTagName: name => [parts[name]],
    classList: { toggle(name, on) { if (on) classes.add(name); else classes.delete(name); } },
    addEventListener(kind, what) { listeners[kind] = what; } };
}
const groups = page.frames.map(frame => element({}, '', { rect: element({ x: frame.x, width: frame.w, y: frame.y }, '', {}),
  text: element({ x: frame.x + 3 }, '', {}), title: element({}, frame.title, {}) }));
const named = {};
for (const name of ['tacho-flame', 'tacho-matched', 'tacho-details', 'tacho-reset', 'tacho-search']) named[name] = element({ width: page.width }, '', {});
named['tacho-flame'].getElementsByClassName = () => groups;
global.document = { getElementById: name => named[name] };
let answer = '';
global.window = { prompt: () => answer, alert() {}, addEventListener() {} };
(0, eval)(page.script);
const state = () => groups.map(group => group.style.display === 'none' ? null : [group.getElementsByTagName('rect')[0].attributes.x,
  group.getElementsByTagName('rect')[0].attributes.width, group.classes.has('dim'), group.classes.has('m')].map(v => typeof v === 'number' ? Math.round(v * 1000) / 1000 : v));
const out = {};
groups[page.click].listeners.click();
groups[page.click].listeners.mouseover();
out.zoomed = state(); out.details = named['tacho-details'].textContent;
named['tacho-reset'].listeners.click();
out.reset = state();
answer = page.search; named['tacho-search'].listeners.click();
out.found = state(); out.matched = named['tacho-matched'].textContent;
console.log(JSON.stringify(out));
"""


def check_script(folder):
    """Two threads; the first has a (60 %, of which b is half and c the rest), the second b alone."""
    made = lib.Made(os.path.join(folder, "script.sqlite"))
    for number, (thread, stack) in enumerate(((7, "ab"),) * 3 + ((7, "ac"),) * 3 + ((8, "b"),) * 4, 1):
        made.add("COMPOSITE_EVENTS", id=number, start=number, cpu=0, threadState=1, globalTid=stacks.PROCESS | thread, cpuCycles=1)
        for depth, name in enumerate(reversed(stack)):
            made.add("SAMPLING_CALLCHAINS", id=number, symbol=made.text(name), module=made.text("m"), unresolved=0, stackDepth=depth)
    space = "{http://www.w3.org/2000/svg}"
    tree = ElementTree.parse(export("svg", made.write(), folder))
    frames = [{"title": group.find(space + "title").text, **{key: float(group.find(space + "rect").get(name))
                                                            for key, name in (("x", "x"), ("y", "y"), ("w", "width"))}} for group in tree.iter(space + "g")]
    names = [frame["title"].split(" (")[0] for frame in frames]
    check("frames, parents first", ["thread 7", "a", "b", "c", "thread 8", "b"], names)
    if not shutil.which("node"):
        return
    page = {"frames": frames, "width": 1200, "script": tree.find(space + "script").text, "click": 1, "search": "^b$"}
    done = subprocess.run(["node", "-e", BROWSER], input=json.dumps(page), capture_output=True, text=True, timeout=lib.PATIENCE)
    check("the script runs", "", done.stderr)
    got = json.loads(done.stdout)
    plain = [[frame["x"], frame["w"], False, False] for frame in frames]
    check("a click on a", [[0, 1200, True, False], [0, 1200, False, False], [0, 600, False, False], [600, 600, False, False], None, None], got["zoomed"])
    check("what is under the pointer", "a (6 samples, 60.00 %)", got["details"])
    check("reset", plain, got["reset"])
    check("a search for b", [row[:3] + [name == "b"] for row, name in zip(plain, names)], got["found"])
    check("its share", "matched 70.0 %", got["matched"])


# ---- parts of a report ----

def check_parts(path, samples, into):
    check_folded(path, [sample for sample in samples if sample[1] & 0xffffff == 8], into, "--filter-tid", "8")
    check_folded(path, [sample for sample in samples if 100000 <= sample[0] <= 300000], into, "--filter-time", "100us/300us")
    check_folded(path, [sample for sample in samples if 100000 <= sample[0] <= 300000], into, "--times", "100us/300us")
    check_folded(path, [sample for sample in samples if 200000 <= sample[0] <= 400000], into, "--filter-nvtx", "step 1")
    check_folded(path, [sample for sample in samples if 200000 <= sample[0] < 400000], into, "--steps", "1")
    check("a part without samples", True, "selected part of the report has no samples" in refusal("export", "-t", "folded", "-o", os.path.join(into, "none"), "--filter-tid", "77", path))
    python = read_folded(export("folded", path, into, "--samples", "python"))
    check("Python, folded", {("main thread", "<module> (train.py)", "train (train.py)", "load (train.py)"): 400,
                             ("main thread", "<module> (train.py)", "train (train.py)"): 400}, python)
    output("export", "-q", "-t", "folded", "-o", os.path.join(into, "packed.gz"), path)
    check("packed", sums(samples, clean_folded), read_folded(os.path.join(into, "packed.gz")))


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = stacks.make(os.path.join(folder, "made.sqlite"))
        samples = stacks.read(path)
        check_folded(path, samples, folder)
        check_speedscope(path, samples, folder)
        check_pprof(path, samples, folder)
        check_svg(path, samples, folder)
        check_script(folder)
        check_units(folder)
        check_parts(path, samples, folder)
        empty = lib.Made(os.path.join(folder, "empty.sqlite"))
        empty.add("PROCESSES", globalPid=stacks.PROCESS, pid=7, name="a")
        empty.write()
        for kind in ("folded", "speedscope", "pprof", "svg"):
            check("a report without samples", True, "the report has no" in refusal("export", "-t", kind, "-o", os.path.join(folder, "none"), empty.path))
    return lib.status()


if __name__ == "__main__":
    sys.exit(main())
